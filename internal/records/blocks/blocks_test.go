package blocks

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/records"
)

// ones are blocks of which each counts as 1 request, 1000 times its number in misses.
func ones(n int) (each []Block) {
	for i := range n {
		each = append(each, Block{Requests: 1, Misses: int64(1000 * i)})
	}
	return each
}

// Every draw has as many blocks as there are, in runs of neighbours, and draws follow from their seed.
func TestDraws(t *testing.T) {
	for _, length := range []int{1, 17, 20} {
		p := newPlan([]*Blocks{{Each: walk(length), Restarts: true}}, 1)
		if p.begin != 0 || p.run < shortest || p.tooLong {
			t.Fatalf("%+v", p)
		}
		var mean float64
		for k, drawn := range p.sums(ones(Count)) {
			var naive Block
			for i, left := 0, Count; left > 0; i, left = i+1, left-p.run {
				for j := range min(p.run, left) {
					naive.Misses += int64(1000 * ((int(p.firsts[k*p.runs()+i]) + j) % Count))
				}
			}
			if naive.Requests = Count; drawn != naive {
				t.Fatalf("draw %d has %+v, want %+v", k, drawn, naive)
			}
			mean += float64(drawn.Misses) / Count / Draws
		}
		if want := 1000 * (Count - 1) / 2.; math.Abs(mean-want) > want/20 {
			t.Errorf("the mean of the draws is %v, want about %v", mean, want)
		}
	}
	replays := []*Blocks{{Each: walk(1), Restarts: true}}
	one, again, other := newPlan(replays, 1), newPlan(replays, 1), newPlan(replays, 2)
	if !slices.Equal(one.firsts, again.firsts) || slices.Equal(one.firsts, other.firsts) {
		t.Error("draws do not follow from their seed")
	}
}

// walk is blocks of 1000 requests whose misses are independent but for how many blocks in a row have the same.
func walk(length int) (each []Block) {
	bits, misses := random.Stream(1, 2), int64(0)
	for i := range Count {
		if i%length == 0 {
			n, _ := random.Below(bits, 1000)
			misses = int64(n)
		}
		each = append(each, Block{Requests: 1000, Misses: misses})
	}
	return each
}

// The blocks that are drawn together follow from how long misses stay alike: phases of a quarter of the log are too
// long for it, and so is a trend. Days, after which misses are as before, are no phases.
func TestLength(t *testing.T) {
	course := func(misses func(i int) float64) (each []Block) {
		for i := range Count {
			each = append(each, Block{Requests: 1000, Misses: int64(misses(i))})
		}
		return each
	}
	noise := walk(1)
	for name, c := range map[string]struct {
		each     []Block
		from, to float64 // lengths
	}{
		"noise":     {noise, 1, 10},
		"constant":  {course(func(int) float64 { return 7 }), 4, 4},
		"10 alike":  {walk(10), 8, 30},
		"30 alike":  {walk(30), 20, 40},
		"100 alike": {walk(100), longest, Count},
		"trend":     {course(func(i int) float64 { return float64(i) + float64(noise[i].Misses)/4 }), longest, Count},
		"20 days":   {course(func(i int) float64 { return 500 + 400*math.Sin(2*math.Pi*float64(i)/20) }), 1, longest},
	} {
		if length := lengthOf(c.each); length < c.from || length > c.to {
			t.Errorf("%s: length %v, want %v to %v", name, length, c.from, c.to)
		}
	}
	bytes := course(func(int) float64 { return 7 })
	for i, e := range walk(100) {
		bytes[i].MissedBytes = e.Misses
	}
	if length := lengthOf(bytes); length <= longest {
		t.Errorf("phases of the bytes missed: length %v, want more than %v", length, longest)
	}
}

// With coefficients of 0.9 and noise of 1, an autoregression has the spectrum 100 at frequency 0, autocovariances of
// 0.9^k / 0.19, and thus blocks of (1.5 (2 sum k 0.9^k / 0.19 / 100)^2 n)^(1/3): 51.1 for 1000 values.
func TestLengthOfAutoregression(t *testing.T) {
	sum := 0.
	const logs = 40
	for seed := range uint64(logs) {
		bits, x := random.Stream(seed, 3), make([]float64, 1000)
		for i := range x {
			if x[i] = random.Normal(bits); i > 0 {
				x[i] += 0.9 * x[i-1]
			}
		}
		sum += circular(x)
	}
	if mean := sum / logs; mean < 38 || mean > 60 {
		t.Errorf("mean length %v, want about 51", mean)
	}
}

// What happens until a cache is full is not drawn, and varies as much as what is.
func TestOnlyFullCachesAreDrawn(t *testing.T) {
	r := records.Record{Trace: "t", Policy: "lru", Capacity: 5, SampleRate: 1}
	b := &Blocks{Each: walk(1)}
	for i := range b.Each[:100] {
		b.Each[i].Misses = int64(100_000 - 1000*i) // would be a trend
	}
	b.Filled = Filled{At: 100_001, Requests: 300_000}
	sum := b.Sum()
	r.Set(metric.HitRatio, 1-float64(sum.Misses)/float64(sum.Requests))
	s := NewSet(1)
	s.Add(&r, b)
	if full := b.full(); full != 100 {
		t.Fatalf("full at block %d, want 100", full)
	}
	v, ok := s.Drawn(&r)
	if !ok {
		t.Fatal("no draws")
	}
	// The misses of a block are uniform up to 1000 of 1000: a standard deviation of 0.289, of the mean of 400 0.0144.
	low, high := Interval(r.Float(metric.HitRatio), v.HitRatios)
	if width := high - low; width < 0.045 || width > 0.075 {
		t.Errorf("the interval is %v wide, want about 0.06", width)
	}
	never := r
	never.Capacity = 500
	cold := &Blocks{Each: slices.Clone(b.Each)}
	s.Add(&never, cold)
	if _, ok := s.Drawn(&never); !ok || s.planOf("t").begin != 100 || cold.full() != Count {
		t.Error("a cache that never fills ends the draws of others")
	}
	if p := newPlan([]*Blocks{cold}, 1); p.begin != Count/2 || p.run != shortest {
		t.Errorf("of a cache that never fills blocks from %d on are drawn, %d together; want %d, %d", p.begin, p.run, Count/2,
			shortest)
	}
}

// One policy whose phases are too long is enough: differences need the same draws.
func TestTooLong(t *testing.T) {
	s := NewSet(1)
	var recs []records.Record
	for _, c := range []struct {
		trace, policy string
		alike         int
	}{{"t", "lru", 1}, {"t", "arc", 100}, {"other", "lru", 1}} {
		r := records.Record{Trace: c.trace, Policy: c.policy}
		r.Set(metric.HitRatio, 0.5)
		s.Add(&r, &Blocks{Each: walk(c.alike), Restarts: true})
		recs = append(recs, r)
	}
	for i, want := range []bool{false, false, true} {
		if _, ok := s.Drawn(&recs[i]); ok != want {
			t.Errorf("%+v: draws %v, want %v", recs[i], ok, want)
		}
	}
	if got := s.Remark(recs); len(got) == 0 || s.Remark(recs[2:]) != "" || (*Set)(nil).Remark(recs) != "" {
		t.Errorf("%q", got)
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
