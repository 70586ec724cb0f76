package controllers

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
)

// places is a value at each of the ratios that are compared.
type places [ratios]float64

// at returns the value at a place between two ratios.
func (p *places) at(place float64) float64 {
	low := min(ratios-2, max(0, int(place)))
	part := min(1, max(0, place-float64(low)))
	return float64((1-part)*p[low]) + float64(part*p[low+1])
}

// load is what the last epoch of a load said of it.
type load struct {
	w           hlem.Window
	least, most float64   // ratios
	rate        float64   // mean
	ofMisses    float64   // of hlem2, mean
	misses      [2]places // of embeddings and of users, at each ratio
	epochs      float64   // that it lasted
}

// note keeps a window, and what else is known of the load. The lengths in a window are valid during a call only.
func (l *load) note(w *hlem.Window, rate, ofMisses float64) {
	lengths := append(l.w.Lengths[:0], w.Lengths...)
	l.w, l.rate, l.ofMisses = *w, rate, ofMisses
	l.w.Lengths = lengths
	l.least, l.most = w.Bounds()
	l.epochs++
}

func (l *load) place(ratio float64) float64 {
	return float64((ratio - l.least) / (l.most - l.least) * (ratios - 1))
}

func (l *load) ratio(place int) float64 { return l.least + float64(place)*(l.most-l.least)/(ratios-1) }

// contents are what the caches hold, as shares of the memory of the node: less than they may after they have grown.
type contents struct{ emb, kv float64 }

// adapted returns the contents of caches that have adapted to a ratio.
func adapted(ratio float64) contents { return contents{ratio, 1 - ratio} }

// missing returns the shares of misses: a cache that is not full misses what a smaller one would.
func (l *load) missing(c contents) (emb, kv float64) {
	return l.misses[embeddings].at(l.place(c.emb)), l.misses[users].at(l.place(1 - c.kv))
}

// during lets caches serve an epoch at a ratio, and returns their mean contents in it. A smaller cache loses at once. A
// larger one gains what misses load and, of embeddings, what the link has left for a refill.
func (l *load) during(c *contents, ratio float64) contents {
	c.emb, c.kv = min(c.emb, ratio), min(c.kv, 1-ratio)
	before := *c
	emb, kv := l.missing(before)
	node, tokens := &l.w.Node, l.w.MeanTokens
	missed := float64(l.rate * tokens * l.w.Rows * emb * float64(node.Costs.RowBytes))
	refill := float64(node.Costs.Spare(missed/float64(node.Servers)) * float64(node.Servers))
	computed := l.rate * kv * float64(node.Costs.UserBytes(int(tokens)))
	share := l.w.Objective.Epoch.Seconds() / float64(node.Memory)
	c.emb = min(ratio, c.emb+float64((missed+refill)*share))
	c.kv = min(1-ratio, c.kv+float64(computed*share))
	return contents{(before.emb + c.emb) / 2, (before.kv + c.kv) / 2}
}

// fill sets the times of service of the load with some contents, under one of the assumptions of hlem2.
func (l *load) fill(q *tailQueue, assumption int, c contents) {
	emb, kv := l.missing(c)
	theirs := kv
	if assumption == 1 {
		theirs = max(kv, l.ofMisses)
	}
	q.fill(&l.w, emb, kv, theirs)
}

// still returns the P99 that the load has in the long run at a ratio.
func (l *load) still(q *tailQueue, assumption int, ratio float64) float64 {
	l.fill(q, assumption, adapted(ratio))
	return q.p99(l.rate)
}

// visit is a node that a load comes to: what it holds, and the work that waits.
type visit struct {
	contents
	queue fluid.Queue
	began bool
}

// epoch serves an epoch at a ratio and returns its P99.
func (l *load) epoch(q *tailQueue, assumption int, n *visit, ratio float64) float64 {
	l.fill(q, assumption, l.during(&n.contents, ratio))
	return q.after(n, l.rate, l.w.Objective.Epoch.Seconds())
}

// longestVisit is for how many epochs a load is followed: by then the ratio is where it is best.
const longestVisit = 10

// prices returns, for each ratio, what it costs if the load comes to a node with that ratio: by how much the P99 of its
// epochs, in seconds, is above the least in all. The node sees the load after an epoch; it then stays, or moves by
// steps to the ratio that is best for the load, whichever is cheaper.
func (l *load) prices(q *tailQueue, assumption int, step float64) (prices places) {
	best, least := 0.0, math.Inf(1)
	for i := 0; i < ratios; i += 2 {
		if p99 := l.still(q, assumption, l.ratio(i)); p99 < least {
			best, least = l.ratio(i), p99
		}
	}
	for i := 0; i < ratios; i += 2 {
		prices[i] = math.Inf(1)
		for _, target := range [...]float64{l.ratio(i), best} {
			ratio, sum := l.ratio(i), 0.0
			n := visit{contents: adapted(ratio)}
			for range int(min(longestVisit, l.epochs)) {
				sum += max(0, l.epoch(q, assumption, &n, ratio)-least)
				ratio = towards(target, ratio, step)
			}
			prices[i] = min(prices[i], sum)
		}
		if i > 0 {
			prices[i-1] = (prices[i-2] + prices[i]) / 2
		}
	}
	return prices
}

// way returns what it costs to move by steps to a ratio, in a number of epochs: by how much the P99 of these, in
// seconds, is above that of a node that has adapted to the target.
func (l *load) way(q *tailQueue, assumption int, from contents, target, step, epochs float64) (cost float64) {
	ratio := l.w.Ratio
	n, other := visit{contents: from}, visit{contents: adapted(target)}
	for arrived := 0; epochs > 0 && arrived < 3; epochs-- {
		if ratio = towards(target, ratio, step); ratio == target {
			arrived++
		}
		over := l.epoch(q, assumption, &n, ratio) - l.epoch(q, assumption, &other, target)
		cost += float64(min(1, epochs) * max(0, over))
	}
	return cost
}

// firstLoad is for how many epochs a load is expected to last that no other came before.
const firstLoad = 30

// memory is what hlem2 keeps of loads that have ended.
type memory struct {
	prices [2]places // of their return, under both assumptions
	loads  int
	epochs float64 // of all of them
}

// keep remembers a load that ends. Of what earlier ones would cost, half remains.
func (m *memory) keep(l *load, q *tailQueue, step float64) {
	m.loads++
	m.epochs += l.epochs
	for assumption := range m.prices {
		prices := l.prices(q, assumption, step)
		for i, earlier := range m.prices[assumption] {
			prices[i] = max(prices[i], earlier/2)
		}
		m.prices[assumption] = prices
	}
}

// horizon returns how many epochs the present load is expected to last: as many as the mean of all.
func (m *memory) horizon(present float64) float64 {
	if m.loads == 0 {
		return firstLoad
	}
	return max(2, (m.epochs+present)/float64(m.loads+1))
}

// worst returns how much more each of some choices costs than the best one, as a logarithm, under whichever assumption
// that is more.
func worst(costs [2][]float64) []float64 {
	more := make([]float64, len(costs[0]))
	for _, of := range costs {
		least := slices.Min(of)
		for i, cost := range of {
			more[i] = max(more[i], math.Log(cost/least))
		}
	}
	return more
}

// leastOf returns the first of the least values.
func leastOf(values []float64) int { return slices.Index(values, slices.Min(values)) }
