package sets

import (
	"fmt"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/predict"
)

// perSet serves the sets under any policy: it has an instance of the policy for each set, with the objects of the set
// numbered 0, 1, ... in order of their numbers, so that all of them together take about as much memory as one for the
// whole trace.
//
// A policy sees each key of a batch once, however often the batch looks it up, when the batch ends: first the hits,
// then the misses, each in order. Offline policies may have the misses of a batch loaded in any order, and are told
// positions on the timeline of their set. With both, `opt` fetches as seldom as sets of this size can.
type perSet struct {
	*slabs.Geometry
	each     []oneSet
	local    []uint32   // per object: its number in its set
	states   []setState // per object
	batch    uint32
	hits     []lookup // of the present batch, each object once
	misses   []lookup
	missed   []policies.Object // the objects of misses
	evicted  int               // expired in the present batch
	expires  bool
	timeline *timeline        // of an offline policy; nil for all others
	shared   *sharedPredictor // nil where the policy asks none
}

// oneSet is a set with its policy.
type oneSet struct {
	policy   policies.Policy
	admitter policies.Admitter // nil where the policy admits everything
	expirer  policies.Expirer  // nil where nothing expires
	members  []policies.Object // by their numbers in the set
	free     int
	expired  uint32 // the last batch before which it was asked what expires
}

// setState says where an object is.
type setState struct {
	resident bool
	seen     uint32 // the last batch that looked it up
}

// lookup is the first one of an object in a batch.
type lookup struct {
	object policies.Object
	pos    int
	time   int64
}

func newPerSet(c cache.Config, g *slabs.Geometry, b batches) (*perSet, error) {
	p := &perSet{Geometry: g, each: make([]oneSet, g.Sets), local: make([]uint32, len(g.Home)),
		states: make([]setState, len(g.Home)), batch: 1}
	p.number()
	if c.Policy.Entry.Kind == policies.Offline {
		p.timeline = newTimeline(c.Trace.Objects, g, b)
	}
	if c.Predictor != nil {
		p.shared = &sharedPredictor{predictor: c.Predictor}
	}
	for i := range p.each {
		if err := p.build(c, i); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Used implements cache.Occupied. A policy may refuse what a batch missed.
func (p *perSet) Used() (used int64) {
	for i := range p.each {
		used += int64(p.Ways - p.each[i].free)
	}
	return used
}

// number gives each object its number in its set.
func (p *perSet) number() {
	counts := make([]int, len(p.each))
	for o := range p.Home {
		set := p.SetOf(policies.Object(o))
		p.local[o] = uint32(counts[set])
		counts[set]++
	}
	all := make([]policies.Object, len(p.Home))
	for i, n := range counts {
		p.each[i] = oneSet{members: all[:n:n], free: p.Ways}
		all = all[n:]
	}
	for o := range p.Home {
		p.set(policies.Object(o)).members[p.local[o]] = policies.Object(o)
	}
}

// build makes the policy of a set.
func (p *perSet) build(c cache.Config, i int) error {
	set := &p.each[i]
	config := policies.Config{
		Capacity: int64(p.Ways), Unit: true, Objects: len(set.members), Requests: len(c.Trace.Objects),
		Seed: rand.NewPCG(c.Seed, uint64(i)).Uint64(), Params: c.Policy.Params,
	}
	if p.timeline != nil {
		config.NextUse = p.timeline.nextUse(i)
		config.Requests = len(config.NextUse)
	}
	if p.shared != nil {
		config.Predictor = &setPredictor{p.shared, set.members}
	}
	var err error
	if set.policy, err = c.Policy.Entry.New(config); err != nil {
		return err
	}
	set.admitter, _ = set.policy.(policies.Admitter)
	set.expirer, _ = set.policy.(policies.Expirer)
	p.expires = p.expires || set.expirer != nil
	return nil
}

// LookUp implements policies.SetsPolicy.
func (p *perSet) LookUp(objects []policies.Object, first int, times []int64) (fetches int) {
	for i, o := range objects {
		if p.shared != nil {
			p.shared.predictor.Observe(o, first+i)
		}
		state := &p.states[o]
		if state.seen == p.batch {
			continue
		}
		state.seen = p.batch
		l := lookup{object: o, pos: first + i}
		if times != nil {
			l.time = times[i]
		}
		if p.expires {
			p.expire(l)
		}
		if state.resident {
			p.hits = append(p.hits, l)
		} else {
			p.misses = append(p.misses, l)
			fetches++
		}
	}
	return fetches
}

// Missed implements policies.SetsPolicy.
func (p *perSet) Missed() []policies.Object {
	p.missed = p.missed[:0]
	for _, m := range p.misses {
		p.missed = append(p.missed, m.object)
	}
	return p.missed
}

// expire drops what has expired in the set of a lookup, before the first one of a batch.
func (p *perSet) expire(l lookup) {
	set := p.set(l.object)
	if set.expired == p.batch {
		return
	}
	set.expired = p.batch
	for {
		v, ok := set.expirer.Expired(l.time)
		if !ok {
			return
		}
		p.drop(set, v)
		p.evicted++
	}
}

// Load implements policies.SetsPolicy.
func (p *perSet) Load(end int) (evictions int) {
	if p.shared != nil {
		p.shared.now = end
	}
	for _, l := range p.hits {
		p.set(l.object).policy.Hit(p.request(l))
	}
	if p.timeline != nil {
		p.timeline.soonestLast(p.misses)
	}
	for _, l := range p.misses {
		evictions += p.load(l)
	}
	p.hits, p.misses = p.hits[:0], p.misses[:0]
	p.batch++
	evictions += p.evicted
	p.evicted = 0
	return evictions
}

// load loads a missed object unless its policy refuses it.
func (p *perSet) load(l lookup) (evictions int) {
	set, r := p.set(l.object), p.request(l)
	set.policy.Miss(r)
	if set.admitter != nil && !set.admitter.Admit(r) {
		return 0
	}
	if set.free == 0 {
		v := set.policy.Victim(r)
		if v == r.Object {
			return 0
		}
		p.drop(set, v)
		evictions++
	}
	set.policy.Insert(r)
	set.free--
	p.states[l.object].resident = true
	return evictions
}

// drop takes the object of that number out of a set. A policy that names one that is not there is broken.
func (p *perSet) drop(set *oneSet, number uint32) {
	state := &p.states[set.members[number]]
	if !state.resident {
		panic(fmt.Sprintf("policy %T evicts object %d, which is not resident", set.policy, number))
	}
	state.resident = false
	set.free++
}

func (p *perSet) set(o policies.Object) *oneSet { return &p.each[p.SetOf(o)] }

// request returns a lookup as the policy of its set sees it.
func (p *perSet) request(l lookup) policies.Request {
	r := policies.Request{Object: p.local[l.object], Pos: l.pos, Size: 1, Time: l.time}
	if p.timeline != nil {
		r.Pos = int(p.timeline.at[l.pos])
	}
	return r
}

// Counters implements policies.Reporter: they are the sums of those of all sets.
func (p *perSet) Counters() (sums []policies.Counter) {
	for i := range p.each {
		for k, c := range cache.CountersOf(p.each[i].policy) {
			if i == 0 {
				sums = append(sums, c)
			} else {
				sums[k].Value += c.Value
			}
		}
	}
	return sums
}

// sharedPredictor is the predictor of a whole trace, which the cache itself tells about every lookup: a batch is known
// when it comes, so that its predictions are those as of its end.
type sharedPredictor struct {
	predictor predict.Predictor
	now       int // where the batch ends that is being loaded
	objects   []policies.Object
}

// setPredictor is the predictor as the policy of a set sees it.
type setPredictor struct {
	*sharedPredictor
	members []policies.Object
}

// Observe implements predict.Predictor; the cache has observed the whole batch.
func (*setPredictor) Observe(predict.Object, int) {}

// Predict implements predict.Predictor.
func (p *setPredictor) Predict(objects []predict.Object, _ int, next []float64) {
	p.objects = p.objects[:0]
	for _, o := range objects {
		p.objects = append(p.objects, p.members[o])
	}
	p.predictor.Predict(p.objects, p.now, next)
}

// Steady implements predict.Predictor.
func (p *setPredictor) Steady() bool { return p.predictor.Steady() }
