package metric

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Values are what was measured, by metric. The zero value is empty. Copies are independent of each other.
type Values struct {
	all []value // by name
}

// value is one figure. That of a metric of whole numbers is exact in whole, beyond 2^53 too.
type value struct {
	name  string
	whole int64
	x     float64
}

// Len returns how many values there are.
func (v Values) Len() int { return len(v.all) }

// find returns the place of a name, or where it belongs.
func (v Values) find(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(v.all, name, func(have value, name string) int { return cmp.Compare(have.name, name) })
}

// put leaves other copies of v as they are.
func (v *Values) put(new value) {
	at, ok := v.find(new.name)
	if ok {
		v.all = slices.Clone(v.all)
		v.all[at] = new
		return
	}
	v.all = slices.Insert(slices.Clip(v.all), at, new)
}

// Set says what was measured of a metric.
func (v *Values) Set(m Metric, x float64) { v.SetNamed(m.Name, x) }

// SetInt says what was measured of a metric of whole numbers.
func (v *Values) SetInt(m Metric, n int64) { v.SetNamedInt(m.Name, n) }

// SetNamed is Set for a metric that has a name only, as values by labels do: tenant_hit_ratio[web].
func (v *Values) SetNamed(name string, x float64) { v.put(value{name, int64(x), x}) }

// SetNamedInt is SetInt for a metric that has a name only.
func (v *Values) SetNamedInt(name string, n int64) { v.put(value{name, n, float64(n)}) }

// SetQuotient says that a metric is part/whole; where that does not exist, as the whole is 0, the metric is absent.
func (v *Values) SetQuotient(m Metric, part, whole float64) {
	v.Delete(m)
	if whole != 0 {
		v.Set(m, part/whole)
	}
}

// Delete takes the value of a metric away.
func (v *Values) Delete(m Metric) {
	if at, ok := v.find(m.Name); ok {
		v.all = slices.Delete(slices.Clone(v.all), at, at+1)
	}
}

// Get returns the value of the metric with that name; ok is false where it was not measured.
func (v Values) Get(name string) (x float64, ok bool) {
	at, ok := v.find(name)
	if !ok {
		return 0, false
	}
	return v.all[at].x, true
}

// GetInt is Get for a metric of whole numbers.
func (v Values) GetInt(name string) (n int64, ok bool) {
	at, ok := v.find(name)
	if !ok {
		return 0, false
	}
	return v.all[at].whole, true
}

// Has reports whether the metric was measured.
func (v Values) Has(m Metric) bool {
	_, ok := v.find(m.Name)
	return ok
}

// Float returns the value of a metric, 0 where it was not measured.
func (v Values) Float(m Metric) float64 {
	x, _ := v.Get(m.Name)
	return x
}

// Int returns the value of a metric of whole numbers, 0 where it was not measured.
func (v Values) Int(m Metric) int64 {
	n, _ := v.GetInt(m.Name)
	return n
}

// Names yields the names of what was measured, in alphabetical order.
func (v Values) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, x := range v.all {
			if !yield(x.name) {
				return
			}
		}
	}
}

// Merge returns the values of two parts together, each by the rule of its metric. The other part comes after v.
func (v Values) Merge(other Values) Values {
	both := v
	for _, part := range other.all {
		both.put(v.merged(other, part))
	}
	for _, x := range both.all { // once all that they are made of is there
		if m, _ := Lookup(x.name); m.Merge.rule == quotient {
			label := labelOf(x.name)
			part, _ := both.Get(m.Merge.part + label)
			whole, _ := both.Get(m.Merge.whole + label)
			both.SetNamed(x.name, Divide(part, whole))
		}
	}
	return both
}

// merged returns a value of other together with that of v.
func (v Values) merged(other Values, part value) value {
	at, ok := v.find(part.name)
	if !ok {
		return part
	}
	m, _ := Lookup(part.name)
	switch have := v.all[at]; m.Merge.rule {
	case sum:
		return value{part.name, have.whole + part.whole, have.x + part.x}
	case largest:
		return value{part.name, max(have.whole, part.whole), max(have.x, part.x)}
	case mean:
		a, _ := v.Get(m.Merge.whole)
		b, _ := other.Get(m.Merge.whole)
		if a+b > 0 {
			x := (have.x*a + part.x*b) / (a + b)
			return value{part.name, int64(x), x}
		}
	}
	return part
}

// labelOf returns the label of a value with its brackets: that of tenant_hits[web] is [web], and "" that of hits.
func labelOf(name string) string {
	if at := strings.IndexByte(name, '['); at >= 0 {
		return name[at:]
	}
	return ""
}

// Divide returns part/whole, 0 where the whole is 0.
func Divide(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// ValuesOf returns values by the names of their metrics.
func ValuesOf(byName map[string]float64) (v Values) {
	for name, x := range byName {
		v.SetNamed(name, x)
	}
	return v
}
