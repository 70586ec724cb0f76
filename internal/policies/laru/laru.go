// Package laru holds LARU, the learning-augmented LRU of LCR: it evicts what a predictor says is needed last, and looks
// at ever fewer of the least recently used objects the more often that turns out wrong. With exact predictions it
// misses as often as the optimum, with any others it stays within a factor of the order of the capacity (LCR, arXiv
// 2509.20979, section 3 and appendices C to E).
package laru

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

// Choices of parameters.
const (
	modeSync    = "sync"
	modeAsync   = "async"
	marksExact  = "exact"
	marksBitset = "bitset"
)

var entry = policies.Entry{
	Name:   "laru",
	Memory: policies.Memory{PerObject: 16, PerSlot: 44},
	Summary: "evicts the object predicted to be requested last among the least recently used ones, whose number shrinks " +
		"whenever an object so evicted " +
		"comes back too soon; then the least recently used object leaves",
	Source:   "LCR (arXiv 2509.20979), algorithm 1",
	Units:    policies.UnitsObjects,
	Predicts: true,
	Holds:    true,
	Params: []policies.Param{
		{Name: "mode", Default: modeSync, Choices: []string{modeSync, modeAsync}, Doc: "sync: predictions are made when an " +
			"object is to leave ; " +
			"async: those of a batch of requests when the next batch comes, and an object without one leaves first"},
		{Name: "b", Default: 2.0, Min: 1.5, Max: 1e6, Doc: "factor by which the share of candidates shrinks; log_b k is at " +
			"most the capacity k from 1.5 on"},
		{Name: "decay", Default: "1", Doc: "fallbacks to LRU after which it shrinks: a whole number, or k/32 for the " +
			"capacity divided by 32"},
		{Name: "marks", Default: marksExact, Choices: []string{marksExact, marksBitset}, Doc: "what was evicted by " +
			"prediction in a phase is noted " +
			"per object, or in 8192 bits by hash"},
		{Name: "batch", Default: 0, Min: 0, Max: 1e9, Doc: "requests per batch in mode async; 0: the groups of the trace, " +
			"or each request alone where it has none"},
		{Name: "latency", Default: 0, Min: 0, Max: 1e9, Doc: "requests after the end of a batch until its predictions are " +
			"known in mode async; " +
			"batches that end meanwhile are not predicted"},
	},
	Metrics: Metrics(),
	Check:   check,
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return newOnLeaves(c)
		}
		return newLARU(c)
	},
}

func init() { policies.Register(entry) }

func check(v policies.Values) error {
	if v.Text("mode") == modeSync && (v.Int("batch") != 0 || v.Int("latency") != 0) {
		return fmt.Errorf("batch and latency say nothing of mode=%s; leave them out, or write mode=%s", modeSync, modeAsync)
	}
	_, err := parseDecay(v.Text("decay"), 1)
	return err
}

// laru follows algorithm 1 of LCR. The set O of its pseudo-code, what has been resident since the phase began and was
// not requested since, is what recency calls old; its set E, what predictions have evicted in the phase, are the marks.
// An object of E that is resident again needs no mark: only a prediction can evict it in this phase, and then it is
// marked anew.
type laru struct {
	predictor  predict.Predictor
	steady     bool
	kept       predict.Kept // where the predictor is not steady
	background *background  // mode=async; nil otherwise
	recency    recency
	capacity   int
	confidence Confidence

	phase  uint32     // the mark of objects evicted by prediction
	bitset *MarkedSet // marks=bitset; nil otherwise

	slots     []uint32 // of candidates whose predictions are asked for
	asked     []policies.Object
	predicted []float64

	figures Figures
}

func newLARU(c policies.Config) (*laru, error) {
	capacity := int(c.Capacity)
	settings, err := Read(c.Params, capacity)
	if err != nil {
		return nil, err
	}
	p := &laru{
		predictor: c.Predictor, steady: c.Predictor.Steady(), kept: predict.NewKept(c.Predictor, c.Objects),
		recency: newRecency(c.Objects, capacity), capacity: capacity, confidence: settings.Confidence,
	}
	if settings.Bitset {
		p.bitset = &MarkedSet{}
	}
	if settings.Async {
		p.background = newBackground(c)
	}
	return p, nil
}

func (p *laru) Hit(r policies.Request) {
	p.begin(r.Pos)
	p.recency.remove(r.Object, 0)
	p.insert(r.Object, r.Pos)
}

func (p *laru) Miss(r policies.Request) { p.begin(r.Pos) }

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

func (p *laru) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	r := &p.recency
	for k, o := range objects {
		pos := first + k
		p.begin(pos)
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

// begin lets the background work before the request at pos.
func (p *laru) begin(pos int) {
	if p.background != nil && pos >= p.background.due {
		p.background.work(p, pos)
	}
}

// insert makes o the most recently used and reports the request.
func (p *laru) insert(o policies.Object, pos int) {
	p.load(o)
	p.predictor.Observe(o, pos)
	if p.background != nil {
		p.background.Request(o)
	}
}

// load makes o, which need not have been requested, the most recently used.
func (p *laru) load(o policies.Object) {
	p.recency.push(o)
	if p.background != nil {
		p.recency.learn(p.recency.end-1, p.background.known[o])
		p.recency.known = p.recency.end
	}
}

// giveUp chooses and forgets an object that no request pushes out. It leaves no mark: whether the prediction was wrong
// shows only in what requests push out.
func (p *laru) giveUp(pos int) (victim policies.Object) {
	if p.confidence.Candidates() == 1 {
		victim = p.recency.leastRecent()
	} else {
		victim = p.latest(pos)
	}
	p.recency.remove(victim, 0)
	return victim
}

// evict chooses and forgets an object to make room for o. A phase begins before o is looked up, so that no miss that
// begins one is held against the predictor.
func (p *laru) evict(o policies.Object, pos int) (victim policies.Object) {
	if p.recency.old == 0 {
		p.beginPhase()
	}
	p.figures.Lambda += p.confidence.Lambda()
	switch {
	case p.marked(o):
		victim = p.recency.leastRecent()
		p.recency.remove(victim, 0)
		p.figures.Fallbacks++
		p.confidence.Lose()
	case p.confidence.Candidates() == 1:
		victim = p.recency.leastRecent()
		p.recency.remove(victim, 0)
		p.figures.ByRecency++
	default:
		victim = p.latest(pos)
		p.recency.remove(victim, p.mark(victim))
		p.figures.ByPrediction++
	}
	return victim
}

// learn takes a prediction that the background has made.
func (p *laru) learn(o policies.Object, next float64) {
	if p.recency.has(o) {
		p.recency.relearn(o, next)
	}
}

func (p *laru) beginPhase() {
	p.recency.age()
	p.confidence.Restore()
	p.phase++
	if p.bitset != nil {
		*p.bitset = MarkedSet{}
	}
	p.figures.Phases++
}

// marked reports whether o, which is not resident, was evicted by prediction in this phase.
func (p *laru) marked(o policies.Object) bool {
	if p.bitset != nil {
		return p.bitset.Has(o)
	}
	return p.recency.place[o] == p.phase
}

// mark returns what to leave in the place of an object that is evicted by prediction.
func (p *laru) mark(o policies.Object) uint32 {
	if p.bitset != nil {
		p.bitset.Add(o)
		return 0
	}
	return p.phase
}

// latest returns the candidate that is predicted to be requested last.
func (p *laru) latest(pos int) policies.Object {
	r := &p.recency
	r.reach(p.confidence.Candidates())
	switch {
	case p.background != nil: // all that is to be known is known
	case p.steady:
		p.learnNew(pos)
	case p.kept.Lasts():
		p.relearnVoid(pos)
		p.learnNew(pos)
		p.kept.Note(p.asked)
	default:
		p.ask(r.appendSlots(p.slots[:0], r.first), pos)
		return p.asked[indexOfLatest(p.predicted)]
	}
	return r.latestBeforeBound()
}

// learnNew asks about the candidates of which no prediction is known.
func (p *laru) learnNew(pos int) {
	r := &p.recency
	p.ask(r.appendSlots(p.slots[:0], r.known), pos)
	for i, slot := range p.slots {
		r.learn(int(slot), p.predicted[i])
	}
	r.known = max(r.known, r.bound)
}

// relearnVoid asks again about the objects whose predictions were known and are void as of the request at pos.
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
	p.ask(p.slots, pos)
	for i, o := range p.asked {
		r.relearn(o, p.predicted[i])
	}
	p.kept.Note(p.asked)
}

// ask predicts the objects in some slots, in one batch.
func (p *laru) ask(slots []uint32, pos int) {
	p.slots, p.asked, p.predicted = slots, p.asked[:0], p.predicted[:0]
	for _, slot := range slots {
		p.asked, p.predicted = append(p.asked, p.recency.objects[slot]), append(p.predicted, 0)
	}
	if len(p.asked) > 0 {
		p.predictor.Predict(p.asked, pos, p.predicted)
	}
}

// indexOfLatest returns the index of the largest time, the first of equal ones.
func indexOfLatest(next []float64) (latest int) {
	for i, at := range next {
		if at > next[latest] {
			latest = i
		}
	}
	return latest
}

// Counters implements policies.Reporter.
func (p *laru) Counters() []policies.Counter { return p.figures.Counters() }
