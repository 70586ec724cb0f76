package attend

import (
	_ "embed"
	"errors"

	"github.com/cachesim/cachesim/internal/cuda"
)

//go:embed selftest.txt
var sums string

// SelfTest has more queries and tokens than a block serves at a time, and a dimension that is no multiple of the lanes
// of a sum.
var SelfTest = &cuda.SelfTest{Name: cuda.FullAttention.Name, Sums: sums, Run: selfTest}

func selfTest(d cuda.Device) (err error) {
	const visible, steps = 1030, 7
	s := Shape{Tokens: visible + steps - 1, Steps: steps, Group: 3, Dim: 13, Scale: 0.5}
	drawn := uint32(0)
	draw := func(n int) []float32 { // numbers from -1 to 1
		x := make([]float32, n)
		for i := range x {
			drawn += 0x9e3779b9
			x[i] = float32(int32(drawn*(drawn>>16|1))>>8) / (1 << 23)
		}
		return x
	}
	workers, err := Open(d, s, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workers.Close()) }()
	w := workers.All[0]
	if err := w.Begin(draw(s.Tokens*s.Dim), draw(s.Tokens*s.Dim)); err != nil {
		return err
	}
	rows := steps * s.Group
	probabilities := make([]float32, s.Group*(steps*visible+steps*(steps-1)/2))
	return w.Attend(draw(rows*s.Dim), visible, probabilities, make([]float32, rows*s.Dim))
}
