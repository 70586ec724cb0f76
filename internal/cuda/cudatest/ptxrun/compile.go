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
	code      []step
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
	special  func(w *warp, lane int) uint64
}

// space is the state space of an access.
type space uint8

const (
	generic space = iota
	global
	shared
	local
	param
)

type home struct {
	space   space
	address uint64
}

// builder makes the program of a kernel.
type builder struct {
	text     *ptx.Text
	p        *program
	globals  map[*ptx.Variable]uint64 // addresses
	homes    map[*ptx.Variable]home
	numbers  map[uint64]int // rows of constants
	specials map[string]int
	dynamic  []*ptx.Variable
	calling  []*ptx.Function
}

// frame is a function where it is called.
type frame struct {
	f     *ptx.Function
	first int // row of its first register
}

// build returns the program of a kernel. Variables of the module have addresses already.
func build(t *ptx.Text, kernel *ptx.Function, globals map[*ptx.Variable]uint64) (p *program, err error) {
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(ptx.Problem)
			if !ok {
				panic(r)
			}
			err = wrong
		}
	}()
	b := &builder{text: t, p: &program{name: kernel.Name, params: kernel.Params, threads: kernel.Threads},
		globals: globals, homes: map[*ptx.Variable]home{}, numbers: map[uint64]int{}, specials: map[string]int{}}
	for _, v := range kernel.Params {
		b.p.paramSize = (b.p.paramSize + v.Align - 1) &^ (v.Align - 1)
		b.p.offsets = append(b.p.offsets, b.p.paramSize)
		b.homes[v] = home{param, uint64(b.p.paramSize)}
		if b.p.paramSize += v.Bytes; b.p.paramSize > ptx.MostParams {
			ptx.Refuse(kernel.Line, "%s has more than %d bytes of parameters", kernel.Name, ptx.MostParams)
		}
	}
	b.emit(kernel, -1)
	// Dynamic shared memory is behind the variables; so its address is known only now.
	for _, v := range b.dynamic {
		b.p.shared = (b.p.shared + v.Align - 1) &^ (v.Align - 1)
	}
	for i := range b.p.rows {
		if r := &b.p.rows[i]; r.bits == dynamicShared {
			r.bits, r.value = 64, uint64(b.p.shared)
		}
	}
	b.p.flow()
	return b.p, nil
}

// dynamicShared marks the row of the address of dynamic shared memory.
const dynamicShared = -1

// emit appends the steps of a function and, if it is called, a last step at which its returns end.
func (b *builder) emit(f *ptx.Function, line int) {
	if slices.Contains(b.calling, f) {
		ptx.Refuse(line, "%s calls itself", f.Name)
	}
	b.calling = append(b.calling, f)
	defer func() { b.calling = b.calling[:len(b.calling)-1] }()
	fr := &frame{f: f, first: len(b.p.rows)}
	if len(b.p.rows)+len(f.Registers) > 2*ptx.MostRegisters {
		ptx.Refuse(f.Line, "%s has more than %d registers with all that it calls", b.p.name, 2*ptx.MostRegisters)
	}
	for _, n := range f.Registers {
		b.p.rows = append(b.p.rows, rowSource{bits: n, register: true})
	}
	for _, v := range f.Locals {
		b.placeLocal(v, f.Line)
	}
	if !f.Kernel {
		for _, v := range f.Results {
			b.placeLocal(v, f.Line)
		}
	}
	at := make([]int, len(f.Code)+1)
	type jump struct {
		step int
		to   []int // statements
	}
	var jumps []jump
	for i := range f.Code {
		at[i] = len(b.p.code)
		in := &f.Code[i]
		if len(b.p.code) >= ptx.MostCode {
			ptx.Refuse(in.Line, "%s has more than %d instructions with all that it calls", b.p.name, ptx.MostCode)
		}
		if in.Op[0] == "call" {
			b.call(in)
			continue
		}
		s, to := b.step(fr, in)
		if s.kind == leaves && !f.Kernel && in.Op[0] == "ret" {
			s.kind, to = jumpsTo(len(f.Code))
		}
		if to != nil {
			jumps = append(jumps, jump{len(b.p.code), to})
		}
		b.p.code = append(b.p.code, s)
	}
	at[len(f.Code)] = len(b.p.code)
	if len(b.p.code) == 0 || !f.Kernel {
		// A function always has a step after its last one, so that a jump to its end has a target.
		b.p.code = append(b.p.code, step{kind: plain, guard: -1, run: func(*warp, uint32) {}, line: f.Line, text: "}"})
	} else if f.Kernel {
		b.p.code = append(b.p.code, step{kind: leaves, guard: -1, line: f.Line, text: "}"})
	}
	for _, j := range jumps {
		for _, to := range j.to {
			b.p.code[j.step].targets = append(b.p.code[j.step].targets, at[to])
		}
	}
}

func jumpsTo(statement int) (kind, []int) { return jumps, []int{statement} }

func (b *builder) placeLocal(v *ptx.Variable, line int) {
	b.p.local = (b.p.local + v.Align - 1) &^ (v.Align - 1)
	b.homes[v] = home{local, uint64(b.p.local)}
	if b.p.local += (v.Bytes + 7) &^ 7; b.p.local > ptx.MostLocal {
		ptx.Refuse(line, "threads have more than %d bytes of local variables", ptx.MostLocal)
	}
}

// call replaces a call by what it calls. The variables that it passes become the parameters.
func (b *builder) call(in *ptx.Statement) {
	if in.Guard != "" {
		ptx.Refuse(in.Line, "a call with a predicate")
	}
	args := in.Args
	var results, params []ptx.Operand
	if len(args) > 0 && args[0].List != nil {
		results, args = args[0].List, args[1:]
	}
	if len(args) == 0 || args[0].Text == "" {
		ptx.Refuse(in.Line, "a call of nothing")
	}
	callee := b.text.Functions[args[0].Text]
	if len(args) > 1 {
		params = args[1].List
	}
	if callee == nil || callee.Kernel || len(args) > 2 {
		ptx.Refuse(in.Line, "%s is no function of this text", args[0].Text)
	}
	if len(params) != len(callee.Params) || len(results) != len(callee.Results) {
		ptx.Refuse(in.Line, "%s has %d parameters and %d results, the call %d and %d", callee.Name, len(callee.Params),
			len(callee.Results), len(params), len(results))
	}
	pass := func(o ptx.Operand, formal *ptx.Variable) {
		v, ok := in.Scope.Variable(o.Text)
		if !ok || v.Bytes < formal.Bytes || b.homes[v].space != local {
			ptx.Refuse(in.Line, "%q cannot be passed as %s", o.Text, formal.Name)
		}
		b.homes[formal] = b.homes[v]
	}
	for i, o := range params {
		pass(o, callee.Params[i])
	}
	b.emit(callee, in.Line)
	for i, o := range results { // the function has filled its own results; the caller reads those
		v, ok := in.Scope.Variable(o.Text)
		if !ok || v.Bytes < callee.Results[i].Bytes {
			ptx.Refuse(in.Line, "%q cannot have the result %s", o.Text, callee.Results[i].Name)
		}
		b.homes[v] = b.homes[callee.Results[i]]
	}
}

// home returns where a variable is; a shared one that is used for the first time gets a place.
func (b *builder) home(v *ptx.Variable) home {
	h, ok := b.homes[v]
	switch {
	case ok:
		return h
	case v.Space == "global" || v.Space == "const":
		return home{global, b.globals[v]}
	case v.Space != "shared":
		return home{local, ptx.MostLocal} // a parameter of a function that nobody calls
	}
	b.p.shared = (b.p.shared + v.Align - 1) &^ (v.Align - 1)
	h = home{shared, uint64(b.p.shared)}
	b.p.shared += v.Bytes
	b.homes[v] = h
	return h
}

// constant returns the row of a number.
func (b *builder) constant(x uint64) int {
	r, ok := b.numbers[x]
	if !ok {
		r = len(b.p.rows)
		b.p.rows = append(b.p.rows, rowSource{bits: 64, value: x})
		b.numbers[x] = r
	}
	return r
}

// specialRegisters are those with the same value for as long as a thread runs. Blocks and grids have one dimension.
var specialRegisters = map[string]rowSource{
	"%tid.x":       {special: func(w *warp, lane int) uint64 { return uint64(32*w.number + lane) }},
	"%ntid.x":      {special: func(w *warp, _ int) uint64 { return uint64(w.block.launch.threads) }},
	"%ctaid.x":     {special: func(w *warp, _ int) uint64 { return uint64(w.block.number) }},
	"%nctaid.x":    {special: func(w *warp, _ int) uint64 { return uint64(w.block.launch.blocks) }},
	"%laneid":      {special: func(_ *warp, lane int) uint64 { return uint64(lane) }},
	"%warpid":      {special: func(w *warp, _ int) uint64 { return uint64(w.number) }},
	"%nwarpid":     {special: func(w *warp, _ int) uint64 { return uint64(w.block.launch.threads / 32) }},
	"%lanemask_eq": {special: func(_ *warp, lane int) uint64 { return 1 << lane }},
	"%lanemask_lt": {special: func(_ *warp, lane int) uint64 { return 1<<lane - 1 }},
	"%lanemask_le": {special: func(_ *warp, lane int) uint64 { return 1<<(lane+1) - 1 }},
	"%lanemask_gt": {special: func(_ *warp, lane int) uint64 { return ^uint64(1<<(lane+1) - 1) }},
	"%lanemask_ge": {special: func(_ *warp, lane int) uint64 { return ^uint64(1<<lane - 1) }},
	"%tid.y":       {special: nothing},
	"%tid.z":       {special: nothing},
	"%ctaid.y":     {special: nothing},
	"%ctaid.z":     {special: nothing},
	"%ntid.y":      {special: one},
	"%ntid.z":      {special: one},
	"%nctaid.y":    {special: one},
	"%nctaid.z":    {special: one},
}

func nothing(*warp, int) uint64 { return 0 }
func one(*warp, int) uint64     { return 1 }

// source returns the row that an operand reads, as a number of some bits.
func (b *builder) source(fr *frame, in *ptx.Statement, o ptx.Operand, bits int) int {
	if o.Text == "" {
		ptx.Refuse(in.Line, "%s: an operand of several parts where one value belongs", in.Text())
	}
	if r, ok := in.Scope.Register(o.Text); ok {
		if bits == 1 != (fr.f.Registers[r] == 1) {
			ptx.Refuse(in.Line, "%s: %s has the wrong type", in.Text(), o.Text)
		}
		return fr.first + r
	}
	if bits == 1 {
		if x, ok := ptx.Literal(o.Text, 1); ok { // 0, or 1 or -1 for true
			return b.constant(x)
		}
		ptx.Refuse(in.Line, "%s: %q is no predicate", in.Text(), o.Text)
	}
	if s, ok := specialRegisters[o.Text]; ok {
		r, known := b.specials[o.Text]
		if !known {
			r = len(b.p.rows)
			s.bits = 32
			b.p.rows = append(b.p.rows, s)
			b.specials[o.Text] = r
		}
		return r
	}
	if o.Text == "WARP_SZ" {
		return b.constant(32)
	}
	if x, ok := ptx.Literal(o.Text, bits); ok {
		return b.constant(x)
	}
	v, ok := in.Scope.Variable(o.Text)
	if !ok {
		ptx.Refuse(in.Line, "%s: unknown operand %q", in.Text(), o.Text)
	}
	return b.addressOf(v)
}

// addressOf returns the row with the address of a variable in its space.
func (b *builder) addressOf(v *ptx.Variable) int {
	if !v.Unsized {
		return b.constant(b.home(v).address)
	}
	b.dynamic = append(b.dynamic, v)
	b.p.rows = append(b.p.rows, rowSource{bits: dynamicShared})
	return len(b.p.rows) - 1
}

// unused is the destination that is written as _.
const unused = "_"

// anyWidth is the width of what is written nowhere.
const anyWidth = 1000

// target returns the row that an operand writes.
func (b *builder) target(fr *frame, in *ptx.Statement, o ptx.Operand) int {
	if o.Text == unused {
		b.p.rows = append(b.p.rows, rowSource{bits: anyWidth})
		return len(b.p.rows) - 1
	}
	r, ok := in.Scope.Register(o.Text)
	if !ok {
		ptx.Refuse(in.Line, "%s: %q is no register", in.Text(), o.Text)
	}
	return fr.first + r
}

// width returns the bits of a register, or 64 of a number.
func (b *builder) width(row int) int { return b.p.rows[row].bits }

// step compiles an instruction; to are the statements that it may jump to.
func (b *builder) step(fr *frame, in *ptx.Statement) (s step, to []int) {
	s = step{guard: -1, line: in.Line, text: in.Text()}
	if in.Guard != "" {
		s.guard = b.source(fr, in, ptx.Operand{Text: in.Guard}, 1)
		s.unless = in.Unless
	}
	label := func(name string) int {
		at, ok := in.Scope.Label(name)
		if !ok {
			ptx.Refuse(in.Line, "unknown label %q", name)
		}
		return at
	}
	switch in.Op[0] {
	case "bra":
		b.operands(in, 1)
		s.kind = jumps
		return s, []int{label(in.Args[0].Text)}
	case "brx":
		b.operands(in, 2)
		s.kind = chooses
		s.mask = b.source(fr, in, in.Args[0], 32)
		names, ok := in.Scope.List(in.Args[1].Text)
		if !ok {
			ptx.Refuse(in.Line, "unknown list of labels %q", in.Args[1].Text)
		}
		for _, name := range names {
			to = append(to, label(name))
		}
		return s, to
	case "ret", "exit":
		b.operands(in, 0)
		s.kind = leaves
		return s, nil
	}
	c := &compiler{builder: b, frame: fr, in: in, step: &s}
	compile, ok := instructions[in.Op[0]]
	if !ok {
		ptx.Refuse(in.Line, "unknown instruction %s", in.Text())
	}
	compile(c)
	return s, nil
}

func (b *builder) operands(in *ptx.Statement, n int) {
	if len(in.Args) != n {
		ptx.Refuse(in.Line, "%s: %d operands, expected %d", in.Text(), len(in.Args), n)
	}
}

type compiler struct {
	*builder
	*frame
	in   *ptx.Statement
	step *step
}

func (c *compiler) unknown() { ptx.Refuse(c.in.Line, "unknown instruction %s", c.in.Text()) }

// need refuses an instruction with another number of operands.
func (c *compiler) need(n int) { c.operands(c.in, n) }

func (c *compiler) from(i, bits int) int { return c.source(c.frame, c.in, c.in.Args[i], bits) }
func (c *compiler) to() int              { return c.target(c.frame, c.in, c.in.Args[0]) }

// typed returns the last part of the instruction as a type.
func (c *compiler) typed() (t numberType) { return c.numberType(c.in.Op[len(c.in.Op)-1]) }

// numberType is the type of a number: u32.
type numberType struct {
	kind byte // 'u', 's', 'b' or 'f'; 'p' for predicates
	bits int
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

// modifiers takes the parts of an instruction between the first and the last, which must all be known.
func (c *compiler) modifiers(known ...string) (found map[string]bool) {
	found = map[string]bool{}
	for _, m := range c.in.Op[1 : len(c.in.Op)-1] {
		if !slices.Contains(known, m) {
			c.unknown()
		}
		found[m] = true
	}
	return found
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
