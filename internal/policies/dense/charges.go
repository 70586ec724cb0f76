package dense

// Charges remembers what each object is charged, or was when it was last resident, for policies that bound their lists.
// If the capacity counts objects, nothing is stored and every charge is 1: that is the nil Charges.
type Charges []int64

// NewCharges returns the charges of a number of objects; unit says that each is 1.
func NewCharges(objects int, unit bool) Charges {
	if unit {
		return nil
	}
	return make(Charges, objects)
}

func (c Charges) Of(o uint32) int64 {
	if c == nil {
		return 1
	}
	return c[o]
}

func (c Charges) Set(o uint32, size int64) {
	if c != nil {
		c[o] = size
	}
}

// Change is Set for an object that counts in a sum of charges, and returns by how much that grows.
func (c Charges) Change(o uint32, size int64) (by int64) {
	by = size - c.Of(o)
	c.Set(o, size)
	return by
}

// Grow makes room for objects up to objects-1.
func (c *Charges) Grow(objects int) {
	if *c != nil {
		*c = Grown(*c, objects)
	}
}

// Multiple returns factor times a capacity, rounded down, capped so that sums of a few such numbers do not overflow.
func Multiple(capacity int64, factor float64) int64 {
	return int64(min(float64(capacity)*factor, 1<<61))
}
