package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

// What figures show that is computed from metrics of several policies.
var (
	computed      = metric.Metric{Name: "computed", Unit: metric.Ratio, Digits: 3, Doc: "a value of a figure (key values)"}
	computedShare = metric.Metric{Name: "computed_share", Unit: metric.Share, Digits: 1,
		Doc: "a value of a figure (key values) that is a share or a difference of shares"}
)

func init() { metric.Register("figures", computed, computedShare) }

func isComputed(metric string) bool { return metric == computed.Name || metric == computedShare.Name }

// computedFor returns a record for each value of a figure at each point, named by the value, the figure that shows
// them, and notes on values without any point. Values are computed as in claims: from means over the seeds. The records
// are those that the figure selects.
func computedFor(in Input, f experiment.Figure) (shown experiment.Figure, all []records.Record, notes []string,
	err error) {
	data := indexedOf(in.File, in.Records)
	shows := computedShare
	var values []*claims.Value
	names := slices.Sorted(maps.Keys(f.Values))
	for _, name := range names {
		v, err := claims.ParseValue(f.Values[name])
		if err != nil {
			return f, nil, nil, fmt.Errorf("figure %s: %s: %w", f.Name, name, err)
		}
		values = append(values, v)
		if !v.IsShare() {
			shows = computed
		}
	}
	for i, v := range values {
		points, reason := v.At(data.of(v))
		if len(points) == 0 && len(in.Records) > 0 {
			notes = append(notes, fmt.Sprintf("figure %s: %s has no value: %s", f.Name, names[i], reason))
		}
		for _, p := range points {
			all = append(all, computedRecord(names[i], p, shows))
		}
	}
	f.Only = nil
	if f.Y != "" {
		f.Color = shows.Name
		return f, all, notes, nil
	}
	f.Y = shows.Name
	return f, all, notes, nil
}

// computedRecord returns the record of a value at a point. It has only what figures look at: where it is.
func computedRecord(name string, p claims.ValuePoint, shows metric.Metric) records.Record {
	r := records.Record{
		Trace: p.Record.Trace, Policy: name, Label: name, Kind: records.Online, Capacity: p.Record.Capacity,
		CapacityUnit: p.Record.CapacityUnit, CapacityText: p.Record.CapacityText, CapacityShare: p.Record.CapacityShare,
		Axes: p.Axes,
	}
	if slices.Contains(p.Over, records.DimTrace) {
		r.Trace = "all traces"
	}
	r.Set(shows, p.X)
	return r
}

// valuesCaption says how the values of a figure are computed, from the records that it selects; "" if it shows a
// metric.
func valuesCaption(in Input, f experiment.Figure) string {
	if len(f.Values) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		parts = append(parts, fmt.Sprintf("%s is %s", name, strings.Join(strings.Fields(f.Values[name]), " ")))
	}
	text := capitalised(strings.Join(parts, "; ")) + "."
	if n := seedsOf(in.Records); n > 1 {
		text += fmt.Sprintf(" Computed from means over %d seeds.", n)
	}
	return text
}

// joined joins sentences.
func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }
