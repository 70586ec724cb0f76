package cudatest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// deviceVariable is the environment variable that chooses the GPU of tests and benchmarks, as --device does. By default
// that is the first GPU of the machine, if it has one; with cpu, none.
const deviceVariable = "CACHESIM_DEVICE"

// opened opens the GPU, once for all tests of a package.
var opened = sync.OnceValues(func() (d cuda.Device, err error) {
	choice, err := cuda.ParseChoice("cuda")
	if text := os.Getenv(deviceVariable); err == nil && text != "" {
		choice, err = cuda.ParseChoice(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", deviceVariable, err)
	}
	shared, note, err := choice.Open()
	switch {
	case err != nil:
		return nil, err
	case shared == nil && note == "":
		return nil, fmt.Errorf("%s is cpu", deviceVariable)
	case shared == nil:
		return nil, errors.New(note)
	}
	err = shared.Do(context.Background(), func(whole cuda.Device) error {
		d = whole
		return nil
	})
	return d, err
})

// gpu is the device of the second round of tests; nil in the first.
var gpu cuda.Device

// Main is TestMain of packages with kernels: it runs the tests in the interpreter, and then on the GPU if the machine
// has one. If deviceVariable names a GPU that does not exist, the tests fail.
func Main(m *testing.M) (code int) {
	code = m.Run()
	if code != 0 || alone() {
		return code
	}
	d, err := opened()
	switch {
	case err == nil:
		fmt.Printf("the same tests on %s\n", d.Name())
		gpu = d
		return m.Run()
	case slices.Contains([]string{"", "cpu", "auto"}, os.Getenv(deviceVariable)):
		fmt.Printf("the tests ran in the interpreter and not on a GPU: %s\n", cuda.Reason(err))
		return 0
	}
	fmt.Println(err)
	return 1
}

// alone reports whether one round is enough: tests are listed, or these are benchmarks or fuzzing.
func alone() bool {
	return slices.ContainsFunc([]string{"test.list", "test.bench", "test.fuzz"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && f.Value.String() != ""
	})
}

// TB is what Device needs of a test; *rapid.T has it, too.
type TB interface {
	Helper()
	Skip(args ...any)
	Cleanup(func())
}

// Device returns the device of this round: an interpreter with the options, or the GPU with their memory and compute
// capability. Faults are for the interpreter alone. What a test does not free on the GPU is freed at its end.
func Device(t TB, options ptxrun.Options) cuda.Device {
	t.Helper()
	if gpu == nil {
		return ptxrun.New(options)
	}
	if options.Fail > 0 {
		t.Skip("only the interpreter can be made to fail")
	}
	p := &part{Device: gpu, options: options, live: map[cuda.Pointer]int64{}}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// part is a GPU with only a part of its memory, and perhaps a lower capability. It implements cuda.Device.
type part struct {
	cuda.Device
	options ptxrun.Options
	mu      sync.Mutex
	live    map[cuda.Pointer]int64 // what each allocation takes
	used    int64
}

func (p *part) Capability() cuda.Capability {
	if p.options.Major > 0 {
		return cuda.Capability{Major: p.options.Major, Minor: p.options.Minor}
	}
	return p.Device.Capability()
}

func (p *part) Memory() (free, total int64, err error) {
	free, total, err = p.Device.Memory()
	if p.options.Memory > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		free, total = min(free, p.options.Memory-p.used), min(total, p.options.Memory)
	}
	return free, total, err
}

func (p *part) Alloc(bytes int64) (cuda.Pointer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	takes := p.options.Takes(bytes)
	if p.options.Memory > 0 && takes > p.options.Memory-p.used {
		return 0, fmt.Errorf("%w: no memory for %d bytes: the test has %d left", cuda.ErrOutOfMemory, bytes,
			p.options.Memory-p.used)
	}
	at, err := p.Device.Alloc(bytes)
	if err == nil {
		p.live[at] = takes
		p.used += takes
	}
	return at, err
}

func (p *part) Free(at cuda.Pointer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= p.live[at]
	delete(p.live, at)
	return p.Device.Free(at)
}

// Close frees what is left. The GPU stays open for other tests.
func (p *part) Close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.live {
		err = errors.Join(err, p.Device.Free(at))
	}
	p.live, p.used = map[cuda.Pointer]int64{}, 0
	return err
}

// GPU returns the GPU for a benchmark, which is skipped with the reason if none can be used.
func GPU(b *testing.B) *cuda.Shared {
	b.Helper()
	d, err := opened()
	if err != nil {
		b.Skipf("needs a GPU: %s", cuda.Reason(err))
	}
	return cuda.Share(d)
}
