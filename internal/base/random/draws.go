package random

// Draws is a sequence of random numbers that is drawn in a few instructions: the upper half of a linear congruential
// generator of 64 bits (Knuth, TAOCP 3.3.4); its low bits have short periods. Hot loops keep a copy of it in registers.
type Draws uint64

const (
	drawsFactor    = 6364136223846793005
	drawsIncrement = 1442695040888963407
)

// NewDraws returns the sequence of a seed.
func NewDraws(seed uint64) Draws { return Draws(Scramble(seed)) }

// Below returns a number below n, which must be positive and below 2^32.
func (d *Draws) Below(n uint64) uint64 {
	*d = *d*drawsFactor + drawsIncrement
	return d.scaled(n)
}

// scaled returns the number that was drawn last, as one below n.
func (d Draws) scaled(n uint64) uint64 { return uint64(d) >> 32 * n >> 32 }

// stride takes a sequence several numbers ahead at once. Its fields are variables, which a loop keeps in registers;
// constants would be loaded again for each number.
type stride struct{ factor, increment Draws }

var (
	oneAhead = stride{drawsFactor, drawsIncrement}
	twoAhead = stride{drawsFactor * drawsFactor % (1 << 64), (drawsFactor + 1) * drawsIncrement % (1 << 64)}
)

func (s stride) from(d Draws) Draws { return d*s.factor + s.increment }

// Fill draws as many numbers below n as there is room for, the same as Below would one by one. It draws two at a
// time, and neither waits for the other.
func (d *Draws) Fill(numbers []uint32, n uint64) {
	at, one, two := *d, oneAhead, twoAhead
	i := 0
	for ; i < len(numbers)-1; i += 2 {
		next := one.from(at)
		at = two.from(at)
		numbers[i], numbers[i+1] = uint32(next.scaled(n)), uint32(at.scaled(n))
	}
	if i < len(numbers) {
		at = one.from(at)
		numbers[i] = uint32(at.scaled(n))
	}
	*d = at
}
