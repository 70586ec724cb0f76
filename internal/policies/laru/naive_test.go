package laru

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// How an eviction chose.
const (
	byPrediction = "prediction"
	byFallback   = "fallback"
	byRecency    = "recency"
)

// eviction is one eviction of naive, with the state before the decision.
type eviction struct {
	pos    int
	victim policies.Object
	how    string
	lambda float64
	old    bool // the victim was in O
	phase  int
}

// naive is the pseudo-code of LCR, algorithm 1, line by line, with lists and maps.
type naive struct {
	predictor  predict.Predictor
	capacity   int
	b          float64
	decayEvery int
	bitset     bool
	async      bool
	batch      int
	latency    int

	cache   []policies.Object // least recently used first
	o       map[policies.Object]bool
	e       map[policies.Object]bool
	bits    map[uint64]bool
	lambda  float64
	n14     int
	phases  int
	p       map[policies.Object]float64
	batched []policies.Object
	pending map[policies.Object]float64
	known   int // when pending is known

	hits      int
	evictions []eviction
}

func (n *naive) request(t int, x policies.Object) {
	if n.async {
		n.background(t)
	}
	if i := slices.Index(n.cache, x); i >= 0 {
		n.hits++
		delete(n.o, x)
		n.cache = append(slices.Delete(n.cache, i, i+1), x)
	} else {
		if len(n.cache) == n.capacity {
			n.evict(t, x)
		}
		n.cache = append(n.cache, x)
	}
	n.predictor.Observe(x, t)
	n.batched = append(n.batched, x)
}

func (n *naive) evict(t int, x policies.Object) {
	if len(n.o) == 0 {
		n.o = map[policies.Object]bool{}
		for _, y := range n.cache {
			n.o[y] = true
		}
		n.e, n.bits = map[policies.Object]bool{}, map[uint64]bool{}
		n.lambda, n.n14 = 1, 0
		n.phases++
	}
	at, how, before := 0, byRecency, n.lambda
	if n.e[x] || n.bitset && n.bits[bit(x)] {
		how = byFallback
		if n.n14++; n.n14 >= n.decayEvery {
			n.lambda, n.n14 = n.lambda/n.b, 0
		}
	} else if l := max(int(math.Floor(n.lambda*float64(n.capacity))), 1); l > 1 {
		how = byPrediction
		at = n.latest(t, n.cache[:l])
		n.e[n.cache[at]] = true
		n.bits[bit(n.cache[at])] = true
	}
	z := n.cache[at]
	n.evictions = append(n.evictions, eviction{pos: t, victim: z, how: how, lambda: before, old: n.o[z], phase: n.phases})
	delete(n.o, z)
	n.cache = slices.Delete(n.cache, at, at+1)
}

// latest returns the index of the candidate with the latest prediction.
func (n *naive) latest(t int, candidates []policies.Object) (latest int) {
	next := make([]float64, len(candidates))
	if n.async {
		for i, y := range candidates {
			next[i] = math.Inf(1)
			if p, ok := n.p[y]; ok {
				next[i] = p
			}
		}
	} else {
		n.predictor.Predict(candidates, t, next)
	}
	for i := range next {
		if next[i] > next[latest] {
			latest = i
		}
	}
	return latest
}

// background does the work of the worker before request t.
func (n *naive) background(t int) {
	if n.pending != nil && t >= n.known {
		n.publish()
	}
	if t > 0 && t%n.batch == 0 {
		if n.pending == nil {
			n.pending, n.known = map[policies.Object]float64{}, t+n.latency
			for _, y := range n.batched {
				next := make([]float64, 1)
				n.predictor.Predict([]policies.Object{y}, t, next)
				n.pending[y] = next[0]
			}
			if n.latency == 0 {
				n.publish()
			}
		}
		n.batched = nil
	}
}

func (n *naive) publish() {
	for y, next := range n.pending {
		n.p[y] = next
	}
	n.pending = nil
}
