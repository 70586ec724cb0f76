package experiment

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/yamlhint"
)

// maxQuickRequests bounds the replayed requests of a quick version: a minute on two slow cores, even for slow policies.
const maxQuickRequests = 50e6

func TestConfigsExpand(t *testing.T) {
	for _, name := range configs.Names() {
		f, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if f.Name != name {
			t.Errorf("%s.yaml calls itself %s", name, f.Name)
		}
		if _, err := f.Cells(CellOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// The quick versions run in CI, where there are no trace files.
func TestQuickConfigsAreSmallAndNeedNoFiles(t *testing.T) {
	for _, name := range configs.Names() {
		f, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := f.Apply(nil, true); err != nil {
			t.Error(err)
			continue
		}
		cells, err := f.Cells(CellOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		requests := 0
		for _, c := range WithoutRepetitions(cells) {
			if len(c.Workload.Files) > 0 {
				t.Errorf("%s --quick needs the files %s", name, strings.Join(c.Workload.Files, ", "))
				break
			}
			requests += requestsOf(t, c)
		}
		t.Logf("%s --quick: %d cells, %d requests", name, len(cells), requests)
		if requests > maxQuickRequests {
			t.Errorf("%s --quick replays %d requests, want at most %d", name, requests, int(maxQuickRequests))
		}
	}
}

// requestsOf returns the length of the trace that a cell replays.
func requestsOf(t *testing.T, c Cell) int {
	t.Helper()
	spec, err := gen.Parse(c.Workload.Generator, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := gen.New(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Workload.Limit > 0 {
		return min(g.Requests(), c.Workload.Limit)
	}
	return g.Requests()
}

// The page that explains the format shows configs/example.yaml as it is.
func TestDocumentedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```yaml\n"+string(configs.Text("example"))+"```") {
		t.Error("docs/experiments.md does not show configs/example.yaml as it is")
	}
}

// The page describes every key that an experiment file may have.
func TestDocumentedKeys(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
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
