package ofprompts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// needs are what a log is read with.
var needs = traces.Needs{Times: true, Clock: true, Keys: true, Kind: true}

func load(ctx context.Context, w workload.Workload) (*traces.Trace, error) {
	return w.Load(ctx, nil, traces.LoadOptions{Needs: needs})
}

// conversations is the workload that servers with faults have answered, at so many prompts per second.
func conversations(t *testing.T, rate string) *traces.Trace {
	t.Helper()
	w := workload.Workload{Generator: "llm(prompts=800,conversations=80,systems=4,shared=512,prompt-mean=1500," +
		"output-mean=150,gap-mean=70,gap-sd=200,rate=" + rate + ")"}
	return must.Get(load(t.Context(), w))(t)
}

// setup is how servers are set, and replayed.
func setup(w workload.Workload, units int64) Setup {
	s := Setup{Workload: w, Cell: sim.Cell{Capacity: capacity.Of(units, false)}}
	s.Cell.Cache, _ = cache.Registry.Parse("prefix")
	s.Cell.Policy = policies.Known("vllm")
	return s
}

// logOf writes a log with what a server found of each prompt of a trace, -1 for unknown.
func logOf(t *testing.T, tr *traces.Trace, found func(i int, tokens int64) int64) workload.Workload {
	t.Helper()
	tr = tr.Requested()
	p := prompts.Of(tr.Kind)
	var b strings.Builder
	for i := range tr.Groups {
		group, _ := tr.Group(i)
		fmt.Fprintf(&b, `{"model":"m%d","user":"u%d","timestamp":%d,"input_length":%d,"output_length":%d,"session_id":%d,`+
			`"block_size":%d`, i%2, p.Sessions[i]%5, p.Arrivals[i]/1e6, p.InputTokens[i], p.OutputTokens[i],
			p.Sessions[i], p.BlockTokens)
		if n := found(i, int64(p.InputTokens[i])); n >= 0 {
			fmt.Fprintf(&b, `,"cached_tokens":%d`, n)
		}
		fmt.Fprintf(&b, `,"hash_ids":%s}`+"\n", strings.ReplaceAll(fmt.Sprint(group), " ", ","))
	}
	path := filepath.Join(t.TempDir(), "log.jsonl")
	must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return workload.Workload{Files: []string{path}}
}

// find looks for what explains the difference between a server with faults and the settings as they are stated.
func find(t *testing.T, tr *traces.Trace, stated int64, change func(*Setup)) (audit.Finding, string) {
	t.Helper()
	server := setup(logOf(t, tr, func(int, int64) int64 { return -1 }), stated)
	change(&server)
	l := &Log{Load: load}
	seen := must.Get(l.replay(t.Context(), server))(t)
	return findIn(t, logOf(t, tr, func(i int, _ int64) int64 { return seen.hits[i] }), stated)
}

func findIn(t *testing.T, w workload.Workload, stated int64) (audit.Finding, string) {
	t.Helper()
	l := &Log{Load: load}
	s := setup(w, stated)
	tr := must.Get(l.trace(t.Context(), s))(t)
	must.Do(t, CheckLog(tr))
	f := must.Get(l.Find(t.Context(), s, tr, audit.Options{}))(t)
	return f, strings.Join(f.Sentences(audit.Words{Units: "tokens", Settings: "vllm"}), "\n")
}

// TestFaultsAreFound: the tool finds the fault that was put in, for each kind of cause.
func TestFaultsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		rate   string
		stated int64
		change func(*Setup)
	}{
		"share=models": {"0.1", 6000, func(s *Setup) { s.Workload.Format = "mooncake:share=models" }},
		"salt=user": {"0.1", 6000, func(s *Setup) {
			s.Workload.Tenants = "column(name=user,salt=true)"
		}},
		"answers=off":       {"0.1", 6000, func(s *Setup) { s.answers = prompts.AnswersOff }},
		"block=128":         {"0.1", 6000, func(s *Setup) { s.block = 128 }},
		"block=64":          {"0.1", 6000, func(s *Setup) { s.block = 64 }},
		"least=1024":        {"0.1", 6000, func(s *Setup) { s.least = 1024 }},
		"ttl=5m0s":          {"0.1", 6000, func(s *Setup) { s.ttl = 5 * time.Minute }},
		"ttl=1h0m0s":        {"0.01", 6000, func(s *Setup) { s.ttl = time.Hour }},
		"delay=30s":         {"0.1", 6000, func(s *Setup) { s.delay = 30 * time.Second }},
		"replicas=2":        {"0.1", 6000, func(s *Setup) { s.nodes = 2 }},
		"replicas=4":        {"0.1", 6000, func(s *Setup) { s.nodes = 4 }},
		"replicas=3,sticky": {"0.1", 3000, func(s *Setup) { s.nodes, s.sticky = 3, true }},
		"restarts":          {"0.1", 6000, func(s *Setup) { s.restarts = []int{300, 600} }},
		"capacity":          {"0.1", 6000, func(s *Setup) { *s = s.scaled(700) }},
		"sglang-lfu":        {"0.1", 1000, func(s *Setup) { s.Cell.Policy = policies.Known("sglang-lfu") }},
	} {
		t.Run(name, func(t *testing.T) {
			f, text := find(t, conversations(t, c.rate), c.stated, c.change)
			t.Log(text)
			if len(f.Steps) == 0 || f.Steps[0].Name != name || f.Last().Agreement() < 0.995 {
				t.Errorf("%+v", f.Steps)
				for _, c := range f.Alone {
					t.Logf("%s: %.4f %.4f %s", c.Name, c.Outcome.Agreement(), c.Outcome.Gap(), c.Failed)
				}
			}
		})
	}
}

// TestServersHaveTheirOwnOrder: each policy can be that of several servers and of one that restarts, where prompts have
// other positions than in the log.
func TestServersHaveTheirOwnOrder(t *testing.T) {
	tr := conversations(t, "0.1")
	w := logOf(t, tr, func(int, int64) int64 { return 0 })
	w.Limit = 200
	l := &Log{Load: load}
	for _, name := range []string{"lru", "fifo", "sieve", "lirs", "lfu", "lru-k", "random", "vllm", "sglang-lru"} {
		spec := policies.Known(name)
		for _, change := range []func(*Setup){
			func(s *Setup) { s.nodes = 3 },
			func(s *Setup) { s.nodes, s.sticky = 4, true },
			func(s *Setup) { s.restarts = []int{50, 150} },
			func(s *Setup) { s.nodes, s.restarts = 2, []int{70} },
		} {
			s := setup(w, 300)
			s.Cell.Policy = spec
			change(&s)
			if _, err := l.Replay(t.Context(), s); err != nil {
				t.Errorf("%s, %d servers: %v", name, s.nodes, err)
			}
		}
	}
	s := setup(w, 300)
	s.Cell.Policy = policies.Known("opt")
	s.nodes = 2
	if _, err := l.Replay(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not on which server") {
		t.Error(err)
	}
}

// TestTemplatesAreFound: a log of texts says how many tokens its prompts have, which only the right template explains.
func TestTemplatesAreFound(t *testing.T) {
	write := func(name string, usage func(i int) string) workload.Workload {
		var b strings.Builder
		for i := range 60 {
			var turns []string
			for turn := range i%6 + 1 {
				turns = append(turns, fmt.Sprintf(`{"role":"user","content":"%s%d"}`, strings.Repeat("word ", 20), i/6*9+turn))
			}
			fmt.Fprintf(&b, `{"model":"m","created":%d,"messages":[%s],"usage":{%s}}`+"\n", 1700000000+i,
				strings.Join(turns, ","), usage(i))
		}
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
		return workload.Workload{Files: []string{path}}
	}
	server := setup(write("a.jsonl", func(int) string { return "" }), 10000)
	server.Workload.Format = "openai:template=chatml"
	l := &Log{Load: load}
	seen := must.Get(l.replay(t.Context(), server))(t)
	f, text := findIn(t, write("b.jsonl", func(i int) string {
		return fmt.Sprintf(`"prompt_tokens":%d,"cached_tokens":%d`, seen.columns.InputTokens[i], seen.hits[i])
	}), 10000)
	if len(f.Steps) == 0 || f.Steps[0].Name != "template=chatml" {
		t.Errorf("%s\n%+v", text, f.Steps)
	}
}

// TestMooncake: of the Mooncake conversations, what a cache of any size without answers finds within 5 minutes, here by
// a map of blocks, is explained by that.
func TestMooncake(t *testing.T) {
	path := filepath.Join(os.Getenv(workload.Env), "llm", "mooncake-conversation.jsonl.zst")
	if _, err := os.Stat(path); err != nil || testing.Short() {
		t.Skipf("set %s to the folder of the traces", workload.Env)
	}
	tr := must.Get(load(t.Context(), workload.Workload{Files: []string{path}}))(t).Requested()
	p := prompts.Of(tr.Kind)
	last := map[uint32]int64{}
	var b strings.Builder
	for i := range tr.Groups {
		group, _ := tr.Group(i)
		now, found, open := p.Arrivals[i], int64(0), true
		for _, o := range group {
			before, known := last[o]
			if open = open && known && now-before <= int64(5*time.Minute); open {
				found += int64(p.BlockTokens)
			}
			last[o] = now
		}
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":%d,"output_length":%d,"cached_tokens":%d,"hash_ids":%s}`+"\n",
			now/1e6, p.InputTokens[i], p.OutputTokens[i], min(found, int64(p.InputTokens[i])),
			strings.ReplaceAll(fmt.Sprint(group), " ", ","))
	}
	log := filepath.Join(t.TempDir(), "log.jsonl")
	must.Do(t, os.WriteFile(log, []byte(b.String()), 0o600))
	s := setup(workload.Workload{Files: []string{log}}, 1<<20)
	s.Cell.Policy = policies.Known("lru")
	l := &Log{Load: load}
	f := must.Get(l.Find(t.Context(), s, must.Get(l.trace(t.Context(), s))(t), audit.Options{}))(t)
	text := strings.Join(f.Sentences(audit.Words{Units: "tokens", Settings: "lru"}), "\n")
	if want := "8.2 of the 8.8 points are explained by a time to live of 5 minutes since the last use, 0.6 by answers " +
		"that are not kept; 0.0 are not explained."; !strings.Contains(text, want) || f.Last().Agreement() < 0.9999 {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// TestFit: the capacity and the number of servers that wrote a log are among those that fit, and others are not.
func TestFit(t *testing.T) {
	tr := conversations(t, "0.1")
	for _, c := range []struct {
		servers int
		units   int64
	}{{1, 700}, {3, 1500}} {
		server := setup(logOf(t, tr, func(int, int64) int64 { return -1 }), c.units)
		server.nodes = c.servers
		l := &Log{Load: load}
		seen := must.Get(l.replay(t.Context(), server))(t)
		w := logOf(t, tr, func(i int, _ int64) int64 { return seen.hits[i] })
		fit := must.Get(l.Fit(t.Context(), setup(w, 1), must.Get(load(t.Context(), w))(t), 0))(t)
		f := fit.Best()
		if f.Servers != c.servers || f.Units > c.units*11/10 || f.Units < c.units*9/10 || f.Least > c.units ||
			f.Most < c.units || f.Most > c.units*3/2 || f.Agreement < 0.99 || !fit.Explains() {
			t.Errorf("%s; want %+v", fit.Sentence(), c)
		}
		for _, other := range fit.Rows {
			if other.Servers != c.servers && other.Fits {
				t.Errorf("%d servers fit, too: %+v", other.Servers, other.Outcome)
			}
		}
	}
}

// TestFewPromptsFitNothing: of a few prompts no interval is known, and servers on which nothing hits do not fit.
func TestFewPromptsFitNothing(t *testing.T) {
	w := logOf(t, conversations(t, "0.1"), func(int, int64) int64 { return 300 })
	w.Limit = 20
	tr := must.Get(load(t.Context(), w))(t)
	fit := must.Get((&Log{Load: load}).Fit(t.Context(), setup(w, 1), tr, 0))(t)
	if fit.Prompts >= leastPrompts {
		t.Errorf("%d prompts: %s", fit.Prompts, fit.Sentence())
	}
	for _, r := range fit.Rows {
		if r.Fits || r.Interval != "too few prompts for an interval" {
			t.Errorf("%+v", r)
		}
	}
}

// TestFarReplaysDoNotFit: with many prompts, too, a server fits only if its replay is near what was measured.
func TestFarReplaysDoNotFit(t *testing.T) {
	for measured, want := range map[int64]bool{660: false, 40: true} {
		f := Fitted{}
		f.Outcome.Add(1000, measured, 0)
		if f.isNear() != want {
			t.Errorf("%d of 1,000 tokens against 0: near is %v", measured, !want)
		}
	}
}

// TestCompare holds a replay beside a log of which some prompts say nothing, by hand.
func TestCompare(t *testing.T) {
	tr := conversations(t, "0.1")
	w := logOf(t, tr, func(i int, tokens int64) int64 { return []int64{-1, 0, tokens}[min(i, 2)] })
	w.Limit = 400
	read := must.Get(load(t.Context(), w))(t)
	b, ok, err := Compare(t.Context(), read, setup(w, 1<<20).Cell, 0, false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	first := int64(prompts.Of(read.Kind).InputTokens[2])
	if b.Parted[0].Measured != b.Parted[0].Tokens || b.Outcome.Items != len(read.Groups)-1 || first == 0 {
		t.Errorf("%+v, %d prompts of %d", b.Parted[0], b.Outcome.Items, len(read.Groups))
	}
	if want := "at 1,048,576 blocks with vllm, "; !strings.Contains(b.Sentence(), want) {
		t.Errorf("%q, want %q", b.Sentence(), want)
	}
}

// TestResultsDoNotDependOnJobs: what is found is the same with one job and with eight.
func TestResultsDoNotDependOnJobs(t *testing.T) {
	tr := conversations(t, "0.1")
	server := setup(logOf(t, tr, func(int, int64) int64 { return -1 }), 700)
	server.nodes = 2
	l := &Log{Load: load}
	seen := must.Get(l.replay(t.Context(), server))(t)
	w := logOf(t, tr, func(i int, _ int64) int64 { return seen.hits[i] })
	read := must.Get(load(t.Context(), w))(t)
	var before string
	for _, jobs := range []int{1, 8} {
		l := &Log{Load: load}
		f := must.Get(l.Find(t.Context(), setup(w, 3000), read, audit.Options{Jobs: jobs}))(t)
		fit := must.Get(l.Fit(t.Context(), setup(w, 1), read, jobs))(t)
		got := fmt.Sprintf("%+v\n%+v", f, fit)
		if before != "" && got != before {
			t.Errorf("%d jobs: %s\nand with one %s", jobs, got, before)
		}
		before = got
	}
}

// TestNothingExplainsNoise: prompts that hit at random are explained by nothing.
func TestNothingExplainsNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := logOf(t, conversations(t, "0.1"), func(_ int, tokens int64) int64 { return r.Int64N(tokens + 1) })
	f, text := findIn(t, w, 6000)
	if len(f.Steps) > 0 || !strings.Contains(text, "Nothing that was tried explains the rest") {
		t.Errorf("%s\n%+v", text, f.Steps)
	}
	fit := must.Get((&Log{Load: load}).Fit(t.Context(), setup(w, 1), must.Get(load(t.Context(), w))(t), 0))(t)
	if got := fit.Sentence(); fit.Explains() || !strings.HasPrefix(got, "No capacity explains") {
		t.Error(got)
	}
}
