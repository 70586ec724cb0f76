package neural

import "math"

// Adam moves parameters against their gradients (Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015).
type Adam struct {
	Rate    float64 // of learning
	Epsilon float64 // added to the root of the second moment
	first   []float64
	second  []float64
	// beta1^t and beta2^t of the paper, after t steps.
	firstLeft, secondLeft float64
}

// beta1 and beta2 of the paper, with its values: the share of each moment that a step keeps.
const firstKept, secondKept = 0.9, 0.999

// NewAdam returns an optimiser for params parameters, with the paper's epsilon of 1e-8.
func NewAdam(params int, rate float64) *Adam {
	return &Adam{rate, 1e-8, make([]float64, params), make([]float64, params), 1, 1}
}

// Step moves the parameters against the gradient of the loss. Both have the length given to NewAdam.
func (a *Adam) Step(params, gradient []float64) {
	a.firstLeft = float64(a.firstLeft * firstKept)
	a.secondLeft = float64(a.secondLeft * secondKept)
	rate := a.Rate * math.Sqrt(1-a.secondLeft) / (1 - a.firstLeft)
	epsilon := float64(a.Epsilon * math.Sqrt(1-a.secondLeft))
	for i, g := range gradient {
		a.first[i] = float64(firstKept*a.first[i]) + float64((1-firstKept)*g)
		a.second[i] = float64(secondKept*a.second[i]) + float64((1-secondKept)*float64(g*g))
		params[i] -= rate * a.first[i] / (math.Sqrt(a.second[i]) + epsilon)
	}
}

// ClipNorm scales a gradient down to a Euclidean norm of at most most, and returns the norm that it had.
func ClipNorm(gradient []float64, most float64) float64 {
	sum := 0.0
	for _, g := range gradient {
		sum += float64(g * g)
	}
	norm := math.Sqrt(sum)
	if norm > most {
		factor := most / norm
		for i := range gradient {
			gradient[i] *= factor
		}
	}
	return norm
}
