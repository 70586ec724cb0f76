package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// rule says which entry is evicted.
type rule int

const (
	byValue        rule = iota // the one with the least TP * TSI
	byImportance               // the one with the least TSI
	byPrevalence               // the least recently used one of the topic with the least TP
	byTopicRecency             // the least recently used one of the least recently requested topic
)

// policy keeps entries in topics. Its clock counts the requests and loads that it sees.
//
// The paper inserts an entry and then evicts. Here the cache asks for victims before it inserts, so Miss does the work
// of the insertion. The new entry becomes evictable at Insert, or at once without protect-new.
//
// All topics fade alike, so their order changes only with requests. Instead of TP, the policy compares the logarithm of
// what TP would be at time 0, which does not depend on the time of the comparison and does not underflow.
type policy struct {
	settings
	topicIndex
	ranksMembers bool // entries of a topic are evicted by importance
	keysAreLogs  bool // keys of topics are logarithms of TP, or of TP * TSI

	entries []entryState
	sums    sums // if importance fades
	recent  recency
	seen    []uint32 // per object: its last request, 0 if it is not resident
	clock   uint32

	// topics with evictable entries, and topics without entries; ties go to the least time
	alive, dead dense.KeyedHeap

	routed   topicID // of the current request
	isRouted bool

	figures  figures
	compared comparison // with labels
}

// figures counts events.
type figures struct {
	founded, joined, revived, forgotten, links int64
}

func newPolicy(c policies.Config, s settings) (*policy, error) {
	index, err := newTopicIndex(c, s.tauRoute)
	if err != nil {
		return nil, err
	}
	p := &policy{
		settings: s, topicIndex: index, compared: newComparison(c.Relations, &index),
		ranksMembers: s.rule == byValue || s.rule == byImportance,
		keysAreLogs:  s.rule == byPrevalence || s.rule == byValue && !s.fades() && s.topicWeight == 1,
		entries:      make([]entryState, c.Objects), seen: make([]uint32, c.Objects),
	}
	if s.fades() {
		p.sums = newSums(s.topicWeight)
		p.sums.fadeBy(s.beta, s.alpha)
	}
	if s.recentShare > 0 {
		p.recent = newRecency(c.Objects)
		p.recent.limit = limitFor(s.recentShare, c.Capacity)
	}
	return p, nil
}

func (p *policy) Hit(r policies.Request) {
	// On a hit the entry's topic counts, not the query's. The search is needed only for the anchors that it renews.
	if !p.isRouted && p.mayRenew(p.queryOf(r)) {
		p.search(p.queryOf(r))
	}
	p.isRouted = false
	p.tick()
	o := r.Object
	s := p.entries[o].topic
	p.credit(s)
	p.withdraw(o) // while what the heap orders it by changes
	p.touch(o, true)
	p.offer(o)
	p.rank(s)
}

// withdraw removes o from the entries that are evictable, or from those that are not because they were used last.
func (p *policy) withdraw(o policies.Object) {
	if p.recent.has(o) {
		p.recent.remove(o)
	} else {
		p.take(o)
	}
}

// offer makes o, just used, evictable: at once, or when enough others have been used since.
func (p *policy) offer(o policies.Object) {
	if p.recent.held == nil {
		p.add(o)
		return
	}
	p.recent.add(o)
	p.release()
}

// release makes entries evictable that are no longer among those used last.
func (p *policy) release() {
	for p.recent.n > p.recent.limit {
		o, _ := p.recent.list.Back(0)
		p.recent.remove(o)
		p.add(o)
		p.rank(p.entries[o].topic)
	}
}

func (p *policy) Miss(r policies.Request) {
	s := p.route(r)
	p.isRouted = false
	p.tick()
	o := r.Object
	if s != none && p.compared.labels != nil {
		p.compared.join(p.queryOf(r), p.topics[s].representative)
	}
	switch {
	case s == none:
		s = p.found(p.queryOf(r))
		p.figures.founded++
	case p.topics[s].members == 0:
		p.dead.Remove(s)
		p.figures.revived++
	default:
		p.figures.joined++
	}
	// A load without a request says nothing about an existing topic, and builds on no entry.
	if r.Reason == policies.Demand || p.topics[s].prevalence == 0 {
		p.credit(s)
	}
	p.entries[o] = entryState{topic: s, inserted: p.clock, parent: none}
	p.touch(o, r.Reason == policies.Demand)
	p.join(s, o)
	if !p.protectNew {
		p.add(o)
	}
	p.rank(s)
}

func (p *policy) Victim(policies.Request) policies.Object {
	if p.alive.Len() == 0 { // the cache is smaller than it was, or was emptied
		v, _ := p.recent.list.Back(0)
		p.Remove(v)
		return v
	}
	v := p.topics[p.leastValued()].least
	p.Remove(v)
	return v
}

// leastValued returns the topic with the least entry of all.
func (p *policy) leastValued() topicID {
	for {
		s, _ := p.alive.Least()
		t := &p.topics[s]
		key := p.key(t)
		if key == t.ranked {
			return s
		}
		p.place(s, key)
	}
}

func (p *policy) Insert(r policies.Request) {
	if p.protectNew {
		p.offer(r.Object)
		p.rank(p.entries[r.Object].topic)
	}
}

func (p *policy) Remove(o policies.Object) {
	s := p.entries[o].topic
	p.withdraw(o)
	p.unlink(o)
	p.seen[o] = 0
	p.leave(s, o)
	p.rank(s)
	if p.topics[s].members == 0 {
		p.rankDead(s)
		p.limitDead()
	}
}

// Resize adapts the fading of topics to the new capacity, if it depends on it, and forgets topics without entries that
// are too many for it.
func (p *policy) Resize(capacity int64) {
	p.keep = p.keepFor(capacity)
	if p.recent.held != nil {
		p.recent.limit = limitFor(p.recentShare, capacity)
		p.release()
	}
	if p.alphaText != "" {
		p.refade(capacity)
	}
	p.limitDead()
}

// refade adapts the fading to a capacity.
func (p *policy) refade(capacity int64) {
	alpha := mustFade(p.alphaText, capacity)
	changed := alpha != p.alpha
	p.alpha = alpha
	switch {
	case p.fades():
		p.beta = mustFade(p.betaText, capacity)
		p.sums.fadeBy(p.beta, p.alpha)
	case changed:
		p.rankAll()
	}
}

// rankAll ranks all topics again.
func (p *policy) rankAll() {
	for s := range p.topics {
		if p.alive.Has(topicID(s)) {
			p.topics[s].rankedAt = math.MaxUint32 // its place was on another scale
			p.rank(topicID(s))
		} else if p.dead.Has(topicID(s)) {
			p.rankDead(topicID(s))
		}
	}
}

func (p *policy) Grow(objects int) {
	p.entries = dense.Grown(p.entries, objects)
	p.recent.grow(objects)
	p.seen = dense.Grown(p.seen, objects)
	p.topicIndex.grow(objects)
}

func (p *policy) InScope(r policies.Request, o policies.Object) bool {
	return p.entries[o].topic == p.route(r)
}

func (p *policy) Counters() []policies.Counter {
	all := []policies.Counter{
		policies.Count(topicsAlive, float64(len(p.topics)-len(p.unused)-p.dead.Len())),
		policies.Count(topicsDead, float64(p.dead.Len())),
		policies.Count(newTopics, float64(p.figures.founded)),
		policies.Count(revivedTopics, float64(p.figures.revived)),
		policies.Count(forgottenTopics, float64(p.figures.forgotten)),
		policies.Count(routed, float64(p.figures.joined+p.figures.revived)),
		policies.Count(refreshes, float64(p.refreshes)),
	}
	if p.links {
		all = append(all, policies.Count(links, float64(p.figures.links)))
	}
	return append(all, p.compared.counters(p.topics)...)
}

// queryOf returns the query of a request. Without similarities a request carries only its object.
func (p *policy) queryOf(r policies.Request) policies.Object {
	if p.similar == nil {
		return r.Object
	}
	return r.Query
}

// route returns the topic of the current request, or none. It is looked up once per request.
func (p *policy) route(r policies.Request) topicID {
	if !p.isRouted {
		p.routed, p.isRouted = p.search(p.queryOf(r)), true
	}
	return p.routed
}

// credit counts the current request for s.
func (p *policy) credit(s topicID) {
	t := &p.topics[s]
	if p.fades() {
		t.prevalence += p.sums.prevalence.now
	} else {
		t.prevalence = float64(t.prevalence*math.Exp2(-p.alpha*float64(p.clock-t.last))) + 1
	}
	t.last = p.clock
}

// rank updates the place of s, whose prevalence or least entry has changed, among the topics with evictable entries.
// One that has risen keeps its place, which leastValued corrects: most rise again before they come to the top.
func (p *policy) rank(s topicID) {
	t := &p.topics[s]
	if t.least == none {
		p.alive.Remove(s)
		return
	}
	if p.alive.Has(s) && p.hasRisen(t) {
		return
	}
	if key := p.key(t); key <= t.ranked || !p.alive.Has(s) {
		p.place(s, key)
	}
}

// hasRisen reports whether t is known to have risen, without computing the logarithm of its key: it was requested since
// it got its place, and its least entry has not become less important.
func (p *policy) hasRisen(t *topic) bool {
	return p.keysAreLogs && t.last > t.rankedAt && p.entries[t.least].importance >= t.rankedLeast
}

// place moves s to its place among the topics with evictable entries.
func (p *policy) place(s topicID, key float64) {
	t := &p.topics[s]
	t.ranked, t.rankedAt, t.rankedLeast = key, t.last, p.entries[t.least].importance
	p.alive.Set(s, key, uint64(p.seen[t.least]))
}

// key is the value of the least entry of a topic, on a scale on which all topics can be compared at any time.
func (p *policy) key(t *topic) float64 {
	importance := p.entries[t.least].importance
	switch p.rule {
	case byImportance:
		return importance
	case byPrevalence:
		return p.lasting(t, 1)
	case byTopicRecency:
		return float64(t.last)
	}
	switch {
	case p.fades():
		return p.faded(t, importance)
	case p.topicWeight != 1:
		return float64(p.topicWeight*p.lasting(t, 1)) + math.Log2(importance)
	}
	return p.lasting(t, importance)
}

// lasting returns log2(TP * importance) + alpha * now, which does not change over time. The logarithm is taken of the
// product, so that equal products of whole numbers stay equal.
func (p *policy) lasting(t *topic, importance float64) float64 {
	return math.Log2(t.prevalence*importance) + float64(p.alpha*float64(t.last))
}

func (p *policy) rankDead(s topicID) {
	t := &p.topics[s]
	prevalence := t.prevalence
	if !p.fades() {
		prevalence = p.lasting(t, 1)
	}
	p.dead.Set(s, prevalence, uint64(t.last))
}

// limitDead forgets the least prevalent topics without entries until the rest are within their limit.
func (p *policy) limitDead() {
	for p.dead.Len() > p.keep {
		least, _ := p.dead.Least()
		p.dead.Remove(least)
		p.forget(least)
		p.figures.forgotten++
	}
}
