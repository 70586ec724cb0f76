package servers_test

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// running is a real server that is given a trace.
type running struct {
	// ask asks for an object, and stores it if it is missing.
	ask func(key string, size int64) (hit bool)
	// holds returns what the server says it has.
	holds func() (items, bytes int64)
	// aside says that asking for that changes nothing of what it has.
	aside bool
}

// sharedTraces are real traces, the part of them that servers are given, and how many requests come in a second.
var sharedTraces = map[string]struct {
	file, size  string
	limit, rate int
}{
	"adaptsize":    {file: "adaptsize-request.trace.xz", limit: 67_000, rate: 1000},
	"cloudPhysics": {file: "cloudPhysicsIO.oracleGeneral.bin.zst", limit: 30_000, rate: 600},
	"arc-oltp":     {file: "arc-oltp.lis.gz", size: "475B", limit: 100_000, rate: 2000},
}

// loadShared returns a trace without its times: servers get it at the rate.
func loadShared(t *testing.T, name string) *traces.Trace {
	dir, _ := simtest.ReferenceFolders(t)
	is := sharedTraces[name]
	opts := read.Options{Needs: traces.Needs{Sizes: true, Keys: true}, Selection: read.Selection{Limit: is.limit}}
	if is.size != "" {
		opts.ObjectSizes = []string{is.size}
	}
	return must.Get(read.Load(t.Context(), []string{filepath.Join(dir, "block", is.file)}, opts))(t)
}

// heldParts are the parts of a trace after each of which items are counted. Of Redis, one moment says little: a value
// of 200 kB takes the place of hundreds of small ones.
const heldParts = 100

// give gives a trace to a server, and returns it with the times at which requests were sent, and the items after each
// part of it if the server can be asked.
func (s running) give(t *testing.T, tr *traces.Trace, rate int) (sent traces.Trace, hits int, held []float64) {
	sent = *tr
	all := len(tr.Objects)
	sent.Times = make([]int64, all)
	begin := time.Now()
	for i, o := range tr.Objects {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		sent.Times[i] = time.Now().UnixNano()
		if s.ask(tr.Key(int(o)).String(), tr.Size(i)) {
			hits++
		}
		if s.aside && i+1 == all*(len(held)+1)/heldParts {
			items, _ := s.holds()
			held = append(held, float64(items))
		}
	}
	return sent, hits, held
}

// programTrial is a trace that a real server is given, its settings, and what may differ.
type programTrial struct {
	trace, server string
	policy        string // of Redis
	mb            int64
	start         func(t *testing.T, c *programTrial) running
	most          int64   // bytes of a value, 0: any
	points        float64 // of the hit ratio
	share         float64 // of items and memory; 0: they are not compared
}

// hold gives a trace to a real server, and replays it by the clock that the server saw.
func (c programTrial) hold(t *testing.T) {
	programs.Wanted(t)
	t.Parallel() // they wait most of the time
	tr := loadShared(t, c.trace)
	if c.most > 0 {
		tr = tr.Only(func(pos int) bool { return tr.Size(pos) <= c.most })
	}
	s := c.start(t, &c)
	sent, hits, realHeld := s.give(t, tr, sharedTraces[c.trace].rate)
	last, bytes := s.holds()
	rec := replay(t, &sent, c.server, c.mb<<20)
	_, ourHeld := follow(t, &sent, c.server, c.mb<<20, heldParts, 1)
	items, held := float64(last), ourHeld[heldParts-1]
	if s.aside {
		items, held = meanOfHalf(realHeld), meanOfHalf(ourHeld)
	}
	real, ours := 100*float64(hits)/float64(len(tr.Objects)), 100*rec.Float(metric.HitRatio)
	t.Logf("| %s | `%s` | %d MB | %.2f | %.2f | %.2f | %.0f | %.0f | %d | %d |", c.trace, c.server, c.mb, real, ours,
		100*replay(t, &sent, "lru", c.mb<<20).Float(metric.HitRatio), items, held, bytes, c.usedBy(rec))
	if math.Abs(ours-real) > c.points {
		t.Errorf("%.2f%% hit, the real server %.2f%%", ours, real)
	}
	near := func(what string, ours, real float64) {
		if off := math.Abs(ours-real) / real; off > c.share && c.share > 0 {
			t.Errorf("%.0f %s, the real server %.0f: %.1f%% off", ours, what, real, 100*off)
		}
	}
	near("items", held, items)
	near("bytes", float64(c.usedBy(rec)), float64(bytes))
}

// meanOfHalf returns the mean of the second half of some numbers.
func meanOfHalf(held []float64) float64 {
	held = held[len(held)/2:]
	sum := 0.0
	for _, n := range held {
		sum += n
	}
	return sum / float64(len(held))
}

// usedBy returns the bytes that a server has in use at the end.
func (c programTrial) usedBy(rec records.Record) int64 {
	if strings.HasPrefix(c.server, "memcached") {
		return rec.Int(metric.Taken)
	}
	return int64(math.Round(rec.Float(servers.ItemBytes)*float64(rec.Int(servers.Items)))) + rec.Int(servers.OwnMemory)
}

// value returns a value of some bytes.
var value = func() func(n int64) string {
	text := strings.Repeat("x", 4<<20)
	return func(n int64) string { return text[:n] }
}()

// startRedis starts a Redis or a Valkey, and adds to the settings of the trial what kind it is.
func startRedis(t *testing.T, c *programTrial) running {
	p := programs.Redis(t, programs.Find(t, os.Getenv("CACHESIM_REDIS"), "redis-server", "valkey-server"),
		"--maxmemory", fmt.Sprint(c.mb<<20), "--maxmemory-policy", c.policy)
	client := programs.Dial(t, p.Port)
	c.server = kindOfRedis(client, "policy="+c.policy)
	return running{
		ask: func(key string, size int64) bool {
			hit := client.Redis("GET", key) != nil
			if !hit {
				client.Redis("SET", key, value(size))
			}
			return hit
		},
		holds: func() (items, bytes int64) {
			_, after, _ := strings.Cut(client.Redis("INFO").(string), "\ndb0:keys=") // DBSIZE would take memory
			count, _, _ := strings.Cut(after, ",")
			return must.Get(strconv.ParseInt(count, 10, 64))(t), client.Info("used_memory")
		},
		aside: true,
	}
}

// kindOfRedis returns the server that a client talks to, with settings: which program, its version, and its sizes of
// blocks.
func kindOfRedis(c *programs.Client, settings string) string {
	info := c.Redis("INFO").(string)
	of := func(name string) string {
		_, after, _ := strings.Cut(info, "\n"+name+":")
		text, _, _ := strings.Cut(after, "\r")
		return text
	}
	name, version := "redis", of("redis_version")
	if of("valkey_version") != "" {
		name, version = "valkey", of("valkey_version")
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	quantum := "quantum=8"
	if blocks, _ := c.Redis("MEMORY", "MALLOC-STATS").(string); !strings.Contains(blocks, "Quantum size: 8") {
		quantum = "quantum=16"
	}
	return fmt.Sprintf("%s(version=%s.%s,%s,%s)", name, major, minor, quantum, settings)
}

func startMemcached(t *testing.T, c *programTrial) running {
	return memcachedAt(t, programs.Memcached(t, "-m", fmt.Sprint(c.mb)).Port)
}

func memcachedAt(t *testing.T, port int) running {
	client := programs.Dial(t, port)
	return running{
		ask: func(key string, size int64) bool {
			client.Say("get " + key + "\r\n")
			if line := client.Line(); line != "END" {
				client.Bytes(int(size) + 2)
				client.Line()
				return true
			}
			client.Say(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, size, value(size)))
			client.Line()
			return false
		},
		holds: func() (items, bytes int64) {
			return client.Stats("stats", "curr_items"), client.Stats("stats slabs", "total_malloced")
		},
		aside: true,
	}
}

// startWeb starts a web server in front of an origin whose objects have four short headers.
func startWeb(t *testing.T, start func(testing.TB, programs.Web) *programs.Process, w programs.Web,
	holds func(w programs.Web, port int) (items, bytes int64)) running {
	origin := programs.NewOrigin(t)
	dir := t.TempDir()
	w.Dir, w.Log, w.Origin = filepath.Join(dir, "server"), filepath.Join(dir, "access.log"), origin.Address
	p := start(t, w)
	client := programs.Dial(t, p.Port)
	return running{
		ask: func(key string, size int64) bool {
			before := origin.Answers().All
			r, err := client.HTTP("GET", fmt.Sprintf("/plain/%s-%d", key, size), "Host: example.org")
			if r.Close || err != nil { // Varnish gives up a response for which it would have to evict too many
				client.Close()
				client = programs.Dial(t, p.Port)
			}
			return origin.Answers().All == before
		},
		holds: func() (items, bytes int64) { return holds(w, p.Port) },
	}
}

func startVarnish(t *testing.T, c *programTrial) running {
	return startWeb(t, programs.Varnish, programs.Web{Size: fmt.Sprintf("%dm", c.mb)},
		func(w programs.Web, _ int) (items, bytes int64) {
			return programs.VarnishStats(t, w, "MAIN.n_object"), programs.VarnishStats(t, w, "SMA.s0.g_bytes")
		})
}

func startNginx(t *testing.T, c *programTrial) running {
	return startWeb(t, programs.Nginx, programs.Web{Size: fmt.Sprintf("%dm", c.mb)},
		func(w programs.Web, _ int) (items, bytes int64) {
			must.Do(t, filepath.WalkDir(filepath.Join(w.Dir, "c"), func(_ string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				info, err := e.Info()
				if err != nil {
					return nil // the manager has just removed it
				}
				items++
				bytes += (info.Size() + 4095) / 4096 * 4096
				return nil
			}))
			return items, bytes
		})
}

func startSquid(t *testing.T, c *programTrial) running {
	return startWeb(t, programs.Squid, programs.Web{Size: fmt.Sprintf("%d MB", c.mb)},
		func(_ programs.Web, port int) (items, bytes int64) {
			client := programs.Dial(t, port)
			client.Say("GET /squid-internal-mgr/info HTTP/1.0\r\n\r\n")
			text := client.Rest()
			of := func(pattern string) int64 {
				found := regexp.MustCompile(pattern).FindStringSubmatch(text)
				if found == nil {
					t.Fatalf("%q has no %s", text, pattern)
				}
				return must.Get(strconv.ParseInt(found[1], 10, 64))(t)
			}
			return of(`(\d+) Hot Object Cache Items`), of(`Storage Mem size:\s+(\d+)`) << 10
		})
}

// TestSharedTraces gives real traces to real servers, and to their models. What nginx holds at the end depends on when
// its manager looked last. Which large values LFU keeps is chance: means of runs of the same trace differ by 2 to 4%.
func TestSharedTraces(t *testing.T) {
	for name, c := range map[string]programTrial{
		"redis":     {start: startRedis, policy: "allkeys-lru", most: 1 << 16, points: 0.5, share: 0.02},
		"redis-lfu": {start: startRedis, policy: "allkeys-lfu", most: 1 << 16, points: 0.5, share: 0.04},
		"memcached": {start: startMemcached, server: "memcached", points: 0.5, share: 0.02},
		"varnish":   {start: startVarnish, server: "varnish", points: 0.5, share: 0.02},
		"nginx":     {start: startNginx, server: "nginx", points: 1},
		"squid":     {start: startSquid, server: "squid", points: 0.5, share: 0.02},
	} {
		for trace, mb := range map[string]int64{"adaptsize": 32, "cloudPhysics": 64, "arc-oltp": 4} {
			if c.trace, c.mb = trace, mb; mb < 32 && c.policy == "" && name != "memcached" {
				continue
			}
			t.Run(trace+" through "+name, c.hold)
		}
	}
}

// TestBytesOfItems: used_memory of a real Redis or Valkey with keys and values of many lengths, a third of them with a
// time to live, beside the model.
func TestBytesOfItems(t *testing.T) {
	programs.Wanted(t)
	t.Parallel()
	c := programTrial{mb: 256, policy: "allkeys-lru"}
	p := programs.Redis(t, programs.Find(t, os.Getenv("CACHESIM_REDIS"), "redis-server", "valkey-server"),
		"--maxmemory", fmt.Sprint(c.mb<<20), "--maxmemory-policy", c.policy)
	client := programs.Dial(t, p.Port)
	client.Redis("SET", "-", "-", "EX", "1000") // what a command takes when it is used the first time
	client.Redis("DEL", "-")
	empty, server := client.Info("used_memory"), kindOfRedis(client, "integers=n:*")
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("time,key,size,ttl\n")
	for i := range 60_000 {
		key := fmt.Sprintf("k%0*d", []int{7, 19, 33, 53, 129}[r.IntN(5)], i)
		size := []int64{1, 5, 20, 28, 44, 45, 60, 100, 120, 245, 300, 1000}[r.IntN(12)]
		stored := value(size)
		if i%7 == 0 {
			key, size, stored = "n:"+key, 9, "123456789"
		}
		words, ttl := []string{"SET", key, stored}, ""
		if i%3 == 0 {
			ttl = "100000"
			words = append(words, "EX", ttl)
		}
		client.Redis(words...)
		fmt.Fprintf(&text, "%.4f,%s,%d,%s\n", float64(i)/5000, key, size, ttl)
	}
	time.Sleep(2 * time.Second) // until the tables have grown
	rec := replay(t, load(t, text.String()), server, c.mb<<20)
	got, want := c.usedBy(rec)-rec.Int(servers.OwnMemory), client.Info("used_memory")-empty
	t.Logf("%s: %d bytes, the real one %d", server, got, want)
	if off := math.Abs(float64(got-want)) / float64(want); off > 0.003 {
		t.Errorf("%s: %d bytes for 60,000 items, the real one %d: %.2f%% off", server, got, want, 100*off)
	}
}

// TestCollections gives hashes and lists to a real Redis 7.0, which a miss stores as a whole, and compares hits and
// used_memory. Another version has other encodings, which are not known.
func TestCollections(t *testing.T) {
	programs.Wanted(t)
	t.Parallel()
	p := programs.Redis(t, programs.Find(t, "redis-server"), "--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru")
	client := programs.Dial(t, p.Port)
	for _, command := range []string{"HSET - a b", "HGET - a", "DEL -", "RPUSH - a", "LINDEX - 0", "DEL -", "INFO"} {
		client.Redis(strings.Fields(command)...) // takes memory when it is used the first time
	}
	base := fmt.Sprintf(",base=%d", client.Info("used_memory"))
	server := kindOfRedis(client, "hashes=user:*,field=8,lists=feed:*,element=40"+base)
	if !strings.Contains(server, "version=7.0") {
		t.Skipf("%s: want Redis 7.0", server)
	}
	r := rand.New(rand.NewPCG(1, 2))
	elements := make([]int, 12_000) // of each key
	for i := range elements {
		elements[i] = 1 + int(math.Exp(3*r.Float64()*r.Float64()*2.2))
	}
	popular := rand.NewZipf(r, 1.1, 20, uint64(len(elements)-1))
	var text strings.Builder
	text.WriteString("time,key,size\n")
	hits, begin := 0, time.Now()
	const requests = 60_000
	for i := range requests {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / 2000)))
		k := popular.Uint64()
		n := elements[k]
		key, size := fmt.Sprintf("user:%06d", k), n*48
		read, store := []string{"HGET", key, "f:000000"}, []string{"HSET", key}
		if k%2 == 1 {
			key, size = fmt.Sprintf("feed:%06d", k), n*40
			read, store = []string{"LINDEX", key, "0"}, []string{"RPUSH", key}
		}
		fmt.Fprintf(&text, "%.6f,%s,%d\n", time.Since(begin).Seconds(), key, size)
		if client.Redis(read...) != nil {
			hits++
			continue
		}
		for j := range n {
			if k%2 == 0 {
				store = append(store, fmt.Sprintf("f:%06d", j))
			}
			store = append(store, value(40))
		}
		client.Redis(store...)
	}
	tr := load(t, text.String())
	c := programTrial{mb: 8}
	rec := replay(t, tr, server, c.mb<<20)
	asText := replay(t, tr, kindOfRedis(client, "policy=allkeys-lru"+base), c.mb<<20)
	real, ours := 100*float64(hits)/requests, 100*rec.Float(metric.HitRatio)
	info := client.Redis("INFO").(string)
	_, after, _ := strings.Cut(info, "\ndb0:keys=")
	count, _, _ := strings.Cut(after, ",")
	items := must.Get(strconv.ParseFloat(count, 64))(t)
	t.Logf("%s: %.2f%%, as strings %.2f%%, LRU of values %.2f%%, real %.2f%%; %d items, %d as strings, real %.0f", server,
		ours, 100*asText.Float(metric.HitRatio), 100*replay(t, tr, "lru", c.mb<<20).Float(metric.HitRatio), real,
		rec.Int(servers.Items), asText.Int(servers.Items), items)
	if math.Abs(ours-real) > 0.5 {
		t.Errorf("%.2f%% hit, the real server %.2f%%", ours, real)
	}
	if off := math.Abs(float64(rec.Int(servers.Items))-items) / items; off > 0.02 {
		t.Errorf("%d items, the real server %.0f", rec.Int(servers.Items), items)
	}
}
