package experiment

import (
	"strings"
	"testing"
)

func TestAPlanOfAnotherVersionIsRefused(t *testing.T) {
	s := &Sweep{Dir: "out", Cells: smallGrid()}
	if err := s.CheckVersion("test"); err != nil {
		t.Error(err)
	}
	if err := s.CheckVersion("other"); err == nil || !strings.Contains(err.Error(), "out was planned by cachesim test, this is other") {
		t.Errorf("error %v", err)
	}
}

func TestASweepSplitOverFoldersIsOne(t *testing.T) {
	file := func() *File {
		f, err := Load("zipf-skew")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(nil, true); err != nil {
			t.Fatal(err)
		}
		return f
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		s, err := PlanSweep(t.Context(), file(), dir, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := OpenSweeps(dirs)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Dir != dirs[0] || whole.File.Name != "zipf-skew" || len(whole.Cells) == 0 {
		t.Errorf("%s: %s, %d cells", whole.Dir, whole.File.Name, len(whole.Cells))
	}
	if err := WritePlan(dirs[2], whole.Cells[1:]); err == nil {
		if _, err := OpenSweeps(dirs); err == nil {
			t.Error("different plans are taken for one")
		}
	}
	if _, err := OpenSweeps([]string{dirs[0], dirs[1] + "/experiment.yaml"}); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("error %v", err)
	}
}
