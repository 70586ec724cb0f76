package retrieve

import (
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

var hashesEntry = Entry{
	Name: "hashes",
	Summary: "the k tokens whose keys' hashes differ from those of the queries in the fewest bits, summed over the " +
		"group; a bit says on which side of a random hyperplane a vector is",
	Source: "Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002; LiteCache retrieves by " +
		"HATA (Gong et al., 2025), which trains the hyperplanes, with 256 bits",
	Random: true,
	Params: []params.Param{{Name: "bits", Default: 256, Min: 1, Max: 1 << 12, Doc: "bits of a hash"}},
	New:    func(v params.Values) Retriever { return &hashes{bits: v.Int("bits")} },
}

// hashes estimates angles: two vectors are on the same side of a random hyperplane with a probability that falls
// linearly with the angle between them. The length of a key, which its product also depends on, has no effect.
type hashes struct {
	bits       int
	head       Head
	directions []float32 // the normals of the hyperplanes, one after another
	keys       []chunk   // hashes of the candidates, chunks() each
	queries    []chunk   // of the step
	products   []float32
	distances  []float32 // of the candidates, negative
	selector   softmax.Selector
}

func (h *hashes) Begin(head Head) {
	h.head, h.keys = head, h.keys[:0]
	n := h.bits * head.Dim
	h.directions = slices.Grow(h.directions[:0], n)[:n]
	source := random.Stream(head.Seed, directionDraws)
	for i := range h.directions {
		h.directions[i] = float32(random.Normal(source))
	}
}

func (h *hashes) Retrieve(dst []int32, s Step) []int32 {
	from, dim := h.head.From, h.head.Dim
	h.keys = h.hash(h.keys, h.head.Keys[(from+len(h.keys)/h.chunks())*dim:s.To*dim])
	h.queries = h.hash(h.queries[:0], s.Queries)
	h.measure(s.To - from)
	return Best(dst, &h.selector, h.distances, from, s.K)
}

// chunk has 256 bits of a hash. It has no branch on its length, as words in a slice would.
type chunk [4]uint64

const chunkBits = 256

// chunks returns the number of chunks of a hash. The bits that it does not need are 0.
func (h *hashes) chunks() int { return (h.bits + chunkBits - 1) / chunkBits }

func (h *hashes) hash(dst []chunk, vectors []float32) []chunk {
	const together = 16 // vectors, whose products stay in the first cache of the processor
	h.products = slices.Grow(h.products[:0], together*h.bits)[:together*h.bits]
	for some := range slices.Chunk(vectors, together*h.head.Dim) {
		products := h.products[:len(some)/h.head.Dim*h.bits]
		softmax.Products(products, some, h.directions, h.head.Dim, 1)
		for of := range slices.Chunk(products, h.bits) {
			dst = appendSigns(dst, of)
		}
	}
	return dst
}

// appendSigns appends a bit for each number, which is set if the number is positive.
func appendSigns(dst []chunk, numbers []float32) []chunk {
	for some := range slices.Chunk(numbers, chunkBits) {
		var c chunk
		for i, x := range some {
			var bit uint64
			if x > 0 {
				bit = 1
			}
			c[i/64] |= bit << (i % 64)
		}
		dst = append(dst, c)
	}
	return dst
}

// measure sets the distances of n candidates, summed over the queries, with the sign by which the least is the best.
// They are integers, which float32 has without rounding.
func (h *hashes) measure(n int) {
	chunks := h.chunks()
	h.distances = slices.Grow(h.distances[:0], n)[:n]
	for i := range h.distances {
		key, sum := h.keys[i*chunks:][:chunks], 0
		for queries := h.queries; len(queries) >= len(key); queries = queries[len(key):] {
			for at := range key {
				x, y := &key[at], &queries[at]
				sum += bits.OnesCount64(x[0]^y[0]) + bits.OnesCount64(x[1]^y[1]) +
					bits.OnesCount64(x[2]^y[2]) + bits.OnesCount64(x[3]^y[3])
			}
		}
		h.distances[i] = -float32(sum)
	}
}
