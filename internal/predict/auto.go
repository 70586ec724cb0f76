package predict

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/cachesim/cachesim/internal/params"
)

var autoEntry = Entry{
	Name: "auto",
	Summary: "ewma, popu or gbm, whichever has lately been best at telling which of some objects comes back last; " +
		"all three follow the trace",
	Source: "cachesim",
	Random: true,
	Params: []params.Param{
		{Name: "every", Default: 32, Min: 1, Max: 1 << 20, Doc: "requests from one trial of the predictors to the next"},
		{Name: "margin", Default: 0.03, Min: 0.0, Max: 1.0,
			Doc: "by how much the error of another predictor must be lower to be taken instead; errors are from 0 to 1"},
	},
	Time: func(_ params.Values, requests int64) time.Duration {
		return boostedTime(params.Defaults(gbmEntry.Params), requests) + time.Duration(requests)*time.Microsecond
	},
	New: func(c Config) (Predictor, error) { return newAuto(c) },
}

const (
	trialObjects = 8
	// trialAge is the largest age of the objects of a trial, and trialLength how long one lasts at most, in requests.
	trialAge, trialLength = 1 << 13, 1 << 12
	// fewestTrials must have ended before the first change, and trialMemory is about how many count.
	fewestTrials, trialMemory = 32, 128
)

// auto asks the predictor that has been best so far, gbm first. Every now and then there is a trial: some objects that were requested lately, their ages uniform
// in the logarithm, are put to all predictors. Each names the one that it would evict. Its error is the share of the others that are not
// requested before that one, within the length of a trial. Trials in which all name the same object say nothing and do not count.
//
// Its clock is that of gbm. Memory: that of the predictors, and 8 bytes per object.
type auto struct {
	entrants []entrant
	boosted  *boosted
	chosen   int
	changes  uint32
	last     []int32 // per object: position of its last request

	objects []Object // of the trace; looked at only up to what has been observed
	every   int
	margin  float64
	bits    *rand.Rand
	trials  trials
}

// entrant is a predictor on trial.
type entrant struct {
	Predictor
	name  string
	error float64
	asked int64 // requests during which it was the chosen one
}

func newAuto(c Config) (*auto, error) {
	own := c.Params
	c.Params = params.Defaults(gbmEntry.Params)
	b, err := newBoosted(c)
	if err != nil {
		return nil, err
	}
	return &auto{
		entrants: []entrant{{Predictor: newEWMA(c), name: "ewma"}, {Predictor: newPOPU(c), name: "popu"}, {Predictor: b, name: "gbm"}},
		boosted:  b, chosen: 2, last: make([]int32, c.Count), objects: c.Objects,
		every: own.Int("every"), margin: own.Float("margin"),
		bits: rand.New(rand.NewPCG(c.Seed, 0x6175746f)), trials: trials{of: make([]int32, c.Count)},
	}, nil
}

func (p *auto) Steady() bool { return false }

func (p *auto) Predict(objects []Object, pos int, next []float64) {
	p.entrants[p.chosen].Predict(objects, pos, next)
}

func (p *auto) Observe(o Object, pos int) {
	p.entrants[p.chosen].asked++
	now := p.Now(pos)
	for i := range p.entrants {
		if e := &p.entrants[i]; e.Predictor == Predictor(p.boosted) {
			e.Observe(o, pos)
		} else {
			e.Observe(o, now) // all tell the time by the clock of gbm
		}
	}
	p.last[o] = int32(pos)
	p.trials.observe(o, pos, p.judge)
	if pos%p.every == 0 && pos >= trialObjects {
		p.begin(pos)
	}
}

// begin puts some objects to all predictors, as of the request after pos.
func (p *auto) begin(pos int) {
	var t trial
	for range trialObjects {
		age := int(math.Exp(p.bits.Float64() * math.Log(float64(min(pos, trialAge)))))
		if o := p.objects[pos-age]; p.trials.of[o] == 0 && !t.has(o) {
			t.objects[t.count] = o
			t.count++
		}
	}
	if t.count < 2 {
		return
	}
	differ := false
	for i := range p.entrants {
		t.victims[i] = p.victim(p.entrants[i], t.objects[:t.count], pos+1)
		differ = differ || t.victims[i] != t.victims[0]
	}
	if differ {
		p.trials.begin(t, pos)
	}
}

// victim returns the index of the object that a predictor expects last; ties go to the least recently used.
func (p *auto) victim(e entrant, objects []Object, pos int) int8 {
	var next [trialObjects]float64
	e.Predict(objects, pos, next[:len(objects)])
	v := 0
	for i, o := range objects {
		if next[i] > next[v] || next[i] == next[v] && p.last[o] < p.last[objects[v]] {
			v = i
		}
	}
	return int8(v)
}

// judge takes what a trial has told, and changes to another predictor if that has become clearly better.
func (p *auto) judge(t *trial, ended int) {
	weight := 1 / float64(min(ended, trialMemory))
	best := 0
	for i := range p.entrants {
		e := &p.entrants[i]
		e.error += (t.error(t.victims[i]) - e.error) * weight
		if e.error < p.entrants[best].error {
			best = i
		}
	}
	if ended >= fewestTrials && p.entrants[best].error+p.margin < p.entrants[p.chosen].error {
		p.chosen = best
		p.changes++
	}
}

// Now implements Lasting.
func (p *auto) Now(pos int) int { return p.boosted.Now(pos) }

// Until implements Lasting.
func (p *auto) Until(o Object) int32 {
	if p.entrants[p.chosen].Predictor == Predictor(p.boosted) {
		return p.boosted.Until(o)
	}
	return Forever
}

// Generation implements Lasting: all predictions are void where another predictor is chosen, or gbm is and has a new model.
func (p *auto) Generation() uint32 {
	if p.entrants[p.chosen].Predictor == Predictor(p.boosted) {
		return p.changes<<16 + p.boosted.Generation() + 1
	}
	return p.changes << 16
}

// Training implements Learner.
func (p *auto) Training() Training { return p.boosted.Training() }

// Pick is for how many requests a predictor was asked that was picked among several.
type Pick struct {
	Name     string
	Requests int64
}

// Picks returns the predictors that p picks among with the requests of each, and how often it changed; none where it does not pick.
func Picks(p Predictor) (picks []Pick, changes int64) {
	a, ok := unwrapped(p).(*auto)
	if !ok {
		return nil, 0
	}
	for _, e := range a.entrants {
		picks = append(picks, Pick{e.name, e.asked})
	}
	return picks, int64(a.changes)
}

// trial is some objects of which each predictor has named one.
type trial struct {
	objects  [trialObjects]Object
	rank     [trialObjects]int8 // per object: how many were requested before it, 1 more; 0: it has not been requested
	victims  [3]int8            // per predictor
	count    int8               // of the objects
	returned int8
	begun    int
}

func (t *trial) has(o Object) bool {
	for _, other := range t.objects[:t.count] {
		if other == o {
			return true
		}
	}
	return false
}

// error returns the share of the other objects that were not requested before a victim; 0 if that was not requested at all.
func (t *trial) error(victim int8) float64 {
	if t.rank[victim] == 0 {
		return 0
	}
	return float64(t.count-t.rank[victim]) / float64(t.count-1)
}

// trials are those under way, in the order in which they began.
type trials struct {
	of    []int32 // per object: 1 plus the number of the trial that it is part of; 0: none
	open  []trial
	first int // number of open[0]
	ended int
}

func (ts *trials) begin(t trial, pos int) {
	t.begun = pos
	ts.open = append(ts.open, t)
	for _, o := range t.objects[:t.count] {
		ts.of[o] = int32(ts.first + len(ts.open))
	}
}

// observe notes a request, and ends the trials that have lasted long enough.
func (ts *trials) observe(o Object, pos int, judge func(t *trial, ended int)) {
	if n := ts.of[o]; n > 0 {
		t := &ts.open[int(n)-1-ts.first]
		ts.of[o] = 0
		t.returned++
		for i, other := range t.objects[:t.count] {
			if other == o {
				t.rank[i] = t.returned
			}
		}
	}
	for len(ts.open) > 0 && ts.open[0].begun+trialLength <= pos {
		ts.end(judge)
	}
}

func (ts *trials) end(judge func(t *trial, ended int)) {
	t := &ts.open[0]
	for _, o := range t.objects[:t.count] {
		ts.of[o] = 0
	}
	ts.ended++
	judge(t, ts.ended)
	ts.open = ts.open[1:]
	ts.first++
}
