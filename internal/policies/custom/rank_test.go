package custom_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// replay returns the counts of a policy in a cache of a capacity.
func replay(t *testing.T, spec string, tr *traces.Trace, capacity int64, bytes bool) (n cache.Counts) {
	t.Helper()
	parsed := must.Get(policies.Registry.Parse(spec))(t)
	config := policytest.ConfigOf(t, parsed.Entry, tr, capacity, !bytes)
	config.Params, config.Seed = parsed.Params, 7
	if policies.Can[policies.PredictorUser](parsed.Entry) {
		config.Predictor = policytest.Predictor(t, "oracle", tr, capacity, 1)
	}
	c := cache.NewExact(must.Get(parsed.Entry.New(config))(t), capacity, tr.NumObjects)
	c.Serve(cache.WindowOf(tr, 0, len(tr.Objects), bytes, make([]int64, len(tr.Objects))), &n)
	return n
}

// example is a policy as one line, and whether they are equal by objects and by bytes.
type example struct {
	rank, policy   string
	objects, bytes bool
}

// One line says what these policies do, to the request.
var equals = []example{
	{`rank`, "lru", true, true},
	{`rank(evict=last)`, "lru", true, true},
	{`rank(evict=now,when=requested)`, "lru", true, true},
	{`rank(evict="-(now - last)",sample=0)`, "lru", true, true},
	{`rank(evict=-last)`, "mru", true, true},
	{`rank(evict=loaded)`, "fifo", true, true},
	{`rank(evict=hits)`, "lfu", true, true},
	{`rank(evict=requests)`, "lfu", true, true},
	{`rank(evict="victim + requests")`, "lfu-da", true, false},
	{`rank(evict="victim + requests * 1e6 / size")`, "gdsf(rule=2024)", true, true},
	{`rank(evict="victim + requests * (1e6 * (2 + size / 536)) / size")`, "gdsf(cost=packets,rule=2024)", false, true},
	{`rank(evict="requests / max(now - loaded, 1) / size",ties=loaded)`, "hyperbolic(leeway=1)", true, true},
	{`rank(evict="let age = max(now - loaded, 1); requests / age",sample=8,ties=loaded)`,
		"hyperbolic(leeway=1,samples=8)", true, false},
	{`rank(evict="last - gap(1)")`, "lru-k(k=2,history=1000)", true, false},
	{`rank(evict=-next,sample=0)`, "opt", true, false},
}

// The page about rank has no other examples than those that are tested.
func TestPageHasTestedExamples(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../../docs/policies-own.md"))(t))
	found := 0
	row := regexp.MustCompile("(?m)^\\| `(rank\\(.*?\\))` \\| ([a-z-]+(?:\\(.*\\))?)")
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		found++
		if !slices.ContainsFunc(equals, func(e example) bool { return e.rank == m[1] && e.policy == m[2] }) {
			t.Errorf("%s is said to be %s, which no test shows", m[1], m[2])
		}
	}
	if found != 9 {
		t.Errorf("found %d examples, want 9", found)
	}
}

func TestExamplesEqualPolicies(t *testing.T) {
	for _, e := range equals {
		for _, bytes := range []bool{false, true} {
			if bytes && !e.bytes || !bytes && !e.objects {
				continue
			}
			t.Run(fmt.Sprintf("%s,bytes=%v", e.rank, bytes), func(t *testing.T) {
				for seed := range uint64(5) {
					tr := policytest.Trace(seed, 4000, 400)
					for _, capacity := range []int64{1, 7, 60, 300, 2000} {
						got, want := replay(t, e.rank, tr, capacity, bytes), replay(t, e.policy, tr, capacity, bytes)
						if got != want {
							t.Errorf("seed %d, capacity %d: %+v, %s has %+v", seed, capacity, got, e.policy, want)
						}
					}
				}
			})
		}
	}
}

// naive is a twin that knows what the paper of a formula says about each object.
func naive(rank func(s *policytest.NaiveObject, now int) float64) func(capacity int64) *policytest.Naive {
	return func(capacity int64) *policytest.Naive {
		c := policytest.NewNaive(capacity)
		c.Rank = rank
		return c
	}
}

func TestRankEqualsNaive(t *testing.T) {
	for spec, rank := range map[string]func(s *policytest.NaiveObject, now int) float64{
		`rank(evict="(now - loaded) % 7 - size")`: func(s *policytest.NaiveObject, now int) float64 {
			return float64((now-s.Loaded)%7) - float64(s.Size)
		},
		`rank(evict="requests > 2 ? last : 0",when=evicting)`: func(s *policytest.NaiveObject, _ int) float64 {
			if s.Requests > 2 {
				return float64(s.Last)
			}
			return 0
		},
		`rank(evict="total - hits")`: func(s *policytest.NaiveObject, _ int) float64 { return float64(s.Past + 1) },
	} {
		t.Run(spec, func(t *testing.T) { policytest.CheckAgainstNaive(t, spec, naive(rank)) })
	}
}

// An admission sees the object as if it had just been loaded, also what is remembered of its time before.
func TestAdmit(t *testing.T) {
	d := policytest.Drive(t, `rank(admit="total > 1")`, policies.Config{Capacity: 10, Unit: true, Objects: 3, Requests: 9})
	admitter := d.Policy.(policies.Admitter)
	for i, want := range []bool{false, true} {
		r := policies.Request{Object: 1, Pos: i, Size: 1}
		d.Policy.Miss(r)
		if got := admitter.Admit(r); got != want {
			t.Errorf("request %d is admitted: %t", i, got)
		}
	}
	d.Policy.Insert(policies.Request{Object: 1, Pos: 1, Size: 1})
	// 0 is requested twice, evicted by 1 five requests after its load, and requested again: what is remembered says so.
	// 2 is not remembered, and is refused.
	d = policytest.Drive(t, `rank(admit="ghost and ghost_requests == 2 and ghost_age == 5 or total == 1 and now != 2")`,
		policies.Config{Capacity: 1, Unit: true, Objects: 3, Requests: 9})
	admitted := []bool{true, true, false, false, false, true, true} // a hit counts as admitted
	for i, o := range []policies.Object{0, 0, 2, 2, 2, 1, 0} {
		r := policies.Request{Object: o, Pos: i, Size: 1}
		if d.Stored[o] != 0 {
			d.Policy.Hit(r)
			continue
		}
		d.Policy.Miss(r)
		if got := d.Policy.(policies.Admitter).Admit(r); got != admitted[i] {
			t.Errorf("request %d to %d is admitted: %t, want %t", i, o, got, admitted[i])
		} else if !got {
			continue
		}
		if d.Used() == 1 {
			d.Drop(d.Policy.Victim(r))
		}
		d.Policy.Insert(r)
		d.Add(o, 1)
	}
	if d.Stored[0] == 0 {
		t.Error("0 is not resident at the end")
	}
}

// What is dropped is no resident any more, at once.
func TestResidentsAfterADrop(t *testing.T) {
	d := policytest.Drive(t, `rank(admit="residents < 3")`,
		policies.Config{Capacity: 9, Unit: true, Objects: 5, Requests: 9})
	for i := range 3 {
		r := policies.Request{Object: policies.Object(i), Pos: i, Size: 1}
		d.Policy.Miss(r)
		d.Policy.Insert(r)
		d.Add(r.Object, 1)
	}
	r := policies.Request{Object: 3, Pos: 3, Size: 1}
	d.Policy.Miss(r)
	if d.Policy.(policies.Admitter).Admit(r) {
		t.Error("a fourth object is admitted")
	}
	d.Policy.Remove(1)
	d.Drop(1)
	d.Policy.Miss(r)
	if !d.Policy.(policies.Admitter).Admit(r) {
		t.Error("a third object is refused")
	}
}

// What is no number admits nothing, and is no rank.
func TestAdmissionsThatAreNoNumbers(t *testing.T) {
	d := policytest.Drive(t, `rank(admit="hits / hits")`,
		policies.Config{Capacity: 9, Unit: true, Objects: 5, Requests: 9})
	r := policies.Request{Object: 3, Pos: 0, Size: 1}
	d.Policy.Miss(r)
	if d.Policy.(policies.Admitter).Admit(r) {
		t.Error("0/0 admits an object")
	}
	if remark := d.Policy.(policies.Remarker).Remark(); remark != "" {
		t.Error(remark)
	}
}

func TestQuantile(t *testing.T) {
	// The residents have 1, 2 and 3 requests when 3 is loaded. Above the median is 2 alone.
	d := policytest.Drive(t, `rank(evict="requests > quantile(requests, 0.5) ? 0 : 1")`,
		policies.Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	if got := d.ServeAll(0, 1, 1, 2, 2, 2, 3); len(got) != 1 || got[0] != 2 {
		t.Errorf("victims %v, want 2", got)
	}
}

// A replay allocates what grows with the objects, and nothing for each request.
func TestRequestsAllocateNothing(t *testing.T) {
	for _, spec := range []string{"rank", `rank(evict="hits / (now - last)",admit="total > 1")`,
		`rank(evict="gap(1) < quantile(now - last, 0.5) ? 1 : 2",when=requested)`} {
		d := policytest.Drive(t, spec, policies.Config{Capacity: 50, Unit: true, Objects: 100, Requests: 1e6})
		at := 0
		serve := func() {
			o := policies.Object(at * 37 % 100)
			r := policies.Request{Object: o, Pos: at, Size: 1}
			at++
			if d.Stored[o] != 0 {
				d.Policy.Hit(r)
				return
			}
			d.Policy.Miss(r)
			if a, ok := d.Policy.(policies.Admitter); ok && !a.Admit(r) {
				return
			}
			if d.Used() == 50 {
				d.Drop(d.Policy.Victim(r))
			}
			d.Policy.Insert(r)
			d.Add(o, 1)
		}
		for range 1000 {
			serve()
		}
		if n := testing.AllocsPerRun(1000, serve); n > 0 {
			t.Errorf("%s: %v allocations for a request", spec, n)
		}
	}
}

func TestNoNumbersLeaveFirst(t *testing.T) {
	d := policytest.Drive(t, `rank(evict="hits / hits")`,
		policies.Config{Capacity: 2, Unit: true, Objects: 5, Requests: 8})
	if got := d.ServeAll(0, 0, 1, 2); len(got) != 1 || got[0] != 1 {
		t.Errorf("victims %v, want 1", got)
	}
	if remark := d.Policy.(policies.Remarker).Remark(); !strings.Contains(remark, "3 of 4 ranks are no numbers") {
		t.Errorf("remark %q", remark)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range [][2]string{
		{`rank(evict="hitz / size")`, `unknown name "hitz"`},
		{`rank(evict="hits /")`, "column 6"},
		{`rank(evict="1 + 2")`, "the same for all objects"},
		{`rank(evict="cost / size")`, "traces do not say what a miss costs"},
		{`rank(evict="gap(0)")`, "gap wants one whole number from 1 to 32, at column 1"},
		{`rank(evict="gap(k)")`, "gap wants one whole number"},
		{`rank(evict="quantile(size, 2)")`, "a share from 0 to 1"},
		{`rank(evict="quantile(quantile(size, 0.1), 1)")`, "cannot be within"},
		{`rank(evict="'a'")`, "want a number, a name or (, found a"},
		{`rank(evict="size in [1]")`, "gives no number"},
		{`rank(evict="pow(size)")`, "pow wants 2 numbers, not 1"},
		{`rank(evict="min()")`, "min wants at least one number, not 0"},
		{`rank(evict="now()")`, "write it without parentheses"},
		{`rank(evict="last",sample=3)`, "sample=3 has no effect"},
		{`rank(evict="last",ghosts=3)`, "ghosts=3 has no effect"},
		{`rank(evict="next",when=requested)`, "next changes between requests"},
		{`rank(admit="next > 3")`, "admit cannot use next"},
		{`rank(evict="` + strings.Repeat("-", 20000) + `last")`, "want at most 10000"},
		{`rank(file=` + filepath.Join(dir, "absent") + `)`, "absent"},
		{`rank(file=` + file("a", "// mine\nhits +\n  hitz\n") + `)`, `a: evict: unknown name "hitz"`},
		{`rank(file=` + file("b", "hits\nadmit: sise > 3\n") + `)`, "line 2, column 8"},
		{`rank(file=` + file("c", strings.Repeat(" ", 30000)) + `)`, "is longer than"},
		{`rank(evict=hits,file=` + file("d", "hits") + `)`, "leave out evict and admit"},
		{`rank(file=` + file("e", "") + `)`, "want a number, a name or ("},
		{`rank(evict="` + strings.Repeat("(", 4000) + strings.Repeat(")", 4000) + `")`, "want a number, a name or ("},
	} {
		spec, want := c[0], c[1]
		_, err := policies.Registry.Parse(spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", spec, err, want)
		}
	}
	text := "// what stays\nlet age = now - loaded;\nhits / age // a request\nadmit: size < 9"
	for _, text := range []string{"\ufeffhits\r\nadmit: size < 9\r\n", "hits\n  admit : size < 9"} {
		s := must.Get(policies.Registry.Parse(`rank(file=` + file("written elsewhere", text) + `)`))(t)
		if !policies.Can[policies.Admitter](s.Entry) {
			t.Errorf("%q admits everything", text)
		}
	}
	good := `rank(file=` + file("good", text) + `)`
	s := must.Get(policies.Registry.Parse(good))(t)
	if !s.Entry.Bypass || !s.Entry.Random || !policies.Can[policies.Admitter](s.Entry) {
		t.Errorf("%+v admits everything, or is not random", s.Entry.Type)
	}
}
