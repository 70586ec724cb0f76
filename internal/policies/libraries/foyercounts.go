package libraries

import "math/bits"

// foyerBuckets is the number of counters in a row of foyer's sketch, and of requests after which counts are halved,
// whatever the capacity: e by an error of 0.001, rounded up.
const foyerBuckets = 2719

// foyerRows are the seeds of the rows: the hashes of their numbers by murmur3Seed.
var foyerRows = [3]uint64{murmur3(0, murmur3Seed), murmur3(1, murmur3Seed), murmur3(2, murmur3Seed)}

// murmur3Seed is that of sketches in Apache DataSketches, which foyer uses.
const murmur3Seed = 9001

// foyerCounts are a count-min sketch of Apache DataSketches, with counters of 16 bits.
type foyerCounts struct {
	counters [len(foyerRows)][foyerBuckets]uint16
	added    int
}

func (c *foyerCounts) add(hash uint64) {
	for row, seed := range foyerRows {
		c.counters[row][murmur3(hash, seed)%foyerBuckets]++ // halving keeps it from overflowing
	}
	if c.added++; c.added >= foyerBuckets {
		c.added /= 2
		for row := range c.counters {
			for i := range c.counters[row] {
				c.counters[row][i] /= 2
			}
		}
	}
}

func (c *foyerCounts) of(hash uint64) uint16 {
	least := ^uint16(0)
	for row, seed := range foyerRows {
		least = min(least, c.counters[row][murmur3(hash, seed)%foyerBuckets])
	}
	return least
}

// murmur3 is the first half of MurmurHash3_x64_128 of a number of 8 bytes.
func murmur3(x, seed uint64) uint64 {
	h := seed ^ bits.RotateLeft64(x*0x87c37b91114253d5, 31)*0x4cf5ad432745937f ^ 8
	g := seed ^ 8
	h += g
	g += h
	return murmur3Mix(h) + murmur3Mix(g)
}

func murmur3Mix(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// The primes of XXH64.
const (
	xxPrime1 = 0x9e3779b185ebca87
	xxPrime2 = 0xc2b2ae3d27d4eb4f
	xxPrime3 = 0x165667b19e3779f9
	xxPrime4 = 0x85ebca77c2b2ae63
	xxPrime5 = 0x27d4eb2f165667c5
)

// xxHash64 is XXH64, with seed 0, of a number of 8 bytes.
func xxHash64(x uint64) uint64 {
	h := uint64(xxPrime5 + 8)
	h ^= bits.RotateLeft64(x*xxPrime2, 31) * xxPrime1
	h = bits.RotateLeft64(h, 27)*xxPrime1 + xxPrime4
	h = (h ^ h>>33) * xxPrime2
	h = (h ^ h>>29) * xxPrime3
	return h ^ h>>32
}
