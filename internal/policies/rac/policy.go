package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// rule says which entry leaves.
type rule int

const (
	byValue        rule = iota // that with the least TP * TSI
	byImportance               // with the least TSI
	byPrevalence               // of the topic with the least TP the least recently used one
	byTopicRecency             // of the topic requested longest ago the least recently used one
)

// policy keeps entries in topics. Its clock counts the requests and loads that it hears of.
//
// The paper inserts an entry and then evicts. Here the cache asks for victims before it inserts, so Miss does what
// belongs to the insertion; the new entry is kept from those that may leave until Insert, or is put among them at once.
//
// All topics fade alike, so their order changes only by requests. In place of TP the logarithm of what it will have
// been worth at time 0 is compared, which does not depend on the time of the comparison and does not underflow.
type policy struct {
	settings
	topicIndex
	ranksMembers bool // entries of a topic leave by importance

	entries []entryState
	seen    []uint32 // per object: its last request, 0 where it is not resident
	clock   uint32

	alive topicHeap // topics with entries that may leave
	dead  topicHeap // topics without entries

	routed   topicID // of the present request
	isRouted bool

	figures figures
}

// figures are counts of what happened.
type figures struct {
	founded, joined, revived, forgotten, links int64
}

func newPolicy(c policies.Config, s settings) (*policy, error) {
	index, err := newTopicIndex(c, s.tauRoute)
	if err != nil {
		return nil, err
	}
	return &policy{
		settings: s, topicIndex: index, ranksMembers: s.rule == byValue || s.rule == byImportance,
		entries: make([]entryState, c.Objects), seen: make([]uint32, c.Objects),
	}, nil
}

func (p *policy) Hit(r policies.Request) {
	// On a hit the topic of the entry counts, not that of the query: what remains of the search are the anchors that it
	// renews.
	if p.stale > 0 && !p.isRouted {
		p.search(p.queryOf(r))
	}
	p.isRouted = false
	p.clock++
	o := r.Object
	s := p.entries[o].topic
	p.credit(s)
	p.take(o)
	p.touch(o, true)
	p.add(o)
	p.rank(s)
}

func (p *policy) Miss(r policies.Request) {
	s := p.route(r)
	p.isRouted = false
	p.clock++
	o := r.Object
	switch {
	case s == none:
		s = p.found(p.queryOf(r))
		p.figures.founded++
	case p.topics[s].members == 0:
		p.dead.remove(s)
		p.figures.revived++
	default:
		p.figures.joined++
	}
	// What nobody asks for says nothing of a topic that there is, and builds on no entry.
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
	v := p.topics[p.alive.ranks[0].topic].least
	p.Remove(v)
	return v
}

func (p *policy) Insert(r policies.Request) {
	if p.protectNew {
		p.add(r.Object)
		p.rank(p.entries[r.Object].topic)
	}
}

func (p *policy) Remove(o policies.Object) {
	s := p.entries[o].topic
	p.take(o)
	p.unlink(o)
	p.seen[o] = 0
	p.leave(s, o)
	p.rank(s)
	if p.topics[s].members == 0 {
		p.bury(s)
	}
}

// Resize lets topics fade as the new capacity says, where they do by capacity, and forgets those without entries that
// are too many for it.
func (p *policy) Resize(capacity int64) {
	p.keep = p.keepFor(capacity)
	if p.alphaText != "" {
		if alpha, _ := parseAlpha(p.alphaText, float64(capacity)); alpha != p.alpha { // it could be read before
			p.alpha = alpha
			p.rankAll()
		}
	}
	p.limitDead()
}

// rankAll puts all topics where they belong.
func (p *policy) rankAll() {
	for s := range p.topics {
		if p.alive.has(topicID(s)) {
			p.rank(topicID(s))
		} else if p.dead.has(topicID(s)) {
			p.rankDead(topicID(s))
		}
	}
}

func (p *policy) Grow(objects int) {
	p.entries = dense.Grown(p.entries, objects)
	p.seen = dense.Grown(p.seen, objects)
	p.topicIndex.grow(objects)
}

// InScope implements policies.Scoper.
func (p *policy) InScope(r policies.Request, o policies.Object) bool {
	return p.entries[o].topic == p.route(r)
}

// Counters implements policies.Reporter.
func (p *policy) Counters() []policies.Counter {
	all := []policies.Counter{
		{Name: "topics_alive", Value: float64(len(p.topics) - len(p.unused) - len(p.dead.ranks))},
		{Name: "topics_dead", Value: float64(len(p.dead.ranks))},
		{Name: "new_topics", Value: float64(p.figures.founded)},
		{Name: "revived_topics", Value: float64(p.figures.revived)},
		{Name: "forgotten_topics", Value: float64(p.figures.forgotten)},
		{Name: "routed", Value: float64(p.figures.joined + p.figures.revived)},
		{Name: "refreshes", Value: float64(p.refreshes)},
	}
	if p.links {
		all = append(all, policies.Counter{Name: "links", Value: float64(p.figures.links)})
	}
	return all
}

// queryOf returns what is asked for. Without similarities a request carries its object only.
func (p *policy) queryOf(r policies.Request) policies.Object {
	if p.similar == nil {
		return r.Object
	}
	return r.Query
}

// route returns the topic of the present request, for which it is looked up once, or none.
func (p *policy) route(r policies.Request) topicID {
	if !p.isRouted {
		p.routed, p.isRouted = p.search(p.queryOf(r)), true
	}
	return p.routed
}

// credit counts the present request for s.
func (p *policy) credit(s topicID) {
	t := &p.topics[s]
	t.prevalence = t.prevalence*math.Exp2(-p.alpha*float64(p.clock-t.last)) + 1
	t.last = p.clock
}

// rank puts s, whose prevalence or least entry has changed, where it belongs among those with entries that may leave.
func (p *policy) rank(s topicID) {
	t := &p.topics[s]
	if t.least == none {
		p.alive.remove(s)
		return
	}
	p.alive.set(rank{key: p.key(t, p.entries[t.least].importance), time: p.seen[t.least], topic: s})
}

// key is what the least entry of a topic is worth, on a scale on which all topics can be compared at any time.
func (p *policy) key(t *topic, importance float64) float64 {
	switch p.rule {
	case byImportance:
		return importance
	case byPrevalence:
		return p.lasting(t, 1)
	case byTopicRecency:
		return float64(t.last)
	}
	return p.lasting(t, importance)
}

// lasting returns log2(TP * importance) + alpha * now, which does not change while time passes. The logarithm is taken
// of the product, so that equal products of whole numbers stay equal.
func (p *policy) lasting(t *topic, importance float64) float64 {
	return math.Log2(t.prevalence*importance) + p.alpha*float64(t.last)
}

// bury remembers s, which has no entries, as long as it is among the most prevalent of its kind.
func (p *policy) bury(s topicID) {
	p.rankDead(s)
	p.limitDead()
}

func (p *policy) rankDead(s topicID) {
	t := &p.topics[s]
	p.dead.set(rank{key: p.lasting(t, 1), time: t.last, topic: s})
}

// limitDead forgets the least prevalent of the topics that are remembered until they are within their number.
func (p *policy) limitDead() {
	for len(p.dead.ranks) > p.keep {
		least := p.dead.ranks[0].topic
		p.dead.remove(least)
		p.forget(least)
		p.figures.forgotten++
	}
}
