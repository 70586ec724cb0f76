package sets

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/laru"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// naiveSets is the slab hash as its description has it: sets of slabs of slots, searched slab by slab.
type naiveSets struct {
	policy string // lru, fpb, hf, or laru with its parameters
	sets   [][]naiveSlab
	slabs  int
	count  uint32
	keys   []stream.Key
	next   []float64 // per object: as of its last request, or what the background has made known
	async  bool
	coming map[uint32]float64
	phases []naivePhase
}

type naiveSlab []naiveSlot

type naiveSlot struct {
	object uint32
	used   bool
	count  uint32
}

type naivePhase struct {
	old     map[uint32]bool
	evicted map[uint32]bool
	bits    laru.MarkedSet
	lambda  float64
}

func newNaiveSets(t *traces.Trace, policy string, capacity, ways, slabs int) *naiveSets {
	ways = min(ways, capacity)
	n := &naiveSets{policy: policy, slabs: slabs, count: 1, keys: t.Keys, next: make([]float64, t.NumObjects),
		async: strings.Contains(policy, "async")}
	for o := range n.next {
		n.next[o] = math.Inf(1)
	}
	lanes := (ways + slabs - 1) / slabs
	for range capacity / ways {
		var set []naiveSlab
		for left := ways; len(set) < slabs; left -= lanes {
			set = append(set, make(naiveSlab, min(lanes, max(0, left))))
		}
		n.sets = append(n.sets, set)
		n.phases = append(n.phases, naivePhase{})
	}
	return n
}

func (n *naiveSets) home(o uint32) (set int, firstSlab int) {
	key := stream.Key{Num: uint64(o)}
	if n.keys != nil {
		key = n.keys[o]
	}
	if key.Text != "" {
		h := murmur3([]byte(key.Text), 0)
		return int(h) % len(n.sets), int(h) % n.slabs
	}
	var bytes []byte
	for i := range 8 {
		bytes = append(bytes, byte(key.Num>>(8*i)))
	}
	return int(murmur3(bytes, 0)) % len(n.sets), int(key.Num % uint64(n.slabs))
}

// find returns the slot of o: a probe goes on to the next slab until it meets an empty slot.
func (n *naiveSets) find(o uint32) *naiveSlot {
	set, first := n.home(o)
	for d := range n.slabs {
		slab := n.sets[set][(first+d)%n.slabs]
		for lane := range slab {
			if !slab[lane].used {
				return nil
			}
			if slab[lane].object == o {
				return &slab[lane]
			}
		}
	}
	return nil
}

// serve serves a batch; next is what the predictor says after it.
func (n *naiveSets) serve(batch []uint32, next []float64) (hits, evictions int) {
	for o, at := range n.coming {
		n.next[o] = at
	}
	n.coming = map[uint32]float64{}
	var missed []uint32
	for _, o := range batch {
		if slot := n.find(o); slot != nil {
			hits++
			slot.count = n.count
			set, _ := n.home(o)
			delete(n.phases[set].old, o)
		} else if slices.Contains(missed, o) {
			hits++
		} else {
			missed = append(missed, o)
		}
		if n.async {
			n.coming[o] = next[o]
		} else {
			n.next[o] = next[o]
		}
	}
	for _, o := range missed {
		evictions += n.replace(o)
	}
	n.count++
	return hits, evictions
}

func (n *naiveSets) replace(o uint32) (evictions int) {
	set, first := n.home(o)
	type candidate struct {
		slot           *naiveSlot
		distance, lane int
	}
	var all []candidate
	for d := range n.slabs {
		slab := n.sets[set][(first+d)%n.slabs]
		for lane := range slab {
			if !slab[lane].used {
				slab[lane] = naiveSlot{o, true, n.count}
				return 0
			}
			all = append(all, candidate{&slab[lane], d, lane})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.slot.count, b.slot.count), cmp.Compare(a.distance, b.distance),
			cmp.Compare(a.lane, b.lane))
	})
	l := 1
	phase := &n.phases[set]
	byPrediction := false
	switch name, _, _ := strings.Cut(n.policy, "("); name {
	case "fpb":
		l = len(all)
	case "hf":
		l = min(4, len(all))
	case "laru":
		if len(phase.old) == 0 {
			*phase = naivePhase{old: map[uint32]bool{}, evicted: map[uint32]bool{}, lambda: 1}
			for _, c := range all {
				phase.old[c.slot.object] = true
			}
		}
		if phase.evicted[o] || strings.Contains(n.policy, "bitset") && phase.bits.Has(o) {
			phase.lambda /= 2
		} else {
			l = max(1, int(phase.lambda*float64(len(all))))
			byPrediction = l > 1
		}
	}
	victim := all[0].slot
	for _, c := range all[:l] {
		if n.next[c.slot.object] > n.next[victim.object] {
			victim = c.slot
		}
	}
	if byPrediction {
		phase.evicted[victim.object] = true
		phase.bits.Add(victim.object)
	}
	delete(phase.old, victim.object)
	*victim = naiveSlot{o, true, n.count}
	return 1
}

// batchedTrace is testTrace in batches of random lengths, with keys.
func batchedTrace(seed uint64, n, m, longest int) *traces.Trace {
	t := policytest.Trace(seed, n, m)
	rng := rand.New(rand.NewPCG(seed, 2))
	for pos := 0; pos < n; pos += 1 + rng.IntN(longest) {
		t.Groups = append(t.Groups, pos)
	}
	for range t.NumObjects {
		key := stream.Key{Num: rng.Uint64()}
		if rng.IntN(3) == 0 {
			key = stream.Key{Text: fmt.Sprintf("key %d", key.Num)}
		}
		t.Keys = append(t.Keys, key)
	}
	return t
}

// setsOf builds the cache of a policy; predictor may be "".
func setsOf(tb testing.TB, t *traces.Trace, kind, policy, predictor string, capacity int) cache.Cache {
	tb.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(tb)
	config := configOf(tb, t, kind, policy, predictor, capacity)
	if spec.Entry.Check != nil {
		must.Do(tb, spec.Entry.Check(spec.Params, config.Policy.Entry))
	}
	return must.Get(spec.Entry.New(config))(tb)
}

// configOf is what setsOf builds a cache from.
func configOf(tb testing.TB, t *traces.Trace, kind, policy, predictor string, capacity int) cache.Config {
	tb.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(tb)
	p := must.Get(policies.Registry.Parse(policy))(tb)
	config := cache.Config{
		Trace:    t,
		Capacity: int64(capacity),
		Unit:     true,
		Params:   spec.Params,
		Policy:   p,
		Seed:     7,
		NextUse:  func() []uint32 { return policytest.NextUse(t) },
	}
	if policies.Can[policies.PredictorUser](p.Entry) {
		config.Predictor = predictorOfTrace(tb, t, predictor)
	}
	return config
}

func predictorOfTrace(tb testing.TB, t *traces.Trace, text string) predict.Predictor {
	tb.Helper()
	spec := must.Get(predict.Registry.Parse(text))(tb)
	return must.Get(spec.Entry.New(predict.Config{Objects: t.Objects, Count: t.NumObjects, NextUse: policytest.NextUse(t),
		Groups: t.Groups,
		Seed:   3, Params: spec.Params}))(tb)
}

// serveInWindows serves a trace in windows of random lengths.
func serveInWindows(t *traces.Trace, c cache.Cache, seed uint64) (n cache.Counts) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for from := 0; from < len(t.Objects); {
		to := min(from+1+rng.IntN(50), len(t.Objects))
		c.Serve(cache.WindowOf(t, from, to, false, nil), &n)
		from = to
	}
	return n
}

// TestSetsEqualTheDescription compares the policies that the cache knows itself with the description of the kernel.
func TestSetsEqualTheDescription(t *testing.T) {
	for _, policy := range []string{"lru", "fpb", "hf", "laru", "laru(marks=bitset)", "laru(mode=async)",
		"fpb(mode=async)", "hf(mode=async)"} {
		t.Run(policy, func(t *testing.T) {
			for seed := range brief.Of[uint64](150, 30) {
				rng := rand.New(rand.NewPCG(seed, 4))
				tr := batchedTrace(seed, 800, 20+rng.IntN(200), 1+rng.IntN(60))
				slabs := 1 + rng.IntN(4)
				ways := slabs * (1 + rng.IntN(16))
				capacity := 1 + rng.IntN(150)
				predictor := []string{"oracle", "noisy(p=0.5)", "noisy(p=1)"}[rng.IntN(3)]
				c := setsOf(t, tr, fmt.Sprintf("sets(ways=%d,slabs=%d)", ways, slabs), policy, predictor, capacity)
				naive := newNaiveSets(tr, policy, capacity, ways, slabs)
				p := predictorOfTrace(t, tr, predictor)
				next := make([]float64, tr.NumObjects)
				for i, from := range tr.Groups {
					to := len(tr.Objects)
					if i+1 < len(tr.Groups) {
						to = tr.Groups[i+1]
					}
					batch := tr.Objects[from:to]
					for k, o := range batch {
						p.Observe(o, from+k)
					}
					for _, o := range batch {
						p.Predict([]uint32{o}, to, next[o:o+1])
					}
					hits, evictions := naive.serve(batch, next)
					var delta cache.Counts
					c.Serve(cache.WindowOf(tr, from, to, false, nil), &delta)
					if int(delta.Hits) != hits || int(delta.Evictions) != evictions {
						t.Fatalf("seed %d, %d objects in sets(ways=%d,slabs=%d), %s, batch %d: %d hits and %d evictions, want %d and %d",
							seed, capacity, ways, slabs, predictor, i, delta.Hits, delta.Evictions, hits, evictions)
					}
				}
			}
		})
	}
}

// numbered returns a trace whose keys are the numbers themselves, in batches.
func numbered(groups ...[]uint64) *traces.Trace {
	t := &traces.Trace{Name: "numbered", SampleRate: 1}
	number := map[uint64]uint32{}
	for _, group := range groups {
		t.Groups = append(t.Groups, len(t.Objects))
		for _, key := range group {
			o, known := number[key]
			if !known {
				o = uint32(len(number))
				number[key] = o
				t.Keys = append(t.Keys, stream.Key{Num: key})
			}
			t.Objects = append(t.Objects, o)
		}
	}
	t.NumObjects = len(number)
	return t
}

// TestSlabTies looks at who leaves a set of 2 slabs of 2 slots. Even keys probe slab 0 first, odd ones slab 1.
func TestSlabTies(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups [][]uint64
		gone   []uint64
	}{
		{"the smallest count leaves", [][]uint64{{2, 4}, {1, 3}, {2}, {6}}, []uint64{4}},
		{"of equal counts, the slab probed first", [][]uint64{{2, 4, 1, 3}, {5}}, []uint64{1}},
		{"of equal counts in a slab, the lowest lane", [][]uint64{{2, 4, 1, 3}, {6}}, []uint64{2}},
		{"a smaller count in the far slab goes before the near slab", [][]uint64{{2, 4, 1, 3}, {2, 4, 3}, {6}}, []uint64{1}},
		{"an empty far slot goes before a victim in the near slab", [][]uint64{{2, 4}, {6, 8}, {10}}, []uint64{2}},
		{"a hit that comes after a miss in the batch is safe from it", [][]uint64{{2, 4, 1, 3}, {6, 2}}, []uint64{4}},
		{"loaded in the batch ties with hit in the batch", [][]uint64{{2, 4, 1, 3}, {2, 4, 1, 3, 6, 8}}, []uint64{2, 6}},
		{"of all loaded in one batch, the last takes the place of the one before", [][]uint64{{2},
			{4, 6, 8, 10, 12}}, []uint64{2, 10}},
	} {
		tr := numbered(c.groups...)
		served := setsOf(t, tr, "sets(ways=4)", "lru", "", 4).(*sets)
		serveInWindows(tr, served, 1)
		var gone []uint64
		for o := range policies.Object(tr.NumObjects) {
			if !served.policy.(*slabs.LRU).Resident(o) {
				gone = append(gone, tr.Keys[o].Num)
			}
		}
		if !slices.Equal(gone, c.gone) {
			t.Errorf("%s: %v are gone, want %v", c.name, gone, c.gone)
		}
	}
}

// TestLookUpsOfABatch counts the repetitions of a missing key as hits, and looks all keys up before any is loaded.
func TestLookUpsOfABatch(t *testing.T) {
	tr := numbered([]uint64{2, 2, 4, 2}, []uint64{6, 8, 2}, []uint64{2, 4})
	for _, policy := range []string{"lru", "fifo", "opt"} {
		got := serveInWindows(tr, setsOf(t, tr, "sets(ways=2,slabs=1)", policy, "", 2), 1)
		// 2 and 4 miss, 2 hits twice; 6 and 8 miss and evict both, but 2 hits before; 2 and 4 miss.
		want := cache.Counts{Requests: 9, Hits: 3, Evictions: 4}
		if policy == "opt" {
			// 6 takes the place of 4, and 8 that of 6, so that 2 hits again
			want = cache.Counts{Requests: 9, Hits: 4, Evictions: 3}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", policy, got, want)
		}
	}
}

// TestObjectsExpireBeforeABatch: what expires leaves before the first lookup of a batch in its set, and not while the
// batch is served.
func TestObjectsExpireBeforeABatch(t *testing.T) {
	tr := numbered([]uint64{2, 4}, []uint64{6, 2}, []uint64{2})
	for _, seconds := range []int64{0, 0, 9, 11, 15} {
		tr.Times = append(tr.Times, seconds*1e9)
	}
	// At 9 s nothing has expired, so that 2 hits at 11 s. At 15 s both 2 and 4 have, and 2 is loaded again.
	want := cache.Counts{Requests: 5, Hits: 1, Evictions: 2}
	if got := serveInWindows(tr, setsOf(t, tr, "sets(ways=4)", "ttl(ttl=10)", "", 4), 1); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSetsRoundCapacity(t *testing.T) {
	tr := batchedTrace(1, 100, 50, 5)
	for _, c := range []struct{ capacity, ways, sets, slots int }{
		{64, 64, 1, 64}, {127, 64, 1, 64}, {128, 64, 2, 128}, {1000, 8, 125, 1000}, {10, 64, 1, 10}, {1, 64, 1, 1}, {7, 2,
			3, 6},
	} {
		for _, policy := range []string{"lru", "fifo"} {
			served := setsOf(t, tr, fmt.Sprintf("sets(ways=%d)", c.ways), policy, "", c.capacity).(*sets)
			if got := served.Counters()[:2]; got[0].Value != float64(c.sets) || got[1].Value != float64(c.slots) {
				t.Errorf("%d objects in sets of %d: %v, want %d sets and %d slots", c.capacity, c.ways, got, c.sets, c.slots)
			}
		}
	}
	spec := must.Get(cache.Registry.Parse("sets(ways=6,slabs=4)"))(t)
	lru, _ := policies.Registry.Find("lru")
	if err := spec.Entry.Check(spec.Params, lru); err == nil {
		t.Error("6 ways in 4 slabs are not refused")
	}
	infinite, _ := policies.Registry.Find("infinite")
	if err := entry.Check(params.Defaults(entry.Params), infinite); err == nil {
		t.Error("infinite is not refused")
	}
}

// TestOneSetOfSingleRequestsIsExact holds every policy in one set, with batches of one request, to what it does in the
// exact cache.
func TestOneSetOfSingleRequestsIsExact(t *testing.T) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		if e.Random || e.Unbounded || e.Relates {
			t.Skip("random choices differ, the capacity is ignored, or the sets would have to know of each other")
		}
		for seed := range uint64(20) {
			tr := policytest.Trace(seed, 600, 20+int(seed)*5)
			capacity := 1 + int(seed*seed)%slabs.MaxWays
			want := serveInWindows(tr, setsOf(t, tr, "exact", policytest.Spec(e), "noisy(p=0.3)", capacity), seed)
			got := serveInWindows(tr, setsOf(t, tr, "sets(batch=1,slabs=1)", policytest.Spec(e), "noisy(p=0.3)", capacity), seed)
			if got != want {
				t.Fatalf("seed %d, capacity %d: %+v, exact %+v", seed, capacity, got, want)
			}
		}
	})
}

// TestSetsAreExactCaches holds every policy in several sets, with batches of one request, to exact caches of which each
// serves the requests of one set: neither gaps between positions nor the other sets mean anything to a policy.
func TestSetsAreExactCaches(t *testing.T) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		switch {
		case e.Unbounded || e.Relates || e.Name == exactOnly:
			t.Skip("the capacity is ignored, or the sets would have to know of each other or of the exact cache")
		case e.Name == "hyperbolic" || e.Name == "lhd":
			t.Skip("ages are requests to the whole cache")
		}
		for seed := range uint64(10) {
			tr := policytest.Trace(seed, 1500, 40+int(seed)*10)
			const ways = 8
			c := setsOf(t, tr, "sets(ways=8,slabs=1,batch=1)", policytest.Spec(e), "oracle", 5*ways).(*sets)
			got := serveInWindows(tr, c, seed)
			var want cache.Counts
			for set := range c.geometry.Sets {
				part := requestsOfSet(tr, c.geometry, set)
				config := configOf(t, part, "exact", policytest.Spec(e), "oracle", ways)
				if e.InSets == nil {
					config.Seed = rand.NewPCG(config.Seed, uint64(set)).Uint64()
				}
				exact := must.Get(cache.ExactSpec().Entry.New(config))(t)
				n := serveInWindows(part, exact, seed)
				want.Requests, want.Hits, want.Evictions = want.Requests+n.Requests, want.Hits+n.Hits, want.Evictions+n.Evictions
			}
			if got != want {
				t.Fatalf("seed %d: %+v, exact caches %+v", seed, got, want)
			}
		}
	})
}

// requestsOfSet returns the requests to a set, with its objects numbered in the order of their first appearance.
func requestsOfSet(t *traces.Trace, g *slabs.Geometry, set int) *traces.Trace {
	part := &traces.Trace{Name: t.Name, SampleRate: 1}
	number := map[uint32]uint32{}
	for pos, o := range t.Objects {
		if g.SetOf(o) != set {
			continue
		}
		if _, known := number[o]; !known {
			number[o] = uint32(len(number))
		}
		part.Objects = append(part.Objects, number[o])
		part.Times = append(part.Times, t.Times[pos])
	}
	part.NumObjects = len(number)
	return part
}

// TestModesInOneSetAreExact does the same for the modes of policies that follow predictions.
func TestModesInOneSetAreExact(t *testing.T) {
	for _, policy := range []string{"laru(decay=k/32)", "laru(b=3)", "laru(marks=bitset)", "laru(mode=async)",
		"laru(mode=async,latency=7)", "hf(candidates=3)", "hf(mode=async,latency=7)", "fpb(mode=async)",
		"fpb(mode=async,latency=7)"} {
		if name, _, _ := strings.Cut(policy, "("); !slices.Contains(policies.Registry.Names(), name) {
			continue
		}
		for seed := range uint64(60) {
			tr := policytest.Trace(seed, 600, 20+int(seed)*5)
			capacity := 1 + int(seed*seed)%slabs.MaxWays
			exact := setsOf(t, tr, "exact", policy, "noisy(p=0.4)", capacity)
			inSet := setsOf(t, tr, "sets(batch=1,slabs=1)", policy, "noisy(p=0.4)", capacity)
			want, got := serveInWindows(tr, exact, seed), serveInWindows(tr, inSet, seed)
			if got != want {
				t.Fatalf("%s, seed %d, capacity %d: %+v, exact %+v", policy, seed, capacity, got, want)
			}
			if a, b := exact.(cache.Reporting).Counters(), inSet.(cache.Reporting).Counters()[3:]; !slices.Equal(a, b) {
				t.Fatalf("%s, seed %d, capacity %d: counters %v, exact %v", policy, seed, capacity, b, a)
			}
		}
	}
}

// TestOptInSets compares opt with all that can happen in small sets, and every other policy with opt.
func TestOptInSets(t *testing.T) {
	for seed := range uint64(1500) {
		tr := batchedTrace(seed, 14, 3+int(seed%5), 4)
		capacity := 1 + int(seed)%4
		c := setsOf(t, tr, fmt.Sprintf("sets(ways=%d,slabs=1)", 1+int(seed/4)%2), "opt", "", capacity).(*sets)
		got := serveInWindows(tr, c, seed).Misses()
		var want int64
		for set := range c.geometry.Sets {
			want += leastFetches(batchesOfSet(tr, c.geometry, set), nil, c.geometry.Ways)
		}
		if got != want {
			t.Fatalf("seed %d: opt fetches %d times, possible are %d", seed, got, want)
		}
	}
}

// batchesOfSet returns the keys of each batch that belong to a set, each once.
func batchesOfSet(t *traces.Trace, g *slabs.Geometry, set int) (batches [][]uint32) {
	for i, from := range t.Groups {
		to := len(t.Objects)
		if i+1 < len(t.Groups) {
			to = t.Groups[i+1]
		}
		var batch []uint32
		for _, o := range t.Objects[from:to] {
			if g.SetOf(o) == set && !slices.Contains(batch, o) {
				batch = append(batch, o)
			}
		}
		batches = append(batches, batch)
	}
	return batches
}

// leastFetches tries all ways to serve batches from a set with such contents, the misses of a batch loaded in any
// order.
func leastFetches(batches [][]uint32, contents []uint32, ways int) int64 {
	if len(batches) == 0 {
		return 0
	}
	var missed []uint32
	for _, o := range batches[0] {
		if !slices.Contains(contents, o) {
			missed = append(missed, o)
		}
	}
	best := int64(math.MaxInt64)
	loadInAnyOrder(missed, contents, ways, func(after []uint32) {
		best = min(best, leastFetches(batches[1:], after, ways))
	})
	return best + int64(len(missed))
}

func loadInAnyOrder(missed, contents []uint32, ways int, then func([]uint32)) {
	if len(missed) == 0 {
		then(contents)
	}
	for i, o := range missed {
		others := slices.Delete(slices.Clone(missed), i, i+1)
		if len(contents) < ways {
			loadInAnyOrder(others, append(slices.Clone(contents), o), ways, then)
			continue
		}
		for k := range contents {
			after := slices.Clone(contents)
			after[k] = o
			loadInAnyOrder(others, after, ways, then)
		}
	}
}

// exactOnly is a policy that follows what the optimum of the exact cache does, which other caches do not have.
const exactOnly = "fpb-binary"

// TestNothingBeatsOptInSets also holds LARU with exact predictions, whatever the decay of its confidence, to the
// optimum where requests come alone.
func TestNothingBeatsOptInSets(t *testing.T) {
	for seed := range brief.Of[uint64](40, 10) {
		tr := batchedTrace(seed, 1500, 150, 1+int(seed*seed)%90)
		kind, capacity := fmt.Sprintf("sets(ways=%d)", 2+2*int(seed%8)), 3+int(seed)*2
		opt := serveInWindows(tr, setsOf(t, tr, kind, "opt", "", capacity), seed)
		for _, e := range policytest.Ready() {
			if e.Kind == policies.Bound || e.Units == policies.UnitsBytes || e.Unbounded || e.Bypass || e.Relates ||
				e.Name == exactOnly {
				continue
			}
			if got := serveInWindows(tr, setsOf(t, tr, kind, e.Name, "noisy(p=0.2)", capacity), seed); got.Hits > opt.Hits {
				t.Errorf("seed %d: %s hits %d times, opt %d", seed, e.Name, got.Hits, opt.Hits)
			}
		}
		alone := strings.Replace(kind, ")", ",batch=1)", 1)
		tr.Groups = nil
		opt = serveInWindows(tr, setsOf(t, tr, alone, "opt", "", capacity), seed)
		for _, policy := range []string{"laru", "laru(decay=k/32)", "fpb"} {
			got := serveInWindows(tr, setsOf(t, tr, alone, policy, "oracle", capacity), seed)
			if got != opt {
				t.Errorf("seed %d: %s with exact predictions: %+v, opt %+v", seed, policy, got, opt)
			}
		}
	}
}

// TestWindowsDoNotMatter holds the counts of batches that several windows serve to those of one window.
func TestWindowsDoNotMatter(t *testing.T) {
	for _, policy := range []string{"lru", "laru", "laru(mode=async)", "fpb(mode=async)", "hf(mode=async)", "s3fifo",
		"opt"} {
		for seed := range uint64(20) {
			tr := policytest.Trace(seed, 2000, 200)
			const kind = "sets(ways=8,batch=37)"
			var want cache.Counts
			setsOf(t, tr, kind, policy, "noisy(p=0.3)", 50).Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &want)
			if got := serveInWindows(tr, setsOf(t, tr, kind, policy, "noisy(p=0.3)", 50), seed); got != want {
				t.Errorf("%s, seed %d: %+v, in one window %+v", policy, seed, got, want)
			}
		}
	}
}

// observing checks what a predictor is told.
type observing struct {
	t       *testing.T
	objects []uint32
	told    int
}

func (o *observing) Observe(object uint32, pos int) {
	if pos != o.told || object != o.objects[pos] {
		o.t.Fatalf("object %d at %d is observed after %d requests", object, pos, o.told)
	}
	o.told++
}

func (o *observing) Predict(objects []uint32, pos int, next []float64) {
	if pos != o.told {
		o.t.Fatalf("predictions are asked for as of %d after %d requests", pos, o.told)
	}
	for i, object := range objects {
		next[i] = float64(object)
	}
}

func (o *observing) Steady() bool { return false }

func TestPredictorsObserveEveryRequestInOrder(t *testing.T) {
	for _, e := range policytest.Ready() {
		if !policies.Can[policies.PredictorUser](e) || e.Name == exactOnly {
			continue
		}
		tr := batchedTrace(5, 1000, 100, 20)
		o := &observing{t: t, objects: tr.Objects}
		p := must.Get(policies.Registry.Parse(e.Name))(t)
		spec := must.Get(cache.Registry.Parse("sets(ways=4)"))(t)
		c := must.Get(newSets(cache.Config{Trace: tr, Capacity: 20, Unit: true, Params: spec.Params, Policy: p, Predictor: o,
			NextUse: func() []uint32 { return policytest.NextUse(tr) }}))(t)
		serveInWindows(tr, c, 1)
		if o.told != len(tr.Objects) {
			t.Errorf("%s: %d of %d requests are observed", e.Name, o.told, len(tr.Objects))
		}
	}
}
