package experiment

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// maxQuickRequests bounds the replayed requests of a quick version: a minute on two slow cores, even for slow policies.
const maxQuickRequests = 50e6

// TestConfigs plans every experiment of the program and its quick version. These run in CI, where there are no trace
// files but samples in the repository. The numbers of cells are those in configs/cells.tsv; UPDATE=1 rewrites it.
func TestConfigs(t *testing.T) {
	names := brief.SampleLong(6, configs.Names()...)
	if os.Getenv("UPDATE") != "" {
		names = configs.Names()
	}
	requests := map[string]int{} // of generators by their text, and of files by their names
	var table strings.Builder
	for _, name := range names {
		f := must.Get(Load(name))(t)
		if f.Name != name {
			t.Errorf("%s.yaml calls itself %s", name, f.Name)
		}
		full := len(countedCells(t, f))
		must.Do(t, f.Apply(nil, true))
		quick := countedCells(t, f)
		replayed := 0
		for _, c := range WithoutRepetitions(quick) {
			text := c.Workload.Generator + strings.Join(c.Workload.Files, " ")
			if _, ok := requests[text]; !ok && c.Workload.Generator == "" {
				requests[text] = requestsInSamples(t, name, c.Workload.Files)
			} else if !ok {
				requests[text] = requestsOf(t, text)
			}
			n := requests[text]
			if c.Workload.Limit > 0 {
				n = min(n, c.Workload.Limit)
			}
			replayed += n
		}
		t.Logf("%s --quick: %d cells, %d requests", name, len(quick), replayed)
		if replayed > maxQuickRequests {
			t.Errorf("%s --quick replays %d requests, want at most %d", name, replayed, int(maxQuickRequests))
		}
		fmt.Fprintf(&table, "%s\t%d\t%d\n", name, full, len(quick))
		if a, b := configs.Cells(name); a != full || b != len(quick) {
			t.Errorf("configs/cells.tsv: %s has %d cells, its quick version %d; want %d and %d; UPDATE=1 rewrites the file",
				name, a, b, full, len(quick))
		}
	}
	if os.Getenv("UPDATE") != "" {
		must.Do(t, os.WriteFile("../../configs/cells.tsv", []byte(table.String()), 0o644))
	}
}

// countedCells returns the cells of an experiment, of which count returns the number.
func countedCells(t *testing.T, f *File) []Cell {
	t.Helper()
	cells := must.Get(f.Cells(CellOptions{Version: "test"}))(t)
	if n, err := f.count(); err != nil || n != len(cells) {
		t.Errorf("%s: %d of %d cells are counted, error %v", f.describe(), n, len(cells), err)
	}
	return cells
}

// requestsOf returns the length of a generated trace, at most: only a trace without a bound needs its generator, which
// may draw millions of numbers first.
func requestsOf(t *testing.T, generator string) int {
	t.Helper()
	spec := must.Get(gen.Parse(generator, ""))(t)
	if n, ok := spec.Params["requests"].(int); ok && n > 0 {
		return n
	}
	if heads := must.Get(spec.Attention())(t); heads != nil {
		return heads.Shape().Heads() * heads.Shape().Steps
	}
	g := must.Get(gen.New(t.Context(), spec, nil))(t)
	return g.Requests()
}

// requestsInSamples returns the requests, or prompts, of files, which must be samples in the repository.
func requestsInSamples(t *testing.T, name string, files []string) (n int) {
	t.Helper()
	for _, file := range files {
		if !strings.HasPrefix(file, "testdata/samples/") {
			t.Errorf("%s --quick needs the file %s, which is no sample in the repository", name, file)
			continue
		}
		path := "../../" + file
		if strings.Contains(file, attention.Ending) {
			trace := must.Get(attention.Open(t.Context(), path, nil, attention.Options{}))(t)
			n += trace.Shape().Heads() * trace.Shape().Steps
			must.Do(t, trace.Close())
			continue
		}
		trace := must.Get(read.Load(t.Context(), []string{path}, read.Options{}))(t)
		n += len(trace.Objects)
	}
	return n
}

// The page that explains the format shows configs/example.yaml as it is.
func TestDocumentedExample(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/experiments.md"))(t)
	if !strings.Contains(string(page), "```yaml\n"+string(configs.Text("example"))+"```") {
		t.Error("docs/experiments.md does not show configs/example.yaml as it is")
	}
}

// The page describes every key that an experiment file may have.
func TestDocumentedKeys(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/experiments.md"))(t)
	for _, owner := range []reflect.Type{
		reflect.TypeFor[File](), reflect.TypeFor[Trace](), reflect.TypeFor[Policy](), reflect.TypeFor[Reference](),
		reflect.TypeFor[Figure](),
		reflect.TypeFor[Table](), reflect.TypeFor[Claim](), reflect.TypeFor[Quick](),
	} {
		for _, key := range yamlhint.KeyNames(owner) {
			if !strings.Contains(string(page), "`"+key+"`") && !strings.Contains(string(page), " "+key+": ") {
				t.Errorf("docs/experiments.md does not describe the key %s of %s", key, owner.Name())
			}
		}
	}
}
