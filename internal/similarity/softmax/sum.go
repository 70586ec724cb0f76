package softmax

// lanes are the lanes of a sum in float64.
type lanes [width]float64

func (s *lanes) total() float64 {
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// Sum returns the sum of numbers, in eight lanes in float64.
func Sum(numbers []float32) float64 {
	var s lanes
	for i, x := range numbers {
		s[i%width] += float64(x)
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
	for ; len(p) > 0; p = p[len(dst):] {
		for i, x := range p[:len(dst)] {
			dst[i] += x
		}
	}
}

// Weighted sets dst, which has dim numbers, to the sum of weights[i] * row i of values, in float32, in order of rows.
func Weighted(dst, weights, values []float32, dim int) {
	dst = dst[:dim]
	clear(dst)
	for i, w := range weights {
		add(dst, w, values[i*dim:][:dim])
	}
}

// WeightedRows is Weighted for some rows, in the order in which they are listed. The weight of row r is weights[r].
func WeightedRows(dst, weights []float32, rows []int32, values []float32, dim int) {
	dst = dst[:dim]
	clear(dst)
	for _, r := range rows {
		add(dst, weights[r], values[int(r)*dim:][:dim])
	}
}

func add(dst []float32, w float32, row []float32) {
	for c, v := range row {
		dst[c] += float32(w * v)
	}
}
