package trainer

import (
	"context"
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Score is what a controller achieves, each value a mean over epochs and workloads.
type Score struct {
	Reward float64 `json:"reward"`
	P99    float64 `json:"p99_s"`
	Gap    float64 `json:"gap"` // distance of the ratio from the best one for the epoch
}

func (s *Score) add(t Score, weight float64) {
	s.Reward += float64(weight * t.Reward)
	s.P99 += float64(weight * t.P99)
	s.Gap += float64(weight * t.Gap)
}

// Result is what a controller achieves in each regime.
type Result struct {
	Name    string                       `json:"name"`
	Regimes map[recommender.Regime]Score `json:"regimes"`
}

// Evaluations serve as many epochs as the specification says, the first of them as warm-up.
const (
	evaluated = 200
	warmup    = 20
	gridStep  = 0.02 // between the ratios among which the best one is found
)

// datasets are the shares of hot users of Taobao, Amazon Video Games and Amazon Books (Table II).
var datasets = [...]float64{0.18, 0.24, 0.38}

// statics are the ratios of the static controllers.
var statics = [...]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}

// workloads lists what controllers are evaluated on. No training draws these seeds.
func workloads() (all []Workload) {
	for _, regime := range recommender.Regimes() {
		for _, own := range ownShares {
			for i, hot := range datasets {
				all = append(all, Workload{Own: own, Hot: hot, Regime: regime, Seed: uint64(1000 + i)})
			}
		}
	}
	return all
}

// decide returns the ratio of the next epoch, whose best ratio is given.
type decide func(w *hlem.Window, best float64) float64

// follow returns the decisions of a policy that takes the greedy action.
func follow(p *ppo.ActorCritic) decide {
	work := p.NewWork()
	return func(w *hlem.Window, _ float64) float64 {
		state := w.State()
		return w.Ratio + controllers.Actions[p.Greedy(state[:p.Features()], work)]
	}
}

func bests(w Workload, loads []hlem.Load) []float64 {
	m, best := w.model(), make([]float64, len(loads))
	for i, l := range loads {
		if i > 0 && l == loads[i-1] {
			best[i] = best[i-1]
		} else {
			best[i] = m.Search(l, hlem.LeastRatio, hlem.MostRatio, gridStep)
		}
	}
	return best
}

func score(w Workload, best []float64, start float64, d decide) (s Score) {
	e := &episode{epochs: evaluated - 1}
	e.begin(w, start)
	for e.at < evaluated {
		e.ratio = bounded(d(&e.window, best[e.at]))
		e.serve()
		if e.at > warmup {
			s.add(Score{e.window.Reward(weight), e.window.P99, math.Abs(e.ratio - best[e.at-1])}, 1/float64(evaluated-warmup))
		}
	}
	return s
}

// evaluate compares policies with static ratios and with the best ratio in hindsight.
func evaluate(ctx context.Context, jobs int, names []string, policies []*ppo.ActorCritic) ([]Result, error) {
	all := workloads()
	rows := len(policies) + len(statics) + 1
	scores := make([][]Score, len(all))
	err := parallel.For(ctx, parallel.Jobs(jobs), len(all), func(_ context.Context, _, i int) error {
		w := all[i]
		best := bests(w, w.loads(evaluated))
		for _, p := range policies {
			scores[i] = append(scores[i], score(w, best, hlem.StartRatio, follow(p)))
		}
		for _, r := range statics {
			scores[i] = append(scores[i], score(w, best, r, func(*hlem.Window, float64) float64 { return r }))
		}
		scores[i] = append(scores[i], score(w, best, best[0], func(_ *hlem.Window, best float64) float64 { return best }))
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, rows+1)
	for i := range results {
		results[i].Regimes = map[recommender.Regime]Score{}
		switch {
		case i < len(policies):
			results[i].Name = names[i]
		case i < rows-1:
			results[i].Name = fmt.Sprintf("static(r=%v)", statics[i-len(policies)])
		case i == rows-1:
			results[i].Name = "hindsight"
		default:
			results[i].Name = "best static"
		}
	}
	each := float64(len(recommender.Regimes())) / float64(len(all))
	for i, w := range all {
		for row := range rows {
			results[row].add(w.Regime, scores[i][row], each)
		}
		results[rows].add(w.Regime, bestStatic(scores[i][len(policies):rows-1]), each)
	}
	return results, nil
}

func (r *Result) add(regime recommender.Regime, s Score, weight float64) {
	sum := r.Regimes[regime]
	sum.add(s, weight)
	r.Regimes[regime] = sum
}

// bestStatic returns the score of the static ratio with the largest reward.
func bestStatic(scores []Score) Score {
	best := scores[0]
	for _, s := range scores {
		if s.Reward > best.Reward {
			best = s
		}
	}
	return best
}
