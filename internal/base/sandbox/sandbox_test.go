package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	test "github.com/cachesim/cachesim/internal/base/sandbox/sandboxtest"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

var limits = Limits{Memory: 1 << 20, Steps: 1000}

// driver is a module that needs nothing.
var driver = test.Module{}.Bytes()

// run is the signature of a function without parameters that returns an i32.
var run = Function{Name: "run", Signature: Signature{Results: []string{"i32"}}}

// begin compiles a module and begins an instance.
func begin(t *testing.T, code []byte, functions ...Function) *Instance {
	t.Helper()
	m := must.Get(Compile(t.Context(), code, driver, limits, functions))(t)
	i := must.Get(m.Begin(t.Context()))(t)
	t.Cleanup(i.Close)
	return i
}

// returning is a module whose function run has this code.
func returning(code ...byte) test.Module {
	return test.Module{Functions: []test.Function{{Name: "run", Results: []byte{test.I32}, Code: code}}, Pages: 1}
}

// Each of these takes so many steps, or stops, by the compiler and by the interpreter.
func TestMeters(t *testing.T) {
	fill := func(n ...byte) []byte { // memory.fill of n bytes, then 7
		return append(append([]byte{0x41, 0, 0x41, 1, 0x41}, n...), 0xfc, 11, 0, 0x41, 7)
	}
	for _, c := range []struct {
		about string
		code  []byte
		steps int64 // of those that the limits permit
		fails string
	}{
		{"a constant", []byte{0x41, 7}, 0, ""},
		{"a block", []byte{0x02, 0x40, 0x0b, 0x41, 7}, 0, ""},
		{"a loop of one round", []byte{0x03, 0x40, 0x0b, 0x41, 7}, 1, ""},
		{"a loop in another", []byte{0x03, 0x40, 0x03, 0x40, 0x0b, 0x0b, 0x41, 7}, 2, ""},
		{"a loop without end", []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 7}, 0, "run takes more than 1,000 steps"},
		{"itself", []byte{0x10, 0}, 0, "run takes more than 1,000 steps"},
		{"64 bytes", fill(0xc0, 0), 1, ""},
		{"63 bytes", fill(0x3f), 0, ""},
		{"64,000 bytes", fill(0x80, 0xf4, 3), 1000, ""},
		{"65,536 bytes", fill(0x80, 0x80, 4), 0, "run takes more than 1,000 steps"},
		{"a page more", []byte{0x41, 1, 0x40, 0, 0x41, 6, 0x6a}, 0, ""},
		{"15 pages more", []byte{0x41, 15, 0x40, 0, 0x41, 6, 0x6a}, 0, ""},
		{"16 pages more", []byte{0x41, 16, 0x40, 0}, 0, "run needs more than 1 MiB of memory"},
		{"a trap", []byte{0}, 0, "run stops with an error of its own: unreachable"},
		{"an index", []byte{0x41, 0x7f, 0x28, 2, 0}, 0, "run stops with an error of its own: out of bounds memory access"},
	} {
		for _, config := range []func() wazero.RuntimeConfig{wazero.NewRuntimeConfig, wazero.NewRuntimeConfigInterpreter} {
			newConfig = config
			i := begin(t, returning(c.code...).Bytes(), run)
			newConfig = wazero.NewRuntimeConfig
			result, err := i.Call("run")
			switch {
			case c.fails != "":
				must.Fail(t, err, c.fails, c.about)
			case err != nil || result != 7:
				t.Errorf("%s returns %d, error %v", c.about, result, err)
			case limits.Steps-int64(i.steps.Get()) != c.steps:
				t.Errorf("%s takes %d steps, want %d", c.about, limits.Steps-int64(i.steps.Get()), c.steps)
			}
		}
	}
}

// Calls are nested no deeper on one machine than on another.
func TestDepth(t *testing.T) {
	for _, config := range []func() wazero.RuntimeConfig{wazero.NewRuntimeConfig, wazero.NewRuntimeConfigInterpreter} {
		newConfig = config
		i := begin(t, returning(0x10, 0).Bytes(), run)
		newConfig = wazero.NewRuntimeConfig
		i.Refuel(1000)
		_, err := i.Call("run")
		must.Fail(t, err, "run nests more than 1,000 calls")
	}
}

// What is absent does nothing, and steps are granted again.
func TestOptionalFunctions(t *testing.T) {
	absent := Function{Name: "absent", Signature: Signature{[]string{"i32", "i64", "f64"}, []string{"i32"}},
		Optional: true, Default: -3}
	nothing := Function{Name: "nothing", Optional: true}
	i := begin(t, returning(0x03, 0x40, 0x0b, 0x41, 7).Bytes(), run, absent, nothing)
	if result := must.Get(i.Call("absent", 1, 2, 3))(t); int32(result) != -3 {
		t.Errorf("the absent function returns %d", int32(result))
	}
	must.Get(i.Call("nothing"))(t)
	for range 2000 {
		i.Refuel(0)
		must.Get(i.Call("run"))(t)
	}
}

// Each of these could do what the sandbox does not count, or take what it adds for its own.
func TestRefuses(t *testing.T) {
	good := returning(0x41, 7).Bytes()
	inFront := func(section []byte) []byte { // of the export section, or of that of memory
		at := bytes.Index(good, []byte("\x03run")) - 3
		if section[0] == tableSection {
			at -= 5
		}
		return append(append(bytes.Clone(good[:at]), section...), good[at:]...)
	}
	exporting := func(name string) []byte {
		m := returning(0x41, 7)
		m.Functions = append(m.Functions, test.Function{Name: name})
		return m.Bytes()
	}
	for want, code := range map[string][]byte{
		"its code uses global 0, and it has 0":              returning(0x23, 0, 0x1a, 0x41, 7).Bytes(),
		"its code calls function 1, and it has 1":           returning(0x10, 1).Bytes(),
		"its code changes tables":                           returning(0x41, 7, 0xfc, 15, 0).Bytes(),
		"its code has instructions of SIMD":                 returning(0xfd, 12).Bytes(),
		"its code has instructions of threads":              returning(0xfe, 0).Bytes(),
		"its code has instruction 0x12":                     returning(0x12, 0).Bytes(),
		`it exports "steps", a name that the sandbox needs`: exporting("steps"),
		`it exports "start", a name that the sandbox needs`: exporting("start"),
		"it exports run twice":                              exporting("run"),
		"it begins with 2 MiB of memory; want at most 1 MiB": test.Module{Functions: returning().Functions,
			Pages: 32}.Bytes(),
		"shared or of 64 bits":          inFront(test.Section(4, []byte{0x70, 3, 1, 1})),
		"its tables have 10001 entries": inFront(test.Section(4, []byte{0x70, 0, 0x91, 0x4e})),
		"it has 2 memories": bytes.Replace(good, []byte{5, 3, 1, 0, 1},
			[]byte{5, 5, 2, 0, 1, 0, 1}, 1),
		"it has a memory section behind the memory section": inFront(test.Section(5, []byte{0, 1})),
		"it has a section of kind 13":                       inFront(test.Section(13, []byte{0, 0})),
		"its global section ends too early":                 inFront([]byte{6, 1, 1}),
		// The interpreter makes room for as many as are promised, up to 100 GB.
		"its element section ends too early": bytes.Replace(good, []byte{10, 6},
			append(test.Section(9, []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}), 10, 6), 1),
		"its data section ends too early": append(bytes.Clone(good), test.Section(11,
			[]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})...),
		"its global section is longer": inFront([]byte{6, 7, 1, 0x7f, 0, 0x41, 0, 0x0b, 0}),
		"it has a function with 20000 locals": bytes.Replace(good, []byte{4, 0, 0x41, 7, 0x0b},
			[]byte{8, 1, 0xa0, 0x9c, 1, 0x7f, 0x41, 7, 0x0b}, 1),
	} {
		if strings.Contains(want, "20000") {
			code = bytes.Replace(code, []byte{10, 6}, []byte{10, 10}, 1)
		}
		_, err := Compile(t.Context(), code, driver, limits, []Function{run})
		must.Fail(t, err, want)
	}
}

// Texts are read up to their zero, and not from elsewhere.
func TestText(t *testing.T) {
	m := returning(0x41, 7).Bytes()
	m = append(m, test.Section(11, append([]byte{0, 0x41, 8, 0x0b, 6}, "a name"...))...)
	i := begin(t, m, run)
	for address, want := range map[uint32]string{8: "a name", 10: "name", 1 << 16: "", 1<<32 - 1: ""} {
		if got, ok := i.Text(address); got != want || ok != (want != "") {
			t.Errorf("at %d: %q, %v; want %q", address, got, ok, want)
		}
	}
}

// FuzzCompile checks that what is no module is an error, and that a module is one after it is metered.
func FuzzCompile(f *testing.F) {
	for _, code := range [][]byte{nil, driver, returning(0x41, 7).Bytes(), returning(0x03, 0x40, 0x0c, 0, 0x0b).Bytes(),
		returning(0x41, 1, 0x40, 0).Bytes(), returning(0x10, 0).Bytes()} {
		f.Add(code)
	}
	for _, path := range must.Get(filepath.Glob("../../../examples/wasm/*.wasm"))(f) {
		f.Add(must.Get(os.ReadFile(path))(f))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		m, err := readModule(code)
		if err != nil {
			return
		}
		metered, err := m.meter(Limits{Memory: 1 << 32, Steps: 1}, nil)
		if err != nil {
			return // before the interpreter makes room for what is not there
		}
		runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
		_, valid := runtime.CompileModule(t.Context(), code)
		if _, err := runtime.CompileModule(t.Context(), metered); err != nil && valid == nil {
			t.Errorf("a valid module is none after it was metered: %v", err)
		} else if err == nil && valid != nil {
			t.Errorf("a module is valid only after it was metered: %v", valid)
		}
	})
}
