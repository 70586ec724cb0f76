package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

func TestAPlanOfAnotherVersionIsRefused(t *testing.T) {
	s := &Sweep{Dir: "out", Cells: smallGrid()}
	if err := s.Check("other"); err == nil || !strings.Contains(err.Error(), "out was planned by cachesim test, this is "+
		"other") {
		t.Errorf("error %v", err)
	}
}

// TestEveryPlanIsThatOfItsExperiment plans the built-in experiments, with checksums as if their traces existed, and
// reads the plans back.
func TestEveryPlanIsThatOfItsExperiment(t *testing.T) {
	for _, name := range brief.SampleLong(6, configs.Names()...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := must.Get(experiment.Load(name))(t)
			s := &Sweep{Dir: t.TempDir(), File: f}
			s.Cells = must.Get(f.Cells(experiment.CellOptions{Version: "test",
				Checksum: func(w workload.Workload) (string, error) {
					return "sha256:" + w.Files[0], nil
				}}))(t)
			must.Do(t, s.Write())
			read := must.Get(Open(s.Dir))(t)
			if err := read.Check("test"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPlanThatIsNotThatOfTheExperimentIsRefused(t *testing.T) {
	f := must.Get(experiment.Load("example"))(t)
	s := must.Get(Plan(t.Context(), f, t.TempDir(), "test"))(t)
	whole := s.Cells
	for what, cells := range map[string][]experiment.Cell{"an empty": nil, "a cut off": whole[:len(whole)-1]} {
		s.Cells = cells
		must.Fail(t, s.Check("test"), "is not the plan of", what)
	}
	s.Cells = whole
	s.File.Policies[2].As = "other"
	must.Fail(t, s.Check("test"), "write it again", "another name in the experiment")
}

func TestASweepSplitOverFoldersIsOne(t *testing.T) {
	file := func() *experiment.File {
		f := must.Get(experiment.Load("zipf-skew"))(t)
		must.Do(t, f.Apply(nil, true))
		return f
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		s := must.Get(Plan(t.Context(), file(), dir, "test"))(t)
		must.Do(t, s.Write())
	}
	whole := must.Get(OpenAll(dirs))(t)
	if whole.Dir != dirs[0] || whole.File.Name != "zipf-skew" || len(whole.Cells) == 0 {
		t.Errorf("%s: %s, %d cells", whole.Dir, whole.File.Name, len(whole.Cells))
	}
	if err := WritePlan(dirs[2], whole.Cells[1:], nil); err == nil {
		if _, err := OpenAll(dirs); err == nil {
			t.Error("different plans are taken for one")
		}
	}
	if _, err := OpenAll([]string{dirs[0], dirs[1] + "/experiment.yaml"}); err == nil ||
		!strings.Contains(err.Error(), "is a file") {
		t.Errorf("error %v", err)
	}
}

// An interrupted sweep of a changed experiment must not leave the previous records as if they were its own.
func TestWhatAnotherPlanGaveIsRemoved(t *testing.T) {
	dir := t.TempDir()
	plan := func(sets ...string) {
		f := must.Get(experiment.Load("example"))(t)
		must.Do(t, f.Apply(sets, false))
		s := must.Get(Plan(t.Context(), f, dir, "test"))(t)
		must.Do(t, s.Write())
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	plan()
	given := []string{
		"records.jsonl",
		"records.csv",
		"records.parquet",
		"timings.csv",
		"report.html",
		"figures/scans.svg",
		"figures/scans.png",
		"figures/scans.pdf",
	}
	own := []string{"cells/0123.json", "figures/mine.png", "notes.txt"}
	for _, name := range slices.Concat(given, own) {
		path := filepath.Join(dir, name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644)))
	}
	plan()
	for _, name := range slices.Concat(given, own) {
		if !there(name) {
			t.Errorf("%s is gone, though the plan is the same", name)
		}
	}
	plan("capacities=7")
	for _, name := range given {
		if there(name) {
			t.Errorf("%s of the plan before is still there", name)
		}
	}
	for _, name := range own {
		if !there(name) {
			t.Errorf("%s is gone", name)
		}
	}
}
