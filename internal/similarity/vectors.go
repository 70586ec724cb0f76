// Package similarity finds which vectors are close to each other: Join lists, for each of them, all with at least a
// given similarity. The result does not depend on the machine, the number of cores or the backend that did the work.
package similarity

// Vectors are embeddings of length 1 in one block.
type Vectors struct {
	Dim  int
	Data []float32 // Dim per vector
}

// Len returns how many vectors there are.
func (v Vectors) Len() int {
	if v.Dim == 0 {
		return 0
	}
	return len(v.Data) / v.Dim
}

// At returns a vector.
func (v Vectors) At(i int) []float32 { return v.Data[i*v.Dim : (i+1)*v.Dim] }

// Similarity returns the cosine of the angle between two vectors, at most 1. It is summed up in float64 in a fixed
// order and rounded once, so that the decision is the same with every backend.
func (v Vectors) Similarity(i, j int) float32 { return cosine(v.At(i), v.At(j)) }

func cosine(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	k := 0
	for ; k+4 <= len(a); k += 4 {
		s0 += float64(a[k]) * float64(b[k]) // a product of two float32 is exact in float64, fused or not
		s1 += float64(a[k+1]) * float64(b[k+1])
		s2 += float64(a[k+2]) * float64(b[k+2])
		s3 += float64(a[k+3]) * float64(b[k+3])
	}
	for ; k < len(a); k++ {
		s0 += float64(a[k]) * float64(b[k])
	}
	return min(1, float32((s0+s1)+(s2+s3)))
}
