package ptxrun

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
)

// program is a kernel that is ready to run.
type program struct {
	name      string
	code      []step // the last one leaves
	rows      []rowSource
	params    []*ptx.Variable
	offsets   []int64 // of the parameters
	paramSize int64
	shared    int64 // bytes of the variables of a block
	local     int64 // bytes of the variables of a thread
	threads   int64 // the most per block, 0 without a limit
}

// rowSource is the initial value of a row: undefined in a register, a constant in others.
type rowSource struct {
	bits     int
	value    uint64
	register bool
	special  func(w *warp, lane int) int
}

// compiler makes the program of a kernel, an instruction at a time.
type compiler struct {
	*program
	kernel   *ptx.Kernel
	places   map[*ptx.Variable]int64
	numbers  map[uint64]int // rows of constants
	specials map[string]int
	in       *ptx.Statement
	step     *step
}

// compile returns the program of a kernel.
func compile(k *ptx.Kernel) (p *program, err error) {
	defer ptx.Recover(&err)
	c := &compiler{program: &program{name: k.Name, params: k.Params, threads: k.Threads}, kernel: k,
		places: map[*ptx.Variable]int64{}, numbers: map[uint64]int{}, specials: map[string]int{}}
	for _, v := range k.Params {
		c.put(v, &c.paramSize)
		c.offsets = append(c.offsets, c.places[v])
	}
	for _, v := range k.Locals {
		c.put(v, &c.local)
	}
	if c.paramSize > ptx.MostParams || c.local > ptx.MostLocal {
		ptx.Refuse(k.Line, "%s has %d bytes of parameters and %d of local variables, at most %d and %d are supported", k.Name,
			c.paramSize, c.local, ptx.MostParams, ptx.MostLocal)
	}
	for _, n := range k.Registers {
		c.rows = append(c.rows, rowSource{bits: n, register: true})
	}
	c.code = make([]step, len(k.Code)+1)
	for i := range k.Code {
		c.in, c.step = &k.Code[i], &c.code[i]
		c.instruction()
	}
	c.code[len(k.Code)] = step{kind: leaves, guard: -1, line: k.Line, text: "}"}
	for i := range c.code { // where lanes may meet or part
		switch s := &c.code[i]; s.kind {
		case jumps:
			c.endsBefore(s.target)
			s.ends = true
		case together, blocks:
			c.endsBefore(i)
			s.ends = true
		case leaves:
			s.ends = true
		}
	}
	return c.program, nil
}

func (c *compiler) endsBefore(i int) {
	if i > 0 {
		c.code[i-1].ends = true
	}
}

// put places a variable behind others, which have so many bytes.
func (c *compiler) put(v *ptx.Variable, bytes *int64) {
	c.places[v] = (*bytes + v.Align - 1) &^ (v.Align - 1)
	*bytes = c.places[v] + v.Bytes
}

// instruction compiles an instruction.
func (c *compiler) instruction() {
	*c.step = step{guard: -1, line: c.in.Line, text: c.in.Text()}
	if c.in.Guard != "" {
		c.step.guard = c.source(c.in.Guard, 1)
		c.step.unless = c.in.Unless
	}
	make, ok := instructions[c.in.Op[0]]
	if !ok {
		c.unknown()
	}
	make(c)
}

// constant returns the row of a number.
func (c *compiler) constant(x uint64) int {
	r, ok := c.numbers[x]
	if !ok {
		r = len(c.rows)
		c.rows = append(c.rows, rowSource{bits: 64, value: x})
		c.numbers[x] = r
	}
	return r
}

// specialRegisters are those with the same value for as long as a thread runs. Blocks and grids have one dimension.
var specialRegisters = map[string]func(w *warp, lane int) int{
	"%tid.x":    func(w *warp, lane int) int { return 32*w.number + lane },
	"%ntid.x":   func(w *warp, _ int) int { return w.block.launch.grid.Threads },
	"%ctaid.x":  func(w *warp, _ int) int { return w.block.number },
	"%nctaid.x": func(w *warp, _ int) int { return w.block.launch.grid.Blocks },
}

// source returns the row that an operand reads, as a number of some bits. The row of a variable has its address.
func (c *compiler) source(text string, bits int) int {
	if r, ok := c.in.Scope.Registers[text]; ok {
		if bits == 1 != (c.rows[r].bits == 1) {
			c.refuse("%s has the wrong type", text)
		}
		return r
	}
	if x, ok := ptx.Literal(text, bits); ok {
		return c.constant(x)
	}
	if special, ok := specialRegisters[text]; ok && bits > 1 {
		r, known := c.specials[text]
		if !known {
			r = len(c.rows)
			c.rows = append(c.rows, rowSource{bits: 32, special: special})
			c.specials[text] = r
		}
		return r
	}
	v, ok := c.in.Scope.Variables[text]
	if !ok || bits == 1 {
		c.refuse("unknown operand %q", text)
	}
	if _, placed := c.places[v]; !placed { // a shared one, which is used for the first time
		c.put(v, &c.shared)
	}
	return c.constant(uint64(c.places[v]))
}

// target returns the row that an operand writes, which must have room for so many bits.
func (c *compiler) target(text string, bits int) int {
	r, ok := c.in.Scope.Registers[text]
	if !ok {
		c.refuse("%q is no register", text)
	}
	if has := c.rows[r].bits; has < bits || bits == 1 && has != 1 {
		c.refuse("the result has %d bits, %s has %d", bits, text, has)
	}
	return r
}

func (c *compiler) from(i, bits int) int {
	if a := c.in.Args[i]; a.Negated || a.Vector != nil || a.Memory {
		c.refuse("operand %d is no plain value", i+1)
	}
	return c.source(c.in.Args[i].Text, bits)
}

func (c *compiler) to(bits int) int { return c.target(c.in.Args[0].Text, bits) }

func (c *compiler) refuse(format string, a ...any) {
	ptx.Refuse(c.in.Line, c.in.Text()+": "+format, a...)
}

func (c *compiler) unknown() { ptx.Refuse(c.in.Line, "unknown instruction %s", c.in.Text()) }

// is refuses an instruction that has other parts, or another number of operands.
func (c *compiler) is(operands int, names ...string) {
	if !slices.Contains(names, c.in.Text()) {
		c.unknown()
	}
	c.need(operands)
}

// need refuses an instruction with another number of operands.
func (c *compiler) need(n int) {
	if len(c.in.Args) != n {
		c.refuse("%d operands, expected %d", len(c.in.Args), n)
	}
}

// numberType is the type of a number: u32.
type numberType struct {
	kind byte // 'u', 's', 'b' or 'f'; 'p' for predicates
	bits int
}

// typed returns the last part of the instruction as a type, and the parts between it and the first.
func (c *compiler) typed() (t numberType, parts []string) {
	if len(c.in.Op) < 2 {
		c.unknown()
	}
	last := len(c.in.Op) - 1
	return c.numberType(c.in.Op[last]), c.in.Op[1:last]
}

func (c *compiler) numberType(name string) numberType {
	if name == "pred" {
		return numberType{'p', 1}
	}
	if name != "" && strings.IndexByte("usbf", name[0]) >= 0 {
		if n, err := strconv.Atoi(name[1:]); err == nil && (n == 8 || n == 16 || n == 32 || n == 64) {
			return numberType{name[0], n}
		}
	}
	c.unknown()
	return numberType{}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// cut returns the lowest n bits.
func cut(x uint64, n int) uint64 {
	if n >= 64 {
		return x
	}
	return x & (1<<n - 1)
}

// extend returns the lowest n bits as a signed number.
func extend(x uint64, n int) int64 { return int64(x<<(64-n)) >> (64 - n) }
