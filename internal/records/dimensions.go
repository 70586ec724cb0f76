package records

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/suggest"
)

// Names of the dimensions that every record has. The names of its further axes come after them.
const (
	DimTrace    = "trace"
	DimPolicy   = "policy" // the label of the policy: its name in the experiment, or as the user wrote it
	DimCapacity = "capacity"
	DimSeed     = "seed"

	// DimCapacityShare is the capacity as a part of the distinct objects, or of the sum of their sizes.
	DimCapacityShare = "capacity_share"
)

// Value is a record's place on a dimension, or a figure of it.
type Value struct {
	Text     string  // as the user wrote it: "1%", "lru", "0.3"
	Number   float64 // where IsNumber
	IsNumber bool
}

// newValue returns the value of a text, a number where it can be read as a finite one.
func newValue(text string) Value {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return Value{Text: text}
	}
	return Value{Text: text, Number: x, IsNumber: true}
}

// Dim returns the record's place on a dimension: DimTrace, DimPolicy, DimCapacity, DimCapacityShare, DimSeed or the
// name of one of its Axes. ok is false where the record has no such dimension; what is said of all places on it then
// holds for the record too (lru has no "small", so it is the same at every small).
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
		return Value{Text: Share(*r.CapacityShare), Number: *r.CapacityShare, IsNumber: true}, true
	case DimSeed:
		return Value{Text: strconv.FormatUint(r.Seed, 10), Number: float64(r.Seed), IsNumber: true}, true
	}
	for axis := range strings.SplitSeq(r.Axes, ",") {
		if key, value, _ := strings.Cut(axis, "="); key == name && key != "" {
			return newValue(value), true
		}
	}
	return Value{}, false
}

// AxisNames returns the names of the further axes of recs, each once, in order of first appearance.
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

// Metric returns the value of a metric by its name, or of a setting that is a number. ok is false where this record
// does not have it. A metric that every record has is 0 where it was not set.
func (r *Record) Metric(name string) (x float64, ok bool) {
	if x, ok = r.Get(name); ok || alwaysThere(name) {
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

// IsSetting reports whether a name is that of a number that says how a trace was replayed, capacity_share for example.
func IsSetting(name string) bool {
	f, ok := known[name]
	return ok && (f.kind == reflect.Int64 || f.kind == reflect.Float64)
}

// MetricNames returns the names of all metrics.
func MetricNames() []string { return metric.Names() }

// CheckMetric refuses a name that no value of a record can have, such as that of a metric which has one for each
// tenant.
func CheckMetric(name string) error {
	m, ok := metric.Lookup(name)
	switch {
	case ok:
		return nil
	case m.Labels != "":
		return fmt.Errorf("metric %s has a value for each %s; write %s[NAME] for that of one", name, m.Labels, name)
	}
	return suggest.Unknown("metric", name, metric.Names())
}

// RanOnce reports for each record whether it is the only one of its policy on its trace at its capacity and place on
// the axes. Such a record, of a policy that makes no random choices say, stands for every seed.
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
