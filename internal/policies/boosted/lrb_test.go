package boosted

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// both is a policy in a cache, with a naive version that is told what happens to it.
type both struct {
	*lrb
	naive    *naive
	stored   map[policies.Object]int64
	capacity int64
	used     int64
	rows     int // of the batch that were compared
}

func build(tb rapid.TB, parameters string, c policies.Config) *both {
	p := policytest.Drive(tb, "lrb("+parameters+")", c).Policy.(*lrb)
	return &both{lrb: p, naive: newNaive(int(p.window), p.history.deltas+1, p.history.counters),
		stored: map[policies.Object]int64{}, capacity: c.Capacity}
}

// request serves a request to both. check is called with each victim before the naive version forgets it, and with the
// victim that the naive version chooses.
func (b *both) request(o policies.Object, size int64, check func(victim, want policies.Object, kind string)) {
	r := policies.Request{Object: o, Pos: b.naive.now, Size: size}
	b.naive.request(o)
	if b.stored[o] != 0 {
		b.Hit(r)
		b.noteSample()
		return
	}
	b.Miss(r)
	b.noteSample()
	for b.used+size > b.capacity {
		want, kind := b.expected()
		v := b.Victim(r)
		check(v, want, kind)
		b.naive.evict(v)
		b.used -= b.stored[v]
		delete(b.stored, v)
	}
	b.Insert(r)
	b.naive.load(o, size)
	b.stored[o] = size
	b.used += size
}

// noteSample tells the naive version which object was drawn in this request.
func (b *both) noteSample() {
	for _, o := range b.tracked.All {
		if at := b.waiting.first[o]; at != 0 && b.waiting.pairs[at].time == b.now {
			b.naive.waiting[o] = append(b.naive.waiting[o], int(b.now))
		}
	}
}

// expected returns the next victim if all residents are candidates, and what decides.
func (b *both) expected() (victim policies.Object, kind string) {
	n, model := b.naive, b.learner.model
	victim = n.oldest()
	switch {
	case model == nil:
		return victim, "no model"
	case n.now-n.last(victim) >= n.window:
		return victim, "out of the window"
	}
	highest := math.Inf(-1)
	for o, size := range b.stored {
		score := model.Predict(b.describe(o, b.now, make([]float64, b.learner.width())))
		if b.chooser.sized {
			score *= float64(size)
		}
		if score > highest || score == highest && n.last(o) < n.last(victim) {
			victim, highest = o, score
		}
	}
	return victim, "model"
}

// learned returns the samples that the policy has labelled since the last call. It must not have begun another batch.
func (b *both) learned() (samples []sample) {
	for ; b.rows < b.learner.data.Len(); b.rows++ {
		row, label := b.learner.data.Row(b.rows)
		samples = append(samples, sample{slices.Clone(row), label})
	}
	return samples
}

// serve serves requests of size 1 to a cache with a capacity in objects.
func (p *lrb) serve(objects []policies.Object) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if p.flags[o]&resident != 0 {
			p.Hit(r)
			hits++
			continue
		}
		p.Miss(r)
		if int64(p.tracked.Front) == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}

// Every sample has the features that its object had, and the label that the paper gives it: the time to the next
// request, or for an object that left the window a time beyond it.
func TestSamplesAreThoseOfTheNaiveVersion(t *testing.T) {
	labelled, beyond := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		window, deltas := rapid.IntRange(2, 80).Draw(t, "window"), rapid.IntRange(1, 5).Draw(t, "deltas")
		counters := rapid.IntRange(0, 11).Draw(t, "counters")
		b := build(t, fmt.Sprintf("window=%d,deltas=%d,counters=%d", window, deltas, counters), w.Config)
		for i, o := range w.Trace {
			if w.Sizes[o] > w.Config.Capacity {
				continue
			}
			b.request(o, w.Sizes[o], func(_, _ policies.Object, _ string) {})
			got, want := sorted(b.learned()), sorted(b.naive.samples)
			b.naive.samples = nil
			if !slices.EqualFunc(got, want, func(a, b sample) bool {
				return near(a.row, b.row) && math.Abs(a.label-b.label) < 1e-9
			}) {
				t.Fatalf("request %d (object %d): samples\n%v, want\n%v", i, o, got, want)
			}
			labelled += len(got)
			for _, s := range got {
				if s.label >= math.Log1p(float64(window)) {
					beyond++
				}
			}
		}
	})
	seeded.Covers(t, 0 < beyond && beyond < labelled, "%d samples, of which %d beyond the window; the test needs both "+
		"kinds", labelled, beyond)
}

// The victim is the least recently used object before the first model; afterwards an object that left the window, or
// the one that the model expects last.
func TestVictimsAreThoseOfTheNaiveVersion(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		window := rapid.IntRange(10, 200).Draw(t, "window")
		objective := rapid.SampledFrom([]string{byteHits, objectHits}).Draw(t, "objective")
		b := build(t, fmt.Sprintf("window=%d,first-batch=20,batch=20,min-leaf=2,deltas=4,counters=3,trees=5,leaves=4,"+
			"objective=%s", window, objective), w.Config)
		for i, o := range w.Trace {
			if w.Sizes[o] > w.Config.Capacity {
				continue
			}
			b.request(o, w.Sizes[o], func(victim, want policies.Object, kind string) {
				kinds[kind]++
				if victim != want {
					t.Fatalf("request %d evicts object %d, want %d (%s)", i, victim, want, kind)
				}
			})
		}
	})
	for _, kind := range []string{"no model", "out of the window", "model"} {
		seeded.Covers(t, kinds[kind] > 0, "no eviction of the kind %q: %v", kind, kinds)
	}
}

// The first model is trained on first-batch samples, each further one on twice as many, up to batch.
func TestBatchesDouble(t *testing.T) {
	tr := policytest.Trace(1, 4000, 400)
	p := policytest.Drive(t, "lrb(first-batch=100,batch=500,trees=2)", policies.Config{Capacity: 40, Unit: true,
		Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: 1}).Policy.(*lrb)
	var batches []int64
	for i := range tr.Objects {
		before := p.learner.trainings
		p.serve(tr.Objects[i : i+1])
		if p.learner.trainings > before {
			batches = append(batches, p.learner.lastBatch)
		}
	}
	if want := []int64{100, 200, 400, 500, 500}; !slices.Equal(batches[:len(want)], want) {
		t.Errorf("batches of %d samples, want %d", batches, want)
	}
	if p.learner.model.Trees() != 2 {
		t.Errorf("a model of %d trees, want 2", p.learner.model.Trees())
	}
}

// The window follows the number of objects that fit, unless it is a parameter.
func TestWindow(t *testing.T) {
	unit := policies.Config{Capacity: 50, Unit: true, Objects: 300, Requests: 1}
	for spec, want := range map[string]int32{"lrb": 800, "lrb(reach=2.5)": 125, "lrb(window=77)": 77} {
		p := policytest.Drive(t, spec, unit).Policy.(*lrb)
		if p.window != want {
			t.Errorf("%s with room for 50 objects: window %d, want %d", spec, p.window, want)
		}
		if p.Resize(100); spec != "lrb(window=77)" {
			want *= 2
		}
		if p.window != want {
			t.Errorf("%s, resized to 100 objects: window %d, want %d", spec, p.window, want)
		}
	}
	// In bytes it is known when the cache is full: 100 objects of 10 bytes.
	d := policytest.Drive(t, "lrb", policies.Config{Capacity: 1000, Objects: 300, Requests: 1})
	p := d.Policy.(*lrb)
	for i := range 101 {
		if p.window != 0 {
			t.Fatalf("window %d before the cache is full", p.window)
		}
		d.Serve(policies.Object(i), 10, i)
	}
	if p.window != 1600 {
		t.Errorf("window %d with room for 100 objects, want 1600", p.window)
	}
	if p.Resize(500); p.window != 800 {
		t.Errorf("window %d after half of the capacity is gone, want 800", p.window)
	}
}

// A load without a request is no request: the first request after it has no time since the one before.
func TestLoadsTeachNothing(t *testing.T) {
	p := policytest.Drive(t, "lrb", policies.Config{Capacity: 3, Unit: true, Objects: 4, Requests: 9}).Policy.(*lrb)
	load := policies.Request{Object: 0, Size: 1, Reason: policies.Prefetch}
	p.Miss(load)
	p.Insert(load)
	for i, o := range []policies.Object{1, 2} {
		r := policies.Request{Object: o, Size: 1, Pos: i}
		p.Miss(r)
		p.Insert(r)
	}
	p.Hit(policies.Request{Object: 0, Size: 1, Pos: 2})
	if p.history.of[0] != 0 || p.now != 3 {
		t.Errorf("history %d after one load and one request, and %d requests; want none, and 3", p.history.of[0], p.now)
	}
	p.Hit(policies.Request{Object: 0, Size: 1, Pos: 3})
	if past, _ := p.history.kept(p.history.of[0]); past[0] != 1 || past[1] != 0 {
		t.Errorf("times between requests %d after two requests, want one of 1", past)
	}
}

// Decisions are good if the object is not requested within the window after its eviction.
func TestGoodDecisions(t *testing.T) {
	const objects, window = 120, 150
	tr := policytest.Trace(3, 6000, objects)
	d := policytest.Drive(t, "lrb(window=150,first-batch=100)", policies.Config{Capacity: 30, Unit: true,
		Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: 2})
	p := d.Policy.(*lrb)
	next := func(o policies.Object, after int) int {
		for i := after; i < len(tr.Objects); i++ {
			if tr.Objects[i] == o {
				return i
			}
		}
		return math.MaxInt
	}
	var decisions, bad int64
	for i, o := range tr.Objects {
		learned := p.learner.model != nil
		_, victims := d.Serve(o, 1, i)
		for _, v := range victims {
			// A training during the miss itself comes before its eviction.
			if learned || p.tally.decisions > decisions {
				decisions++
				if next(v, i+1)-i < window {
					bad++
				}
			}
		}
	}
	if p.tally.decisions != decisions || p.tally.regrets != bad || bad == 0 || bad == decisions {
		t.Errorf("%d decisions, %d of them bad; want %d and %d, and some of either kind", p.tally.decisions,
			p.tally.regrets, decisions, bad)
	}
}

// scans is a workload that defeats LRU and is easy to learn: objects that return every 60 requests, and between them
// objects that never do, more of them than fit.
func scans(requests int) (objects []policies.Object, count int) {
	const regulars = 20
	count = regulars
	for i := range requests {
		if i%3 == 0 {
			objects = append(objects, policies.Object(i/3%regulars))
		} else {
			objects = append(objects, policies.Object(count))
			count++
		}
	}
	return objects, count
}

func TestLearnsWhatReturns(t *testing.T) {
	objects, count := scans(9000)
	p := policytest.Drive(t, "lrb(first-batch=500)", policies.Config{Capacity: 30, Unit: true, Objects: count,
		Requests: len(objects), Seed: 1}).Policy.(*lrb)
	p.serve(objects[:len(objects)/2])
	half := len(objects) / 2
	hits, _ := p.serve(objects[half:])
	if regular := half / 3; hits < regular*95/100 {
		t.Errorf("%d hits of %d requests to objects that return, want 95%%; LRU has none", hits, regular)
	}
	if good := 1 - float64(p.tally.regrets)/float64(p.tally.decisions); good < 0.9 {
		t.Errorf("%.2f of the decisions are good, want 0.9", good)
	}
}

// Same seed, same victims, on any number of cores; another seed draws other samples.
func TestSeedDecides(t *testing.T) {
	tr := policytest.Trace(5, 5000, 500)
	run := func(seed uint64, cores int) (victims []policies.Object) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		d := policytest.Drive(t, "lrb(samples=8,first-batch=300,trees=8)", policies.Config{Capacity: 60,
			Unit: true, Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: seed})
		for i, o := range tr.Objects {
			_, v := d.Serve(o, 1, i)
			victims = append(victims, v...)
		}
		return victims
	}
	first := run(1, 1)
	if !slices.Equal(first, run(1, 4)) {
		t.Error("two replays with the same seed differ")
	}
	if slices.Equal(first, run(2, 1)) {
		t.Error("two seeds give the same victims")
	}
}

// Between trainings, and once all columns have their size, a replay allocates nothing.
func TestAllocatesNothingBetweenTrainings(t *testing.T) {
	tr := policytest.Trace(7, 40_000, 2000)
	p := policytest.Drive(t, "lrb(window=500,first-batch=4000,batch=4000,trees=4)", policies.Config{Capacity: 100,
		Unit: true, Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: 1}).Policy.(*lrb)
	p.serve(tr.Objects[:21_000])
	if learned, batch := p.learner.learned, p.learner.batch; batch-learned < 2500 {
		t.Fatalf("%d of a batch of %d samples are there; the test needs room for 2500", learned, batch)
	}
	at := 21_000
	if n := testing.AllocsPerRun(1, func() {
		p.serve(tr.Objects[at : at+1000])
		at += 1000
	}); n > 0 {
		t.Errorf("%v allocations in 1000 requests, want none", n)
	}
}

// Two tables, one of them with roots only, give what math.Exp2 gives.
func TestDecay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for counters := range 17 {
		d := newDecay(counters)
		for range 1000 {
			age := int32(rng.Uint32() >> (1 + rng.IntN(31)))
			want := math.Exp2(-float64(age) / math.Exp2(float64(firstHalving+counters)))
			if got := d.slowest(age); math.Abs(got-want) > 1e-13*want+1e-290 {
				t.Fatalf("%d counters, age %d: %v, want %v", counters, age, got, want)
			}
		}
	}
}

// The drawn residents are all different, and each is drawn as often as any other.
func TestDrawsEachResidentAsOften(t *testing.T) {
	const residents, ghosts, draws = 50, 30, 20_000
	p := policytest.Drive(t, "lrb", policies.Config{Capacity: residents, Unit: true, Objects: residents + ghosts,
		Requests: 1}).Policy.(*lrb)
	for o := range policies.Object(residents + ghosts) {
		p.tracked.Add(o)
		if o < residents {
			p.tracked.ToFront(o)
		}
	}
	drawn := make([]int, residents+ghosts)
	for range draws {
		sample := slices.Clone(p.drawResidents(10))
		for _, o := range sample {
			drawn[o]++
		}
		if slices.Sort(sample); len(slices.Compact(sample)) != 10 {
			t.Fatal("one resident was drawn twice")
		}
	}
	const want = draws * 10 / residents
	for o, n := range drawn {
		if o < residents && math.Abs(float64(n-want)) > 6*math.Sqrt(want) || o >= residents && n > 0 {
			t.Errorf("object %d was drawn %d times, want about %d of a resident, and 0 of others", o, n, want)
		}
	}
}
