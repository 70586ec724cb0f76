package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/experiment"
)

// cellsDir is the folder in a sweep's folder with one file per finished cell, named by its hash.
const cellsDir = "cells"

// Store keeps the results of finished cells in a folder, one file each. A file appears only when it is complete, so
// several programs, also on several machines that share the folder, may write at the same time.
type Store struct {
	dir  string
	plan string // digest of the plan that cells run for
}

// storedResult is the content of a file, which contains its own digest.
type storedResult struct {
	Plan string              `json:"plan"` // digest of the plan that the cell ran for
	Cell experiment.CellText `json:"cell"`
	experiment.Result
}

// OpenStore returns the store in a sweep's folder for the results of a plan. It creates the store if it does not exist.
func OpenStore(dir string, plan []experiment.Cell) (*Store, error) {
	cells, err := atomicfile.MakeFolderIn(dir, cellsDir)
	return &Store{cells, PlanDigest(plan)}, err
}

// Finished says which cells of a plan are finished.
type Finished struct {
	results experiment.Results // of planned cells
	Damaged []string           // files that cannot be read, which count as missing
	// results of cells that are not in the plan, for example from another version of the program
	Others int
}

func (f *Finished) Has(c experiment.Cell) bool {
	_, ok := f.results[c.Hash]
	return ok
}

// Missing returns the cells that are not finished, each hash once.
func (f *Finished) Missing(cells []experiment.Cell) []experiment.Cell {
	return slices.DeleteFunc(experiment.WithoutRepetitions(cells), f.Has)
}

// ReadFinished reads the finished cells from the folders of sweeps. A folder that does not exist has no finished cells.
// A cell may have several files, in several folders or copied under a name that starts with its hash. Their results may
// differ in times only.
func ReadFinished(cells []experiment.Cell, dirs ...string) (*Finished, error) {
	f := &Finished{results: experiment.Results{}}
	planned := map[string]experiment.Cell{}
	for _, c := range cells {
		planned[c.Hash] = c
	}
	from := map[string]string{} // hash to file
	for _, dir := range dirs {
		paths, err := resultFiles(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			hash, _, _ := strings.Cut(filepath.Base(path), ".")
			c, ok := planned[hash]
			if !ok {
				f.Others++
				continue
			}
			result, err := readResult(path, hash)
			if err != nil {
				f.Damaged = append(f.Damaged, path)
				continue
			}
			if first, ok := f.results[hash]; !ok {
				f.results[hash], from[hash] = result, path
			} else if err := first.SameAs(c, result); err != nil {
				return nil, &DifferentError{c, from[hash], path, err}
			}
		}
	}
	return f, nil
}

// resultFiles lists the files of finished cells. Hidden files are still being written, or were when their program was
// killed.
func resultFiles(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, cellsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			paths = append(paths, filepath.Join(dir, cellsDir, name))
		}
	}
	return paths, err
}

// readResult reads a file, which should contain the cell with the given hash.
func readResult(path, hash string) (experiment.Result, error) {
	text, err := filestate.ReadFile(path)
	if err != nil {
		return experiment.Result{}, err
	}
	if text, err = jsonlines.Unseal(text); err != nil {
		return experiment.Result{}, err
	}
	var stored storedResult
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&stored); err != nil {
		return experiment.Result{}, err
	}
	if stored.Record.Cell != hash || stored.Cell.Hash != hash || !stored.Cell.IsNamed() {
		return experiment.Result{}, fmt.Errorf("contains cell %q", stored.Record.Cell)
	}
	return stored.Result, stored.Record.Check()
}

// DifferentError says that the same cell has given two results. Replays are repeatable, so one of the two is wrong.
type DifferentError struct {
	Cell          experiment.Cell
	First, Second string // files
	Difference    error
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s and %s are results of the same cell (%s) and differ: %v; find out which is wrong and remove it",
		e.First, e.Second, e.Cell, e.Difference)
}

// Put stores the result of a cell. If another program has finished the cell meanwhile, only one result is kept if they
// are the same; otherwise both are kept, and the error is a DifferentError.
func (s *Store) Put(c experiment.Cell, r experiment.Result) error {
	text, err := jsonlines.Marshal(storedResult{s.plan, c.Text(), r})
	if err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	text = jsonlines.Seal(text)
	name := c.Hash + ".json"
	path := filepath.Join(s.dir, name)
	err = atomicfile.WriteNew(s.dir, name, text)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	there, err := readResult(path, c.Hash)
	if err != nil { // damaged: this is why the cell ran again
		return writeText(s.dir, name, text)
	}
	different := there.SameAs(c, r)
	if different == nil {
		return nil
	}
	second, err := s.putBeside(c, text)
	if err != nil {
		return err
	}
	return &DifferentError{c, path, second, different}
}

// putBeside stores a result under the first free name next to its cell's.
func (s *Store) putBeside(c experiment.Cell, text []byte) (path string, err error) {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s.%d.json", c.Hash, n)
		if err = atomicfile.WriteNew(s.dir, name, text); !errors.Is(err, fs.ErrExist) {
			return filepath.Join(s.dir, name), err
		}
	}
}
