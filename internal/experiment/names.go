package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// This file checks that everything that figures, tables, references and claims mention exists.

// SpeaksOfTimes reports whether the experiment shows or claims something about replay times, so that its output depends
// on the machine.
func (f *File) SpeaksOfTimes() bool {
	var texts []string
	for _, figure := range f.Figures {
		texts = slices.AppendSeq(append(texts, figure.Metric()), maps.Values(figure.Values))
	}
	for _, t := range f.Tables {
		texts = append(texts, t.Cells)
	}
	for _, c := range f.Claims {
		texts = append(texts, c.Forms()...)
	}
	all := strings.Join(append(texts, f.Metrics...), "\n")
	return slices.ContainsFunc(metric.NamesOfMachine(), func(name string) bool { return strings.Contains(all, name) })
}

func (c *checker) metrics() {
	for i, name := range c.Metrics {
		c.at(path{"metrics", i}, records.CheckMetric(name))
	}
}

// axes returns the places on each axis of the experiment, and on the axes of absent policies with published numbers.
func (f *File) axes() map[string][]string {
	all := map[string][]string{}
	add := func(owner string, with map[string]Values) {
		for name, values := range with {
			if f.isAmbiguous(name) {
				name = owner + "." + name
			}
			all[name] = append(all[name], values...)
		}
	}
	for _, o := range f.owners() {
		add(o.kind, o.with)
	}
	for _, kind := range partKinds {
		if parts := *kind.of(f); len(parts) > 1 {
			all[kind.Name] = labelsOf(parts)
		}
	}
	for _, r := range f.References {
		for _, p := range r.Points {
			if f.isAbsent(p) {
				add("policy", p.axes())
			}
		}
	}
	return all
}

// Dimensions returns the names of all dimensions of the experiment's records.
func (f *File) Dimensions() []string {
	return append(slices.Clone(dimensions), sortedKeys(f.axes())...)
}

// checkShown rejects a metric that cannot be shown. A metric with a value for each label is shown for all of them.
func checkShown(name string) error {
	if records.LabelsOf(name) != "" {
		return nil
	}
	return records.CheckMetric(name)
}

// dimension refuses a name that is not a dimension of a metric; "" is the default of its key.
func (c *checker) dimension(metric, name string, at path) {
	names := c.Dimensions()
	if labels := records.LabelsOf(metric); labels != "" {
		names = append(names, labels)
	}
	if name != "" {
		c.known("dimension", name, names, at)
	}
}

// places refuses places that are not on a dimension of a metric. Policies may be names of groups. Which labels there
// are is not known before the replay.
func (c *checker) places(metric string, places map[string]Values, at path) {
	for _, dimension := range sortedKeys(places) {
		here := at.sub(dimension)
		c.dimension(metric, dimension, here)
		if len(c.Changes) > 0 || dimension == records.LabelsOf(metric) {
			continue
		}
		exist := c.placesOn(dimension)
		known := make(map[string]bool, len(exist))
		for _, place := range exist {
			known[axisValue(place)] = true
		}
		for _, place := range places[dimension] {
			if !known[axisValue(place)] {
				c.at(here, suggest.Unknown(dimension, place, exist))
			}
		}
	}
}

// placesOn returns the places on a dimension that the experiment's records may have, and names that stand for several
// of them.
func (f *File) placesOn(dimension string) (places []string) {
	switch dimension {
	case records.DimTrace:
		return f.traceNames()
	case records.DimPolicy:
		return slices.Concat(f.labels(), sortedKeys(f.Groups), sortedKeys(f.Absent))
	case records.DimCapacity:
		var all []capacity.Spec
		for i := range f.Traces {
			specs, _ := f.capacitiesOf(i) // already checked
			all = append(all, specs...)
		}
		return records.Distinct(all, capacity.Spec.String)
	case records.DimSeed:
		for _, seed := range f.seeds() {
			places = append(places, strconv.FormatUint(seed, 10))
		}
		return places
	}
	return f.axes()[dimension]
}

func (c *checker) references() {
	seen := map[string]bool{}
	for i, r := range c.References {
		at := path{"references", i}
		c.required(at, "name", r.Name, "source", r.Source, "metric", r.Metric)
		c.distinct(seen, "references", r.Name, "", at)
		c.at(at.sub("metric"), checkShown(r.Metric))
		c.refuse(r.Within < 0, at.sub("within"), "within %v: want a difference, from 0", r.Within)
		for k, p := range r.Points {
			if err := p.check(); err != nil {
				c.at(at.sub("points", k), fmt.Errorf("reference %s: %w", r.Name, err))
			}
			if !c.isAbsent(p) {
				c.places(r.Metric, p.At, at.sub("points", k))
			}
		}
	}
}

// isAbsent reports whether a number belongs to a policy that is not in the experiment, whose axes are therefore missing
// too.
func (f *File) isAbsent(p Point) bool {
	labels := p.At[records.DimPolicy]
	return len(labels) > 0 && !slices.ContainsFunc(labels, func(label string) bool { return f.Absent[label] == "" })
}

// axes returns the point's places on dimensions that not every record has.
func (p Point) axes() map[string]Values {
	further := maps.Clone(p.At)
	maps.DeleteFunc(further, func(dimension string, _ Values) bool { return slices.Contains(dimensions, dimension) })
	return further
}

// check rejects a point that does not have one value for each of its places.
func (p Point) check() error {
	lists, places := 0, 1
	for _, at := range p.At {
		if len(at) > 1 {
			lists, places = lists+1, len(at)
		}
	}
	switch {
	case len(p.At) == 0:
		return fmt.Errorf("a point needs its place, for example {trace: oltp, policy: lru, capacity: 250, values: 16.47%%}")
	case lists > 1:
		return fmt.Errorf("a point can have a list for one dimension only; write several points")
	case len(p.Values) != places:
		return fmt.Errorf("a point has %d values for %d places", len(p.Values), places)
	}
	return nil
}

func (f *File) referenceNames() []string {
	return records.Distinct(f.References, func(r Reference) string { return r.Name })
}

// referenceAxes returns the names of the references' dimensions. Absent policies may have dimensions of their own.
func (f *File) referenceAxes() (names []string) {
	for _, r := range f.References {
		for _, p := range r.Points {
			names = append(names, sortedKeys(p.At)...)
		}
	}
	return names
}

// reference refuses the name of a reference that does not exist.
func (c *checker) reference(name string, at path) {
	if names := c.referenceNames(); !slices.Contains(names, name) {
		c.at(at, suggest.Unknown("reference", name, names))
	}
}

// fileName refuses a name that is not a valid file name or appears twice. Names that differ only in case are the same
// on some file systems.
func (c *checker) fileName(name string, seen map[string]bool, at path) {
	c.refuse(!fileName.MatchString(name) || len(name) > maxNameLength, at,
		"name %q: want letters, digits, - and _, because it becomes the name of a file", name)
	c.refuse(seen[strings.ToLower(name)], at, "the name %s appears twice", name)
	seen[strings.ToLower(name)] = true
}

// capacityShare is a number that figures may use as x in addition to the dimensions.
const capacityShare = "capacity_share"

func (c *checker) figures() {
	seen := map[string]bool{}
	for i, f := range c.Figures {
		at := path{"figures", i}
		c.required(at, "name", f.Name, "x", f.X, "y", f.Y+strings.Join(sortedKeys(f.Values), ""))
		if len(f.Values) > 0 {
			f = c.computed(f, at)
		}
		c.figure(f, at)
		c.style(f, at)
		c.fileName(f.Name, seen, at.sub("name"))
		dimension := func(key, name string, canBeShare bool) {
			if !canBeShare || name != capacityShare {
				c.dimension(f.Metric(), name, at.sub(key))
			}
		}
		if f.X != series.Time {
			if len(f.Along) == 0 {
				dimension("x", f.X, true)
			}
			if f.Color != "" {
				dimension("y", f.Y, true)
			}
			dimension("lines", f.Lines, false)
			dimension("panels", f.Panels, false)
		} else if f.Color == "" {
			f.Only = maps.Clone(f.Only)
			delete(f.Only, series.Label) // which labels there are is not known before the replay
		}
		c.places(f.Metric(), f.Only, at.sub("only"))
	}
}

// style refuses looks that figures do not have, and policies to highlight that are not in the experiment.
func (c *checker) style(f Figure, at path) {
	if f.Style != "" {
		o, err := look.Parse(f.Style)
		c.at(at.sub("style"), err)
		c.refuse(o.Log != "", at.sub("style"), "style has log; write the key log beside it")
	}
	if len(f.Highlight) > 0 {
		c.places(f.Metric(), map[string]Values{records.DimPolicy: f.Highlight}, at.sub("highlight"))
	}
}

// figure refuses what does not fit the kind of figure that the keys x and color ask for.
func (c *checker) figure(f Figure, at path) {
	overTime := f.X == series.Time
	switch {
	case f.Color != "" && overTime:
		c.labelsOverTime(f, at)
	case f.Color != "":
		c.heat(f, at)
	case overTime:
		c.overTime(f, at)
	default:
		c.lines(f, at)
	}
}

// computed refuses keys that do not fit computed values. Otherwise their figures are as those of any share, which it
// returns.
func (c *checker) computed(f Figure, at path) Figure {
	isHeat := f.Y != ""
	others := len(f.Along) + len(f.References) + len(f.Only[records.DimPolicy])
	c.refuse(f.Color+f.Lines != "" || others > 0 || f.X == series.Time || isHeat && len(f.Values) > 1 ||
		!isHeat && f.YLabel == "", at, "values are lines with a y-label, or with y the colour of a heat map; remove color, "+
		"lines, along, references, x: time and policy from only")
	if name, err := claims.CheckValues(f.Values, c.claimNames()); len(c.Changes) == 0 {
		c.at(at.sub("values", name), err)
	}
	if f.Values = nil; isHeat {
		f.Color = metric.HitRatio.Name
	} else {
		f.Y = metric.HitRatio.Name
	}
	return f
}

func (c *checker) lines(f Figure, at path) {
	c.refuse(f.From != 0, at.sub("from"), "from is the time at which a figure over time begins; use it with x: %s",
		series.Time)
	if len(f.Along) > 0 { // one metric against another
		if err := records.CheckMetric(f.X); err != nil {
			c.at(at.sub("x"), fmt.Errorf("with along, x is a metric: %w", err))
		}
		c.refuse(len(f.References) > 0, at.sub("references"),
			"references have one number per point, but a point with along needs two")
		for k, name := range f.Along {
			c.dimension(f.Y, name, at.sub("along", k))
		}
	}
	c.at(at.sub("y"), checkShown(f.Y))
	for k, axis := range f.Log {
		c.refuse(axis != "x" && axis != "y", at.sub("log", k), "log: want x, y or both, not %q", axis)
	}
	for _, name := range f.References {
		c.reference(name, at.sub("references"))
	}
}

func (c *checker) heat(f Figure, at path) {
	c.refuse(f.Y == f.X || f.Panels == f.X || f.Y == f.Panels, at,
		"with color, x, y and panels are three different dimensions")
	c.refuse(len(f.Along) > 0 || f.Lines != "" || len(f.References) > 0 || f.From != 0, at,
		"a heat map has cells, and neither lines nor marks; remove along, lines, references and from")
	c.at(at.sub("color"), checkShown(f.Color))
	for k, axis := range f.Log {
		c.refuse(axis != "color", at.sub("log", k), "log: with color, want color, not %q: all cells are equally large", axis)
	}
}

// labelsOverTime checks a heat map of a series.
func (c *checker) labelsOverTime(f Figure, at path) {
	c.series(f, f.Color, "color", at)
	c.refuse(f.Y != series.Label, at.sub("y"),
		"over time, the rows of a heat map are the labels of the series: want y: %s, not %s", series.Label, f.Y)
	c.refuse(f.Lines+f.Panels != "" || f.From != 0 || len(f.Along)+len(f.Log)+len(f.References) > 0, at,
		"a heat map over time has only the keys name, title, x, y, color, only, x-label and y-label; remove the others")
}

func (c *checker) overTime(f Figure, at path) {
	c.series(f, f.Y, "y", at)
	c.refuse(f.Lines+f.Panels+f.XLabel+f.YLabel != "" || len(f.Along)+len(f.Log)+len(f.References) > 0, at,
		"a figure over time has only the keys name, title, x, y, only and from; remove the others")
	c.refuse(!(f.From >= 0), at.sub("from"),
		"from %v: want a number of requests or, with windows of time, of seconds, from 0", f.From)
}

// series refuses the series of a figure if the experiment does not keep it.
func (c *checker) series(f Figure, name, key string, at path) {
	window, _ := c.window() // already checked
	c.refuse(!window.IsSet(), at.sub("x"),
		"figure %s is over time, but the experiment keeps no series; add, for example, series: 10000", f.Name)
	if !slices.Contains(series.Names, name) {
		c.at(at.sub(key), suggest.Unknown("series", name, series.Names))
	}
	c.refuse(!window.Wants(name), at.sub(key), "series: %s does not include %s", window, name)
}

func (c *checker) tables() {
	seen := map[string]bool{}
	for i, t := range c.Tables {
		at := path{"tables", i}
		c.required(at, "name", t.Name, "cells", t.Cells)
		c.at(at.sub("cells"), checkShown(t.Cells))
		if t.Against != "" {
			c.reference(t.Against, at.sub("against"))
		}
		c.fileName(t.Name, seen, at.sub("name"))
		c.dimension(t.Cells, t.Rows, at.sub("rows"))
		c.dimension(t.Cells, t.Columns, at.sub("columns"))
		c.dimension(t.Cells, t.Panels, at.sub("panels"))
		c.places(t.Cells, t.Only, at.sub("only"))
	}
}

// claimNames are the names that claims may contain.
func (f *File) claimNames() claims.Names {
	return claims.Names{Policies: append(f.labels(), sortedKeys(f.Absent)...), Groups: sortedKeys(f.Groups),
		Metrics: metric.Names(), References: f.referenceNames(),
		Axes: append(sortedKeys(f.axes()), f.referenceAxes()...), Traces: f.traceNames()}
}

func (c *checker) claims() {
	var named []string
	for i, claim := range c.Claims {
		at := path{"claims", i}
		if claim.Given != "" && !slices.Contains(named, claim.Given) {
			c.at(at.sub("given"), fmt.Errorf("%w; a precondition is a claim above with that name",
				suggest.Unknown("claim", claim.Given, named)))
		}
		if claim.Name != "" && slices.Contains(named, claim.Name) {
			c.at(at.sub("name"), fmt.Errorf("two claims are called %q", claim.Name))
		}
		if claim.Name != "" {
			named = append(named, claim.Name)
		}
		c.required(at, "claim", claim.Claim)
		within, err := claim.Check(func(claim *claims.Claim) error {
			if len(c.Changes) > 0 {
				return nil
			}
			return claim.Check(c.claimNames())
		})
		c.at(at.sub(within...), err)
	}
	for i, name := range c.Unmet {
		if !slices.Contains(named, name) {
			c.at(path{"unmet", i}, suggest.Unknown("claim", name, named))
		}
	}
}
