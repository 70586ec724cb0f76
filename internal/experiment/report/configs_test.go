package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// slow are the experiments that take minutes: they replay millions of reads in a model of time, train trees during
// most of their replays, make predictions for millions of blocks, compare the queries of hundreds of traces, replay
// a thousand of them, simulate nodes that serve millions of recommendations, or read the attention of a model again for
// what others of them do with it, too. docs/verdicts.md has their full verdicts.
var slow = []string{
	"hlem-fig1", "hlem-fig4", "hlem-fig6", "hlem-fig10", "hlem-fig10-scores", "hlem-fig11", "hlem-fig12", "hlem-fig13",
	"hlem-fig14", "hlem-fig15", "hlem-fig16", "hlem-fig17", "hlem-table3", "hlem-real",
	"igtcache-dlio-unet3d", "igtcache-fig2b", "igtcache-fig8", "igtcache-fig9", "igtcache-fig10", "igtcache-fig11",
	"igtcache-fig12", "igtcache-fig13", "igtcache-fig14", "igtcache-fig15", "igtcache-fig16", "laru-fig9", "laru-fig10",
	"laru-fig11", "laru-fig12", "laru-fig13", "laru-parts", "laru-semantic", "learned-brightkite", "qsac-fig2",
	"qsac-fig9", "qsac-fig10", "qsac-table1", "qsac-table3a", "qsac-table3b", "qsac-tradeoff", "rac-adaptive",
	"rac-factors", "rac-fig2a", "rac-fig2b", "rac-fig4", "rac-fig5",
}

// TestAllQuickVersionsAreRun: CI runs the quick versions of all experiments by the program, and no test does so again.
func TestAllQuickVersionsAreRun(t *testing.T) {
	steps := must.Get(os.ReadFile("../../../.ci/run"))(t)
	for _, step := range []string{
		"\nbin/cachesim reproduce all --quick --strict ", "grep 'no result could fail the claim' ", "grep ': checked 0 of' ",
	} {
		if !strings.Contains(string(steps), step) {
			t.Errorf(".ci/run has no step %q", step)
		}
	}
}

// expectVerdicts fails for claims whose verdict is not the expected one, for those that hold whatever is measured, and
// for values that have left their pins.
func expectVerdicts(t *testing.T, summary Summary) {
	t.Helper()
	for _, c := range summary.Claims {
		if !c.Expected.Met(c.Verdict) || c.CannotFail {
			t.Errorf("%s: %s: %s", c.Claim, c.verdict(), c.Measured)
		}
	}
	for _, moved := range summary.Moved {
		t.Error(moved)
	}
}

func TestConfigsHoldOnRealTraces(t *testing.T) {
	if os.Getenv(workload.Env) == "" {
		t.Skip(workload.Env + " is not set: no real traces")
	}
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, name := range configs.Names() {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(slow, name) {
				t.Skip("takes minutes; its quick version is tested")
			}
			summary := runConfig(t, name)
			expectVerdicts(t, summary)
			for _, note := range summary.Notes {
				t.Error(note)
			}
		})
	}
}

// builtIn are the built-in experiments, which several tests look at and none changes.
var builtIn = map[string]*experiment.File{}

func loaded(t *testing.T, name string) *experiment.File {
	t.Helper()
	if builtIn[name] == nil {
		builtIn[name] = must.Get(experiment.Load(name))(t)
	}
	return builtIn[name]
}

// runConfig runs a built-in experiment and writes its report.
func runConfig(t *testing.T, name string) Summary {
	t.Helper()
	file := must.Get(experiment.Load(name))(t)
	must.Do(t, file.Apply(nil, false))
	cells := must.Get(file.Cells(experiment.CellOptions{Checksum: func(w workload.Workload) (string, error) {
		return w.ReadChecksum(t.Context(), file.Dirs())
	}}))(t)
	dir := t.TempDir()
	store := must.Get(sweep.OpenStore(dir, cells))(t)
	must.Do(t, experiment.Execute(t.Context(), cells, experiment.Options{Dirs: file.Dirs(), Finished: store.Put}))
	finished := must.Get(sweep.ReadFinished(cells, dir))(t)
	collection := must.Get(sweep.Collect(cells, finished))(t)
	recs := collection.Records
	if file.SpeaksOfTimes() {
		recs = collection.Timed()
	}
	summary := must.Get(Write(dir, Input{File: file, Cells: cells, Records: recs, Series: collection.Series}))(t)
	drawn := must.Get(filepath.Glob(filepath.Join(dir, sweep.FiguresDir, "*.svg")))(t)
	for _, path := range drawn {
		data := must.Get(os.ReadFile(path))(t)
		checkLegible(t, name, filepath.Base(path), data)
	}
	return summary
}

// Of every trace file that an experiment needs the program says where it can be had, under which licence, and what
// makes the file.
func TestTraceFilesHaveOrigins(t *testing.T) {
	files := 0
	for _, name := range configs.Names() {
		file := loaded(t, name)
		for _, trace := range file.Traces {
			beside := workload.Workload{Embeddings: trace.Embeddings}.EmbeddingsFile()
			for _, path := range append(trace.Files, trace.File, beside) {
				if path == "" {
					continue
				}
				files++
				origin, ok := workload.OriginOf(path)
				folder := filepath.ToSlash(filepath.Dir(path))
				if !ok || origin.What == "" || origin.Licence == "" || !strings.HasPrefix(origin.Source, "https://") ||
					!strings.Contains(origin.Command, "mkdir -p "+folder) {
					t.Errorf("%s: %s has the origin %+v", name, path, origin)
				}
				if text := (&workload.MissingError{Path: path}).Error(); !strings.Contains(text, origin.Command) {
					t.Errorf("%s: the error does not say how to make %s: %s", name, path, text)
				}
			}
		}
	}
	if files < 50 {
		t.Errorf("%d files, want those of all experiments", files)
	}
}
