package softmax

import "slices"

// lanes are the lanes of a sum in float64.
type lanes [width]float64

func (s *lanes) total() float64 {
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// Sum returns the sum of numbers, in eight lanes in float64.
func Sum(numbers []float32) float64 {
	var s lanes
	whole := eights(len(numbers))
	if whole > 0 {
		sumOfMany(&numbers[0], whole, &s)
	}
	for i := whole; i < len(numbers); i++ {
		s[i%width] += float64(numbers[i])
	}
	return s.total()
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

// Weighted sets dst, which has dim numbers, to the sum of weights[i] * row i of values, in float32, in order of rows.
// Where a sum overflows, it is infinite or NaN.
func Weighted(dst, weights, values []float32, dim int) {
	dst = dst[:dim]
	clear(dst)
	for len(weights) > 0 {
		n := min(len(firstRows), len(weights))
		add(dst, weights[:n], firstRows[:n], values[:n*dim])
		weights, values = weights[n:], values[n*dim:]
	}
}

// WeightedRows is Weighted for some rows, in the order in which they are listed. The weight of row r is weights[r].
func WeightedRows(dst, weights []float32, rows []int32, values []float32, dim int) {
	dst = dst[:dim]
	clear(dst)
	if len(rows) > 0 {
		add(dst, weights, rows, values)
	}
}

// firstRows are ascending.
var firstRows = func() (rows [1024]int32) {
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}()

// add adds rows times their weights to dst. There is at least one.
func add(dst, weights []float32, rows []int32, values []float32) {
	dim := len(dst)
	if assembly {
		least, most := int(slices.Min(rows)), int(slices.Max(rows))
		_, _ = weights[least], weights[most]
		_ = values[most*dim : (most+1)*dim]
		addRows(&dst[0], &weights[0], &rows[0], len(rows), &values[0], dim, maskOf(dim))
		return
	}
	for _, r := range rows {
		w := weights[r]
		for c, v := range values[int(r)*dim:][:dim] {
			dst[c] += float32(w * v)
		}
	}
}
