package audit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// trial is a real server with a fault, beside what is said of it.
type trial struct {
	server string // with the settings that are stated, for --server
	want   string // of the sentences; "" if the fault is none
	stats  string // a file with what the server counts
	format string // of the log; "" to recognise it
	logs   string // the same, as the configuration of the server has it

	config string                               // of nginx, inside the location; of varnish, the VCL
	size   string                               // max_size, malloc or cache_mem
	path   string                               // further settings of proxy_cache_path
	cookie bool                                 // sent by one of the clients
	tagged bool                                 // a fifth of the requests have a query
	rate   int                                  // requests per second
	last   int                                  // seconds
	events map[int]func(t *testing.T, f *front) // by the second in which they happen
	twins  int                                  // servers that take turns; 0: one
}

// front is the servers of a trial.
type front struct {
	trial   *trial
	dir     string
	origin  string
	proxies []*programs.Process
	start   func(testing.TB, programs.Web) *programs.Process
}

// begin starts one of the servers of a trial, with an empty cache.
func (f *front) begin(t *testing.T, n int) *programs.Process {
	c := f.trial
	return f.start(t, programs.Web{Dir: filepath.Join(f.dir, fmt.Sprint(n)), Origin: f.origin, Size: c.size,
		Log: filepath.Join(f.dir, "access.log"), Format: c.logs, Rules: c.config, Path: c.path})
}

const (
	nginxLogs = `$http_x_client - - [$time_local] "$request" $status $body_bytes_sent $msec $upstream_cache_status`

	nginxFormat = `access:format=$remote_addr - - [$time_local] "$request" $status $body_bytes_sent $msec ` +
		`$upstream_cache_status`

	varnishLogs   = `%h - - %t "%r" %s %b %{usec}t %{Varnish:hitmiss}x`
	varnishFormat = `access:format=%h - - %t "%r" %>s %b %{usec}t %{Varnish:hitmiss}x`
)

// send sends the requests of a trial, at its rate.
func (f *front) send(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const objects = 3000
	cumulated, sizes := make([]float64, objects), make([]int, objects)
	sum := 0.0
	for i := range objects {
		sum += math.Pow(float64(i+1), -0.9)
		cumulated[i] = sum
		sizes[i] = int(math.Exp(8 + 1.2*r.NormFloat64()))
		sizes[i] = min(max(sizes[i], 200), 200_000)
	}
	conns := make([]*programs.Client, len(f.proxies))
	begin := time.Now()
	second, failed := -1, 0
	for i := range f.trial.rate * f.trial.last {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(f.trial.rate))
		time.Sleep(time.Until(due))
		if s := i / f.trial.rate; s != second {
			second = s
			if event := f.trial.events[s]; event != nil {
				event(t, f)
				for k := range conns {
					conns[k] = nil
				}
			}
		}
		object := 0
		for x := r.Float64() * sum; cumulated[object] < x; {
			object++
		}
		path := fmt.Sprintf("/d%d/%d-%d", object%7, object, sizes[object])
		if q := r.IntN(500); f.trial.tagged && q < 100 {
			path += fmt.Sprintf("?utm_source=%d", q)
		}
		client := r.IntN(4)
		header := []string{"Host: example.org", fmt.Sprintf("X-Client: 10.0.0.%d", client)}
		if f.trial.cookie && client == 3 {
			header = append(header, "Cookie: sid=1")
		}
		at := i % len(f.proxies)
		if conns[at] == nil {
			conns[at] = programs.Dial(t, f.proxies[at].Port)
		}
		response, err := conns[at].HTTP("GET", path, header...)
		if err != nil { // Varnish gives up a response for which it would have to evict too many
			if failed++; failed > 20 {
				t.Fatal(err)
			}
		}
		if response.Close || err != nil {
			conns[at].Close()
			conns[at] = nil
		}
	}
}

// hold runs a trial, and audits the log that the server wrote.
func (c *trial) hold(t *testing.T, start func(testing.TB, programs.Web) *programs.Process) {
	programs.Wanted(t)
	t.Parallel() // they wait most of the time
	f := &front{trial: c, dir: t.TempDir(), origin: programs.NewOrigin(t).Address, start: start}
	for n := range max(1, c.twins) {
		f.proxies = append(f.proxies, f.begin(t, n))
	}
	f.send(t)
	for _, p := range f.proxies {
		p.End()
	}
	path := filepath.Join(f.dir, "access.log")
	c.check(t, path)
}

// check audits a log.
func (c *trial) check(t *testing.T, path string) {
	for _, of := range []string{path, c.stats} {
		if keep := os.Getenv("AUDIT_KEEP"); keep != "" && of != "" {
			text, _ := os.ReadFile(of)
			name := strings.ReplaceAll(t.Name(), "/", "-") + "-" + filepath.Base(of)
			must.Do(t, os.WriteFile(filepath.Join(keep, name), text, 0o600))
		}
	}
	listed, err := servers.ParseList(c.server)
	must.Do(t, err)
	policy, err := policies.Registry.Parse(listed.Policies[0])
	must.Do(t, err)
	w := workload.Workload{Files: []string{path}, Selection: read.Selection{Format: c.format}}
	log := &audit.Log{Load: func(ctx context.Context, w workload.Workload) (*traces.Trace, error) {
		return w.Load(ctx, nil, read.Options{Needs: traces.Needs{Times: true, Sizes: true, Keys: true, Ends: true}})
	}}
	s := audit.Setup{Workload: w, Cell: sim.Cell{Parts: sim.Parts{Cache: cache.ExactSpec(), Policy: policy},
		Capacity: capacity.OfBytes(listed.Capacities[0])}}
	read, err := log.Load(t.Context(), w)
	must.Do(t, err)
	if c.stats != "" {
		file, err := os.Open(c.stats)
		must.Do(t, err)
		defer file.Close()
		totals, err := audit.ReadTotals(file, c.stats, read)
		must.Do(t, err)
		log.UseTotals(totals)
	}
	must.Do(t, log.Check(read))
	finding, err := audit.Find(t.Context(), s, log.Causes(s, read, ""), log.Replay, audit.Options{})
	must.Do(t, err)
	for _, tried := range finding.Alone {
		t.Logf("%-28s %6.2f points, agrees %.4f %s %s", tried.Name, finding.PointsAlone(tried), tried.Outcome.Agreement(),
			tried.Says, tried.Failed)
	}
	text := strings.Join(finding.Sentences(audit.Words{Units: "requests", Settings: c.server}), "\n")
	t.Log(text)
	if !strings.Contains(text, c.want) || c.want == "" && len(finding.Steps) > 0 {
		t.Errorf("want %q", c.want)
	}
}

func restart(t *testing.T, f *front) {
	for n, p := range f.proxies {
		p.End()
		must.Do(t, os.RemoveAll(filepath.Join(f.dir, fmt.Sprint(n))))
		f.proxies[n] = f.begin(t, n)
	}
}

func TestFaultsOfNginx(t *testing.T) {
	for name, c := range map[string]*trial{
		"none": {},
		"query": {tagged: true, config: "proxy_cache_key $uri;",
			want: "explained by tracking parameters that are no part of the key;"},
		"inactive": {path: "inactive=3s", last: 25, want: "dropped when nobody asks for 3s;"},
		"valid": {config: "proxy_ignore_headers Cache-Control; proxy_cache_valid 200 2s;",
			want: "explained by a time to live of 2s in whole seconds;"},
		"cookie": {cookie: true, config: "proxy_no_cache $cookie_sid;",
			want: "explained by responses that are not stored where client is 10.0.0.3;"},
		"restart": {events: map[int]func(*testing.T, *front){5: restart}, want: "explained by a cache that was emptied at "},
		"twins":   {twins: 2, want: "2 servers that take turns, each with a cache of the whole capacity"},
		"size":    {size: "1m", last: 35, want: "explained by a capacity of about"},
		"uses":    {config: "proxy_cache_min_uses 2;", want: "explained by min_uses=2;"},
	} {
		t.Run(name, func(t *testing.T) {
			c.server, c.format, c.logs = "nginx(max_size=64m)", nginxFormat, nginxLogs
			c.setDefaults("64m")
			c.hold(t, programs.Nginx)
		})
	}
}

func (c *trial) setDefaults(size string) {
	if c.size == "" {
		c.size = size
	}
	if c.rate == 0 {
		c.rate = 500
	}
	if c.last == 0 {
		c.last = 10
	}
}

func TestFaultsOfVarnish(t *testing.T) {
	for name, c := range map[string]*trial{
		"none": {},
		"size": {size: "1m", want: "explained by a capacity of about"},
		"path": {config: `sub vcl_backend_response { if (bereq.url ~ "^/d4/") { set beresp.uncacheable = true; } }`,
			want: "explained by responses that are not stored where directory is /d4;"},
		"ttl": {config: `sub vcl_backend_response { set beresp.ttl = 2s; set beresp.grace = 0s; }`,
			want: "explained by a time to live of 2s;"},
	} {
		t.Run(name, func(t *testing.T) {
			c.server, c.format, c.logs = "varnish(malloc=4m)", varnishFormat, varnishLogs
			c.setDefaults("4m")
			c.hold(t, programs.Varnish)
		})
	}
}

func TestFaultsOfSquid(t *testing.T) {
	for name, c := range map[string]*trial{
		"none": {},
		"size": {size: "2 MB", want: "explained by a capacity of about"},
		"deny": {config: "acl d4 urlpath_regex ^/d4/\ncache deny d4", want: "where directory is /d4"},
	} {
		t.Run(name, func(t *testing.T) {
			c.server = "squid(cache_mem=4MB)"
			c.setDefaults("4 MB")
			c.hold(t, programs.Squid)
		})
	}
}

// getOrSet gets a key of memcached, and sets it if it is missing.
func getOrSet(c *programs.Client, key string, size int) {
	c.Say("get " + key + "\r\n")
	if c.Line() == "END" {
		c.Say(fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, size, strings.Repeat("x", size)))
		c.Line()
		return
	}
	c.Bytes(size + 2)
	c.Line()
}

// keys calls get for keys with sizes, so many per second.
func keys(rate, seconds int, sizeOf func(*rand.Rand) int, get func(i int, key string, size int)) {
	r := rand.New(rand.NewPCG(9, 8))
	const objects = 12000
	cumulated, sizes, sum := make([]float64, objects), make([]int, objects), 0.0
	for i := range objects {
		sum += math.Pow(float64(i+1), -0.8)
		cumulated[i], sizes[i] = sum, sizeOf(r)
	}
	begin := time.Now()
	for i := range rate * seconds {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		object, x := 0, r.Float64()*sum
		for low, high := 0, objects-1; low <= high; {
			if middle := (low + high) / 2; cumulated[middle] < x {
				low = middle + 1
			} else {
				object, high = middle, middle-1
			}
		}
		get(i, fmt.Sprintf("user:%07d:profile", object), sizes[object])
	}
}

func TestFaultsOfRedis(t *testing.T) {
	const rate, seconds = 4000, 10
	for name, c := range map[string]struct {
		stated, memory, policy, want string
	}{
		"none":   {stated: "4mb", memory: "4mb", policy: "allkeys-lru"},
		"memory": {stated: "4mb", memory: "2mb", policy: "allkeys-lru", want: "explained by a capacity of about 2"},
		"policy": {stated: "3mb", memory: "3mb", policy: "allkeys-random", want: "explained by policy=allkeys-random"},
	} {
		t.Run(name, func(t *testing.T) {
			programs.Wanted(t)
			t.Parallel()
			program := programs.Find(t, "redis-server")
			dir := t.TempDir()
			p := programs.Redis(t, program, "--maxmemory", c.memory, "--maxmemory-policy", c.policy)
			client, monitor := programs.Dial(t, p.Port), programs.Dial(t, p.Port)
			end := monitor.Monitor(dir + "/monitor.log")
			var stats strings.Builder
			info := func() {
				stats.WriteString(client.Redis("INFO").(string))
			}
			info()
			keys(rate, seconds, func(r *rand.Rand) int { return 50 + r.IntN(1000) }, func(i int, key string, size int) {
				if client.Redis("GET", key) == nil {
					client.Redis("SET", key, strings.Repeat("x", size))
				}
				if i%(rate/5) == rate/5-1 {
					info()
				}
			})
			end()
			must.Do(t, os.WriteFile(dir+"/info.txt", []byte(stats.String()), 0o600))
			const empty = ",base=1027000" // with two clients, and with the commands that they use
			server := "redis(maxmemory=" + c.stated + ",version=7.0,quantum=16" + empty + ")"
			held := trial{server: server, want: c.want, stats: dir + "/info.txt"}
			held.check(t, dir+"/monitor.log")
		})
	}
}

func TestFaultsOfMemcached(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"none":   {args: []string{"-m", "8"}},
		"factor": {args: []string{"-m", "8", "-f", "2"}, want: "f=2"},
		"memory": {args: []string{"-m", "4"}, want: "explained by a capacity of about"},
	} {
		t.Run(name, func(t *testing.T) {
			programs.Wanted(t)
			t.Parallel()
			dir, p := t.TempDir(), programs.Memcached(t, c.args...)
			client, watcher := programs.Dial(t, p.Port), programs.Dial(t, p.Port)
			watcher.Say("watch fetchers mutations\r\n")
			end := watcher.CopyTo(dir + "/watch.log")
			time.Sleep(100 * time.Millisecond)
			keys(2000, 12, func(r *rand.Rand) int { return []int{300, 420, 1500, 2100}[r.IntN(4)] },
				func(_ int, key string, size int) { getOrSet(client, key, size) })
			end()
			held := trial{server: "memcached(m=8)", want: c.want}
			held.check(t, dir+"/watch.log")
		})
	}
}
