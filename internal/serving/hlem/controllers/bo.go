package controllers

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

var boEntry = entry(allocate.Entry{
	Name: "bo",
	Summary: "by Bayesian optimisation: each epoch tries the ratio with the largest expected improvement of the P99 " +
		"under a Gaussian process",
	Source: "Shahriari et al., Taking the Human Out of the Loop: A Review of Bayesian Optimization, Proc. IEEE 2016; " +
		"BO in HLEM, arXiv 2605.04450, section V-D",
	Params: []params.Param{
		gridParam,
		{Name: "window", Default: 20, Min: 2, Max: 500,
			Doc: "newest epochs that the process is fitted to; older ones are forgotten, as the load changes"},
		{Name: "length", Default: 0.2, Min: 0.01, Max: 10,
			Doc: "length of the kernel, Matérn 5/2: ratios at this distance are correlated by 0.52"},
		{Name: "noise", Default: 0.1, Min: 0.001, Max: 10,
			Doc: "variance of a measured P99, relative to the variance of the process"},
		stepParam(1, "most that the ratio moves in an epoch; 1: no limit"),
	},
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	v := c.Params
	return &bo{grid: v.Float("grid"), window: v.Int("window"), length: v.Float("length"), noise: v.Float("noise"),
		step: v.Float("step")}, allocate.Needs{}, nil
})

// bo fits a Gaussian process to the logarithm of the P99 at the ratios of the last epochs.
type bo struct {
	grid          float64
	window        int
	length, noise float64
	step          float64

	ratios, values []float64 // of the last epochs, the oldest first
}

func (b *bo) next(s *allocate.State, w *hlem.Window) float64 {
	p99, ok := latency(w)
	if !ok {
		return w.Ratio
	}
	if len(b.ratios) == b.window {
		b.ratios = append(b.ratios[:0], b.ratios[1:]...)
		b.values = append(b.values[:0], b.values[1:]...)
	}
	b.ratios = append(b.ratios, w.Ratio)
	b.values = append(b.values, math.Log(p99))
	return towards(b.mostPromising(w), w.Ratio, b.step)
}

// mostPromising returns the ratio of the grid with the largest expected improvement; ties go to the lower ratio.
func (b *bo) mostPromising(w *hlem.Window) float64 {
	p, ok := b.fit()
	if !ok {
		return w.Ratio
	}
	// The smallest measured value is noisy; the mean of the process at the ratios tried is less so.
	incumbent := math.Inf(1)
	for _, r := range b.ratios {
		mean, _ := p.at(r)
		incumbent = min(incumbent, mean)
	}
	ratio, most := w.Ratio, math.Inf(-1)
	low, high := w.Bounds()
	for i := 0; ; i++ {
		r := low + float64(float64(i)*b.grid)
		if r > high+float64(b.grid*1e-6) { // rounding must not lose the last one
			return ratio
		}
		mean, deviation := p.at(r)
		if gain := improvement(incumbent-mean, deviation); gain > most {
			ratio, most = min(r, high), gain
		}
	}
}

// improvement is the mean of max(0, x) for normal x.
func improvement(mean, deviation float64) float64 {
	if deviation <= 0 {
		return max(0, mean)
	}
	z := mean / deviation
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return float64(mean*0.5*math.Erfc(-z/math.Sqrt2)) + float64(deviation*density)
}

// process is a Gaussian process with a prior of mean 0 and variance 1, after it has seen the values.
type process struct {
	b       *bo
	factor  mat.Cholesky  // of the covariances of the values
	weights *mat.VecDense // covariances inverse times values
	row     *mat.VecDense // of covariances with one ratio
	solved  *mat.VecDense
}

// fit returns the process of the standardised values.
func (b *bo) fit() (*process, bool) {
	n := len(b.ratios)
	p := &process{b: b, weights: mat.NewVecDense(n, nil), row: mat.NewVecDense(n, nil), solved: mat.NewVecDense(n, nil)}
	covariance := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			covariance.SetSym(i, j, b.kernel(b.ratios[i], b.ratios[j]))
		}
		covariance.SetSym(i, i, 1+b.noise)
	}
	if !p.factor.Factorize(covariance) {
		return nil, false
	}
	err := p.factor.SolveVecTo(p.weights, mat.NewVecDense(n, standardised(b.values)))
	return p, err == nil
}

func (p *process) at(ratio float64) (mean, deviation float64) {
	for i, r := range p.b.ratios {
		p.row.SetVec(i, p.b.kernel(r, ratio))
	}
	if p.factor.SolveVecTo(p.solved, p.row) != nil {
		return 0, 0
	}
	return mat.Dot(p.row, p.weights), math.Sqrt(max(0, 1-mat.Dot(p.row, p.solved)))
}

// kernel is Matérn 5/2: rougher than the squared exponential, which takes a knee in the P99 for a bowl.
func (b *bo) kernel(x, y float64) float64 {
	d := math.Sqrt(5) * math.Abs(x-y) / b.length
	return (1 + d + d*d/3) * math.Exp(-d)
}

// standardised returns values with mean 0 and deviation 1. If all are nearly the same, differences stay small: a tenth
// of a logarithm is not worth a search.
func standardised(values []float64) []float64 {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	deviation := max(deviationOf(values), 0.05)
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = (v - mean) / deviation
	}
	return scaled
}
