package servers

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// TestItemsOfRedis: used_memory of Redis 7.0.15 with Debian's jemalloc, per item.
func TestItemsOfRedis(t *testing.T) {
	m := redisMemory{jemalloc: jemalloc{quantum: 16}}
	for _, c := range []struct{ key, value, want int64 }{
		{20, 245, 336}, {54, 300, 432}, {8, 5, 80}, {20, 44, 128}, {54, 100_000, 114_800},
	} {
		if got := m.item(c.key, c.value, false, false); got != c.want {
			t.Errorf("a key of %d bytes and a value of %d take %d, want %d", c.key, c.value, got, c.want)
		}
	}
}

// TestItemsOfObjectsWithKeys: what used_memory of Redis 8.2.3 with its own jemalloc, and of Valkey 9.1.2 with Debian's,
// grew by for each of thousands of items, without the tables.
func TestItemsOfObjectsWithKeys(t *testing.T) {
	redis := redisMemory{jemalloc: jemalloc{quantum: 8}, layout: keyed}
	valkey := redisMemory{jemalloc: jemalloc{quantum: 16}, layout: valkey91}
	for _, c := range []struct {
		m          redisMemory
		key, value int64
		ttl, whole bool
		want       int64
	}{
		{redis, 8, 5, false, false, 40}, {redis, 8, 20, false, false, 56}, {redis, 8, 28, false, false, 64},
		{redis, 8, 45, false, false, 88}, {redis, 20, 5, false, false, 48}, {redis, 20, 45, false, false, 96},
		{redis, 54, 5, false, false, 88}, {redis, 54, 1000, false, false, 1104}, {redis, 130, 5, false, false, 168},
		{redis, 130, 1000, false, false, 1184}, {redis, 8, 28, true, false, 72}, {redis, 20, 245, true, false, 304},
		{redis, 54, 20, true, false, 120}, {redis, 130, 5, true, false, 168}, {redis, 8, 19, false, true, 32},
		{redis, 54, 1, false, true, 80},
		{valkey, 8, 5, false, false, 32}, {valkey, 8, 20, false, false, 48}, {valkey, 8, 44, false, false, 80},
		{valkey, 20, 80, false, false, 128}, {valkey, 20, 100, false, false, 160}, {valkey, 54, 45, false, false, 128},
		{valkey, 54, 60, false, false, 144}, {valkey, 130, 117, false, false, 288}, {valkey, 8, 5, true, false, 48},
		{valkey, 20, 90, true, false, 144}, {valkey, 8, 1, false, true, 32}, {valkey, 54, 19, false, true, 80},
	} {
		if got := c.m.item(c.key, c.value, c.ttl, c.whole); got != c.want {
			t.Errorf("layout %d: a key of %d bytes and a value of %d take %d, want %d", c.m.layout, c.key, c.value, got,
				c.want)
		}
	}
}

// TestChains: what a table takes for its items is the same whether they came one by one, or its chains were counted
// when it grew; and what goes gives back what it took.
func TestChains(t *testing.T) {
	for _, layout := range []redisLayout{apart, keyed, valkey81} {
		m := redisMemory{layout: layout}
		grown := m.newTable()
		var items []policies.Object
		bytes := grown.size()
		for o := range policies.Object(5000) {
			items = append(items, o)
			bytes += grown.count(o, 1)
			bytes += grown.grow(items, 0, 1<<40)
		}
		if bytes != grown.size() {
			t.Errorf("layout %d: %d bytes added, and %d there", layout, bytes, grown.size())
		}
		for _, o := range items {
			bytes += grown.count(o, -1)
		}
		if bytes != grown.units*grown.bytes {
			t.Errorf("layout %d: %d bytes without items, want %d", layout, bytes, grown.units*grown.bytes)
		}
	}
	three := table{units: 1, bytes: bucketBytes, per: perBucket}
	for items, want := range map[uint8]int64{7: 0, 8: 64, 13: 64, 14: 128, 19: 128, 20: 192} {
		if got := three.chain(items); got != want {
			t.Errorf("a bucket with %d items has a chain of %d bytes, want %d", items, got, want)
		}
	}
}

// TestBlocksOfJemalloc: the size classes of jemalloc's manual, and the pages of 5.3.1.
func TestBlocksOfJemalloc(t *testing.T) {
	classes := []int64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024,
		1280, 1536, 1792, 2048, 2560}
	n := int64(1)
	for _, class := range classes {
		for ; n <= class; n++ {
			if got := (jemalloc{quantum: 16}).block(n); got != class {
				t.Fatalf("%d bytes take %d, want %d", n, got, class)
			}
		}
	}
	for _, c := range []struct {
		j       jemalloc
		n, want int64
	}{
		{jemalloc{quantum: 8}, 17, 24}, {jemalloc{quantum: 8}, 65, 80}, {jemalloc{quantum: 16}, 33_000, 40_960},
		{jemalloc{quantum: 16}, 50_000, 57_344}, {jemalloc{16, true}, 33_000, 36_864}, {jemalloc{16, true}, 50_000, 53_248},
	} {
		if got := c.j.block(c.n); got != c.want {
			t.Errorf("%+v: %d bytes take %d, want %d", c.j, c.n, got, c.want)
		}
	}
}

// TestSettings: numbers as the configurations of servers have them.
func TestSettings(t *testing.T) {
	for text, want := range map[string]int64{"8mb": 8 << 20, "1gb": 1 << 30, "256 MB": 256 << 20, "10g": 10 << 30,
		"1.5k": 1536, "4096": 4096, "-1": 0, "": 0, "8mx": 0, "1e400g": 0, "0": 0} {
		if got, err := bytesOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	if got, err := megabytes("64"); got != 64<<20 || err != nil {
		t.Errorf("-m 64: %d, %v", got, err)
	}
	for text, want := range map[string]int64{"10m": 600 * second, "30": 30 * second, "1d": 86400 * second,
		"1h30m": 5400 * second, "500ms": second / 2, "x": -1, "-5s": -1, "d": -1} {
		if got, err := nginxTime(text); err == nil && got != want || err != nil && want >= 0 {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

// TestMinutesOfCounters: counters of LFU fall at full minutes of the server's clock, by one for each whole
// lfu-decay-time since they were touched.
func TestMinutesOfCounters(t *testing.T) {
	for _, c := range []struct{ begin, decay, touched, now, fallen int64 }{
		{0, 1, 10, 59, 0}, {0, 1, 59, 60, 1}, {0, 1, 10, 200, 3}, {0, 1, 10, 6000, newCounter}, {30, 1, 10, 31, 1},
		{30, 1, 31, 80, 0}, {0, 2, 110, 121, 0}, {0, 2, 59, 120, 1}, {0, 2, 110, 239, 1}, {0, 0, 10, 6000, 0},
	} {
		f := &frequency{counters: make([]uint8, 1), minutes: make([]uint32, 1), decay: c.decay,
			begin: c.begin * second}
		f.create(0, c.touched*second)
		if got := newCounter - f.decayed(0, c.now*second); got != c.fallen {
			t.Errorf("%+v: the counter fell by %d", c, got)
		}
	}
}

// TestStartOfMinute: where times have no dates, start says where minutes begin, and the server says so.
func TestStartOfMinute(t *testing.T) {
	for _, c := range []struct {
		times []int64
		rate  float64
		begin int64
	}{{[]int64{0, second}, 0, 20}, {nil, 5000, 20}, {[]int64{1.7e18, 1.7e18}, 0, 0}, {[]int64{1.7e18, 1.7e18}, 100, 20}} {
		k, _ := Find("redis")
		values := params.Values{}
		for _, p := range k.Params {
			values[p.Name] = p.Default
		}
		values["policy"], values["rate"], values[startParam] = "allkeys-lfu", c.rate, 20
		s := must.Get(newRedis(cache.Config{Trace: &traces.Trace{NumObjects: 1, Times: c.times}, Capacity: 8 << 20,
			Params: values, Policy: policies.Spec{Entry: policies.Entry{Name: own}}}, redisVersions))(t).(*redis)
		f := s.evictor.(*sampled).score.(*frequency)
		if f.begin != c.begin*second || (s.remark() != "") != (c.begin > 0) {
			t.Errorf("%+v: minutes begin %d s before the trace; %q", c, f.begin/second, s.remark())
		}
	}
}

// TestCollectionsOfRedis: used_memory of Redis 7.0.15 with Debian's jemalloc, of an object with its encoding, for
// fields of 8 bytes and elements of 5 to 200.
func TestCollectionsOfRedis(t *testing.T) {
	m := redisMemory{jemalloc: jemalloc{quantum: 16}}
	elements := []int64{5, 20, 60, 64, 65, 200}
	for n, want := range map[int64][]int64{ // of hashes; 0: with what else was in memory
		1: {48, 0, 96, 112, 240, 384}, 5: {112, 208, 400, 464, 816, 1536}, 20: {400, 784, 1552, 1808, 3024, 5904},
		100: {1808, 3600, 8208, 8208, 13_904, 28_304}, 128: {2576, 5136, 10_256, 10_256, 17_488, 35_920},
		200: {3600, 7184, 16_400, 16_400, 27_728, 56_528}, 512: {10_256, 20_496, 40_976, 40_976, 69_712, 143_440},
		513: {37_000, 49_312, 65_728, 73_936, 78_032, 0}, 1000: {64_272, 0, 120_272, 136_272, 136_272, 280_272},
	} {
		for i, element := range elements {
			if got := m.block(objectHeader) + m.hash(n, 8, element); got != want[i] && want[i] > 0 {
				t.Errorf("a hash of %d fields with values of %d bytes takes %d, want %d", n, element, got, want[i])
			}
		}
	}
	for n, want := range map[int64][]int64{
		1: {128, 144, 192, 192, 192, 336}, 5: {160, 240, 432, 496, 496, 1392}, 20: {272, 560, 1392, 1648, 1648, 4208},
		100: {880, 2672, 7280, 7280, 7280, 20_688}, 128: {1136, 3184, 8304, 8800, 8992, 26_624},
		200: {1648, 5232, 13_472, 14_496, 14_496, 41_264}, 512: {4208, 11_936, 33_024, 34_864, 35_632, 106_160},
		1000: {7280, 22_736, 63_936, 67_824, 69_104, 206_064},
	} {
		for i, element := range elements {
			if got := m.block(objectHeader) + m.list(n, element); got != want[i] {
				t.Errorf("a list of %d elements of %d bytes takes %d, want %d", n, element, got, want[i])
			}
		}
	}
}

// TestPacked: a text in a listpack has a header of 1, 2 or 5 bytes, and behind it the length of both in 7 bits a byte.
func TestPacked(t *testing.T) {
	for n, want := range map[int64]int64{1: 3, 63: 65, 64: 67, 125: 128, 126: 130, 4095: 4099, 4096: 4103,
		16_378: 16_385, 16_379: 16_387} {
		if got := packed(n); got != want {
			t.Errorf("a text of %d bytes takes %d, want %d", n, got, want)
		}
	}
}

// TestPartsAreNoLargerThanTheirValue: a value of fewer bytes than one part is one part of its own bytes, as if field
// and element said so; and the share of these values is told.
func TestPartsAreNoLargerThanTheirValue(t *testing.T) {
	all := func(policies.Object) bool { return true }
	none := func(policies.Object) bool { return false }
	of := func(hashes, lists func(policies.Object) bool, field, element int64) *redis {
		return &redis{redisMemory: redisMemory{jemalloc: jemalloc{quantum: 16}}, integers: none,
			collections: collections{hashes: hashes, lists: lists, field: field, element: element}}
	}
	for value := int64(1); value < 3000; value = value*3/2 + 1 {
		r := &request{value: value, keys: []uint32{10}}
		name := min(8, value)
		for _, pair := range [][2]*redis{{of(all, none, 8, 100_000), of(all, none, name, value-name)},
			{of(none, all, 8, 100_000), of(none, all, 8, value)}} {
			if got, want := pair[0].itemOf(r), pair[1].itemOf(r); got != want {
				t.Errorf("an item of %d bytes takes %d, want %d", value, got, want)
			}
			if got, want := pair[0].arguments(r), pair[1].arguments(r); got != want {
				t.Errorf("the arguments of %d bytes take %d, want %d", value, got, want)
			}
		}
	}
	s := of(none, all, 8, 100)
	for _, value := range []int64{1, 99, 100, 101, 5000} {
		s.count(&request{value: value})
	}
	if got, want := s.remark(), "40.0% of the requests for hashes and lists"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want it to begin with %q", got, want)
	}
	s = of(none, none, 8, 100)
	if s.count(&request{value: 1}); s.remark() != "" {
		t.Errorf("strings: %q", s.remark())
	}
}
