package sandbox

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
)

const (
	mostCalls = 1000 // in each other
	// bytesPerStep, as a power of 2, is how much an instruction that copies or fills memory does for a step.
	bytesPerStep = 6
)

// What the global of remaining steps has after a module has stopped, other than a number below 0.
const (
	outOfMemory = math.MinInt64
	tooDeep     = outOfMemory + 1
)

// What a metered module exports besides: its remaining steps, a mutable i64, and what is to be called before all else.
const (
	stepsExport = "steps"
	startExport = "start"
)

// meter returns a module that pays a step for each call of a function and each round of a loop, and that stops when it
// has none left, when calls are nested too deeply, and when its memory would grow above the limit. Functions that may
// be absent are added. What would be called when an instance begins is exported as startExport instead.
//
// Functions and globals keep their numbers: all that is new has higher ones, which the code does not use. Parity's
// wasm-instrument meters the contracts of block chains in the same way.
func (m *module) meter(limits Limits, functions []Function) ([]byte, error) {
	if m.hasMemory && uint64(m.memory.least)*pageSize > uint64(limits.Memory) {
		return nil, fmt.Errorf("it begins with %s of memory; want at most %s", show.Size(int64(m.memory.least)*pageSize, 3),
			show.Size(limits.Memory, 3))
	}
	for _, name := range []string{stepsExport, startExport} {
		if slices.Contains(m.names, name) {
			return nil, fmt.Errorf("it exports %q, a name that the sandbox needs", name)
		}
	}
	absent, err := m.check(functions)
	if err != nil {
		return nil, err
	}
	code, err := m.meterCode()
	if err != nil {
		return nil, err
	}
	for _, f := range absent {
		m.add(f, &code)
	}
	return m.write(limits, code), nil
}

// check compares the functions that a module exports with those that it must, and returns those that are absent.
func (m *module) check(functions []Function) (absent []Function, err error) {
	var missing []string
	for _, f := range functions {
		switch s, ok := m.exported[f.Name]; {
		case !ok && slices.Contains(m.names, f.Name):
			return nil, fmt.Errorf("it exports %s, but not as a function; want %s", f.Name, f)
		case !ok && f.Optional:
			absent = append(absent, f)
		case !ok:
			missing = append(missing, f.String())
		case s.String() != f.Signature.String():
			return nil, fmt.Errorf("it exports %s%s, want %s", f.Name, s, f)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("it does not export %s", strings.Join(missing, ", "))
	}
	return absent, nil
}

// stepsGlobal and depthGlobal are the numbers of the globals that are added.
func (m *module) stepsGlobal() uint32 { return m.globals.count }
func (m *module) depthGlobal() uint32 { return m.globals.count + 1 }

// meterCode returns the code section of the metered module.
func (m *module) meterCode() (code vector, err error) {
	c := &cursor{data: m.sections[codeSection], what: "its code section"}
	if c.data == nil {
		return code, nil
	}
	c.each(func() {
		if int(code.count) >= len(m.kinds) {
			c.fail("it has more bodies of functions than functions")
			return
		}
		body := &cursor{data: c.bytes(c.number()), what: "its code"}
		metered := m.meterBody(body, uint32(len(m.signatures[m.kinds[code.count]].Parameters)))
		if body.err != nil {
			c.fail("%w", body.err)
			return
		}
		code.add(append(appendNumber(nil, uint32(len(metered))), metered...))
	})
	if c.more() {
		c.fail("%s is longer than its contents", c.what)
	}
	return code, c.err
}

func (v *vector) add(entry []byte) {
	v.count++
	v.entries = append(v.entries, entry...)
}

func (v *vector) bytes() []byte {
	if v.count == 0 {
		return nil
	}
	return append(appendNumber(nil, v.count), v.entries...)
}

// meterBody returns the body of a function with payments. A local is added where one of them needs it.
func (m *module) meterBody(c *cursor, parameters uint32) []byte {
	locals, groups, from := uint64(parameters), uint32(0), 0
	c.each(func() {
		if groups == 0 {
			from = c.at
		}
		groups++
		locals += uint64(c.number())
		c.byte()
	})
	if locals > mostLocals {
		c.fail("it has a function with %d locals; want at most %d", locals, mostLocals)
	}
	if groups == 0 {
		from = c.at
	}
	declared := c.data[from:c.at]
	b := body{steps: m.stepsGlobal(), depth: m.depthGlobal(), spare: uint32(locals)}
	for c.more() {
		at := c.at
		op, named := c.instruction()
		if (op == opGlobalGet || op == opGlobalSet) && named >= m.globals.count {
			c.fail("its code uses global %d, and it has %d", named, m.globals.count)
		} else if op == opCall && int(named) >= len(m.kinds) {
			c.fail("its code calls function %d, and it has %d", named, len(m.kinds))
		}
		if c.err != nil {
			return nil
		}
		b.instruction(op, c.data[at:c.at])
	}
	out := declared
	if b.spares {
		groups++
		out = append(slices.Clone(declared), 1, 0x7f) // an i32
	}
	return slices.Concat(appendNumber(nil, groups), out, b.out)
}

// body is the code of a function that is being metered.
type body struct {
	out          []byte
	steps, depth uint32 // globals
	spare        uint32 // an additional local
	spares       bool   // it is used
}

// instruction appends an instruction, with what it pays.
func (b *body) instruction(op uint32, code []byte) {
	switch op {
	case opLoop:
		b.out = append(b.out, code...)
		b.pay()
	case opCall, opCallIndirect:
		b.pay()
		b.deepen(opI32Add)
		b.global(opGlobalGet, b.depth)
		b.out = appendSigned(append(b.out, opI32Const), mostCalls)
		b.stopIf(opI32GreaterU, tooDeep)
		b.out = append(b.out, code...)
		b.deepen(opI32Sub)
	case opMemoryInit, opMemoryCopy, opMemoryFill: // the length is on top of the stack
		b.local(opLocalTee)
		b.global(opGlobalGet, b.steps)
		b.local(opLocalGet)
		b.out = append(b.out, opI64Extend, opI64Const, bytesPerStep, opI64ShiftU)
		b.paid()
		b.out = append(b.out, code...)
	case opMemoryGrow: // returns -1 if the memory cannot grow
		b.out = append(b.out, code...)
		b.local(opLocalTee)
		b.out = appendSigned(append(b.out, opI32Const), -1)
		b.stopIf(opI32Eq, outOfMemory)
		b.local(opLocalGet)
	default:
		b.out = append(b.out, code...)
	}
}

func (b *body) global(op byte, number uint32) { b.out = appendNumber(append(b.out, op), number) }

func (b *body) local(op byte) {
	b.spares = true
	b.out = appendNumber(append(b.out, op), b.spare)
}

// deepen adds 1 to the depth of calls, or subtracts it.
func (b *body) deepen(op byte) {
	b.global(opGlobalGet, b.depth)
	b.out = append(b.out, opI32Const, 1, op)
	b.global(opGlobalSet, b.depth)
}

// pay subtracts a step, and stops if there was none left.
func (b *body) pay() {
	b.global(opGlobalGet, b.steps)
	b.out = append(b.out, opI64Const, 1)
	b.paid()
}

// paid subtracts what is on top of the stack from the steps below it, and stops if they were fewer.
func (b *body) paid() {
	b.out = append(b.out, opI64Sub)
	b.global(opGlobalSet, b.steps)
	b.global(opGlobalGet, b.steps)
	b.out = append(b.out, opI64Const, 0, opI64LessThan, opIf, noValue, opUnreachable, opEnd)
}

// stopIf stops if a comparison holds, and leaves the reason in the steps.
func (b *body) stopIf(comparison byte, reason int64) {
	b.out = appendSigned(append(b.out, comparison, opIf, noValue, opI64Const), reason)
	b.global(opGlobalSet, b.steps)
	b.out = append(b.out, opUnreachable, opEnd)
}

// add adds a function that does nothing.
func (m *module) add(f Function, code *vector) {
	kind := []byte{0x60}
	for _, values := range [][]string{f.Parameters, f.Results} {
		kind = appendNumber(kind, uint32(len(values)))
		for _, name := range values {
			kind = append(kind, valueBytes[name])
		}
	}
	m.functions.add(appendNumber(nil, m.types.count))
	m.types.add(kind)
	m.exports.add(appendNumber(append(appendText(nil, f.Name), 0), m.functions.count-1))
	body := []byte{0}
	if len(f.Results) > 0 {
		body = appendSigned(append(body, opI32Const), f.Default)
	}
	body = append(body, opEnd)
	code.add(append(appendNumber(nil, uint32(len(body))), body...))
}

// write returns the module with its two additional globals.
func (m *module) write(limits Limits, code vector) []byte {
	steps := appendSigned([]byte{0x7e, 1, opI64Const}, limits.Steps)
	number := m.stepsGlobal()
	m.globals.add(append(steps, opEnd))
	m.globals.add([]byte{0x7f, 1, opI32Const, 0, opEnd})
	m.exports.add(appendNumber(append(appendText(nil, stepsExport), 3), number))
	if m.sections[startSection] != nil {
		m.exports.add(append(append(appendText(nil, startExport), 0), m.sections[startSection]...))
	}
	m.sections[typeSection], m.sections[functionSection] = m.types.bytes(), m.functions.bytes()
	m.sections[globalSection], m.sections[exportSection] = m.globals.bytes(), m.exports.bytes()
	m.sections[codeSection] = code.bytes()
	if m.hasMemory {
		most := uint32(min(uint64(m.memory.most), uint64(limits.Memory)/pageSize))
		m.sections[memorySection] = appendNumber(appendNumber([]byte{1, 1}, m.memory.least), most)
	}
	out := slices.Clone(header)
	m.sections[startSection] = nil
	for _, id := range sectionOrder {
		out = appendSection(out, id, m.sections[id])
	}
	return out
}
