package metric

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
)

// Values are measured values, by metric. The zero value is empty. Copies are independent of each other.
type Values struct {
	all []value // by name
}

// value is one number. For a metric of whole numbers, whole is exact even above 2^53.
type value struct {
	name  string
	whole int64
	x     float64
}

func (v Values) Len() int { return len(v.all) }

// find returns the index of a name, or where to insert it.
func (v Values) find(name string) (at int, ok bool) {
	return slices.BinarySearchFunc(v.all, name, func(have value, name string) int { return cmp.Compare(have.name, name) })
}

// put copies what it changes, so that other copies of v keep their values.
func (v *Values) put(new value) {
	at, ok := v.find(new.name)
	if ok {
		v.all = slices.Clone(v.all)
		v.all[at] = new
		return
	}
	v.all = slices.Insert(slices.Clip(v.all), at, new)
}

func (v *Values) Set(m Metric, x float64) { v.SetNamed(m.Name, x) }

// SetInt sets the value of a metric of whole numbers.
func (v *Values) SetInt(m Metric, n int64) { v.SetNamedInt(m.Name, n) }

// SetNamed is Set by name, for values with labels: tenant_hit_ratio[web].
func (v *Values) SetNamed(name string, x float64) { v.put(value{name, int64(x), x}) }

// SetNamedInt is SetInt by name.
func (v *Values) SetNamedInt(name string, n int64) { v.put(value{name, n, float64(n)}) }

// SetQuotient sets a metric to part/whole; if the whole is 0, the metric is absent.
func (v *Values) SetQuotient(m Metric, part, whole float64) {
	v.Delete(m)
	if whole != 0 {
		v.Set(m, part/whole)
	}
}

func (v *Values) Delete(m Metric) {
	if at, ok := v.find(m.Name); ok {
		v.all = slices.Delete(slices.Clone(v.all), at, at+1)
	}
}

// Get returns the value of the metric with that name; ok is false if it was not measured.
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

func (v Values) Has(m Metric) bool {
	_, ok := v.find(m.Name)
	return ok
}

// Float returns the value of a metric, 0 if it was not measured.
func (v Values) Float(m Metric) float64 {
	x, _ := v.Get(m.Name)
	return x
}

// Int returns the value of a metric of whole numbers, 0 if it was not measured.
func (v Values) Int(m Metric) int64 {
	n, _ := v.GetInt(m.Name)
	return n
}

// Names yields the names of the measured metrics, in alphabetical order.
func (v Values) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, x := range v.all {
			if !yield(x.name) {
				return
			}
		}
	}
}

// Split returns the values that are the same on every machine, and the others by name.
func (v Values) Split() (same Values, ofMachine map[string]float64) {
	ofMachine = map[string]float64{}
	for _, x := range v.all {
		if m, _ := Lookup(x.name); m.OfMachine {
			ofMachine[x.name] = x.x
		} else {
			same.all = append(same.all, x)
		}
	}
	return same, ofMachine
}

// Merge combines the values of two parts, each by the rule of its metric. The other part comes after v.
func (v Values) Merge(other Values) Values {
	both := v
	for _, part := range other.all {
		both.put(v.merged(other, part))
	}
	for _, x := range both.all { // when all their inputs are there
		if m, _ := Lookup(x.name); m.Merge.rule == quotient {
			label := x.name[len(m.Name):] // [web] of tenant_hits[web], "" of hits
			part, _ := both.Get(m.Merge.part + label)
			whole, _ := both.Get(m.Merge.whole + label)
			both.SetNamed(x.name, Divide(part, whole))
		}
	}
	return both
}

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
			x := (float64(have.x*a) + float64(part.x*b)) / (a + b)
			return value{part.name, int64(x), x}
		}
	}
	return part
}

// Divide returns part/whole, 0 if the whole is 0.
func Divide(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

func ValuesOf(byName map[string]float64) (v Values) {
	for name, x := range byName {
		v.SetNamed(name, x)
	}
	return v
}

// Batches are consecutive parts of a run, as many requests or windows each. What a model of time measures in them is
// correlated from request to request, but hardly from batch to batch, so that the batches tell how much a value of the
// whole run is due to chance (batch means; Law, Simulation Modeling and Analysis, chapter 9).
const Batches = 20

const batchLabels = "batches"

// InBatches declares the values of a metric in the batches of a run. A record has them as m_batches[0] and so on.
func InBatches(m Metric) Metric {
	return Metric{Name: m.Name + "_" + batchLabels, Unit: m.Unit, Digits: m.Digits, Better: m.Better, Merge: Apart,
		Labels: batchLabels, Doc: m.Name + " in each of " + strconv.Itoa(Batches) + " consecutive parts of the run, " +
			"from which claims compute intervals"}
}

// InBatch is the name of a metric's value in a batch.
func InBatch(name string, batch int) string {
	return name + "_" + batchLabels + "[" + strconv.Itoa(batch) + "]"
}

// SetBatches sets the values of a metric in the batches, one each; nothing if there are not as many.
func (v *Values) SetBatches(m Metric, values []float64) {
	if len(values) != Batches {
		return
	}
	for i, x := range values {
		v.SetNamed(InBatch(m.Name, i), x)
	}
}

// InBatches returns the values of a metric in the batches; nil if they are not known.
func (v Values) InBatches(name string) []float64 {
	var values []float64
	for i := range Batches {
		x, ok := v.Get(InBatch(name, i))
		if !ok {
			return nil
		}
		values = append(values, x)
	}
	return values
}
