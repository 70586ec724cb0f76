package allocate

import (
	"cmp"
	"slices"
)

// divide writes a capacity for each weight, in proportion to it; the capacities add up to the whole. The remainder of
// rounding down goes to those that lost the most by it, one unit each; ties go to the lower number. If no weight is
// above 0, all count as equal.
func divide(capacity int64, weights []float64, capacities []int64) {
	var sum float64
	for _, w := range weights {
		sum += w
	}
	if !(sum > 0) {
		divideEqually(capacity, capacities)
		return
	}
	lost := make([]float64, len(weights))
	left := capacity
	for i, w := range weights {
		exact := float64(float64(capacity) * (w / sum))
		capacities[i] = min(int64(exact), left) // the sum of rounded products may be a little above the whole
		lost[i] = exact - float64(capacities[i])
		left -= capacities[i]
	}
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for i := 0; left > 0; i = (i + 1) % len(order) {
		if weights[order[i]] > 0 {
			capacities[order[i]]++
			left--
		}
	}
}

// divideEqually gives each the same, and the remainder to the first ones, one unit each.
func divideEqually(capacity int64, capacities []int64) {
	n := int64(len(capacities))
	for i := range capacities {
		capacities[i] = capacity / n
		if int64(i) < capacity%n {
			capacities[i]++
		}
	}
}
