// Package laru holds LARU, the learning-augmented LRU of LCR. It evicts the object that a predictor expects to be
// needed last among the least recently used ones, and considers fewer of them whenever that turns out wrong. With
// exact predictions it misses as often as the optimum; with any predictions it stays within a factor of the order of
// the capacity (LCR, arXiv 2509.20979, section 3 and appendices C to E).
package laru

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
)

// Choices of parameters.
const (
	marksExact  = "exact"
	marksBitset = "bitset"
)

var entry = policies.Entry{
	Name:   "laru",
	Look:   policies.Look{Color: policies.Vermilion, Mark: policies.Triangle},
	Memory: policies.Memory{PerObject: 16, PerSlot: 44},
	Summary: "evicts the object predicted to be requested last among the least recently used ones, whose number shrinks " +
		"whenever an object evicted in this way is requested again too soon; then the least recently used object is evicted",
	Source: "LCR (arXiv 2509.20979), algorithm 1",
	Units:  policies.UnitsObjects,
	Type:   (*onLeaves)(nil),
	Params: []policies.Param{
		background.Mode,
		{Name: "b", Default: 2.0, Min: 1.5, Max: 1e6, Doc: "factor by which the share of candidates shrinks; from 1.5 " +
			"on, log_b k is at most the capacity k"},
		{Name: "decay", Default: "1", Doc: "fallbacks to LRU after which the share shrinks: a whole number, or k/32 for " +
			"the capacity divided by 32"},
		{Name: "marks", Default: marksExact, Choices: []string{marksExact, marksBitset}, Doc: "how evictions by " +
			"prediction in a phase are recorded: per object, or in 8192 bits by hash"},
		background.Batch,
		background.Latency,
	},
	Metrics:   []metric.Metric{numPhases, predictionEvictions, fallbackEvictions, lruEvictions, lambdaSum},
	Check:     check,
	Guarantee: guarantee,
	Game:      game,
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return newOnLeaves(c)
		}
		return newLARU(c)
	},
	InSets:         newInSets,
	DescribeInSets: describeInSets,
}

// Entries are the policies of this package.
var Entries = []policies.Entry{entry}

// guarantee is what LCR proves. Consistency needs predictions that are ready in time and exact marks; the sharper bound
// needs a confidence that shrinks at every fallback.
func guarantee(v policies.Values, capacity int) (g policies.Guarantee) {
	if !background.In(v) && v.Text("marks") == marksExact {
		g.Consistency = "1"
	}
	g.Robustness = "O(k)"
	if v.Text("decay") == "1" {
		k := float64(capacity)
		g.Robustness = policies.CompetitiveRatio("k+log_b k+2", k+math.Log(k)/math.Log(v.Float("b"))+2)
	}
	return g
}

// game is algorithm 1 of LCR with exact marks and predictions that are ready in time.
func game(v policies.Values, capacity int) (g policies.Game, ok bool) {
	settings, err := read(v, capacity)
	if err != nil || settings.bitset || background.In(v) {
		return g, false
	}
	c := settings.confidence
	for g.Every = c.decayEvery; ; c.shrink() {
		if g.Candidates = append(g.Candidates, c.candidates); c.candidates == 1 {
			return g, true
		}
	}
}

func check(v policies.Values) error {
	if err := background.Check(v); err != nil {
		return err
	}
	_, err := parseDecay(v.Text("decay"), 1)
	return err
}

// laru follows algorithm 1 of LCR. The set O of its pseudo-code is what recency calls old: objects resident since the
// phase began and not requested since. Its set E is the marks: objects that predictions have evicted in the phase. An
// object of E that is resident again needs no mark: only a prediction can evict it in this phase, and then it is marked
// again.
//
// Where entries answer similar queries, a missed query belongs to E if an entry of E would have answered it. Then a
// prediction caused the miss, even of a new query.
type laru struct {
	questions
	phases
	shared     *predict.Shared       // nil where each request is one to its own object alone
	background *background.Predictor // mode=async; nil otherwise
	recency    recency
	capacity   int
	figures    figures
}

func newLARU(c policies.Config) (*laru, error) {
	capacity := int(c.Capacity)
	settings, err := read(c.Params, capacity)
	if err != nil {
		return nil, err
	}
	p := &laru{
		questions: newQuestions(c), phases: settings.newPhases(), shared: predict.SharedBy(c.Predictor),
		recency: newRecency(c.Objects, capacity), capacity: capacity,
	}
	if p.background, err = background.New(c); err != nil {
		return nil, err
	}
	if p.background != nil {
		p.predictor, p.background.Learned = p.background, p.learn
	}
	return p, nil
}

func (p *laru) Hit(r policies.Request) {
	p.background.CatchUp(r.Pos)
	p.recency.remove(r.Object, 0)
	p.insert(r.Object, r.Pos)
}

func (p *laru) Miss(r policies.Request) { p.background.CatchUp(r.Pos) }

func (p *laru) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand {
		return p.giveUp(r.Pos)
	}
	return p.evict(r.Object, r.Pos)
}

func (p *laru) Insert(r policies.Request) {
	if r.Reason != policies.Demand {
		p.load(r.Object)
		return
	}
	p.insert(r.Object, r.Pos)
}

func (p *laru) Remove(o policies.Object) { p.recency.remove(o, 0) }

func (p *laru) Resize(capacity int64) {
	p.capacity = int(capacity)
	p.confidence.resize(p.capacity)
}

func (p *laru) Grow(objects int) {
	p.recency.grow(objects)
	p.kept.Grow(objects)
	if p.background != nil {
		p.background.Grow(objects)
	}
}

func (p *laru) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	r := &p.recency
	for k, o := range objects {
		pos := first + k
		p.background.CatchUp(pos)
		switch {
		case r.has(o):
			hits++
			r.remove(o, 0)
		case r.live == p.capacity:
			evictions++
			p.evict(o, pos)
		}
		p.insert(o, pos)
	}
	return hits, evictions
}

// insert makes o the most recently used object and reports the request.
func (p *laru) insert(o policies.Object, pos int) {
	p.load(o)
	p.predictor.Observe(o, pos)
}

// load makes o the most recently used object, whether it was requested or not.
func (p *laru) load(o policies.Object) {
	p.recency.push(o)
	if p.background != nil {
		// Every slot has what the worker last published, be it Never, so that latest finds nothing left to ask for.
		p.recency.learn(p.recency.end-1, p.background.Known(o))
		p.recency.known = p.recency.end
	}
}

// giveUp chooses and forgets an object when no request causes the eviction. It leaves no mark: only evictions that
// requests cause can show that a prediction was wrong.
func (p *laru) giveUp(pos int) (victim policies.Object) {
	if p.confidence.candidates == 1 {
		victim = p.recency.leastRecent()
	} else {
		victim = p.latest(pos)
	}
	p.recency.remove(victim, 0)
	return victim
}

// evict chooses and forgets an object to make room for o. A phase begins before o is looked up, so that a miss that
// begins one does not count against the predictor.
func (p *laru) evict(o policies.Object, pos int) (victim policies.Object) {
	if p.recency.old == 0 {
		p.recency.age()
		p.begin(&p.figures)
	}
	if p.followed(p.wrong(o, pos), p.confidence.candidates, &p.figures) {
		victim = p.latest(pos)
		p.recency.remove(victim, p.mark(victim))
	} else {
		victim = p.recency.leastRecent()
		p.recency.remove(victim, 0)
	}
	return victim
}

// wrong reports whether a prediction of this phase evicted what the request at pos misses.
func (p *laru) wrong(o policies.Object, pos int) bool {
	if p.marked(o, p.recency.place[o]) {
		return true
	}
	if p.shared == nil {
		return false
	}
	_, others := p.shared.Requested(pos)
	for _, other := range others {
		if p.marked(other, p.recency.place[other]) {
			return true
		}
	}
	return false
}

// learn stores a prediction made in the background.
func (p *laru) learn(o policies.Object, next float64) {
	if p.recency.has(o) {
		p.recency.relearn(o, next)
	}
}

// latest returns the candidate predicted to be requested last.
func (p *laru) latest(pos int) policies.Object {
	r := &p.recency
	r.reach(p.confidence.candidates)
	switch {
	case p.background != nil: // the background has already delivered what it knows
	case p.steady:
		p.learnNew(pos)
	case p.kept.Lasts():
		p.relearnVoid(pos)
		p.learnNew(pos)
		p.kept.Note(p.asked)
	default:
		p.ask(r.objects, r.appendSlots(p.slots[:0], r.first), pos)
		return p.asked[indexOfLatest(p.predicted)]
	}
	return r.latestBeforeBound()
}

// learnNew asks for predictions of the candidates that have none.
func (p *laru) learnNew(pos int) {
	r := &p.recency
	p.ask(r.objects, r.appendSlots(p.slots[:0], r.known), pos)
	for i, slot := range p.slots {
		r.learn(int(slot), p.predicted[i])
	}
	r.known = max(r.known, r.bound)
}

// relearnVoid asks again about objects whose predictions are no longer valid at the request at pos.
func (p *laru) relearnVoid(pos int) {
	r := &p.recency
	if p.kept.Renewed() {
		r.forget()
		return
	}
	p.slots = p.slots[:0]
	for _, o := range p.kept.Void(pos) {
		if slot := r.place[o] &^ resident; r.has(o) && int(slot) < r.known {
			p.slots = append(p.slots, slot)
		}
	}
	p.ask(r.objects, p.slots, pos)
	for i, o := range p.asked {
		r.relearn(o, p.predicted[i])
	}
	p.kept.Note(p.asked)
}

// indexOfLatest returns the index of the largest time; ties go to the first.
func indexOfLatest(next []float64) (latest int) {
	for i, at := range next {
		if at > next[latest] {
			latest = i
		}
	}
	return latest
}

func (p *laru) Counters() []policies.Counter { return p.figures.counters() }
