package claims

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// Names are the names that the claims of an experiment may contain.
type Names struct {
	Policies   []string // labels; also those that File.Absent explains
	Groups     []string
	Metrics    []string // metrics of the records, and counters of the policies
	References []string
	Axes       []string // dimensions other than trace, capacity and seed
	Traces     []string // nil: traces are not checked
}

// withLabels adds the dimensions of the metrics among names that have a value for each label.
func (n Names) withLabels(names []string) Names {
	n.Axes, n.Metrics = slices.Clip(n.Axes), slices.Clip(n.Metrics)
	for _, name := range names {
		if labels := records.LabelsOf(name); labels != "" {
			n.Axes, n.Metrics = append(n.Axes, labels), append(n.Metrics, name)
		}
	}
	return n
}

// Check returns an error for a name in the claim that the experiment does not have.
func (c *Claim) Check(n Names) error {
	n = n.withLabels(c.Figures())
	for _, u := range c.uses() {
		if err := u.check(n); err != nil {
			return err
		}
	}
	for _, cond := range c.conditions {
		for _, trace := range cond.Values {
			if cond.Dimension == records.DimTrace && n.Traces != nil && !slices.Contains(n.Traces, trace) {
				return suggest.Unknown("trace", trace, n.Traces)
			}
		}
	}
	return nil
}

// Figures returns the names in the claim that are metrics or references, with duplicates.
func (c *Claim) Figures() (names []string) {
	for _, u := range c.uses() {
		if u.as == asFigure || u.as == asOpenFigure {
			names = append(names, u.name)
		}
	}
	return names
}

// Replays are the records that a claim looks at, by policies and conditions. What an aggregate or "at" of a claim
// narrows further is not taken into account.
type Replays struct {
	policies   []string // labels, groups and dimensions
	conditions []records.Condition
}

// Replays returns those of the claim.
func (c *Claim) Replays() Replays {
	of := Replays{conditions: c.conditions}
	for _, u := range c.uses() {
		if u.as == asPolicy || u.as == asMember || u.as == asOver {
			of.policies = append(of.policies, u.name)
		}
	}
	return of
}

// Has reports whether the claim may look at a record that has its names, given the groups of the experiment.
func (r *Replays) Has(rec *records.Record, groups map[string][]string) bool {
	named := func(name string) bool { return withoutSpaces(name) == withoutSpaces(rec.Label) }
	return rec.MeetsIfPlaced(r.conditions) && slices.ContainsFunc(r.policies, func(name string) bool {
		return named(name) || IsPredefinedGroup(name) || slices.ContainsFunc(groups[name], named)
	})
}

// use is one name in a claim, and the kinds of names that are allowed there.
type use struct {
	name string
	as   useAs
}

type useAs int

const (
	asPolicy     useAs = iota // hit_ratio(NAME)
	asMember                  // among NAME: a policy or a group
	asFigure                  // NAME(lru): a metric or a reference
	asOpenFigure              // NAME within "over GROUP of": a metric, a reference or a dimension
	asValue                   // NAME alone elsewhere: a dimension or a reference
	asDimension               // with NAME, where NAME
	asOver                    // over NAME: a dimension, a policy or a group
)

// uses returns the claim's names, in order.
func (c *Claim) uses() (all []use) {
	for _, x := range c.says.operands() {
		all = usesOf(x, false, all)
	}
	switch s := c.says.(type) {
	case trend:
		all = append(all, use{s.along, asDimension})
	case ranking:
		for _, n := range s.among {
			all = append(all, use{n, asMember})
		}
	}
	for _, cond := range c.conditions {
		all = append(all, use{cond.Dimension, asDimension})
	}
	return all
}

// usesOf appends the names in x. open says that x is within "over", where the policy of a single name comes from the
// group.
func usesOf(x expr, open bool, all []use) []use {
	switch x := x.(type) {
	case figure:
		all = append(all, use{x.name, asFigure}, use{x.policy, asPolicy})
	case fixed:
		for _, c := range x.at {
			all = append(all, use{c.Dimension, asDimension})
		}
	case name:
		if open {
			all = append(all, use{string(x), asOpenFigure})
		} else {
			all = append(all, use{string(x), asValue})
		}
	case over:
		as := asMember
		if len(x.names) == 1 {
			as = asOver
		}
		for _, n := range x.names {
			all = append(all, use{n, as})
		}
		open = true
	}
	for _, part := range x.parts() {
		all = usesOf(part, open, all)
	}
	return all
}

func (u use) check(n Names) error {
	dimensions := slices.Concat(fixedDimensions, n.Axes)
	groups := slices.Concat(n.Groups, predefined)
	kind, exist := "", []string(nil)
	switch u.as {
	case asPolicy:
		kind, exist = "policy", n.Policies
	case asMember:
		kind, exist = "policy or group", slices.Concat(n.Policies, groups)
	case asFigure:
		kind, exist = "metric or reference", slices.Concat(n.Metrics, n.References)
	case asOpenFigure:
		kind, exist = "metric, reference or dimension", slices.Concat(n.Metrics, n.References, dimensions)
	case asValue:
		if slices.Contains(n.Metrics, u.name) {
			return fmt.Errorf("%s of which policy? Write %s(POLICY)", u.name, u.name)
		}
		kind, exist = "dimension or reference", slices.Concat(dimensions, n.References)
	case asDimension:
		kind, exist = "dimension", dimensions
	case asOver:
		kind, exist = "dimension, policy or group", slices.Concat(dimensions, n.Policies, groups)
	}
	if isFigure(u.name) && (u.as == asFigure || u.as == asOpenFigure) {
		return nil
	}
	if slices.Contains(exist, u.name) || slices.ContainsFunc(exist,
		func(e string) bool { return withoutSpaces(e) == withoutSpaces(u.name) }) {
		return nil
	}
	return suggest.Unknown(kind, u.name, exist)
}

// isFigure reports whether records may have a number of that name: a metric, possibly with a label, or a setting, as in
// hit_ratio(uniform) == capacity_share(uniform).
func isFigure(name string) bool {
	_, ok := metric.Lookup(name)
	return ok || records.IsSetting(name)
}
