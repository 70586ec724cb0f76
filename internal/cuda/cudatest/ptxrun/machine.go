// Package ptxrun runs kernels in PTX on the CPU, so that tests verify this program's kernels without a GPU. It runs the
// same bytes as a driver. The lanes of a warp are in step, go different ways, and come together again; the warps of a
// block take turns between barriers; blocks run one after another, in the order of their numbers or in a random one.
//
// It reports, with the place in the PTX: accesses outside of allocations, or misaligned; reads of memory that was never
// written; two threads that use the same memory without a barrier in between, one of them writing; lanes that do not
// come together where they must; barriers that some threads do not reach; divisions by zero; and kernels that run too
// long. An instruction that it does not know is an error when the text is loaded.
//
// It shows neither how fast a kernel is on a GPU, nor errors of the driver's compiler, nor races between blocks that
// fences hide. Instructions whose result NVIDIA does not define exactly, like approximate divisions, are unknown; sums
// of mma.sync are computed in one of three ways, drawn at random.
//
// Source: NVIDIA, Parallel thread execution ISA, version 7.0.
package ptxrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
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
	launchs  uint64
	calls    int
	executed int64               // warp instructions
	spare    map[*program]*block // the memory of a kernel's last run, for the next one
	lost     error               // of a kernel or of the device; all further calls fail with it
}

func New(o Options) *Machine {
	if o.Memory == 0 {
		o.Memory = 64 << 20
	}
	if o.Major == 0 && o.Minor == 0 {
		o.Major = 8
	}
	if o.Processors == 0 {
		o.Processors = 4
	}
	if o.Instructions == 0 {
		o.Instructions = 200_000_000
	}
	return &Machine{options: o, regions: []*region{nil}, spare: map[*program]*block{}}
}

// ErrLost is the error that Options.Fail causes.
var ErrLost = errors.New("the device was lost (the test asked for it)")

// begin counts a call that may fail.
func (m *Machine) begin() error {
	if m.calls++; m.calls == m.options.Fail && m.lost == nil {
		m.lost = ErrLost
	}
	return m.lost
}

func (m *Machine) Name() string                   { return "PTX interpreter" }
func (m *Machine) Capability() (major, minor int) { return m.options.Major, m.options.Minor }
func (m *Machine) Processors() int                { return m.options.Processors }

func (m *Machine) Memory() (free, total int64, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil {
		return 0, 0, err
	}
	return m.options.Memory - m.used, m.options.Memory, nil
}

func (m *Machine) Alloc(bytes int64) (cuda.Pointer, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, fmt.Errorf("an allocation of %d bytes; expected at least one", bytes)
	}
	if m.options.Takes(bytes) > m.options.Memory-m.used {
		return 0, fmt.Errorf("%w: no memory for %d bytes: the device has %d free", cuda.ErrOutOfMemory, bytes,
			m.options.Memory-m.used)
	}
	return m.allocate("", bytes)
}

func (m *Machine) allocate(name string, bytes int64) (cuda.Pointer, error) {
	if len(m.regions) >= mostRegions {
		return 0, fmt.Errorf("more than %d allocations", mostRegions)
	}
	n := len(m.regions)
	if name == "" {
		name = fmt.Sprintf("allocation %d", n)
	}
	m.regions = append(m.regions, newRegion(name, bytes, true))
	m.used += m.options.Takes(bytes)
	return cuda.Pointer(uint64(n) << positionBits), nil
}

func (m *Machine) Free(p cuda.Pointer) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil {
		return err
	}
	r, at, err := m.region(p, 0)
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
}

// region returns where a pointer points to; there must be room for some bytes.
func (m *Machine) region(p cuda.Pointer, bytes int64) (r *region, at int64, err error) {
	n := uint64(p) >> positionBits
	at = int64(uint64(p) & (positionLimit - 1))
	switch {
	case n == 0 || n >= uint64(len(m.regions)):
		return nil, 0, fmt.Errorf("pointer %#x is in no allocation", p)
	case m.regions[n].freed:
		return nil, 0, fmt.Errorf("pointer %#x is in %s, which was freed", p, m.regions[n].name)
	case at+bytes > int64(len(m.regions[n].data)):
		return nil, 0, fmt.Errorf("%d bytes at %d of %s, which has %d", bytes, at, m.regions[n].name,
			len(m.regions[n].data))
	}
	return m.regions[n], at, nil
}

func (m *Machine) Write(to cuda.Pointer, from []byte) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil || len(from) == 0 {
		return err
	}
	r, at, err := m.region(to, int64(len(from)))
	if err != nil {
		return err
	}
	copy(r.data[at:], from)
	r.mark(at, int64(len(from)), true)
	return nil
}

// Read implements cuda.Device. Reading bytes that were never written is an error.
func (m *Machine) Read(to []byte, from cuda.Pointer) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil || len(to) == 0 {
		return err
	}
	r, at, err := m.region(from, int64(len(to)))
	if err != nil {
		return err
	}
	if i := r.unwritten(at, int64(len(to))); i >= 0 {
		return fmt.Errorf("the byte at %d of %s is read, which nobody wrote", i, r.name)
	}
	copy(to, r.data[at:])
	return nil
}

func (m *Machine) Fill(p cuda.Pointer, value byte, bytes int64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil || bytes == 0 {
		return err
	}
	r, at, err := m.region(p, max(bytes, 0))
	if err != nil {
		return err
	}
	for i := range r.data[at : at+bytes] {
		r.data[at+int64(i)] = value
	}
	r.mark(at, bytes, true)
	return nil
}

func (m *Machine) Sync() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.begin()
}

func (m *Machine) Close() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.regions, m.used = []*region{nil}, 0
	if m.lost == nil {
		m.lost = errors.New("the device is closed")
	}
	return nil
}

// module implements cuda.Module.
type module struct {
	machine  *Machine
	programs map[string]*program
}

func (m *Machine) Load(image []byte) (cuda.Module, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil {
		return nil, err
	}
	t, err := read(string(image))
	if err != nil {
		return nil, err
	}
	if has := 10*m.options.Major + m.options.Minor; t.Target > has {
		return nil, fmt.Errorf("the kernels need compute capability %d.%d, the device has %d.%d", t.Target/10, t.Target%10,
			m.options.Major, m.options.Minor)
	}
	globals, err := m.globals(t.Text)
	if err != nil {
		return nil, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(globals) == 0 && t.programs != nil {
		return &module{m, t.programs}, nil
	}
	mod := &module{m, map[string]*program{}}
	for _, name := range slices.Sorted(maps.Keys(t.Functions)) {
		f := t.Functions[name]
		if !f.Kernel {
			continue
		}
		if mod.programs[f.Name], err = build(t.Text, f, globals); err != nil {
			return nil, err
		}
	}
	if len(globals) == 0 {
		t.programs = mod.programs
	}
	return mod, nil
}

// globals allocates the variables of a text, and returns their addresses.
func (m *Machine) globals(t *ptx.Text) (map[*ptx.Variable]uint64, error) {
	all := map[*ptx.Variable]uint64{}
	for _, v := range t.Variables {
		if v.Space == "shared" {
			continue
		}
		if v.Bytes > m.options.Memory-m.used {
			return nil, fmt.Errorf("no memory for the variable %s of %d bytes", v.Name, v.Bytes)
		}
		p, err := m.allocate(v.Name, v.Bytes)
		if err != nil {
			return nil, err
		}
		r := m.regions[uint64(p)>>positionBits]
		copy(r.data, v.Content)
		r.mark(0, v.Bytes, true)
		all[v] = uint64(p)
	}
	return all, nil
}

// library keeps parsed texts, as tests load the same ones a hundred times.
var library struct {
	mutex sync.Mutex
	texts map[string]*shelved
}

// shelved is a text with its programs, unless these have addresses of a machine's variables.
type shelved struct {
	*ptx.Text
	mutex    sync.Mutex
	programs map[string]*program
}

// mostShelved is how many texts the library keeps.
const mostShelved = 16

// read parses a text, or finds it in the library.
func read(image string) (*shelved, error) {
	library.mutex.Lock()
	defer library.mutex.Unlock()
	if t := library.texts[image]; t != nil {
		return t, nil
	}
	parsed, err := ptx.Parse(image)
	if err != nil {
		return nil, err
	}
	if library.texts == nil || len(library.texts) >= mostShelved {
		library.texts = map[string]*shelved{}
	}
	t := &shelved{Text: parsed}
	library.texts[image] = t
	return t, nil
}

// Limits of a launch.
const (
	mostThreads  = 1024
	mostBlocks   = 1 << 22
	staticShared = 48 << 10
)

// Launch implements cuda.Module. The kernel has ended when it returns. As on a GPU, its error is returned by the next
// call of the device.
func (mod *module) Launch(kernel string, grid cuda.Grid, arguments ...any) error {
	m := mod.machine
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.begin(); err != nil {
		return err
	}
	p := mod.programs[kernel]
	if p == nil {
		return fmt.Errorf("no kernel %q in the module", kernel)
	}
	params, err := p.pack(arguments)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", kernel, err)
	}
	bytes := p.shared + int64(grid.Shared)
	switch {
	case grid.Blocks < 1 || grid.Blocks > mostBlocks:
		return fmt.Errorf("kernel %s: %d blocks; expected 1 to %d", kernel, grid.Blocks, mostBlocks)
	case grid.Threads < 32 || grid.Threads > mostThreads || grid.Threads%32 != 0:
		return fmt.Errorf("kernel %s: %d threads per block; expected a multiple of 32 up to %d", kernel, grid.Threads,
			mostThreads)
	case p.threads > 0 && int64(grid.Threads) > p.threads:
		return fmt.Errorf("kernel %s: %d threads per block; it was compiled for %d", kernel, grid.Threads, p.threads)
	case grid.Shared < 0 || p.shared > staticShared || bytes > m.mostShared():
		return fmt.Errorf("kernel %s: %d bytes of shared memory, and %d of variables; the device has %d", kernel,
			grid.Shared, p.shared, m.mostShared())
	}
	m.serial++
	m.launchs++
	l := &launch{machine: m, program: p, blocks: grid.Blocks, threads: grid.Threads, shared: bytes, params: params,
		serial: m.serial, fenced: make([]uint32, grid.Blocks), left: m.options.Instructions}
	if m.options.Seed != 0 {
		l.draws = rand.New(rand.NewPCG(m.options.Seed, m.launchs))
	}
	m.lost = l.run()
	m.executed += m.options.Instructions - l.left
	return nil
}

// mostShared is how many bytes of shared memory a block may have.
func (m *Machine) mostShared() int64 {
	switch {
	case m.options.Major < 8:
		return 96 << 10
	case m.options.Major == 8 && m.options.Minor == 0:
		return 163 << 10
	case m.options.Major == 8:
		return 99 << 10
	}
	return ptx.MostShared
}

// pack lays arguments out as a kernel expects its parameters.
func (p *program) pack(arguments []any) (*region, error) {
	if len(arguments) != len(p.params) {
		return nil, fmt.Errorf("%d arguments; it has %d parameters", len(arguments), len(p.params))
	}
	r := newRegion("the parameters", p.paramSize, false)
	for i, a := range arguments {
		var b []byte
		switch a := a.(type) {
		case uint32:
			b = binary.LittleEndian.AppendUint32(nil, a)
		case int32:
			b = binary.LittleEndian.AppendUint32(nil, uint32(a))
		case float32:
			b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(a))
		case uint64:
			b = binary.LittleEndian.AppendUint64(nil, a)
		case int64:
			b = binary.LittleEndian.AppendUint64(nil, uint64(a))
		case float64:
			b = binary.LittleEndian.AppendUint64(nil, math.Float64bits(a))
		case cuda.Pointer:
			b = binary.LittleEndian.AppendUint64(nil, uint64(a))
		default:
			return nil, fmt.Errorf("argument %d is a %T, which no kernel can have", i, a)
		}
		if int64(len(b)) != p.params[i].Bytes {
			return nil, fmt.Errorf("argument %d has %d bytes, the parameter %s has %d", i, len(b), p.params[i].Name,
				p.params[i].Bytes)
		}
		copy(r.data[p.offsets[i]:], b)
		r.mark(p.offsets[i], int64(len(b)), true)
	}
	return r, nil
}

// Kernels returns the names of the kernels of a module, in alphabetical order.
func Kernels(image []byte) ([]string, error) {
	t, err := ptx.Parse(string(image))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range t.Functions {
		if f.Kernel {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Executed returns how many instructions warps have executed.
func (m *Machine) Executed() int64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.executed
}
