package report

import (
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// publishedAlone returns the published numbers of policies that are not in the experiment, for a figure that refers to
// them, as records of policies called "NAME (published)".
func publishedAlone(f *experiment.File, figure experiment.Figure) (recs []records.Record) {
	for _, name := range figure.References {
		ref := reference(f, name)
		if ref == nil || ref.Metric != figure.Y {
			continue
		}
		for _, p := range ref.Points {
			if f.Absent[p.At[records.DimPolicy]] != "" && hasPlace(figure, p) {
				recs = append(recs, publishedRecord(ref.Metric, p))
			}
		}
	}
	recs = selected(recs, figure.Only, f.Groups)
	for i := range recs {
		recs[i].Label += " (published)"
	}
	return recs
}

// hasPlace reports whether a number has exactly one place in the figure. Without a place on the horizontal axis it
// would become a line from end to end, which nobody published. Numbers that differ on an axis that the figure does not
// have would be indistinguishable.
func hasPlace(figure experiment.Figure, p results.PublishedPoint) bool {
	_, placed := p.At[figure.X]
	for dimension := range p.At {
		placed = placed && (isRecordDimension(dimension) || slices.Contains([]string{figure.X, figure.Lines, figure.Panels},
			dimension))
	}
	return placed
}

// isRecordDimension reports whether every record has the dimension, so that it is not an axis.
func isRecordDimension(dimension string) bool {
	return slices.Contains([]string{records.DimTrace, records.DimPolicy, records.DimCapacity, records.DimSeed}, dimension)
}

// publishedRecord returns a record that contains only the number and its place.
func publishedRecord(name string, p results.PublishedPoint) records.Record {
	rec := records.Record{
		Trace:        p.At[records.DimTrace],
		Label:        p.At[records.DimPolicy],
		Kind:         records.Online,
		CapacityText: p.At[records.DimCapacity],
	}
	var axes []string
	for dimension, place := range p.At {
		if !isRecordDimension(dimension) {
			axes = append(axes, dimension+"="+place)
		}
	}
	slices.Sort(axes)
	rec.Axes = strings.Join(axes, ",")
	setFigure(&rec, name, p.Value)
	return rec
}

// setFigure sets a metric of the record by name; the name was checked at loading. A published mean of counts is rounded
// if the record has an integer there.
func setFigure(rec *records.Record, name string, x float64) {
	if m, _ := metric.Lookup(name); m.Whole() {
		x = math.Round(x)
	}
	rec.SetNamed(name, x)
}
