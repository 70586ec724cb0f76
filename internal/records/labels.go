package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
)

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
