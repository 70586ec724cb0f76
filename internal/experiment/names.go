package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
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

func (f *File) checkMetrics() error {
	for i, name := range f.Metrics {
		if err := records.CheckMetric(name); err != nil {
			return f.errorAt(err, "metrics", i)
		}
	}
	return nil
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
	for _, t := range f.Traces {
		add("trace", t.With)
	}
	for _, p := range f.Policies {
		add("policy", p.With)
	}
	for _, kind := range partKinds {
		parts := *kind.of(f)
		for _, p := range parts {
			add(kind.Name, p.With)
		}
		if len(parts) > 1 {
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

// checkDimension rejects a name that is not a dimension of a metric; "" is the default of its key.
func (f *File) checkDimension(metric, name string, path ...any) error {
	names := f.Dimensions()
	if labels := records.LabelsOf(metric); labels != "" {
		names = append(names, labels)
	}
	if name != "" && !slices.Contains(names, name) && len(f.Changes) == 0 {
		return f.errorAt(suggest.Unknown("dimension", name, names), path...)
	}
	return nil
}

// checkPlaces rejects places that are not on a dimension of a metric. Policies may be names of groups. Which labels
// there are is not known before the replay.
func (f *File) checkPlaces(metric string, at map[string]Values, path ...any) error {
	for _, dimension := range sortedKeys(at) {
		here := append(slices.Clone(path), dimension)
		if err := f.checkDimension(metric, dimension, here...); err != nil {
			return err
		}
		if len(f.Changes) > 0 || dimension == records.LabelsOf(metric) {
			continue
		}
		exist := f.placesOn(dimension)
		known := make(map[string]bool, len(exist))
		for _, place := range exist {
			known[axisValue(place)] = true
		}
		for _, place := range at[dimension] {
			if !known[axisValue(place)] {
				return f.errorAt(suggest.Unknown(dimension, place, exist), here...)
			}
		}
	}
	return nil
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
		seen := map[string]bool{}
		for i := range f.Traces {
			specs, _ := f.capacitiesOf(i) // already checked
			for _, spec := range specs {
				if text := spec.String(); !seen[text] {
					seen[text] = true
					places = append(places, text)
				}
			}
		}
		return places
	case records.DimSeed:
		for _, seed := range f.seeds() {
			places = append(places, strconv.FormatUint(seed, 10))
		}
		return places
	}
	return f.axes()[dimension]
}

func (f *File) checkReferences() error {
	seen := map[string]bool{}
	for i, r := range f.References {
		if err := f.required([]any{"references", i}, "name", r.Name, "source", r.Source, "metric", r.Metric); err != nil {
			return err
		}
		if seen[r.Name] {
			return f.errorAt(fmt.Errorf("two references are called %s; give one of them another name", r.Name), "references", i)
		}
		seen[r.Name] = true
		if err := checkShown(r.Metric); err != nil {
			return f.errorAt(err, "references", i, "metric")
		}
		if r.Within < 0 {
			return f.errorAt(fmt.Errorf("within %v: want a difference, from 0", r.Within), "references", i, "within")
		}
		for k, p := range r.Points {
			if err := p.check(); err != nil {
				return f.errorAt(fmt.Errorf("reference %s: %w", r.Name, err), "references", i, "points", k)
			}
			if f.isAbsent(p) {
				continue
			}
			if err := f.checkPlaces(r.Metric, p.At, "references", i, "points", k); err != nil {
				return err
			}
		}
	}
	return nil
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

func (f *File) referenceNames() (names []string) {
	for _, r := range f.References {
		names = append(names, r.Name)
	}
	return names
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

func (f *File) hasReference(name string) error {
	if names := f.referenceNames(); !slices.Contains(names, name) {
		return suggest.Unknown("reference", name, names)
	}
	return nil
}

// checkName rejects a name that is not a valid file name or appears twice. Names that differ only in case are the same
// on some file systems.
func (f *File) checkName(name string, seen map[string]bool, path ...any) error {
	switch {
	case !fileName.MatchString(name) || len(name) > maxNameLength:
		return f.errorAt(fmt.Errorf("name %q: want letters, digits, - and _, because it "+
			"becomes the name of a file", name), path...)
	case seen[strings.ToLower(name)]:
		return f.errorAt(fmt.Errorf("the name %s appears twice", name), path...)
	}
	seen[strings.ToLower(name)] = true
	return nil
}

// capacityShare is a number that figures may use as x in addition to the dimensions.
const capacityShare = "capacity_share"

func (f *File) checkFigures() error {
	seen := map[string]bool{}
	for i, figure := range f.Figures {
		shown := figure.Y + strings.Join(sortedKeys(figure.Values), "")
		if err := f.required([]any{"figures", i}, "name", figure.Name, "x", figure.X, "y", shown); err != nil {
			return err
		}
		if err := f.checkFigure(figure, seen, i); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) checkFigure(figure Figure, seen map[string]bool, i int) error {
	if len(figure.Values) > 0 {
		return f.checkComputed(figure, seen, i)
	}
	if figure.Color != "" && figure.X == series.Time {
		return f.checkLabelsOverTime(figure, seen, i)
	}
	if figure.Color != "" {
		return f.checkHeat(figure, seen, i)
	}
	if figure.X == series.Time {
		return f.checkOverTime(figure, seen, i)
	}
	if figure.From != 0 {
		return f.errorAt(fmt.Errorf("from is the time at which a figure over time begins; use it with x: %s", series.Time),
			"figures", i, "from")
	}
	x := figure.X
	if x == capacityShare {
		x = ""
	}
	if len(figure.Along) > 0 {
		if err := f.checkAlong(figure, i); err != nil {
			return err
		}
		x = ""
	}
	if err := checkShown(figure.Y); err != nil {
		return f.errorAt(err, "figures", i, "y")
	}
	for k, axis := range figure.Log {
		if axis != "x" && axis != "y" {
			return f.errorAt(fmt.Errorf("log: want x, y or both, not %q", axis), "figures", i, "log", k)
		}
	}
	for _, name := range figure.References {
		if err := f.hasReference(name); err != nil {
			return f.errorAt(err, "figures", i, "references")
		}
	}
	return cmp.Or(f.checkName(figure.Name, seen, "figures", i, "name"),
		f.checkDimension(figure.Y, x, "figures", i, "x"),
		f.checkDimension(figure.Y, figure.Lines, "figures", i, "lines"),
		f.checkDimension(figure.Y, figure.Panels, "figures", i, "panels"),
		f.checkPlaces(figure.Y, figure.Only, "figures", i, "only"))
}

// checkComputed rejects keys that do not fit computed values. Otherwise their figures are as those of any share.
func (f *File) checkComputed(figure Figure, seen map[string]bool, i int) error {
	isHeat := figure.Y != ""
	others := len(figure.Along) + len(figure.References) + len(figure.Only[records.DimPolicy])
	if figure.Color+figure.Lines != "" || others > 0 || figure.X == series.Time || isHeat && len(figure.Values) > 1 ||
		!isHeat && figure.YLabel == "" {
		return f.errorAt(fmt.Errorf("values are lines with a y-label, or with y the colour of a heat map; remove color, "+
			"lines, along, references, x: time and policy from only"), "figures", i)
	}
	if name, err := claims.CheckValues(figure.Values, f.claimNames()); err != nil && len(f.Changes) == 0 {
		return f.errorAt(err, "figures", i, "values", name)
	}
	if figure.Values = nil; isHeat {
		figure.Color = metric.HitRatio.Name
	} else {
		figure.Y = metric.HitRatio.Name
	}
	return f.checkFigure(figure, seen, i)
}

// checkHeat rejects keys that do not fit a heat map.
func (f *File) checkHeat(figure Figure, seen map[string]bool, i int) error {
	switch {
	case slices.Contains([]string{figure.Y, figure.Panels}, figure.X) || figure.Y == figure.Panels:
		return f.errorAt(fmt.Errorf("with color, x, y and panels are three different dimensions"), "figures", i)
	case len(figure.Along) > 0 || figure.Lines != "" || len(figure.References) > 0 || figure.From != 0:
		return f.errorAt(fmt.Errorf("a heat map has cells, and neither lines nor marks; remove along, lines, references and "+
			"from"), "figures", i)
	}
	if err := checkShown(figure.Color); err != nil {
		return f.errorAt(err, "figures", i, "color")
	}
	for k, axis := range figure.Log {
		if axis != "color" {
			return f.errorAt(fmt.Errorf("log: with color, want color, not %q: all cells are equally large", axis), "figures", i,
				"log", k)
		}
	}
	dimension := func(name, key string) error {
		if name == capacityShare {
			return nil
		}
		return f.checkDimension(figure.Color, name, "figures", i, key)
	}
	return cmp.Or(f.checkName(figure.Name, seen, "figures", i, "name"),
		dimension(figure.X, "x"), dimension(figure.Y, "y"),
		f.checkDimension(figure.Color, figure.Panels, "figures", i, "panels"),
		f.checkPlaces(figure.Color, figure.Only, "figures", i, "only"))
}

// checkSeries rejects the series of a figure if the experiment does not keep it.
func (f *File) checkSeries(figure Figure, name, key string, i int) error {
	window, err := f.window()
	switch {
	case err != nil:
		return err
	case !window.IsSet():
		return f.errorAt(fmt.Errorf("figure %s is over time, but the experiment keeps no series; add, for example, series: "+
			"10000", figure.Name), "figures", i, "x")
	case !slices.Contains(series.Names, name):
		return f.errorAt(suggest.Unknown("series", name, series.Names), "figures", i, key)
	case !window.Wants(name):
		return f.errorAt(fmt.Errorf("series: %s does not include %s", window, name), "figures", i, key)
	}
	return nil
}

// checkLabelsOverTime rejects keys that do not fit a heat map of a series.
func (f *File) checkLabelsOverTime(figure Figure, seen map[string]bool, i int) error {
	if err := f.checkSeries(figure, figure.Color, "color", i); err != nil {
		return err
	}
	switch {
	case figure.Y != series.Label:
		return f.errorAt(fmt.Errorf("over time, the rows of a heat map are the labels of the series: want y: %s, not %s",
			series.Label, figure.Y), "figures", i, "y")
	case figure.Lines+figure.Panels != "" || figure.From != 0 || len(figure.Along)+len(figure.Log)+
		len(figure.References) > 0:
		return f.errorAt(fmt.Errorf("a heat map over time has only the keys name, title, x, y, color, only, x-label and "+
			"y-label; remove the others"), "figures", i)
	}
	return cmp.Or(f.checkName(figure.Name, seen, "figures", i, "name"),
		f.checkPlaces(figure.Color, figure.Only, "figures", i, "only"))
}

// checkOverTime rejects keys that do not fit a figure over time.
func (f *File) checkOverTime(figure Figure, seen map[string]bool, i int) error {
	if err := f.checkSeries(figure, figure.Y, "y", i); err != nil {
		return err
	}
	switch {
	case figure.Lines+figure.Panels+figure.XLabel+figure.YLabel != "" || len(figure.Along)+len(figure.Log)+
		len(figure.References) > 0:
		return f.errorAt(fmt.Errorf("a figure over time has only the keys name, title, x, y, only and from; remove the "+
			"others"), "figures", i)
	case !(figure.From >= 0):
		return f.errorAt(fmt.Errorf("from %v: want a number of requests or, with windows of time, of seconds, from 0",
			figure.From), "figures", i, "from")
	}
	only := maps.Clone(figure.Only)
	delete(only, series.Label) // which labels there are is not known before the replay
	return cmp.Or(f.checkName(figure.Name, seen, "figures", i, "name"),
		f.checkPlaces(figure.Y, only, "figures", i, "only"))
}

// checkAlong rejects keys that do not fit a figure of one metric against another.
func (f *File) checkAlong(figure Figure, i int) error {
	if err := records.CheckMetric(figure.X); err != nil {
		return f.errorAt(fmt.Errorf("with along, x is a metric: %w", err), "figures", i, "x")
	}
	if len(figure.References) > 0 {
		return f.errorAt(fmt.Errorf("references have one number per point, but a point with along needs two"), "figures", i,
			"references")
	}
	for k, name := range figure.Along {
		if err := f.checkDimension(figure.Y, name, "figures", i, "along", k); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) checkTables() error {
	seen := map[string]bool{}
	for i, table := range f.Tables {
		if err := f.required([]any{"tables", i}, "name", table.Name, "cells", table.Cells); err != nil {
			return err
		}
		if err := checkShown(table.Cells); err != nil {
			return f.errorAt(err, "tables", i, "cells")
		}
		if table.Against != "" {
			if err := f.hasReference(table.Against); err != nil {
				return f.errorAt(err, "tables", i, "against")
			}
		}
		err := cmp.Or(f.checkName(table.Name, seen, "tables", i, "name"),
			f.checkDimension(table.Cells, table.Rows, "tables", i, "rows"),
			f.checkDimension(table.Cells, table.Columns, "tables", i, "columns"),
			f.checkDimension(table.Cells, table.Panels, "tables", i, "panels"),
			f.checkPlaces(table.Cells, table.Only, "tables", i, "only"))
		if err != nil {
			return err
		}
	}
	return nil
}

// claimNames are the names that claims may contain.
func (f *File) claimNames() claims.Names {
	return claims.Names{
		Policies:   append(f.labels(), sortedKeys(f.Absent)...),
		Groups:     sortedKeys(f.Groups),
		Metrics:    metric.Names(),
		References: f.referenceNames(),
		Axes:       append(sortedKeys(f.axes()), f.referenceAxes()...),
		Traces:     f.traceNames(),
	}
}

func (f *File) checkClaims() error {
	for i, c := range f.Claims {
		if err := f.required([]any{"claims", i}, "claim", c.Claim); err != nil {
			return err
		}
		path, err := c.Check(func(claim *claims.Claim) error {
			if len(f.Changes) > 0 {
				return nil
			}
			return claim.Check(f.claimNames())
		})
		if err != nil {
			return f.errorAt(err, append([]any{"claims", i}, path...)...)
		}
	}
	return nil
}
