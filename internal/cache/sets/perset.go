package sets

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// perSet serves the sets under any policy. It has a pool for each set, which numbers the objects of the set 0, 1, ...
// in order of their numbers. So all pools together take about as much memory as one for the whole trace.
//
// At the end of a batch a policy sees each of its keys once: first the hits, then the misses, each in order. Offline
// policies may have the misses loaded in any order, and get positions on the timeline of their set. With both, `opt`
// fetches as seldom as sets of this size can.
type perSet struct {
	*slabs.Geometry
	each     []oneSet
	number   []uint32 // per object: its number in its set
	seen     []uint32 // per object: the last batch that looked it up
	batch    uint32
	hits     []lookup // of the current batch, each object once
	misses   []lookup
	missed   []policies.Object
	expires  bool
	expired  int             // objects in the current batch
	timeline *timeline       // of an offline policy; nil for all others
	shared   *batchPredictor // nil where the policy asks none
}

type oneSet struct {
	pool    *cache.Pool
	members []policies.Object // by their numbers in the set
	expired uint32            // the last batch before which it was asked what expires
}

// lookup is the first lookup of an object in a batch.
type lookup struct {
	object policies.Object
	set    uint32
	pos    int
	time   int64
}

func newPerSet(c cache.Config, g *slabs.Geometry, b batches) (*perSet, error) {
	p := &perSet{Geometry: g, each: make([]oneSet, g.Sets), number: make([]uint32, len(g.Home)),
		seen: make([]uint32, len(g.Home)), batch: 1}
	p.share()
	if c.Policy.Entry.Kind == policies.Offline {
		p.timeline = newTimeline(c.Trace.Objects, g, b)
	}
	if c.Predictor != nil {
		p.shared = &batchPredictor{Predictor: c.Predictor}
	}
	for i := range p.each {
		if err := p.build(c, i); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *perSet) Used() (used int64) {
	for i := range p.each {
		used += p.each[i].pool.Used()
	}
	return used
}

// share gives each set its objects, with their numbers in it.
func (p *perSet) share() {
	counts := make([]int, len(p.each))
	for o := range p.Home {
		set := p.SetOf(policies.Object(o))
		p.number[o] = uint32(counts[set])
		counts[set]++
	}
	all := make([]policies.Object, len(p.Home))
	for i, n := range counts {
		p.each[i].members, all = all[:n:n], all[n:]
	}
	for o := range p.Home {
		p.each[p.SetOf(policies.Object(o))].members[p.number[o]] = policies.Object(o)
	}
}

func (p *perSet) build(c cache.Config, i int) error {
	set := &p.each[i]
	config := policies.Config{
		Capacity: int64(p.Ways), Unit: true, Objects: len(set.members), Requests: len(c.Trace.Objects),
		Seed: rand.NewPCG(c.Seed, uint64(i)).Uint64(), Params: c.Policy.Params, Life: c.Life,
	}
	if c.Key != nil {
		config.Key = func(o policies.Object) uint64 { return c.Key(set.members[o]) }
	}
	if c.Relations != nil {
		config.Relations = &policies.Relations{HitFrom: c.Relations.HitFrom,
			Topics: topicsIn(set.members, c.Relations.Topics)}
	}
	if p.timeline != nil {
		config.NextUse = p.timeline.nextUse(i)
		config.Requests = len(config.NextUse)
	}
	if p.shared != nil {
		config.Predictor = &setPredictor{p.shared, set.members}
	}
	policy, err := c.Policy.Entry.New(config)
	if err != nil {
		return err
	}
	_, expires := policy.(policies.Expirer)
	p.expires = p.expires || expires
	set.pool = cache.NewPool(policy, config.Capacity, config.Objects)
	return nil
}

func topicsIn(members []policies.Object, labels []int32) []int32 {
	if labels == nil {
		return nil
	}
	topics := make([]int32, len(members))
	for i, o := range members {
		topics[i] = labels[o]
	}
	return topics
}

func (p *perSet) LookUp(objects []policies.Object, first int, times []int64) (fetches int) {
	for i, o := range objects {
		if p.shared != nil {
			p.shared.Predictor.Observe(o, first+i)
		}
		if p.seen[o] == p.batch {
			continue
		}
		p.seen[o] = p.batch
		l := lookup{object: o, set: uint32(p.SetOf(o)), pos: first + i}
		if times != nil {
			l.time = times[i]
		}
		set := &p.each[l.set]
		if p.expires && set.expired != p.batch { // before the first lookup of the set, so that what hits stays resident
			set.expired = p.batch
			before := set.pool.Evictions()
			set.pool.Expire(l.time)
			p.expired += int(set.pool.Evictions() - before)
		}
		if set.pool.Resident(p.number[o]) {
			p.hits = append(p.hits, l)
		} else {
			p.misses = append(p.misses, l)
			fetches++
		}
	}
	return fetches
}

func (p *perSet) Missed() []policies.Object {
	p.missed = p.missed[:0]
	for _, m := range p.misses {
		p.missed = append(p.missed, m.object)
	}
	return p.missed
}

func (p *perSet) Keep(admitted func(o policies.Object) bool) {
	p.misses = slices.DeleteFunc(p.misses, func(l lookup) bool { return !admitted(l.object) })
}

// Load implements policies.SetsPolicy. What hit in the batch is still resident: nothing was dropped after its lookup.
func (p *perSet) Load(end int) (evictions int) {
	if p.shared != nil {
		p.shared.now = end
	}
	for _, l := range p.hits {
		p.each[l.set].pool.Hit(p.request(l))
	}
	if p.timeline != nil {
		p.timeline.soonestLast(p.misses)
	}
	evictions = p.expired
	for _, l := range p.misses {
		pool := p.each[l.set].pool
		before := pool.Evictions()
		pool.Miss(p.request(l))
		evictions += int(pool.Evictions() - before)
	}
	p.hits, p.misses, p.expired = p.hits[:0], p.misses[:0], 0
	p.batch++
	return evictions
}

// request returns a lookup as the pool of its set sees it.
func (p *perSet) request(l lookup) policies.Request {
	r := policies.Request{Object: p.number[l.object], Pos: l.pos, Size: 1, Time: l.time}
	if p.timeline != nil {
		r.Pos = int(p.timeline.at[l.pos])
	}
	return r
}

func (p *perSet) Counters() (sums []policies.Counter) {
	for i := range p.each {
		sums = cache.AddCounters(sums, p.each[i].pool.Counters())
	}
	return sums
}

// batchPredictor is the predictor of a whole trace. The cache itself reports every lookup to it: a batch is known when
// it comes, so that predictions are as of its end.
type batchPredictor struct {
	predict.Predictor
	now     int // where the batch ends that is being loaded
	objects []policies.Object
}

// setPredictor is the predictor as the policy of a set sees it.
type setPredictor struct {
	*batchPredictor
	members []policies.Object
}

// Observe has nothing to do: the cache has reported the whole batch.
func (*setPredictor) Observe(predict.Object, int) {}

func (p *setPredictor) Predict(objects []predict.Object, _ int, next []float64) {
	p.objects = p.objects[:0]
	for _, o := range objects {
		p.objects = append(p.objects, p.members[o])
	}
	p.Predictor.Predict(p.objects, p.now, next)
}

// timeline numbers the requests of each set, each object once per batch. With these numbers Belady's rule is optimal:
// it evicts the object with the farthest number.
//
// A batch is looked up before anything is loaded. Two objects that are next requested in the same batch are equally
// far, but not equally good to keep. One that is missed is loaded and cannot be evicted at once, while one that hits
// may be. So it is better to miss the one that is requested sooner after that batch: it has the larger number.
type timeline struct {
	*slabs.Geometry
	at     []uint32 // per request that is the first of its object in its batch: its number in its set
	next   []uint32 // set by set, per number: the number of the next request to the same object, or policies.Never
	starts []int    // per set: where it begins in next
}

func newTimeline(objects []policies.Object, g *slabs.Geometry, b batches) *timeline {
	t := &timeline{Geometry: g, at: make([]uint32, len(objects)), starts: make([]int, g.Sets+1)}
	firsts, ends := b.firstLookups(objects, len(g.Home))
	left := make([]uint32, g.Sets) // per set: numbers that are not given yet
	for _, pos := range firsts {
		left[g.SetOf(objects[pos])]++
	}
	for set, n := range left {
		t.starts[set+1] = t.starts[set] + int(n)
	}
	t.next = make([]uint32, len(firsts))
	later := slices.Repeat([]uint32{policies.Never}, len(g.Home)) // per object: the number of its next request
	for i := len(ends) - 1; i >= 0; i-- {
		batch := firsts[:ends[i]]
		if i > 0 {
			batch = batch[ends[i-1]:]
		}
		// The soonest is numbered first, from the last number down.
		slices.SortFunc(batch, func(p, q uint32) int {
			return cmp.Or(cmp.Compare(later[objects[p]], later[objects[q]]), cmp.Compare(p, q))
		})
		for _, pos := range batch {
			o := objects[pos]
			set := g.SetOf(o)
			left[set]--
			t.at[pos] = left[set]
			t.next[t.starts[set]+int(left[set])] = later[o]
			later[o] = left[set]
		}
	}
	return t
}

// soonestLast sorts the misses of a batch by next requests: what is loaded last cannot be evicted in the batch.
func (t *timeline) soonestLast(missed []lookup) {
	next := func(l lookup) uint32 { return t.next[t.starts[t.SetOf(l.object)]+int(t.at[l.pos])] }
	slices.SortStableFunc(missed, func(a, b lookup) int { return cmp.Compare(next(b), next(a)) })
}

func (t *timeline) nextUse(set int) []uint32 { return t.next[t.starts[set]:t.starts[set+1]] }
