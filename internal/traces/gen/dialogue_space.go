package gen

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/random"
)

// dialogueSpace makes embeddings: sums of directions of topics, of anchors, and of single queries, drawn at random and
// made orthogonal to each other within a topic. Directions of different topics are nearly orthogonal: their cosine has
// mean 0 and standard deviation 1/sqrt(dim).
type dialogueSpace struct {
	dim  int
	a, b float64
	key  uint64 // of the random directions

	basis   [][]float64 // the directions of the current topic, followed by its anchors'
	anchors []int       // the questions of those anchors
	vector  []float64   // of the last question
	own     []float64
	out     []float32
}

// Geometry has the similarities (cosines) that the queries of generated dialogues have.
type Geometry struct {
	Topic    float64 // of two queries of a topic that are not related otherwise
	Siblings float64 // of two queries that follow the same anchor
	Child    float64 // of an anchor and a query that follows it
}

func (s *dialogueSpace) geometry() Geometry {
	return Geometry{Topic: s.a, Siblings: s.a + s.b, Child: s.a + math.Sqrt((1-s.a)*s.b)}
}

// Kinds of directions.
const (
	topicDirection = iota
	anchorDirection
	ownDirection
	paraphraseDirection
)

func newDialogueSpace(dim int, a, b float64, seed uint64) *dialogueSpace {
	return &dialogueSpace{
		dim: dim, a: a, b: b, key: random.Stream(seed, directionBits).Uint64(),
		vector: make([]float64, dim), own: make([]float64, dim), out: make([]float32, dim),
	}
}

// enter computes the directions of a topic with these anchors.
func (s *dialogueSpace) enter(topic int, anchors []int) {
	s.anchors = anchors
	for len(s.basis) < 1+len(anchors) {
		s.basis = append(s.basis, make([]float64, s.dim))
	}
	s.basis = s.basis[:1+len(anchors)]
	s.direction(s.basis[0], topicDirection, uint64(topic), nil)
	for i, anchor := range anchors {
		s.direction(s.basis[1+i], anchorDirection, uint64(anchor), s.basis[:1+i])
	}
}

// direction fills v with a random vector of length 1 that is orthogonal to others, which are orthogonal to each other.
// Kind and number select the vector: the same ones give the same vector.
func (s *dialogueSpace) direction(v []float64, kind int, number uint64, others [][]float64) {
	bits := rand.NewPCG(s.key+uint64(kind), random.Scramble(number))
	for i := range v {
		v[i] = sumOfUniform(bits)
	}
	for _, other := range others {
		addScaled(v, -dot(v, other), other)
	}
	scale(v, 1/math.Sqrt(dot(v, v)))
}

// sumOfUniform returns the sum of four uniform numbers, minus its mean: close to normal, exact, and made of 64 random
// bits.
func sumOfUniform(bits *rand.PCG) float64 {
	x := bits.Uint64()
	return float64(int64(x&0xffff)+int64(x>>16&0xffff)+int64(x>>32&0xffff)+int64(x>>48)) - 2*0xffff
}

// question returns the embedding of a question of the current topic that follows an anchor, or is an anchor if anchor
// is -1.
func (s *dialogueSpace) question(number, anchor int) []float32 {
	clear(s.vector)
	addScaled(s.vector, math.Sqrt(s.a), s.basis[0])
	if anchor < 0 {
		addScaled(s.vector, math.Sqrt(1-s.a), s.ofAnchor(number))
	} else {
		addScaled(s.vector, math.Sqrt(s.b), s.ofAnchor(anchor))
		s.direction(s.own, ownDirection, uint64(number), s.basis)
		addScaled(s.vector, math.Sqrt(max(0, 1-s.a-s.b)), s.own)
	}
	return s.rounded(s.vector)
}

// ofAnchor returns the direction of an anchor of the current topic.
func (s *dialogueSpace) ofAnchor(anchor int) []float64 { return s.basis[1+anchor-s.anchors[0]] }

// paraphrase returns the embedding of a rewording of the question whose embedding was computed last.
func (s *dialogueSpace) paraphrase(number uint64) []float32 {
	const kept = 0.93 // square of the similarity, 0.964
	s.direction(s.own, paraphraseDirection, number, [][]float64{s.vector})
	scale(s.own, math.Sqrt(1-kept))
	addScaled(s.own, math.Sqrt(kept), s.vector)
	return s.rounded(s.own)
}

func (s *dialogueSpace) rounded(v []float64) []float32 {
	for i, x := range v {
		s.out[i] = float32(x)
	}
	return s.out
}

// The products below are converted so that no compiler fuses them with the sums: see draws.go of package random.

func dot(a, b []float64) (sum float64) {
	b = b[:len(a)]
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

func addScaled(v []float64, factor float64, of []float64) {
	of = of[:len(v)]
	for i := range v {
		v[i] += float64(factor * of[i])
	}
}

func scale(v []float64, factor float64) {
	for i := range v {
		v[i] *= factor
	}
}
