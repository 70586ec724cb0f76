package softmax

// steps is the layout of numbers of consecutive steps, each with as many queries: for each step a row per query, with
// a number per key that the step sees. Each step sees one key more than the one before.
type steps struct{ steps, group, first int } // first: keys that the first step sees

// stepsOf returns the layout for a number of queries in all steps, of which the last sees n keys.
func stepsOf(queries, n, number int) steps { return steps{number, queries / number, n - number + 1} }

// before returns how many numbers the steps before one have.
func (s steps) before(step int) int { return s.group * (step*s.first + step*(step-1)/2) }

// row returns the numbers of a query, counted from the first step's.
func (s steps) row(numbers []float32, query int) []float32 {
	step, n := query/s.group, s.first+query/s.group
	return numbers[s.before(step)+query%s.group*n:][:n]
}

// StepProbabilities is Probabilities for consecutive steps with as many queries each, which goes over the keys once for
// all of them. The last step sees all keys, each step one key more than the step before. P has the steps one after
// another: of each a row per query, with a number per key that the step sees.
func StepProbabilities(p, queries, keys []float32, dim int, scale float32, steps int) {
	stepProducts(p, queries, keys, dim, scale, steps)
	all := stepsOf(len(queries)/dim, len(keys)/dim, steps)
	for j := range len(queries) / dim {
		soften(all.row(p, j))
	}
}

// StepWeighted is Weighted for consecutive steps as StepProbabilities has them: dst has a row per query of every step.
func StepWeighted(dst, p, values []float32, dim, steps int) {
	clear(dst)
	if len(dst) == 0 {
		return
	}
	all := stepsOf(len(dst)/dim, len(values)/dim, steps)
	outputs := make([]Output, 0, len(dst)/dim)
	for j := range len(dst) / dim {
		outputs = append(outputs, Output{dst[j*dim:][:dim], all.row(p, j)})
	}
	addAll(outputs, values[:all.first*dim])
	for step := 1; step < steps; step++ { // what the first does not see
		addAll(outputs[step*all.group:][:all.group], values[all.first*dim:(all.first+step)*dim])
	}
}
