package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

const (
	length  = 20_000 // requests of a log after the warm-up
	objects = 3000
	mib     = 1 << 20 // the size of each
)

// popularity is by the skew of its Zipf distribution, in hundredths.
var popularity = func() (of [111]random.Zipf) {
	for skew := 60; skew < len(of); skew++ {
		of[skew] = random.NewZipf(objects, float64(skew)/100)
	}
	return of
}()

// course returns the skew of a log at each of its requests, and by how much its objects are shifted.
type course func(bits *rand.PCG, requests int) func(pos int) (skew, shift int)

func stationary(*rand.PCG, int) func(int) (int, int) {
	return func(int) (int, int) { return 90, 0 }
}

// phased is phases of a mean length. Each has a skew of its own, and objects of its own.
func phased(mean int) course {
	return func(bits *rand.PCG, _ int) func(int) (int, int) {
		left, skew, shift := 0, 0, 0
		return func(int) (int, int) {
			if left == 0 {
				left = random.Geometric(bits, float64(mean))
				skew, _ = random.Below(bits, 51)
				shift, _ = random.Below(bits, objects)
			}
			left--
			return 60 + skew, shift
		}
	}
}

// daily is that many days, which begin at any hour.
func daily(days float64) course {
	return func(bits *rand.PCG, requests int) func(int) (int, int) {
		hour := random.Unit(bits)
		return func(pos int) (int, int) {
			day := hour + days*float64(pos)/float64(requests)
			return 85 + int(math.Round(15*math.Sin(2*math.Pi*day))), 0
		}
	}
}

func trending(_ *rand.PCG, requests int) func(int) (int, int) {
	return func(pos int) (int, int) { return 70 + 40*pos/requests, 0 }
}

// logOf is a log with a course, of objects in the order of their first requests.
func logOf(of course, seed uint64, requests int) *traces.Trace {
	bits := random.Stream(seed, 1)
	at := of(bits, requests)
	t := &traces.Trace{Name: "log", SampleRate: 1}
	number := map[int]uint32{}
	for pos := range requests {
		skew, shift := at(pos)
		o := (popularity[skew].Draw(bits) + shift) % objects
		if _, known := number[o]; !known {
			number[o] = uint32(len(number))
			t.ObjectSizes = append(t.ObjectSizes, mib)
		}
		t.Objects = append(t.Objects, number[o])
	}
	t.NumObjects = len(number)
	return t
}

// replayed is the records of a log with their blocks.
func replayed(t *testing.T, tr *traces.Trace, warmup int) ([]records.Record, *blocks.Set) {
	t.Helper()
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup, Blocks: true})
	set := blocks.NewSet(1)
	var recs []records.Record
	for _, policy := range []string{"lru", "sieve"} {
		for _, n := range []int64{50, 200, 600, 1800} {
			result := simtest.Replay(t, r, simtest.Cell(t, policy, capacity.Of(n*mib, true)))
			set.Add(&result.Record, result.Blocks)
			recs = append(recs, result.Record)
		}
	}
	return recs, set
}

// said is what is said of lru: its hit ratio at 200 MiB, the capacity for 80% of the largest hit ratio, and the cost of
// its cheapest capacity, with their intervals; nil where there is none.
type said struct {
	values    [3]float64
	intervals [3]*[2]float64
}

func saidOf(t *testing.T, bill cost.Bill, recs []records.Record, set *blocks.Set) (s said) {
	t.Helper()
	r := &recs[1]
	s.values[0] = r.Float(metric.HitRatio)
	if drawn, ok := set.Drawn(r); ok {
		low, high := blocks.Interval(s.values[0], drawn.HitRatios)
		s.intervals[0] = &[2]float64{low, high}
	}
	for _, o := range bill.Answers(recs, set)[0].Offers {
		if o.Policy == "lru" {
			s.values[2], s.intervals[2] = o.Cost, o.CostIn
		}
	}
	return s
}

// addNeed adds the capacity for 80% of the largest hit ratio.
func (s *said) addNeed(t *testing.T, tr *traces.Trace, warmup int) {
	t.Helper()
	r := newReplays(t, tr, warmup)
	n := r.answer(target.Target{Value: 0.8, Share: true}, []string{"lru"}, capacity.Of(200*mib, true)).Needs[0]
	if s.values[1] = float64(n.Capacity); n.Interval != nil {
		s.intervals[1] = &[2]float64{float64(n.Interval.Low), float64(n.Interval.High)}
	}
}

// coverage is how many logs have intervals, and how many of these hold what all logs have on average: a hit ratio, a
// capacity, a cost.
func coverage(t *testing.T, of course, logs, warmup int) (given int, hold [3]int) {
	t.Helper()
	bill := cost.Bill{Prices: must.Get(cost.Parse("memory=1/GiB-month,miss=1/M"))(t), PerSecond: 1}
	var all []said
	var mean []records.Record
	for i := range logs {
		tr := logOf(of, uint64(i), warmup+length)
		recs, set := replayed(t, tr, warmup)
		s := saidOf(t, bill, recs, set)
		s.addNeed(t, tr, warmup)
		all = append(all, s)
		if mean == nil {
			mean = make([]records.Record, len(recs))
			copy(mean, recs)
			continue
		}
		for k := range mean {
			for _, m := range []metric.Metric{metric.HitRatio, metric.Misses, metric.Hits} {
				mean[k].Set(m, mean[k].Float(m)+(recs[k].Float(m)-mean[k].Float(m))/float64(i+1))
			}
		}
	}
	want := saidOf(t, bill, mean, nil)
	for _, s := range all {
		want.values[1] += s.values[1] / float64(logs)
	}
	for _, s := range all {
		if s.intervals[0] == nil {
			continue
		}
		given++
		for k, in := range s.intervals {
			if in == nil && s.values[k] == want.values[k] || in != nil && in[0] <= want.values[k] && want.values[k] <= in[1] {
				hold[k]++
			}
		}
	}
	return given, hold
}

// TestCoverage measures how often intervals hold what is true of all logs of a kind, as docs/report.md says.
func TestCoverage(t *testing.T) {
	logs := brief.OfLong(100, 20)
	docs := string(must.Get(os.ReadFile("../../../docs/report.md"))(t))
	for _, kind := range []struct {
		name        string
		of          course
		warmup      int
		least, most float64 // share of the logs with intervals
		holds       float64 // share of these which at least hold
	}{
		{"stationary (Zipf)", stationary, 2000, 0.9, 1, 0.9},
		{"stationary, the cache empty at first", stationary, 0, 0.85, 1, 0.9},
		{"phases of 100", phased(100), 2000, 0.95, 1, 0.9},
		{"phases of 250", phased(250), 2000, 0.95, 1, 0.9},
		{"phases of 500", phased(500), 2000, 0.9, 1, 0.9},
		{"phases of 1,000", phased(1000), 2000, 0.6, 1, 0.9},
		{"phases of 2,000", phased(2000), 2000, 0, 0.8, 0.9},
		{"phases of 5,000", phased(5000), 2000, 0, 0.5, 0.5},
		{"30 days", daily(30), 2000, 0.95, 1, 0.95},
		{"7.3 days", daily(7.3), 2000, 0, 1, 0.95},
		{"1.5 days", daily(1.5), 2000, 0, 0.05, 0},
		{"a skew that grows from 0.7 to 1.1", trending, 2000, 0, 0.05, 0},
	} {
		given, hold := coverage(t, kind.of, logs, kind.warmup)
		row := fmt.Sprintf("| %s | %d |", kind.name, given)
		for k, n := range hold {
			row += fmt.Sprintf(" %d |", n)
			if n < int(kind.holds*float64(given)) { // -short has too few logs for the last part of one
				t.Errorf("%s: of %d intervals %d hold (%d), want %.0f%%", kind.name, given, n, k, 100*kind.holds)
			}
		}
		if share := float64(given) / float64(logs); share < kind.least || share > kind.most {
			t.Errorf("%s: %.0f%% of the logs have intervals, want %.0f to %.0f%%", kind.name, 100*share, 100*kind.least,
				100*kind.most)
		}
		if brief.InFull() && !strings.Contains(docs, row) {
			t.Errorf("docs/report.md lacks this row:\n%s", row)
		}
	}
}
