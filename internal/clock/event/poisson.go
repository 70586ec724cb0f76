package event

import (
	"math/rand/v2"
	"time"
)

// Poisson calls arrive for 0 to n-1, one after another, at exponentially distributed intervals with rate per second.
func Poisson(loop *Loop, n int, rate float64, seed uint64, arrive func(i int)) {
	bits := rand.New(rand.NewPCG(seed, 0))
	i := 0
	var next func()
	next = func() {
		if i == n {
			return
		}
		loop.After(Span(bits.ExpFloat64()/rate*float64(time.Second)), func() {
			arrive(i)
			i++
			next()
		})
	}
	next()
}
