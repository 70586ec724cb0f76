package attention

import (
	"context"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Tokens that every cache of this kind keeps, and the share of the others, the middle, that it loads (QSAC, section
// 7.1).
const (
	Sink   = 4
	Recent = 64
	ratio  = 0.1
)

// MiddleEnd returns the end of the middle, which begins at Sink, in a step that sees so many keys. It has no tokens
// where that is not above Sink.
func MiddleEnd(visible int) int { return visible - Recent }

// Description says how queries, sets of keys and probabilities of a trace behave: of one layer, or of all of them. A
// set is the tenth of the middle that has the most probability, summed over the query heads of a KV head.
type Description struct {
	// mean cosine of the queries of a query head that are so many steps apart
	SimilarityByLag []LagValue `json:"similarity_by_lag"`
	// share of the set of a step that is in the set of so many steps before
	OverlapByLag []LagValue `json:"overlap_by_lag"`
	// the same by the similarity of the queries, which is the harmonic mean over the query heads
	OverlapBySimilarity []BinValue `json:"overlap_by_similarity"`
	SinkMass            float64    `json:"sink_mass"`   // share of the probability that the first 4 tokens have
	RecentMass          float64    `json:"recent_mass"` // and the last 64, the current one included
	// share of the middle's probability that its tokens of the highest probability have
	MassByRank []RankValue `json:"mass_by_rank"`
	// mean cosine of a query and its prediction, without layer 0; nil without predictions
	Prediction *float64 `json:"prediction_similarity"`
}

// LagValue is a value for steps that are Lag apart.
type LagValue struct {
	Lag   int     `json:"lag"`
	Value float64 `json:"value"`
}

// BinValue is a mean over pairs of steps whose similarity is at least From and below To.
type BinValue struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Pairs int     `json:"pairs"`
	Value float64 `json:"value"`
}

// RankValue is what the first Share of the tokens have.
type RankValue struct {
	Share float64 `json:"share"`
	Value float64 `json:"value"`
}

// Lags are the numbers of steps between queries that are compared.
var Lags = []int{1, 2, 4, 8, 16, 32, 64, 128, 256}

var (
	overlapLags = []int{1, 8, 64} // each costs as much as the step itself
	edges       = [...]float64{-1, 0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1}
	rankShares  = []float64{0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}
)

// CosineBins is the number of bins of cosines.
const CosineBins = len(edges) - 1

// CosineBin returns the bin of a cosine.
func CosineBin(cosine float64) int {
	bin := 0
	for bin < CosineBins-1 && cosine >= edges[bin+1] {
		bin++
	}
	return bin
}

// CosineFrom returns the least cosine of a bin.
func CosineFrom(bin int) float64 { return edges[bin] }

// mean is a mean that is being computed.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64)    { m.sum += x; m.n++ }
func (m *mean) merge(other mean) { m.sum += other.sum; m.n += other.n }
func (m mean) value() float64    { return m.sum / float64(max(m.n, 1)) }

// sums collects a Description.
type sums struct {
	similarity [9]mean // per lag
	overlap    [3]mean // per lag of overlapLags
	bins       [CosineBins]mean
	sink       mean
	recent     mean
	middle     mean
	top        [7]mean // per share of rankShares, of all probability
	prediction mean
}

func (s *sums) merge(other *sums) {
	merge := func(to, from []mean) {
		for i := range to {
			to[i].merge(from[i])
		}
	}
	merge(s.similarity[:], other.similarity[:])
	merge(s.overlap[:], other.overlap[:])
	merge(s.bins[:], other.bins[:])
	merge(s.top[:], other.top[:])
	s.sink.merge(other.sink)
	s.recent.merge(other.recent)
	s.middle.merge(other.middle)
	s.prediction.merge(other.prediction)
}

func (s *sums) description() *Description {
	d := &Description{SinkMass: s.sink.value(), RecentMass: s.recent.value()}
	for i, m := range s.similarity {
		if m.n > 0 {
			d.SimilarityByLag = append(d.SimilarityByLag, LagValue{Lags[i], m.value()})
		}
	}
	for i, m := range s.overlap {
		if m.n > 0 {
			d.OverlapByLag = append(d.OverlapByLag, LagValue{overlapLags[i], m.value()})
		}
	}
	for i, m := range s.bins {
		if m.n > 0 {
			d.OverlapBySimilarity = append(d.OverlapBySimilarity, BinValue{edges[i], edges[i+1], m.n, m.value()})
		}
	}
	for i, m := range s.top {
		if s.middle.sum > 0 {
			d.MassByRank = append(d.MassByRank, RankValue{rankShares[i], m.sum / s.middle.sum})
		}
	}
	if s.prediction.n > 0 {
		d.Prediction = new(s.prediction.value())
	}
	return d
}

// Descriptions are those of a trace.
type Descriptions struct {
	All    *Description
	Layers []*Description // in the order of Shape.Layers
	// Samples is the number of steps per head whose sets and masses count. Similarities are those of all steps.
	Samples int
	Queries *QueryMap // nil for a single step
}

// QueryMap has the cosines of the queries of all pairs of steps of one query head, or of every Every-th step in a long
// trace.
type QueryMap struct {
	Layer   int // number in the model
	Head    int // query head in the layer
	Every   int
	Steps   int       // that have a row and a column, from step 0
	Cosines []float64 // row by row
}

// mostMapped is the largest number of steps of a QueryMap, so that its size does not depend on the trace.
const mostMapped = 256

// mapped returns which steps have a row and a column: every so many, and how many they are.
func mapped(steps int) (every, n int) {
	every = (steps + mostMapped - 1) / mostMapped
	return every, (steps + every - 1) / every
}

// MappedHead returns the place of the head whose first query head has a QueryMap: the first of the middle layer.
func MappedHead(s *Shape) int { return len(s.Layers) / 2 * s.KVHeads }

// Work that Describe does: products of two numbers in all, and steps per head.
const (
	describeWork           = 4e10
	leastSamples, mostStep = 4, 32
)

// samples returns how many steps of each head are looked at.
func samples(s *Shape) int {
	step := float64(s.Tokens()) * float64(s.Dim) * float64(s.Group()) * float64(1+len(overlapLags))
	return min(s.Steps, max(leastSamples, min(mostStep, int(describeWork/step/float64(s.Heads())))))
}

// Describe describes a trace. It needs its keys and, if there are any, predicted queries. The results do not depend on
// the number of jobs. progress, unless it is nil, is called with the number of heads that are done.
func Describe(ctx context.Context, t Trace, jobs int, options Options, progress func()) (*Descriptions, error) {
	shape := t.Shape()
	d := &Descriptions{Samples: samples(shape)}
	heads := make([]sums, shape.Heads())
	workers := make([]describer, jobs)
	err := Each(ctx, t, jobs, options, func(worker int, h *Head) error {
		workers[worker].describe(&heads[h.Place], shape, h, d.Samples)
		if h.Place == MappedHead(shape) && shape.Steps > 1 {
			d.Queries = workers[worker].queryMap(shape, h)
		}
		if progress != nil {
			progress()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := &sums{}
	for layer := range shape.Layers {
		one := &sums{}
		for kv := range shape.KVHeads {
			one.merge(&heads[layer*shape.KVHeads+kv])
		}
		all.merge(one)
		d.Layers = append(d.Layers, one.description())
	}
	d.All = all.description()
	return d, nil
}

// describer describes heads. It reuses its memory.
type describer struct {
	norms         []float64 // of the queries
	probabilities []float64 // of tokens, summed over the query heads
	scores        []float64 // of one query head
	order         []float64
	set           []bool
}

func (d *describer) describe(s *sums, shape *Shape, h *Head, samples int) {
	group := shape.Group()
	d.norms = d.norms[:0]
	for i := range shape.Steps * group {
		q := row(h.Queries, i, shape.Dim)
		d.norms = append(d.norms, math.Sqrt(float64(Dot(q, q))))
	}
	for i, lag := range Lags {
		for step := lag; step < shape.Steps && lag <= shape.Steps/2; step++ {
			for j := range group {
				s.similarity[i].add(d.cosine(h, step, step-lag, j))
			}
		}
	}
	if len(h.Predicted) > 0 && h.Layer > 0 {
		for i := range shape.Steps * group {
			p := row(h.Predicted, i, shape.Dim)
			norm := d.norms[i] * math.Sqrt(float64(Dot(p, p)))
			s.prediction.add(float64(Dot(p, row(h.Queries, i, shape.Dim))) / norm)
		}
	}
	if len(h.Keys) == 0 {
		return
	}
	for i := range samples {
		// the middles of equal parts of the steps
		d.sample(s, shape, h, (2*i+1)*shape.Steps/(2*samples))
	}
}

// queryMap returns the cosines of the first query head of a head that has been described.
func (d *describer) queryMap(shape *Shape, h *Head) *QueryMap {
	m := &QueryMap{Layer: h.Layer, Head: h.KV * shape.Group()}
	m.Every, m.Steps = mapped(shape.Steps)
	m.Cosines = make([]float64, m.Steps*m.Steps)
	for a := range m.Steps {
		for b := range a + 1 {
			c := min(max(d.cosine(h, a*m.Every, b*m.Every, 0), -1), 1) // rounding could lead beyond
			m.Cosines[a*m.Steps+b], m.Cosines[b*m.Steps+a] = c, c
		}
	}
	return m
}

// cosine returns that of the queries of two steps of a query head.
func (d *describer) cosine(h *Head, a, b, j int) float64 {
	product := float64(Dot(h.Query(a, j), h.Query(b, j)))
	return product / (d.norms[a*h.group+j] * d.norms[b*h.group+j])
}

// similarity returns the harmonic mean of the cosines over the query heads; the least of them if that is not above 0.
func (d *describer) similarity(h *Head, a, b int) float64 {
	least, inverses := 1.0, 0.0
	for j := range h.group {
		c := d.cosine(h, a, b, j)
		least = min(least, c)
		inverses += 1 / c
	}
	if least <= 1e-6 {
		return least
	}
	return float64(h.group) / inverses
}

// sample looks at the probabilities of one step, and at the sets of those before it.
func (d *describer) sample(s *sums, shape *Shape, h *Head, step int) {
	visible := shape.Visible(step)
	d.attend(shape, h, step)
	end := MiddleEnd(visible)
	if end <= Sink {
		return
	}
	s.sink.add(sum(d.probabilities[:Sink]))
	s.recent.add(sum(d.probabilities[end:visible]))
	middle := d.probabilities[Sink:end]
	s.middle.add(sum(middle))
	d.order = append(d.order[:0], middle...)
	slices.Sort(d.order)
	slices.Reverse(d.order)
	for i, share := range rankShares {
		s.top[i].add(sum(d.order[:int(share*float64(len(middle)))]))
	}
	k := int(ratio * float64(len(middle)))
	if k == 0 {
		return
	}
	d.set = append(d.set[:0], make([]bool, visible)...)
	mark(d.set[Sink:end], middle, d.order[k-1], k)
	for i, lag := range overlapLags {
		before := step - lag
		end := MiddleEnd(shape.Visible(max(before, 0)))
		if before < 0 || end-Sink < k {
			continue
		}
		d.attend(shape, h, before)
		overlap := float64(d.common(d.probabilities[Sink:end], d.set[Sink:end])) / float64(k)
		s.overlap[i].add(overlap)
		similarity := d.similarity(h, step, before)
		s.bins[CosineBin(similarity)].add(overlap)
	}
}

// common returns how many tokens of the set of an earlier step, which has these probabilities, are in a later one.
func (d *describer) common(middle []float64, set []bool) int {
	k := int(ratio * float64(len(middle)))
	if k == 0 {
		return 0
	}
	d.order = append(d.order[:0], middle...)
	slices.Sort(d.order)
	earlier := make([]bool, len(middle))
	mark(earlier, middle, d.order[len(d.order)-k], k)
	n := 0
	for i, in := range earlier {
		if in && set[i] {
			n++
		}
	}
	return n
}

// mark sets the places of the k greatest values; least is the least of them. Ties go to the lower position.
func mark(set []bool, values []float64, least float64, k int) {
	for i, x := range values {
		if x > least {
			set[i] = true
			k--
		}
	}
	for i, x := range values {
		if x == least && k > 0 {
			set[i] = true
			k--
		}
	}
}

// attend computes the mean probability over the query heads that a step gives to each token that it sees.
func (d *describer) attend(shape *Shape, h *Head, step int) {
	visible := shape.Visible(step)
	d.probabilities = append(d.probabilities[:0], make([]float64, visible)...)
	d.scores = append(d.scores[:0], make([]float64, visible)...)
	for j := range shape.Group() {
		q, greatest := h.Query(step, j), math.Inf(-1)
		for token := range d.scores {
			score := float64(Dot(q, h.Key(token))) * shape.Scale
			d.scores[token] = score
			greatest = max(greatest, score)
		}
		total := 0.0
		for token, score := range d.scores {
			d.scores[token] = exp(score - greatest)
			total += d.scores[token]
		}
		share := 1 / (total * float64(shape.Group()))
		for token, x := range d.scores {
			d.probabilities[token] += float64(x * share)
		}
	}
}

func sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}

// Dot returns the product of two vectors. Four sums at a time do not wait for each other; their order is fixed.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// expSteps is the number of values of 2^x from one power of two to the next that powers has.
const expSteps = 32

var powers = func() (table [expSteps]float64) {
	for i := range table {
		table[i] = random.Exp(math.Ln2 * float64(i) / expSteps)
	}
	return table
}()

// exp returns e^x for x <= 0, with a relative error below 1e-11, the same on every machine.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	n := math.Floor(float64(x*(expSteps/math.Ln2)) + 0.5)
	r := x - float64(n*(math.Ln2/expSteps)) // at most 0.011 either way
	p := 1 + float64(r*(1+float64(r*(0.5+float64(r*(1.0/6+float64(r/24)))))))
	i := int(n)
	return float64(p*powers[i&(expSteps-1)]) * math.Float64frombits(uint64(1023+i>>5)<<52)
}
