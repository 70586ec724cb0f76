package search_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// drawTrace draws requests that repeat, some of them in a loop, and sizes of objects if bytes count.
func drawTrace(t *rapid.T, bytes bool) *traces.Trace {
	objects := rapid.IntRange(1, 24).Draw(t, "objects")
	tr := &traces.Trace{Name: "drawn", SampleRate: 1}
	known := map[int]uint32{}
	n := rapid.IntRange(1, 200).Draw(t, "requests")
	loop := rapid.IntRange(0, n).Draw(t, "loop")
	for i := range n {
		key := i % objects
		if i >= loop {
			key = rapid.IntRange(0, objects-1).Draw(t, "object") * rapid.IntRange(0, 1).Draw(t, "hot")
		}
		if _, ok := known[key]; !ok {
			known[key] = uint32(len(known))
			if bytes {
				tr.ObjectSizes = append(tr.ObjectSizes, int64(rapid.IntRange(1, 15).Draw(t, "size")))
			}
		}
		tr.Objects = append(tr.Objects, known[key])
	}
	tr.NumObjects = len(known)
	return tr
}

func drawCapacities(t *rapid.T, bytes bool) (at []capacity.Capacity) {
	for range rapid.IntRange(1, 4).Draw(t, "capacities") {
		c := capacity.Of(int64(rapid.IntRange(1, 1000).Draw(t, "capacity")), bytes)
		if !slices.ContainsFunc(at, c.Same) {
			at = append(at, c)
		}
	}
	return at
}

// Whatever capacities somebody names, the answer is the same, and it is that of a replay at every capacity: the one
// that is given reaches the level, one at most 2% or one unit smaller does not, and if none is given none reaches it.
// LRU's is the smallest or, where objects have sizes, the smallest that has room for each of them: below, LRU may have
// more hits with less room, as it bypasses what does not fit.
func TestAgainstEveryCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Bool().Draw(t, "bytes")
		tr := drawTrace(t, bytes)
		names := []string{"lru", "fifo", "s3fifo", "arc", "opt"}
		if bytes {
			names = []string{"lru", "fifo", "s3fifo", "gdsf", "belady-size"}
		}
		of := target.Target{Value: rapid.Float64Range(0.01, 0.99).Draw(t, "value"), Share: rapid.Bool().Draw(t, "share")}
		r := newReplays(t, tr, 0)
		a := r.answer(of, names, drawCapacities(t, bytes)...)
		if b := newReplays(t, tr, 0).answer(of, names, drawCapacities(t, bytes)...); !sameNeeds(a, b) {
			t.Fatalf("%s\nfor other capacities: %s", a.Sentence(), b.Sentence())
		}
		alone := rapid.SampledFrom(names).Draw(t, "alone")
		if b := newReplays(t, tr, 0).answer(of, []string{alone}, drawCapacities(t, bytes)...); len(b.Needs) > 0 &&
			!sameNeed(needOf(a, alone), b.Needs[0]) {
			t.Fatalf("%s\nalone: %s", a.Sentence(), b.Sentence())
		}
		largest := 1 - float64(tr.NumObjects)/float64(len(tr.Objects))
		if of.Share && largest == 0 {
			if len(a.Needs) > 0 {
				t.Fatal("an answer though nothing repeats")
			}
			return
		}
		if level := of.Level(largest); abs(level-a.Level) > 1e-12 {
			t.Fatalf("level %v, want %v", a.Level, level)
		}
		top := int64(tr.NumObjects)
		if bytes {
			top = tr.Footprint()
		}
		g, o := newReplays(t, tr, 0).group(of, names, drawCapacities(t, bytes)...)
		quick := must.Get(search.Answer(g, o))(t)
		for _, n := range a.Needs {
			q := needOf(quick, n.Policy)
			ratios := r.curve(n.Policy, max(top, n.Above.Capacity, q.Above.Capacity, n.Below.Capacity,
				q.Below.Capacity), bytes)
			checkNeed(t, n, ratios, a.Level)
			if q.How != target.Between && !sameNeed(q, n) || q.How == target.Between && (ratios[q.Below.Capacity] >= a.Level ||
				q.Above.Capacity > 0 && ratios[q.Above.Capacity] < a.Level) {
				t.Errorf("%s: %+v, and %+v by a complete search", n.Policy, q, n)
			}
			if n.Policy != "lru" || n.How != target.Found {
				continue
			}
			from := int64(1)
			if bytes {
				from = slices.Max(tr.ObjectSizes)
			}
			enough := func(x float64) bool { return x >= a.Level }
			if n.Capacity > from && (!n.Exact || slices.ContainsFunc(ratios[from:n.Capacity], enough)) {
				t.Errorf("lru: %+v is not the smallest of %v for %v", n, ratios, a.Level)
			}
		}
	})
}

// checkNeed holds a need against the hit ratios at all capacities.
func checkNeed(t *rapid.T, n target.Need, ratios []float64, level float64) {
	switch n.How {
	case target.Never:
		if slices.ContainsFunc(ratios, func(x float64) bool { return x >= level }) {
			t.Errorf("%s: never, but %v reaches %v", n.Policy, ratios, level)
		}
	case target.Found:
		below := n.Below.Capacity
		if n.Capacity > int64(len(ratios)-1) || ratios[n.Capacity] < level || below > 0 && ratios[below] >= level {
			t.Fatalf("%s: %+v of %v for %v", n.Policy, n, ratios, level)
		}
		if n.Capacity-below > 1 && float64(below) < search.Near*float64(n.Capacity) {
			t.Errorf("%s: %d is too far below %d", n.Policy, below, n.Capacity)
		}
		if n.Exact != (n.Capacity-below == 1) || n.Record == nil || n.Record.Capacity != n.Capacity {
			t.Errorf("%s: %+v", n.Policy, n)
		}
	default:
		t.Errorf("%s: the search has not ended: %+v", n.Policy, n)
	}
}

func abs(x float64) float64 { return max(x, -x) }

func needOf(a target.Answer, policy string) target.Need {
	i := slices.IndexFunc(a.Needs, func(n target.Need) bool { return n.Policy == policy })
	if i < 0 {
		return target.Need{}
	}
	return a.Needs[i]
}

func sameNeed(a, b target.Need) bool {
	return a.Policy == b.Policy && a.How == b.How && a.Capacity == b.Capacity && a.Below == b.Below && a.Above == b.Above
}

func sameNeeds(a, b target.Answer) bool { return slices.EqualFunc(a.Needs, b.Needs, sameNeed) }

// A long trace costs a bounded number of replays, and what is known of the policies that do not lead is true.
func TestLongTracesAreBounded(t *testing.T) {
	tr := &traces.Trace{Name: "long", NumObjects: 20_000, SampleRate: 1}
	table, bits := random.NewZipf(tr.NumObjects, 0.9), random.Stream(7, 1)
	for range brief.Of(3, 2) * 600_000 {
		tr.Objects = append(tr.Objects, uint32(table.Draw(bits)))
	}
	names := []string{"lru", "fifo", "sieve", "s3fifo", "opt"}
	of := target.Default
	at := []capacity.Capacity{capacity.Of(200, false), capacity.Of(2000, false), capacity.Of(8000, false)}
	r := newReplays(t, tr, 0)
	g, o := r.group(of, names, at...)
	quick, err := search.Answer(g, o)
	if err != nil {
		t.Fatal(err)
	}
	if quick.Replays > 16 {
		t.Errorf("%d replays", quick.Replays)
	}
	o.Complete = true
	complete, err := search.Answer(g, o)
	if err != nil {
		t.Fatal(err)
	}
	between := 0
	for _, n := range quick.Needs {
		c := needOf(complete, n.Policy)
		switch n.How {
		case target.Found:
			if n.Capacity != c.Capacity {
				t.Errorf("%s: %d, and %d by the complete search", n.Policy, n.Capacity, c.Capacity)
			}
		case target.Between:
			between++
			if c.Capacity <= n.Below.Capacity || n.Above.Capacity > 0 && c.Capacity > n.Above.Capacity {
				t.Errorf("%s: %+v, and %d by the complete search", n.Policy, n, c.Capacity)
			}
		}
	}
	if between == 0 || quick.Needs[0].How != target.Found || complete.Replays < quick.Replays {
		t.Errorf("quick: %s (%d)\ncomplete: %s (%d)", quick.Sentence(), quick.Replays, complete.Sentence(), complete.Replays)
	}
}

// 90% of the largest hit ratio, 70 of 91 requests, are 63 of 91, whatever rounding makes of the product.
func TestTheLevelIsNotRoundedUp(t *testing.T) {
	tr := &traces.Trace{Name: "rounded", NumObjects: 21, SampleRate: 1}
	for object := range uint32(21) {
		tr.Objects = append(tr.Objects, object)
	}
	for range 63 {
		tr.Objects = append(tr.Objects, 20) // hits in any cache
	}
	for object := range uint32(7) {
		tr.Objects = append(tr.Objects, object) // hits in the largest one
	}
	r := newReplays(t, tr, 0)
	a := r.answer(target.Target{Value: 0.9, Share: true}, []string{"lru"}, capacity.Of(1, false))
	if n := a.Needs[0]; n.Capacity != 1 {
		t.Errorf("%s, want 1 object", a.Sentence())
	}
}

// Where the search ends early, nobody is told that a policy may need as much as somebody has named.
func TestNoBracketAboveEverything(t *testing.T) {
	open := 0
	for seed := range uint64(40) {
		tr := &traces.Trace{Name: "moving", NumObjects: 12, SampleRate: 1}
		for object := range uint32(12) {
			tr.Objects = append(tr.Objects, object)
		}
		bits := random.Stream(seed, 1)
		for pos := range 16800 { // long enough for a search that leaves brackets
			object, _ := random.Below(bits, 3)
			tr.Objects = append(tr.Objects, uint32(pos/4200*3+object))
		}
		g, o := newReplays(t, tr, 0).group(target.Default, []string{"lru", "lfu", "opt"}, capacity.Of(1, false),
			capacity.Of(1_000_000, false))
		a, err := search.Answer(g, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range a.Needs {
			if n.How == target.Between {
				open++
			}
			if n.Above.Capacity > int64(tr.NumObjects) {
				t.Errorf("%s: %s, of %d objects", n.Policy, a.CapacityOf(n), tr.NumObjects)
			}
		}
	}
	if open == 0 {
		t.Error("all searches have ended with an answer")
	}
}

// vLLM's policy computes the last block of each prompt again. What it needs is the same beside LRU, which curve adds to
// any list.
func TestTheLargestHitRatioIsThatOfTheEngine(t *testing.T) {
	tr := simtest.Conversations(30)
	p := prompts.Of(tr.Kind)
	for i, from := range slices.Clone(tr.Groups) { // each prompt comes again, with the same last block
		tr.Groups = append(tr.Groups, len(tr.Objects))
		tr.Objects = append(tr.Objects, tr.Objects[from:tr.Groups[i+1]]...)
		p.InputTokens = append(p.InputTokens, p.InputTokens[i])
		p.Sessions = append(p.Sessions, p.Sessions[i])
		p.Arrivals = append(p.Arrivals, p.Arrivals[len(p.Arrivals)-1]+1e8)
	}
	answer := func(names ...string) target.Answer {
		r := newReplays(t, tr, 0)
		r.in = must.Get(cache.Registry.Parse("prefix"))(t)
		return r.answer(target.Default, names, capacity.Of(40, false))
	}
	alone, beside := answer("vllm"), answer("lru", "vllm")
	near := float64(needOf(alone, "vllm").Capacity) / float64(needOf(beside, "vllm").Capacity)
	if alone.Largest != beside.Largest || near < search.Near || near > 1/search.Near {
		t.Errorf("%s of %v\nbeside LRU: %s of %v", alone.Sentence(), alone.Largest, beside.Sentence(), beside.Largest)
	}
}

// memcached with a file has no policy inside, so that its share is of what itself has with memory for everything: each
// second request of a loop that runs twice.
func TestTheLargestHitRatioIsThatOfTheServer(t *testing.T) {
	const objects = 3000
	tr := &traces.Trace{Name: "loop", NumObjects: objects, SampleRate: 1}
	for pos := range 2 * objects {
		tr.Objects = append(tr.Objects, uint32(pos%objects))
		tr.Times = append(tr.Times, int64(pos)*1e6)
	}
	tr.ObjectSizes = slices.Repeat([]int64{5000}, objects)
	for _, file := range []string{"/f:4m", "/f:1g"} {
		server := "memcached(ext_page_size=2,ext_wbuf_size=2,ext_path=" + file + ")"
		a := newReplays(t, tr, 0).answer(target.Target{Value: 0.9, Share: true}, []string{server},
			capacity.Of(4<<20, true))
		if a.Largest != 0.5 || a.Needs[0].Capacity == 0 {
			t.Errorf("%s: the largest hit ratio is %v, want 0.5: %s", file, a.Largest, a.Sentence())
		}
	}
}
