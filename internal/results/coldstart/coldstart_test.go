package coldstart

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

// world is records of a trace whose footprint grows with a power of its length, and their blocks.
type world struct {
	power float64
	set   *blocks.Set
	recs  []records.Record
}

const (
	parts     = 50 // of the trace
	perPart   = 1000
	perBlock  = parts * perPart / blocks.Count
	footprint = 10_000
)

// add adds a record with misses in all parts, besides those of first requests, and a cache that is full from a part on.
func (w *world) add(label string, capacity int64, others int64, filledIn int) {
	b := &blocks.Blocks{}
	seen := int64(0)
	for i := range int64(blocks.Count) {
		others := parts*others*(i+1)/blocks.Count - parts*others*i/blocks.Count
		next := int64(math.Round(footprint * math.Pow(float64(i+1)/blocks.Count, w.power)))
		b.Each = append(b.Each, blocks.Block{Requests: perBlock, Misses: next - seen + others})
		b.New[2*i/blocks.Count] += next - seen
		b.NewBytes[2*i/blocks.Count] += 10 * (next - seen)
		b.Cold += next - seen
		seen = next
	}
	if filledIn > 0 {
		b.Filled.At = int64(filledIn)*perPart + 1
		for _, e := range b.Each[filledIn*blocks.Count/parts:] {
			b.Filled.Requests, b.Filled.Misses = b.Filled.Requests+e.Requests, b.Filled.Misses+e.Misses
		}
	}
	r := records.Record{Trace: "t", Policy: label, Label: label, Kind: records.Online, Capacity: capacity,
		CapacityUnit: records.Objects, CapacityText: "7", SampleRate: 1}
	sum := b.Sum()
	r.SetInt(metric.Requests, sum.Requests)
	r.SetInt(metric.Misses, sum.Misses)
	r.Set(metric.HitRatio, 1-float64(sum.Misses)/float64(sum.Requests))
	if w.set == nil {
		w.set = blocks.NewSet(1)
	}
	w.set.Add(&r, b)
	w.recs = append(w.recs, r)
}

func (w *world) lines() []string {
	return Lines(w.recs, w.set, func(*records.Record) string { return "objects" })
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}

// The footprint grows with the square root of the length: in a log twice as long first requests are 14,142 of 100,000
// requests. With lru half of the misses are first requests.
func TestLines(t *testing.T) {
	w := world{power: 0.5}
	w.add("lru", 500, 200, 1)
	w.add("lru", 1000, 200, 10)
	w.add("arc", 1000, 100, 10)
	check(t, w.lines(),
		"arc at 1,000 objects: 70.00% of all requests hit, 76.18% once the cache has filled (at request 10,001)",
		"at 1,000 objects or more, most misses are first requests (10,000 of 15,000 with arc), 20.00% of all requests; ~14% "+
			"in a log twice as long (an estimate)")
	w.add("arc", 20_000, 100, 0)
	check(t, w.lines()[1:], "20,000 objects never fills: the trace requests 10,000; if that grows as so far, a log "+
		"~4.0 times as long fills it (an estimate)")
}

// Where nothing repeats, no note speaks of most misses or of a longer log.
func TestNothingRepeats(t *testing.T) {
	w := world{power: 1}
	w.set = blocks.NewSet(1)
	for _, capacity := range []int64{1000, 40_000} {
		b := &blocks.Blocks{}
		for range blocks.Count {
			b.Each = append(b.Each, blocks.Block{Requests: perBlock, Misses: perBlock})
		}
		b.New, b.Cold = [2]int64{perBlock * blocks.Count / 2, perBlock * blocks.Count / 2}, perBlock*blocks.Count
		r := records.Record{Trace: "t", Policy: "lru", Label: "lru", Kind: records.Online, Capacity: capacity,
			CapacityUnit: records.Objects, CapacityText: "7", SampleRate: 1}
		r.SetInt(metric.Requests, b.Sum().Requests)
		r.SetInt(metric.Misses, b.Sum().Requests)
		w.set.Add(&r, b)
		w.recs = append(w.recs, r)
	}
	check(t, Lines(w.recs, w.set, func(*records.Record) string { return "blocks" }), "each of the "+
		show.Count(perBlock*blocks.Count)+" requests is the first to its block: nothing repeats in this log, so that no "+
		"cache hits, however large")
}

func TestNothingToSay(t *testing.T) {
	w := world{power: 1}
	w.add("lru", 1000, 300, 10) // the same in every block
	check(t, w.lines())
	w = world{power: 1}
	w.add("lru", 1000, 100, 10)
	check(t, w.lines(), "at 1,000 objects or more, most misses are first requests (10,000 of 15,000 with lru), 20.00% of "+
		"all requests: new objects keep coming, so a longer log changes little")
	w = world{power: 0.5}
	w.add("lru", 1000, 0, 10)
	check(t, w.lines()[1:], "at 1,000 objects or more, most misses are first requests (10,000 of 10,000 with lru), "+
		"20.00% of all requests; ~14% in a log twice as long (an estimate)")
	w = world{power: 0.5}
	w.add("lru", 1, 0, 10)
	check(t, w.lines()[1:], "at 1 object or more, most misses are first requests (10,000 of 10,000 with lru), "+
		"20.00% of all requests; ~14% in a log twice as long (an estimate)")
	w = world{power: 0.001}
	w.add("lru", 20_000, 300, 0)
	check(t, w.lines(), "20,000 objects never fills: the trace requests 10,000, which hardly grows")
	w.power = 0.5
	w.recs = nil
	w.add("lru", 20_000_000, 300, 0)
	check(t, w.lines(), "20,000,000 objects never fills: the trace requests 10,000; if that grows as so far, not even a "+
		"log 100 times as long fills it (an estimate)")
	w.recs[0].CapacityText = "200%" // of whatever the trace requests
	check(t, w.lines())
	w = world{power: 0.5}
	w.add("opt", 1000, 100, 10)
	w.recs[0].Kind = records.Offline
	check(t, w.lines())
}

// What is said of a longer log does not depend on the capacities and policies that somebody has named: the sentences of
// run and curve do not contradict each other, however the log grows.
func TestLongerLogsDoNotDependOnCapacities(t *testing.T) {
	for _, power := range []float64{0.05, 0.3, 0.6, 0.85, 0.89, 0.91, 0.97, 1} {
		said := map[string]bool{}
		for _, others := range []int64{0, 1, 50, 150, 199} {
			w := world{power: power}
			w.add("lru", 100, 300, 1)
			w.add("arc", 1000+others, others, 10)
			lines := w.lines()
			_, after, ok := strings.Cut(lines[len(lines)-1], "), ")
			if !ok {
				t.Fatalf("power %v: %q", power, lines)
			}
			said[after] = true
		}
		if len(said) != 1 {
			t.Errorf("power %v: %v", power, said)
		}
	}
}

func TestMeasure(t *testing.T) {
	w := world{power: 1}
	w.add("lru", 1000, 100, 10)
	w.add("lru", 50_000, 0, 0)
	Measure(w.recs, w.set)
	full, empty := w.recs[0], w.recs[1]
	if full.Int(filledAt) != 10_001 || full.Int(coldMisses) != 10_000 || math.Abs(full.Float(filledHitRatio)-0.7) > 1e-9 {
		t.Errorf("%+v", full.Values)
	}
	if empty.Has(filledAt) || empty.Has(filledHitRatio) || empty.Int(coldMisses) != 10_000 {
		t.Errorf("%+v", empty.Values)
	}
}

// Where first requests may hit, nothing is said about how many of the misses they are.
func TestFirstRequestsThatHit(t *testing.T) {
	w := world{power: 1}
	w.add("lru", 1000, 100, 10)
	b := w.set.Of(&w.recs[0])
	b.FirstsHit, b.Cold = true, 0
	check(t, w.lines())
	if Measure(w.recs, w.set); w.recs[0].Has(coldMisses) || !w.recs[0].Has(filledAt) {
		t.Errorf("%+v, want no cold misses", w.recs[0].Values)
	}
}

func TestPrint(t *testing.T) {
	for markdown, want := range map[bool]string{false: "\none\ntwo\n", true: "\none  \ntwo\n"} {
		var b bytes.Buffer
		must.Do(t, Print(&b, []string{"one", "two"}, markdown, 80))
		if b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
	var none bytes.Buffer
	must.Do(t, Print(&none, nil, false, 80))
	if none.Len() > 0 {
		t.Errorf("%q for nothing", none.String())
	}
}
