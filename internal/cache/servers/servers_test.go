package servers_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

var needs = traces.Needs{Sizes: true, Times: true, Clock: true, Ends: true, Keys: true}

func load(t *testing.T, text string) *traces.Trace {
	t.Helper()
	return tracetest.MustLoadText(t, text, read.Options{Needs: needs})
}

func replay(t *testing.T, tr *traces.Trace, server string, bytes int64) records.Record {
	t.Helper()
	return simtest.Run(t, tr, simtest.Options{Policies: server, Seed: 1,
		Capacities: []capacity.Capacity{capacity.OfBytes(bytes)}})[0]
}

// real are hit ratios that real servers had, in percent, and the limits of the model. The servers of Redis were built
// with Debian's jemalloc.
var real = []struct {
	trace, server string
	megabytes     []float64
	ratios        []float64
	within        float64
}{
	{"kv-zipf", "redis(version=7.0,quantum=16)", []float64{1050. / 1024, 1100. / 1024, 1250. / 1024},
		[]float64{18.75, 22.01, 28.53}, 0.6}, // nine tenths are the empty server: 6 kB are half a point
	{"kv-zipf", "redis(version=7.0,quantum=16)", []float64{4, 8, 12, 24}, []float64{58.72, 70.22, 75.99, 80.62}, 0.1},
	{"kv-zipf", "redis(version=7.0,quantum=16,policy=allkeys-lfu)", []float64{1100. / 1024, 1250. / 1024},
		[]float64{35.56, 40.90}, 0.6},
	{"kv-zipf", "redis(version=7.0,quantum=16,policy=allkeys-lfu)", []float64{4, 8, 12},
		[]float64{62.77, 71.70, 76.59}, 0.4},
	{"kv-zipf", "redis(version=7.0,quantum=16,policy=allkeys-random)", []float64{4, 8, 12},
		[]float64{55.02, 67.19, 74.11}, 0.2},
	{"kv-zipf", "redis(version=7.0,policy=allkeys-random)", []float64{4, 8}, []float64{55.41, 67.65}, 0.3},
	{"kv-zipf", "redis(version=8.0,quantum=16,policy=allkeys-random,pages=on)", []float64{4, 8},
		[]float64{55.81, 67.61}, 0.3},
	{"kv-zipf", "valkey(version=8.1,quantum=16,policy=allkeys-random,pages=on)", []float64{4, 8},
		[]float64{55.63, 68.15}, 0.4},
	{"kv-mix", "redis(version=7.0,quantum=16,integers=cnt:*,rate=3384)", []float64{8}, []float64{38.69}, 0.1},
	{"kv-mix", "redis(version=7.0,quantum=16,integers=cnt:*)", []float64{16, 32}, []float64{48.86, 59.16}, 0.1},
	{"kv-mix", "redis(version=7.0,quantum=16,integers=cnt:*,policy=allkeys-lfu,rate=3676)", []float64{8},
		[]float64{38.10}, 0.4}, // its minutes began at an unknown second, which is worth 0.8
	{"kv-mix", "redis(version=7.0,quantum=16,integers=cnt:*,policy=allkeys-lfu)", []float64{16, 32},
		[]float64{46.62, 57.34}, 0.15},
	{"kv-mix", "redis(version=8.0,quantum=16,integers=cnt:*,pages=on)", []float64{8, 16}, []float64{38.69, 49.18}, 0.3},
	{"kv-mix", "valkey(version=8.1,quantum=16,integers=cnt:*,pages=on)", []float64{8, 16}, []float64{38.40, 49.20},
		0.45}, // 8 MB in pipelines
	{"kv-mix", "valkey(version=9.1,quantum=16,integers=cnt:*,pages=on)", []float64{8, 16}, []float64{38.46, 49.17}, 0.3},
	{"kv-ttl", "redis(version=7.0,quantum=16)", []float64{4, 8, 16}, []float64{39.11, 48.84, 56.59}, 0.3},
	{"kv-ttl", "redis(version=7.0,quantum=16,policy=volatile-ttl)", []float64{4, 8}, []float64{19.86, 43.10}, 0.6},
	{"kv-ttl", "redis(version=7.0,quantum=16,policy=volatile-lru)", []float64{4, 8}, []float64{21.14, 47.70}, 0.5},

	{"kv-zipf", "memcached", []float64{8, 16, 24, 32}, []float64{78.30, 78.30, 79.74, 80.62}, 0.01},
	{"kv-mix", "memcached(automove=off)", []float64{32, 48, 64}, []float64{64.82, 66.00, 68.70}, 0.02},
	{"kv-big", "memcached(automove=off)", []float64{24, 32, 48, 64}, []float64{65.31, 69.72, 74.44, 77.07}, 0.12},
	{"kv-big", "memcached", []float64{48, 64}, []float64{73.89, 76.70}, 0.15},
	{"kv-big", "memcached(automove=off,no_modern=on)", []float64{32}, []float64{66.06}, 0.02},
	{"kv-big", "memcached(automove=off,C=on)", []float64{32}, []float64{69.19}, 0.02},
	{"kv-big", "memcached(automove=off,f=1.08)", []float64{32}, []float64{75.16}, 0.02},
	{"kv-big", "memcached(automove=off,n=400)", []float64{32}, []float64{68.36}, 0.02},
	{"kv-ttl", "memcached(automove=off)", []float64{20, 24}, []float64{51.96, 53.25}, 0.02},

	// With a file, paced; TestFileOfMemcached has what else was counted.
	{"kv-big", smallPages + "ext_path=/f:64m)", []float64{32, 64}, []float64{72.01, 77.50}, 0.15},
	{"kv-big", smallPages + "ext_path=/f:128m)", []float64{24, 64}, []float64{67.55, 78.60}, 0.05},
	{"kv-big", smallPages + "ext_path=/f:32m)", []float64{48}, []float64{67.80}, 0.3},
	{"kv-mix", smallPages + "ext_path=/f:64m)", []float64{48}, []float64{65.46}, 0.35}, // two more runs: 65.44, 65.57
	{"kv-mix", smallPages + "ext_path=/f:128m)", []float64{32, 96}, []float64{65.73, 72.99}, 0.05},
	{"kv-big", smallPages + "ext_path=/f:64m,ext_item_size=1024)", []float64{32}, []float64{70.45}, 0.05},
	{"kv-mix", smallPages + "ext_path=/f:64m,ext_item_size=1024)", []float64{64}, []float64{67.24},
		0.3}, // three more runs: 67.27, 67.31, 67.61
	{"kv-big", smallPages + "ext_path=/f:64m,ext_recache_rate=1)", []float64{32}, []float64{70.89}, 0.2},
	{"kv-big", smallPages + "ext_path=/f:64m,ext_item_age=2)", []float64{32}, []float64{76.08}, 0.05},
	{"kv-big", smallPages + "ext_path=/f:64m,ext_max_frag=0.5)", []float64{32}, []float64{72.04}, 0.05},
	{"kv-big", smallPages + "ext_path=/f:64m,ext_drop_unread=on)", []float64{32}, []float64{71.45}, 0.05},

	{"web", "varnish", []float64{16, 48, 96}, []float64{42.89, 63.84, 76.11}, 0.15},
	{"web-onehit", "varnish", []float64{16, 48, 96}, []float64{24.76, 37.79, 44.98}, 0.15},
	{"web", "nginx(rate=500)", []float64{16, 48}, []float64{56.16, 65.76}, 1},
	{"web-onehit", "nginx(rate=500)", []float64{16, 48}, []float64{34.57, 40.63}, 0.5},
	{"web", "nginx(rate=683)", []float64{16}, []float64{57.85}, 0.5},
	{"web", "nginx(rate=565)", []float64{48}, []float64{66.43}, 0.5},
	{"web", "nginx(rate=703)", []float64{96}, []float64{76.14}, 1},
	{"web", "nginx(min_uses=2)", []float64{48}, []float64{63.69}, 0.7},
	{"web", "nginx(keys_zone=256k)", []float64{1 << 14}, []float64{54.36}, 0.2},
	{"web", "squid", []float64{16, 48, 96}, []float64{45.59, 62.14, 74.14}, 0.2},
	{"web-onehit", "squid", []float64{16, 48, 96}, []float64{27.36, 36.80, 43.66}, 0.15},
	{"web", "squid(policy=heap-LFUDA)", []float64{48}, []float64{62.10}, 0.3},
	{"web", "squid(policy=heap-GDSF)", []float64{48}, []float64{62.18}, 0.3},

	// NewLRUCache and HyperClockCacheOptions of RocksDB 7.8.3: Lookup, and Insert after a miss.
	{"kv-zipf", "rocksdb(num_shard_bits=0)", []float64{8}, []float64{74.23}, 0.01},
	{"web", "rocksdb(num_shard_bits=0)", []float64{16, 48}, []float64{51.50, 66.22}, 0.01},
	{"kv-zipf", "rocksdb(cache=hyper,num_shard_bits=2,estimated_entry_charge=450)", []float64{8}, []float64{72.11}, 0.1},
	{"kv-zipf", "rocksdb(cache=hyper,num_shard_bits=2,estimated_entry_charge=200)", []float64{8}, []float64{66.58}, 0.1},
	{"kv-zipf", "rocksdb(cache=hyper,num_shard_bits=2,estimated_entry_charge=1500)", []float64{8}, []float64{60.81}, 0.1},
	{"kv-big", "rocksdb(cache=hyper,estimated_entry_charge=800)", []float64{64}, []float64{78.13}, 0.1},
	{"web", "rocksdb(cache=hyper,estimated_entry_charge=6000)", []float64{16}, []float64{46.42}, 0.1},
	{"web", "rocksdb(cache=hyper,estimated_entry_charge=14000)", []float64{48}, []float64{64.23}, 0.1},
}

// TestRealServers replays the trials that real servers were given, with the server's own settings.
func TestRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	loaded := map[string]*traces.Trace{}
	for _, row := range real {
		tr := loaded[row.trace]
		if tr == nil {
			tr = load(t, string(trial(t, row.trace)))
			loaded[row.trace] = tr
		}
		for i, mb := range row.megabytes {
			rec := replay(t, tr, row.server, int64(mb*(1<<20)))
			got := 100 * rec.Float(metric.HitRatio)
			t.Logf("%-11s %-64s %6.0f MB: %.2f%%, the real server %.2f%%", row.trace, row.server, mb, got, row.ratios[i])
			if math.Abs(got-row.ratios[i]) > row.within {
				t.Errorf("%s %s at %v MB: %.2f%%, the real server %.2f%%", row.trace, row.server, mb, got, row.ratios[i])
			}
		}
	}
}

// TestReference replays every count of a real server that is beside the traces, but for one with a disk. Their items
// are of one moment, and swing: a value of 200 kB takes the place of hundreds of small ones, and nginx looks every ten
// seconds. So they are held to what the model has in the last fifth of the trace.
func TestReference(t *testing.T) {
	_, numbers := simtest.ReferenceFolders(t)
	if testing.Short() {
		t.Skip("takes seconds")
	}
	loaded := map[string]*traces.Trace{}
	for _, row := range simtest.ReadTable(t, filepath.Join(numbers, "stores.tsv")) {
		server, bytes, ok := referenceServer(t, row)
		if !ok {
			continue
		}
		tr := loaded[row["trace"]]
		if tr == nil {
			tr = load(t, string(trial(t, row["trace"])))
			loaded[row["trace"]] = tr
		}
		number := func(column string) float64 { return must.Get(strconv.ParseFloat(row[column], 64))(t) }
		ratio, held := follow(t, tr, server, bytes, 500, 1)
		held = held[400:]
		if row["trace"] == "kv-mix" && row["server"] != "memcached" { // which large values stay is chance
			for seed := range uint64(3) {
				_, more := follow(t, tr, server, bytes, 500, 2+seed)
				held = append(held, more[400:]...)
			}
		}
		least, most := slices.Min(held), slices.Max(held)
		got, want, items := 100*ratio, 100*number("hit_ratio"), number("items")
		within := 0.5
		switch {
		case row["server"] == "nginx":
			within = 1
		case row["mode"] == "batched" && row["trace"] == "kv-mix" && strings.Contains(row["configuration"], "8mb"):
			within = 0.8 // a pipeline of large values takes memory from the data
		}
		t.Logf("%-9s %-9s %-40s %-10s %.2f%%, real %.2f%%; %.0f to %.0f items, real %v", row["server"], row["version"],
			row["configuration"], row["trace"], got, want, least, most, items)
		if math.Abs(got-want) > within {
			t.Errorf("%s %s, %s, %s: %.2f%%, real %.2f%%", row["server"], row["version"], row["configuration"], row["trace"],
				got, want)
		}
		if row["server"] == "squid" { // counts its icons among them
			items -= squidIcons
		}
		if items < 0.98*least || items > 1.02*most {
			t.Errorf("%s %s, %s, %s: %.0f to %.0f items, real %v", row["server"], row["version"], row["configuration"],
				row["trace"], least, most, items)
		}
	}
}

// squidIcons are the objects that an empty Squid has in its memory.
const squidIcons = 52

// follow replays a trace, and returns the hit ratio, and how many items there are after each of some parts of it.
func follow(t *testing.T, tr *traces.Trace, server string, bytes int64, parts int, seed uint64) (ratio float64,
	items []float64) {
	c := newCache(t, tr, server, bytes, seed).(*servers.Server)
	var n cache.Counts
	all := len(tr.Objects)
	sizes := make([]int64, all/parts+1)
	for i := range parts {
		c.Serve(cache.WindowOf(tr, all*i/parts, all*(i+1)/parts, true, sizes), &n)
		for _, counter := range c.Counters() {
			if counter.Name() == servers.Items.Name {
				items = append(items, counter.Value)
			}
		}
	}
	return float64(n.Hits) / float64(n.Requests), items
}

// referenceServer returns the server of a row as users write it, and its memory.
func referenceServer(t *testing.T, row map[string]string) (server string, bytes int64, ok bool) {
	words := strings.Fields(row["configuration"])
	settings := []string{}
	add := func(format string, a ...any) { settings = append(settings, fmt.Sprintf(format, a...)) }
	number := func(text string) float64 { return must.Get(strconv.ParseFloat(text, 64))(t) }
	seconds := number(row["seconds"])
	switch name := row["server"]; name {
	case "redis", "valkey":
		bytes = int64(number(strings.TrimSuffix(words[1], "mb"))) << 20
		add("policy=%s", words[2])
		add("version=%s", row["version"][:3])
		add("integers=cnt:*")
		if !strings.Contains(row["version"], "quantum 8") {
			add("quantum=16")
		}
		if name == "valkey" || strings.HasPrefix(row["version"], "8.0") {
			add("pages=on")
		}
	case "memcached":
		bytes = int64(number(words[1])) << 20
		for i, word := range words {
			switch word {
			case "-f", "-n":
				add("%s=%s", word[1:], words[i+1])
			case "-C":
				add("C=on")
			case "no_modern":
				add("no_modern=on")
			}
		}
		if !strings.Contains(row["configuration"], "speed") { // too short for automove
			add("automove=off")
		}
	default:
		bytes = int64(number(words[1][:len(words[1])-1])) << 20
		if words[1] == "1g" {
			bytes = 1 << 30
		}
		for i, word := range words {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "policy":
				add("policy=heap-%s", words[i+1])
			case "min_uses":
				add("min_uses=%s", value)
			case "zone":
				add("keys_zone=%s", value)
			case "disk":
				return "", 0, false
			}
		}
	}
	if row["mode"] == "one by one" { // as fast as it really was: some were slower than the trace
		add("rate=%.0f", number(row["requests"])/seconds)
	}
	return fmt.Sprintf("%s(%s)", row["server"], strings.Join(settings, ",")), bytes, true
}

// TestSmallMemcached: a class gets its first page whatever the limit, and the server says what it takes.
func TestSmallMemcached(t *testing.T) {
	tr := load(t, string(trial(t, "kv-zipf")))
	small, double := replay(t, tr, "memcached", 8<<20), replay(t, tr, "memcached", 16<<20)
	if a, b := small.Int(metric.Hits), double.Int(metric.Hits); a != b {
		t.Errorf("%d hits at 8 MB and %d at 16, want the same", a, b)
	}
	if taken := small.Int(metric.Taken); taken != 20<<20 {
		t.Errorf("-m 8 takes %d bytes, want 20 MB", taken)
	}
}

// TestClockIsAskedFor: a trace without times needs a rate where the clock matters, and no other.
func TestClockIsAskedFor(t *testing.T) {
	tr := load(t, "key,size\na,100\nb,100\na,100\n")
	for _, c := range []struct{ server, want string }{
		{"redis", "redis(rate=5000)"}, {"redis(policy=allkeys-lfu)", "redis(rate=5000)"}, {"varnish", "varnish(rate=5000)"},
		{"nginx", "nginx(rate=5000)"}, {"squid", "squid(rate=5000)"}, {"redis(policy=allkeys-random)", ""}, {"memcached", ""},
		{"redis(rate=100)", ""},
	} {
		_, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: c.server,
			Capacities: []capacity.Capacity{capacity.OfBytes(8 << 20)}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.server, err, c.want)
		}
	}
}

// TestPatternsOfKeys: a key that two settings match is refused, and a setting that no key matches is told.
func TestPatternsOfKeys(t *testing.T) {
	tr := load(t, "time,key,size\n0,user:1,100\n1,feed:1,100\n2,user:1,100\n")
	for server, want := range map[string]string{
		"redis(version=7.0,hashes=user:*,lists=u*)":      "the key user:1 matches hashes=user:* and lists=u*",
		"redis(version=7.0,integers=*:1,lists=feed:*)":   "the key feed:1 matches integers=*:1 and lists=feed:*",
		"redis(version=7.0,hashes=user:*,lists=feed:*)":  "",
		"redis(version=7.0,hashes=users:*,lists=feed:*)": "note: no key of the trace matches hashes=users:*",
		"valkey(integers=n*,policy=allkeys-random)":      "note: no key of the trace matches integers=n*",
	} {
		var notes []string
		_, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: server,
			Note:       func(text string) { notes = append(notes, "note: "+strings.TrimPrefix(text, tr.Name+": ")) },
			Capacities: []capacity.Capacity{capacity.OfBytes(4 << 20), capacity.OfBytes(8 << 20)}})
		if err != nil {
			notes = append(notes, err.Error())
		}
		if want == "" && len(notes) > 0 || want != "" && (len(notes) != 1 || !strings.Contains(notes[0], want)) {
			t.Errorf("%s: %q, want %q once", server, notes, want)
		}
	}
}

// TestTimesToLive: each server's rule for the moment at which an item is dead.
func TestTimesToLive(t *testing.T) {
	const text = "time,key,size,ttl\n" +
		"10.7,a,1000,1\n" + // stored
		"11.5,a,1000,1\n" + // alive by the clock, dead by whole seconds
		"12.9,a,1000,1\n" +
		"30,b,1000,20\n45,b,1000,20\n52,b,1000,20\n"
	for _, c := range []struct {
		server string
		hits   int64
	}{
		{"redis", 2}, {"valkey", 2}, // at 11.5 and 45
		{"memcached", 1}, // at 45
		{"varnish", 4},   // and in grace
		{"nginx", 2}, {"squid", 2},
	} {
		rec := replay(t, load(t, text), c.server, 64<<20)
		if got := rec.Int(metric.Hits); got != c.hits {
			t.Errorf("%s: %d hits, want %d", c.server, got, c.hits)
		}
	}
}

// TestHeadersInSizes: where a log counts headers of responses, they are not added again.
func TestHeadersInSizes(t *testing.T) {
	const body = `1.2.3.4 - - [02/Jan/2026:03:04:05 +0000] "GET /a HTTP/1.1" 200 1234` + "\n"
	const all = "1286536309.131 209 10.0.0.1 TCP_MISS/200 1368 GET http://example.com/a - HIER_DIRECT/1.1.1.1 -\n"
	for server, want := range map[string]float64{"varnish": 1234 + 256, "nginx": 4096, "squid": 4096,
		"trafficserver": 2048} {
		for _, log := range []string{body, all} {
			if got := replay(t, load(t, log), server, 64<<20).Float(servers.ItemBytes); got != want {
				t.Errorf("%s: a document takes %v bytes, want %v: %s", server, got, want, log)
			}
		}
	}
}

// TestKeysInSizes: a value is what a log of a store says without its key, which counts beside it, and its overhead.
func TestKeysInSizes(t *testing.T) {
	value := strings.Repeat("x", 300)
	redis := fmt.Sprintf("1.5 [0 127.0.0.1:47582] \"SET\" \"user:0000117:profile\" \"%s\"\n"+
		"2.5 [0 127.0.0.1:47582] \"GET\" \"user:0000117:profile\"\n", value)
	memcached := "ts=1.0 gid=1 type=item_get key=user:0000117:profile status=not_found clsid=0\n" +
		"ts=1.1 gid=2 type=item_store key=user:0000117:profile status=stored cmd=set ttl=0 clsid=8 cfd=8 size=300\n"
	for log, server := range map[string]string{redis: "redis(version=7.0,quantum=16)", memcached: "varnish(headers=0)"} {
		rec := replay(t, load(t, log), server, 64<<20)
		used := rec.Float(servers.ItemBytes) + float64(rec.Int(servers.OwnMemory))
		if got := rec.Float(servers.ValueShare) * used; math.Abs(got-300) > 1 {
			t.Errorf("%s: a value has %.1f bytes, want 300", server, got)
		}
	}
}

// TestInactive: nginx looks when a key is due, and not only every 10 s, as a real one with inactive=3s does.
func TestInactive(t *testing.T) {
	for _, c := range []struct {
		inactive string
		hits     int64
	}{{"3s", 2}, {"4s", 2}, {"5s", 3}, {"20s", 3}} {
		const text = "time,key,size\n1.5,a,1000\n11,a,1000\n13.2,a,1000\n18.1,a,1000\n"
		rec := replay(t, load(t, text), "nginx(inactive="+c.inactive+")", 64<<20)
		if got := rec.Int(metric.Hits); got != c.hits {
			t.Errorf("inactive=%s: %d hits, want %d", c.inactive, got, c.hits)
		}
	}
}

// TestDeletedAndWritten: what the log deletes is gone, what it writes is there with its new size.
func TestDeletedAndWritten(t *testing.T) {
	const text = "time,op,key,size\n1,set,a,100\n2,get,a,100\n3,delete,a,\n4,get,a,100\n5,set,a,900000\n6,get,a,900000\n"
	for _, server := range servers.Kinds {
		if server.Name == "squid" || server.Name == "nginx" { // 512 kB at most; the rest is the same
			continue
		}
		tr := tracetest.MustLoadText(t, text, read.Options{Needs: needs, Selection: read.Selection{Writes: "fill"}})
		rec := replay(t, tr, server.Name, 64<<20)
		if hits, requests := rec.Int(metric.Hits), rec.Int(metric.Requests); hits != 2 || requests != 3 {
			t.Errorf("%s: %d of %d reads hit, want 2 of 3", server.Name, hits, requests)
		}
		least := 900_000.0
		if server.Name == "postgresql" || server.Name == "innodb" { // a request uses one page
			least = 8192
		}
		if items, size := rec.Int(servers.Items), rec.Float(servers.ItemBytes); items != 1 || size < least {
			t.Errorf("%s: %d items of %v bytes, want one of at least %v", server.Name, items, size, least)
		}
	}
}

// TestPoliciesInside: a policy takes the place of the server's own rule. LRU inside Redis is better than its samples.
func TestPoliciesInside(t *testing.T) {
	tr := load(t, string(trial(t, "kv-zipf")))
	for server, bytes := range map[string]int64{"redis": 4 << 20, "valkey": 4 << 20, "memcached": 22 << 20} {
		own := replay(t, tr, server, bytes).Float(metric.HitRatio)
		for _, policy := range brief.Sample(2, "lru", "s3fifo", "sieve", "lfu", "lirs", "arc") {
			recs := simtest.Run(t, tr, simtest.Options{Policies: policy, Parts: []string{"cache=" + server}, Seed: 1,
				Capacities: []capacity.Capacity{capacity.OfBytes(bytes)}})
			got, taken := recs[0].Float(metric.HitRatio), recs[0].Int(metric.Taken)
			t.Logf("%s inside %s: %.2f%%, its own %.2f%%", policy, server, 100*got, 100*own)
			if policy == "lru" && server != "memcached" && got < own-0.002 {
				t.Errorf("%s: lru has %.2f%%, the server's samples %.2f%%", server, 100*got, 100*own)
			}
			if taken > bytes+20_000 {
				t.Errorf("%s inside %s takes %d bytes", policy, server, taken)
			}
		}
	}
	_, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru", Parts: []string{"cache=varnish"},
		Capacities: []capacity.Capacity{capacity.OfBytes(4 << 20)}})
	must.Fail(t, err, "varnish evicts by its own rule")
}

// page is where users see how near the servers are.
const page = "../../../docs/servers.md"

// TestPage: the table of docs/servers.md has what TestRealServers replays, beside LRU by bytes of values. UPDATE=1
// writes it.
func TestPage(t *testing.T) {
	brief.Long(t, "replays all trials, beside LRU")
	loaded := map[string]*traces.Trace{}
	var table strings.Builder
	table.WriteString("| trial | server | memory | real | cachesim | LRU of values |\n|---|---|---|---|---|---|\n")
	percent := func(rec records.Record) string { return fmt.Sprintf("%.2f", 100*rec.Float(metric.HitRatio)) }
	for _, row := range real {
		tr := loaded[row.trace]
		if tr == nil {
			tr = load(t, string(trial(t, row.trace)))
			loaded[row.trace] = tr
		}
		var sizes, ratios, ours, textbook []string
		for i, mb := range row.megabytes {
			bytes := int64(mb * (1 << 20))
			sizes, ratios = append(sizes, fmt.Sprintf("%.5g", mb)), append(ratios, fmt.Sprintf("%.2f", row.ratios[i]))
			ours = append(ours, percent(replay(t, tr, row.server, bytes)))
			textbook = append(textbook, percent(replay(t, tr, "lru", bytes)))
		}
		all := func(texts []string) string { return strings.Join(texts, " / ") }
		fmt.Fprintf(&table, "| %s | `%s` | %s MB | %s | %s | %s |\n", row.trace, row.server, all(sizes), all(ratios),
			all(ours), all(textbook))
	}
	const begin, end = "<!-- trials -->\n\n", "\n<!-- end -->"
	text := string(must.Get(os.ReadFile(page))(t))
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table: want %q and %q", page, begin, end)
	}
	if want := before + begin + table.String() + end + after; os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile(page, []byte(want), 0o644))
	} else if text != want {
		t.Errorf("%s has another table; UPDATE=1 go test ./internal/cache/servers -run Page writes it", page)
	}
}

// TestSettingsAreListed: a list of servers stands for policies and capacities.
func TestSettingsAreListed(t *testing.T) {
	for _, c := range []struct {
		list, policies string
		megabytes      []int64
	}{
		{"redis", "redis", nil},
		{"redis(maxmemory=8mb)", "redis", []int64{8}},
		{"redis(maxmemory=1gb..4gbx2,maxmemory-policy=allkeys-lfu|allkeys-lru)",
			"redis(policy=allkeys-lfu) redis(policy=allkeys-lru)", []int64{1024, 2048, 4096}},
		{"memcached(m=64..128+32,f=1.08|1.25),redis(maxmemory=64mb)", "memcached(f=1.08) memcached(f=1.25) redis",
			[]int64{64, 96, 128}},
		{"squid(cache_mem=256 MB,memory_replacement_policy=heap LFUDA)", "squid(policy=heap-LFUDA)", []int64{256}},
		{"nginx(max_size=10g,inactive=10m,min_uses=2)", "nginx(inactive=10m,min_uses=2)", []int64{10240}},
	} {
		l := must.Get(servers.ParseList(c.list))(t)
		var megabytes []int64
		for _, bytes := range l.Capacities {
			megabytes = append(megabytes, bytes>>20)
		}
		if got := strings.Join(l.Policies, " "); got != c.policies || !slices.Equal(megabytes, c.megabytes) {
			t.Errorf("%s: %s at %v MB, want %s at %v", c.list, got, megabytes, c.policies, c.megabytes)
		}
		must.Get(policies.Registry.ParseList(strings.Join(l.Policies, ",")))(t)
	}
	l := must.Get(servers.ParseList("redis(maxmemory=8mb,version=7.0),nginx,postgresql,squid(rate=7)"))(t)
	timed := l.SetRate(0.5)
	if got := strings.Join(l.Policies, " "); !timed || got !=
		"redis(version=7.0,rate=0.5) nginx(rate=0.5) postgresql squid(rate=7)" {
		t.Errorf("with a rate: %s, %v", got, timed)
	}
	for list, want := range map[string]string{
		"rediss":                          `unknown server "rediss"`,
		"redis(maxmemory=8xb)":            "server redis: maxmemory=8xb",
		"memcached(m=16.5)":               `m=16.5: "16.5": -m is a whole number of MB, such as 64, or has a unit`,
		"redis(maxmemory=8gb..1gbx1)":     `factor "1"`,
		"redis(maxmemory=1kb..9gb+1b)":    "at most 1000",
		"redis(maxmemory=8mb":             "server list",
		"memcached(m=64..128+-5)":         "want a number",
		"varnish(malloc=1g..1tx1.000001)": "at most 1000",
		"memcached(m=1)":                  "m=1m: cannot set item size limit (I=1m) higher than 1/2 of memory max",
		"memcached(m=4..64x2,I=1m|4m)":    "m=4m: cannot set item size limit (I=4m) higher than",
		"varnish(malloc=512k)":            "malloc=512k: too small, did you forget to specify M or G?",
	} {
		_, err := servers.ParseList(list)
		must.Fail(t, err, want)
	}
	_, err := policies.Registry.Parse("redis(maxmemory=8mb)")
	must.Fail(t, err, "write --server 'redis(maxmemory=8mb)'")
}

// TestRefusedSettings: what memcached 1.6.18 and nginx 1.22 do not start with is refused with their reasons.
func TestRefusedSettings(t *testing.T) {
	for list, want := range map[string]string{
		"memcached(I=512)": "cannot be less than 1024 bytes", "memcached(I=2g)": "higher than a gigabyte",
		"memcached(I=256k)": "slab_chunk_max (bytes: 524288) cannot be larger than -I",
		"memcached(I=600k)": "evenly divisible by slab_chunk_max", "memcached(I=x)": "want a size such as 1m",
		"redis(hashes=user:*)": "is known of version=7.0 only", "valkey(lists=a*)": "is known of version=7.0 only",
		"redis(hashes=[,version=7.0)":              "syntax error in pattern",
		"redis(hashes=a*,lists=a*,version=7.0)":    "hashes=a* and lists=a*: a value is one of them",
		"redis(integers=a*,hashes=a*,version=7.0)": "integers=a* and hashes=a*: a value is one of them",
		"redis(integers=a*,lists=a*,version=7.0)":  "integers=a* and lists=a*: a value is one of them",
		"redis(field=9)":                           "field=9 is the name of a field of hashes, and needs hashes=PATTERN",
		"redis(lists=a*,field=9,version=7.0)":      "needs hashes=PATTERN",
		"valkey(element=9)":                        "needs hashes=PATTERN or lists",
		"nginx(keys_zone=4k)":                      "keys zone is too small",
		"nginx(inactive=abc)":                      `inactive="abc": want a time`,
	} {
		_, err := policies.Registry.Parse(list)
		must.Fail(t, err, want)
	}
	for _, list := range []string{"memcached(I=512k)", "memcached(I=2m)", "nginx(keys_zone=8k)", "redis(samples=100)",
		"redis(lists=a*,element=9,version=7.0)", "redis(hashes=a*,lists=b*,field=9,element=9,version=7.0)"} {
		must.Get(policies.Registry.Parse(list))(t)
	}
}

// TestWhatAServerTakesCounts: a server that takes more than its setting is no answer to what fits, and is not the best.
func TestWhatAServerTakesCounts(t *testing.T) {
	tr := load(t, string(trial(t, "kv-zipf")))
	recs := simtest.Run(t, tr, simtest.Options{Policies: "memcached,lru", Seed: 1,
		Capacities: []capacity.Capacity{capacity.OfBytes(8 << 20)}})
	small := recs[0]
	if !small.Overruns() || small.Taken() != 20<<20 {
		t.Errorf("-m 8 takes %d bytes, want 20 MB, above its capacity", small.Taken())
	}
	if sim.MarkBest(recs); recs[0].Best {
		t.Error("memcached is the best at 8 MB, of which it takes 20")
	}
	if large := replay(t, tr, "memcached", 24<<20); large.Overruns() || large.Taken() != 24<<20 {
		t.Errorf("-m 24 takes %d bytes, want 24 MB", large.Taken())
	}
}
