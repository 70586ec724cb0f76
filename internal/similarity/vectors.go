package similarity

import "github.com/cachesim/cachesim/internal/similarity/dot"

// Vectors are embeddings of length 1 in one block.
type Vectors struct {
	Dim  int
	Data []float32 // Dim per vector
}

func (v Vectors) Len() int {
	if v.Dim == 0 {
		return 0
	}
	return len(v.Data) / v.Dim
}

func (v Vectors) At(i int) []float32 { return v.Data[i*v.Dim : (i+1)*v.Dim] }

// Similarity returns the cosine of the angle between two vectors, at most 1. It is summed up in float64 in a fixed
// order and rounded once, so that the decision is the same with every backend.
func (v Vectors) Similarity(i, j int) float32 { return round(dot.Sum(v.At(i), v.At(j))) }

// round returns the similarity of two vectors whose product is sum.
func round(sum float64) float32 { return min(1, float32(sum)) }
