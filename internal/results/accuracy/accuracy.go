// Package accuracy measures how well predictors predict when objects are requested again, at moments as they arise in a
// cache. It compares the predictions with the trace, by the distance of the next request, and with what the optimum
// evicts.
package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/ontrace"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Options say when a predictor is tested.
type Options struct {
	Capacity int64 // objects of the cache whose contents are predicted
	Moments  int   // requests, evenly spaced, at which they are predicted
	Warmup   int   // requests before the first of them
	Seed     uint64
	Progress func(requests int) // called now and then with requests since the last call; may be nil
}

// questionsPerMoment is how many of the predicted objects count for the figures by distance. All of the thousands in a
// cache would add little, as most are the same from one moment to the next.
const questionsPerMoment = 50

// Result is what was measured. Times are on the clock of the predictor: requests, or finished groups (see Clock).
// Figures that do not exist are nil.
type Result struct {
	Trace     string `json:"trace"`
	Predictor string `json:"predictor"`
	Seed      uint64 `json:"seed"`
	Capacity  int64  `json:"capacity"` // objects
	Clock     string `json:"clock"`    // what it counts: requests, or groups such as prompts
	Moments   int    `json:"moments"`
	Questions int    `json:"questions"` // objects drawn at the moments, for all but the next two figures

	// Agreement is how often the resident of an LRU cache that is predicted last is one that the optimum evicts before its
	// next request. Chance is the share of such objects in the cache.
	Agreement float64 `json:"agreement"`
	Chance    float64 `json:"chance"`
	// SaidNever are the questions answered with a time at or after the end of the trace; NeverRight is the share of them
	// for which that is right.
	SaidNever  int      `json:"said_never"`
	NeverRight *float64 `json:"never_right"`

	All         Horizon   `json:"all"`
	Horizons    []Horizon `json:"horizons"` // by the true distance of the next request
	Calibration []Decile  `json:"calibration"`

	PredictionNs float64 `json:"prediction_ns"` // per predicted object, without training
	Trainings    int64   `json:"trainings"`
}

// Horizon is how good the answers are where the next request is between two distances away.
type Horizon struct {
	From      float64 `json:"from"` // requests
	To        float64 `json:"to"`   // requests, excluded; 0: no limit
	Never     bool    `json:"never"`
	Questions int     `json:"questions"`
	Median    float64 `json:"median"` // predicted time from now; the end of the trace for times after it
	// Spearman is the rank correlation of predicted and true times; never is latest.
	Spearman *float64 `json:"spearman"`
	// RMSE is the root of the mean squared error of log(1 + time from now), where both times are within the trace.
	RMSE      *float64 `json:"rmse_log"`
	SaidNever float64  `json:"said_never"` // share
}

// Decile is a tenth of the questions, by predicted time from now. Times after the end of the trace count as the end.
type Decile struct {
	Predicted float64 `json:"predicted"` // median
	Low       float64 `json:"low"`       // tenth percentile of the true times
	True      float64 `json:"true"`      // median
	High      float64 `json:"high"`      // ninetieth percentile
}

// answer is a question with the predicted and the true answer, as times from now.
type answer struct {
	predicted, true float64 // on the predictor's clock; Inf: never within the trace
	rest            float64 // until the end of the trace
	distance        float64 // true, in requests
}

// Measure replays t once and tests the predictor on the way. It fails where the cache does not fill up before the end,
// and with ctx's error as soon as ctx ends.
func Measure(ctx context.Context, t *traces.Trace, spec predict.Spec, o Options) (*Result, error) {
	return parallel.Await(ctx, func() (*Result, error) { return compare(ctx, t, spec, o) })
}

func compare(ctx context.Context, t *traces.Trace, spec predict.Spec, o Options) (*Result, error) {
	if n := len(t.Objects); max(o.Warmup, filled(t, o.Capacity)) >= n {
		return nil, fmt.Errorf("%s: after a warm-up of %d requests, and with a full cache of %d objects, none of its %d "+
			"requests is left to measure at", t.Name, o.Warmup, o.Capacity, n)
	}
	nextUse := t.NextUses()
	evicts := policies.OptEvicts(t.Objects, t.NumObjects, nextUse, o.Capacity)
	p, err := ontrace.New(spec, t, o.Seed, func() []uint32 { return nextUse }, func() []bool { return evicts })
	if err != nil {
		return nil, err
	}
	m := &measurement{
		options: o, trace: t, nextUse: nextUse, evicts: evicts, predictor: p, clock: newClock(t, p),
		last: make([]int, t.NumObjects), bits: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	if err := m.replay(ctx); err != nil {
		return nil, err
	}
	return m.result(spec), nil
}

type measurement struct {
	options   Options
	trace     *traces.Trace
	nextUse   []uint32
	evicts    []bool
	predictor *predict.Counted
	clock     clock
	last      []int // per object: position of its last request, or gone
	bits      *rand.Rand

	held []predict.Object // what LRU holds, least recently used first
	next []float64

	moments, agreed, evictable, candidates int
	answers                                []answer
}

func (m *measurement) replay(ctx context.Context) error {
	n := len(m.trace.Objects)
	first := max(m.options.Warmup, filled(m.trace, m.options.Capacity))
	stride := max(1, (n-first)/m.options.Moments)
	removals := m.trace.Removals
	for pos, o := range m.trace.Objects {
		for len(removals) > 0 && int(removals[0].Before) == pos {
			m.last[removals[0].Object] = gone
			removals = removals[1:]
		}
		if pos >= first && (pos-first)%stride == 0 && m.moments < m.options.Moments {
			m.ask(pos)
		}
		m.predictor.Observe(o, pos)
		m.last[o] = pos
		if (pos+1)%progressEvery != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.options.Progress != nil {
			m.options.Progress(progressEvery)
		}
	}
	return nil
}

const progressEvery = 4096

// gone is the last request of an object that is not in the cache any more.
const gone = -1

// filled returns the number of requests after which a cache is full, or all if it never is.
func filled(t *traces.Trace, capacity int64) int {
	for pos, o := range t.Objects {
		if int64(o)+1 == capacity { // objects are numbered in order of first appearance
			return pos + 1
		}
	}
	return len(t.Objects)
}

// ask has the predictor predict what LRU holds before the request at pos: the most recently requested objects. No cache
// is needed to find them, backwards from pos, as each counts at its last request only.
func (m *measurement) ask(pos int) {
	m.held = m.held[:0]
	for at := pos - 1; at >= 0 && int64(len(m.held)) < m.options.Capacity; at-- {
		if o := m.trace.Objects[at]; m.last[o] == at {
			m.held = append(m.held, o)
		}
	}
	if len(m.held) == 0 {
		return // all objects were removed
	}
	slices.Reverse(m.held)
	m.next = slices.Grow(m.next[:0], len(m.held))[:len(m.held)]
	m.predictor.Predict(m.held, pos, m.next)
	victim := 0
	for i, o := range m.held {
		if m.next[i] > m.next[victim] {
			victim = i
		}
		if m.evicts[m.last[o]] {
			m.evictable++
		}
	}
	m.candidates += len(m.held)
	if m.evicts[m.last[m.held[victim]]] {
		m.agreed++
	}
	m.moments++
	for range questionsPerMoment {
		i := m.bits.IntN(len(m.held))
		m.answers = append(m.answers, m.answer(m.held[i], m.next[i], pos))
	}
}

// answer compares the prediction for o at pos with the truth.
func (m *measurement) answer(o predict.Object, next float64, pos int) answer {
	now, end := m.clock.at(pos), m.clock.at(m.clock.end)
	a := answer{predicted: max(0, next-now), true: math.Inf(1), distance: math.Inf(1), rest: end - now}
	if a.predicted >= a.rest {
		a.predicted = math.Inf(1)
	}
	if use := m.nextUse[m.last[o]]; use != oracle.Never {
		a.true, a.distance = m.clock.at(int(use))-now, float64(int(use)-pos)
	}
	return a
}

func (m *measurement) result(spec predict.Spec) *Result {
	cost := m.predictor.Cost()
	r := &Result{
		Trace:        m.trace.Name,
		Predictor:    spec.String(),
		Seed:         m.options.Seed,
		Capacity:     m.options.Capacity,
		Clock:        m.clock.name,
		Moments:      m.moments,
		Questions:    len(m.answers),
		Agreement:    float64(m.agreed) / float64(m.moments),
		Chance:       float64(m.evictable) / float64(m.candidates),
		All:          horizonOf(m.answers),
		Calibration:  calibration(m.answers),
		PredictionNs: float64((cost.Elapsed - cost.Training.Elapsed).Nanoseconds()) / float64(cost.Predictions),
		Trainings:    cost.Training.Models,
	}
	right := 0
	for _, a := range m.answers {
		if math.IsInf(a.predicted, 1) {
			r.SaidNever++
			if math.IsInf(a.true, 1) {
				right++
			}
		}
	}
	if r.SaidNever > 0 {
		r.NeverRight = new(float64(right) / float64(r.SaidNever))
	}
	r.Horizons = horizons(m.answers)
	return r
}

// horizons measures the answers by powers of ten of the true distance, those without a next request last.
func horizons(answers []answer) (horizons []Horizon) {
	add := func(h Horizon, within func(distance float64) bool) {
		part := slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return !within(a.distance) })
		if len(part) == 0 {
			return
		}
		measured := horizonOf(part)
		measured.From, measured.To, measured.Never = h.From, h.To, h.Never
		horizons = append(horizons, measured)
	}
	farthest := 0.0
	for _, a := range answers {
		if !math.IsInf(a.distance, 1) {
			farthest = max(farthest, a.distance)
		}
	}
	for from, to := 0.0, 10.0; from <= farthest; from, to = to, 10*to {
		add(Horizon{From: from, To: to}, func(distance float64) bool { return from <= distance && distance < to })
	}
	add(Horizon{Never: true}, func(distance float64) bool { return math.IsInf(distance, 1) })
	return horizons
}

func horizonOf(answers []answer) Horizon {
	h := Horizon{Questions: len(answers)}
	var predicted, truth, clamped []float64
	var sum float64
	finite := 0
	for _, a := range answers {
		predicted, truth = append(predicted, a.predicted), append(truth, a.true)
		clamped = append(clamped, min(a.predicted, a.rest))
		if math.IsInf(a.predicted, 1) {
			h.SaidNever++
			continue
		}
		if !math.IsInf(a.true, 1) {
			e := math.Log1p(a.predicted) - math.Log1p(a.true)
			sum += float64(e * e)
			finite++
		}
	}
	h.SaidNever /= float64(len(answers))
	slices.Sort(clamped)
	h.Median = statistics.Quantile(0.5, clamped)
	if finite > 0 {
		h.RMSE = new(math.Sqrt(sum / float64(finite)))
	}
	if rho := statistics.Correlation(ranks(predicted), ranks(truth)); !math.IsNaN(rho) {
		h.Spearman = new(rho)
	}
	return h
}

// ranks returns the rank of each value. Ties share the mean of their ranks.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for first := 0; first < len(order); {
		end := first + 1
		for end < len(order) && values[order[end]] == values[order[first]] {
			end++
		}
		for _, i := range order[first:end] {
			ranks[i] = float64(first+end-1) / 2
		}
		first = end
	}
	return ranks
}

func calibration(answers []answer) (deciles []Decile) {
	const tenths = 10
	sorted := slices.Clone(answers)
	predicted := func(a answer) float64 { return min(a.predicted, a.rest) }
	slices.SortStableFunc(sorted, func(a, b answer) int { return cmp.Compare(predicted(a), predicted(b)) })
	for d := range tenths {
		part := sorted[d*len(sorted)/tenths : (d+1)*len(sorted)/tenths]
		if len(part) == 0 {
			continue
		}
		var truth []float64
		for _, a := range part {
			truth = append(truth, min(a.true, a.rest))
		}
		slices.Sort(truth)
		quantile := func(p float64) float64 { return statistics.Quantile(p, truth) }
		deciles = append(deciles, Decile{Predicted: predicted(part[len(part)/2]), Low: quantile(0.1), True: quantile(0.5),
			High: quantile(0.9)})
	}
	return deciles
}

type clock struct {
	groups []int  // positions at which they begin, if it counts those that have finished; nil where it counts requests
	name   string // what it counts
	end    int    // position after the last request
}

func newClock(t *traces.Trace, p *predict.Counted) clock {
	c := clock{name: "requests", end: len(t.Objects)}
	if chained, ok := t.Kind.(stream.Chained); ok && predict.CountsGroups(p) {
		c.groups, c.name = t.Groups, chained.Groups()
	}
	return c
}

// at returns the time of the request at pos, or of the end of the trace.
func (c clock) at(pos int) float64 {
	switch {
	case c.groups == nil:
		return float64(pos)
	case pos == c.end:
		return float64(len(c.groups))
	}
	begun, _ := slices.BinarySearch(c.groups, pos+1) // groups that begin at pos or before
	return float64(begun - 1)
}
