package policies

import "github.com/cachesim/cachesim/internal/policies/dense"

// charges remembers what each object was charged when it was last loaded, for policies that bound the lists they keep.
// Where the capacity counts objects nothing is stored and every charge is 1.
type charges []int64

func newCharges(c Config) charges {
	if c.Unit {
		return nil
	}
	return make(charges, c.Objects)
}

func (c charges) of(o Object) int64 {
	if c == nil {
		return 1
	}
	return c[o]
}

func (c charges) set(r Request) {
	if c != nil {
		c[r.Object] = r.Size
	}
}

// multiple returns factor times capacity, rounded down, and at most the largest number that leaves room for sums.
func multiple(capacity int64, factor float64) int64 {
	return int64(min(float64(capacity)*factor, 1<<61))
}

// grow makes room for objects up to objects-1.
func (c *charges) grow(objects int) {
	if *c != nil {
		*c = dense.Grown(*c, objects)
	}
}
