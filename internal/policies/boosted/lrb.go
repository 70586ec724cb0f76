// Package boosted holds policies whose boosted trees learn while the cache runs, and which need no predictor: LRB
// learns when an object is requested next, GL-Cache what a group of objects is worth.
package boosted

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Entries are the policies of this package.
var Entries = []policies.Entry{entry, glCacheEntry, threeLEntry, lhrEntry}

// Values of the parameter objective.
const (
	byteHits   = "byte-hits"
	objectHits = "object-hits"
)

// autoWindow is the parameter window that is found out.
const autoWindow = "auto"

const (
	defaultReach      = 16.0
	defaultFirstBatch = 1 << 10
)

// longestWindow keeps the differences of times, and twice the window, within 32 bits.
const longestWindow = 1 << 30

var entry = policies.Entry{
	Name:   "lrb",
	Look:   policies.Look{Color: policies.Orange, Mark: policies.Cross},
	Memory: policies.Memory{Fixed: 3e7, PerObject: 204, PerSlot: 130},
	Summary: "evicts, of a random sample, the object that boosted trees, trained during the replay, expect to be " +
		"requested last",
	Source: "Song, Berger, Li, Lloyd, Learning relaxed Belady for content distribution network caching, NSDI 2020",
	Random: true,
	Params: slices.Concat([]policies.Param{
		{Name: "window", Default: "0", Doc: "memory window in requests, the assumed Belady boundary: what has not been " +
			"requested for so long is forgotten, and evicted first; 0: reach times the number of objects that fit; auto: " +
			"begins so, tries 4, 8, 16, 32 and 64 times that number in the first fifth of the trace, each in a cache of its " +
			"own, and continues with the best"},
		{Name: "reach", Default: defaultReach, Min: 1, Max: 1e6, Doc: "with window=0, the window as a multiple of the " +
			"number of objects that fit; with window=auto, the one it begins with"},
		{Name: "samples", Default: 64, Min: 1, Max: 1 << 16, Doc: "resident objects drawn per eviction, all different"},
		{Name: "batch", Default: 1 << 17, Min: 1, Max: 1 << 22, Doc: "labelled samples that a model is trained on, each " +
			"used once"},
		{Name: "first-batch", Default: defaultFirstBatch, Min: 1, Max: 1 << 22, Doc: "labelled samples of the first " +
			"model; each further model has twice as many, up to batch"},
		{Name: "deltas", Default: 32, Min: 1, Max: 64, Doc: "features: the age, and the times between the last requests"},
		{Name: "counters", Default: 10, Min: 0, Max: 16, Doc: "features: exponentially decayed counters; counter i halves " +
			"in 2^(9+i) requests"},
	}, treeParams(32), []policies.Param{
		{Name: "objective", Default: byteHits, Choices: []string{byteHits, objectHits}, Doc: "byte-hits: the latest " +
			"object leaves; object-hits: the one with the largest logarithm of the predicted time, times its size"},
	}),
	Check:   check,
	Metrics: metrics,
	New:     func(c policies.Config) (policies.Policy, error) { return newLRB(c) },
}

// check refuses a window that is none, and parameters that others leave without effect.
func check(v policies.Values) error {
	window, _, err := windowOf(v)
	reach := v.Float("reach")
	switch {
	case err != nil:
		return err
	case window > 0 && reach != defaultReach:
		return fmt.Errorf("reach=%v has no effect with window=%d; leave one of them out", reach, window)
	}
	return checkBatches(v)
}

// windowOf returns the parameter window: a number of requests, 0 if it follows the objects that fit, and whether it is
// to be found out.
func windowOf(v policies.Values) (requests int32, auto bool, err error) {
	text := v.Text("window")
	if text == autoWindow {
		return 0, true, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > longestWindow {
		return 0, false, fmt.Errorf("window=%s: want a whole number from 0 to %d, or %s", text, longestWindow, autoWindow)
	}
	return int32(n), false, nil
}

// lrb is Learning Relaxed Belady (Song, Berger, Li, Lloyd, NSDI 2020): of a random sample, it evicts the object that
// is expected last. It follows the paper and its authors' program. Its clock counts the requests that it sees, from
// 1. Once the cache is full, each request takes a sample of one tracked object, drawn at random. The sample gets its
// label when the object is requested again or leaves the memory window.
type lrb struct {
	now    int32
	window int32   // 0: not known yet
	reach  float64 // of the window over the objects that fit; 0: the window is a parameter

	// The objects with a history: the residents in front, and those that were requested within the memory window.
	tracked dense.Set
	flags   []flag
	last    []int32     // per tracked object: time of its last request
	recency dense.Lists // residents, last requested or loaded in front
	recent  dense.Lists // what was requested within the window, resident or not, last requested in front
	left    []int32     // per object: when a model last evicted it; 0: no model has, or it was requested since
	sizes   dense.Charges
	history histories
	waiting waiting

	learner  learner
	sampling bool
	draws    random.Draws
	chooser  chooser
	tally    tally
	trials   *trials // of other windows; nil: none, or they have ended
	chosen   float64 // the reach that trials have found best, 0 if they have not ended

	capacity int64
	unit     bool
}

// flag says what is known about a tracked object beside its history.
type flag uint8

const (
	resident flag = 1 << iota
	inWindow      // on the list recent
	unasked       // loaded, and never requested while tracked; its last request is the load
)

func newLRB(c policies.Config) (*lrb, error) {
	window, auto, err := windowOf(c.Params)
	if err != nil {
		return nil, err
	}
	if window > 0 {
		return newWithWindow(c, window)
	}
	p, err := newWithReach(c, c.Params.Float("reach"))
	if err == nil && auto {
		p.trials, err = newTrials(p, c)
	}
	return p, err
}

// newWithReach returns a policy whose window is a multiple of the number of objects that fit.
func newWithReach(c policies.Config, reach float64) (*lrb, error) {
	p, err := newWithWindow(c, 0)
	if err != nil {
		return nil, err
	}
	if p.reach = reach; c.Unit {
		p.setWindow(float64(c.Capacity))
	}
	return p, nil
}

func newWithWindow(c policies.Config, window int32) (*lrb, error) {
	v := c.Params
	l, err := newLearner(c, "lrb", featureNames(v.Int("deltas")-1, v.Int("counters")))
	if err != nil {
		return nil, err
	}
	return &lrb{
		window:  window,
		tracked: dense.NewSet(c.Objects),
		flags:   make([]flag, c.Objects),
		last:    make([]int32, c.Objects),
		recency: dense.NewLists(c.Objects, 1),
		recent:  dense.NewLists(c.Objects, 1),
		left:    make([]int32, c.Objects),
		sizes:   dense.NewCharges(c.Objects, c.Unit),
		history: newHistories(c.Objects, v.Int("deltas")-1, v.Int("counters")),
		waiting: newWaiting(c.Objects),
		learner: l,
		draws:   random.NewDraws(c.Seed),
		chooser: newChooser(v.Int("samples"), l.width(), c.Objects, v.Text("objective") == objectHits && !c.Unit),

		capacity: c.Capacity, unit: c.Unit,
	}, nil
}

// setWindow makes the window a multiple of the number of objects that fit.
func (p *lrb) setWindow(fit float64) {
	p.window = int32(min(max(math.Round(p.reach*fit), 1), longestWindow))
}

func (p *lrb) Hit(r policies.Request) {
	p.try(r, true)
	p.advance()
	p.request(r.Object)
	p.sample()
}

func (p *lrb) Miss(r policies.Request) {
	p.try(r, false)
	if r.Reason != policies.Demand {
		return
	}
	p.advance()
	if o := r.Object; p.tracked.Has(o) {
		p.request(o)
	}
	p.judge(r.Object)
	p.sample()
}

// advance counts a request, and forgets what leaves the window.
func (p *lrb) advance() {
	p.now++
	for p.window > 0 {
		o, ok := p.recent.Back(0)
		if !ok || p.now-p.last[o] < p.window {
			return
		}
		p.recent.Unlink(o)
		p.flags[o] &^= inWindow
		if p.flags[o]&resident == 0 {
			p.forget(o, 2*int64(p.window))
		}
	}
}

// request ends the wait of the samples of a tracked object, and enters a request into its history.
func (p *lrb) request(o policies.Object) {
	p.label(o, func(sampled int32) int64 { return int64(p.now - sampled) })
	if p.flags[o]&unasked == 0 {
		p.history.add(o, p.now-p.last[o])
	}
	p.flags[o] &^= unasked
	p.last[o] = p.now
	p.chooser.effects.drop(o)
	if p.flags[o]&inWindow != 0 {
		p.recent.MoveToFront(0, o)
	} else {
		p.recent.PushFront(0, o)
		p.flags[o] |= inWindow
	}
	if p.flags[o]&resident != 0 {
		p.recency.MoveToFront(0, o)
	}
}

// sample draws a tracked object, whose sample waits for its label from now on.
func (p *lrb) sample() {
	if n := len(p.tracked.All); p.sampling && n > 0 {
		p.waiting.add(p.tracked.All[p.draws.Below(uint64(n))], p.now)
		p.tally.samples++
	}
}

// label gives the waiting samples of an object their labels: the time to the next request, for each by the time of the
// sample.
func (p *lrb) label(o policies.Object, timeToNext func(sampled int32) int64) {
	for at := p.waiting.take(o); at != 0; {
		var sampled int32
		sampled, at = p.waiting.next(at)
		p.learner.add(p.describe(o, sampled, p.learner.row), timeToNext(sampled))
	}
}

// describe fills a row with the features of a tracked object as of a time since its last request.
func (p *lrb) describe(o policies.Object, at int32, row []float64) []float64 {
	p.history.fill(o, at-p.last[o], p.window, row)
	row[len(row)-1] = float64(p.sizes.Of(o))
	return row
}

// forget ends the tracking of an object that is not resident. Its samples learn that it was silent for so long.
func (p *lrb) forget(o policies.Object, silence int64) {
	p.label(o, func(int32) int64 { return silence })
	p.history.clear(o)
	p.tracked.Remove(o)
	p.flags[o] = 0
}

func (p *lrb) Victim(policies.Request) policies.Object {
	if p.window == 0 {
		p.setWindow(float64(p.tracked.Front))
	}
	p.sampling = true
	v := p.choose()
	if p.learner.model != nil {
		p.tally.decisions++
		p.left[v] = p.now
	}
	p.leave(v)
	return v
}

// choose returns the least recently used object before there is a model, and if that object has left the window.
// Otherwise it returns the one of a sample that is expected last.
func (p *lrb) choose() policies.Object {
	oldest, _ := p.recency.Back(0)
	if p.learner.model == nil {
		return oldest
	}
	if p.now-p.last[oldest] >= p.window {
		p.tally.candidates++
		p.tally.beyond++
		return oldest
	}
	return p.chooser.latest(p)
}

// judge counts a decision as bad if its object is requested again within the window.
func (p *lrb) judge(o policies.Object) {
	if p.left[o] != 0 && p.now-p.left[o] < p.window {
		p.tally.regrets++
	}
	p.left[o] = 0
}

func (p *lrb) Remove(o policies.Object) {
	p.leave(o)
	if p.trials != nil {
		p.trials.remove(o)
	}
}

// leave makes o, which is resident, one of the objects that are only remembered. Outside of the window it is forgotten.
func (p *lrb) leave(o policies.Object) {
	p.recency.Unlink(o)
	p.flags[o] &^= resident
	p.tracked.ToBack(o)
	p.chooser.effects.drop(o)
	if age := p.now - p.last[o]; p.flags[o]&inWindow == 0 {
		p.forget(o, int64(age)+int64(p.window))
	}
}

func (p *lrb) Insert(r policies.Request) {
	o := r.Object
	p.sizes.Set(o, r.Size)
	if !p.tracked.Has(o) {
		p.tracked.Add(o)
		p.last[o] = p.now
		p.recent.PushFront(0, o)
		p.flags[o] = inWindow
		if r.Reason != policies.Demand {
			p.flags[o] |= unasked
		}
	}
	p.left[o] = 0
	p.tracked.ToFront(o)
	p.flags[o] |= resident
	p.recency.PushFront(0, o)
}

// Resize changes the window along with the number of objects that fit.
func (p *lrb) Resize(capacity int64) {
	was := p.capacity
	p.capacity = capacity
	if p.trials != nil {
		p.trials.resize(capacity)
	}
	switch {
	case p.reach == 0 || p.window == 0:
	case p.unit:
		p.setWindow(float64(capacity))
	case capacity != was: // the mean size is as before
		p.setWindow(float64(p.window) / p.reach * (float64(capacity) / float64(was)))
	}
}

// Resized implements policies.SizeFollower. Trials have followed the write itself, which those may hold that miss here.
func (p *lrb) Resized(o policies.Object, size int64) {
	p.sizes.Set(o, size)
	p.chooser.effects.drop(o)
}

func (p *lrb) Grow(objects int) {
	p.tracked.Grow(objects)
	p.flags = dense.Grown(p.flags, objects)
	p.last = dense.Grown(p.last, objects)
	p.recency.Grow(objects)
	p.recent.Grow(objects)
	p.left = dense.Grown(p.left, objects)
	p.sizes.Grow(objects)
	p.history.grow(objects)
	p.waiting.grow(objects)
	p.chooser.effects.grow(objects)
	if p.trials != nil {
		p.trials.grow(objects)
	}
}
