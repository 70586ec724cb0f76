package cache

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

// policyPerSet has an instance of a policy for each set, with the objects of the set numbered 0, 1, ... in order of
// their numbers, so that all of them together take about as much memory as one for the whole trace.
//
// A policy sees each key of a batch once, however often the batch looks it up, when the batch ends: first the hits,
// then the misses, each in order. Offline policies may have the misses of a batch loaded in any order, and are told
// positions on the timeline of their set. With both, `opt` fetches as seldom as sets of this size can.
type policyPerSet struct {
	*setIndex
	each     []oneSet
	local    []uint32   // per object: its number in its set
	states   []setState // per object
	batch    uint32
	hits     []lookup // of the present batch, each object once
	missed   []lookup
	evicted  int // expired in the present batch
	expires  bool
	timeline *setTimeline     // of an offline policy; nil for all others
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

func (p *policyPerSet) appendMissed(to []policies.Object) []policies.Object {
	for _, m := range p.missed {
		to = append(to, m.object)
	}
	return to
}

func newPolicyPerSet(c Config, x *setIndex, b batches) (*policyPerSet, error) {
	p := &policyPerSet{setIndex: x, each: make([]oneSet, x.sets), local: make([]uint32, len(x.home)),
		states: make([]setState, len(x.home)), batch: 1}
	p.number()
	if c.Policy.Entry.Kind == policies.Offline {
		p.timeline = newSetTimeline(c.Trace.Objects, x, b)
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

// number gives each object its number in its set.
func (p *policyPerSet) number() {
	counts := make([]int, len(p.each))
	for o, home := range p.home {
		set := int(home) / p.slabs
		p.local[o] = uint32(counts[set])
		counts[set]++
	}
	all := make([]policies.Object, len(p.home))
	for i, n := range counts {
		p.each[i] = oneSet{members: all[:n:n], free: p.ways}
		all = all[n:]
	}
	for o, home := range p.home {
		p.each[int(home)/p.slabs].members[p.local[o]] = policies.Object(o)
	}
}

// build makes the policy of a set.
func (p *policyPerSet) build(c Config, i int) error {
	set := &p.each[i]
	config := policies.Config{
		Capacity: int64(p.ways), Unit: true, Objects: len(set.members), Requests: len(c.Trace.Objects),
		Seed: rand.NewPCG(c.Seed, uint64(i)).Uint64(), Params: c.Policy.Params,
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
	var err error
	if set.policy, err = c.Policy.Entry.New(config); err != nil {
		return err
	}
	set.admitter, _ = set.policy.(policies.Admitter)
	set.expirer, _ = set.policy.(policies.Expirer)
	p.expires = p.expires || set.expirer != nil
	return nil
}

// topicsIn returns the labels of the members of a set.
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

func (p *policyPerSet) lookUp(objects []policies.Object, first int, times []int64) (fetches int) {
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
			p.missed = append(p.missed, l)
			fetches++
		}
	}
	return fetches
}

// expire drops what has expired in the set of a lookup, before the first one of a batch.
func (p *policyPerSet) expire(l lookup) {
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

func (p *policyPerSet) load(end int) (evictions int) {
	if p.shared != nil {
		p.shared.now = end
	}
	for _, l := range p.hits {
		p.set(l.object).policy.Hit(p.request(l))
	}
	if p.timeline != nil {
		p.timeline.soonestLast(p)
	}
	for _, l := range p.missed {
		evictions += p.loadOne(l)
	}
	p.hits, p.missed = p.hits[:0], p.missed[:0]
	p.batch++
	evictions += p.evicted
	p.evicted = 0
	return evictions
}

// loadOne loads a missed object unless its policy refuses it.
func (p *policyPerSet) loadOne(l lookup) (evictions int) {
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
func (p *policyPerSet) drop(set *oneSet, number uint32) {
	state := &p.states[set.members[number]]
	if !state.resident {
		panic(fmt.Sprintf("policy %T evicts object %d, which is not resident", set.policy, number))
	}
	state.resident = false
	set.free++
}

func (p *policyPerSet) set(o policies.Object) *oneSet { return &p.each[int(p.home[o])/p.slabs] }

// request returns a lookup as the policy of its set sees it.
func (p *policyPerSet) request(l lookup) policies.Request {
	r := policies.Request{Object: p.local[l.object], Pos: l.pos, Size: 1, Time: l.time}
	if p.timeline != nil {
		r.Pos = int(p.timeline.at[l.pos])
	}
	return r
}

// counters returns the sums of the counters of all policies.
func (p *policyPerSet) counters() (sums []policies.Counter) {
	for i := range p.each {
		for k, c := range CountersOf(p.each[i].policy) {
			if i == 0 {
				sums = append(sums, c)
			} else {
				sums[k].Value += c.Value
			}
		}
	}
	return sums
}

// setTimeline numbers the requests of each set, each object once per batch, so that Belady's rule, the farthest number
// leaves, is optimal.
//
// Where all of a batch is looked up before anything is loaded, two objects that are requested next in the same batch
// are equally far, but not equally good to keep: whichever of them is missed then is loaded and cannot leave at once,
// while the other may leave after its hit. So the one to miss is the one that is wanted sooner after that batch: it has
// the larger number.
type setTimeline struct {
	at     []uint32 // per request that is the first of its object in its batch: its number in its set
	next   []uint32 // set by set, per number: the number of the next request to the same object, or policies.Never
	starts []int    // per set: where it begins in next
}

func newSetTimeline(objects []policies.Object, x *setIndex, b batches) *setTimeline {
	t := &setTimeline{at: make([]uint32, len(objects)), starts: make([]int, x.sets+1)}
	setOf := func(pos int) int { return int(x.home[objects[pos]]) / x.slabs }
	firsts, ends := firstLookups(objects, len(x.home), b)
	left := make([]uint32, x.sets) // per set: numbers that are not given yet
	for _, pos := range firsts {
		left[setOf(int(pos))]++
	}
	for set, n := range left {
		t.starts[set+1] = t.starts[set] + int(n)
	}
	t.next = make([]uint32, len(firsts))
	later := slices.Repeat([]uint32{policies.Never}, len(x.home)) // per object: the number of its next request
	for i := len(ends) - 1; i >= 0; i-- {
		batch := firsts[:ends[i]]
		if i > 0 {
			batch = batch[ends[i-1]:]
		}
		slices.SortFunc(batch, func(p, q uint32) int {
			return cmp.Or(cmp.Compare(later[objects[p]], later[objects[q]]), cmp.Compare(p, q))
		})
		for _, pos := range batch {
			set, o := setOf(int(pos)), objects[pos]
			left[set]--
			t.at[pos] = left[set]
			t.next[t.starts[set]+int(left[set])] = later[o]
			later[o] = left[set]
		}
	}
	return t
}

// firstLookups returns the positions at which a batch looks an object up first, and per batch where its own end among
// them.
func firstLookups(objects []policies.Object, count int, b batches) (firsts []uint32, ends []int) {
	lastBatch := make([]uint32, count) // per object: 1 + the last batch that looked it up
	for pos, end := 0, 0; pos < len(objects); {
		end = b.end(pos)
		for ; pos < end; pos++ {
			if o := objects[pos]; lastBatch[o] != uint32(len(ends)+1) {
				lastBatch[o] = uint32(len(ends) + 1)
				firsts = append(firsts, uint32(pos))
			}
		}
		ends = append(ends, len(firsts))
	}
	return firsts, ends
}

// soonestLast sorts what a batch missed by next requests, soonest last. What is loaded last cannot leave in the batch.
func (t *setTimeline) soonestLast(p *policyPerSet) {
	next := func(l lookup) uint32 { return t.next[t.starts[int(p.home[l.object])/p.slabs]+int(t.at[l.pos])] }
	slices.SortStableFunc(p.missed, func(a, b lookup) int { return cmp.Compare(next(b), next(a)) })
}

func (t *setTimeline) nextUse(set int) []uint32 { return t.next[t.starts[set]:t.starts[set+1]] }

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
