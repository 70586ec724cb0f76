package accuracy

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/traces"
)

// alternating returns requests to 0, 1, ..., often-1 in turn, each followed by one to an object that comes once.
func alternating(often, requests int) *traces.Trace {
	t := &traces.Trace{Name: "alternating", SampleRate: 1}
	number := map[int]uint32{}
	for pos := range requests {
		key := -pos
		if pos%2 == 0 {
			key = pos/2%often + 1
		}
		if _, ok := number[key]; !ok {
			number[key] = uint32(len(number))
		}
		t.Objects = append(t.Objects, number[key])
	}
	t.NumObjects = len(number)
	return t
}

func measure(t *testing.T, tr *traces.Trace, predictor string, o Options) *Result {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(predictor))(t)
	return must.Get(Measure(t.Context(), tr, spec, o))(t)
}

func TestOracleIsRightAboutEverything(t *testing.T) {
	r := measure(t, alternating(10, 4000), "oracle", Options{Capacity: 20, Moments: 100, Warmup: 100})
	if r.Agreement != 1 || *r.All.Spearman < 1-1e-9 || *r.All.RMSE != 0 || *r.NeverRight != 1 {
		t.Errorf("agreement %v, rank correlation %v, RMSE %v, never right %v: want 1, 1, 0, 1", r.Agreement,
			*r.All.Spearman, *r.All.RMSE, *r.NeverRight)
	}
	// Half of LRU's residents were requested once, and exactly these leave the optimum's cache: the 10 that are
	// requested again fit.
	if r.Chance != 0.5 || r.Moments != 100 || r.Questions != 100*questionsPerMoment {
		t.Errorf("chance %v in %d moments, %d questions: want 0.5, 100, %d", r.Chance, r.Moments, r.Questions,
			100*questionsPerMoment)
	}
	for _, d := range r.Calibration {
		if d.Predicted < d.Low || d.Predicted > d.High {
			t.Errorf("decile %+v: the prediction is outside of the true times", d)
		}
	}
}

func TestReversedTimesAreWrongAboutEverything(t *testing.T) {
	r := measure(t, alternating(10, 4000), "noisy(p=1)", Options{Capacity: 20, Moments: 100, Warmup: 100})
	if r.Agreement != 0 {
		t.Errorf("agreement %v: what is requested soonest is never what the optimum evicts", r.Agreement)
	}
	if r.SaidNever != 0 || r.NeverRight != nil {
		t.Errorf("%d answers are never, of which %v are right: want none", r.SaidNever, r.NeverRight)
	}
}

func TestHorizonsHoldEachQuestionOnce(t *testing.T) {
	r := measure(t, alternating(30, 4000), "ewma", Options{Capacity: 100, Moments: 50, Warmup: 100, Seed: 3})
	sum := 0
	for _, h := range r.Horizons {
		sum += h.Questions
	}
	if sum != r.Questions || r.All.Questions != r.Questions || !r.Horizons[len(r.Horizons)-1].Never {
		t.Errorf("horizons %+v hold %d of %d questions; want all, those without a next request last", r.Horizons, sum,
			r.Questions)
	}
}

func TestRanks(t *testing.T) {
	if got, want := ranks([]float64{5, math.Inf(1), 1, 5, math.Inf(1), 5}), []float64{2, 4.5, 0, 2, 4.5,
		2}; !slices.Equal(got, want) {
		t.Errorf("ranks are %v, want %v", got, want)
	}
}

func TestErrorsByHand(t *testing.T) {
	inf := math.Inf(1)
	h := horizonOf([]answer{{0, math.E - 1, 100, 1}, {math.E*math.E - 1, 0, 100, 1}, {inf, 3, 100, 3}, {3, inf, 100, inf}})
	if want := math.Sqrt((1. + 4) / 2); math.Abs(*h.RMSE-want) > 1e-12 {
		t.Errorf("RMSE is %v, want %v of the two within the trace", *h.RMSE, want)
	}
	if h.SaidNever != 0.25 || h.Median != 3 {
		t.Errorf("said never %v, median %v: want 0.25 and 3", h.SaidNever, h.Median)
	}
}

func TestTimesOfPromptsAreCountedInPrompts(t *testing.T) {
	c := clock{groups: []int{0, 3, 5}, end: 8}
	for pos, want := range []float64{0, 0, 0, 1, 1, 2, 2, 2, 3} {
		if got := c.at(pos); got != want {
			t.Errorf("position %d is at %v, want %v", pos, got, want)
		}
	}
}

func TestNothingToAskAtIsAnError(t *testing.T) {
	spec := must.Get(predict.Registry.Parse("none"))(t)
	for _, o := range []Options{{Capacity: 10000, Moments: 10}, {Capacity: 5, Moments: 10, Warmup: 100}} {
		if _, err := Measure(t.Context(), alternating(10, 100), spec, o); err == nil ||
			!strings.Contains(err.Error(), "is left to measure at") {
			t.Errorf("%+v: %v, want an error", o, err)
		}
	}
}

func TestWriteIsWholeAndDeterministic(t *testing.T) {
	read := func() (files [][]byte) {
		dir := t.TempDir()
		var results []*Result
		for _, predictor := range []string{"none", "popu", "noisy(p=0.5)"} {
			r := measure(t, alternating(10, 2000), predictor, Options{Capacity: 20, Moments: 20, Seed: 1})
			r.PredictionNs = 0 // a time
			results = append(results, r)
		}
		must.Do(t, Write(dir, results, look.Options{}))
		for _, name := range []string{"accuracy.json", "accuracy.csv", "calibration.svg", "calibration.png"} {
			b := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
			files = append(files, b)
		}
		return files
	}
	a, b := read(), read()
	for i := range a {
		if len(a[i]) == 0 || !bytes.Equal(a[i], b[i]) {
			t.Errorf("file %d differs from run to run, or is empty", i)
		}
	}
}

// deaf is a predictor that calls wait at each request.
type deaf struct {
	predict.Predictor
	wait func()
}

func (d deaf) Observe(predict.Object, int) { d.wait() }

func TestMeasureDoesNotWaitForAPredictor(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	ctx, cancel := context.WithCancel(t.Context())
	spec := must.Get(predict.Registry.Parse("ewma"))(t)
	inner := spec.Entry.New
	spec.Entry.New = func(c predict.Config) (predict.Predictor, error) {
		p, err := inner(c)
		return deaf{p, func() { cancel(); <-forever }}, err
	}
	if _, err := Measure(ctx, alternating(10, 4000), spec, Options{Capacity: 20, Moments: 10}); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
