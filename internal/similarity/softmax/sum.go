package softmax

import "slices"

// lanes are the lanes of a sum in float64.
type lanes [width]float64

func (s *lanes) total() float64 {
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// SumRows returns the sum of the numbers at some positions, in eight lanes in float64, in the order of rows.
func SumRows(numbers []float32, rows []int32) float64 {
	var s lanes
	for i, row := range rows {
		s[i%width] += float64(numbers[row])
	}
	return s.total()
}

// SumQueries sets dst[i] to the sum of p[j*n+i] over all queries j, in order of j, where dst has n numbers.
func SumQueries(dst, p []float32) {
	clear(dst)
	whole := eights(len(dst))
	for ; len(p) > 0; p = p[len(dst):] {
		row := p[:len(dst)]
		if whole > 0 {
			addMany(&dst[0], &row[0], whole)
		}
		for i := whole; i < len(row); i++ {
			dst[i] += row[i]
		}
	}
}

// Weighted sets row j of dst to the sum of weights[j*n+i] * row i of values, in float32, in order of i, for every query
// j: dst has a row of dim numbers per query, and weights one of n numbers, as values have rows. Where a sum overflows,
// it is infinite or NaN.
func Weighted(dst, weights, values []float32, dim int) { StepWeighted(dst, weights, values, dim, 1) }

// WeightedRows is Weighted for some rows, in the order in which they are listed; values have at most n rows.
func WeightedRows(dst, weights []float32, rows []int32, values []float32, dim int) {
	clear(dst)
	if len(dst) == 0 {
		return
	}
	outputs := make([]Output, 0, 8)
	n := len(weights) / (len(dst) / dim)
	for j := range len(dst) / dim {
		outputs = append(outputs, Output{dst[j*dim:][:dim], weights[j*n:][:n]})
	}
	AddRows(outputs, rows, values)
}

// Output is a sum of rows, each of them times its weight.
type Output struct{ Dst, Weights []float32 }

// firstRows are ascending.
var firstRows = func() (rows [1024]int32) {
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}()

// addAll adds all rows to outputs, whose weights it cuts off.
func addAll(outputs []Output, values []float32) {
	dim := len(outputs[0].Dst)
	for len(values) > 0 {
		n := min(len(firstRows), len(values)/dim)
		AddRows(outputs, firstRows[:n], values[:n*dim])
		values = values[n*dim:]
		for i := range outputs {
			outputs[i].Weights = outputs[i].Weights[n:]
		}
	}
}

// rowsBytes is how much of the rows is added to all outputs before the next: less than the first cache of a processor
// has.
const rowsBytes = 16 << 10

// AddRows adds the listed rows of values, in this order, to outputs of one dimension. It goes over the rows once for
// all of them.
func AddRows(outputs []Output, rows []int32, values []float32) {
	if len(outputs) == 0 || len(rows) == 0 {
		return
	}
	if !assembly {
		for _, o := range outputs {
			o.addInGo(rows, values)
		}
		return
	}
	dim := len(outputs[0].Dst)
	least, most := int(slices.Min(rows)), int(slices.Max(rows))
	_ = values[most*dim : (most+1)*dim]
	for _, o := range outputs {
		_, _, _ = o.Dst[dim-1], o.Weights[least], o.Weights[most]
	}
	chunk := max(1, rowsBytes/(4*dim))
	if len(outputs) == 1 {
		chunk = len(rows)
	}
	for len(rows) > 0 {
		n := min(chunk, len(rows))
		ahead := min(chunk, len(rows)-n)
		for rest := outputs; len(rest) > 0; rest = rest[min(4, len(rest)):] {
			addChunk(rest, rows[:n], ahead, values)
			ahead = 0 // these rows have been requested
		}
		rows = rows[n:]
	}
}

// addChunk adds rows to up to four outputs. Those that many places ahead are requested from memory.
func addChunk(outputs []Output, rows []int32, ahead int, values []float32) {
	o := outputs[0]
	dim := len(o.Dst)
	if len(outputs) == 1 {
		addRows(&o.Dst[0], &o.Weights[0], &rows[0], len(rows), &values[0], dim, maskOf(dim))
		return
	}
	var dst, weights [4]*float32
	for i := range dst {
		o := outputs[min(i, len(outputs)-1)] // one that repeats computes the same again
		dst[i], weights[i] = &o.Dst[0], &o.Weights[0]
	}
	addRowsOfFour(&dst, &weights, &rows[0], len(rows), ahead, &values[0], dim, maskOf(dim))
}

func (o Output) addInGo(rows []int32, values []float32) {
	dim := len(o.Dst)
	for _, r := range rows {
		w := o.Weights[r]
		for c, v := range values[int(r)*dim:][:dim] {
			o.Dst[c] += float32(w * v)
		}
	}
}
