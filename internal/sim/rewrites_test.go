package sim_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func bytesOf(n int64) capacity.Capacity {
	return capacity.Capacity{Amount: n, Simulated: n, Bytes: true}
}

// Two values of 1,000 bytes do not fit into 1,500, whatever size the first one had at first: both reads would hit, with
// 2,000 bytes in the cache, if the write were not charged. By its rule of today gdsf does not admit the second one.
func TestWriteOfAnotherSizeIsCharged(t *testing.T) {
	const log = "time,key,op,size\n1,a,set,1\n2,a,set,1000\n3,b,set,1000\n4,a,get,1000\n5,b,get,1000\n"
	for mode, want := range map[string]string{"count": "0 of 2 reads, 1 of 3 writes",
		"fill": "0 of 2 reads, 1 of 3 writes", "invalidate": "0 of 2 reads", "ignore": "0 of 2 reads"} {
		tr := tracetest.MustLoadText(t, log, read.Options{Selection: read.Selection{Writes: mode},
			Needs: traces.Needs{Sizes: true}})
		for _, policy := range []string{"lru", "fifo", "sieve", "gdsf(rule=2024)"} {
			rec := simtest.ByPolicy(t, tr, policy, bytesOf(1500), 0)[policy]
			got := fmt.Sprintf("%d of %d reads", rec.Int(metric.Hits), rec.Int(metric.Requests))
			if rec.Has(metric.Writes) {
				got = fmt.Sprintf("%d of %d reads, %d of %d writes", rec.Int(metric.ReadHits), rec.Int(metric.Reads),
					rec.Int(metric.WriteHits), rec.Int(metric.Writes))
			}
			if got != want {
				t.Errorf("%s, writes %s: %s hit, want %s", policy, mode, got, want)
			}
		}
	}
}

// drawSized draws rows whose values grow and shrink. A read states what its value has, or any other size, as a log of a
// proxy does that has sent a part.
func drawSized(t *rapid.T, keys uint64, longest int, largest int64) rows {
	r := drawRows(t, keys, longest)
	sizes := map[uint64]int64{}
	for i := range r {
		row := &r[i]
		if row.Op == stream.OpWrite && rapid.Bool().Draw(t, "update") {
			row.Op, row.TTL = stream.OpUpdate, 0
		}
		if sizes[row.Num] == 0 || row.Op.Writes() || rapid.IntRange(0, 9).Draw(t, "part") == 0 {
			sizes[row.Num] = rapid.Int64Range(1, largest).Draw(t, "size")
		}
		row.Size = sizes[row.Num]
	}
	return r
}

// A queue is a policy on lists of keys, for caches in bytes.
type queue interface {
	admits(key uint64, size int64) bool // also prepares for insert
	insert(key uint64)
	hit(key uint64)
	victim() uint64
	remove(key uint64)
}

func without(list []uint64, key uint64) []uint64 {
	return slices.DeleteFunc(list, func(k uint64) bool { return k == key })
}

// recencyQueue is LRU or FIFO. The oldest key comes first.
type recencyQueue struct {
	list   []uint64
	renews bool
}

func (q *recencyQueue) admits(uint64, int64) bool { return true }
func (q *recencyQueue) insert(key uint64)         { q.list = append(q.list, key) }
func (q *recencyQueue) remove(key uint64)         { q.list = without(q.list, key) }

func (q *recencyQueue) hit(key uint64) {
	if q.renews {
		q.list = append(without(q.list, key), key)
	}
}

func (q *recencyQueue) victim() uint64 {
	key := q.list[0]
	q.list = q.list[1:]
	return key
}

// s3Queue is S3-FIFO, with sizes looked up by key. A ghost keeps the size with which it left.
type s3Queue struct {
	small, main, ghost []uint64
	freq               map[uint64]int
	sizes, left        map[uint64]int64
	capacity           int64
	returning          bool
}

func sum(list []uint64, sizes map[uint64]int64) (n int64) {
	for _, key := range list {
		n += sizes[key]
	}
	return n
}

func (q *s3Queue) limit() int64 { return max(1, q.capacity/10) }

func (q *s3Queue) admits(key uint64, size int64) bool {
	q.returning = slices.Contains(q.ghost, key)
	q.ghost = without(q.ghost, key)
	return size < q.limit()
}

func (q *s3Queue) insert(key uint64) {
	q.freq[key] = 0
	if q.returning {
		q.main = append(q.main, key)
	} else {
		q.small = append(q.small, key)
	}
}

func (q *s3Queue) hit(key uint64) { q.freq[key] = min(3, q.freq[key]+1) }

// victim looks at the main queue first, and not again when it has begun with the small one.
func (q *s3Queue) victim() uint64 {
	if sum(q.main, q.sizes) > q.capacity-q.limit() {
		return q.fromMain()
	}
	for len(q.small) > 0 {
		key := q.small[0]
		q.small = q.small[1:]
		if q.freq[key] < 2 {
			return q.evicted(key)
		}
		q.freq[key] = 0
		q.main = append(q.main, key)
	}
	return q.fromMain()
}

func (q *s3Queue) evicted(key uint64) uint64 {
	ghosts := q.capacity * 9 / 10
	if size := q.sizes[key]; size <= ghosts {
		for sum(q.ghost, q.left)+size > ghosts {
			q.ghost = q.ghost[1:]
		}
		q.left[key] = size
		q.ghost = append(q.ghost, key)
	}
	return key
}

func (q *s3Queue) fromMain() uint64 {
	for {
		key := q.main[0]
		q.main = q.main[1:]
		if q.freq[key] == 0 {
			return key
		}
		q.freq[key]--
		q.main = append(q.main, key)
	}
}

func (q *s3Queue) remove(key uint64) { q.small, q.main = without(q.small, key), without(q.main, key) }

// sizedCache follows rows by the rules of docs/writes.md: a write replaces a value, and a read does not.
type sizedCache struct {
	capacity                int64
	mode                    stream.Writes
	sizes                   map[uint64]int64 // of the residents
	ends                    map[uint64]int64
	queue                   queue
	reads, readHits         int64
	writes, writeHits       int64
	evictions, out, largest int64
}

func newSizedCache(policy string, capacity int64, mode stream.Writes) *sizedCache {
	c := &sizedCache{capacity: capacity, mode: mode, sizes: map[uint64]int64{}, ends: map[uint64]int64{}}
	switch policy {
	case "lru":
		c.queue = &recencyQueue{renews: true}
	case "fifo":
		c.queue = &recencyQueue{}
	case "s3fifo":
		c.queue = &s3Queue{freq: map[uint64]int{}, sizes: c.sizes, left: map[uint64]int64{}, capacity: capacity}
	}
	return c
}

func (c *sizedCache) used() (n int64) {
	for _, size := range c.sizes {
		n += size
	}
	return n
}

func (c *sizedCache) drop(key uint64) {
	if c.sizes[key] > 0 {
		c.queue.remove(key)
		delete(c.sizes, key)
		c.out++
	}
	delete(c.ends, key)
}

// evict evicts until so much fits in addition.
func (c *sizedCache) evict(size int64) {
	for c.used()+size > c.capacity {
		delete(c.sizes, c.queue.victim())
		c.evictions++
	}
}

func (c *sizedCache) request(row stream.Record) (hit bool) {
	defer func() {
		if _, valid := c.ends[row.Num]; !valid && row.TTL > 0 {
			c.ends[row.Num] = row.Time + row.TTL
		}
		c.largest = max(c.largest, c.used())
	}()
	switch write := row.Op.Writes(); {
	case c.sizes[row.Num] == 0 && row.Size > c.capacity:
	case c.sizes[row.Num] == 0:
		if c.queue.admits(row.Num, row.Size) {
			c.evict(row.Size)
			c.queue.insert(row.Num)
			c.sizes[row.Num] = row.Size
		}
	case write && row.Size > c.capacity:
		c.queue.remove(row.Num)
		delete(c.sizes, row.Num)
		c.evictions++
		return true
	default:
		c.queue.hit(row.Num)
		if write {
			c.sizes[row.Num] = row.Size
		}
		c.evict(0)
		return true
	}
	return false
}

func (c *sizedCache) serve(row stream.Record) {
	for key, end := range maps.Clone(c.ends) {
		if end <= row.Time {
			c.drop(key)
		}
	}
	switch write := row.Op.Writes(); {
	case row.Op == stream.OpDelete, write && c.mode == stream.WritesInvalidate:
		c.drop(row.Num)
	case write && c.mode == stream.WritesIgnore:
	case write:
		if row.Op == stream.OpWrite {
			delete(c.ends, row.Num)
		}
		c.writes++
		if c.request(row) {
			c.writeHits++
		}
	default:
		c.reads++
		if c.request(row) {
			c.readHits++
		}
	}
}

// Three policies count what lists of keys count, where values grow, shrink, expire and are deleted: hits of reads and
// of writes, evictions and removals.
func TestValuesThatGrowEqualLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawSized(t, 12, 120, rapid.SampledFrom([]int64{3, 30, 300}).Draw(t, "largest"))
		r = append(r, stream.Record{Num: 99, Time: r[len(r)-1].Time, Size: 1}) // after all removals
		mode, size := drawMode(t), rapid.Int64Range(1, 300).Draw(t, "capacity")
		tr := must.Get(r.load(t.Context(), mode))(t)
		for _, policy := range []string{"lru", "fifo", "s3fifo"} {
			want := newSizedCache(policy, size, mode)
			for _, row := range r {
				want.serve(row)
			}
			if want.largest > size {
				t.Fatalf("the lists hold %d bytes of %d", want.largest, size)
			}
			rec := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: policy,
				Capacities: []capacity.Capacity{bytesOf(size)}}))(t)[0]
			got := []int64{rec.Int(metric.Hits), 0, rec.Int(metric.Evictions), 0}
			expected := []int64{want.readHits, 0, want.evictions, 0}
			if want.writes > 0 {
				got[0], got[1] = rec.Int(metric.ReadHits), rec.Int(metric.WriteHits)
				expected[1] = want.writeHits
			}
			if rec.Has(metric.Removals) {
				got[3], expected[3] = rec.Int(metric.Removals), want.out
			}
			if !slices.Equal(got, expected) {
				t.Fatalf("%s of %d bytes, writes %s: hits of reads and writes, evictions and removals are %v, want %v", policy,
					size, mode, got, expected)
			}
		}
	})
}

// fewestSizedMisses tries every set of residents after every row, each with what it is charged. A miss may be bypassed.
func (r rows) fewestSizedMisses(mode stream.Writes, capacity int64) int {
	type state [3]int64 // per key: what it is charged; 0: it is not resident
	best := map[state]int{{}: 0}
	for _, row := range r {
		write := row.Op.Writes()
		out := row.Op == stream.OpDelete || write && mode == stream.WritesInvalidate
		after := map[state]int{}
		for s, misses := range best {
			was := s[row.Num]
			switch {
			case out:
				s[row.Num] = 0
			case write && mode == stream.WritesIgnore:
			case was == 0:
				if !write || mode != stream.WritesFill {
					misses++
				}
				s[row.Num] = row.Size
			case write:
				s[row.Num] = row.Size
			}
			for drop := range 8 {
				left, used := s, int64(0)
				for key := range left {
					if drop>>key&1 != 0 {
						left[key] = 0
					}
					used += left[key]
				}
				if before, ok := after[left]; used <= capacity && (!ok || misses < before) {
					after[left] = misses
				}
			}
		}
		best = after
	}
	fewest := math.MaxInt
	for _, misses := range best {
		fewest = min(fewest, misses)
	}
	return fewest
}

// PFOO-L is a lower bound, and no policy is below the fewest misses, where values grow and shrink.
func TestBoundWithValuesThatGrow(t *testing.T) {
	tight := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawSized(t, 3, 14, 6)
		for i := range r {
			r[i].TTL = 0
		}
		mode, size := drawMode(t), rapid.Int64Range(1, 9).Draw(t, "capacity")
		tr, err := r.load(t.Context(), mode)
		if err != nil {
			t.Skip("no requests")
		}
		fewest := r.fewestSizedMisses(mode, size)
		for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{
			Policies: "pfoo-l,belady-size,lru,gdsf", Capacities: []capacity.Capacity{bytesOf(size)}}))(t) {
			if rec.Policy != "pfoo-l" {
				if got := int(rec.Int(metric.Misses)); got < fewest {
					t.Fatalf("%s misses %d, but %d are the fewest, of %+v", rec.Policy, got, fewest, r)
				}
				continue
			}
			bound := rec.Float(metric.LowerBoundMisses)
			if bound > float64(fewest) {
				t.Fatalf("the bound is %v, but %d misses are possible with %d bytes, writes %s, of %+v", bound, fewest, size,
					mode, r)
			}
			if bound == float64(fewest) {
				tight++
			}
		}
	})
	seeded.Covers(t, tight > 0, "the bound is never tight")
}

// growing is a trace whose writes change sizes, with keys and two tenants.
func growing(seed uint64, mode stream.Writes) *traces.Trace {
	tr := numbered(seed, mode)
	policytest.ChangeSizes(tr)
	for pos, o := range tr.Objects {
		if tr.IsWrite(pos) {
			tr.RequestSizes[pos] = 1 + int64(pos*int(o+7)%97)
		}
	}
	return tr
}

// values returns what a replay counted.
func values(t *testing.T, rec records.Record) (v []int64) {
	t.Helper()
	for _, m := range []metric.Metric{metric.ReadHits, metric.WriteHits, metric.Evictions, metric.Removals} {
		v = append(v, rec.Int(m))
	}
	return v
}

// Caches with several pools, tiers, and those that prefetch charge what was written, too. Where they are the exact
// cache with one pool, they count the same.
func TestCachesWithValuesThatGrow(t *testing.T) {
	for _, mode := range []stream.Writes{stream.WritesCount, stream.WritesFill} {
		tr := growing(9, mode)
		for _, policy := range []string{"lru", "s3fifo", "gdsf", "arc"} {
			at := int64(300)
			counts := func(parts ...string) []int64 {
				options := simtest.Options{Policies: policy, Capacities: []capacity.Capacity{bytesOf(at)}, Parts: parts}
				first, again := simtest.Run(t, tr, options)[0], simtest.Run(t, tr, options)[0]
				if fmt.Sprint(first.Values) != fmt.Sprint(again.Values) {
					t.Errorf("%s, %v differs from itself", policy, parts)
				}
				return values(t, first)
			}
			exact := counts()
			for _, same := range []string{"allocator=shared", "prefetcher=none"} {
				if got := counts(same); !slices.Equal(got, exact) {
					t.Errorf("%s, %s: hits of reads and writes, evictions and removals are %v, want %v", policy, same, got, exact)
				}
			}
			for _, parts := range []string{"allocator=equal", "allocator=ucp", "prefetcher=next", "prefetcher=next(delay=5)",
				"prefetcher=mithril", "prefetcher=amp", "cache=igtcache",
				"cache=tiers(flash=2x)", "cache=tiers(flash=2x,mode=write-back)",
				"cache=tiers(flash=2x,mode=inclusive)", "cache=tiers(flash=2x,mode=write-through)"} {
				counts(parts)
			}
			counts("allocator=equal", "prefetcher=next")
			joined := counts("cache=tiers(flash=1x,joined=true)")
			if at = 600; !slices.Equal(joined, counts()) {
				t.Errorf("%s: two joined tiers of 300 bytes count %v, one cache of 600 counts %v", policy, joined, counts())
			}
		}
	}
}

// In a closed loop of one job every object arrives before the next request, so that a model of storage counts what the
// cache counts without one.
func TestStorageWithValuesThatGrow(t *testing.T) {
	tr := growing(9, stream.WritesCount)
	tr.Removals = nil
	counts := func(parts ...string) (n []int64) {
		rec := simtest.Run(t, tr, simtest.Options{Policies: "lru", Capacities: []capacity.Capacity{bytesOf(300)},
			Parts: parts})[0]
		return []int64{rec.Int(metric.Hits), rec.Int(metric.Evictions)}
	}
	if got, want := counts("model=storage(arrivals=closed)"), counts(); !slices.Equal(got, want) {
		t.Errorf("hits and evictions with a model are %v, want %v", got, want)
	}
}
