package route

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// sharded is the key of an object in these tests.
func sharded(o dense.Object) string { return fmt.Sprintf("example.org/d%d/%d-10", o%3, o) }

// placedKeys returns the nodes of keys, one digit each.
func placedKeys(t *testing.T, call string, n int) string {
	p := must.Get(NewPlacement(must.Get(Registry.Parse(call))(t), n, sharded, 1))(t)
	p.Use(firstNodes(4))
	var all strings.Builder
	for o := range dense.Object(n) {
		fmt.Fprint(&all, p.Homes(o)[0])
	}
	return all.String()
}

// shardCalls are routers with the first nodes that the shard director of Varnish 7.1.1 gave to keys, its replicas, and
// what it looked up.
var shardCalls = []struct{ call, want, replicas, by string }{
	{"shard(nodes=4)", "1012232001132210130101110022212012333200", "67", "HASH"},
	{"shard(nodes=4,by=url)", "0113312312332323112213212001230112001011", "67", "URL"},
	{"shard(nodes=4,vnodes=5)", "3131122103301200232212322013202000033302", "5", "HASH"},
}

func TestShardIsThatOfVarnish(t *testing.T) {
	for _, c := range shardCalls {
		if got := placedKeys(t, c.call, len(c.want)); got != c.want {
			t.Errorf("%s: %s, want %s", c.call, got, c.want)
		}
	}
}

// TestShardOfVarnish asks a real Varnish which of its backends it takes.
func TestShardOfVarnish(t *testing.T) {
	programs.Wanted(t)
	for _, c := range shardCalls {
		origin := programs.NewOrigin(t)
		host, port, _ := strings.Cut(origin.Address, ":")
		rules := "import directors;\n"
		adds := ""
		for i := range 4 {
			rules += fmt.Sprintf("backend b%d { .host = \"%s\"; .port = \"%s\"; }\n", i, host, port)
			adds += fmt.Sprintf("s.add_backend(b%d);\n", i)
		}
		rules += "sub vcl_init { new s = directors.shard();\n" + adds + "s.reconfigure(" + c.replicas + "); }\n" +
			"sub vcl_backend_fetch { set bereq.backend = s.backend(by=" + c.by + "); }\n" +
			"sub vcl_backend_response { set beresp.http.X-Node = beresp.backend.name; }\n" +
			"sub vcl_recv { set req.backend_hint = b0; }\n"
		dir := t.TempDir()
		p := programs.Varnish(t, programs.Web{Dir: dir + "/server", Log: dir + "/log", Origin: origin.Address, Size: "64m",
			Rules: rules})
		client := programs.Dial(t, p.Port)
		var got strings.Builder
		const keys = 200
		for o := range dense.Object(keys) {
			host, url, _ := strings.Cut(sharded(o), "/")
			r := must.Get(client.HTTP("GET", "/"+url, "Host: "+host))(t)
			got.WriteString(strings.TrimPrefix(r.Header.Get("X-Node"), "b"))
		}
		if want := placedKeys(t, c.call, keys); got.String() != want {
			t.Errorf("%s:\n%s, Varnish has\n%s", c.call, want, got.String())
		}
	}
}

// TestWarmup: the next node on the ring serves that share of the requests.
func TestWarmup(t *testing.T) {
	p := must.Get(NewPlacement(must.Get(Registry.Parse("shard(nodes=4,warmup=0.2)"))(t), 1, sharded, 1))(t)
	p.Use(firstNodes(4))
	homes, others := p.Homes(0), 0
	for range 10_000 {
		if p.Pick(homes) == homes[1] {
			others++
		}
	}
	if others < 1850 || others > 2150 {
		t.Errorf("the next node serves %d of 10,000 requests, want a fifth", others)
	}
	p.Use([]uint16{2})
	if got := p.Homes(0); len(got) != 1 || got[0] != 2 {
		t.Errorf("of one node: %v", got)
	}
}
