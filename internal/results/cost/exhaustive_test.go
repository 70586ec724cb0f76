package cost_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// missesOfLRU replays LRU by bytes as simply as possible: a list, the latest request last.
func missesOfLRU(objects []uint32, sizes []int64, room int64) (misses, bytes int64) {
	var list []uint32
	used := int64(0)
	for _, o := range objects {
		found := false
		for i, other := range list {
			if other == o {
				list, found = append(list[:i:i], list[i+1:]...), true
				break
			}
		}
		if !found {
			misses, bytes = misses+1, bytes+sizes[o]
			if sizes[o] > room {
				continue
			}
			for used += sizes[o]; used > room; list = list[1:] {
				used -= sizes[list[0]]
			}
		}
		list = append(list, o)
	}
	return misses, bytes
}

// smallTrace draws requests to up to six objects of up to four bytes, and returns the bytes of all objects.
func smallTrace(t *rapid.T) (tr *traces.Trace, total int64) {
	tr = &traces.Trace{Name: "small", SampleRate: 1, NumObjects: rapid.IntRange(1, 6).Draw(t, "objects")}
	for range tr.NumObjects {
		size := rapid.Int64Range(1, 4).Draw(t, "size")
		tr.ObjectSizes = append(tr.ObjectSizes, size)
		total += size
	}
	for o := range tr.NumObjects {
		tr.Objects = append(tr.Objects, uint32(o))
	}
	for range rapid.IntRange(1, 40).Draw(t, "more requests") {
		tr.Objects = append(tr.Objects, uint32(rapid.IntRange(0, tr.NumObjects-1).Draw(t, "object")))
	}
	return tr, total
}

// TestAnswerIsThatOfAnExhaustiveReplay: where every capacity is replayed, the cheapest capacity, what it costs, what it
// saves against today and against no cache, and what reaches the origin are those of a naive replay of all of them, and
// of the prices by hand.
func TestAnswerIsThatOfAnExhaustiveReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, total := smallTrace(t)
		memory, miss := rapid.IntRange(1, 30).Draw(t, "memory"), rapid.IntRange(1, 30).Draw(t, "miss")
		egress := rapid.IntRange(1, 30).Draw(t, "egress")
		today := rapid.Int64Range(0, total).Draw(t, "today")
		prices, err := cost.Parse(fmt.Sprintf("memory=%d/B-month,miss=%d/1,egress=%d/B", memory, miss, egress))
		if err != nil {
			t.Fatal(err)
		}
		// so many requests a month that the trace is a month's
		b := cost.Bill{Prices: prices, PerSecond: float64(len(tr.Objects)) / (730 * 3600), Today: &today}

		r := sim.NewReplayer(tr, sim.ReplayerOptions{})
		var recs []records.Record
		costs := map[int64]float64{0: 0}
		for _, o := range tr.Objects {
			costs[0] += float64(miss) + float64(egress)*float64(tr.ObjectSizes[o])
		}
		best := int64(0)
		for room := int64(1); room <= total; room++ {
			recs = append(recs, simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(room, true))).Record)
			misses, bytes := missesOfLRU(tr.Objects, tr.ObjectSizes, room)
			costs[room] = float64(memory)*float64(room) + float64(miss)*float64(misses) + float64(egress)*float64(bytes)
			if costs[room] < costs[best] {
				best = room
			}
		}
		a := b.Answers(recs, nil)[0]
		got := a.Best()
		if got.Capacity != best || math.Abs(got.Cost-costs[best]) > 1e-6 || math.Abs(a.None.Cost-costs[0]) > 1e-6 ||
			math.Abs(a.Now.Cost-costs[today]) > 1e-6 {
			t.Fatalf("%d bytes for %v, today %v, no cache %v; want %d for %v, %v, %v", got.Capacity, got.Cost, a.Now.Cost,
				a.None.Cost, best, costs[best], costs[today], costs[0])
		}
		text := a.Sentence()
		saved := func(than float64) string {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(1000*(1-costs[best]/than)+0.5+1e-9)/10), ".0") + "%"
		}
		for _, c := range []struct {
			at      int64
			is, tie string
		}{{today, " less than today", "a tie with today"}, {0, " less than", "a tie with"}} {
			want := saved(costs[c.at]) + c.is
			switch {
			case c.at == best && c.at == today:
				want = "as today"
			case c.at == best:
				continue
			case costs[c.at] == costs[best]:
				want = c.tie
			case saved(costs[c.at]) == "0%":
				want = "less than 0.1%" + c.is
			}
			if !strings.Contains(text, want) {
				t.Fatalf("%q lacks %q", text, want)
			}
		}
		misses, bytes := missesOfLRU(tr.Objects, tr.ObjectSizes, best)
		want := fmt.Sprintf("; the origin gets %d requests and %d B a month", misses, bytes)
		if !strings.Contains(text, want) {
			t.Fatalf("%q lacks %q", text, want)
		}
	})
}
