package neural

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
)

// matrix is a view of a matrix that is stored row by row, or of its transpose if across is above 1.
type matrix struct {
	of           []float64
	down, across int // distance of two neighbours in a column, and in a row
}

// multiplyAdd adds the product a·b to y. Matrix a has m rows and k columns; b has k rows of n numbers, y has m of them.
// Each number of y is a sum in the order of k, four products at a time.
func multiplyAdd(y []float64, a matrix, b []float64, m, k, n int) {
	for i := range m {
		row := y[i*n : i*n+n]
		at := i * a.down
		j := 0
		for ; j+4 <= k; j += 4 {
			add4(row, b[j*n:j*n+4*n], a.of[at], a.of[at+a.across], a.of[at+2*a.across], a.of[at+3*a.across])
			at += 4 * a.across
		}
		for ; j < k; j++ {
			factor := a.of[at]
			for c, v := range b[j*n : j*n+n] {
				row[c] += float64(factor * v)
			}
			at += a.across
		}
	}
}

// add4 adds four rows, each times its factor, to y. The conversions forbid the compiler to fuse a product with a sum.
func add4(y, rows []float64, f0, f1, f2, f3 float64) {
	n := len(y)
	r0, r1, r2, r3 := rows[:n], rows[n:2*n], rows[2*n:3*n], rows[3*n:4*n]
	for c := range y {
		y[c] += float64(f0*r0[c]) + float64(f1*r1[c]) + (float64(f2*r2[c]) + float64(f3*r3[c]))
	}
}

// transpose writes the transpose of a matrix of rows times columns to t.
func transpose(t, a []float64, rows, columns int) {
	for i := range rows {
		for j, v := range a[i*columns : i*columns+columns] {
			t[j*rows+i] = v
		}
	}
}

// tanh is the same on every machine, to within 1e-15 of the exact value.
func tanh(x float64) float64 {
	if x < 0 {
		return -tanh(-x)
	}
	if !(x < flat) {
		return min(x, 1) // NaN stays NaN
	}
	// exp(-2x) is a power from the table times exp(-f), a series in f below 1/steps.
	k := int(2 * steps * x)
	f := float64(2*x) - float64(float64(k)/steps)
	square := float64(f * f)
	even := 1 + float64(square*(1./2+float64(square*(1./24+float64(square*(1./720))))))
	odd := float64(f * (1 + float64(square*(1./6+float64(square*(1./120+float64(square*(1./5040))))))))
	e := float64(powers[k] * (even - odd))
	return (1 - e) / (1 + e)
}

const (
	flat  = 20 // tanh is 1 from here on
	steps = 32
)

// powers has exp(-k/steps).
var powers = func() (p [2*flat*steps + 1]float64) {
	for k := range p {
		p[k] = random.Exp(-float64(k) / steps)
	}
	return p
}()

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
