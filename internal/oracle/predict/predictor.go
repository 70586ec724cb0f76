// Package predict answers when objects will be requested again: exactly, with noise of a stated kind, or from what has
// been seen so far. Policies that act on predictions (packages policies/laru and policies/learned) call a Predictor; it
// does not know its caller.
//
// The package is the contract alone: what predictors implement and policies call. The predictors are in package
// predictors, which registers them.
package predict

import (
	"math"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
)

// Object is the dense number of an object, as in package policies.
type Object = uint32

// Never is the prediction that an object is not requested again.
var Never = math.Inf(1)

// Predictor predicts when objects are requested next. Times are on a clock of its own, usually the position in the
// trace; only their order matters to the caller. Larger is later, Never is latest, and a time may be before now, even
// -Inf.
type Predictor interface {
	// Observe reports the request at position pos to object o, hit or miss. A policy calls it once for every request,
	// after the eviction that the request caused, so that features describe the past only; positions grow from call to
	// call.
	Observe(o Object, pos int)
	// Predict sets next[i] to the predicted time of the next request to objects[i], as of the request at position pos,
	// which is not yet observed. All of the objects have been observed before, except those that a cache has loaded
	// without a request: for those it predicts never, unless it knows better.
	Predict(objects []Object, pos int, next []float64)
	// Steady reports whether the prediction for an object stays the same from one of its requests to the next. Then the
	// caller may call Predict once after Observe and keep the result.
	Steady() bool
}

// Labeler is implemented by predictors that can also say whether the optimum would evict an object before its next
// request: the binary priority of LCR, section 2.2.
type Labeler interface {
	// Evict returns the predicted label of o as of its last observed request.
	Evict(o Object) bool
}

// Wrapper is implemented by predictors that pass on the predictions of another one.
type Wrapper interface {
	Unwrap() Predictor
}

// unwrapped returns the predictor whose predictions p passes on.
func unwrapped(p Predictor) Predictor {
	for {
		w, ok := p.(Wrapper)
		if !ok {
			return p
		}
		p = w.Unwrap()
	}
}

// LabelerOf returns p, or the predictor that it wraps, as a Labeler; false if neither is one.
func LabelerOf(p Predictor) (Labeler, bool) {
	p = unwrapped(p)
	if r, ok := p.(*renumbered); ok && r.labeler == nil {
		return nil, false
	}
	l, ok := p.(Labeler)
	return l, ok
}

// Grouped is implemented by predictors that may count groups of requests, such as prompts, instead of requests.
type Grouped interface {
	// CountsGroups reports whether the times that it predicts are numbers of finished groups.
	CountsGroups() bool
}

// CountsGroups reports whether p, or the predictor that it wraps, counts finished groups. All others predict positions.
func CountsGroups(p Predictor) bool {
	g, ok := unwrapped(p).(Grouped)
	return ok && g.CountsGroups()
}

// Reporter is implemented by predictors that report metrics besides their cost.
type Reporter interface {
	Report() metric.Values
}

// Report returns what p, or the predictor that it wraps, reports; nothing if it reports nothing.
func Report(p Predictor) (v metric.Values) {
	if r, ok := unwrapped(p).(Reporter); ok {
		return r.Report()
	}
	return v
}

// Config is what a predictor is built from. Slices belong to the trace and must not be changed.
type Config struct {
	Objects []Object // per request; only predictors that know the future may read past what they have observed
	Count   int      // distinct objects; every Object is below it
	// Requests is the approximate number of requests, if Objects are not known; 0: the length of Objects.
	Requests int
	// NextUse gives, for each position, the position of the next request to the same object, or policies.Never. Only
	// entries that know the future get it; it is nil for all others.
	NextUse []uint32
	// OptEvicts gives, for each position, whether the requested object is gone when it is requested next, in the optimum
	// of the cell; where it is not requested again, true. It is set where NextUse is and the cache is the exact one, with
	// a capacity in objects.
	OptEvicts func() []bool
	// Groups are the positions at which requests that come together begin: the blocks of a prompt, the keys of a batch.
	// Nil: each request is a group.
	Groups []int
	Times  []int64 // nanoseconds per request; nil without a clock
	// Depth is how much there is from the beginning of a chain to the end of an object, per object: tokens of a prompt.
	// Nil if the objects of a group do not continue each other.
	Depth []int32
	// Similar is set in caches where an entry also answers queries similar to its own: the next request to an object is
	// the next one that its entry would answer. Objects are set, too, then. Nil elsewhere.
	Similar *Similar
	Seed    uint64        // the only source of randomness
	Params  params.Values // every parameter of the Entry
}

// Learner is implemented by predictors that train models while they observe.
type Learner interface {
	// Training returns what training has cost so far.
	Training() Training
}

// Training is what training has cost.
type Training struct {
	Models  int64         // that were trained
	Work    int64         // rows times features times trees, over all of them: the same on every machine
	Elapsed time.Duration // on this machine
}

// Plus returns the sum of two costs.
func (t Training) Plus(other Training) Training {
	return Training{t.Models + other.Models, t.Work + other.Work, t.Elapsed + other.Elapsed}
}

// minus returns what t is above an earlier cost.
func (t Training) minus(earlier Training) Training {
	return Training{t.Models - earlier.Models, t.Work - earlier.Work, t.Elapsed - earlier.Elapsed}
}

// Metrics of policies that use a predictor.
var (
	CallsMetric = metric.Metric{Name: "predictor_calls", Unit: metric.Count, Better: metric.Lower,
		Doc: "calls of the predictor"}
	PredictionsMetric = metric.Metric{Name: "predictions", Unit: metric.Count, Better: metric.Lower,
		Column: metric.Column{At: 50, Weight: 10}, Doc: "predictions for an object, over all calls"}
	NsMetric = metric.Metric{Name: "prediction_ns_per_request", Unit: metric.Nanoseconds, Digits: 1, Better: metric.Lower,
		OfMachine: true, Merge: metric.MeanBy(metric.Requests),
		Doc: "the part of ns_per_request spent on predictions and training; absent in experiments"}
)

// Metrics of predictors that learn during the replay.
var (
	TrainingsMetric = metric.Metric{Name: "trainings", Unit: metric.Count, Doc: "models trained during the replay"}
	WorkMetric      = metric.Metric{Name: "training_work", Unit: metric.Count, Better: metric.Lower,
		Doc: "rows times features times trees, over all models trained; the same on every machine"}
)

// Cost is what predictions have cost.
type Cost struct {
	Calls       int64         // of Predict
	Predictions int64         // objects predicted
	Elapsed     time.Duration // of the calls and of training
	Training    Training
}

func (c Cost) Plus(other Cost) Cost {
	return Cost{c.Calls + other.Calls, c.Predictions + other.Predictions, c.Elapsed + other.Elapsed,
		c.Training.Plus(other.Training)}
}

// Values returns the cost as metrics, without the time, which is known per request only where all of them are.
func (c Cost) Values() (v metric.Values) {
	v.SetInt(CallsMetric, c.Calls)
	v.SetInt(PredictionsMetric, c.Predictions)
	if c.Training.Models > 0 {
		v.SetInt(TrainingsMetric, c.Training.Models)
		v.SetInt(WorkMetric, c.Training.Work)
	}
	return v
}

// Minus returns what c is above an earlier cost.
func (c Cost) Minus(earlier Cost) Cost {
	return Cost{c.Calls - earlier.Calls, c.Predictions - earlier.Predictions, c.Elapsed - earlier.Elapsed,
		c.Training.minus(earlier.Training)}
}

// Worker makes predictions in the background, a batch of them at a time, on the clock of a model, and says when the
// predictions of the last batch are known. A cache whose policy predicts in the background uses it instead of counting
// requests. It is an interface because this room imports no clock.
type Worker interface {
	// Busy reports whether the predictions of the last batch are still to come.
	Busy() bool
	// Start has the worker, which must not be busy, predict a number of objects.
	Start(objects int)
}

// Counted counts what the predictions of a Predictor cost. It implements Wrapper.
type Counted struct {
	Predictor
	cost  Cost
	timed int64 // calls whose time was taken
	spent time.Duration
}

// timedEvery is how many calls of a predictor share one reading of the clock, which costs as much as a short call.
const timedEvery = 64

func (c *Counted) Predict(objects []Object, pos int, next []float64) {
	c.cost.Predictions += int64(len(objects))
	if c.cost.Calls++; c.cost.Calls%timedEvery != 0 {
		c.Predictor.Predict(objects, pos, next)
		return
	}
	start := time.Now()
	c.Predictor.Predict(objects, pos, next)
	c.timed, c.spent = c.timed+1, c.spent+time.Since(start)
}

func (c *Counted) Unwrap() Predictor { return c.Predictor }

// Cost returns what predictions have cost so far, with the training of models: nothing where c is nil. The time of the
// calls of Predict is estimated from one in 64.
func (c *Counted) Cost() Cost {
	if c == nil {
		return Cost{}
	}
	cost := c.cost
	if c.timed > 0 {
		cost.Elapsed = time.Duration(float64(c.spent) * float64(cost.Calls) / float64(c.timed))
	}
	if l, ok := c.Predictor.(Learner); ok {
		cost.Training = l.Training()
		cost.Elapsed += cost.Training.Elapsed
	}
	return cost
}
