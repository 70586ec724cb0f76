package controllers

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

var balanceEntry = entry(allocate.Entry{
	Name: "balance",
	Summary: "by marginal benefit: memory moves to the cache whose further hits save more seconds, as sampled shadow " +
		"directories measure; no learning",
	Source: "cachesim; shadow directories: Qureshi and Patt, MICRO 2006, sampled as in Waldspurger et al., FAST 2015",
	Params: []params.Param{
		{Name: "hysteresis", Default: 1.2, Min: 1, Max: 1000,
			Doc: "the ratio moves if the receiver gains more than this multiple of what the donor loses"},
		{Name: "tags", Default: 32768, Min: 1, Max: 1 << 24,
			Doc: "most shards, and most users, that a shadow directory follows"},
		{Name: "steps", Default: 200, Min: 10, Max: 65536,
			Doc: "least number of parts of the memory in which hits are counted"},
		stepParam(actionStep, "most that the ratio moves in an epoch"),
	},
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	v := c.Params
	b := &balance{hysteresis: v.Float("hysteresis"), step: v.Float("step")}
	curves := &allocate.Sampling{Tags: v.Int("tags"), Steps: v.Int("steps")}
	return b, allocate.Needs{Curves: curves, Forecast: true}, nil
})

// balance compares, for a move up and a move down, what one cache gains with what the other loses. If both are the
// same, no move pays, and the seconds that hits save are at a (local) maximum.
type balance struct{ hysteresis, step float64 }

func (b *balance) next(s *allocate.State, w *hlem.Window) float64 {
	target, most := w.Ratio, 0.0
	least, largest := w.Bounds()
	// Half a step is tried, too: the optimum may be nearer than a whole one. Ties go to the smaller move.
	for _, move := range [...]float64{-b.step / 2, b.step / 2, -b.step, b.step} {
		r := min(largest, max(least, w.Ratio+move))
		emb := b.saved(s, w, embeddings, r) - b.saved(s, w, embeddings, w.Ratio)
		kv := b.saved(s, w, users, r) - b.saved(s, w, users, w.Ratio)
		gain, loss := emb, -kv
		if r < w.Ratio {
			gain, loss = kv, -emb
		}
		if worth := gain - float64(b.hysteresis*max(0, loss)); worth > most {
			target, most = r, worth
		}
	}
	return target
}

// saved returns the seconds per request that the hits of a cache save at a ratio: in its shadow directory or, in the
// fluid model, which serves no single requests, in the forecast.
func (b *balance) saved(s *allocate.State, w *hlem.Window, pool int, ratio float64) float64 {
	if len(s.Pools[embeddings].Curve) == 0 && len(s.Pools[users].Curve) == 0 {
		return forecastSavings(w, pool, ratio)
	}
	// A curve also counts hits of earlier epochs, half as many for each, in both caches alike.
	seconds, share := w.SavedEMB, ratio
	if pool == users {
		seconds, share = w.SavedKV, 1-ratio
	}
	p := s.Pools[pool]
	return seconds * p.Curve.At(int64(share*float64(s.Capacity))) / float64(max(1, p.Requests))
}

func forecastSavings(w *hlem.Window, pool int, ratio float64) float64 {
	if w.Forecast == nil {
		return 0
	}
	emb, kv := w.Forecast.Hits(ratio)
	if pool == users {
		return w.SavedKV * kv
	}
	return w.SavedEMB * emb
}
