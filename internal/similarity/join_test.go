package similarity

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// neighbour is a vector and how similar it is to another.
type neighbour struct {
	id         uint32
	similarity float32
}

// naiveJoin calls Similarity for every pair and sorts by comparing.
func naiveJoin(v Vectors, from float32) (ids [][]uint32, similarities [][]float32) {
	for i := range v.Len() {
		var list []neighbour
		for j := range v.Len() {
			if s := v.Similarity(min(i, j), max(i, j)); i != j && s >= from {
				list = append(list, neighbour{uint32(j), s})
			}
		}
		slices.SortStableFunc(list, func(a, b neighbour) int {
			switch {
			case a.similarity > b.similarity:
				return -1
			case a.similarity < b.similarity:
				return 1
			}
			return 0
		})
		var of []uint32
		var how []float32
		for _, l := range list {
			of, how = append(of, l.id), append(how, l.similarity)
		}
		ids, similarities = append(ids, of), append(similarities, how)
	}
	return ids, similarities
}

// check compares lists with naiveJoin's.
func check(t rapid.TB, v Vectors, from float32, got *Neighbours) {
	t.Helper()
	if got.Len() != v.Len() || got.From != from {
		t.Fatalf("lists of %d vectors from %v, want %d from %v", got.Len(), got.From, v.Len(), from)
	}
	ids, similarities := naiveJoin(v, from)
	for i := range v.Len() {
		of, how := got.Of(uint32(i))
		if !slices.Equal(of, ids[i]) || !slices.Equal(how, similarities[i]) {
			t.Fatalf("%d vectors of %d from %v: neighbours of %d are %v %v, want %v %v", v.Len(), v.Dim, from, i, of,
				how, ids[i], similarities[i])
		}
	}
}

// randomVectors returns unit vectors around a few centres, every tenth a duplicate.
func randomVectors(random *rand.Rand, n, dim int, spread float64) Vectors {
	v := Vectors{Dim: dim, Data: make([]float32, 0, n*dim)}
	centres := make([]float64, 3*dim)
	for i := range centres {
		centres[i] = random.NormFloat64()
	}
	for i := range n {
		if i > 0 && random.IntN(10) == 0 {
			v.Data = append(v.Data, v.At(random.IntN(i))...)
			continue
		}
		centre := centres[random.IntN(3)*dim:][:dim]
		row := make([]float64, dim)
		var length float64
		for k := range row {
			row[k] = centre[k] + spread*random.NormFloat64()
			length += row[k] * row[k]
		}
		for _, x := range row {
			v.Data = append(v.Data, float32(x/math.Sqrt(length)))
		}
	}
	return v
}

func TestJoinFindsWhatTheNaiveOneDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := randomVectors(random, rapid.IntRange(0, 60).Draw(t, "n"), rapid.IntRange(1, 70).Draw(t, "dim"),
			rapid.SampledFrom([]float64{0.01, 0.5, 2}).Draw(t, "spread"))
		from := rapid.SampledFrom([]float32{-2, -1, -0.3, 0, 0.5, 0.9, 0.9999, 1, 1.5}).Draw(t, "from")
		if n := v.Len(); n > 1 && rapid.Bool().Draw(t, "at a similarity") {
			a := random.IntN(n - 1)
			from = v.Similarity(a, a+1+random.IntN(n-a-1))
			from = rapid.SampledFrom([]float32{from, math.Nextafter32(from, 2), math.Nextafter32(from, -2)}).Draw(t, "beside")
		}
		options := Options{Jobs: rapid.IntRange(1, 5).Draw(t, "jobs"),
			Backend: cpu{side: rapid.IntRange(1, 40).Draw(t, "side")}}
		got := must.Get(Join(t.Context(), v, from, options))(t)
		check(t, v, from, got)
	})
}

// product is a product in float32 as the CPU backend computes it.
func product(a, b []float32) float32 {
	var tile dot.Tile
	panel, rows := dot.NewPanel(len(a)), make([]float32, dot.Rows*len(a))
	panel.Fill(b, len(b))
	copy(rows, a)
	tile.Multiply(rows, panel, 0)
	return tile[0]
}

// Pairs whose product in float32 falls on the other side of the threshold than their similarity must be decided by
// their similarity.
func TestJoinDecidesInFloat64(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), 120, 383, 0.3)
	below, above := 0, 0
	for b := range v.Len() {
		for a := range b {
			s, p := v.Similarity(a, b), product(v.At(b), v.At(a))
			from := s
			switch {
			case p < s:
				below++
			case p > s:
				above++
				from = math.Nextafter32(s, 2)
			default:
				continue
			}
			two := Vectors{Dim: v.Dim, Data: slices.Concat(v.At(a), v.At(b))}
			got := must.Get(Join(t.Context(), two, from, Options{Jobs: 1}))(t)
			check(t, two, from, got)
		}
	}
	if below < 100 || above < 100 {
		t.Errorf("%d pairs have a product below their similarity and %d above, too few to test anything", below, above)
	}
}

// naive is a backend that compares pair by pair, in disorder.
type naive struct{}

func (naive) Name() string { return "naive" }
func (naive) Find(_ context.Context, s *Search) error {
	f := s.Finder()
	for b := s.Vectors.Len() - 1; b >= 0; b-- {
		var found []Pair
		for a := range b {
			if similar := s.Vectors.Similarity(a, b); similar >= s.From {
				found = append(found, Pair{uint32(a), uint32(b), similar})
			}
		}
		if b%2 == 0 {
			f.AddAll(found)
			found = nil
		}
		for _, p := range found {
			f.Add(p)
		}
		if err := f.Compared(int64(b)); err != nil {
			return err
		}
	}
	return nil
}

// FindNearest offers everything, in disorder.
func (naive) FindNearest(_ context.Context, s *NearestSearch) error {
	for a := range s.Vectors.Len() {
		for b := s.Vectors.Len() - 1; b >= 0; b-- {
			if a != b {
				s.Offer(uint32(a), uint32(b), s.Vectors.Similarity(a, b))
			}
		}
		s.Compared(int64(s.Vectors.Len() - 1))
	}
	return nil
}

func TestJoinDoesNotDependOnTheBackend(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(2, 1)), 300, 33, 0.5)
	for _, from := range []float32{-1, 0.5, v.Similarity(3, 17), v.Similarity(5, 8)} {
		for _, backend := range []Backend{CPU, cpu{side: 19}, naive{}} {
			got := must.Get(Join(t.Context(), v, from, Options{Backend: backend}))(t)
			check(t, v, from, got)
		}
	}
}

func TestJoinIsTheSameOnAnyNumberOfCores(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(3, 1)), 1000, 20, 0.5)
	want := must.Get(Join(t.Context(), v, 0.6, Options{Jobs: 1}))(t)
	if want.Pairs() == 0 || want.Pairs() == 1000*999/2 {
		t.Fatalf("%d pairs test nothing", want.Pairs())
	}
	for _, jobs := range []int{0, 2, 3, 16} {
		if got, err := Join(t.Context(), v, 0.6, Options{Jobs: jobs}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d jobs: other neighbours than one (%v)", jobs, err)
		}
	}
}

func TestSlackBoundsTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := randomVectors(random, 20, rapid.IntRange(1, 2000).Draw(t, "dim"), 0.1)
		if rapid.Bool().Draw(t, "positive") { // no signs that let roundings cancel out
			for i, x := range v.Data {
				v.Data[i] = float32(math.Abs(float64(x)))
			}
		}
		for b := range v.Len() {
			for a := range b {
				var s float64
				for k, x := range v.At(a) {
					s += float64(x) * float64(v.At(b)[k])
				}
				if off := math.Abs(float64(product(v.At(a), v.At(b))) - s); off > v.slack(v.longest()) {
					t.Fatalf("a product of %d numbers is off by %v, more than the bound %v", v.Dim, off, v.slack(v.longest()))
				}
			}
		}
	})
}

func TestSlackIsSmallButCoversItself(t *testing.T) {
	v := Vectors{Dim: 384}
	if s := v.slack(1); s > 3e-5 {
		t.Errorf("slack %v of 384 dimensions makes needless candidates", s)
	}
	if s := (Vectors{Dim: 1 << 24}).slack(1); !math.IsInf(s, 1) {
		t.Errorf("slack %v of 2^24 dimensions, want that nothing is known", s)
	}
}

func TestJoinRefusesTooManyPairs(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(4, 1)), 600, 8, 0.1)
	all := 600 * 599 / 2
	if got, err := Join(t.Context(), v, -1, Options{MaxPairs: all}); err != nil || got.Pairs() != all {
		t.Fatalf("as many pairs as allowed: %v", err)
	}
	var compared atomic.Int64
	_, err := Join(t.Context(), v, -1, Options{MaxPairs: 1000, Jobs: 1,
		Progress: func(done, total int64) { compared.Store(done) }})
	const tooMany = "more than 1000 pairs of the 600 vectors have a similarity of at least -1"
	if err == nil || !strings.Contains(err.Error(), tooMany) ||
		!strings.Contains(err.Error(), "raise the threshold") {
		t.Errorf("error %v", err)
	}
	if compared.Load() >= int64(all) {
		t.Error("it was noticed only after all pairs were there")
	}
}

func TestJoinStops(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(5, 1)), 2000, 8, 0.5)
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	_, err := Join(ctx, v, 0.9, Options{Jobs: 2, Progress: func(done, total int64) {
		calls.Add(1)
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || calls.Load() > 2 {
		t.Errorf("%d blocks and error %v after it was cancelled in the first", calls.Load(), err)
	}
}

func TestJoinReportsProgress(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(6, 1)), 1000, 4, 0.5)
	var most atomic.Int64
	_, err := Join(t.Context(), v, 0.99, Options{Jobs: 1, Progress: func(done, total int64) {
		if total != 1000*999/2 || done > total {
			t.Errorf("%d of %d pairs", done, total)
		}
		most.Store(done)
	}})
	if err != nil || most.Load() != 1000*999/2 {
		t.Errorf("progress ends at %d (%v)", most.Load(), err)
	}
}

func TestJoinOfFewVectors(t *testing.T) {
	for n := range 2 {
		v := Vectors{Dim: 2, Data: []float32{1, 0}[:2*n]}
		got, err := Join(t.Context(), v, -1, Options{})
		if err != nil || got.Len() != n || got.Pairs() != 0 {
			t.Errorf("%d vectors: %v, %v", n, got, err)
		}
	}
	if got, err := Join(t.Context(), Vectors{}, 0.5, Options{}); err != nil || got.Len() != 0 {
		t.Errorf("vectors without dimensions: %v, %v", got, err)
	}
}

type brokenBackend struct{ err error }

func (brokenBackend) Name() string                                        { return "gpu" }
func (b brokenBackend) Find(context.Context, *Search) error               { return b.err }
func (b brokenBackend) FindNearest(context.Context, *NearestSearch) error { return b.err }

func TestJoinNamesTheBackendThatFails(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(7, 1)), 50, 4, 0.5)
	const want = "backend gpu: no driver"
	_, err := Join(t.Context(), v, 0.5, Options{Backend: brokenBackend{errors.New("no driver")}})
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = FindNearest(t.Context(), v, 3, Options{Backend: brokenBackend{errors.New("no driver")}})
	if err == nil || err.Error() != want {
		t.Errorf("error %v of the nearest, want %s", err, want)
	}
}

func TestNeighboursFromPairsInAnyOrder(t *testing.T) {
	n := NewNeighbours(4, -1, []Pair{{1, 3, 0.5}, {0, 3, 0.5}, {2, 3, -0.5}, {0, 1, float32(math.Copysign(0, -1))},
		{0, 2, 0}})
	for i, want := range [][]uint32{{3, 1, 2}, {3, 0}, {0, 3}, {0, 1, 2}} {
		if got, _ := n.Of(uint32(i)); !slices.Equal(got, want) {
			t.Errorf("neighbours of %d are %v, want %v", i, got, want)
		}
	}
	if _, similarities := n.Of(3); !slices.Equal(similarities, []float32{0.5, 0.5, -0.5}) {
		t.Errorf("similarities %v", similarities)
	}
}

// Rounding can make a vector longer than 1. Its similarity to itself is still 1, so that a threshold of 1 means what it
// says.
func TestSimilarityIsAtMostOne(t *testing.T) {
	long := math.Nextafter32(1, 2)
	if got := (Vectors{Dim: 1, Data: []float32{long, long}}).Similarity(0, 1); got != 1 {
		t.Errorf("similarity %v, want 1", got)
	}
}

// benchmarkJoin joins vectors that are nearly orthogonal except for groups of ten around a centre.
func benchmarkJoin(b *testing.B, n, jobs int) {
	random := rand.New(rand.NewPCG(1, 2))
	v := Vectors{Dim: 384, Data: make([]float32, n*384)}
	for i := range n {
		row := v.At(i)
		var length float64
		for k := range row {
			x := random.NormFloat64()
			if i%10 != 0 {
				x = float64(v.At(i - i%10)[k])*math.Sqrt(384)*2 + x
			}
			row[k] = float32(x)
			length += x * x
		}
		for k := range row {
			row[k] /= float32(math.Sqrt(length))
		}
	}
	b.ResetTimer()
	for range b.N {
		got, err := Join(b.Context(), v, 0.6, Options{Jobs: jobs})
		if err != nil || got.Pairs() < n {
			b.Fatalf("%v", err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(n)*float64(n-1)/2*2*384/b.Elapsed().Seconds()/1e9, "Gflop/s")
}

func BenchmarkJoin10k(b *testing.B)         { benchmarkJoin(b, 10_000, 1) }
func BenchmarkJoin10kAllCores(b *testing.B) { benchmarkJoin(b, 10_000, 0) }

func BenchmarkJoin100k(b *testing.B) {
	if testing.Short() {
		b.Skip("minutes")
	}
	benchmarkJoin(b, 100_000, 1)
}

// BenchmarkJoinSimilar10k finds 1.3 million pairs of 50 million: what counts are decisions and lists.
func BenchmarkJoinSimilar10k(b *testing.B) {
	v := randomVectors(rand.New(rand.NewPCG(1, 2)), 10_000, 384, 0.5)
	for b.Loop() {
		got := must.Get(Join(b.Context(), v, 0.82, Options{Jobs: 1}))(b)
		b.ReportMetric(float64(got.Pairs()), "pairs")
	}
}

// BenchmarkNeighbours sorts 20 million pairs of 200 000 vectors into lists.
func BenchmarkNeighbours(b *testing.B) {
	const n, pairs = 200_000, 20_000_000
	random := rand.New(rand.NewPCG(1, 1))
	var l pairList
	for range pairs {
		a := random.Uint32N(n - 1)
		l.add(Pair{a, a + 1 + random.Uint32N(n-1-a), random.Float32()})
	}
	for b.Loop() {
		must.Get(newNeighbours(b.Context(), n, 0, l.chunks, parallel.Jobs(0)))(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pairs, "ns/pair")
}

// wrongBackend finds what the CPU finds, and changes one pair in many, or leaves it out.
type wrongBackend struct {
	drop bool
}

func (wrongBackend) Name() string { return "gpu" }

func (w wrongBackend) Find(ctx context.Context, s *Search) error {
	if err := CPU.Find(ctx, s); err != nil {
		return err
	}
	for _, f := range s.finders {
		for i, chunk := range f.pairs.chunks {
			if w.drop {
				f.pairs.chunks[i] = chunk[:len(chunk)/2]
				continue
			}
			for k := range chunk {
				chunk[k].Similarity = math.Nextafter32(chunk[k].Similarity, -1)
			}
		}
	}
	return nil
}

func (w wrongBackend) FindNearest(ctx context.Context, s *NearestSearch) error {
	if w.drop {
		return nil // no list has an entry
	}
	return CPU.FindNearest(ctx, s)
}

// Lists of another backend are compared with the CPU's, for some vectors: a wrong join is an error.
func TestWrongBackendIsFound(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(5, 6)), 200, 10, 0.5)
	for _, drop := range []bool{true, false} {
		got, err := Join(t.Context(), v, -0.5, Options{Backend: wrongBackend{drop}})
		if got != nil || err == nil || !strings.Contains(err.Error(), "backend gpu: it lists ") {
			t.Errorf("neighbours %v, error %v", got != nil, err)
		}
	}
	got, err := FindNearest(t.Context(), v, 3, Options{Backend: wrongBackend{true}})
	if got != nil || err == nil || !strings.Contains(err.Error(), "backend gpu: it lists 3 vectors") {
		t.Errorf("nearest %v, error %v", got != nil, err)
	}
	if _, err := FindNearest(t.Context(), v, 3, Options{Backend: wrongBackend{false}}); err != nil {
		t.Error(err)
	}
}
