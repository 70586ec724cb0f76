package ptxrun

import (
	"slices"
	"strconv"
	"strings"
)

// program is a kernel that is ready to run.
type program struct {
	name      string
	code      []step
	rows      []rowSource
	params    []*variable
	offsets   []int64 // of the parameters
	paramSize int64
	shared    int64 // bytes of the variables of a block
	local     int64 // bytes of the variables of a thread
	threads   int64 // the most per block, 0 without a limit
}

// rowSource is what a row has at the beginning: a register nothing in particular, others a constant.
type rowSource struct {
	bits    int
	value   uint64
	special func(w *warp, lane int) uint64
	ofBlock bool // differs between blocks
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

// home is where a variable is.
type home struct {
	space   space
	address uint64
}

// builder makes the program of a kernel.
type builder struct {
	text     *text
	p        *program
	globals  map[*variable]uint64 // addresses
	homes    map[*variable]home
	numbers  map[uint64]int // rows of constants
	specials map[string]int
	dynamic  []*variable
	calling  []*function
}

// frame is a function where it is called.
type frame struct {
	f     *function
	first int // row of its first register
}

// build returns the program of a kernel. Variables of the module have addresses already.
func build(t *text, kernel *function, globals map[*variable]uint64) (p *program, err error) {
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(problem)
			if !ok {
				panic(r)
			}
			err = wrong
		}
	}()
	b := &builder{text: t, p: &program{name: kernel.name, params: kernel.params, threads: kernel.threads},
		globals: globals, homes: map[*variable]home{}, numbers: map[uint64]int{}, specials: map[string]int{}}
	for _, v := range kernel.params {
		b.p.paramSize = (b.p.paramSize + v.align - 1) &^ (v.align - 1)
		b.p.offsets = append(b.p.offsets, b.p.paramSize)
		b.homes[v] = home{param, uint64(b.p.paramSize)}
		if b.p.paramSize += v.bytes; b.p.paramSize > mostParams {
			refuse(kernel.line, "%s has more than %d bytes of parameters", kernel.name, mostParams)
		}
	}
	b.emit(kernel, -1)
	// Dynamic shared memory is behind the variables; its address is a constant that is not known before.
	for _, v := range b.dynamic {
		b.p.shared = (b.p.shared + v.align - 1) &^ (v.align - 1)
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

// emit appends the steps of a function, and where it ends, of one that is called.
func (b *builder) emit(f *function, line int) {
	if slices.Contains(b.calling, f) {
		refuse(line, "%s calls itself", f.name)
	}
	b.calling = append(b.calling, f)
	defer func() { b.calling = b.calling[:len(b.calling)-1] }()
	fr := &frame{f: f, first: len(b.p.rows)}
	if len(b.p.rows)+len(f.registers) > 2*mostRegisters {
		refuse(f.line, "%s has more than %d registers with all that it calls", b.p.name, 2*mostRegisters)
	}
	for _, n := range f.registers {
		b.p.rows = append(b.p.rows, rowSource{bits: n})
	}
	for _, v := range f.locals {
		b.placeLocal(v, f.line)
	}
	if !f.kernel {
		for _, v := range f.results {
			b.placeLocal(v, f.line)
		}
	}
	at := make([]int, len(f.code)+1)
	type jump struct {
		step int
		to   []int // statements
	}
	var jumps []jump
	for i := range f.code {
		at[i] = len(b.p.code)
		in := &f.code[i]
		if len(b.p.code) >= mostCode {
			refuse(in.line, "%s has more than %d instructions with all that it calls", b.p.name, mostCode)
		}
		if in.op[0] == "call" {
			b.call(fr, in)
			continue
		}
		s, to := b.step(fr, in)
		if s.kind == leaves && !f.kernel && in.op[0] == "ret" {
			s.kind, to = jumpsTo(len(f.code))
		}
		if to != nil {
			jumps = append(jumps, jump{len(b.p.code), to})
		}
		b.p.code = append(b.p.code, s)
	}
	at[len(f.code)] = len(b.p.code)
	if len(b.p.code) == 0 || !f.kernel {
		// There is always a step behind the last one of a function, so that a jump to its end has a target.
		b.p.code = append(b.p.code, step{kind: plain, guard: -1, run: func(*warp, uint32) {}, line: f.line, text: "}"})
	} else if f.kernel {
		b.p.code = append(b.p.code, step{kind: leaves, guard: -1, line: f.line, text: "}"})
	}
	for _, j := range jumps {
		for _, to := range j.to {
			b.p.code[j.step].targets = append(b.p.code[j.step].targets, at[to])
		}
	}
}

func jumpsTo(statement int) (kind, []int) { return jumps, []int{statement} }

// placeLocal gives a variable of a thread its place.
func (b *builder) placeLocal(v *variable, line int) {
	b.p.local = (b.p.local + v.align - 1) &^ (v.align - 1)
	b.homes[v] = home{local, uint64(b.p.local)}
	if b.p.local += (v.bytes + 7) &^ 7; b.p.local > mostLocal {
		refuse(line, "threads have more than %d bytes of local variables", mostLocal)
	}
}

// call replaces a call by what it calls. The variables that it passes become the parameters.
func (b *builder) call(fr *frame, in *statement) {
	if in.guard != "" {
		refuse(in.line, "a call with a predicate")
	}
	args := in.args
	var results, params []operand
	if len(args) > 0 && args[0].list != nil {
		results, args = args[0].list, args[1:]
	}
	if len(args) == 0 || args[0].text == "" {
		refuse(in.line, "a call of nothing")
	}
	callee := b.text.functions[args[0].text]
	if len(args) > 1 {
		params = args[1].list
	}
	if callee == nil || callee.kernel || len(args) > 2 {
		refuse(in.line, "%s is no function of this text", args[0].text)
	}
	if len(params) != len(callee.params) || len(results) != len(callee.results) {
		refuse(in.line, "%s has %d parameters and %d results, the call %d and %d", callee.name, len(callee.params),
			len(callee.results), len(params), len(results))
	}
	pass := func(o operand, formal *variable) {
		v, ok := in.scope.variable(o.text)
		if !ok || v.bytes < formal.bytes || b.homes[v].space != local {
			refuse(in.line, "%q cannot be passed as %s", o.text, formal.name)
		}
		b.homes[formal] = b.homes[v]
	}
	for i, o := range params {
		pass(o, callee.params[i])
	}
	b.emit(callee, in.line)
	for i, o := range results { // the function has filled its own results; the caller reads those
		v, ok := in.scope.variable(o.text)
		if !ok || v.bytes < callee.results[i].bytes {
			refuse(in.line, "%q cannot have the result %s", o.text, callee.results[i].name)
		}
		b.homes[v] = b.homes[callee.results[i]]
	}
}

// home returns where a variable is; a shared one that is used for the first time gets a place.
func (b *builder) home(v *variable) home {
	h, ok := b.homes[v]
	switch {
	case ok:
		return h
	case v.space == "global" || v.space == "const":
		return home{global, b.globals[v]}
	case v.space != "shared":
		return home{local, mostLocal} // a parameter of a function that nobody calls
	}
	b.p.shared = (b.p.shared + v.align - 1) &^ (v.align - 1)
	h = home{shared, uint64(b.p.shared)}
	b.p.shared += v.bytes
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
	"%ctaid.x":     {special: func(w *warp, _ int) uint64 { return uint64(w.block.number) }, ofBlock: true},
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
func (b *builder) source(fr *frame, in *statement, o operand, bits int) int {
	if o.text == "" {
		refuse(in.line, "%s: an operand of several parts where one value belongs", in.text())
	}
	if r, ok := in.scope.register(o.text); ok {
		if bits == 1 != (fr.f.registers[r] == 1) {
			refuse(in.line, "%s: %s has the wrong type", in.text(), o.text)
		}
		return fr.first + r
	}
	if bits == 1 {
		if x, ok := literal(o.text, 1); ok { // 0, or 1 or -1 for true
			return b.constant(x)
		}
		refuse(in.line, "%s: %q is no predicate", in.text(), o.text)
	}
	if s, ok := specialRegisters[o.text]; ok {
		r, known := b.specials[o.text]
		if !known {
			r = len(b.p.rows)
			s.bits = 32
			b.p.rows = append(b.p.rows, s)
			b.specials[o.text] = r
		}
		return r
	}
	if o.text == "WARP_SZ" {
		return b.constant(32)
	}
	if x, ok := literal(o.text, bits); ok {
		return b.constant(x)
	}
	v, ok := in.scope.variable(o.text)
	if !ok {
		refuse(in.line, "%s: unknown operand %q", in.text(), o.text)
	}
	return b.addressOf(v)
}

// addressOf returns the row with the address of a variable in its space.
func (b *builder) addressOf(v *variable) int {
	if !v.unsized {
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
func (b *builder) target(fr *frame, in *statement, o operand) int {
	if o.text == unused {
		b.p.rows = append(b.p.rows, rowSource{bits: anyWidth})
		return len(b.p.rows) - 1
	}
	r, ok := in.scope.register(o.text)
	if !ok {
		refuse(in.line, "%s: %q is no register", in.text(), o.text)
	}
	return fr.first + r
}

// width returns the bits of a register, or 64 of a number.
func (b *builder) width(row int) int { return b.p.rows[row].bits }

// step compiles an instruction; to are the statements that it may jump to.
func (b *builder) step(fr *frame, in *statement) (s step, to []int) {
	s = step{guard: -1, line: in.line, text: in.text()}
	if in.guard != "" {
		s.guard = b.source(fr, in, operand{text: in.guard}, 1)
		s.unless = in.unless
	}
	label := func(name string) int {
		at, ok := in.scope.label(name)
		if !ok {
			refuse(in.line, "unknown label %q", name)
		}
		return at
	}
	switch in.op[0] {
	case "bra":
		b.operands(in, 1)
		s.kind = jumps
		return s, []int{label(in.args[0].text)}
	case "brx":
		b.operands(in, 2)
		s.kind = chooses
		s.mask = b.source(fr, in, in.args[0], 32)
		names, ok := in.scope.list(in.args[1].text)
		if !ok {
			refuse(in.line, "unknown list of labels %q", in.args[1].text)
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
	compile, ok := instructions[in.op[0]]
	if !ok {
		refuse(in.line, "unknown instruction %s", in.text())
	}
	compile(c)
	return s, nil
}

func (s *scope) list(name string) ([]string, bool) {
	for ; s != nil; s = s.outer {
		if l, ok := s.targets[name]; ok {
			return l, true
		}
	}
	return nil, false
}

func (b *builder) operands(in *statement, n int) {
	if len(in.args) != n {
		refuse(in.line, "%s: %d operands, expected %d", in.text(), len(in.args), n)
	}
}

// compiler compiles one instruction.
type compiler struct {
	*builder
	*frame
	in   *statement
	step *step
}

func (c *compiler) unknown() { refuse(c.in.line, "unknown instruction %s", c.in.text()) }

// need refuses an instruction with another number of operands.
func (c *compiler) need(n int) { c.operands(c.in, n) }

func (c *compiler) from(i, bits int) int { return c.source(c.frame, c.in, c.in.args[i], bits) }
func (c *compiler) to(i int) int         { return c.target(c.frame, c.in, c.in.args[i]) }

// typed returns the last part of the instruction as a type.
func (c *compiler) typed() (t numberType) { return c.numberType(c.in.op[len(c.in.op)-1]) }

// numberType is a type such as u32.
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
	for _, m := range c.in.op[1 : len(c.in.op)-1] {
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
