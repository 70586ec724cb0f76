package commands

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
)

// racedCache is a replay of a small trace in a cache.
type racedCache struct {
	kind     string // of cache
	cache    string // with parameters; default: kind
	trace    string // a generator, or files below testdata/logs
	capacity string // "" if the cache has its own, and so no curve
	policies string
	model    string   // of time, which curve does not have
	run      []string // further flags of run
}

// racedSizes is a trace with sizes, for servers, which count bytes.
const racedSizes = "zipf(objects=2000,requests=6000,size=lognormal)"

// raced has every kind of cache. Servers are named as policies, beside others.
var raced = []racedCache{
	{kind: "exact", trace: "zipf(objects=200,requests=3000)", capacity: "10,50", policies: "lru,s3fifo,arc,opt"},
	{kind: "exact", trace: "zipf-drift(objects=200,requests=3000)", capacity: "10,50", policies: "lru,arc",
		run: []string{"--policy", "lru,laru", "--predictor", "noisy(p=0.3)", "--prefetch", "none,next"}},
	{kind: "exact", trace: "zipf(objects=200,requests=3000)", capacity: "10,50", policies: "lru,arc,opt",
		run: []string{"--nodes", "3", "--route", "ring,round-robin(behind=2),replicas"}},
	{kind: "sets", trace: "dlrm(rows=500,requests=4000)", capacity: "64,128", policies: "lru,lfu", model: "sls"},
	{kind: "prefix", trace: "llm(prompts=60)", capacity: "200,800", policies: "lru,s3fifo,vllm",
		model: "prefill(model=qwen3-8b)"},
	{kind: "prefix", trace: "llm(prompts=60)", capacity: "200,800", policies: "lru,sglang-lru",
		run: []string{"--nodes", "3", "--route", "round-robin,prefix-aware"}},
	{kind: "semantic", trace: "dialogue(topics=20,requests=1000,dim=64,capacity=100)", capacity: "10,50",
		policies: "lru,rac"},
	{kind: "igtcache", trace: "cluster(jobs=9+13,scale=0.002)", capacity: "10%,30%",
		policies: "lru,arc", model: "storage"},
	{kind: "tiers", cache: "tiers(flash=4x)", trace: "zipf(objects=200,requests=3000)", capacity: "10,20",
		policies: "lru,s3fifo"},
	{kind: "tiers", cache: "tiers(host=4x)", trace: "llm(prompts=60)", capacity: "200,800", policies: "lru,s3fifo"},
	{kind: "attention", trace: "attention(layers=2,query-heads=4,kv-heads=2,head-dim=16,context=200,steps=8)",
		capacity: "20%,40%", policies: "lru,lfu", model: "decode(model=llama3-8b)"},
	{kind: "redis", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "redis(rate=1000),lru"},
	{kind: "valkey", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "valkey(rate=1000),arc"},
	{kind: "memcached", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "memcached,lru"},
	{kind: "varnish", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "varnish(rate=1000),lru"},
	{kind: "nginx", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "nginx(rate=1000),lru"},
	{kind: "squid", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "squid(rate=1000),lru"},
	{kind: "trafficserver", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "trafficserver,fifo"},
	{kind: "rocksdb", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "rocksdb,lru"},
	{kind: "postgresql", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "postgresql,clock"},
	{kind: "innodb", cache: "exact", trace: racedSizes, capacity: "1MiB,2MiB", policies: "innodb(rate=1000),lru"},
	{kind: "pools", trace: "recommender(epochs=2,users=300,requests=2000)", policies: "lru,s3fifo", model: "recommender"},
}

// TestEveryCacheOnSeveralGoroutines has run, curve and sweep replay in every kind of cache, with more jobs than cores:
// `make race` looks for races, and without it the results must be those of one job.
func TestEveryCacheOnSeveralGoroutines(t *testing.T) {
	for _, e := range cache.Registry.All() {
		if !slices.ContainsFunc(raced, func(r racedCache) bool { return r.kind == e.Name }) {
			t.Errorf("the cache %s is not replayed on several goroutines; add it to the list", e.Name)
		}
	}
	for _, r := range raced {
		if r.cache == "" {
			r.cache = r.kind
		}
		t.Run(strings.Join(append([]string{r.cache, r.trace}, r.run...), " "), func(t *testing.T) {
			arguments := []string{r.trace, "--cache", r.cache, "--policy", r.policies, "--quiet"}
			if r.capacity != "" {
				arguments = append(arguments, "--capacity", r.capacity)
			}
			finish := func(arguments ...string) { // with 0
				var out, errors bytes.Buffer
				if code := run(arguments, nil, &out, &errors); code != exitFine {
					t.Errorf("%q ends with %d: %s", arguments, code, &errors)
				}
			}
			if r.capacity != "" {
				finish(append([]string{"curve", "--jobs", "8", "--points", "0"}, arguments...)...)
			}
			experiment := fmt.Sprintf("name: race\ntitle: race\nsource: none\ntraces: [{name: small, generate: %q}]\n"+
				"caches: [%q]\npolicies: [%s]\nseeds: 2\n", r.trace, r.cache, r.policies)
			if r.capacity != "" {
				experiment += fmt.Sprintf("capacities: [%s]\n", r.capacity)
			}
			if r.model != "" {
				experiment += fmt.Sprintf("models: [%s]\n", r.model)
				arguments = append(arguments, "--model", r.model)
			}
			folder := t.TempDir()
			file := filepath.Join(folder, "race.yaml")
			must.Do(t, os.WriteFile(file, []byte(experiment), 0o644))
			finish("sweep", file, "--jobs", "8", "--quiet", "-o", filepath.Join(folder, "out"))
			sameWithEightJobs(t, append(append([]string{"run"}, arguments...), r.run...)...)
		})
	}
}

// Policies of a user, a module and where Python is installed a program, have the records of the same policy of the
// program in every kind of cache.
func TestOwnPoliciesInEveryCache(t *testing.T) {
	own := []string{"wasm(file=../../examples/wasm/lru.wasm)"}
	t.Run("Python", func(t *testing.T) {
		python := interpreter.Python(t, "struct,shlex")
		own = append(own, fmt.Sprintf(`exec(command="'%s' ../../examples/exec/lru.py")`, python))
	})
	// How often a victim had to be a later block. The program's own knows which ones may be evicted.
	inner := regexp.MustCompile(" inner_victims=[0-9]+")
	for _, r := range raced {
		if r.cache == "exact" || slices.Contains(r.run, "--predictor") {
			continue // a server, or of other policies
		}
		arguments := append([]string{"run", r.trace, "--cache", cmp.Or(r.cache, r.kind), "--quiet"}, r.run...)
		if r.capacity != "" {
			arguments = append(arguments, "--capacity", r.capacity)
		}
		if r.model != "" {
			arguments = append(arguments, "--model", r.model)
		}
		t.Run(strings.Join(arguments[1:], " "), func(t *testing.T) {
			arguments := append(arguments, "--policy")
			want := linesOf(runForRecords(t, append(arguments, "lru")))
			for _, policy := range own {
				records := runForRecords(t, append(arguments, policy))
				for i := range records {
					records[i].Label = "lru"
				}
				if got := inner.ReplaceAll(linesOf(records), nil); !bytes.Equal(got, want) {
					t.Errorf("%s:\n%swant\n%s", policy, got, want)
				}
			}
		})
	}
}

func sameWithEightJobs(t *testing.T, arguments ...string) {
	t.Helper()
	one := linesOf(runForRecords(t, append(arguments, "--jobs", "1")))
	if eight := linesOf(runForRecords(t, append(arguments, "--jobs", "8"))); !bytes.Equal(one, eight) {
		t.Errorf("with one job:\n%swith eight:\n%s", one, eight)
	}
}

// TestFilesOnSeveralGoroutines is the same for traces in several files: one after another, and each by itself.
func TestFilesOnSeveralGoroutines(t *testing.T) {
	folder := t.TempDir()
	for i := range 8 {
		var text strings.Builder
		for k := range 400 {
			fmt.Fprintf(&text, "%d,%d\n", 400*i+k, k*k%(50+i))
		}
		must.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.csv", i)), []byte(text.String()), 0o644))
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "*.csv")))(t)
	common := []string{"run", "--policy", "lru,s3fifo,opt", "--capacity", "5,20", "--quiet", "--input-format",
		"csv:time=1,key=2"}
	sameWithEightJobs(t, append(common, files...)...)
	sameWithEightJobs(t, append(append(common, "--per-file"), files...)...)
}
