package ptxrun

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
)

//go:embed testdata/twins.ptx
var twins []byte

// edges are numbers at which arithmetic goes wrong.
var edges = []uint64{0, 1, 2, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
	0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64, math.Float64bits(1), math.Float64bits(-1.5),
	math.Float64bits(0.1), math.Float64bits(1e300), math.Float64bits(math.SmallestNonzeroFloat64),
	math.Float64bits(math.Inf(1)), math.Float64bits(math.NaN()), uint64(math.Float32bits(1)),
	uint64(math.Float32bits(-0.1)), uint64(math.Float32bits(math.MaxFloat32)), uint64(math.Float32bits(1e-40)),
	uint64(math.Float32bits(float32(math.Inf(-1)))), 1 << 31, 0x33800000, 0x3f800001, 0x7f800001}

// words returns numbers of all sizes.
func words(n int, rng *rand.Rand) []uint64 {
	column := make([]uint64, n)
	for i := range column {
		switch rng.IntN(6) {
		case 0:
			column[i] = edges[rng.IntN(len(edges))]
		case 1:
			column[i] = uint64(math.Float32bits(float32(rng.NormFloat64())))
		case 2:
			column[i] = math.Float64bits(rng.NormFloat64() * math.Ldexp(1, rng.IntN(60)-30))
		case 3:
			column[i] = uint64(math.Float32bits(float32(rng.NormFloat64() * math.Ldexp(1, rng.IntN(250)-140))))
		default:
			column[i] = rng.Uint64() >> rng.IntN(64)
		}
	}
	return column
}

// TestTwins compares what the interpreter and the CPU compute from the same functions in C.
func TestTwins(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler, which this test needs")
	}
	program := filepath.Join(t.TempDir(), "twins")
	flags := []string{"-O1", "-ffp-contract=off", "-o", program, "testdata/twins.c", "-lm"}
	out, err := exec.Command(compiler, flags...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const n = 1500
	in := words(3*n, rand.New(rand.NewPCG(3, 4)))
	var input bytes.Buffer
	must.Do(t, binary.Write(&input, binary.LittleEndian, in))
	c := exec.Command(program)
	c.Stdin = &input
	output, err := c.Output()
	must.Do(t, err)
	functions := len(output) / 8 / n
	want := make([]uint64, functions*n)
	must.Do(t, binary.Read(bytes.NewReader(output), binary.LittleEndian, want))
	m := New(Options{})
	module, err := m.Load(twins)
	must.Do(t, err)
	from, err := cuda.Upload(m, in)
	must.Do(t, err)
	to, err := m.Alloc(int64(8 * len(want)))
	must.Do(t, err)
	must.Do(t, module.Launch("twins", cuda.Grid{Blocks: (n + 63) / 64, Threads: 64}, from, to, uint32(n)))
	got := make([]uint64, len(want))
	must.Do(t, cuda.Download(m, got, to))
	failures := map[int]bool{}
	for i := range got {
		if k := i % functions; got[i] != want[i] && !failures[k] {
			failures[k] = true
			at := i / functions * 3
			t.Errorf("function %d of (%#x, %#x, %#x) is %#x, the CPU has %#x", k, in[at], in[at+1], in[at+2], got[i], want[i])
		}
	}
	if functions < 80 {
		t.Errorf("only %d functions were compared", functions)
	}
}
