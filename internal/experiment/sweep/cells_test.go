package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// newCell returns a cell of a generated trace, such as "zipf(objects=100,requests=1000)", or of a file.
func newCell(trace, policy, capacity string) experiment.Cell {
	c, err := readCell(trace, policy, capacity)
	if err != nil {
		panic(err)
	}
	return c
}

func readCell(trace, policy, capacity string) (experiment.Cell, error) {
	c := experiment.CellText{Label: policy, Capacity: capacity, Sizes: "as-written", Version: "test"}
	c.Cache, c.Policy = "exact", policy
	if workload.IsGenerator(trace) {
		c.Workload = workload.Workload{Name: trace, Generator: trace}
	} else {
		c.Workload = workload.Workload{Name: trace, Files: []string{trace}}
	}
	return experiment.CellReader{}.Read(c)
}

func numbered(cells ...experiment.Cell) []experiment.Cell {
	for i := range cells {
		cells[i].Number = i
		cells[i] = cells[i].WithHash()
	}
	return cells
}

// grid returns a plan of every policy at every capacity on every trace, each compared with opt.
func grid(traces, policies, capacities []string) []experiment.Cell {
	var cells []experiment.Cell
	for _, trace := range traces {
		for _, capacity := range capacities {
			opt := newCell(trace, "opt", capacity)
			opt.Auxiliary = true
			cells = append(cells, opt)
			for _, policy := range policies {
				c := newCell(trace, policy, capacity)
				c.Against = []string{opt.WithHash().Hash}
				cells = append(cells, c)
			}
		}
	}
	return numbered(cells...)
}

const (
	zipfA = "zipf(objects=300,requests=20000,alpha=0.8)"
	zipfB = "zipf(objects=300,requests=20000,alpha=1.1)"
)

func smallGrid() []experiment.Cell {
	return grid([]string{zipfA, zipfB}, []string{"lru", "s3fifo", "random", "lru-stack"}, []string{"5", "1%", "10%"})
}

func mustParse(t *testing.T, text string) *experiment.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "experiment.yaml")
	must.Do(t, os.WriteFile(path, []byte("name: test\ntitle: a test\nsource: none\n"+text), 0o644))
	return must.Get(experiment.Load(path))(t)
}

func mustExpand(t *testing.T, f *experiment.File) []experiment.Cell {
	t.Helper()
	cells := must.Get(f.Cells(experiment.CellOptions{Version: "1", Checksum: func(w workload.Workload) (string, error) {
		return "sha256:" + strings.Join(w.Files, "+"), nil
	}}))(t)
	return cells
}
