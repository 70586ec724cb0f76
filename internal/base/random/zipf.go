package random

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// column is one column of an alias table: the column's own rank with probability own/2^32, the rank alias otherwise.
type column struct{ own, alias uint32 }

// Zipf draws ranks 0..n-1 with probability proportional to 1/(rank+1)^alpha in constant time, from one random number
// and one column (Walker's alias method, built as in Vose 1991). Probabilities are exact to 2^-32 of a column, which is
// 1/n. It needs 8 bytes per rank, 16 while it is built.
type Zipf []column

// NewZipf returns the table for n ranks.
func NewZipf(n int, alpha float64) Zipf {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = Exp(-alpha * Log(float64(i+1)))
	}
	return newAliasTable(weights)
}

// newAliasTable builds the table of weights, which must not increase. It overwrites them.
// Columns with more than their share are then a prefix and lend to the others one after another.
func newAliasTable(weights []float64) Zipf {
	sum := 0.0
	for _, w := range slices.Backward(weights) { // smallest first, for the precision of the sum
		sum += w
	}
	for i := range weights {
		weights[i] = weights[i] * float64(len(weights)) / sum
	}
	// Weights now average 1, the share of a column.
	poor := len(weights) // first rank below its share
	for poor > 0 && weights[poor-1] < 1 {
		poor--
	}
	table := make(Zipf, len(weights))
	for i := range poor {
		table[i] = column{math.MaxUint32, uint32(i)}
	}
	lender := 0
	fill := func(i, from int) {
		table[i] = column{uint32(weights[i] * (1 << 32)), uint32(from)}
		weights[from] -= 1 - weights[i]
	}
	for i := poor; i < len(weights); i++ {
		fill(i, lender)
		// The last lender keeps what rounding has left, instead of borrowing from a poor column.
		for weights[lender] < 1 && lender+1 < poor { // has lent too much and borrows in its turn
			fill(lender, lender+1)
			lender++
		}
	}
	return table
}

// Draw returns a rank, 0 for the most popular.
func (t Zipf) Draw(bitSource *rand.PCG) int { return t.Rank(bitSource.Uint64()) }

// Rank returns the rank that 64 random bits draw.
func (t Zipf) Rank(random uint64) int {
	i, low := bits.Mul64(random, uint64(len(t)))
	c := t[i]
	rank := c.alias
	if uint32(low>>32) < c.own { // a conditional move: a jump would be mispredicted often
		rank = uint32(i)
	}
	return int(rank)
}
