package ptxrun

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
)

//go:embed testdata/violations.ptx
var violations []byte

// runs executes a kernel with a column of numbers, one for results, and further arguments, and returns the results.
func runs(o Options, ptx []byte, kernel string, grid cuda.Grid, in []uint32, out int, more ...any) ([]uint32, error) {
	m := New(o)
	module, err := m.Load(ptx)
	if err != nil {
		return nil, err
	}
	from, err := cuda.Upload(m, in)
	if err != nil {
		return nil, err
	}
	to, err := m.Alloc(int64(4 * out))
	if err != nil {
		return nil, err
	}
	if strings.Contains(kernel, "bytes") {
		if err := m.Fill(to, 0, int64(4*out)); err != nil {
			return nil, err
		}
	}
	arguments := []any{from, to}
	for _, a := range more {
		if f, ok := a.(func(*Machine) cuda.Pointer); ok {
			a = f(m)
		}
		arguments = append(arguments, a)
	}
	if err := module.Launch(kernel, grid, arguments...); err != nil {
		return nil, err
	}
	results := make([]uint32, out)
	return results, cuda.Download(m, results, to)
}

func numbers(n int) []uint32 {
	column := make([]uint32, n)
	for i := range column {
		column[i] = uint32(i*7 + 1)
	}
	return column
}

// zeros returns a column of zeros as an argument.
func zeros(n int) func(m *Machine) cuda.Pointer {
	return func(m *Machine) cuda.Pointer {
		p, err := cuda.Upload(m, make([]uint32, n))
		if err != nil {
			panic(err)
		}
		return p
	}
}

// TestViolations runs kernels that are wrong, which must all be reported, whatever the order of blocks and warps.
func TestViolations(t *testing.T) {
	for kernel, want := range map[string]string{
		"bad_reverse":               "without a barrier between",
		"bad_reverse_block":         "without a barrier between",
		"bad_overwrite":             "what thread \\d+ (wrote|read), without a barrier between: \\d+ of the shared memory",
		"bad_count_begin":           "nobody wrote|without a barrier between",
		"bad_count_end":             "without a barrier between",
		"bad_same_place":            "writes what thread (0|32) wrote, without a barrier between: 0 of allocation 2",
		"bad_bytes":                 "writes what thread (0|32) wrote, without a barrier between: (0|16) of allocation 2",
		"bad_end":                   "thread 63, line .*: 4 bytes at 256 of allocation 2, which has 256",
		"bad_start":                 "in no allocation|which has",
		"bad_alignment":             "no multiple of 4",
		"bad_shared_end":            "of the shared memory, which has 256",
		"bad_unwritten":             "4 bytes at (0|128) of allocation 2 are read, which nobody wrote",
		"bad_unwritten_shared":      "of the shared memory are read, which nobody wrote",
		"bad_local":                 "of the local memory are read, which nobody wrote",
		"bad_diverging":             "lanes wait for each other at different instructions",
		"bad_partial":               "reads from lane 25, which does not take part .lanes 000fffff do",
		"bad_mask":                  "the mask 0000ffff does not contain the lane itself",
		"bad_barrier":               "not all warps reach the barrier",
		"bad_barrier_lanes":         "lanes wait for each other at different instructions",
		"bad_barriers_of_two_kinds": "at another barrier than others",
		"bad_constant":              "as constant",
		"bad_endless":               `is a loop endless\?`,
		"bad_division":              "thread 7, line .*: division by zero",
		"bad_trap":                  "thread 9, line .*: trap",
	} {
		t.Run(kernel, func(t *testing.T) {
			in := numbers(64)
			if kernel == "bad_unwritten_shared" {
				in[40] = 0
			}
			for seed := range uint64(5) {
				_, err := runs(Options{Seed: seed, Instructions: 100_000}, violations, kernel, cuda.Grid{Blocks: 1, Threads: 64},
					in, 64)
				expectFault(t, err, want)
			}
		})
	}
	for seed := range uint64(5) {
		grid := cuda.Grid{Blocks: 2, Threads: 64}
		_, err := runs(Options{Seed: seed}, violations, "bad_blocks", grid, numbers(64), 64)
		expectFault(t, err, "nobody wrote|in the same kernel, without fences")
		_, err = runs(Options{Seed: seed}, violations, "bad_fence", grid, numbers(64), 1, zeros(2), zeros(1))
		expectFault(t, err, "of block .*, in the same kernel, without fences")
	}
}

// expectFault fails if the error is not the expected one, a regular expression, with a place.
func expectFault(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || !strings.Contains(err.Error(), "line ") {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// TestGoodKernels runs those that are right, with the results that they must have.
func TestGoodKernels(t *testing.T) {
	in := numbers(64)
	sum := uint32(0)
	for _, v := range in {
		sum += v
	}
	diverging := func(i int) uint32 {
		v := in[i]
		if lane := i % 32; lane%2 == 1 {
			for range lane {
				v = v*3 + 1
			}
		} else {
			v ^= 5
		}
		return v
	}
	for _, c := range []struct {
		kernel  string
		threads int
		want    func(i int) uint32
	}{
		{"good_reverse", 64, func(i int) uint32 { return in[i/32*32+31-i%32] }},
		{"good_reverse_block", 64, func(i int) uint32 { return in[63-i] }},
		{"good_count", 64, func(int) uint32 { return sum }},
		{"good_local", 64, func(i int) uint32 {
			return 8*in[i] + 28
		}},
		{"good_diverging", 64, func(i int) uint32 {
			ballot := uint32(0)
			for l := range 32 {
				ballot |= diverging(i/32*32+l) & 1 << l
			}
			return ballot + diverging(i/32*32+7)
		}},
		{"good_partial", 64, func(i int) uint32 {
			if i%32 < 20 {
				return in[i/32*32+3]
			}
			return in[i]
		}},
		{"good_turns", 64, func(i int) uint32 { return uint32(63 - i) }},
	} {
		for seed := range uint64(5) {
			got, err := runs(Options{Seed: seed}, violations, c.kernel, cuda.Grid{Blocks: 1, Threads: c.threads}, in, c.threads)
			if err != nil {
				t.Errorf("%s: %v", c.kernel, err)
				continue
			}
			for i, v := range got {
				if v != c.want(i) {
					t.Errorf("%s, seed %d: thread %d has %d, want %d", c.kernel, seed, i, v, c.want(i))
					break
				}
			}
		}
	}
}

// TestGoodKernelsOfSeveral runs those that need other arguments or blocks.
func TestGoodKernelsOfSeveral(t *testing.T) {
	in := numbers(96)
	for seed := range uint64(5) {
		got, err := runs(Options{Seed: seed}, violations, "good_bytes", cuda.Grid{Blocks: 1, Threads: 64}, in, 16)
		must.Do(t, err)
		for i := range 64 {
			if b := byte(got[i/4] >> (8 * (i % 4))); b != byte(2*in[i]) {
				t.Errorf("byte %d is %d, want %d", i, b, byte(2*in[i]))
			}
		}
		const blocks = 5
		got, err = runs(Options{Seed: seed}, violations, "good_blocks", cuda.Grid{Blocks: blocks, Threads: 64}, in, 1,
			zeros(blocks), zeros(1))
		want := uint32(0)
		for i := range 64 {
			want += in[i] * (1 + 2 + 3 + 4 + 5)
		}
		if err != nil || got[0] != want {
			t.Errorf("seed %d: the sum of blocks is %v, %v; want %d", seed, got, err, want)
		}
		m := New(Options{Seed: seed})
		module, err := m.Load(violations)
		must.Do(t, err)
		from, _ := cuda.Upload(m, in)
		to, _ := m.Alloc(256)
		must.Do(t, module.Launch("good_some_warps", cuda.Grid{Blocks: 1, Threads: 96}, from, to))
		some := make([]uint32, 64)
		if err := cuda.Download(m, some, to); err != nil || some[0] != in[63] {
			t.Errorf("seed %d: the first of some warps has %d, %v; want %d", seed, some[0], err, in[63])
		}
	}
}

// TestProduct multiplies matrices of halves, small enough that sums are exact in any order. Each lane has 8 words of
// the column: 4 of the left matrix and 2 of the right one, which 4 of the product replace.
func TestProduct(t *testing.T) {
	const body = `mul.wide.u32 %rd1, %r0, 32; add.s64 %rd1, %rd0, %rd1; mov.f32 %f0, 0f00000000;
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; ld.global.v2.u32 {%r5, %r6}, [%rd1+16];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6},
	{%f0, %f0, %f0, %f0};
st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};`
	rng := rand.New(rand.NewPCG(1, 2))
	var left [16][16]float64
	var right [8][16]float64
	for k := range 16 {
		for i := range left {
			left[i][k] = float64(rng.IntN(201)-100) / 8
		}
		for i := range right {
			right[i][k] = float64(rng.IntN(201)-100) / 8
		}
	}
	word := func(row [16]float64, k int) uint32 {
		return uint32(roundHalf(row[k])) | uint32(roundHalf(row[k+1]))<<16
	}
	var column []uint32
	for l := range 32 {
		g, k := l>>2, l&3*2
		column = append(column, word(left[g], k), word(left[g+8], k), word(left[g], k+8), word(left[g+8], k+8),
			word(right[g], k), word(right[g], k+8), 0, 0)
	}
	for seed := range uint64(6) {
		got := must.Get(runSnippet(Options{Seed: seed}, body, 32, column))(t)
		for i := range 128 {
			l, r := i/4, i%4
			row, at, want := l>>2+8*(r>>1), l&3*2+r&1, 0.0
			for k := range 16 {
				want += left[row][k] * right[at][k]
			}
			if x := math.Float32frombits(got[8*l+r]); float64(x) != want {
				t.Fatalf("seed %d: element %d, %d is %v, want %v", seed, row, at, x, want)
			}
		}
	}
}

// BenchmarkInterpreter executes the functions of the twins, mostly arithmetic, and reports instructions of lanes.
func BenchmarkInterpreter(b *testing.B) {
	m := New(Options{})
	module := must.Get(m.Load(twins))(b)
	const n = 4096
	from := must.Get(cuda.Upload(m, words(3*n, rand.New(rand.NewPCG(1, 2)))))(b)
	to := must.Get(m.Alloc(n * 8 * 200))(b)
	for b.Loop() {
		must.Do(b, module.Launch("twins", cuda.Grid{Blocks: n / 128, Threads: 128}, from, to, uint32(n)))
		must.Do(b, m.Sync())
	}
	b.ReportMetric(32*float64(m.Executed())/b.Elapsed().Seconds()/1e6, "Minstr/s")
}
