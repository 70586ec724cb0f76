package softmax

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// magnitudes are kinds of finite numbers: those of attention, and those whose sums and products are rounded in other
// ways, overflow, or underflow. They are drawn without rounding, so that they are the same on every machine.
var magnitudes = []func(*rand.Rand) float32{
	func(r *rand.Rand) float32 { return float32(int32(r.Uint32())) / (1 << 29) },
	func(r *rand.Rand) float32 { return float32(math.Ldexp(float64(int32(r.Uint32())), r.IntN(130)-130)) },
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0x807fffff) }, // subnormal
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()&0x80ffffff | 0x7e000000) },
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0x9fffffff) }, // products underflow
	func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },
}

// mixed draws numbers of one kind, or of all.
func mixed(random *rand.Rand, kind, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		draw := kind
		if kind == len(magnitudes) {
			draw = random.IntN(kind)
		}
		x[i] = magnitudes[draw](random)
	}
	return x
}

// sizes are what all functions are called for.
type sizes struct {
	dim, group, keys, kind int
	seed                   uint64
}

// results are the bits of all functions.
func (s sizes) results() (bits []uint32) {
	random := rand.New(rand.NewPCG(s.seed, 1))
	queries, keys := mixed(random, s.kind, s.group*s.dim), mixed(random, s.kind, s.keys*s.dim)
	scale := magnitudes[0](random)
	rows := make([]int32, random.IntN(s.keys+1))
	for i := range rows {
		rows[i] = int32(random.IntN(s.keys))
	}
	add := func(numbers ...float32) {
		for _, x := range numbers {
			if x != x {
				x = float32(math.NaN()) // which NaN it is depends on the processor
			}
			bits = append(bits, math.Float32bits(x))
		}
	}
	n := s.group * s.keys
	products, p, dst := make([]float32, n), make([]float32, n), make([]float32, max(s.dim, s.keys))
	Products(products, queries, keys, s.dim, scale)
	add(products...)
	add(Dot(queries[:s.dim], keys[:s.dim]))
	Exp(p, products)
	add(p...)
	Probabilities(p, queries, keys, s.dim, scale)
	add(p...)
	Weighted(dst[:s.dim], products[:s.keys], keys, s.dim)
	add(dst[:s.dim]...)
	WeightedRows(dst[:s.dim], products, rows, keys, s.dim)
	add(dst[:s.dim]...)
	outputs := make([]float32, s.group*s.dim)
	Weighted(outputs, p, keys, s.dim)
	add(outputs...)
	WeightedRows(outputs, p, rows, keys, s.dim)
	add(outputs...)
	SumQueries(dst[:s.keys], products)
	add(dst[:s.keys]...)
	for _, sum := range []float64{sumOf(p), SumRows(p, rows)} {
		b := math.Float64bits(sum)
		bits = append(bits, uint32(b), uint32(b>>32))
	}
	var selector Selector
	for _, position := range selector.Top(nil, products, n/3) {
		bits = append(bits, uint32(position))
	}
	return bits
}

// check compares the bits with those that Go computes.
func (s sizes) check(t fataler) {
	got := s.results()
	setAssembly(false)
	want := s.results()
	setAssembly(true)
	for i, bits := range want {
		if got[i] != bits {
			t.Fatalf("%+v: bits %d of %d are %x with assembly, %x with Go", s, i, len(want), got[i], bits)
		}
	}
}

// TestBitsOfEveryMachine compares all results with those of the machine on which they were first computed.
func TestBitsOfEveryMachine(t *testing.T) { withAndWithout(t, testBitsOfEveryMachine) }

func testBitsOfEveryMachine(t *testing.T) {
	hash := fnv.New64a()
	for dim := 1; dim <= 150; dim++ {
		s := sizes{dim, 1 + dim%9, 1 + dim%41, dim % (len(magnitudes) + 1), uint64(dim)}
		must.Do(t, binary.Write(hash, binary.LittleEndian, s.results()))
	}
	if got, want := hash.Sum64(), uint64(0xc86fc1490c54b894); got != want {
		t.Errorf("the hash of all results is %#x, want %#x", got, want)
	}
}

// TestAssemblyHasTheBitsOfGo compares all functions for all dimensions, groups and numbers of keys.
func TestAssemblyHasTheBitsOfGo(t *testing.T) {
	if !assembly {
		t.Skip("this processor runs no assembly")
	}
	for dim := 1; dim <= 300; dim++ {
		sizes{dim, 1 + dim%9, 1 + dim%41, dim % (len(magnitudes) + 1), uint64(dim)}.check(t)
	}
	for _, dim := range []int{4096, 5000} { // larger than what is computed at a time
		sizes{dim, 4, 9, 0, 1}.check(t)
	}
	rapid.Check(t, func(t *rapid.T) {
		sizes{rapid.IntRange(1, 300).Draw(t, "dim"), rapid.IntRange(1, 9).Draw(t, "group"),
			rapid.IntRange(1, 300).Draw(t, "keys"), rapid.IntRange(0, len(magnitudes)).Draw(t, "kind"),
			rapid.Uint64().Draw(t, "seed")}.check(t)
	})
}
