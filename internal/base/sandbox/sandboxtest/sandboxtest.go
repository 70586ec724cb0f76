// Package sandboxtest builds WebAssembly modules from instructions, for tests. Only tests import it.
package sandboxtest

import (
	"slices"
)

// Function is a function that a module exports by its name.
type Function struct {
	Name                string
	Parameters, Results []byte // types of values
	Code                []byte // instructions, without the last end
}

// Module is a module with these functions, which have their numbers in this order.
type Module struct {
	Functions []Function
	Pages     byte   // of memory
	Import    string // a function of env without parameters; "" for none
	Start     int    // 1 + the number of the function that is called first, 0 for none
}

// The types of values.
const (
	I32 = 0x7f
	I64 = 0x7e
	F64 = 0x7c
)

// Policy returns the functions of a policy that does nothing, with others instead of those that have their names.
func Policy(others ...Function) []Function {
	all := slices.Clone(others)
	for _, f := range []Function{
		{Name: "hit", Parameters: []byte{I32, I64}},
		{Name: "miss", Parameters: []byte{I32, I64}},
		{Name: "victim", Parameters: []byte{I32, I64}, Results: []byte{I32}, Code: []byte{0x41, 0}},
		{Name: "insert", Parameters: []byte{I32, I64}},
		{Name: "remove", Parameters: []byte{I32}},
	} {
		if !slices.ContainsFunc(others, func(o Function) bool { return o.Name == f.Name }) {
			all = append(all, f)
		}
	}
	return all
}

// Bytes returns the module as a file has it.
func (m Module) Bytes() []byte {
	var types, functions, exports, bodies [][]byte
	for i, f := range m.Functions {
		types = append(types, slices.Concat([]byte{0x60}, sized(f.Parameters), sized(f.Results)))
		functions = append(functions, []byte{byte(i)})
		exports = append(exports, append(sized([]byte(f.Name)), 0, byte(i)))
		bodies = append(bodies, sized(slices.Concat([]byte{0}, f.Code, []byte{0x0b})))
	}
	var imports [][]byte
	if m.Import != "" {
		types = append(types, []byte{0x60, 0, 0})
		imports = [][]byte{slices.Concat(sized([]byte("env")), sized([]byte(m.Import)), []byte{0, byte(len(types) - 1)})}
	}
	out := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), Section(1, types...), Section(2, imports...),
		Section(3, functions...), Section(5, []byte{0, m.Pages}), Section(7, exports...))
	if m.Start > 0 {
		out = append(out, 8, 1, byte(m.Start-1))
	}
	return append(out, Section(10, bodies...)...)
}

// Section returns a section with entries, nothing if there are none.
func Section(id byte, entries ...[]byte) []byte {
	if len(entries) == 0 {
		return nil
	}
	return append([]byte{id}, sized(append(number(len(entries)), slices.Concat(entries...)...))...)
}

// sized returns what is preceded by its length.
func sized(b []byte) []byte { return append(number(len(b)), b...) }

func number(n int) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
