package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// extremes returns an entry with each of its parameters alone at the least and at the most that it accepts, or at each
// of its choices.
func extremes(name string, ps []params.Param) (texts []string) {
	add := func(p params.Param, value string) {
		texts = append(texts, fmt.Sprintf("%s(%s=%s)", name, p.Name, value))
	}
	for _, p := range ps {
		switch p.Default.(type) {
		case int:
			most := int(p.Max)
			if most == 0 {
				most = 1 << 40
			}
			add(p, strconv.Itoa(int(p.Min)))
			add(p, strconv.Itoa(most))
		case float64:
			most := p.Max
			if most == 0 {
				most = 1e12
			}
			for _, x := range []float64{p.Min, most, 5e-324, 1e-308} {
				add(p, strconv.FormatFloat(x, 'g', -1, 64))
			}
		case bool:
			add(p, "true")
			add(p, "false")
		case string:
			for _, choice := range p.Choices {
				add(p, choice)
			}
		}
	}
	return texts
}

// patience is how long a short trace may take at most with extreme parameters: far longer than it does, and far shorter
// than for ever.
const patience = 5 * time.Minute

// replayExtreme replays a cell at the least and the largest capacities, in every unit that it works in.
func replayExtreme(t *testing.T, tr *traces.Trace, c sim.Cell) {
	t.Helper()
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	for _, amount := range []int64{1, 2, 50, 1 << 40} {
		for _, bytes := range []bool{false, true} {
			c.Capacity = capacity.Of(amount, bytes)
			if r.Check(c) != nil {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			_, err := r.Replay(ctx, c)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: not replayed within %v", c.Key(), patience)
			}
			cancel()
		}
	}
}

// extremeTraces are short traces for each kind of cache.
type extremeTraces struct{ plain, prompts, queries *traces.Trace }

// TestExtremeParameters: whatever values a part accepts, a short trace is soon replayed.
func TestExtremeParameters(t *testing.T) {
	inParallel := func(name string, test func(*testing.T, extremeTraces)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := policytest.Trace(9, 160, 90)
			for o := range plain.NumObjects {
				plain.Keys = append(plain.Keys, stream.Key{Num: uint64(o)}) // for caches that compute with them
			}
			test(t, extremeTraces{plain, simtest.Conversations(10), simtest.Queries(3, 120, 20, 0.3)})
		})
	}
	for _, e := range brief.Sample(4, policytest.Ready()...) {
		inParallel(e.Name, func(t *testing.T, on extremeTraces) { replayExtremePolicy(t, on, e) })
	}
	inParallel("predictors", func(t *testing.T, on extremeTraces) {
		for _, e := range predict.Registry.All() {
			for _, text := range extremes(e.Name, e.Params) {
				if _, err := predict.Registry.Parse(text); err == nil {
					for _, policy := range []string{"fpb", "laru"} {
						replayExtreme(t, on.plain, simtest.Cell(t, policy, capacity.Capacity{}, "predictor="+text))
					}
				}
			}
		}
	})
	inParallel("caches", func(t *testing.T, on extremeTraces) {
		for _, text := range cacheExtremes() {
			if _, err := cache.Registry.Parse(text); err == nil {
				for _, tr := range []*traces.Trace{on.plain, on.prompts, on.queries} {
					replayExtreme(t, tr, simtest.Cell(t, "lru", capacity.Capacity{}, "cache="+text))
				}
			}
		}
	})
	inParallel("models", func(t *testing.T, on extremeTraces) {
		for _, e := range models.Registry.All() {
			for _, text := range extremes(e.Name, e.Params) {
				if _, err := models.Registry.Parse(text); err == nil {
					replayExtreme(t, on.plain, simtest.Cell(t, "lru", capacity.Capacity{}, "model="+text))
					replayExtreme(t, on.prompts, simtest.Cell(t, "lru", capacity.Capacity{}, "cache=prefix", "model="+text))
				}
			}
		}
	})
}

// replayExtremePolicy replays a policy with extreme parameters in each kind of cache.
func replayExtremePolicy(t *testing.T, on extremeTraces, e policies.Entry) {
	noisy := must.Get(predict.Registry.Parse("noisy(p=0.3)"))(t)
	for _, text := range append(extremes(e.Name, e.Params), e.Name) {
		spec, err := policies.Registry.Parse(text)
		if err != nil {
			continue // refused
		}
		c := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()}}
		if policies.Can[policies.PredictorUser](e) {
			c.Predictor = &noisy
		}
		replayExtreme(t, on.plain, c)
		c.Cache = must.Get(cache.Registry.Parse("semantic"))(t)
		replayExtreme(t, on.queries, c)
		c.Cache = must.Get(cache.Registry.Parse("prefix"))(t)
		replayExtreme(t, on.prompts, c)
	}
}

func cacheExtremes() (texts []string) {
	for _, e := range cache.Registry.All() {
		texts = append(texts, extremes(e.Name, e.Params)...)
	}
	return texts
}
