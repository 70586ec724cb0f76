package servers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// pagesOf returns requests for pages of one size, a second apart unless gaps says otherwise (in tenths of a second).
func pagesOf(t testing.TB, keys []int, size int, gaps []int) *traces.Trace {
	var text strings.Builder
	text.WriteString("time,key,size\n")
	at := 0
	for i, key := range keys {
		if gaps != nil {
			at += gaps[i]
		} else {
			at += 10
		}
		fmt.Fprintf(&text, "%d.%d,p%d,%d\n", at/10, at%10, key, size)
	}
	return tracetest.MustLoadText(t, text.String(), read.Options{Needs: needs})
}

// TestRocksDBWithoutPool: one shard without a pool for blocks that were hit is LRU by bytes.
func TestRocksDBWithoutPool(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 80).Draw(r, "keys")
		tr := pagesOf(t, keys, 1000, nil)
		capacity := int64(rapid.IntRange(1, 10).Draw(r, "blocks")) * 1000
		got := replay(t, tr, "rocksdb(num_shard_bits=0,high_pri_pool_ratio=0,metadata=0)", capacity)
		want := replay(t, tr, "lru", capacity)
		if got.Int(metric.Hits) != want.Int(metric.Hits) || got.Int(metric.Evictions) != want.Int(metric.Evictions) {
			r.Errorf("%d hits and %d evictions, lru has %d and %d", got.Int(metric.Hits), got.Int(metric.Evictions),
				want.Int(metric.Hits), want.Int(metric.Evictions))
		}
	})
}

// TestRocksDBPool: a block that was hit outlives those that were only loaded, and slides down when the pool is full.
func TestRocksDBPool(t *testing.T) {
	const server = "rocksdb(num_shard_bits=0,high_pri_pool_ratio=0.5,metadata=0)" // 4 blocks, of which 2 in the pool
	for _, c := range []struct {
		keys []int
		hits int64
	}{
		{[]int{1, 1, 2, 3, 4, 5, 6, 1}, 2},                 // 1 stays: the others were never hit
		{[]int{1, 1, 2, 2, 3, 3, 4, 5, 6, 1, 2, 3}, 3 + 2}, // 1 slides down and goes
	} {
		if got := replay(t, pagesOf(t, c.keys, 1000, nil), server, 4000).Int(metric.Hits); got != c.hits {
			t.Errorf("%v: %d hits, want %d", c.keys, got, c.hits)
		}
	}
}

// naiveSweep is PostgreSQL's clock sweep.
func naiveSweep(keys []int, buffers int) (hits int64) {
	type buffer struct{ key, uses int }
	var all []buffer
	hand := 0
	for _, key := range keys {
		if i := slices.IndexFunc(all, func(b buffer) bool { return b.key == key }); i >= 0 {
			hits++
			all[i].uses = min(5, all[i].uses+1)
			continue
		}
		if len(all) < buffers {
			all = append(all, buffer{key, 1})
			continue
		}
		for all[hand].uses > 0 {
			all[hand].uses--
			hand = (hand + 1) % len(all)
		}
		all[hand] = buffer{key, 1}
		hand = (hand + 1) % len(all)
	}
	return hits
}

func TestPostgreSQLSweeps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 80).Draw(r, "keys")
		buffers := rapid.IntRange(1, 10).Draw(r, "buffers")
		got := replay(t, pagesOf(t, keys, 100, nil), "postgresql", int64(buffers)*8192).Int(metric.Hits)
		if want := naiveSweep(keys, buffers); got != want {
			r.Errorf("%v in %d buffers: %d hits, want %d", keys, buffers, got, want)
		}
	})
}

// TestInnoDBKeepsScansOut: pages that are used once, or several times within a second, leave before those that are used
// again later.
func TestInnoDBKeepsScansOut(t *testing.T) {
	var keys, gaps []int
	use := func(key, gap int) { keys, gaps = append(keys, key), append(gaps, gap) }
	const pages = 1000
	for k := 10_000; k < 10_000+pages; k++ { // the pool is full
		use(k, 1)
	}
	for range 2 { // the working set, used again after more than a second: young
		for k := range 300 {
			use(k, 1)
		}
	}
	for k := 1000; k < 5000; k++ { // a scan that uses each page twice at once
		use(k, 0)
		use(k, 0)
	}
	for k := range 300 {
		use(k, 1)
	}
	rec := replay(t, pagesOf(t, keys, 100, gaps), "innodb", pages*16384)
	if got, want := rec.Int(metric.Hits), int64(300+4000+300); got != want {
		t.Errorf("%d hits, want %d: the scan must not push out the working set", got, want)
	}
	if lru := replay(t, pagesOf(t, keys, 16384, gaps), "lru", pages*16384).Int(metric.Hits); lru != 300+4000 {
		t.Errorf("lru: %d hits, want %d", lru, 300+4000)
	}
	if items := rec.Int(servers.Items); items != pages {
		t.Errorf("%d pages, want %d", items, pages)
	}
}

// TestTrafficServerIsFIFO: the document that was written first goes, whatever was hit; small ones run out of entries.
func TestTrafficServerIsFIFO(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 80).Draw(r, "keys")
		tr := pagesOf(t, keys, 10*512, nil)
		capacity := int64(rapid.IntRange(1, 10).Draw(r, "documents")) * 10 * 512
		got := replay(t, tr, "trafficserver(headers=0,min_average_object_size=512)", capacity).Int(metric.Hits)
		if want := replay(t, tr, "fifo", capacity).Int(metric.Hits); got != want {
			r.Errorf("%d hits, fifo has %d", got, want)
		}
	})
	rec := replay(t, pagesOf(t, []int{1, 2, 3, 1, 2, 3}, 100, nil), "trafficserver", 16_000)
	if hits, items := rec.Int(metric.Hits), rec.Int(servers.Items); hits != 0 || items != 2 {
		t.Errorf("%d hits and %d documents, want 0 and the 2 that there are entries for", hits, items)
	}
}

// TestHyperClock: the hand lowers the uses of a block, 2 when it comes and 3 at most, and evicts at none; a table for
// large blocks holds few of small ones.
func TestHyperClock(t *testing.T) {
	const server = "rocksdb(cache=hyper,num_shard_bits=0,estimated_entry_charge=%d)"
	tr := pagesOf(t, []int{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, 1000, nil)
	const slots = 8 // 4 000 bytes in blocks of 1000 with slots of 64: 5.2, and so 8
	for bytes, want := range map[int64]int64{slots*64 + 3000: 9, slots*64 + 2999: 0} {
		if got := replay(t, tr, fmt.Sprintf(server, 1000), bytes).Int(metric.Hits); got != want {
			t.Errorf("%d hits in %d bytes, want %d", got, bytes, want)
		}
	}
	var keys []int
	for range 4 {
		for key := range 40 {
			keys = append(keys, key)
		}
	}
	rec := replay(t, pagesOf(t, keys, 100, nil), fmt.Sprintf(server, 1000), 20_000) // 32 slots, of which 26 are used
	if got := rec.Int(servers.Items); got != 26 {
		t.Errorf("%d blocks in 32 slots, want 84%%", got)
	}
	_, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: fmt.Sprintf(server, 1),
		Capacities: []capacity.Capacity{capacity.OfBytes(1 << 40)}})
	if err == nil || !strings.Contains(err.Error(), "a table of 2,147,483,648 slots for 1 TiB at 1 B a block") {
		t.Errorf("a table of 16 GiB: error %v", err)
	}
}

// TestNginxFirstLook: what was not asked for is there until the manager looks, which it does in whole seconds.
func TestNginxFirstLook(t *testing.T) {
	for _, c := range []struct {
		settings string
		tenths   int // until the second request
		hits     int64
	}{{"", 36, 1}, {",first_look=0.5", 34, 1}, {",first_look=0.5", 36, 0}, {",first_look=0.8", 36, 1}, {"", 101, 0}} {
		tr := pagesOf(t, []int{1, 1}, 1000, []int{0, c.tenths})
		if got := replay(t, tr, "nginx(inactive=3s"+c.settings+")", 1<<20).Int(metric.Hits); got != c.hits {
			t.Errorf("%s: %d hits after %d tenths of a second, want %d", c.settings, got, c.tenths, c.hits)
		}
	}
}
