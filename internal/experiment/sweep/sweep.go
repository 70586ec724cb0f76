// Package sweep runs an experiment in a folder. The folder contains the plan, the results of finished cells, whether
// they ran here or on other machines, and the records made from them.
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

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// sweepFileName is the file in a sweep's folder with its experiment, after --quick, --set and --only.
const sweepFileName = "experiment.yaml"

// Files that package report adds to a sweep's folder.
const (
	PageName   = "report.html"
	FiguresDir = "figures"
)

type Sweep struct {
	Dir   string
	File  *experiment.File
	Cells []experiment.Cell
}

// Plan expands an experiment for a version of the program, and computes the checksums of its traces. It writes nothing.
// It is an error if dir contains a sweep of an experiment with another name.
func Plan(ctx context.Context, f *experiment.File, dir, version string) (*Sweep, error) {
	s, err := plan(f, dir, version, func(w workload.Workload) (string, error) { return w.ReadChecksum(ctx, f.Dirs()) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s, err
}

// Outline is Plan from the file alone: it reads no traces, so that it takes no time. Checksums are those of the plan in
// dir, if there is one; without, cells on files match no results.
func Outline(f *experiment.File, dir, version string) (*Sweep, error) {
	planned, _, err := readPlan(dir)
	if err != nil && !errors.As(err, new(*noPlanError)) {
		return nil, err
	}
	return plan(f, dir, version, checksumsOf(planned))
}

// checksumsOf returns the checksums of the traces of cells; "" for others.
func checksumsOf(cells []experiment.Cell) func(workload.Workload) (string, error) {
	checksums := map[string]string{}
	for _, c := range cells {
		checksums[strings.Join(c.Workload.Paths(), "\n")] = c.Workload.Checksum
	}
	return func(w workload.Workload) (string, error) { return checksums[strings.Join(w.Paths(), "\n")], nil }
}

func plan(f *experiment.File, dir, version string, checksum func(workload.Workload) (string, error)) (*Sweep, error) {
	there, err := experiment.Load(filepath.Join(dir, sweepFileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("cannot write to %s: it is a file or below a file; want a folder", dir)
	case err != nil:
		return nil, fmt.Errorf("%w; remove %s, or choose another folder with -o", err, dir)
	case there.Name != f.Name:
		return nil, fmt.Errorf("%s contains a sweep of %s; choose another folder for %s with -o", dir, there.Name, f.Name)
	}
	cells, err := f.Cells(experiment.CellOptions{Version: version, Checksum: checksum})
	return &Sweep{dir, f, cells}, err
}

// Without returns the sweep without the cells that only claims use whose preconditions, by name, are not met. s has all
// cells of its experiment.
func (s *Sweep) Without(unmet experiment.Values) (*Sweep, error) {
	f := *s.File
	f.Unmet = unmet
	cells, err := f.WithoutUnmet(s.Cells)
	return &Sweep{s.Dir, &f, cells}, err
}

// Open reads what Write wrote into dir.
func Open(dir string) (*Sweep, error) {
	f, err := LoadFile(dir)
	if err != nil {
		return nil, err
	}
	cells, err := ReadPlan(dir)
	return &Sweep{dir, f, cells}, err
}

// LoadFile reads the experiment of the sweep in dir. It is an error if it is not the planned one.
func LoadFile(dir string) (*experiment.File, error) {
	path := filepath.Join(dir, sweepFileName)
	f, err := experiment.Load(path)
	if info, statErr := os.Stat(dir); err != nil && statErr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; want a sweep's folder; create one from an experiment with cachesim sweep "+
			"plan FILE -o DIR", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s contains no sweep (%s); start one with cachesim sweep FILE -o %s", dir, sweepFileName, dir)
	}
	if err != nil {
		return nil, err
	}
	return f, checkPlanned(dir, path)
}

// checkPlanned rejects an experiment file that differs from the one that was planned in dir, if dir contains a plan.
func checkPlanned(dir, path string) error {
	_, planned, err := readPlan(dir)
	if errors.As(err, new(*noPlanError)) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := experiment.ReadText(path)
	if err == nil && jsonlines.Digest(text) != planned {
		err = fmt.Errorf("%s was changed, or damaged, after it was planned; if it is correct, plan it with cachesim sweep "+
			"plan %s -o %s", path, path, dir)
	}
	return err
}

// Check rejects two kinds of plans: those of another version of the program, because results would mix, and those that
// do not match their experiment, because one of them was truncated or changed.
func (s *Sweep) Check(version string) error {
	ofParts := workload.Checksums{}
	for _, c := range s.Cells {
		if c.Version != version {
			return fmt.Errorf("%s was planned by cachesim %s, this is %s; plan it again, or use that version", s.Dir,
				c.Version, version)
		}
		ofParts.Put(c.Parts.Files(), c.Parts.Checksum)
	}
	cells, err := s.File.Cells(experiment.CellOptions{Version: version,
		PartChecksums: ofParts, Checksum: checksumsOf(s.Cells)})
	if err == nil && PlanDigest(cells) != PlanDigest(s.Cells) {
		file := filepath.Join(s.Dir, sweepFileName)
		err = fmt.Errorf("%s, with %d cells, is not the plan of %s, which has %d; write it again with cachesim sweep plan "+
			"%s -o %s",
			filepath.Join(s.Dir, planName), len(s.Cells), file, len(cells), file, s.Dir)
	}
	return err
}

// Write writes the experiment and the plan into the folder, which is created if it does not exist. It removes the
// output of another plan, except the results of its cells. The caller must have locked the folder.
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
	if err := writeText(s.Dir, sweepFileName, text); err != nil {
		return err
	}
	return WritePlan(s.Dir, s.Cells, text)
}

func writeText(dir, name string, text []byte) error {
	return atomicfile.WriteIn(dir, name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// isPlanned reports whether the folder contains this plan, of an experiment with this text.
func (s *Sweep) isPlanned(text []byte) bool {
	cells, planned, err := readPlan(s.Dir)
	if err != nil || planned != jsonlines.Digest(text) || PlanDigest(cells) != PlanDigest(s.Cells) {
		return false
	}
	there, err := filestate.ReadFile(filepath.Join(s.Dir, sweepFileName))
	return err == nil && bytes.Equal(there, text)
}

// removeOutdated removes another plan's output from the folder, so that it cannot be mistaken for the output of this
// plan while the sweep runs, or after it is interrupted. The plan goes first, so that the remaining files belong to
// none. The results of cells stay.
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

// Run replays cells of the plan and keeps their results in the folder. After that it calls options.Finished, if set.
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

// Reopen reads a finished sweep and its results from dir. It is an error if the sweep belongs to another version of the
// program, or if cells are missing.
func Reopen(dir, version string) (*Sweep, *Collection, error) {
	s, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.Cells {
		if c.Version != version {
			return nil, nil, fmt.Errorf("%s belongs to cachesim %s, this is %s", dir, c.Version, version)
		}
	}
	finished, err := ReadFinished(s.Cells, dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := Collect(s.Cells, finished)
	return s, c, err
}

// OpenAll opens the parts of a sweep in several folders, each with a copy of the same plan. The first one is for the
// whole sweep.
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
			return nil, fmt.Errorf("%s is a file; want a sweep's folder", dir)
		}
		cells, err := ReadPlan(dir)
		if err != nil {
			return nil, err
		}
		if !SamePlan(first.Cells, cells) {
			return nil, fmt.Errorf("%s and %s are sweeps of different plans, so their results cannot be combined",
				dirs[0], dir)
		}
	}
	return first, nil
}
