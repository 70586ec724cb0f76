package softmax

import (
	"math"
	"math/bits"
	"slices"
)

// Selector finds the greatest of many numbers without sorting them. The zero value is ready for use; it reuses its
// memory, and is not safe for use by several goroutines.
type Selector struct {
	positions []int32 // of candidates, in ascending order
	keys      []int32 // theirs
	left      []int32 // keys that may be the k-th greatest
	counts    [1 << countBits]int32
}

const countBits = 11

// Numbers fewer than fewNumbers are all candidates. Of more, one in sampleEvery says how great candidates are.
const fewNumbers, sampleEvery = 2048, 16

// Top appends the positions of the k greatest numbers to dst, in ascending order; all positions if k is above their
// number. Ties go to the lower position; -0 and 0 tie. NaN is greater than any number if its sign bit is 0, and less if
// that is 1.
func (s *Selector) Top(dst []int32, numbers []float32, k int) []int32 {
	k = min(k, len(numbers))
	if k <= 0 {
		return dst
	}
	s.collect(numbers, s.bound(numbers, k))
	if len(s.keys) < k {
		s.collect(numbers, math.MinInt32) // the sample was misleading
	}
	least, ties := s.kth(s.keys, k)
	dst = slices.Grow(dst, k)
	s.choose(dst[len(dst):len(dst)+k], least, ties)
	return dst[:len(dst)+k]
}

// choose sets dst to the positions of the candidates with a greater key, and of the first with this key.
func (s *Selector) choose(dst []int32, least int32, ties int) {
	n := 0
	for i, key := range s.keys {
		if key == least {
			if ties == 0 {
				continue
			}
			ties--
		}
		dst[n] = s.positions[i]
		if key >= least { // which of the two is hard to foresee, so that the write is no branch
			n++
		}
		if n == len(dst) {
			return
		}
	}
}

// keyOf returns an integer for a number: the greater the number, the greater the integer.
func keyOf(x float32) int32 {
	key := int32(math.Float32bits(x + 0)) // the sum of -0 and 0 is 0
	return key ^ int32(uint32(key>>31)>>1)
}

// collect makes the numbers with at least a key candidates.
func (s *Selector) collect(numbers []float32, least int32) {
	s.positions = slices.Grow(s.positions[:0], len(numbers))[:len(numbers)]
	s.keys = slices.Grow(s.keys[:0], len(numbers))[:len(numbers)]
	n, whole := 0, eights(len(numbers))
	if whole > 0 {
		n = collectMany(&s.positions[0], &s.keys[0], &numbers[0], whole, least, &moves)
	}
	for i := whole; i < len(numbers); i++ {
		key := keyOf(numbers[i])
		s.positions[n], s.keys[n] = int32(i), key
		if key >= least {
			n++
		}
	}
	s.positions, s.keys = s.positions[:n], s.keys[:n]
}

// moves has for every set of eight lanes which of them the assembly moves to which place: the lanes of the set, in
// order, to the first ones.
var moves = func() (moves [256][width]uint8) {
	for set := range moves {
		n := 0
		for lane := range width {
			if set>>lane&1 == 1 {
				moves[set][n] = uint8(lane)
				n++
			}
		}
	}
	return moves
}()

// bound returns a key that the k greatest numbers probably have at least, and few others have.
func (s *Selector) bound(numbers []float32, k int) int32 {
	if len(numbers) < fewNumbers {
		return math.MinInt32
	}
	s.keys = s.keys[:0]
	for i := 0; i < len(numbers); i += sampleEvery {
		s.keys = append(s.keys, keyOf(numbers[i]))
	}
	expected := k / sampleEvery
	rank := expected + int(3*math.Sqrt(float64(expected))) + 4
	if rank >= len(s.keys) {
		return math.MinInt32
	}
	bound, _ := s.kth(s.keys, rank)
	return bound
}

// kth returns the k-th greatest key, and how many of the k greatest are equal to it. It counts the keys in ranges of
// the same width, and goes on with the range that has it.
func (s *Selector) kth(keys []int32, k int) (least int32, ties int) {
	low, high := slices.Min(keys), slices.Max(keys)
	for {
		shift := max(0, bits.Len32(uint32(high)-uint32(low))-countBits)
		clear(s.counts[:])
		for _, key := range keys {
			s.counts[(uint32(key)-uint32(low))>>shift]++
		}
		at := len(s.counts) - 1
		for k > int(s.counts[at]) {
			k -= int(s.counts[at])
			at--
		}
		low += int32(at << shift)
		if shift == 0 {
			return low, k
		}
		high = int32(min(int64(high), int64(low)+1<<shift-1))
		keys = s.keep(keys, low, high)
	}
}

// keep returns the keys from low to high.
func (s *Selector) keep(keys []int32, low, high int32) []int32 {
	s.left = slices.Grow(s.left[:0], len(keys))[:len(keys)]
	n := 0
	for _, key := range keys {
		s.left[n] = key
		if low <= key && key <= high {
			n++
		}
	}
	return s.left[:n]
}
