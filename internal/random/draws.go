package random

// Draws is a sequence of random numbers that is drawn in a few instructions: a linear congruential generator of 64 bits
// (Knuth, TAOCP 3.3.4), of which the upper half is used. Hot loops keep a copy of it in registers.
type Draws uint64

// NewDraws returns the sequence of a seed.
func NewDraws(seed uint64) Draws { return Draws(Scramble(seed)) }

// Below returns a number below n, which must be positive and below 2^32.
func (d *Draws) Below(n uint64) uint64 {
	*d = *d*6364136223846793005 + 1442695040888963407
	return uint64(*d) >> 32 * n >> 32
}
