// Package sandbox runs WebAssembly modules that others have written. Compile a Module, begin any number of instances,
// and Call their functions.
//
// A module sees nothing but what it is called with: it has no imports, so neither files nor a clock, network, output or
// random numbers. Its steps, its memory and the depth of its calls are bounded, by counters in its own code. So where
// it stops depends on neither the machine nor its load, and neither does what it returns, unless it looks at the bits
// of a number that is not a number.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cachesim/cachesim/internal/base/show"
)

// Limits are the bounds of an instance.
type Limits struct {
	Memory int64 // bytes
	Steps  int64 // rounds of loops and calls between its functions, until Refuel
}

// Signature is the type of a function, in names as i32.
type Signature struct{ Parameters, Results []string }

func (s Signature) String() string {
	text := "(" + strings.Join(s.Parameters, ", ") + ")"
	if len(s.Results) > 0 {
		text += " -> " + strings.Join(s.Results, ", ")
	}
	return text
}

// Function is one that a module exports. One that is Optional and absent does nothing, and returns Default if it has a
// result, an i32.
type Function struct {
	Name string
	Signature
	Optional bool
	Default  int64
}

func (f Function) String() string { return f.Name + f.Signature.String() }

// Module is a compiled module. It may be used by several goroutines.
type Module struct {
	runtime  wazero.Runtime
	code     wazero.CompiledModule
	driver   wazero.CompiledModule
	limits   Limits
	exported map[string]Signature
}

// newConfig chooses between compiler and interpreter; a test replaces it.
var newConfig = wazero.NewRuntimeConfig

// Compile compiles a module that must export some functions, and a driver: a module of ours that imports functions and
// the steps of the other as those of "module". The memory of the driver is its own.
func Compile(ctx context.Context, code, driver []byte, limits Limits, functions []Function) (*Module, error) {
	m, err := readModule(code)
	if err != nil {
		return nil, err
	}
	metered, err := m.meter(limits, functions)
	if err != nil {
		return nil, err
	}
	config := newConfig().WithCoreFeatures(api.CoreFeaturesV2.SetEnabled(api.CoreFeatureSIMD, false))
	compiled := &Module{runtime: wazero.NewRuntimeWithConfig(ctx, config), limits: limits, exported: m.exported}
	if compiled.code, err = compiled.runtime.CompileModule(ctx, metered); err != nil {
		return nil, fmt.Errorf("it is not valid WebAssembly: %s", firstLine(err))
	}
	if compiled.driver, err = compiled.runtime.CompileModule(ctx, driver); err != nil {
		return nil, err
	}
	return compiled, nil
}

// Exports returns the signature of a function that the module itself exports, without what Compile has added.
func (m *Module) Exports(name string) (s Signature, ok bool) {
	s, ok = m.exported[name]
	return s, ok
}

// Exported returns the names of the functions that the module itself exports and that begin with a prefix, sorted.
func (m *Module) Exported(prefix string) (names []string) {
	for name := range m.exported {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Instance is a module with memory of its own, and its driver. Only one goroutine may use it at a time.
type Instance struct {
	module api.Module
	driver api.Module
	steps  api.MutableGlobal
	limits Limits
	stack  [8]uint64
}

// Begin makes an instance, and calls _initialize if the module exports it.
func (m *Module) Begin(ctx context.Context) (*Instance, error) {
	anonymous := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i := &Instance{limits: m.limits}
	var err error
	if i.module, err = m.runtime.InstantiateModule(ctx, m.code, anonymous); err != nil {
		return nil, fmt.Errorf("it cannot begin: %s", firstLine(err))
	}
	i.steps = i.module.ExportedGlobal(stepsExport).(api.MutableGlobal)
	ctx = experimental.WithImportResolver(ctx, func(string) api.Module { return i.module })
	if i.driver, err = m.runtime.InstantiateModule(ctx, m.driver, anonymous); err != nil {
		i.Close()
		return nil, err
	}
	for _, first := range []string{startExport, "_initialize"} {
		if f := i.module.ExportedFunction(first); f != nil {
			if _, err := i.call(f, nil); err != nil {
				i.Close()
				return nil, fmt.Errorf("%s %w", first, err)
			}
		}
	}
	return i, nil
}

// Close frees what the instance has. It must not be in use.
func (i *Instance) Close() {
	for _, module := range []api.Module{i.driver, i.module} {
		if module != nil {
			_ = module.Close(context.Background())
		}
	}
}

// Refuel grants the steps of the limits, and more beyond them.
func (i *Instance) Refuel(more int64) { i.steps.Set(uint64(i.limits.Steps + more)) }

// Call calls a function of the module, and returns its result, or 0.
func (i *Instance) Call(name string, arguments ...uint64) (uint64, error) {
	result, err := i.call(i.module.ExportedFunction(name), arguments)
	if err != nil {
		return 0, fmt.Errorf("%s %w", name, err)
	}
	return result, nil
}

func (i *Instance) call(f api.Function, arguments []uint64) (uint64, error) {
	i.stack[0] = 0
	copy(i.stack[:], arguments)
	if err := f.CallWithStack(context.Background(), i.stack[:]); err != nil {
		return 0, i.why(err)
	}
	return i.stack[0], nil
}

// why says why a module has stopped.
func (i *Instance) why(err error) error {
	switch left := int64(i.steps.Get()); {
	case left == outOfMemory:
		return fmt.Errorf("needs more than %s of memory", show.Size(i.limits.Memory, 3))
	case left == tooDeep:
		return fmt.Errorf("nests more than %s calls", show.Count(mostCalls))
	case left < 0:
		return fmt.Errorf("takes more than %s (rounds of loops, and calls)", show.Counted(i.limits.Steps, "step"))
	}
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	return fmt.Errorf("stops with an error of its own: %s", firstLine(inner))
}

// Driver is a function of the driver.
type Driver struct {
	instance *Instance
	function api.Function
}

// Driver returns a function of the driver.
func (i *Instance) Driver(name string) Driver { return Driver{i, i.driver.ExportedFunction(name)} }

// Call calls the function and returns its result, or 0.
func (d Driver) Call(arguments ...uint64) (uint64, error) {
	return d.instance.call(d.function, arguments)
}

// DriverMemory returns the memory of the driver. It is valid until the driver makes it grow.
func (i *Instance) DriverMemory() []byte {
	all, _ := i.driver.Memory().Read(0, i.driver.Memory().Size())
	return all
}

// Text returns what the memory has from an address until a zero; ok is false if there is none within 200 bytes.
func (i *Instance) Text(address uint32) (text string, ok bool) {
	memory := i.module.Memory()
	if memory == nil || address >= memory.Size() {
		return "", false
	}
	all, _ := memory.Read(address, min(200, memory.Size()-address))
	before, _, ok := bytes.Cut(all, []byte{0})
	return string(before), ok && utf8.Valid(before)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
