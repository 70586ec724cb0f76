package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
)

// nodesText is an experiment on serving nodes without capacities.
const nodesText = `
traces: [{name: requests, file: a.csv, format: recommender}]
caches: [{use: "pools(gpus=2,memory=8GB)", with: {nodes: [1, 2]}}]
models: [recommender]
allocators: [{use: "static(r=0.3)", as: static}, ucp]
policies: [lru, {policy: sieve, allocators: ucp}]
seeds: 3
`

// TestNodesHaveCapacitiesOfTheirOwn checks the cells of an experiment on serving nodes: each has the capacity of its
// cache, there is no optimum, and allocators need no tenants.
func TestNodesHaveCapacitiesOfTheirOwn(t *testing.T) {
	f := mustParse(t, nodesText)
	want := []string{
		"requests 16GB lru seed=0 nodes=1,allocator=static",
		"requests 16GB lru seed=0 nodes=1,allocator=ucp",
		"requests 16GB sieve seed=0 nodes=1",
		"requests 32GB lru seed=0 nodes=2,allocator=static",
		"requests 32GB lru seed=0 nodes=2,allocator=ucp",
		"requests 32GB sieve seed=0 nodes=2",
	}
	cells := mustExpand(t, f)
	if got := summary(cells); !slices.Equal(got, want) {
		t.Errorf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if counted, err := f.count(); err != nil || counted != len(cells) {
		t.Errorf("%d cells are counted, error %v", counted, err)
	}
	for _, c := range cells {
		read := must.Get(CellReader{}.Read(c.Text()))(t)
		if !read.WithHash().Text().IsNamed() || read.WithHash().Hash != c.Hash {
			t.Errorf("%s is read back as %s", c, read)
		}
	}
	for _, c := range cells {
		if needs := needs([]Cell{c}); needs.Sizes || !needs.Times || !needs.Kind {
			t.Errorf("%s needs %+v, want times and the lookups, no sizes", c, needs)
		}
	}
}

// TestTiersOfObjectsAmongBytes: a first tier of so many objects counts objects, and is compared with their optimum,
// also where bare capacities count bytes.
func TestTiersOfObjectsAmongBytes(t *testing.T) {
	for size, want := range map[string]string{"600": "opt", "64MiB": "belady-size"} {
		cells := mustExpand(t, mustParse(t, `
traces: [{name: objects, file: a.csv}]
caches: ["tiers(memory=`+size+`,flash=4x)"]
policies: [lru]
bytes: true
`))
		if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Parts.Policy.Entry.Name == want }) {
			t.Errorf("memory=%s: %s, want %s among them", size, summary(cells), want)
		}
	}
}

// TestOnlyPartKeepsItsAxes: a policy with one allocator is at no place on the axis of allocators, but at those of the
// allocator's parameters.
func TestOnlyPartKeepsItsAxes(t *testing.T) {
	f := mustParse(t, `
traces: [{name: requests, file: a.csv, format: recommender}]
caches: [pools]
models: [recommender]
allocators: [{use: static, with: {r: [0.3, 0.7]}}, ucp]
policies: [{policy: lru, allocators: static}, {policy: sieve, allocators: ucp}]
`)
	want := []string{"requests 2560GB lru seed=0 r=0.3", "requests 2560GB lru seed=0 r=0.7",
		"requests 2560GB sieve seed=0"}
	if got := summary(mustExpand(t, f)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCapacitiesOfNodes checks which capacities an experiment on serving nodes may have.
func TestCapacitiesOfNodes(t *testing.T) {
	one := strings.Replace(nodesText, "[1, 2]", "2", 1)
	if f := mustParse(t, one+"capacities: 32GB\n"); len(mustExpand(t, f)) != 3 {
		t.Error("the capacity of the cache itself changes the cells")
	}
	for capacities, want := range map[string]string{
		"1%":   "set its capacity, 32GB;",
		"16GB": "set its capacity, 32GB;",
		"100":  "set its capacity, 32GB;",
	} {
		if _, err := parseText(one + "capacities: " + capacities + "\n"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("capacities %s: error %v, want one with %q", capacities, err, want)
		}
	}
	generated := strings.Replace(one, "file: a.csv, format: recommender", "generate: recommender", 1)
	if _, err := parseText(generated + "capacities: 16GB\n"); generated == one || err == nil ||
		!strings.Contains(err.Error(), "set its capacity") {
		t.Errorf("16GB for generated requests: error %v", err)
	}
	both := strings.Replace(one, "caches: [", "caches: [exact, ", 1)
	must.NotGet(parseText(both))(t, "add tenants by column", "allocators in the exact cache")
	none := strings.Replace(one, "models: [recommender]\n", "", 1)
	must.NotGet(parseText(none))(t, "needs a model; add --model", "no model")
}

// TestNoRecordHasWhatTheMachineMeasured runs controllers of serving nodes, whose decisions are timed: a record with a
// time would differ from run to run. The times are beside it.
func TestNoRecordHasWhatTheMachineMeasured(t *testing.T) {
	cells := mustExpand(t, mustParse(t, `
traces: [{name: requests, generate: "recommender(nodes=1,users=200,shards=5000,requests=3000,rate=100)"}]
caches: ["pools(nodes=1,memory=1GB)"]
models: [recommender, fluid]
allocators: [pid]
policies: [lru]
`))
	results := must.Get(execute(t, cells, Options{Jobs: 1}))(t)
	for _, c := range cells {
		r := results[c.Hash]
		for name := range r.Record.Names() {
			if m, ok := metric.Lookup(name); ok && m.OfMachine {
				t.Errorf("%s: the record has %s", c, name)
			}
		}
		if ns := r.Times[nodemodels.DecisionTime.Name]; !(ns > 0) {
			t.Errorf("%s: decisions take %v ns", c, ns)
		}
	}
}
