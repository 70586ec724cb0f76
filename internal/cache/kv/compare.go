package kv

import (
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Lookups measure the signal that reuse relies on: how much of the exact set a head's set still has, by the similarity
// of the queries to those for which it was loaded (QSAC, figure 5). Under the rule exact, these are adjacent steps.
// Similarity within a trace does not depend on the cell (figure 4).
var (
	overlapByCosine = metric.Metric{Name: "overlap_by_cosine", Title: "overlap of sets", Unit: metric.Share, Digits: 1,
		Better: metric.Higher, Merge: metric.Apart, Labels: "cosine",
		Doc: "share of a step's exact set that the head's set has before it is replaced, where the queries' cosine " +
			"(harmonic mean) with those for which it was loaded is from this number to the next one"}
	lookupsByCosine = metric.Metric{Name: "lookups_by_cosine", Title: "lookups", Unit: metric.Share, Digits: 1,
		Merge: metric.Apart, Labels: "cosine", Doc: "share of the lookups of a set that have such a cosine"}
	overlapCorrelation = metric.Metric{Name: "overlap_correlation", Title: "correlation of cosine and overlap",
		Unit: metric.Ratio, Digits: 2, Better: metric.Higher, Merge: metric.Apart,
		Doc: "Pearson's correlation of the two over the lookups of a head, mean over heads"}
	cosineByLag = metric.Metric{Name: "cosine_by_lag", Title: "similarity of queries", Unit: metric.Ratio, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Labels: "lag",
		Doc: "mean cosine of the queries of a query head that are so many steps apart"}
)

var comparisonMetrics = []metric.Metric{overlapByCosine, lookupsByCosine, overlapCorrelation, cosineByLag}

// mean is a mean that is being computed.
type mean struct {
	sum float64
	n   int64
}

func (m *mean) add(x float64)    { m.sum += x; m.n++ }
func (m *mean) merge(other mean) { m.sum += other.sum; m.n += other.n }

// comparison is what the lookups of a head, or of several, show.
type comparison struct {
	overlap [attention.CosineBins]mean // by cosine
	// sums over the lookups of cosines x, overlaps y and their products
	n, x, y, xx, yy, xy float64
}

func (c *comparison) add(cosine, overlap float64) {
	c.overlap[attention.CosineBin(cosine)].add(overlap)
	c.n++
	c.x, c.y = c.x+cosine, c.y+overlap
	c.xx, c.yy = c.xx+float64(cosine*cosine), c.yy+float64(overlap*overlap)
	c.xy += float64(cosine * overlap)
}

// correlation returns Pearson's; ok is false if one of the two does not vary.
func (c *comparison) correlation() (r float64, ok bool) {
	variance := func(x, xx float64) float64 { return float64(c.n*xx) - float64(x*x) }
	product := variance(c.x, c.xx) * variance(c.y, c.yy)
	// Rounding leaves a little where there is no variance.
	if least := 1e-12 * c.n * c.n; variance(c.x, c.xx) <= least || variance(c.y, c.yy) <= least {
		return 0, false
	}
	return (float64(c.n*c.xy) - float64(c.x*c.y)) / math.Sqrt(product), true
}

func setComparisons(v *metric.Values, heads []tally) {
	var all [attention.CosineBins]mean
	var correlation mean
	lookups := int64(0)
	for i := range heads {
		c := &heads[i].comparison
		for bin, m := range c.overlap {
			all[bin].merge(m)
			lookups += m.n
		}
		if r, ok := c.correlation(); ok {
			correlation.add(r)
		}
	}
	for bin, m := range all {
		if m.n > 0 {
			label := strconv.FormatFloat(attention.CosineFrom(bin), 'g', -1, 64)
			v.SetNamed(overlapByCosine.Of(label), m.sum/float64(m.n))
			v.SetNamed(lookupsByCosine.Of(label), float64(m.n)/float64(lookups))
		}
	}
	if correlation.n > 0 {
		v.Set(overlapCorrelation, correlation.sum/float64(correlation.n))
	}
}

// compareLags adds the cosines of the queries of a head to the means by lag.
func (w *worker) compareLags() {
	means := make([]mean, len(attention.Lags))
	for i, lag := range attention.Lags {
		for step := lag; step < w.shape.Steps && lag <= w.shape.Steps/2; step++ {
			cosines(w.similarities, w.head.Queries, w.norms, w.shape, step, step-lag)
			for _, x := range w.similarities {
				means[i].add(x)
			}
		}
	}
	w.lags[w.head.Place] = means
}

func (r *replay) setLags(v *metric.Values) {
	for i, lag := range attention.Lags {
		var all mean
		for _, means := range r.lags {
			all.merge(means[i])
		}
		if all.n > 0 {
			v.SetNamed(cosineByLag.Of(strconv.Itoa(lag)), all.sum/float64(all.n))
		}
	}
}

// compare notes how similar the queries of a step are to those of the set, and how much of the exact set it has.
func (w *worker) compare(c *holding, step int) {
	queries, norms := w.queriesOf(c)
	cosines(w.similarities, queries, norms, w.shape, step, c.label)
	c.comparison.add(reuse.Aggregate(reuse.Harmonic, w.similarities, nil), w.recallOf(c))
	if w.steps == nil {
		return
	}
	sum := 0.0
	for _, x := range w.similarities {
		sum += x
	}
	q := &w.steps[c.number].quality[w.at(step)]
	q.Similarity += qualityOf(sum / float64(len(w.similarities)))
	q.Compared++
}

// QueryCosines are a metric of series, whose labels are steps, too.
var QueryCosines = metric.Metric{Name: "query_cosines", Title: "cosine of queries", Unit: metric.Ratio, Digits: 2,
	Better: metric.Higher, Merge: metric.Apart,
	Doc: "cosine of the queries of a step and of the step that the label names, in the first query head of the middle " +
		"layer; only if a series names it"}

// mapQueries returns the cosines of the queries of every so many-th step of the head's first query head, row by row.
func (w *worker) mapQueries(every int) []float64 {
	n := w.shape.Steps / every
	m := make([]float64, 0, n*n)
	for a := range n {
		for b := range n {
			cosines(w.similarities, w.head.Queries, w.norms, w.shape, (a+1)*every-1, (b+1)*every-1)
			m = append(m, w.similarities[0])
		}
	}
	return m
}
