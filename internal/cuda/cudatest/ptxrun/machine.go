// Package ptxrun runs kernels in PTX on the CPU, so that tests verify this program's kernels without a GPU. It runs the
// same bytes as a driver. The lanes of a warp are in step, go different ways, and come together again; the warps of a
// block take turns between barriers; blocks run one after another, in the order of their numbers or in a random one.
//
// It reports, with the place in the PTX: accesses outside of allocations, or misaligned; reads of memory that was never
// written; two threads that use the same memory without a barrier in between, one of them writing; lanes that do not
// come together where they must; barriers that some threads do not reach; divisions by zero; and kernels that run too
// long. It knows the instructions of this program's kernels and of its tests; another one is an error when a text is
// loaded.
//
// It shows neither how fast a kernel is on a GPU, nor errors of the driver's compiler, nor races between blocks that
// fences hide. Instructions whose result NVIDIA does not define exactly, like approximate divisions, are unknown; sums
// of mma.sync are computed in one of three ways, drawn at random.
//
// Source: NVIDIA, Parallel thread execution ISA, version 7.0.
package ptxrun

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
)

// Options configure a Machine. The zero value is a small GPU of compute capability 8.0.
type Options struct {
	Memory       int64  // bytes of the device; 64 MiB if 0
	Granule      int64  // allocations are multiples of this many bytes, as of 2 MiB in drivers; 1 if 0
	Major, Minor int    // compute capability; 8.0 if both are 0
	Processors   int    // 4 if 0
	Seed         uint64 // draws the order of blocks, warps and atomic operations, and what is in registers; 0: in order, 0
	Instructions int64  // warp instructions that a launch may execute; 200 million if 0
	// With Fail above 0, the call of that number (from 1) that can fail and all later ones fail, as if the device had been
	// lost.
	Fail int
}

// Takes returns how much memory an allocation takes.
func (o Options) Takes(bytes int64) int64 {
	granule := max(o.Granule, 1)
	return (bytes + granule - 1) / granule * granule
}

// Machine is a cuda.Device that interprets kernels.
type Machine struct {
	options  Options
	mutex    sync.Mutex
	regions  []*region // by number; 0 is none
	used     int64
	serial   uint32
	launches uint64
	calls    int
	executed int64               // warp instructions
	spare    map[*program]*block // the memory of a kernel's last run, for the next one
	lost     error               // of a kernel or of the device; all further calls fail with it
}

func New(o Options) *Machine {
	if o.Major == 0 && o.Minor == 0 {
		o.Major = 8
	}
	o.Memory, o.Processors = cmp.Or(o.Memory, 64<<20), cmp.Or(o.Processors, 4)
	o.Instructions = cmp.Or(o.Instructions, 200_000_000)
	return &Machine{options: o, regions: []*region{nil}, spare: map[*program]*block{}}
}

// ErrLost is the error that Options.Fail causes.
var ErrLost = errors.New("the device was lost (the test asked for it)")

// do makes one of the calls that may fail, one at a time.
func (m *Machine) do(call func() error) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.calls++; m.calls == m.options.Fail && m.lost == nil {
		m.lost = ErrLost
	}
	if m.lost != nil {
		return m.lost
	}
	return call()
}

func (m *Machine) Name() string { return "PTX interpreter" }
func (m *Machine) Capability() cuda.Capability {
	return cuda.Capability{Major: m.options.Major, Minor: m.options.Minor}
}
func (m *Machine) Processors() int { return m.options.Processors }

func (m *Machine) Memory() (free, total int64, err error) {
	err = m.do(func() error {
		free, total = m.options.Memory-m.used, m.options.Memory
		return nil
	})
	return free, total, err
}

func (m *Machine) Alloc(bytes int64) (at cuda.Pointer, err error) {
	return at, m.do(func() error {
		switch n, free := len(m.regions), m.options.Memory-m.used; {
		case bytes <= 0:
			return fmt.Errorf("an allocation of %d bytes; expected at least one", bytes)
		case m.options.Takes(bytes) > free:
			return fmt.Errorf("%w: no memory for %d bytes: the device has %d free", cuda.ErrOutOfMemory, bytes, free)
		case n >= mostRegions:
			return fmt.Errorf("more than %d allocations", mostRegions)
		default:
			at = cuda.Pointer(n << positionBits)
			m.regions = append(m.regions, newRegion(fmt.Sprintf("allocation %d", n), bytes, true))
			m.used += m.options.Takes(bytes)
			return nil
		}
	})
}

func (m *Machine) Free(p cuda.Pointer) error {
	return m.do(func() error {
		r, at, err := m.region(uint64(p))
		if err != nil {
			return err
		}
		if at != 0 {
			return fmt.Errorf("pointer %#x is %d bytes behind the start of %s", p, at, r.name)
		}
		m.used -= m.options.Takes(int64(len(r.data)))
		// The number stays taken, so that a later use of the pointer is recognised.
		*r = region{name: r.name, freed: true}
		return nil
	})
}

// region returns where an address of global memory is.
func (m *Machine) region(address uint64) (r *region, at int64, err error) {
	n := address >> positionBits
	if n == 0 || n >= uint64(len(m.regions)) {
		return nil, 0, fmt.Errorf("address %#x is in no allocation", address)
	}
	if r = m.regions[n]; r.freed {
		return nil, 0, fmt.Errorf("address %#x is in %s, which was freed", address, r.name)
	}
	return r, int64(address & (positionLimit - 1)), nil
}

// copied is a call that works on some bytes of a region.
func (m *Machine) copied(p cuda.Pointer, bytes int64, work func(r *region, at int64) error) error {
	return m.do(func() error {
		if bytes == 0 {
			return nil
		}
		r, at, err := m.region(uint64(p))
		if err != nil {
			return err
		}
		if bytes < 0 || at+bytes > int64(len(r.data)) {
			return fmt.Errorf("%d bytes at %d of %s, which has %d", bytes, at, r.name, len(r.data))
		}
		return work(r, at)
	})
}

func (m *Machine) Write(to cuda.Pointer, from []byte) error {
	return m.copied(to, int64(len(from)), func(r *region, at int64) error {
		copy(r.data[at:], from)
		r.mark(at, int64(len(from)))
		return nil
	})
}

// Read implements cuda.Device. Reading bytes that were never written is an error.
func (m *Machine) Read(to []byte, from cuda.Pointer) error {
	return m.copied(from, int64(len(to)), func(r *region, at int64) error {
		if i := r.unwritten(at, int64(len(to))); i >= 0 {
			return fmt.Errorf("the byte at %d of %s is read, which nobody wrote", i, r.name)
		}
		copy(to, r.data[at:])
		return nil
	})
}

func (m *Machine) Fill(p cuda.Pointer, value byte, bytes int64) error {
	return m.copied(p, bytes, func(r *region, at int64) error {
		for i := range r.data[at : at+bytes] {
			r.data[at+int64(i)] = value
		}
		r.mark(at, bytes)
		return nil
	})
}

func (m *Machine) Sync() error { return m.do(func() error { return nil }) }

func (m *Machine) Close() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.regions, m.used = []*region{nil}, 0
	if m.lost == nil {
		m.lost = errors.New("the device is closed")
	}
	return nil
}

// module is a text with its programs. It does not depend on a machine.
type module struct {
	target   int
	programs map[string]*program
}

// loaded implements cuda.Module.
type loaded struct {
	*module
	machine *Machine
}

func (m *Machine) Load(image []byte) (on cuda.Module, err error) {
	return on, m.do(func() error {
		mod, err := find(string(image))
		if err != nil {
			return err
		}
		needs := cuda.Capability{Major: mod.target / 10, Minor: mod.target % 10}
		if has := m.Capability(); !has.AtLeast(needs) {
			return fmt.Errorf("the kernels need compute capability %s, the device has %s", needs, has)
		}
		on = loaded{mod, m}
		return nil
	})
}

// library keeps modules, as tests load the same ones a hundred times.
var library struct {
	mutex   sync.Mutex
	modules map[string]*module
}

// mostKept is how many modules the library keeps.
const mostKept = 16

// find compiles a text, or finds it in the library.
func find(image string) (*module, error) {
	library.mutex.Lock()
	defer library.mutex.Unlock()
	if m := library.modules[image]; m != nil {
		return m, nil
	}
	text, err := ptx.Parse(image)
	if err != nil {
		return nil, err
	}
	m := &module{text.Target, map[string]*program{}}
	for _, name := range slices.Sorted(maps.Keys(text.Kernels)) {
		if m.programs[name], err = compile(text.Kernels[name]); err != nil {
			return nil, err
		}
	}
	if library.modules == nil || len(library.modules) >= mostKept {
		library.modules = map[string]*module{}
	}
	library.modules[image] = m
	return m, nil
}

// Limits of a launch.
const (
	mostThreads = 1024
	mostBlocks  = 1 << 22
	mostShared  = 48 << 10 // bytes of variables that every GPU has
)

// Launch implements cuda.Module. The kernel has ended when it returns. As on a GPU, its error is returned by the next
// call of the device.
func (on loaded) Launch(kernel string, grid cuda.Grid, arguments ...any) error {
	m := on.machine
	return m.do(func() error {
		p := on.programs[kernel]
		if p == nil {
			return fmt.Errorf("no kernel %q in the module", kernel)
		}
		params, err := p.pack(arguments)
		switch {
		case err != nil:
		case grid.Blocks < 1 || grid.Blocks > mostBlocks:
			err = fmt.Errorf("%d blocks; expected 1 to %d", grid.Blocks, mostBlocks)
		case grid.Threads < 32 || grid.Threads > mostThreads || grid.Threads%32 != 0:
			err = fmt.Errorf("%d threads per block; expected a multiple of 32 up to %d", grid.Threads, mostThreads)
		case p.threads > 0 && int64(grid.Threads) > p.threads:
			err = fmt.Errorf("%d threads per block; it was compiled for %d", grid.Threads, p.threads)
		case p.shared > mostShared:
			err = fmt.Errorf("%d bytes of shared memory; a device may have only %d", p.shared, mostShared)
		}
		if err != nil {
			return fmt.Errorf("kernel %s: %w", kernel, err)
		}
		m.serial++
		m.launches++
		l := &launch{machine: m, program: p, grid: grid, params: params, serial: m.serial,
			fenced: make([]uint32, grid.Blocks), left: m.options.Instructions}
		if m.options.Seed != 0 {
			l.draws = rand.New(rand.NewPCG(m.options.Seed, m.launches))
		}
		m.lost = l.run()
		m.executed += m.options.Instructions - l.left
		return nil
	})
}

// pack lays arguments out as a kernel expects its parameters.
func (p *program) pack(arguments []any) (*region, error) {
	if len(arguments) != len(p.params) {
		return nil, fmt.Errorf("%d arguments; it has %d parameters", len(arguments), len(p.params))
	}
	r := newRegion("the parameters", p.paramSize, false)
	for i, a := range arguments {
		packed, err := cuda.Pack(a)
		if err != nil {
			return nil, fmt.Errorf("argument %d is a %T, which no kernel can have", i, a)
		}
		if v := p.params[i]; int64(len(packed)) != v.Bytes {
			return nil, fmt.Errorf("argument %d has %d bytes, the parameter %s has %d", i, len(packed), v.Name, v.Bytes)
		}
		copy(r.data[p.offsets[i]:], packed)
		r.mark(p.offsets[i], int64(len(packed)))
	}
	return r, nil
}

// Executed returns how many instructions warps have executed.
func (m *Machine) Executed() int64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.executed
}
