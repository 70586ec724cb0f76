package cudatest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/cuda"
)

// Fault is how a device goes wrong without reporting an error.
type Fault int

// The faults of devices.
const (
	Nothing Fault = iota // kernels do nothing: memory keeps what it had, which is 0 at first
	Garbage              // kernels fill all memory with random bytes
)

// Faulty is a device whose kernels work for Right launches, and then go wrong. Goroutines must not share it. It
// implements cuda.Device.
type Faulty struct {
	cuda.Device
	Fault    Fault
	Right    int // launches that work
	Launches int // all so far

	held map[cuda.Pointer]int64
	rng  *rand.Rand
}

// Alloc implements cuda.Device. The memory is 0.
func (f *Faulty) Alloc(bytes int64) (cuda.Pointer, error) {
	at, err := f.Device.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	if f.held == nil {
		f.held, f.rng = map[cuda.Pointer]int64{}, rand.New(rand.NewPCG(1, 2))
	}
	f.held[at] = bytes
	return at, f.Fill(at, 0, bytes)
}

func (f *Faulty) Free(at cuda.Pointer) error {
	delete(f.held, at)
	return f.Device.Free(at)
}

func (f *Faulty) Load(ptx []byte) (cuda.Module, error) {
	m, err := f.Device.Load(ptx)
	return faultyModule{m, f}, err
}

// faultyModule implements cuda.Module.
type faultyModule struct {
	cuda.Module
	device *Faulty
}

func (m faultyModule) Launch(kernel string, grid cuda.Grid, arguments ...any) error {
	f := m.device
	f.Launches++
	switch {
	case f.Launches <= f.Right:
		return m.Module.Launch(kernel, grid, arguments...)
	case f.Fault == Nothing:
		return nil
	}
	for _, at := range slices.Sorted(maps.Keys(f.held)) {
		garbage := make([]byte, f.held[at])
		for i := range garbage {
			garbage[i] = byte(f.rng.Uint32())
		}
		if err := f.Write(at, garbage); err != nil {
			return err
		}
	}
	return nil
}
