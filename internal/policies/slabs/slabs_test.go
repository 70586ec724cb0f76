package slabs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSmallestFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		all := make([]uint64, 1+rng.IntN(MaxWays))
		for i := range all {
			all[i] = uint64(rng.IntN(100))<<6 | uint64(i)
		}
		n := 1 + rng.IntN(len(all))
		want := slices.Sorted(slices.Values(all))[:n]
		smallestFirst(all, n)
		if got := slices.Sorted(slices.Values(all[:n])); !slices.Equal(got, want) {
			t.Fatalf("the first %d are %v, want %v", n, got, want)
		}
	}
}

// oneSet is a geometry of one set in which every object probes slab 0 first.
func oneSet(objects, ways int) *Geometry {
	return &Geometry{Sets: 1, Ways: ways, Slabs: 1, Lanes: ways, Home: make([]uint32, objects)}
}

// fixed always predicts the same time for an object.
type fixed []float64

func (fixed) Observe(Object, int) {}

func (f fixed) Predict(objects []Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = f[o]
	}
}

func (fixed) Steady() bool { return true }

// serve serves batches that end one by one, and returns the residents afterwards.
func serve(server interface {
	LookUp([]Object, int, []int64) int
	Load(int) int
	Resident(Object) bool
}, batches ...[]Object) (resident []Object) {
	pos := 0
	for _, b := range batches {
		server.LookUp(b, pos, nil)
		pos += len(b)
		server.Load(pos)
	}
	for o := range Object(8) {
		if server.Resident(o) {
			resident = append(resident, o)
		}
	}
	return resident
}

func TestPredictionsChooseAmongCandidates(t *testing.T) {
	// Objects 0 to 3 fill the set, in this order of age; 4 drives one out.
	fill := [][]Object{{0}, {1}, {2}, {3}, {4}}
	predictor := fixed{10, 30, 40, 20, 0, 0, 0, 0}
	for _, c := range []struct {
		rule Among
		want []Object
	}{
		{0, []Object{1, 2, 3, 4}},  // least recently used
		{1, []Object{1, 2, 3, 4}},  // of one
		{2, []Object{0, 2, 3, 4}},  // 1 is later than 0
		{3, []Object{0, 1, 3, 4}},  // 2 is latest
		{64, []Object{0, 1, 3, 4}}, // of all
	} {
		if got := serve(NewRanked(oneSet(8, 4), predictor, c.rule), fill...); !slices.Equal(got, c.want) {
			t.Errorf("among %d: %v are resident, want %v", int(c.rule), got, c.want)
		}
	}
	if got, want := serve(NewLRU(oneSet(8, 4)), fill...), []Object{1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("LRU: %v are resident, want %v", got, want)
	}
}

// TestTakeFrom: predictions made elsewhere are those at the time of the load, until Learn replaces them.
func TestTakeFrom(t *testing.T) {
	known := []float64{10, 30, 20, 0, 0, 0, 0, 0}
	r := NewRanked(oneSet(8, 3), fixed(nil), Among(MaxWays)) // asking the predictor would fail
	r.TakeFrom(known)
	serve(r, []Object{0}, []Object{1}, []Object{2})
	r.Learn(0, 40)
	r.Learn(5, 99) // absent
	known[1] = 50  // without Learn
	if got, want := serve(r, []Object{3}), []Object{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v are resident, want %v", got, want)
	}
}

func TestOldIsWhatIsNotRequestedSince(t *testing.T) {
	r := NewRanked(oneSet(8, 2), fixed(make([]float64, 8)), Among(0))
	serve(r, []Object{0}, []Object{1})
	if r.Old(0) {
		t.Error("objects are old before the set was aged")
	}
	r.Age(0)
	serve(r, []Object{0})
	if !r.Old(0) {
		t.Error("1 is not old, which was not requested since")
	}
	serve(r, []Object{2}) // drives 1 out
	if r.Old(0) {
		t.Error("an object is old, though all were requested or loaded since")
	}
}
