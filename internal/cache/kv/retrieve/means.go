package retrieve

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/similarity/dot"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// iterations of k-means, as many as RetroInfer makes.
const iterations = 10

// means is k-means on directions: vectors of length 1 belong to the centroid with the greatest product (spherical
// k-means: Dhillon and Modha, Machine Learning 2001). Its buffers are reused.
type means struct {
	dim       int
	vectors   []float32
	centroids []float32 // of length 1
	sums      []float32
	products  []float32
	order     []int32
	of        []int32
}

// prepare returns the directions of vectors from their mean. One that equals the mean is 0.
func (m *means) prepare(vectors []float32, dim int) []float32 {
	m.dim = dim
	mean := make([]float64, dim)
	for v := range slices.Chunk(vectors, dim) {
		for i, x := range v {
			mean[i] += float64(x)
		}
	}
	for i := range mean {
		mean[i] /= float64(len(vectors) / dim)
	}
	m.vectors = append(m.vectors[:0], vectors...)
	for v := range slices.Chunk(m.vectors, dim) {
		for i, x := range v {
			v[i] = float32(float64(x) - mean[i])
		}
		normalize(v)
	}
	return m.vectors
}

// normalize scales a vector to length 1, unless it is 0.
func normalize(v []float32) {
	if norm := math.Sqrt(dot.Sum(v, v)); norm > 0 {
		for i, x := range v {
			v[i] = float32(float64(x) / norm)
		}
	}
}

// divide divides vectors into up to n clusters, and returns the cluster of each vector, which is valid until the next
// call. The first centroids are n of the vectors, drawn at random. One without vectors stays as it is.
func (m *means) divide(vectors []float32, n int, source *rand.PCG) []int32 {
	m.order = consecutive(m.order[:0], 0, len(vectors)/m.dim)
	random.Shuffle(source, m.order)
	m.centroids = m.centroids[:0]
	for _, i := range m.order[:min(n, len(m.order))] {
		m.centroids = append(m.centroids, vectors[int(i)*m.dim:][:m.dim]...)
	}
	for range iterations {
		m.assign(vectors)
		m.update(vectors)
	}
	return m.of
}

// assign sets the cluster of each vector: that of the greatest product. Ties go to the lower number.
func (m *means) assign(vectors []float32) {
	const together = 16 // vectors, whose products stay in the cache of the processor
	n := len(m.centroids) / m.dim
	m.of = m.of[:0]
	m.products = slices.Grow(m.products[:0], together*n)[:together*n]
	for some := range slices.Chunk(vectors, together*m.dim) {
		products := m.products[:len(some)/m.dim*n]
		softmax.Products(products, some, m.centroids, m.dim, 1)
		for of := range slices.Chunk(products, n) {
			nearest := 0
			for i, product := range of {
				if product > of[nearest] {
					nearest = i
				}
			}
			m.of = append(m.of, int32(nearest))
		}
	}
}

// update sets the centroids to the directions of the sums of their vectors.
func (m *means) update(vectors []float32) {
	m.sums = append(m.sums[:0], m.centroids...)
	clear(m.sums)
	for i, cluster := range m.of {
		sum := m.sums[int(cluster)*m.dim:][:m.dim]
		for k, x := range vectors[i*m.dim:][:m.dim] {
			sum[k] += x
		}
	}
	for at := 0; at < len(m.sums); at += m.dim {
		sum := m.sums[at:][:m.dim]
		if normalize(sum); dot.Sum(sum, sum) > 0 {
			copy(m.centroids[at:], sum)
		}
	}
}
