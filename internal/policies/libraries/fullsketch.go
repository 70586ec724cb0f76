package libraries

import "github.com/cachesim/cachesim/internal/policies/dense"

// fullSketch is the count-min sketch of Caffeine 2, and of the libraries that took it over: the four counters of an
// object are anywhere in the table, of 16 counters of 4 bits per word. The zero fullSketch counts nothing.
type fullSketch struct {
	words  []uint64
	added  int // requests since counts were halved
	sample int // requests after which they are
}

// fullSketchSeeds find the word of each of the four counters (of FNV-1a, CityHash and MurmurHash3).
var fullSketchSeeds = [4]uint64{0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f, 0xcbf29ce484222325}

// newFullSketch returns a sketch with a word for each of a number of objects, rounded up to a power of two.
func newFullSketch(objects, sample int) fullSketch {
	return fullSketch{words: make([]uint64, dense.CeilPowerOfTwo(objects)), sample: sample}
}

func (s *fullSketch) place(hash uint64, row int) (word, shift uint64) {
	at := (hash + fullSketchSeeds[row]) * fullSketchSeeds[row]
	at += at >> 32
	return at & uint64(len(s.words)-1), (hash&3)<<4 + uint64(row)<<2
}

func (s *fullSketch) add(hash uint64) {
	if s.words == nil {
		return
	}
	added := false
	for row := range fullSketchSeeds {
		word, shift := s.place(hash, row)
		if s.words[word]>>shift&dense.MaxCount < dense.MaxCount {
			s.words[word] += 1 << shift
			added = true
		}
	}
	if added {
		if s.added++; s.added >= s.sample {
			s.halve()
		}
	}
}

func (s *fullSketch) estimate(hash uint64) int {
	if s.words == nil {
		return 0
	}
	least := uint64(dense.MaxCount)
	for row := range fullSketchSeeds {
		word, shift := s.place(hash, row)
		least = min(least, s.words[word]>>shift&dense.MaxCount)
	}
	return int(least)
}

// halve halves every counter and the number of requests, of which rounding takes a quarter for each odd counter.
func (s *fullSketch) halve() {
	odd := dense.HalveCounters(s.words)
	s.added = max(s.added/2-odd/4, 0)
}
