package commands

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// madeUpKind is what a new kind of part, of tuners, adds to the sources: its entry, its registry, and a field wherever
// Go needs one. Each text is inserted before or after another one of the file, which occurs there once.
var madeUpKind = []struct{ file, before, text, after string }{
	{file: "internal/records/parts.go", before: "}\n\nfunc never(", text: `	{
		Name: "tuner", Plural: "tuners", Field: func(r *Record) *string { return &r.Tuner }, InRows: always,
		Decides: "what is tuned", Flag: PartFlag{List: "list of tuners"},
	},
`},
	{file: "internal/records/record.go", after: "json:\"model\" parquet:\"model\"`\n",
		text: "	Tuner string `json:\"tuner\" parquet:\"tuner\" rare:\"true\"`\n"},
	{file: "internal/sim/parts.go", after: "var Kinds = inOrder(\n", text: `	newKind("tuner", tuners, traits[tuner]{},
		at(func(p *Parts) **params.Spec[tuner] { return &p.Tuner })),
`},
	{file: "internal/sim/parts.go", after: "type Parts struct {\n", text: "	Tuner *params.Spec[tuner]\n"},
	{file: "internal/experiment/cell.go", before: "	Checksum   string `json:",
		text: "	Tuner string `json:\"tuner,omitempty\"`\n"},
	{file: "internal/experiment/file.go", before: "	Models     []Part `yaml:",
		text: "	Tuners []Part `yaml:\"tuners,omitempty\"`\n"},
	{file: "internal/experiment/file.go", after: "	Models      Values `yaml:\"models,omitempty\"`\n",
		text: "	Tuners Values `yaml:\"tuners,omitempty\"`\n"},
}

// madeUpParts is a file of package sim with the registry of tuners and a made-up part of every other kind, each a copy
// of one that exists.
const madeUpParts = `package sim

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/route"
)

type tuner struct{ name string }

func (t tuner) Signature() (string, []params.Param) {
	return t.name, []params.Param{{Name: "gain", Default: 1, Min: 1, Max: 9, Doc: "made up"}}
}

func (t tuner) Describe() params.Description {
	return params.Description{Summary: "made up", Source: "this test", Traits: []string{"does nothing"}}
}

var tuners = params.NewRegistry("tuner", "made-tuner", tuner{"made-tuner"})

func copyOf[E params.Named](r *params.Registry[E], name string, change func(*E)) E {
	e, ok := r.Find(name)
	if !ok {
		panic(name)
	}
	change(&e)
	return e
}

func init() {
	policies.Register(policies.Queues, copyOf(policies.Registry, "fifo", func(e *policies.Entry) {
		e.Name, e.Aliases = "made-policy", nil
	}))
	cache.Registry.Register(copyOf(cache.Registry, "exact", func(e *cache.Entry) {
		e.Name, e.Admits = "made-cache", cache.AdmitsAny
	}))
	admit.Registry.Register(copyOf(admit.Registry, "second", func(e *admit.Entry) { e.Name = "made-admission" }))
	predict.Registry.Register(copyOf(predict.Registry, "ewma", func(e *predict.Entry) { e.Name = "made-predictor" }))
	reuse.Registry.Register(copyOf(reuse.Registry, "periodic", func(e *reuse.Entry) { e.Name = "made-reuse" }))
	retrieve.Registry.Register(copyOf(retrieve.Registry, "quest", func(e *retrieve.Entry) { e.Name = "made-retriever" }))
	prefetch.Registry.Register(copyOf(prefetch.Registry, "next", func(e *prefetch.Entry) { e.Name = "made-prefetcher" }))
	allocate.Registry.Register(copyOf(allocate.Registry, "equal", func(e *allocate.Entry) { e.Name = "made-allocator" }))
	route.Registry.Register(copyOf(route.Registry, "round-robin", func(e *route.Entry) { e.Name = "made-router" }))
	models.Registry.Register(copyOf(models.Registry, "storage", func(e *models.Entry) {
		e.Name, e.Cache = "made-model", "made-cache"
	}))
}
`

// madeUpSweep has every made-up part at least once, beside none where there may be none, and policies that choose.
const madeUpSweep = `
name: made
title: A made-up part of every kind
source: none
traces: [{name: reads, generate: "cluster(jobs=6+9,scale=0.001,seed=1)", tenants: job}]
policies:
  - made-policy
  - {policy: fpb, predictors: made-predictor}
  - {policy: lru, tuners: none, models: made-model, allocators: none, prefetchers: none}
caches: [made-cache]
predictors: [made-predictor]
prefetchers: [none, made-prefetcher]
allocators: [none, made-allocator]
models: [none, made-model]
tuners: [none, {use: made-tuner, as: tuned, with: {gain: [2, 3]}}]
capacities: [10, 100]
tables: [{name: by-tuner, cells: hit_ratio, columns: tuner}]
`

// A kind of part needs what CONTRIBUTING.md says and nothing else: with these lines, and only these, a program has its
// flag, its axis, its key in files, its fields in cells and records, and its place in tables and on pages. The same
// program has a made-up part of every kind, and each goes all the way.
func TestNewKindNeedsItsEntryAlone(t *testing.T) {
	brief.Long(t, "builds the program")
	onlyOnce(t)
	dir := t.TempDir()
	root := must.Get(filepath.Abs(repository))(t)
	cachesim := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "cachesim.exe"), args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("cachesim %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	buildWith(t, root, dir)
	must.Do(t, os.WriteFile(filepath.Join(dir, "made.yaml"), []byte(madeUpSweep), 0o600))

	cachesim("sweep", "plan", "made.yaml", "-o", "planned")
	for _, shard := range []string{"0/3", "1/3", "2/3"} {
		cachesim("sweep", "run", "planned", "--shard", shard)
	}
	cachesim("sweep", "merge", "planned")
	cachesim("sweep", "made.yaml", "-o", "at-once")
	merged, once := readText(t, dir, "planned/records.jsonl"), readText(t, dir, "at-once/records.jsonl")
	if merged != once {
		t.Error("shards and one run have different records")
	}
	made := []string{"made-policy", "made-cache", "made-predictor", "made-prefetcher", "made-allocator", "made-model",
		"made-tuner"}
	for _, name := range made {
		for file, text := range map[string]string{"records": merged, "report": readText(t, dir, "planned/report.html"),
			"plan": readText(t, dir, "planned/plan.jsonl")} {
			if !strings.Contains(text, name) {
				t.Errorf("the %s of the sweep does not name %s", file, name)
			}
		}
	}
	tuned := map[string]bool{}
	for line := range strings.Lines(merged) {
		var rec struct{ Tuner, Axes string }
		must.Do(t, json.Unmarshal([]byte(line), &rec))
		tuned[rec.Tuner] = true
	}
	for _, want := range []string{"", "made-tuner(gain=2)", "made-tuner(gain=3)"} {
		if !tuned[want] {
			t.Errorf("no record has the tuner %q among %v", want, tuned)
		}
	}

	if out := cachesim("check", "planned/records.jsonl"); !strings.Contains(out, "all equal") {
		t.Errorf("the check says\n%s", out)
	}

	cachesim("gen", "cluster(jobs=6+9,scale=0.001,seed=1)", "-o", "reads.csv")
	args := []string{"run", "reads.csv", "--tenant", "job", "--capacity", "10", "-o", "ran",
		"--policy", "made-policy,fpb", "--tuner", "made-tuner,made-tuner(gain=2)"}
	for _, kind := range sim.Kinds {
		switch kind.Name { // of the heads and prompts below; others refuse them
		case "retriever", "router", "reuse":
			continue
		}
		args = append(args, "--"+commandline.FlagOf(kind), "made-"+kind.Name)
	}
	table := cachesim(args...)
	recs := readText(t, dir, "ran/records.jsonl")
	for _, name := range append(made, "made-tuner(gain=2)") {
		if !strings.Contains(recs, name) {
			t.Errorf("no record of the run names %s", name)
		}
		if !strings.Contains(table, name) {
			t.Errorf("the table of the run does not name %s:\n%s", name, table)
		}
	}
	if out := cachesim("check", "ran/records.jsonl"); !strings.Contains(out, "all equal") {
		t.Errorf("the check says\n%s", out)
	}
	heads := cachesim("run", "attention(layers=1,context=300,steps=5)", "--cache", "attention(dense=0)", "--capacity",
		"10%", "--reuse", "made-reuse(n=2)", "--retriever", "made-retriever(page=8)", "-o", "heads")
	for what, text := range map[string]string{"table": heads, "record": readText(t, dir, "heads/records.jsonl")} {
		if !strings.Contains(text, "made-reuse(n=2)") || !strings.Contains(text, "made-retriever(page=8)") {
			t.Errorf("the %s of attention does not name its reuse rule and its retriever:\n%s", what, text)
		}
	}
	routed := cachesim("run", "llm(prompts=50,conversations=10)", "--cache", "prefix", "--capacity", "10%", "--nodes", "3",
		"--route", "made-router", "--policy", "lru", "-o", "routed")
	for what, text := range map[string]string{"table": routed, "record": readText(t, dir, "routed/records.jsonl")} {
		if !strings.Contains(text, "made-router(nodes=3)") {
			t.Errorf("the %s of prompts on nodes does not name its router:\n%s", what, text)
		}
	}
	for _, kind := range slices.Concat(records.PartKinds, []records.PartKind{{Name: "policy", Plural: "policies"},
		{Name: "tuner", Plural: "tuners"}}) {
		if !strings.Contains(cachesim(kind.Plural), "made-"+kind.Name) {
			t.Errorf("cachesim %s does not list the made-up one", kind.Plural)
		}
	}
}

// buildWith builds the program with the made-up kind and parts as cachesim.exe in dir.
func buildWith(t *testing.T, root, dir string) {
	t.Helper()
	changed := map[string]string{}
	for _, c := range madeUpKind {
		text, ok := changed[c.file]
		if !ok {
			text = readText(t, root, c.file)
		}
		if strings.Count(text, c.before+c.after) != 1 {
			t.Fatalf("%s has %q %d times, want once", c.file, c.before+c.after, strings.Count(text, c.before+c.after))
		}
		changed[c.file] = strings.Replace(text, c.before+c.after, c.after+c.text+c.before, 1)
	}
	changed["internal/sim/made_up.go"] = madeUpParts
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, text := range changed {
		replacement := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		must.Do(t, os.WriteFile(replacement, []byte(text), 0o600))
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = replacement
	}
	described := must.Get(json.Marshal(overlay))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "overlay.json"), described, 0o600))
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o",
		filepath.Join(dir, "cachesim.exe"), "./cmd/cachesim")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func readText(t *testing.T, dir, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t)
	return string(text)
}
