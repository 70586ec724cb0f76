package metric

import "strconv"

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
