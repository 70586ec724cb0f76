package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// selected returns the records that a figure or a table shows: on each dimension in only they are at one of its places.
// A record without the dimension stays, and so does a record for all seeds if the dimension is seed. Places on the
// dimension policy may be names of groups.
func selected(recs []records.Record, only map[string]experiment.Values, groups map[string][]string) []records.Record {
	once := records.RanOnce(recs)
	var stay []records.Record
	for i, r := range recs {
		if !leftOut(&r, once[i], only, groups) {
			stay = append(stay, r)
		}
	}
	return stay
}

// byLabel returns the records with a value for each label of a metric, if it has several.
func byLabel(recs []records.Record, metric string) []records.Record {
	if records.LabelsOf(metric) == "" {
		return recs
	}
	return records.ByLabel(recs, metric)
}

func leftOut(r *records.Record, once bool, only map[string]experiment.Values, groups map[string][]string) bool {
	for dim, places := range only {
		if once && dim == records.DimSeed {
			continue
		}
		if v, ok := r.Dim(dim); ok && !slices.ContainsFunc(places, func(place string) bool {
			return v.Is(place) || dim == records.DimPolicy && slices.Contains(groups[place], v.Text)
		}) {
			return true
		}
	}
	return false
}

// published returns the numbers of a reference, one by one.
func published(ref experiment.Reference) *results.Published {
	p := &results.Published{Name: ref.Name, Source: ref.Source, Metric: ref.Metric, Within: float64(ref.Within)}
	for _, point := range ref.Points {
		for i, value := range point.Values {
			at := map[string]string{}
			for dim, places := range point.At {
				at[dim] = places[min(i, len(places)-1)]
			}
			p.Points = append(p.Points, results.PublishedPoint{At: at, Value: float64(value)})
		}
	}
	return p
}

// reference returns the numbers of the reference with a name, or nil.
func reference(f *experiment.File, name string) *results.Published {
	for _, ref := range f.References {
		if ref.Name == name {
			return published(ref)
		}
	}
	return nil
}

// pivots creates the experiment's tables. A table without records, or with too few, is left out with a note.
func pivots(in Input) (tables []*results.Tables, notes []string) {
	for _, t := range in.File.Tables {
		recs := selected(byLabel(in.Records, t.Cells), t.Only, in.File.Groups)
		if len(recs) == 0 {
			notes = append(notes, fmt.Sprintf("table %s: there are no records for it", t.Name))
			continue
		}
		pivot := results.Pivot{
			Title: t.Title, Rows: t.Rows, Columns: t.Columns, Cells: t.Cells, Panels: t.Panels,
			Against: reference(in.File, t.Against),
		}
		made, err := pivot.Tables(recs)
		if err != nil {
			notes = append(notes, fmt.Sprintf("table %s: %v", t.Name, err))
			continue
		}
		tables = append(tables, made)
	}
	return tables, notes
}

// agreements says for each table with published numbers how many of ours agree, which is the last of its notes.
func agreements(tables []*results.Tables) (said []string) {
	for _, t := range tables {
		if t.Against != nil {
			said = append(said, agreement(t))
		}
	}
	return said
}

// agreement says how many numbers of a table agree with what was published.
func agreement(t *results.Tables) string {
	return cmp.Or(t.Title, records.MetricName(t.Pivot.Cells)) + ": " + t.Notes[len(t.Notes)-1]
}

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
	rec := records.Record{Trace: p.At[records.DimTrace], Label: p.At[records.DimPolicy], Kind: records.Online,
		CapacityText: p.At[records.DimCapacity]}
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
