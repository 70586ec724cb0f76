package sim_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/bylabel"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// labelled is a request of a log with callers.
type labelled struct {
	key, caller string
	size        int64
	write       bool
}

func drawLabelled(t *rapid.T, callers int) (all []labelled) {
	count := rapid.IntRange(1, 80).Draw(t, "count")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) labelled {
		key := rapid.IntRange(0, 7).Draw(t, "key")
		return labelled{key: fmt.Sprint("k", key), caller: fmt.Sprint("c", rapid.IntRange(1, callers).Draw(t, "caller")),
			size: int64(key % 4), write: rapid.IntRange(0, 9).Draw(t, "op") == 0}
	}), count, count).Draw(t, "rows")
}

func textOf(rows []labelled) string {
	text := "key,size,caller,op\n"
	for _, r := range rows {
		op := "get"
		if r.write {
			op = "set"
		}
		text += fmt.Sprintf("%s,%d,%s,%s\n", r.key, r.size, r.caller, op)
	}
	return text
}

// hitsByCaller is LRU on a list of keys, with the requests and hits of reads of each caller.
func hitsByCaller(rows []labelled, size int64, bytes bool, warmup int) (requests, hits map[string]int64) {
	requests, hits = map[string]int64{}, map[string]int64{}
	var held []labelled
	used := int64(0)
	pos := 0
	for _, r := range rows {
		charge := int64(1)
		if bytes {
			if r.size == 0 {
				continue
			}
			charge = r.size
		}
		i := slices.IndexFunc(held, func(h labelled) bool { return h.key == r.key })
		if i >= 0 {
			held = slices.Delete(held, i, i+1)
			used -= charge
		}
		for ; used+charge > size && charge <= size; held = held[:len(held)-1] {
			last := int64(1)
			if bytes {
				last = held[len(held)-1].size
			}
			used -= last
		}
		if charge <= size {
			held = slices.Insert(held, 0, r)
			used += charge
		}
		if pos++; pos > warmup && !r.write {
			requests[r.caller]++
			if i >= 0 {
				hits[r.caller]++
			}
		}
	}
	return requests, hits
}

func loadLabelled(t testing.TB, text, by string, s read.Selection) *traces.Trace {
	t.Helper()
	s.By, s.Writes = by, "fill"
	return tracetest.MustLoadText(t, text, read.Options{Selection: s, Needs: traces.Needs{Sizes: true}})
}

// Hits by label are those of a list, and add up to all hits, with and without a warm-up.
func TestHitsByLabelEqualAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawLabelled(rt, 4)
		rows = append(rows, labelled{"k1", "c1", 1, false}, labelled{"k2", "c2", 2, false})
		bytes := rapid.Bool().Draw(rt, "bytes")
		size := rapid.Int64Range(3, 9).Draw(rt, "capacity")
		warmup := rapid.IntRange(0, 1).Draw(rt, "warm-up")
		tr := loadLabelled(t, textOf(rows), "caller", read.Selection{})
		at := capacity.Capacity{Amount: size, Simulated: size, Bytes: bytes}
		options := simtest.Options{Policies: "lru", Capacities: []capacity.Capacity{at}, Warmup: warmup, OnePass: true}
		rec := must.Get(simtest.TryRun(t.Context(), tr, options))(rt)[0]
		requests, hits := hitsByCaller(rows, size, bytes, warmupOf(rows, warmup, bytes))
		var all, hit int64
		for caller, n := range requests {
			if got := rec.Int(labelOf("label_requests", caller)); got != n {
				rt.Fatalf("%s: %d requests, want %d", caller, got, n)
			}
			if got := rec.Int(labelOf("label_hits", caller)); got != hits[caller] {
				rt.Fatalf("%s: %d hits, want %d", caller, got, hits[caller])
			}
			all, hit = all+n, hit+hits[caller]
		}
		if all != rec.Int(metric.Requests) || hit != rec.Int(metric.Hits) {
			rt.Fatalf("labels add up to %d of %d, all are %d of %d", hit, all, rec.Int(metric.Hits), rec.Int(metric.Requests))
		}
	})
}

// warmupOf returns how many requests of those that are replayed a warm-up of the first rows has.
func warmupOf(rows []labelled, warmup int, bytes bool) (n int) {
	for _, r := range rows[:warmup] {
		if !bytes || r.size > 0 {
			n++
		}
	}
	return n
}

// labelOf is the metric of a label.
func labelOf(name, label string) metric.Metric {
	m, _ := metric.Lookup(name)
	m.Name = m.Of(label)
	return m
}

// sums returns what the labels of a record add up to.
func sums(rec records.Record, name string) (sum float64) {
	for n := range rec.Names() {
		if strings.HasPrefix(n, name+"[") {
			x, _ := rec.Get(n)
			sum += x
		}
	}
	return sum
}

// In every cache that can serve plain objects the labels add up to the whole, and the whole is as without labels.
func TestLabelsAddUp(t *testing.T) {
	text := "time,key,size,path\n"
	for i := range 3000 {
		key := i * i % 97 % (1 + i%41)
		text += fmt.Sprintf("%d,%d,%d,p%d\n", i, key, 10+key, i*7%31)
	}
	load := func(by string) *traces.Trace {
		return tracetest.MustLoadText(t, text, read.Options{Selection: read.Selection{By: by},
			Needs: traces.Needs{Sizes: true, Times: true}})
	}
	plain, tr := load(""), load("path")
	if len(tr.Labels.Names) != traces.MostLabels+1 || tr.Labels.Names[traces.MostLabels] != bylabel.Others {
		t.Fatalf("labels are %q", tr.Labels.Names)
	}
	said := func(w string) bool { return strings.Contains(w, "path has 31 values: the 20") }
	if !slices.ContainsFunc(tr.Warnings, said) {
		t.Errorf("not said: %q", tr.Warnings)
	}
	for _, parts := range [][]string{nil, {"cache=tiers(flash=4x)"}, {"prefetcher=mithril"},
		{"cache=sets(ways=4)"}} {
		for _, at := range []capacity.Capacity{{Amount: 16, Simulated: 16}, {Amount: 600, Simulated: 600, Bytes: true}} {
			if at.Bytes && len(parts) > 0 && strings.HasPrefix(parts[0], "cache=sets") {
				continue
			}
			options := simtest.Options{Policies: "lru,sieve,w-tinylfu,opt", Capacities: []capacity.Capacity{at}, Parts: parts,
				Warmup: 500}
			if at.Bytes || len(parts) > 0 {
				options.Policies = "lru"
			}
			without := simtest.Run(t, plain, options)
			for i, rec := range simtest.Run(t, tr, options) {
				if rec.Int(metric.Hits) != without[i].Int(metric.Hits) ||
					rec.Int(metric.Evictions) != without[i].Int(metric.Evictions) {
					t.Errorf("%v, %s: %d hits with labels, %d without", parts, rec.Label, rec.Int(metric.Hits),
						without[i].Int(metric.Hits))
				}
				for label, of := range map[string]metric.Metric{"label_requests": metric.Requests, "label_hits": metric.Hits,
					"label_misses": metric.Misses, "label_bytes": metric.RequestedBytes, "label_hit_bytes": metric.HitBytes} {
					if all, ok := rec.Get(of.Name); ok && math.Abs(sums(rec, label)-all) > 0.5 {
						t.Errorf("%v, %s, in bytes %v: %s add up to %v, %s is %v", parts, rec.Label, at.Bytes, label,
							sums(rec, label), of.Name, all)
					}
				}
			}
		}
	}
}

// What cannot count hits by labels says so.
func TestLabelsRefused(t *testing.T) {
	tr := tracetest.MustLoadText(t, "time,key,who\n1,a,x\n2,a,y\n", read.Options{
		Selection: read.Selection{By: "who"}, Needs: traces.Needs{Times: true}})
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	must.Fail(t, r.Check(simtest.Cell(t, "lru", simtest.Objects(1)[0], "model=storage")), "--by who: the model storage")
	for text, want := range map[string]string{
		"a\nb\na\n":            "has no named columns to count hits by",
		"time,key\n1,a\n2,b\n": `"whom"`,
	} {
		_, err := tracetest.LoadText(t, text, read.Options{Selection: read.Selection{By: "whom"}})
		must.Fail(t, err, want, text)
	}
	_, err := tracetest.LoadText(t, "key,who\na,x\n", read.Options{
		Selection: read.Selection{By: "who", Tenants: "column(name=who)"}})
	must.Fail(t, err, "give --by or --tenant, not both")
}

// Labels of access logs, of Redis and of prompts.
func TestLabelsOfFormats(t *testing.T) {
	const access = `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a/x.png?q=1 HTTP/1.1" 200 10
10.0.0.2 - - [10/Oct/2000:13:55:37 -0700] "GET /b HTTP/1.1" 404 10
10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "GET /a/x.png HTTP/1.1" 200 10
`
	for _, test := range []struct{ text, by, want string }{
		{access, "client", "10.0.0.1 10.0.0.2"}, {access, "status", "200 404"}, {access, "path", "/a/x.png /b"},
		{access, "directory", "/a /"}, {access, "method", "GET"},
		{monitored("1 GET a", "2 HGETALL a", "3 GET b"), "command", "get hgetall"},
		{`{"key":"a","u":{"n":"x"}}` + "\n" + `{"key":"b","u":{"n":"y"}}` + "\n", ".u.n", "x y"},
	} {
		tr := tracetest.MustLoadText(t, test.text, read.Options{Selection: read.Selection{By: test.by}})
		if got := strings.Join(tr.Labels.Names, " "); got != test.want {
			t.Errorf("by %s: %s, want %s", test.by, got, test.want)
		}
	}
}

// Series have the hit ratio of each label in each window.
func TestSeriesByLabel(t *testing.T) {
	tr := tracetest.MustLoadText(t, "key,who\na,x\na,y\nb,x\na,x\nb,y\nc,y\n", read.Options{
		Selection: read.Selection{By: "who"}})
	c := simtest.Cell(t, "lru", simtest.Objects(10)[0])
	c.Series.Requests = 3
	result := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(), c))(t)
	var got []string
	for _, row := range result.Series {
		if row.Name == metric.HitRatio.Name && row.Label != "" {
			got = append(got, fmt.Sprintf("%v %s %v", row.Time, row.Label, row.Value))
		}
	}
	if want := []string{"3 x 0", "3 y 1", "6 x 1", "6 y 0.5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
