package modules

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/sandbox"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/custom/events"
)

// program is a module with its parameters.
type program struct {
	module *sandbox.Module
	path   string
	steps  int64
	given  map[string]float64 // parameters of the module's own
	name   string             // what it says about itself; "" for nothing
	source string
}

func read(v policies.Values) (*program, error) {
	p := &program{path: v.Text("file"), steps: int64(v.Int("steps")), given: map[string]float64{}}
	if p.path == "" {
		return nil, errors.New("file is missing; want a WebAssembly module, as in wasm(file=my.wasm)")
	}
	for name, value := range v {
		if number, ok := value.(float64); ok {
			p.given[name] = number
		}
	}
	f, err := filestate.Open(p.path)
	if err != nil {
		return nil, err // which names the file
	}
	defer f.Close()
	if err := p.load(f, sandbox.Limits{Memory: int64(v.Int("memory")) << 20, Steps: p.steps}); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	return p, nil
}

// load compiles the module, and lets it begin once.
func (p *program) load(f io.Reader, limits sandbox.Limits) error {
	const most = 4 << 20
	code, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return err
	}
	if len(code) > most {
		return fmt.Errorf("it is longer than %s; want a module of a policy, without the libraries of a program",
			show.Size(most, 3))
	}
	if p.module, err = compiled.get(code, limits); err != nil {
		return err
	}
	instance, err := p.module.Begin(context.Background())
	if err != nil {
		return err
	}
	defer instance.Close()
	if err := p.set(instance); err != nil {
		return err
	}
	for name, to := range map[string]*string{"name": &p.name, "source": &p.source} {
		if !p.has(name) {
			continue
		}
		instance.Refuel(0)
		address, err := instance.Call(name)
		if err != nil {
			return err
		}
		text, ok := instance.Text(uint32(address))
		if !ok || text != show.Printable(text) {
			return fmt.Errorf("%s returns %d, where no text is; want the address of one that ends with a zero", name,
				uint32(address))
		}
		*to = text
	}
	return nil
}

// set sets the parameters.
func (p *program) set(instance *sandbox.Instance) error {
	for _, name := range slices.Sorted(maps.Keys(p.given)) {
		s, ok := p.module.Exports(parameterPrefix + name)
		if !ok {
			return p.unknown(name)
		}
		if s.String() != "(f64) -> f64" {
			return fmt.Errorf("it exports %s%s%s, want (f64) -> f64", parameterPrefix, name, s)
		}
		instance.Refuel(0)
		used, err := instance.Call(parameterPrefix+name, math.Float64bits(p.given[name]))
		if err != nil {
			return err
		}
		if math.IsNaN(math.Float64frombits(used)) {
			return fmt.Errorf("%s=%v: it refuses this value", name, p.given[name])
		}
	}
	return nil
}

func (p *program) unknown(name string) error {
	known := p.module.Exported(parameterPrefix)
	for i := range known {
		known[i] = known[i][len(parameterPrefix):]
	}
	if len(known) == 0 {
		return fmt.Errorf("unknown parameter %q: it has none of its own, which functions named %sNAME would be", name,
			parameterPrefix)
	}
	return suggest.Unknown("parameter", name, known)
}

// has reports whether the module has one of the functions that it need not have.
func (p *program) has(name string) bool {
	_, ok := p.module.Exports(name)
	return ok
}

// kind returns the Type of the entry.
func (p *program) kind() any {
	switch {
	case p.has("clock"):
		return events.TypeOf(events.Options{Admits: p.has("admit")})
	case p.has("admit"):
		return (*admittingModule)(nil)
	}
	return (*module)(nil)
}

// driver.wasm is built from driver.c, by make wasm.
//
//go:embed driver/driver.wasm
var driver []byte

// compiled has the modules that were compiled last, so that the cells of a sweep share them.
var compiled cachedModules

type cachedModules struct {
	mutex sync.Mutex
	last  []cachedModule // the newest first
}

type cachedModule struct {
	sum    [sha256.Size]byte
	limits sandbox.Limits
	module *sandbox.Module
}

func (c *cachedModules) get(code []byte, limits sandbox.Limits) (*sandbox.Module, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	sum := sha256.Sum256(code)
	for _, known := range c.last {
		if known.sum == sum && known.limits == limits {
			return known.module, nil
		}
	}
	m, err := sandbox.Compile(context.Background(), code, driver, limits, functions)
	if err != nil {
		return nil, err
	}
	const most = 8
	c.last = slices.Insert(c.last, 0, cachedModule{sum, limits, m})
	c.last = c.last[:min(len(c.last), most)]
	return m, nil
}
