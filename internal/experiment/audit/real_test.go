package audit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
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

// proxy is a caching server, as a trial starts it.
type proxy struct {
	port int
	end  func()
}

// trial is a real server with a fault, beside what is said of it.
type trial struct {
	server string // with the settings that are stated, for --server
	want   string // of the sentences; "" if the fault is none
	stats  string // a file with what the server counts
	format string // of the log; "" to recognise it

	config string                               // of nginx, inside the location; of varnish, the VCL
	size   string                               // max_size, malloc or cache_mem
	path   string                               // further settings of proxy_cache_path
	header func(h http.Header, path string)     // of the origin
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
	proxies []proxy
	start   func(t *testing.T, f *front, n int) proxy
}

// origin answers with as many bytes as the path ends with.
func newOrigin(t *testing.T, header func(http.Header, string)) string {
	body := []byte(strings.Repeat("x", 1<<20))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, '-')+1:])
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.Header().Set("Cache-Control", "max-age=3600")
		if header != nil {
			header(w.Header(), r.URL.Path)
		}
		_, _ = w.Write(body[:n])
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// run starts a program, and waits until it listens.
func run(t *testing.T, port int, args ...string) proxy {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	output, err := os.CreateTemp(t.TempDir(), "output")
	must.Do(t, err)
	cmd.Stdout, cmd.Stderr = output, output
	must.Do(t, cmd.Start())
	end := func() {
		_ = cmd.Process.Signal(os.Interrupt)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	}
	for range 200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
			return proxy{port, end}
		}
		time.Sleep(50 * time.Millisecond)
	}
	end()
	text, _ := os.ReadFile(output.Name())
	t.Fatalf("%s does not listen: %s", args[0], text)
	return proxy{}
}

func startNginx(t *testing.T, f *front, n int) proxy {
	dir := filepath.Join(f.dir, fmt.Sprint(n))
	must.Do(t, os.MkdirAll(dir, 0o700))
	port := freePort(t)
	config := fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/err; user root;
events { worker_connections 256; }
http {
	log_format audit '$http_x_client - - [$time_local] "$request" $status $body_bytes_sent $msec $upstream_cache_status';
	access_log %[2]s/access.log audit;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4;
	scgi_temp_path %[1]s/t5; keepalive_requests 100000000;
	proxy_cache_path %[1]s/c levels=1:2 keys_zone=z:16m max_size=%[3]s %[4]s use_temp_path=off;
	upstream u { server %[5]s; keepalive 4; }
	server { listen 127.0.0.1:%[6]d; location / {
		proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_cache z; %[7]s
	} }
}`, dir, f.dir, f.trial.size, f.trial.path, f.origin, port, f.trial.config)
	path := filepath.Join(dir, "nginx.conf")
	must.Do(t, os.WriteFile(path, []byte(config), 0o600))
	return run(t, port, "nginx", "-p", dir, "-c", path)
}

const nginxFormat = `access:format=$remote_addr - - [$time_local] "$request" $status $body_bytes_sent $msec ` +
	`$upstream_cache_status`

const varnishFormat = `access:format=%h - - %t "%r" %>s %b %{usec}t %{Varnish:hitmiss}x`

func startVarnish(t *testing.T, f *front, n int) proxy {
	dir := filepath.Join(f.dir, fmt.Sprint(n))
	must.Do(t, os.MkdirAll(dir, 0o700))
	host, originPort, _ := strings.Cut(f.origin, ":")
	vcl := fmt.Sprintf("vcl 4.1;\nbackend b { .host = \"%s\"; .port = \"%s\"; }\n%s\n", host, originPort, f.trial.config)
	must.Do(t, os.WriteFile(filepath.Join(dir, "v.vcl"), []byte(vcl), 0o600))
	port := freePort(t)
	p := run(t, port, "varnishd", "-F", "-j", "none", "-n", dir+"/state", "-a", fmt.Sprintf("127.0.0.1:%d", port), "-T",
		"none", "-f", dir+"/v.vcl", "-s", "s0=malloc,"+f.trial.size)
	log := exec.Command("varnishncsa", "-n", dir+"/state", "-a", "-w", f.dir+"/access.log", "-F",
		`%h - - %t "%r" %s %b %{usec}t %{Varnish:hitmiss}x`)
	must.Do(t, log.Start())
	time.Sleep(time.Second)
	return proxy{port, func() {
		time.Sleep(time.Second) // until the log is written
		_ = log.Process.Signal(os.Interrupt)
		_ = log.Wait()
		p.end()
	}}
}

func startSquid(t *testing.T, f *front, n int) proxy {
	dir := filepath.Join(f.dir, fmt.Sprint(n))
	must.Do(t, os.MkdirAll(dir, 0o777))
	for d := dir; d != filepath.Dir(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o777) // squid gives up its rights
	}
	host, originPort, _ := strings.Cut(f.origin, ":")
	port := freePort(t)
	config := fmt.Sprintf(`http_port 127.0.0.1:%d accel defaultsite=127.0.0.1 no-vhost
cache_peer %s parent %s 0 no-query originserver no-digest name=o
http_access allow all
cache_mem %s
maximum_object_size_in_memory 512 KB
strip_query_terms off
access_log stdio:%[6]s/access.log squid
cache_log %[5]s/cache.log
cache_store_log none
pid_filename %[5]s/pid
coredump_dir %[5]s
shutdown_lifetime 1 seconds
netdb_filename none
pinger_enable off
%[7]s
`, port, host, originPort, f.trial.size, dir, f.dir, f.trial.config)
	must.Do(t, os.WriteFile(filepath.Join(dir, "s.conf"), []byte(config), 0o644))
	return run(t, port, "squid", "-N", "-f", dir+"/s.conf")
}

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
	conns := make([]net.Conn, len(f.proxies))
	readers := make([]*bufio.Reader, len(f.proxies))
	begin := time.Now()
	second := -1
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
		head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: example.org\r\nX-Client: 10.0.0.%d\r\n", path, client)
		if f.trial.cookie && client == 3 {
			head += "Cookie: sid=1\r\n"
		}
		at := i % len(f.proxies)
		if conns[at] == nil {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", f.proxies[at].port))
			must.Do(t, err)
			conns[at], readers[at] = c, bufio.NewReader(c)
		}
		_, err := io.WriteString(conns[at], head+"\r\n")
		must.Do(t, err)
		response, err := http.ReadResponse(readers[at], nil)
		must.Do(t, err)
		_, err = io.Copy(io.Discard, response.Body)
		must.Do(t, err)
		if response.Close {
			conns[at].Close()
			conns[at] = nil
		}
	}
}

// hold runs a trial, and audits the log that the server wrote.
func (c *trial) hold(t *testing.T, program string, start func(*testing.T, *front, int) proxy) {
	brief.Long(t, "real servers answer for 10 seconds or more")
	t.Parallel() // they wait most of the time
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
	f := &front{trial: c, dir: t.TempDir(), origin: newOrigin(t, c.header), start: start}
	for n := range max(1, c.twins) {
		f.proxies = append(f.proxies, start(t, f, n))
	}
	f.send(t)
	for _, p := range f.proxies {
		p.end()
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
		p.end()
		must.Do(t, os.RemoveAll(filepath.Join(f.dir, fmt.Sprint(n))))
		f.proxies[n] = f.start(t, f, n)
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
			c.server, c.format = "nginx(max_size=64m)", nginxFormat
			c.setDefaults("64m")
			c.hold(t, "nginx", startNginx)
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
			c.server, c.format = "varnish(malloc=4m)", varnishFormat
			c.setDefaults("4m")
			c.hold(t, "varnishd", startVarnish)
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
			c.hold(t, "squid", startSquid)
		})
	}
}

// store is a client of Redis or memcached that gets keys, and sets those that are missing.
type store struct {
	c net.Conn
	r *bufio.Reader
}

func dialStore(t *testing.T, port int) *store {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &store{c, bufio.NewReader(c)}
}

func (s *store) line(t *testing.T) string {
	line, err := s.r.ReadString('\n')
	must.Do(t, err)
	return strings.TrimRight(line, "\r\n")
}

func (s *store) say(t *testing.T, text string) {
	_, err := io.WriteString(s.c, text)
	must.Do(t, err)
}

// copyTo writes what the server sends to a file from now on.
func (s *store) copyTo(t *testing.T, path string) (end func()) {
	file, err := os.Create(path)
	must.Do(t, err)
	done := make(chan struct{})
	go func() { _, _ = io.Copy(file, s.r); close(done) }()
	return func() {
		time.Sleep(500 * time.Millisecond)
		_ = s.c.Close()
		<-done
		must.Do(t, file.Close())
	}
}

// redis sends a command, and returns the answer; ok is false for none.
func (s *store) redis(t *testing.T, words ...string) (answer string, ok bool) {
	command := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	s.say(t, command)
	line := s.line(t)
	n, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
	if line[0] != '$' || err != nil {
		return line, true
	}
	if n < 0 {
		return "", false
	}
	text := make([]byte, n+2)
	_, err = io.ReadFull(s.r, text)
	must.Do(t, err)
	return string(text[:n]), true
}

// memcached gets a key, and sets it if it is missing.
func (s *store) memcached(t *testing.T, key string, size int) {
	s.say(t, "get "+key+"\r\n")
	line := s.line(t)
	if line == "END" {
		s.say(t, fmt.Sprintf("set %s 0 0 %d\r\n%s\r\n", key, size, strings.Repeat("x", size)))
		s.line(t)
		return
	}
	_, err := s.r.Discard(size + 2)
	must.Do(t, err)
	s.line(t)
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
			brief.Long(t, "real servers answer for 10 seconds or more")
			t.Parallel()
			if _, err := exec.LookPath("redis-server"); err != nil {
				t.Skipf("redis-server is not installed: %v", err)
			}
			dir, port := t.TempDir(), freePort(t)
			p := run(t, port, "redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", dir,
				"--maxmemory", c.memory, "--maxmemory-policy", c.policy)
			defer p.end()
			client, monitor := dialStore(t, port), dialStore(t, port)
			monitor.say(t, "MONITOR\r\n")
			end := monitor.copyTo(t, dir+"/monitor.log")
			time.Sleep(100 * time.Millisecond)
			var stats strings.Builder
			info := func() {
				text, _ := client.redis(t, "INFO")
				stats.WriteString(text)
			}
			info()
			keys(rate, seconds, func(r *rand.Rand) int { return 50 + r.IntN(1000) }, func(i int, key string, size int) {
				if _, ok := client.redis(t, "GET", key); !ok {
					client.redis(t, "SET", key, strings.Repeat("x", size))
				}
				if i%(rate/5) == rate/5-1 {
					info()
				}
			})
			end()
			raw, err := os.ReadFile(dir + "/monitor.log")
			must.Do(t, err)
			lines := strings.ReplaceAll("\n"+string(raw), "\n+", "\n") // as redis-cli prints them
			must.Do(t, os.WriteFile(dir+"/monitor.log", []byte(strings.TrimPrefix(lines, "\nOK\r\n")), 0o600))
			must.Do(t, os.WriteFile(dir+"/info.txt", []byte(stats.String()), 0o600))
			server := "redis(maxmemory=" + c.stated + ",version=7.0,quantum=16)"
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
			brief.Long(t, "real servers answer for 10 seconds or more")
			t.Parallel()
			if _, err := exec.LookPath("memcached"); err != nil {
				t.Skipf("memcached is not installed: %v", err)
			}
			dir, port := t.TempDir(), freePort(t)
			p := run(t, port, append([]string{"memcached", "-p", fmt.Sprint(port), "-l", "127.0.0.1", "-U", "0", "-u", "root"},
				c.args...)...)
			defer p.end()
			client, watcher := dialStore(t, port), dialStore(t, port)
			watcher.say(t, "watch fetchers mutations\r\n")
			end := watcher.copyTo(t, dir+"/watch.log")
			time.Sleep(100 * time.Millisecond)
			keys(2000, 12, func(r *rand.Rand) int { return []int{300, 420, 1500, 2100}[r.IntN(4)] },
				func(_ int, key string, size int) { client.memcached(t, key, size) })
			end()
			held := trial{server: "memcached(m=8)", want: c.want}
			held.check(t, dir+"/watch.log")
		})
	}
}
