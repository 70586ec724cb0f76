package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// Reductions are distributions over traces: how much smaller the miss ratio, or the quantity behind another metric, is
// than that of a baseline policy, as a share of the latter. For metrics of which more is better they are increases.
type Reductions struct {
	Baseline  string
	Title     string // "miss ratio reduction from fifo"
	Symmetric bool
	Rows      []Reduction // by capacity, then by mean, the largest first

	runs int
}

// percentiles are those that papers print: of S3-FIFO (SOSP 2023) and SIEVE (NSDI 2024), for example.
var percentiles = []int{10, 25, 50, 75, 90}

// Reduction is the distribution of a policy at a capacity.
type Reduction struct {
	Capacity string  `json:"capacity"`
	Run      string  `json:"run"`
	Policy   string  `json:"policy"`
	Mean     float64 `json:"mean"`
	Margin   margin  `json:"margin"` // of the mean
	// Percentiles are those of percentiles, interpolated linearly between values as NumPy does.
	Percentiles distribution `json:"percentiles"`
	BestOn      int          `json:"best_on"`  // traces on which no policy that competes is better, the baseline included
	WorseOn     int          `json:"worse_on"` // traces on which the baseline is better
	Traces      int          `json:"traces"`

	record *records.Record // of the policy, for its look in figures
	at     float64         // by which capacities are ordered
}

// percentile returns the value below which p percent of the sorted values are, interpolated linearly.
func percentile(p int, sorted []float64) float64 {
	place := float64(p) / 100 * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	share := place - float64(below)
	return sorted[below] + float64(share*(sorted[above]-sorted[below]))
}

// reduction returns by which share of the baseline a cost is smaller or, if higher is better, a value is larger. A
// symmetric reduction that is negative is a share of the policy's own cost, so that it is above -1.
func (q quantity) reduction(baseline, x float64, symmetric bool) float64 {
	d := baseline - x
	if !q.lessIsBetter() {
		d = -d
	}
	if symmetric && d < 0 {
		return d / max(baseline, x)
	}
	return d / baseline
}

// addReductions compares the policies of each run with the baseline policy.
func (c *Comparison) addReductions(runs []*Run, o Options) error {
	if c.quantity.Better == metric.Neither {
		return fmt.Errorf("--against: more %s is neither better nor worse, so that policies cannot be ranked by it; want "+
			"another --metric", c.quantity.Label())
	}
	verb := " reduction from "
	if !c.quantity.lessIsBetter() {
		verb = " increase over "
	}
	r := &Reductions{Baseline: o.Against, Title: c.quantity.noun + verb + o.Against, Symmetric: o.Symmetric,
		runs: len(runs)}
	for _, run := range runs {
		from, baseline, err := baselineFor(run, runs, o.Against)
		if err != nil {
			return fmt.Errorf("--against: %w", err)
		}
		if from != run {
			c.note("%s has no %s; it is compared with that of %s", run.Name, o.Against, from.Name)
		}
		if err := c.addRun(r, run, baseline); err != nil {
			return err
		}
	}
	if len(r.Rows) == 0 {
		return fmt.Errorf("--against %s: no other policy has %s on a trace and at a capacity of its own; nothing can be "+
			"compared", o.Against, c.quantity.Name)
	}
	slices.SortStableFunc(r.Rows, func(a, b Reduction) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Capacity, b.Capacity), cmp.Compare(b.Mean, a.Mean))
	})
	c.Reductions = r
	return nil
}

func labelsOf(results []*result) []string {
	return records.Distinct(results, func(res *result) string { return res.Label })
}

// baselineFor returns the results of the baseline policy in a run or, if it has none, in the first run that has.
func baselineFor(run *Run, runs []*Run, policy string) (from *Run, found []*result, err error) {
	for _, r := range append([]*Run{run}, runs...) {
		if found, err = baselineIn(r, policy); len(found) > 0 || err != nil {
			return r, found, err
		}
	}
	var pools []*result
	for _, r := range runs {
		pools = append(pools, r.pool...)
	}
	return nil, nil, suggest.Unknown("policy", policy, labelsOf(pools))
}

// baselineIn returns the results of a policy, by its label or else by its name. Those without a prefetcher and the like
// are the baseline of those with one.
func baselineIn(r *Run, policy string) (found []*result, err error) {
	for _, is := range []func(*result) bool{
		func(res *result) bool { return res.Label == policy && isPlain(res) },
		func(res *result) bool { return res.Label == policy },
		func(res *result) bool { return res.Policy == policy && isPlain(res) },
		func(res *result) bool { return res.Policy == policy },
	} {
		some := slices.DeleteFunc(slices.Clone(r.pool), func(res *result) bool { return !is(res) })
		if all := labelsOf(some); len(all) > 1 {
			return nil, fmt.Errorf("%s is the policy of several rows of %s; want one of %s", policy, r.Name,
				suggest.List(all))
		}
		if len(some) > 0 {
			return some, nil
		}
	}
	return nil, nil
}

// isPlain reports whether a policy has no parts of its own.
func isPlain(res *result) bool {
	return !slices.ContainsFunc(ofPolicies, func(k records.PartKind) bool { return *k.Field(&res.Record) != "" })
}

// ofPolicies are the kinds of parts that a policy has, and the baseline policy need not have.
var ofPolicies = []records.PartKind{records.PartKindOf("predictor"), records.PartKindOf("reuse"),
	records.PartKindOf("retriever"), records.PartKindOf("prefetcher")}

// reducer compares the results of a run with a baseline.
type reducer struct {
	quantity
	matcher                    // of results with the baseline
	placer                     // of capacities and policies
	own     []string           // axes of policies, which the baseline does not have
	costs   map[string]float64 // of the baseline, by identity
	best    map[string]float64 // the lowest cost among competitors, by identity
}

// costOf is the cost of a policy in one cell, over its seeds.
type costOf struct {
	res            *result
	name, identity string
	cost           float64
}

func (c *Comparison) addRun(r *Reductions, run *Run, baseline []*result) error {
	recs := recordsOf(run)
	p, err := newPlacer(recs, nil)
	if err != nil {
		return err
	}
	d := &reducer{quantity: c.quantity, placer: p, costs: map[string]float64{}, best: map[string]float64{}}
	d.matcher, d.own = baselineMatcher(recs, baseline)
	identity := func(res *result) string { return d.identity(&res.Record) }
	held := d.means(baseline, identity)
	for _, of := range held {
		d.costs[of.identity] = of.cost
	}
	counted := slices.DeleteFunc(slices.Clone(run.results), func(res *result) bool {
		_, ok := res.Get(d.Name)
		return !ok || res.Kind == records.Bound
	})
	alike := slices.DeleteFunc(slices.Clone(counted), func(res *result) bool {
		_, has := d.costs[identity(res)]
		return !has
	})
	if unlike := len(counted) - len(alike); unlike > 0 {
		c.note("%s: %s not compared with %s, which has no result there", run.Name, show.Counted(unlike, "result"),
			r.Baseline)
	}
	all := d.means(alike, func(res *result) string { return d.nameOf(res) + "\x00" + identity(res) })
	d.findBest(append(held, all...))
	if zero := d.addTo(r, run, baseline, all); zero > 0 {
		c.note("%s: %s left out, where %s has no misses", run.Name, show.Counted(zero, "result"), r.Baseline)
	}
	return nil
}

// baselineMatcher returns a matcher of policies with the baseline, and the axes that are of policies alone.
func baselineMatcher(recs []records.Record, baseline []*result) (m matcher, own []string) {
	ignored := []string{records.DimPolicy}
	for _, k := range ofPolicies {
		ignored = append(ignored, k.Name)
	}
	m.traits = slices.DeleteFunc(slices.Clone(traits), func(t trait) bool { return slices.Contains(ignored, t.name) })
	for _, axis := range records.AxisNames(recs) {
		if slices.ContainsFunc(baseline, func(b *result) bool { _, ok := b.Dim(axis); return !ok }) {
			own = append(own, axis)
		} else {
			m.axes = append(m.axes, axis)
		}
	}
	return m, own
}

// means returns the costs of policies over the seeds of each cell, where they are known.
func (d *reducer) means(all []*result, cell func(*result) string) (means []costOf) {
	for _, same := range records.GroupBy(all, cell) {
		var costs []float64
		for _, res := range same {
			if x, ok := res.Get(d.Name); ok {
				costs = append(costs, d.cost(x))
			}
		}
		if len(costs) > 0 {
			means = append(means, costOf{same[0], d.nameOf(same[0]), d.identity(&same[0].Record), statistics.Mean(costs)})
		}
	}
	return means
}

// nameOf is the policy with its places on axes of its own.
func (d *reducer) nameOf(res *result) string {
	name := d.policy(&res.Record)
	for _, axis := range d.own {
		if v, ok := res.Dim(axis); ok {
			name += ", " + axis + "=" + show.Printable(v.Text)
		}
	}
	return name
}

// findBest finds the lowest cost among the competitors in each cell, or the highest value if more is better.
func (d *reducer) findBest(all []costOf) {
	for _, of := range all {
		if old, ok := d.best[of.identity]; of.res.Competes() && (!ok || d.less(of.cost, old)) {
			d.best[of.identity] = of.cost
		}
	}
}

// less reports whether cost x is better than y.
func (d *reducer) less(x, y float64) bool {
	if d.lessIsBetter() {
		return x < y
	}
	return x > y
}

// addTo adds the distributions of the run, and returns in how many cells the baseline's cost is 0.
func (d *reducer) addTo(r *Reductions, run *Run, baseline []*result, all []costOf) (zero int) {
	isBaseline := map[*result]bool{}
	for _, res := range baseline {
		isBaseline[res] = true
	}
	others := slices.DeleteFunc(slices.Clone(all), func(of costOf) bool { return isBaseline[of.res] })
	some := slices.DeleteFunc(slices.Clone(others), func(of costOf) bool { return d.costs[of.identity] == 0 })
	for _, same := range records.GroupBy(some, func(of costOf) string {
		return d.capacity(&of.res.Record) + "\x00" + of.name
	}) {
		rec := &same[0].res.Record
		row := Reduction{Capacity: d.capacity(rec), Run: run.Name, Policy: same[0].name, Traces: len(same), record: rec,
			at: d.sizeOf(rec)}
		var values []float64
		for _, of := range same {
			values = append(values, d.reduction(d.costs[of.identity], of.cost, r.Symmetric))
			if of.res.Competes() && !d.less(d.best[of.identity], of.cost) {
				row.BestOn++
			}
			if d.less(d.costs[of.identity], of.cost) {
				row.WorseOn++
			}
		}
		slices.Sort(values)
		row.Mean, row.Margin = marginOf(values)
		for _, p := range percentiles {
			row.Percentiles = append(row.Percentiles, percentile(p, values))
		}
		r.Rows = append(r.Rows, row)
	}
	return len(others) - len(some)
}
