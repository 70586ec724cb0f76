package experiments

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/report"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// loadText reads an experiment from its YAML text.
func loadText(t *testing.T, text string) *experiment.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "experiment.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return must.Get(experiment.Load(path))(t)
}

// TestReproduceGoesOnPastMissingTraces: with all, reproduce continues after a missing trace; with a name, it fails.
func TestReproduceGoesOnPastMissingTraces(t *testing.T) {
	const form = `
title: T
source: S
policies: [lru]
capacities: [10]
claims:
  - claim: hit_ratio(lru) > 0
    at: Fig. 1
`
	files := []*experiment.File{
		loadText(t, "name: first\ntraces: [{name: a, file: nowhere.zst}]"+form),
		loadText(t, "name: second\ntraces: [{name: b, generate: 'zipf(objects=100,requests=1000,seed=1)'}]"+form),
	}
	f := &reproduceFlags{out: t.TempDir()}
	var notes bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(&notes)

	var missing *workload.MissingError
	if _, err := f.reproduceAll(cmd, files, false); !errors.As(err, &missing) {
		t.Errorf("error %v, want that a trace is missing", err)
	}

	summaries := must.Get(f.reproduceAll(cmd, files, true))(t)
	want := "skipping first: trace nowhere.zst is missing; set CACHESIM_TRACES"
	if !strings.Contains(notes.String(), want) {
		t.Errorf("notes %q, want %q", notes.String(), want)
	}
	for i, verdict := range []string{"checked 0 of 1 claim: 1 not testable here", "checked 1 of 1 claim: 1 reproduced"} {
		if got := summaries[i].Verdict(); got != verdict {
			t.Errorf("%s: %s, want %s", summaries[i].Name, got, verdict)
		}
	}
	must.Do(t, report.WriteIndex(f.out, "1", summaries))
	index := must.Get(os.ReadFile(filepath.Join(f.out, report.IndexName)))(t)
	if page := string(index); strings.Contains(page, `href="first/`) ||
		!strings.Contains(page, `href="second/report.html"`) {
		t.Error("the index should link the second report alone")
	}
}
