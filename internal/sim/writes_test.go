package sim_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// rows are the records of a trace file in memory, as a reader.
type rows []stream.Record

func (r *rows) Read(rec *stream.Record) error {
	if len(*r) == 0 {
		return io.EOF
	}
	*rec, *r = (*r)[0], (*r)[1:]
	return nil
}

func (r rows) load(ctx context.Context, mode stream.Writes) (*traces.Trace, error) {
	fields := stream.Fields{Time: true, Op: true, TTL: true, Served: true, Size: true}
	return read.LoadReader(ctx, "rows", &r, fields, 0, read.Options{
		Selection: read.Selection{Writes: mode.String()}, Needs: traces.Needs{Keys: true, Sizes: true}})
}

// fewestMisses tries every set of residents after every row. Only rows and the rules of docs/writes.md are known to it.
func (r rows) fewestMisses(mode stream.Writes, keys, capacity int, bypass bool) int {
	best := slices.Repeat([]int{math.MaxInt}, 1<<keys)
	best[0] = 0
	ends := map[uint64]int64{}
	for _, row := range r {
		gone := 0
		for key, end := range ends {
			if end <= row.Time {
				gone |= 1 << key
				delete(ends, key)
			}
		}
		own, write := 1<<row.Num, row.Op == stream.OpWrite
		out := row.Op == stream.OpDelete || write && mode == stream.WritesInvalidate
		if out {
			gone |= own
		}
		if out || write && mode != stream.WritesIgnore {
			delete(ends, row.Num)
		}
		request := !out && !(write && mode == stream.WritesIgnore)
		if _, valid := ends[row.Num]; request && !valid && row.TTL > 0 {
			ends[row.Num] = row.Time + row.TTL
		}
		after := slices.Repeat([]int{math.MaxInt}, 1<<keys)
		for set, misses := range best {
			if misses == math.MaxInt {
				continue
			}
			set &^= gone
			may, missed := set, false
			if request {
				may, missed = set|own, set&own == 0
			}
			looks := row.Op == stream.Lookup
			if looks { // it loads nothing
				may = set
			}
			if missed && !(write && mode == stream.WritesFill) {
				misses++
			}
			for stay := 0; stay <= may; stay++ {
				size := 0
				for key := range keys {
					size += stay >> key & 1
				}
				if stay&^may == 0 && size <= capacity && !(missed && !bypass && !looks && stay&own == 0) {
					after[stay] = min(after[stay], misses)
				}
			}
		}
		best = after
	}
	return slices.Min(best)
}

// The optimum is exact, whatever writes do: on all traces of four rows over three objects, up to their names, each of
// which reads, writes or deletes.
func TestOptimumWithWritesOnAllTinyTraces(t *testing.T) {
	ops := []stream.Op{stream.OpRead, stream.OpWrite, stream.OpDelete}
	var extend func(r rows, keys uint64)
	extend = func(r rows, keys uint64) {
		if len(r) == brief.Of(4, 3) {
			for mode := range stream.Writes(4) {
				checkOptimum(t, r, mode, 3, 1, 2)
			}
			return
		}
		for key := range min(keys+1, 3) {
			for _, op := range ops {
				row := stream.Record{Num: key, Op: op, Time: int64(len(r)), Size: 1}
				extend(append(slices.Clip(r), row), max(keys, key+1))
			}
		}
	}
	extend(nil, 0)
}

func checkOptimum(t simtest.TB, r rows, mode stream.Writes, keys int, sizes ...int64) {
	t.Helper()
	tr, err := r.load(t.Context(), mode)
	if err != nil {
		return // it has no requests
	}
	for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "opt,opt-bypass",
		Capacities: simtest.Objects(sizes...)}))(t) {
		fewest := r.fewestMisses(mode, keys, int(rec.Capacity), rec.Policy == "opt-bypass")
		if got := int(rec.Int(metric.Misses)); got != fewest {
			t.Fatalf("%s at %d, writes %s: %d misses, but %d are possible, of %+v", rec.Policy, rec.Capacity, mode, got,
				fewest, r)
		}
	}
}

func drawRows(t *rapid.T, keys uint64, longest int) rows {
	var now int64
	count := rapid.IntRange(1, longest).Draw(t, "count")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream.Record {
		now += rapid.Int64Range(0, 3).Draw(t, "step")
		return stream.Record{
			Time: now, Num: rapid.Uint64Range(0, keys-1).Draw(t, "key"), Size: 1,
			TTL: rapid.SampledFrom([]int64{0, 0, 2, 5, 12}).Draw(t, "ttl"),
			Op: rapid.SampledFrom([]stream.Op{stream.OpRead, stream.OpRead, stream.OpWrite, stream.OpDelete}).
				Draw(t, "op"),
		}
	}), count, count).Draw(t, "rows")
}

func drawMode(t *rapid.T) stream.Writes { return stream.Writes(rapid.IntRange(0, 3).Draw(t, "mode")) }

// The same on longer traces, and with times to live.
func TestOptimumWithTimesToLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRows(t, 5, 24)
		checkOptimum(t, r, drawMode(t), 5, rapid.Int64Range(1, 3).Draw(t, "capacity"))
	})
}

// naiveLRU is an LRU cache of equal objects that follows the rows with a list, the latest first.
type naiveLRU struct {
	held                                             []uint64
	reads, readHits, writes, writeHits, out, evicted int64
	mode                                             stream.Writes
	capacity                                         int
	ends                                             map[uint64]int64
}

func (c *naiveLRU) drop(key uint64) {
	if i := slices.Index(c.held, key); i >= 0 {
		c.held = slices.Delete(c.held, i, i+1)
		c.out++
	}
	delete(c.ends, key)
}

func (c *naiveLRU) request(row stream.Record) (hit bool) {
	i := slices.Index(c.held, row.Num)
	if hit = i >= 0; hit {
		c.held = slices.Delete(c.held, i, i+1)
	}
	c.held = slices.Insert(c.held, 0, row.Num)
	if len(c.held) > c.capacity {
		c.held = c.held[:c.capacity]
		c.evicted++
	}
	if _, valid := c.ends[row.Num]; !valid && row.TTL > 0 {
		c.ends[row.Num] = row.Time + row.TTL
	}
	return hit
}

func (c *naiveLRU) serve(row stream.Record) {
	for key, end := range c.ends {
		if end <= row.Time {
			c.drop(key)
		}
	}
	hit := int64(0)
	switch {
	case row.Op == stream.OpDelete, row.Op == stream.OpWrite && c.mode == stream.WritesInvalidate:
		c.drop(row.Num)
	case row.Op == stream.OpWrite && c.mode == stream.WritesIgnore:
	case row.Op == stream.OpWrite:
		delete(c.ends, row.Num)
		if c.request(row) {
			hit = 1
		}
		c.writes, c.writeHits = c.writes+1, c.writeHits+hit
	case row.Op == stream.Lookup && !slices.Contains(c.held, row.Num):
		c.reads++
	default:
		if c.request(row) {
			hit = 1
		}
		c.reads, c.readHits = c.reads+1, c.readHits+hit
	}
}

// LRU counts what a list counts: hits of reads and of writes apart, evictions, and what was removed. The last row reads
// another object, so that all removals come before a request.
func TestLRUWithWritesEqualsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRows(t, 8, 60)
		r = append(r, stream.Record{Num: 99, Time: r[len(r)-1].Time, Size: 1})
		mode, size := drawMode(t), rapid.IntRange(1, 6).Draw(t, "capacity")
		want := &naiveLRU{mode: mode, capacity: size, ends: map[uint64]int64{}}
		for _, row := range r {
			want.serve(row)
		}
		tr := must.Get(r.load(t.Context(), mode))(t)
		bytes := rapid.Bool().Draw(t, "bytes")
		at := capacity.Capacity{Amount: int64(size), Simulated: int64(size), Bytes: bytes}
		rec := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru",
			Capacities: []capacity.Capacity{at}}))(t)[0]
		requests, hits := want.reads+want.writes, want.readHits+want.writeHits
		if mode == stream.WritesFill {
			requests, hits = want.reads, want.readHits
		}
		for name, n := range map[string]int64{"requests": requests, "hits": hits, "misses": requests - hits,
			"evictions": want.evicted} {
			if got, _ := rec.GetInt(name); got != n {
				t.Fatalf("%s is %d, want %d", name, got, n)
			}
		}
		apart := map[string]int64{}
		if want.writes > 0 {
			apart = map[string]int64{"reads": want.reads, "read_hits": want.readHits, "writes": want.writes,
				"write_hits": want.writeHits}
		}
		if want.out > 0 {
			apart["removals"] = want.out
		}
		for _, name := range []string{"reads", "read_hits", "writes", "write_hits"} {
			if got, ok := rec.GetInt(name); ok != (want.writes > 0) || got != apart[name] {
				t.Fatalf("%s is %d, %v; want %d", name, got, ok, apart[name])
			}
		}
		if got, _ := rec.GetInt("removals"); got != want.out {
			t.Fatalf("%d removals, want %d", got, want.out)
		}
	})
}

// withRemovals returns a trace with some writes, and removals of random objects.
func withRemovals(seed uint64, mode stream.Writes) *traces.Trace {
	tr := policytest.Trace(seed, 3000, 150)
	tr.Written.Mode = mode
	tr.Ops = make([]stream.Op, len(tr.Objects))
	for pos := range tr.Objects {
		tr.Ops[pos] = stream.OpRead
		if pos%7 == 3 {
			tr.Ops[pos] = stream.OpWrite
			tr.Written.Writes++
		}
		for pos%11 == 5 && len(tr.Removals) < pos/5 {
			tr.Removals = append(tr.Removals, traces.Removal{Before: uint32(pos),
				Object: tr.Objects[max(0, pos-7*len(tr.Removals)%50)]})
		}
	}
	return tr
}

// Every policy survives removals, in the caches that can drop objects, is never better than the optimum and counts the
// same again. With an infinite capacity nothing but removals costs a hit.
func TestPoliciesWithRemovals(t *testing.T) {
	for _, mode := range []stream.Writes{stream.WritesCount, stream.WritesFill} {
		tr := withRemovals(7, mode)
		policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
			if e.ShortFor != nil || e.Relates {
				t.Skip("needs more than objects")
			}
			options := simtest.Options{Policies: policytest.Spec(e), Capacities: simtest.Objects(20),
				Parts: []string{"predictor=noisy(p=0.1)"}, Seed: 3}
			recs := simtest.Run(t, tr, options)
			again := simtest.Run(t, tr, options)
			for i, rec := range recs {
				if rec.Int(metric.Misses) < rec.Int(metric.OptMisses) {
					t.Errorf("%s misses %d, the optimum %d", rec.Label, rec.Int(metric.Misses), rec.Int(metric.OptMisses))
				}
				if n, ok := rec.GetInt("removals"); !ok || n == 0 && rec.Policy != "no-cache" {
					t.Errorf("%s: nothing was removed", rec.Label)
				}
				if fmt.Sprint(rec.Values) != fmt.Sprint(again[i].Values) {
					t.Errorf("%s differs from itself", rec.Label)
				}
			}
		})
	}
}

// The bound for sized objects is one with removals and writes that fill, too.
func TestBoundsWithRemovals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRows(t, 5, 24)
		mode, size := drawMode(t), rapid.Int64Range(1, 3).Draw(t, "capacity")
		tr, err := r.load(t.Context(), mode)
		if err != nil {
			t.Skip("no requests")
		}
		at := capacity.Capacity{Amount: size, Simulated: size, Bytes: true}
		rec := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "pfoo-l",
			Capacities: []capacity.Capacity{at}}))(t)[0]
		if fewest := r.fewestMisses(mode, 5, int(size), true); rec.Float(metric.LowerBoundMisses) > float64(fewest) {
			t.Fatalf("the bound is %v, but %d misses are possible", rec.Float(metric.LowerBoundMisses), fewest)
		}
	})
}

// A warm-up takes its reads, writes and removals with it.
func TestWarmupWithRemovals(t *testing.T) {
	tr := withRemovals(3, stream.WritesFill)
	whole := simtest.ByPolicy(t, tr, "lru", simtest.Objects(20)[0], 0)["lru"]
	warm := simtest.ByPolicy(t, tr, "lru", simtest.Objects(20)[0], 1000)["lru"]
	first := *tr
	first.Objects, first.Ops = tr.Objects[:1000], tr.Ops[:1000]
	first.Removals = slices.DeleteFunc(slices.Clone(tr.Removals), func(r traces.Removal) bool { return r.Before >= 1000 })
	begin := simtest.ByPolicy(t, &first, "lru", simtest.Objects(20)[0], 0)["lru"]
	for _, name := range []string{"requests", "hits", "reads", "read_hits", "writes", "write_hits", "removals"} {
		a, _ := whole.GetInt(name)
		b, _ := begin.GetInt(name)
		if c, ok := warm.GetInt(name); !ok || c != a-b {
			t.Errorf("%s after the warm-up is %d, want %d - %d", name, c, a, b)
		}
	}
}

// What cannot remove an object between two requests says so.
func TestWritesRefused(t *testing.T) {
	r := sim.NewReplayer(withRemovals(1, stream.WritesCount), sim.ReplayerOptions{})
	c := simtest.Cell(t, "lru", simtest.Objects(128)[0], "cache=sets")
	must.Fail(t, r.Check(c), "cache sets serves groups of requests as a whole")
}

// The table of docs/writes.md is what the example gives.
func TestExampleOfWrites(t *testing.T) {
	text := string(must.Get(os.ReadFile("../../docs/writes.md"))(t))
	_, rest, _ := strings.Cut(text, "```csv\n")
	example, rest, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/writes.md has no example")
	}
	percent := func(rec records.Record, name string) string {
		x, ok := rec.Get(name)
		if !ok {
			return ""
		}
		return fmt.Sprintf(" %.2f%%", 100*x)
	}
	for _, mode := range stream.WritesNames() {
		tr := tracetest.MustLoadText(t, example, read.Options{Selection: read.Selection{Writes: mode}})
		recs := simtest.ByPolicy(t, tr, "lru,opt", simtest.Objects(2)[0], 0)
		lru := recs["lru"]
		row := fmt.Sprintf("| `%s` | %d |%s |%s |%s |%s |", mode, lru.Int(metric.Requests), percent(lru, "hit_ratio"),
			percent(lru, "read_hit_ratio"), percent(lru, "write_hit_ratio"), percent(recs["opt"], "hit_ratio"))
		if !strings.Contains(rest, row+"\n") {
			t.Errorf("docs/writes.md does not have %s", row)
		}
		if lru.WriteMode != mode {
			t.Errorf("the record says that writes %s, not %s", lru.WriteMode, mode)
		}
	}
}

// One pass over reuse distances counts reads and writes as replays do.
func TestLRUInOnePassWithWrites(t *testing.T) {
	for _, mode := range []stream.Writes{stream.WritesCount, stream.WritesFill} {
		tr := withRemovals(5, mode)
		tr.Removals = nil
		for _, bytes := range []bool{false, true} {
			var sizes []capacity.Capacity
			for _, n := range []int64{7, 40, 120} {
				if bytes {
					n *= slices.Max(tr.ObjectSizes)
				}
				sizes = append(sizes, capacity.Capacity{Amount: n, Simulated: n, Bytes: bytes})
			}
			for _, warmup := range []int{0, 777} {
				options := simtest.Options{Policies: "lru", Capacities: sizes, Warmup: warmup}
				replayed := simtest.Run(t, tr, options)
				options.OnePass = true
				for i, rec := range simtest.Run(t, tr, options) {
					if fmt.Sprint(rec.Values) != fmt.Sprint(replayed[i].Values) {
						t.Errorf("writes %s, at %v after %d: %v in one pass, %v replayed", mode, sizes[i], warmup, rec.Values,
							replayed[i].Values)
					}
				}
			}
		}
	}
}

// What the log says is counted after the warm-up, of reads where writes fill, and never of rows that are no requests.
func TestLoggedHits(t *testing.T) {
	hit, miss := stream.ServedHit, stream.ServedMiss
	r := rows{
		{Num: 1, Size: 10, Served: miss}, {Num: 2, Size: 30, Served: hit}, {Num: 1, Size: 10, Served: hit},
		{Num: 3, Size: 5}, {Num: 1, Size: 10, Op: stream.OpWrite, Served: hit},
		{Num: 2, Size: 30, Op: stream.OpDelete, Served: miss}, {Num: 2, Size: 30, Served: miss},
	}
	for _, test := range []struct {
		mode   stream.Writes
		warmup int
		bytes  bool
		want   string
	}{
		{stream.WritesCount, 0, false, "5 0.6 0"},
		{stream.WritesFill, 0, false, "4 0.5 0"},
		{stream.WritesInvalidate, 1, false, "3 0.6667 0"},
		{stream.WritesFill, 0, true, "4 0.5 0.5"},
	} {
		tr := must.Get(r.load(t.Context(), test.mode))(t)
		at := capacity.Capacity{Amount: 100, Simulated: 100, Bytes: test.bytes}
		rec := simtest.ByPolicy(t, tr, "lru", at, test.warmup)["lru"]
		got := fmt.Sprintf("%d %.4g %.4g", rec.Int(metric.LoggedRequests), rec.Float(metric.LoggedHitRatio),
			rec.Float(metric.LoggedByteHitRatio))
		if got != test.want || rec.Has(metric.LoggedByteHitRatio) != test.bytes {
			t.Errorf("writes %s after %d: %s, want %s", test.mode, test.warmup, got, test.want)
		}
	}
	silent := must.Get(rows{{Num: 1, Size: 1}}.load(t.Context(), stream.WritesCount))(t)
	if rec := simtest.ByPolicy(t, silent, "lru", simtest.Objects(1)[0], 0)["lru"]; rec.Has(metric.LoggedRequests) {
		t.Error("a log that says nothing has logged requests")
	}
}

// numbered is withRemovals with keys that are numbers, and two tenants.
func numbered(seed uint64, mode stream.Writes) *traces.Trace {
	tr := withRemovals(seed, mode)
	tr.Tenants = &traces.Tenants{Names: []string{"a", "b"}, Of: make([]uint32, tr.NumObjects)}
	for o := range tr.NumObjects {
		tr.Keys = append(tr.Keys, stream.Key{Num: uint64(o / 2 * 3)})
		tr.Tenants.Of[o] = uint32(o % 2)
	}
	for o := range tr.Keys {
		tr.Keys[o].Num += uint64(o % 2)
	}
	return tr
}

// Caches with several pools, and those that prefetch, remove the same objects. Where they are the exact cache with one
// pool, they count the same.
func TestCachesWithRemovals(t *testing.T) {
	for _, mode := range []stream.Writes{stream.WritesCount, stream.WritesFill} {
		tr := numbered(9, mode)
		counts := func(parts ...string) (counts []int64) {
			options := simtest.Options{Policies: "lru", Capacities: simtest.Objects(20), Parts: parts}
			rec, again := simtest.Run(t, tr, options)[0], simtest.Run(t, tr, options)[0]
			if fmt.Sprint(rec.Values) != fmt.Sprint(again.Values) {
				t.Errorf("%v differs from itself", parts)
			}
			for _, m := range []metric.Metric{metric.Hits, metric.Evictions, metric.WriteHits, metric.Removals} {
				counts = append(counts, rec.Int(m))
			}
			if counts[3] == 0 {
				t.Errorf("%v: nothing was removed", parts)
			}
			return counts
		}
		exact := counts()
		for _, same := range []string{"allocator=shared", "prefetcher=none"} {
			if got := counts(same); !slices.Equal(got, exact) {
				t.Errorf("%s: hits, evictions, hits of writes and removals are %v, want %v", same, got, exact)
			}
		}
		for _, parts := range []string{"allocator=equal", "allocator=ucp", "prefetcher=next", "prefetcher=next(delay=5)",
			"prefetcher=mithril", "prefetcher=amp", "cache=igtcache"} {
			counts(parts)
		}
		counts("allocator=equal", "prefetcher=next")
	}
}

// What was removed is not in the cache when it is requested next, whatever else was loaded ahead: no hit follows a
// removal before the object was requested or prefetched.
func TestRemovedObjectsMiss(t *testing.T) {
	tr := numbered(11, stream.WritesCount)
	for _, parts := range []string{"allocator=equal", "prefetcher=next(delay=3)", "cache=igtcache"} {
		name, text, _ := strings.Cut(parts, "=")
		c := simtest.Cell(t, "lru", simtest.Objects(40)[0], name+"="+text)
		gone := map[uint32]bool{}
		removals := tr.Removals
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Explain(t.Context(), c, func(d sim.Decision) error {
			for len(removals) > 0 && int(removals[0].Before) == d.Pos {
				gone[removals[0].Object] = true
				removals = removals[1:]
			}
			if d.Hit && gone[d.Query] {
				return fmt.Errorf("request %d hits object %d, which was removed", d.Pos, d.Query)
			}
			delete(gone, d.Query)
			for _, o := range d.Prefetched {
				delete(gone, o)
			}
			return nil
		})
		must.Do(t, err)
		if len(removals) == len(tr.Removals) {
			t.Errorf("%s: no removal was seen", parts)
		}
	}
}

// Entries of queries are removed, too; those that answer them by similarity stay.
func TestQueriesWithRemovals(t *testing.T) {
	tr := simtest.Queries(1, 400, 10, 0.2)
	for pos := 50; pos < len(tr.Objects); pos += 9 {
		tr.Removals = append(tr.Removals, traces.Removal{Before: uint32(pos), Object: tr.Objects[pos]})
	}
	tr.Written.Deletions = len(tr.Removals)
	for _, parts := range []string{"cache=semantic(match=identity)", "cache=semantic(tau=0.8)"} {
		rec := simtest.ByPolicy(t, tr, "lru", simtest.Objects(100)[0], 0, parts)["lru"]
		if rec.Int(metric.Removals) == 0 {
			t.Errorf("%s: nothing was removed", parts)
		}
	}
}
