package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestSameBitsAsGonum compares every function with the one that it replaces.
func TestSameBitsAsGonum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 200; n++ {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = math.Exp(20 * (random.Float64() - 0.5))
			y[i] = 3*x[i] + random.NormFloat64()
		}
		same(t, "mean", Mean(x), stat.Mean(x, nil))
		same(t, "standard deviation", StdDev(x), stat.StdDev(x, nil))
		same(t, "correlation", Correlation(x, y), stat.Correlation(x, y, nil))
		intercept, slope, rSquared := Line(x, y)
		wantIntercept, wantSlope := stat.LinearRegression(x, y, nil, false)
		same(t, "intercept", intercept, wantIntercept)
		same(t, "slope", slope, wantSlope)
		same(t, "R squared", rSquared, stat.RSquared(x, y, nil, wantIntercept, wantSlope))
		same(t, "Student's t", StudentQuantile(0.975, float64(n)),
			distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n)}.Quantile(0.975))
		slices.Sort(x)
		for _, p := range []float64{0, 0.1, 0.5, 0.9, random.Float64(), 1} {
			same(t, "quantile", Quantile(p, x), stat.Quantile(p, stat.Empirical, x, nil))
		}
	}
	same(t, "quantile of NaN", Quantile(0.5, []float64{1, math.NaN()}), math.NaN())
}

func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
