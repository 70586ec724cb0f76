package similarity

import "github.com/viterin/vek/vek32"

// Backend computes products of vectors, in float32. It only proposes pairs: Join decides on each with Similarity, so
// that results do not depend on the backend.
type Backend interface {
	Name() string
	// Open prepares for the products of v.
	Open(v Vectors) (Products, error)
}

// Products computes the products of the vectors for which a Backend was opened. Propose is called from several
// goroutines.
type Products interface {
	// Side returns how many vectors a block should have per side, at least 1.
	Side() int
	// Propose appends to found all pairs of a block whose product is at least from. Other pairs may be among them, but
	// none twice.
	Propose(block Block, from float32, found []Candidate) ([]Candidate, error)
	// Close releases the resources of Open.
	Close()
}

// Block is the pairs A < B with FirstA <= A < EndA and FirstB <= B < EndB.
type Block struct{ FirstA, EndA, FirstB, EndB int }

// pairs returns how many pairs the block has. The blocks cut a triangle into squares: both sides are the same vectors,
// or FirstB >= EndA.
func (b Block) pairs() int64 {
	if b.FirstA == b.FirstB {
		n := int64(b.EndA - b.FirstA)
		return n * (n - 1) / 2
	}
	return int64(b.EndA-b.FirstA) * int64(b.EndB-b.FirstB)
}

// Candidate is a pair that may be similar, A < B.
type Candidate struct{ A, B uint32 }

// CPU is the backend that every machine has: AVX2 if the processor supports it, otherwise plain Go.
var CPU Backend = cpu{}

type cpu struct{}

func (cpu) Name() string                     { return "cpu" }
func (cpu) Open(v Vectors) (Products, error) { return cpuProducts{v}, nil }

type cpuProducts struct{ v Vectors }

const (
	cpuSide = 256
	// 24 KiB: the part of a first-level cache of 32 KiB or more that the one streamed vector leaves free
	l1Floats = 6 << 10
)

func (p cpuProducts) Side() int { return cpuSide }
func (p cpuProducts) Close()    {}

// Propose takes as many vectors A at a time as stay in the first-level cache, and streams the vectors B past them.
func (p cpuProducts) Propose(block Block, from float32, found []Candidate) ([]Candidate, error) {
	rows := max(1, l1Floats/p.v.Dim)
	for first := block.FirstA; first < block.EndA; first += rows {
		end := min(first+rows, block.EndA)
		for b := max(block.FirstB, first+1); b < block.EndB; b++ {
			vector := p.v.At(b)
			for a := first; a < min(end, b); a++ {
				if product(vector, p.v.At(a)) >= from {
					found = append(found, Candidate{uint32(a), uint32(b)})
				}
			}
		}
	}
	return found, nil
}

func product(a, b []float32) float32 { return vek32.Dot(a, b) }
