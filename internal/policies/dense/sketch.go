package dense

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Sketch estimates how often objects were requested recently: a count-min sketch of 4-bit counters that are halved
// after every sample of requests (Einziger, Friedman, Manes, TinyLFU, ACM ToS 2017, section 3). The four counters of an
// object are in one block of 64 bytes, so that a count touches one cache line.
type Sketch struct {
	words     []uint64 // blocks of 8 words, 16 counters per word
	blockMask uint64
	seed      uint64
	added     int // requests in the current sample
	sample    int // requests after which counters are halved

	// door holds one bit per counter: the first request of an object in a sample only opens it (section 3.4.2).
	// nil without a doorkeeper.
	door []uint64
}

const (
	MaxCount     = 15
	blockWords   = 8
	WordCounters = 16 // counters per word
)

// NewSketch returns a sketch with at least that many counters, rounded up to a power of two.
func NewSketch(counters, sample int, doorkeeper bool, seed uint64) Sketch {
	blocks := CeilPowerOfTwo((counters + blockWords*WordCounters - 1) / (blockWords * WordCounters))
	s := Sketch{words: make([]uint64, blocks*blockWords), blockMask: uint64(blocks - 1), seed: seed,
		sample: max(sample, 1)}
	if doorkeeper {
		s.door = make([]uint64, blocks*blockWords*WordCounters/64)
	}
	return s
}

func (s *Sketch) Counters() int { return len(s.words) * WordCounters }

// Grow enlarges the sketch to at least that many counters. Estimates stay the same.
func (s *Sketch) Grow(counters, sample int) {
	for s.Counters() < counters { // the lowest bits of an object's hash choose its block
		s.words = append(s.words, s.words...)
		s.door = append(s.door, s.door...)
		s.blockMask = 2*s.blockMask + 1
	}
	s.sample = max(sample, 1)
}

// Fit keeps the sample in proportion to the number of objects, and starts a sketch of twice as many counters if there
// are too few.
func (s *Sketch) Fit(counters, sample int) {
	if counters > s.Counters() {
		*s = NewSketch(2*counters, 0, s.door != nil, s.seed)
	}
	s.sample = max(sample, 1)
}

// Hold starts a sketch of that many counters if there are fewer, and sets the sample, which then ends with the next
// request at the earliest.
func (s *Sketch) Hold(counters, sample int) {
	if counters > s.Counters() {
		*s = NewSketch(counters, sample, s.door != nil, s.seed)
		return
	}
	s.sample, s.added = sample, min(s.added, sample-1)
}

// CeilPowerOfTwo returns the smallest power of two that is at least n, and 1 for n < 1.
func CeilPowerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// block returns the 64 bytes that hold the counters of hash h.
func (s *Sketch) block(h uint64) *[blockWords]uint64 {
	at := (h & s.blockMask) * blockWords
	return (*[blockWords]uint64)(s.words[at : at+blockWords])
}

// place returns the word and the shift of counter i, one of 32 in the i-th quarter of a block.
func place(h uint64, i uint) (word uint64, shift uint64) {
	c := h >> (32 + 8*i)
	return 2*uint64(i) + c&1, c << 1 & 60 // four times c >> 1 & 15
}

func (s *Sketch) Add(o Object) { s.AddHash(random.Scramble(uint64(o) + s.seed)) }

// AddHash is Add for an object with a hash of its own: its lowest bits choose the block, the upper half the counters.
func (s *Sketch) AddHash(h uint64) {
	if s.door != nil && s.open(h) {
		s.count()
		return
	}
	block := s.block(h)
	// | and not ||: all four counters are incremented, even after the first one that had room.
	if increment(block, h, 0)|increment(block, h, 1)|increment(block, h, 2)|increment(block, h, 3) != 0 {
		s.count()
	}
}

// increment adds 1 to counter i of hash h, and returns it, or 0 where the counter is full.
func increment(block *[blockWords]uint64, h uint64, i uint) uint64 {
	word, shift := place(h, i)
	// 1, or 0 where the counter is 15, without a branch.
	room := 1 ^ (block[word]>>shift&MaxCount+1)/(MaxCount+1)
	block[word] += room << shift
	return room
}

func (s *Sketch) count() {
	if s.added++; s.added >= s.sample {
		s.halve()
	}
}

func counter(block *[blockWords]uint64, h uint64, i uint) uint64 {
	word, shift := place(h, i)
	return block[word] >> shift & MaxCount
}

// Estimate returns how often o was requested in about the last sample, at most 15 (16 with a doorkeeper).
func (s *Sketch) Estimate(o Object) int { return s.EstimateHash(random.Scramble(uint64(o) + s.seed)) }

func (s *Sketch) EstimateHash(h uint64) int {
	block := s.block(h)
	least := min(counter(block, h, 0), counter(block, h, 1), counter(block, h, 2), counter(block, h, 3))
	if s.door != nil && s.isOpen(h) {
		least++
	}
	return int(least)
}

// halve halves every counter and the number of requests in the sample. Rounding takes half a request from each odd
// counter, which counts as a quarter of a request in the sample.
func (s *Sketch) halve() {
	odd := HalveCounters(s.words)
	s.added = max(s.added-odd/4, 0) / 2
	clear(s.door)
}

// HalveCounters halves the counters in words, of which each has 16, and returns how many were odd.
func HalveCounters(words []uint64) (odd int) {
	for i, w := range words {
		odd += bits.OnesCount64(w & 0x1111111111111111)
		// The mask drops the bits that the shift moves from each counter into the one below.
		words[i] = w >> 1 & 0x7777777777777777
	}
	return odd
}

// doorBits returns the two bits of hash h in the doorkeeper, both in one word.
func (s *Sketch) doorBits(h uint64) (word int, mask uint64) {
	return int(h >> 14 & uint64(len(s.door)-1)), 1<<(h&63) | 1<<(h>>6&63)
}

func (s *Sketch) isOpen(h uint64) bool {
	word, mask := s.doorBits(h)
	return s.door[word]&mask == mask
}

// open opens the door for h and reports whether it was shut.
func (s *Sketch) open(h uint64) bool {
	word, mask := s.doorBits(h)
	shut := s.door[word]&mask != mask
	s.door[word] |= mask
	return shut
}
