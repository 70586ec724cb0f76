package blocks

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Every draw has as many blocks as there are, in runs of neighbours, and every block is drawn as often as any other.
func TestDraws(t *testing.T) {
	d := newDraws(1)
	var all [Count]int
	for k := range Draws {
		sum := 0
		for i, n := range d.of(k) {
			sum += int(n)
			all[i] += int(n)
		}
		if sum != Count {
			t.Fatalf("draw %d has %d blocks", k, sum)
		}
	}
	for i, n := range all {
		if math.Abs(float64(n)-Draws) > 0.2*Draws {
			t.Errorf("block %d is in %d draws", i, n)
		}
	}
	if other := newDraws(2); string(other) == string(d) || string(newDraws(1)) != string(d) {
		t.Error("draws do not follow from their seed")
	}
}

func TestIntervalAndTie(t *testing.T) {
	var drawn []float64
	for k := range Draws {
		drawn = append(drawn, float64(Draws-k))
	}
	if low, high := Interval(500, drawn); low != 25 || high != 975 {
		t.Errorf("from %v to %v, want 25 to 975", low, high)
	}
	if low, high := Interval(2, drawn); low != 2 || high != 975 {
		t.Errorf("from %v to %v, without what was measured", low, high)
	}
	for shift, want := range map[float64]bool{24: false, 26: true, 500: true, 974: true, 976: false} {
		differences := make([]float64, len(drawn))
		for k, x := range drawn {
			differences[k] = x - shift
		}
		if Tie(differences) != want {
			t.Errorf("a tie is %v if 0 is the value %v of %d", !want, shift, Draws)
		}
	}
}

// The draws of a sample vary around its hit ratio, which is that of the whole trace. Blocks that are all alike do not
// vary.
func TestDrawn(t *testing.T) {
	r := records.Record{Policy: "lru", Capacity: 5}
	r.Set(metric.HitRatio, 0.6)
	s := NewSet(1)
	if _, ok := s.Drawn(&r); ok || (*Set)(nil).Of(&r) != nil {
		t.Error("blocks of a record without any")
	}
	b := &Blocks{}
	for range Count {
		b.Each = append(b.Each, Block{Requests: 10, Misses: 5, MissedBytes: 500})
	}
	s.Add(&r, b)
	v, ok := s.Drawn(&r)
	for k := range v.HitRatios { // 0.4 misses per expected request instead of 0.5
		if math.Abs(v.HitRatios[k]-0.6) > 1e-12 || math.Abs(v.MissedBytes[k]-40) > 1e-9 {
			t.Fatalf("draw %d: %v, %v bytes", k, v.HitRatios[k], v.MissedBytes[k])
		}
	}
	if !ok {
		t.Error("no draws")
	}
	other := r
	other.Capacity = 6
	if s.Add(&other, &Blocks{Each: b.Each[:1]}); s.Of(&other) == nil {
		t.Error("no blocks of a short trace")
	}
	if _, ok := s.Drawn(&other); ok {
		t.Error("draws of a short trace")
	}
}
