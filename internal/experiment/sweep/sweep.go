// Package sweep runs an experiment in a folder: its plan, the results of cells as they end, here or shared out over
// many machines, and the records that they give.
package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/seal"
	"github.com/cachesim/cachesim/internal/workload"
)

// sweepFileName is the file in the folder of a sweep with its experiment, as it was after --quick, --set and --only.
const sweepFileName = "experiment.yaml"

// What package report adds to the folder of a sweep.
const (
	PageName   = "report.html"
	FiguresDir = "figures"
)

// Sweep is an experiment, its plan, and the folder for what it gives.
type Sweep struct {
	Dir   string
	File  *experiment.File
	Cells []experiment.Cell
}

// Plan expands an experiment for a version of the program, and takes the checksums of its traces. Nothing is
// written. It is an error if dir holds a sweep of an experiment with another name.
func Plan(ctx context.Context, f *experiment.File, dir, version string) (*Sweep, error) {
	there, err := experiment.Load(filepath.Join(dir, sweepFileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("cannot write to %s: it is a file or lies below one, want a folder", dir)
	case err != nil:
		return nil, fmt.Errorf("%w; remove %s, or name another folder with -o", err, dir)
	case there.Name != f.Name:
		return nil, fmt.Errorf("%s holds a sweep of %s; name another folder for %s with -o", dir, there.Name, f.Name)
	}
	cells, err := f.Cells(experiment.CellOptions{Version: version, Checksum: func(w workload.Workload) (string, error) {
		return w.ReadChecksum(ctx, f.Dirs())
	}})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &Sweep{dir, f, cells}, err
}

// Open reads what Write has written into dir.
func Open(dir string) (*Sweep, error) {
	f, err := LoadFile(dir)
	if err != nil {
		return nil, err
	}
	cells, err := ReadPlan(dir)
	return &Sweep{dir, f, cells}, err
}

// LoadFile reads the experiment of the sweep in dir. It is an error if it is not the one that was planned there.
func LoadFile(dir string) (*experiment.File, error) {
	path := filepath.Join(dir, sweepFileName)
	f, err := experiment.Load(path)
	if info, statErr := os.Stat(dir); err != nil && statErr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, want the folder of a sweep; make one of an experiment with cachesim sweep "+
			"plan FILE -o DIR", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no sweep (%s); start one with cachesim sweep FILE -o %s", dir, sweepFileName, dir)
	}
	if err != nil {
		return nil, err
	}
	return f, checkPlanned(dir, path)
}

// checkPlanned refuses the file of an experiment that is not the one that was planned in dir, if a plan is there yet.
func checkPlanned(dir, path string) error {
	_, planned, err := readPlan(dir)
	if errors.As(err, new(*noPlanError)) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := experiment.ReadText(path)
	if err == nil && seal.Digest(text) != planned {
		err = fmt.Errorf("%s has been changed, or damaged, since it was planned; "+
			"if it is as it should be, plan it with cachesim sweep plan %s -o %s", path, path, dir)
	}
	return err
}

// Check refuses a plan of another version of the program, whose results would be mixed up with those of this one, and a
// plan that is not that of the experiment: cut off, or made before the experiment was changed.
func (s *Sweep) Check(version string) error {
	checksums := map[string]string{}
	for _, c := range s.Cells {
		if c.Version != version {
			return fmt.Errorf(
				"%s was planned by cachesim %s, this is %s; plan it again, or run that version",
				s.Dir,
				c.Version,
				version,
			)
		}
		checksums[strings.Join(c.Workload.Paths(), "\n")] = c.Workload.Checksum
	}
	cells, err := s.File.Cells(experiment.CellOptions{Version: version,
		Checksum: func(w workload.Workload) (string, error) {
			return checksums[strings.Join(w.Paths(), "\n")], nil
		}})
	if err == nil && PlanDigest(cells) != PlanDigest(s.Cells) {
		file := filepath.Join(s.Dir, sweepFileName)
		err = fmt.Errorf("%s, with %d cells, is not the plan of %s, which has %d; write it again with cachesim sweep plan "+
			"%s -o %s",
			filepath.Join(s.Dir, planName), len(s.Cells), file, len(cells), file, s.Dir)
	}
	return err
}

// Write writes the experiment and the plan into the folder, which is created if missing. What another plan has given
// there is removed, except for the results of its cells. The caller has locked the folder.
func (s *Sweep) Write() error {
	if err := records.CheckDir(s.Dir); err != nil {
		return err
	}
	text, err := s.File.Encode()
	if err != nil || s.isPlanned(text) {
		return err
	}
	if err := s.removeOutdated(); err != nil {
		return err
	}
	err = atomicfile.WriteIn(s.Dir, sweepFileName, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return WritePlan(s.Dir, s.Cells, text)
}

// isPlanned reports whether the folder holds this plan, of an experiment with this text.
func (s *Sweep) isPlanned(text []byte) bool {
	cells, planned, err := readPlan(s.Dir)
	if err != nil || planned != seal.Digest(text) || PlanDigest(cells) != PlanDigest(s.Cells) {
		return false
	}
	there, err := atomicfile.ReadFile(filepath.Join(s.Dir, sweepFileName))
	return err == nil && bytes.Equal(there, text)
}

// removeOutdated removes what another plan has given in the folder, so that it cannot be taken for what this one gives
// while the sweep runs, or when it is stopped: the plan first, as what is there is then of none. The results of cells
// stay.
func (s *Sweep) removeOutdated() error {
	outdated := append([]string{planName, timingsName, PageName}, records.FileNames()...)
	if before, err := experiment.Load(filepath.Join(s.Dir, sweepFileName)); err == nil {
		for _, figure := range before.Figures {
			for _, kind := range []string{".svg", ".png", ".pdf"} {
				outdated = append(outdated, filepath.Join(FiguresDir, figure.Name+kind))
			}
		}
	}
	for _, name := range outdated {
		if err := atomicfile.Remove(s.Dir, name); err != nil {
			return err
		}
	}
	return nil
}

// Run replays cells of the plan and keeps their results in the folder. options.Finished is called behind that where it
// is set.
func (s *Sweep) Run(ctx context.Context, cells []experiment.Cell, options experiment.Options) error {
	store, err := OpenStore(s.Dir, s.Cells)
	if err != nil {
		return err
	}
	then := options.Finished
	options.Dirs = s.File.Dirs()
	options.Finished = func(c experiment.Cell, r experiment.Result) error {
		if err := store.Put(c, r); err != nil || then == nil {
			return err
		}
		return then(c, r)
	}
	return experiment.Execute(ctx, cells, options)
}

// Collect makes the records of the plan from the results in dirs and writes them into the folder.
func (s *Sweep) Collect(dirs ...string) (*Collection, error) {
	finished, err := ReadFinished(s.Cells, dirs...)
	if err != nil {
		return nil, err
	}
	c, err := Collect(s.Cells, finished)
	if err != nil {
		return nil, err
	}
	return c, c.Write(s.Dir)
}

// Reopen reads a sweep that is finished in dir, and what it gave. A sweep of another version of the program, or one of
// which cells are missing, is an error.
func Reopen(dir, version string) (*Sweep, *Collection, error) {
	s, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.Cells {
		if c.Version != version {
			return nil, nil, fmt.Errorf("%s is of cachesim %s, this is %s", dir, c.Version, version)
		}
	}
	finished, err := ReadFinished(s.Cells, dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := Collect(s.Cells, finished)
	return s, c, err
}

// OpenAll opens the parts of a sweep that lie in several folders, each with a copy of the same plan. The first is
// that of the whole.
func OpenAll(dirs []string) (*Sweep, error) {
	first, err := Open(dirs[0])
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs[1:] {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is a file, want the folder of a sweep", dir)
		}
		cells, err := ReadPlan(dir)
		if err != nil {
			return nil, err
		}
		if !SamePlan(first.Cells, cells) {
			return nil, fmt.Errorf(
				"%s and %s are sweeps of different plans, so their results do not belong together",
				dirs[0],
				dir,
			)
		}
	}
	return first, nil
}
