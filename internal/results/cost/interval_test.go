package cost

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

// withBlocks is a record of blocks of 20 requests, with so many hits in even blocks and in odd ones.
func withBlocks(set *blocks.Set, policy string, capacity, even, odd int64) records.Record {
	r := rec(policy, records.Online, capacity, 25*(even+odd))
	b := &blocks.Blocks{Restarts: true}
	order := make([]int, blocks.Count) // in which blocks are even and odd
	for i := range order {
		order[i] = i
	}
	random.Shuffle(random.Stream(1, 1), order)
	for _, at := range order {
		hits := even
		if at%2 == 1 {
			hits = odd
		}
		b.Each = append(b.Each, blocks.Block{Requests: 20, Misses: 20 - hits, MissedBytes: 1000 * (20 - hits)})
	}
	set.Add(&r, b)
	return r
}

// Two policies that hit in different blocks as often tie; one that hits less often in every block does not.
func TestCostIntervals(t *testing.T) {
	set := blocks.NewSet(1)
	recs := []records.Record{
		withBlocks(set, "arc", 2*gib, 15, 9), withBlocks(set, "sieve", 2*gib, 8, 15), withBlocks(set, "lru", 2*gib, 13, 7),
	}
	b := bill(t)
	b.Today = new(int64(2 * gib))
	a := b.Answers(recs, set)[0]
	best := a.Offers[0]
	if best.Policy != "arc" || best.CostIn == nil || best.CostIn[0] >= best.Cost || best.CostIn[1] <= best.Cost {
		t.Fatalf("%+v", best)
	}
	if sieve, lru := a.offerOf("sieve"), a.offerOf("lru"); !sieve.Tied || lru.Tied || a.Now.Tied {
		t.Errorf("sieve %+v, lru %+v, today %+v", sieve, lru, a.Now)
	}
	low, high, ok := savedIn(best, *a.Now)
	if text := a.Sentence(); !ok || low >= 0.176 || high <= 0.176 || !strings.Contains(text, " a month"+costIn(best)+
		", arc at 2 GiB: 17.6% ("+strings.TrimSuffix(share(low), "%")+" to "+share(high)+") less than today") {
		t.Error(text)
	}
	if text := strings.Join(a.Explanation(), "\n") + "\n"; !strings.Contains(text, "of the trace); a tie: arc, sieve\n") {
		t.Error(text)
	}
	if now := b.Answers(recs[2:], set)[0].Now; now.Tied || now.CostIn == nil {
		t.Errorf("today's capacity, the cheapest, ties with itself: %+v", now)
	}
	if text := b.Answers(recs, nil)[0].Sentence(); strings.Contains(text, " to ") {
		t.Errorf("intervals without blocks: %s", text)
	}
}

// Each draw has its own cheapest capacity.
func TestCapacityIntervals(t *testing.T) {
	set := blocks.NewSet(1)
	recs := []records.Record{withBlocks(set, "lru", gib, 8, 4), withBlocks(set, "lru", 2*gib, 10, 3),
		withBlocks(set, "lru", 3*gib, 11, 4)}
	b := bill(t)
	a := b.Answers(recs, set)[0]
	o := a.Offers[0]
	if o.CapacityIn == nil || *o.CapacityIn != [2]int64{gib, 3 * gib} {
		t.Errorf("%+v", o.CapacityIn)
	}
	if !strings.Contains(a.Sentence(), " GiB (1 to 3 GiB): ") {
		t.Error(a.Sentence())
	}
}
