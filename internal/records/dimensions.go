package records

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Names of the dimensions of every record. The names of its further axes follow.
const (
	DimTrace    = "trace"
	DimPolicy   = "policy" // the policy's label: its name in the experiment, or as the user wrote it
	DimCapacity = "capacity"
	DimSeed     = "seed"

	// DimCapacityShare is the capacity as a share of the distinct objects, or of their total size.
	DimCapacityShare = "capacity_share"
)

// Value is a record's place on a dimension, or one of its numbers.
type Value struct {
	Text     string  // as the user wrote it: "1%", "lru", "0.3"
	Number   float64 // if IsNumber
	IsNumber bool
}

// ValueOf returns the value of a text, as a number if it is a finite one.
func ValueOf(text string) Value {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return Value{Text: text}
	}
	return Value{Text: text, Number: x, IsNumber: true}
}

// Dim returns the record's place on a dimension: DimTrace, DimPolicy, DimCapacity, DimCapacityShare, DimSeed or the
// name of one of its Axes. ok is false if the record does not have the dimension; it then applies to all places on it
// (lru has no "small", so it is the same at every small).
func (r *Record) Dim(name string) (v Value, ok bool) {
	switch name {
	case DimTrace:
		return Value{Text: r.Trace}, true
	case DimPolicy:
		return Value{Text: r.Label}, true
	case DimCapacity:
		text := r.CapacityText
		if text == "" {
			text = strconv.FormatInt(r.Capacity, 10)
		}
		return Value{Text: text, Number: float64(r.Capacity), IsNumber: true}, true
	case DimCapacityShare:
		if r.CapacityShare == nil {
			return Value{}, false
		}
		return Value{Text: show.Share(*r.CapacityShare), Number: *r.CapacityShare, IsNumber: true}, true
	case DimSeed:
		return Value{Text: strconv.FormatUint(r.Seed, 10), Number: float64(r.Seed), IsNumber: true}, true
	}
	for axis := range strings.SplitSeq(r.Axes, ",") {
		if key, value, _ := strings.Cut(axis, "="); key == name && key != "" {
			return ValueOf(value), true
		}
	}
	return Value{}, false
}

// Texts returns the different texts of records, without "", in order of first appearance.
func Texts(recs []Record, of func(*Record) string) (texts []string) {
	for i := range recs {
		if text := of(&recs[i]); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// AxisNames returns the names of the further axes of recs, without duplicates, in order of first appearance.
func AxisNames(recs []Record) (names []string) {
	for i := range recs {
		for axis := range strings.SplitSeq(recs[i].Axes, ",") {
			if key, _, _ := strings.Cut(axis, "="); key != "" && !slices.Contains(names, key) {
				names = append(names, key)
			}
		}
	}
	return names
}

// Metric returns the value of a metric, or of a numeric setting, by name. ok is false if the record does not have it. A
// metric of every record is 0 if it was not set, unless contents of prompts are unknown, and with them what hits.
func (r *Record) Metric(name string) (x float64, ok bool) {
	if r.Contents == ContentsUnknown && metric.IsAlways(name) && name != metric.Requests.Name {
		return 0, false
	}
	if x, ok = r.Get(name); ok || metric.IsAlways(name) {
		return x, true
	}
	if !IsSetting(name) {
		return 0, false
	}
	switch x := known[name].value(r).(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// ContentsUnknown is the value of Record.Contents for prompts that have only lengths.
const ContentsUnknown = "unknown"

// IsSetting reports whether a name means a numeric setting of the replay, such as capacity_share.
func IsSetting(name string) bool {
	f, ok := known[name]
	return ok && (f.kind == reflect.Int64 || f.kind == reflect.Float64)
}

func MetricNames() []string { return metric.Names() }

// CheckMetric rejects a name that no value of a record can have, such as a metric with a value for each tenant.
func CheckMetric(name string) error {
	m, ok := metric.Lookup(name)
	switch {
	case ok:
		return nil
	case m.Labels != "":
		return fmt.Errorf("metric %s has a value for each %s; give the one you want as %s[NAME]", name, m.Labels, name)
	}
	return suggest.Unknown("metric", name, metric.Names())
}

// RanOnce reports for each record whether it is the only one of its policy on its trace at its capacity and place on
// the axes. Such a record, for example of a policy without random choices, applies to every seed.
func RanOnce(recs []Record) []bool {
	type cell struct{ trace, label, capacity, axes string }
	of := func(r *Record) cell { return cell{r.Trace, r.Label, r.CapacityText, r.Axes} }
	seeds := map[cell]int{}
	for i := range recs {
		seeds[of(&recs[i])]++
	}
	once := make([]bool, len(recs))
	for i := range recs {
		once[i] = seeds[of(&recs[i])] == 1
	}
	return once
}

// Figure is Metric without meaningless values: for a bound only hits and misses mean something.
func (r *Record) Figure(metric string) (x float64, ok bool) {
	if r.Kind == Bound && !slices.Contains([]string{"hits", "misses", "hit_ratio"}, metric) {
		return 0, false
	}
	return r.Metric(metric)
}

// Is reports whether text names the place v.
func (v Value) Is(text string) bool {
	if v.Text == text {
		return true
	}
	x, err := strconv.ParseFloat(text, 64)
	return err == nil && v.IsNumber && v.Number == x
}

// LabelsOf returns the kind of labels of a metric that has several values, such as "job" for job_hit_ratio: the
// dimension that ByLabel adds. It is "" if the name means a single value, as job_hit_ratio[web] does.
func LabelsOf(name string) string {
	if m, ok := metric.Lookup(name); !ok && m.Name == name {
		return m.Labels
	}
	return ""
}

// ByLabel splits records by the labels of a kind: each label gets a record with its own values, and is its place on the
// dimension of that kind. Other metrics are the same for all of them. A record without such values stays as it is.
// Labels that are numbers are in the order of their values, before others.
func ByLabel(recs []Record, names ...string) []Record {
	kind := LabelsOf(names[0])
	var all []Record
	for i := range recs {
		r := &recs[i]
		at := map[string]int{} // index in all, by label
		for name := range r.Names() {
			base, label, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
			if label == "" || !slices.Contains(names, base) {
				continue
			}
			place, ok := at[label]
			if !ok {
				place = len(all)
				at[label] = place
				all = append(all, *r)
				// a comma would end the place on the axis
				all[place].Axes = strings.TrimPrefix(r.Axes+","+kind+"="+strings.ReplaceAll(label, ",", ";"), ",")
			}
			x, _ := r.Get(name)
			all[place].SetNamed(base, x)
		}
		if len(at) == 0 {
			all = append(all, *r)
			continue
		}
		slices.SortStableFunc(all[len(all)-len(at):], func(a, b Record) int { return compareOn(kind, &a, &b) })
	}
	return all
}

// compareOn compares the numeric places of two records on a dimension. Numbers come before other places.
func compareOn(dimension string, a, b *Record) int {
	x, _ := a.Dim(dimension)
	y, _ := b.Dim(dimension)
	switch {
	case x.IsNumber && y.IsNumber:
		return cmp.Compare(x.Number, y.Number)
	case x.IsNumber:
		return -1
	case y.IsNumber:
		return 1
	}
	return 0
}

// IsShare reports whether a metric, or a dimension, is a ratio that is shown as a percentage.
func IsShare(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Unit == metric.Share || name == DimCapacityShare
}

func HigherIsBetter(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Better == metric.Higher
}

func LowerIsBetter(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Better == metric.Lower
}

// MetricName returns the name of a metric, or of a dimension, for people: "hit ratio".
func MetricName(name string) string {
	if m, _ := metric.Lookup(name); m.Name == name {
		return m.Label()
	}
	return strings.ReplaceAll(name, "_", " ")
}

// AxisName returns the name of a metric, or of a dimension, on the axis of a figure: "P99 latency (ms)".
func AxisName(name string) string {
	if m, _ := metric.Lookup(name); m.Name == name {
		return m.AxisLabel()
	}
	return MetricName(name)
}

// MetricText formats a value of a metric for people, as its declaration says.
func MetricText(name string, x float64) string {
	m, _ := metric.Lookup(name)
	if m.Name == "" {
		return show.Trimmed(x, 4)
	}
	return m.Text(x)
}

// DifferenceText formats the difference between two values of a metric, with its sign.
func DifferenceText(name string, x float64) string {
	m, _ := metric.Lookup(name)
	return m.DifferenceText(x)
}
