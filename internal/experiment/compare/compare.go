// Package compare holds the results of two or more runs beside each other, cell by cell: differences with their
// intervals, who wins where, and how far policies reduce the misses of a baseline policy over many traces.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

type Options struct {
	Metric           string   // by name; "" for the hit ratio
	Only             []string // conditions on results: "policy=lru,arc" leaves those of two policies
	Ignore           []string // properties that cells of different runs need not have in common
	Rows             []string // dimensions that make rows; nil for policy, capacity and the axes of experiments
	AllowTraceChange bool     // compare results on different traces of one name
	Against          string   // a policy; "" for no reductions
	Symmetric        bool     // reductions of policies that are worse are of their own misses
	Gate             Gate
}

type Comparison struct {
	Runs       []string
	Versus     []Versus    // each further run against the first; nil if there is one run
	Reductions *Reductions // nil unless Options.Against
	Notes      []string    // what limits the comparison

	quantity quantity
	gate     Gate
}

// Versus is a run against the first one.
type Versus struct {
	Old        string      `json:"old"` // names of the runs
	New        string      `json:"new"`
	Dimensions []string    `json:"-"`
	Rows       []Row       `json:"rows"`
	Cells      []Cell      `json:"cells"`
	Wins       []Wins      `json:"wins"` // by policy; the last one is of all
	OnlyOld    []Unmatched `json:"only_old,omitempty"`
	OnlyNew    []Unmatched `json:"only_new,omitempty"`

	traces int
}

// Row is a place on the dimensions, over the traces and seeds that it has.
type Row struct {
	Places []string          `json:"-"`
	At     map[string]string `json:"at"` // the same by dimension
	Estimate
	Counts
}

// Cell is a policy at a capacity on a trace, over its seeds.
type Cell struct {
	Record       *records.Record `json:"-"` // of the first run
	Places       []string        `json:"-"` // on the dimensions of rows
	Trace        printable       `json:"trace"`
	Policy       string          `json:"policy"`
	Capacity     int64           `json:"capacity"`
	CapacityUnit string          `json:"capacity_unit"`
	Estimate
}

// Compare compares each run with the first one, and policies with a baseline policy if options name one.
func Compare(runs []*Run, o Options) (*Comparison, error) {
	o.Metric = cmp.Or(o.Metric, metric.HitRatio.Name)
	if err := records.CheckMetric(o.Metric); err != nil {
		return nil, err
	}
	c := &Comparison{quantity: quantityOf(o.Metric), gate: o.Gate}
	if len(runs) == 1 && o.Against == "" {
		return nil, errors.New("only one run is given; want another one to compare with, or --against POLICY to compare " +
			"its policies")
	}
	nameRuns(runs)
	if err := align(runs); err != nil {
		return nil, err
	}
	if err := filter(runs, o.Only); err != nil {
		return nil, err
	}
	for _, r := range runs {
		c.Runs = append(c.Runs, r.Name)
		c.Notes = append(c.Notes, r.Notes...)
	}
	if err := c.removeRepetitions(runs); err != nil {
		return nil, err
	}
	if err := c.addVersus(runs, o); err != nil {
		return nil, err
	}
	if o.Against != "" {
		if err := c.addReductions(runs, o); err != nil {
			return nil, err
		}
	}
	return c, c.gate.check(c)
}

func (c *Comparison) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// filter leaves the results that meet all conditions. Those on policies come last: the baseline of the others need not
// meet them.
func filter(runs []*Run, only []string) error {
	for _, onPolicies := range []bool{false, true} {
		for _, text := range only {
			all, err := records.ParseConditions(text)
			isOnPolicy := slices.ContainsFunc(all,
				func(c records.Condition) bool { return c.Dimension == records.DimPolicy })
			if isOnPolicy != onPolicies {
				continue
			}
			if err == nil {
				err = leave(runs, all)
			}
			if err != nil {
				return fmt.Errorf("--only %q: %w", text, err)
			}
		}
		for _, r := range runs {
			if !onPolicies {
				r.pool = slices.Clone(r.results)
			}
		}
	}
	return nil
}

// leave leaves the results that meet conditions. A result without a dimension is at all places on it.
func leave(runs []*Run, all []records.Condition) error {
	if err := records.CheckConditions(all, recordsOf(runs...)); err != nil {
		return err
	}
	for _, r := range runs {
		r.results = slices.DeleteFunc(r.results, func(res *result) bool { return !res.MeetsIfPlaced(all) })
		if len(r.results) == 0 {
			return fmt.Errorf("nothing of %s is left", r.path)
		}
	}
	return nil
}

// removeRepetitions leaves out results that a run has twice, as of one folder that was given in two ways.
func (c *Comparison) removeRepetitions(runs []*Run) error {
	m, err := newMatcher(runs, nil)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if n := m.withoutRepetitions(r); n > 0 {
			c.note("%s: %s left out, the same as another one", r.path, show.Counted(n, "result"))
		}
	}
	return nil
}

func (c *Comparison) addVersus(runs []*Run, o Options) error {
	if len(runs) < 2 {
		return nil
	}
	m, err := newMatcher(runs, o.Ignore)
	if err != nil {
		return fmt.Errorf("--ignore: %w", err)
	}
	if o.AllowTraceChange {
		m.matchShares()
	}
	for _, is := range runs[1:] {
		v, err := c.versus(m, runs[0], is, o)
		if err != nil {
			return err
		}
		c.Versus = append(c.Versus, *v)
	}
	return nil
}

func (c *Comparison) versus(m matcher, old, is *Run, o Options) (*Versus, error) {
	if err := c.checkTraces(old, is, o.AllowTraceChange); err != nil {
		return nil, err
	}
	cells, onlyOld, onlyNew, err := m.match(old, is)
	if err != nil {
		return nil, err
	}
	if len(cells) == 0 {
		return nil, errNoPair(m, old, is)
	}
	for _, p := range slices.Concat(cells...) {
		if err := c.refuse(p, o.AllowTraceChange); err != nil {
			return nil, err
		}
	}
	v := &Versus{Old: old.Name, New: is.Name}
	v.OnlyOld, v.OnlyNew = m.describe(onlyOld, is), m.describe(onlyNew, old)
	if err := c.estimate(v, cells, o.Rows); err != nil {
		return nil, err
	}
	c.noteDifferences(v, slices.Concat(cells...), o.Ignore)
	return v, nil
}

// errNoPair says why no cell is in both runs: in what the most similar ones differ.
func errNoPair(m matcher, old, is *Run) error {
	first := &old.results[0].Record
	nearest := m.nearest(first, is.results)
	return fmt.Errorf("no cell is in both %s and %s: the first differs from the nearest of %s in %s; --ignore PROPERTY "+
		"compares them anyway", old.path, is.path, is.path,
		strings.Join(m.difference(first, &nearest.Record), ", "))
}

// nearest returns the result that differs from r in the fewest properties, of the same policy if possible.
func (m matcher) nearest(r *records.Record, among []*result) *result {
	best, fewest := among[0], math.MaxInt
	for _, res := range among {
		n := 2 * len(m.difference(r, &res.Record))
		if res.Policy == r.Policy {
			n--
		}
		if n < fewest {
			best, fewest = res, n
		}
	}
	return best
}

func (c *Comparison) estimate(v *Versus, cells []pairs, dimensions []string) error {
	var recs []records.Record
	for _, each := range cells {
		recs = append(recs, *each.record())
	}
	p, err := newPlacer(recs, dimensions)
	if err != nil {
		return err
	}
	v.Dimensions = p.dimensions
	var measured []pairs
	for _, each := range cells {
		samples := c.samples(each)
		if len(samples) == 0 {
			continue
		}
		r := each.record()
		measured = append(measured, each)
		v.Cells = append(v.Cells, Cell{Record: r, Places: p.places(r), Trace: printable(r.Trace), Policy: p.policy(r),
			Capacity: r.Capacity, CapacityUnit: r.CapacityUnit, Estimate: c.quantity.estimate(samples)})
	}
	if len(measured) == 0 {
		return fmt.Errorf("no cell of %s and %s has %s in both; want one of %s", v.Old, v.New, c.quantity.Name,
			suggest.List(metricsOf(slices.Concat(cells...))))
	}
	if without := len(cells) - len(measured); without > 0 {
		c.note("%s of %s and %s left out: without %s in both", show.Counted(without, "cell"), v.Old, v.New,
			c.quantity.Name)
	}
	c.addRows(v, p, measured)
	return nil
}

func (c *Comparison) samples(of pairs) (samples []sample) {
	for _, p := range of {
		if s, ok := c.quantity.sampleOf(p); ok {
			samples = append(samples, s)
		}
	}
	return samples
}

// metricsOf returns the metrics that both results of some pair have.
func metricsOf(all pairs) []string {
	return slices.DeleteFunc(records.MetricNames(), func(name string) bool {
		return !slices.ContainsFunc(all, func(p pair) bool {
			_, old := p.old.Get(name)
			_, is := p.is.Get(name)
			return old && is
		})
	})
}
