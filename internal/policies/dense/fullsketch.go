package dense

// FullSketch is the count-min sketch of Caffeine 2, and of the libraries that took it over: the four counters of an
// object are anywhere in the table, of 16 counters of 4 bits per word. The zero FullSketch counts nothing.
type FullSketch struct {
	words  []uint64
	added  int // requests since counts were halved
	sample int // requests after which they are
	// RoundingFirst takes what rounding costs off the number of requests before that is halved, not after.
	RoundingFirst bool
}

// fullSketchSeeds find the word of each of the four counters (of FNV-1a, CityHash and MurmurHash3).
var fullSketchSeeds = [4]uint64{0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f, 0xcbf29ce484222325}

// SeedHash returns one of four hashes of a hash.
func SeedHash(hash uint64, i int) uint64 {
	h := (hash + fullSketchSeeds[i]) * fullSketchSeeds[i]
	return h + h>>32
}

// NewFullSketch returns a sketch with a word for each of a number of objects, rounded up to a power of two.
func NewFullSketch(objects, sample int) FullSketch {
	return FullSketch{words: make([]uint64, CeilPowerOfTwo(objects)), sample: sample}
}

// Words returns the number of words; 0 of the zero FullSketch.
func (s *FullSketch) Words() int { return len(s.words) }

// Sample returns after how many requests counts are halved.
func (s *FullSketch) Sample() int { return s.sample }

// SetSample sets after how many requests counts are halved.
func (s *FullSketch) SetSample(requests int) { s.sample = max(requests, 1) }

func (s *FullSketch) place(hash uint64, row int) (word, shift uint64) {
	return SeedHash(hash, row) & uint64(len(s.words)-1), (hash&3)<<4 + uint64(row)<<2
}

// Add counts a request of the object with this hash.
func (s *FullSketch) Add(hash uint64) {
	if s.words == nil {
		return
	}
	added := false
	for row := range fullSketchSeeds {
		word, shift := s.place(hash, row)
		if s.words[word]>>shift&MaxCount < MaxCount {
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

// Estimate returns how often the object with this hash was requested lately, at most 15.
func (s *FullSketch) Estimate(hash uint64) int {
	if s.words == nil {
		return 0
	}
	least := uint64(MaxCount)
	for row := range fullSketchSeeds {
		word, shift := s.place(hash, row)
		least = min(least, s.words[word]>>shift&MaxCount)
	}
	return int(least)
}

// halve halves every counter and the number of requests, of which rounding takes a quarter for each odd counter.
func (s *FullSketch) halve() {
	odd := HalveCounters(s.words)
	if s.RoundingFirst {
		s.added = max(s.added-odd/4, 0) / 2
		return
	}
	s.added = max(s.added/2-odd/4, 0)
}
