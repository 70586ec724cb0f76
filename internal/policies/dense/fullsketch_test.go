package dense

import "testing"

// Objects that were requested one to three times have counts of half of that after halving; the odd ones take a quarter
// of a request per counter, rounded down.
func TestFullSketchHalves(t *testing.T) {
	s := NewFullSketch(1024, 6)
	hashes := []uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb}
	for i, h := range hashes {
		for range i + 1 {
			s.Add(h)
		}
	}
	for i, want := range []int{0, 1, 1} {
		if got := s.Estimate(hashes[i]); got != want {
			t.Errorf("%d requests, halved: %d, want %d", i+1, got, want)
		}
	}
	if s.added != 1 { // 6 / 2 - 8 / 4
		t.Errorf("%d requests in the new sample, want 1", s.added)
	}
	first := NewFullSketch(1024, 6)
	first.RoundingFirst = true
	for i, h := range hashes {
		for range i + 1 {
			first.Add(h)
		}
	}
	if first.added != 2 { // (6 - 8 / 4) / 2
		t.Errorf("%d requests in the new sample with rounding first, want 2", first.added)
	}
	for range 100 {
		s.sample = 1000
		s.Add(hashes[0])
	}
	if got := s.Estimate(hashes[0]); got != MaxCount {
		t.Errorf("100 requests: %d, want %d", got, MaxCount)
	}
}
