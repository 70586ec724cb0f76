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
	"github.com/cachesim/cachesim/internal/results"
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
	Capacity string
	Run      string
	Policy   string
	Mean     float64
	Margin   float64 // as in Estimate, of the mean
	// Percentiles are those of percentiles, interpolated linearly between values as NumPy does.
	Percentiles []float64
	Traces      int
	BestOn      int // traces on which no policy that competes is better, the baseline included
	WorseOn     int // traces on which the baseline is better

	record *records.Record // of the policy, for its look in figures
	values []float64       // in order of size
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

func labelsOf(results []*result) (names []string) {
	for _, res := range results {
		if !slices.Contains(names, res.Label) {
			names = append(names, res.Label)
		}
	}
	return names
}

func pools(runs []*Run) (all []*result) {
	for _, r := range runs {
		all = append(all, r.pool...)
	}
	return all
}

// baselineFor returns the results of the baseline policy in a run or, if it has none, in the first run that has.
func baselineFor(run *Run, runs []*Run, policy string) (from *Run, found []*result, err error) {
	for _, r := range append([]*Run{run}, runs...) {
		if found, err = baselineIn(r, policy); len(found) > 0 || err != nil {
			return r, found, err
		}
	}
	return nil, nil, suggest.Unknown("policy", policy, labelsOf(pools(runs)))
}

// baselineIn returns the results of a policy, by its label or else by its name. Those without a prefetcher and the like
// are the baseline of those with one.
func baselineIn(r *Run, policy string) (found []*result, err error) {
	of := func(name func(*result) string, plain bool) (some []*result) {
		for _, res := range r.pool {
			if name(res) == policy && (!plain || isPlain(res)) {
				some = append(some, res)
			}
		}
		return some
	}
	label := func(res *result) string { return res.Label }
	name := func(res *result) string { return res.Policy }
	for _, some := range [][]*result{of(label, true), of(label, false), of(name, true), of(name, false)} {
		if len(some) == 0 {
			continue
		}
		if all := labelsOf(some); len(all) > 1 {
			return nil, fmt.Errorf("%s is the policy of several rows of %s; want one of %s", policy, r.Name,
				suggest.List(all))
		}
		return some, nil
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
	means   map[string]*costOf // of the policies, by capacity, name and identity
	order   []string           // of means
	best    map[string]float64 // the lowest cost among competitors, by identity
}

// costOf are the costs of a policy in one cell, over its seeds.
type costOf struct {
	res      *result
	name     string
	identity string
	costs    []float64
}

func (c *Comparison) addRun(r *Reductions, run *Run, baseline []*result) error {
	recs := make([]records.Record, len(run.results))
	for i, res := range run.results {
		recs[i] = res.Record
	}
	p, err := newPlacer(recs, nil)
	if err != nil {
		return err
	}
	d := &reducer{quantity: c.quantity, placer: p, costs: map[string]float64{}, means: map[string]*costOf{},
		best: map[string]float64{}}
	d.matcher, d.own = baselineMatcher(recs, baseline)
	d.setBaseline(baseline)
	unlike := d.collect(run, baseline)
	if unlike > 0 {
		c.note("%s: %s not compared with %s, which has no result there", run.Name, show.Counted(unlike, "result"),
			r.Baseline)
	}
	zero := d.addTo(r, run, baseline)
	if zero > 0 {
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

func (d *reducer) setBaseline(baseline []*result) {
	all := map[string][]float64{}
	for _, b := range baseline {
		if x, ok := b.Get(d.Name); ok {
			id := d.identity(&b.Record)
			all[id] = append(all[id], d.cost(x))
		}
	}
	for id, costs := range all {
		d.costs[id] = statistics.Mean(costs)
	}
}

// collect takes the costs of the policies, and returns how many results have no baseline to be compared with.
func (d *reducer) collect(run *Run, baseline []*result) (unlike int) {
	for _, res := range run.results {
		x, ok := res.Get(d.Name)
		if !ok || res.Kind == records.Bound {
			continue
		}
		id := d.identity(&res.Record)
		if _, has := d.costs[id]; !has {
			unlike++
			continue
		}
		name := d.policy(&res.Record)
		for _, axis := range d.own {
			if v, ok := res.Dim(axis); ok {
				name += ", " + axis + "=" + show.Printable(v.Text)
			}
		}
		key := name + "\x00" + id
		of := d.means[key]
		if of == nil {
			of = &costOf{res: res, name: name, identity: id}
			d.means[key] = of
			d.order = append(d.order, key)
		}
		of.costs = append(of.costs, d.cost(x))
	}
	d.findBest(baseline)
	return unlike
}

// findBest finds the lowest cost among the competitors in each cell, or the highest value if more is better.
func (d *reducer) findBest(baseline []*result) {
	offer := func(id string, x float64) {
		if old, ok := d.best[id]; !ok || d.less(x, old) {
			d.best[id] = x
		}
	}
	for _, b := range baseline {
		if id := d.identity(&b.Record); b.Competes() {
			offer(id, d.costs[id])
		}
	}
	for _, of := range d.means {
		if of.res.Competes() {
			offer(of.identity, statistics.Mean(of.costs))
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
func (d *reducer) addTo(r *Reductions, run *Run, baselines []*result) (zero int) {
	places := map[string]int{} // in r.Rows
	isBaseline := map[*result]bool{}
	for _, b := range baselines {
		isBaseline[b] = true
	}
	for _, key := range d.order {
		of := d.means[key]
		baseline, x := d.costs[of.identity], statistics.Mean(of.costs)
		if isBaseline[of.res] {
			continue
		}
		if baseline == 0 {
			zero++
			continue
		}
		capacity := d.capacity(&of.res.Record)
		at, known := places[capacity+"\x00"+of.name]
		if !known {
			at = len(r.Rows)
			places[capacity+"\x00"+of.name] = at
			r.Rows = append(r.Rows, Reduction{Capacity: capacity, Run: run.Name, Policy: of.name, record: &of.res.Record,
				at: d.sizeOf(&of.res.Record)})
		}
		row := &r.Rows[at]
		row.values = append(row.values, d.reduction(baseline, x, r.Symmetric))
		if of.res.Competes() && !d.less(d.best[of.identity], x) {
			row.BestOn++
		}
		if d.less(baseline, x) {
			row.WorseOn++
		}
	}
	for _, at := range places {
		r.Rows[at].summarize()
	}
	return zero
}

// summarize sets what follows from the values.
func (r *Reduction) summarize() {
	slices.Sort(r.values)
	mean := results.Average(r.values)
	r.Traces, r.Mean, r.Margin = len(r.values), mean.Mean, mean.Margin
	for _, p := range percentiles {
		r.Percentiles = append(r.Percentiles, percentile(p, r.values))
	}
}
