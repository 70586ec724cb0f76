package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/workload"
)

// parseText reads an experiment whose first keys are those that every experiment has.
func parseText(text string) (*File, error) {
	return parse([]byte("name: test\ntitle: a test\nsource: none\n"+text), source{name: "test.yaml"})
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := parseText(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustExpand(t *testing.T, f *File) []Cell {
	t.Helper()
	cells, err := f.Cells(CellOptions{Version: "1", Checksum: func(w workload.Workload) (string, error) {
		return "sha256:" + strings.Join(w.Files, "+"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// summary writes what tells the cells of a test apart.
func summary(cells []Cell) (lines []string) {
	for _, c := range cells {
		line := fmt.Sprintf("%s %s %s seed=%d %s", c.Workload.Name, c.Capacity, c.Label, c.Seed, c.Axes)
		if c.Auxiliary {
			line += "(auxiliary)"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestCells(t *testing.T) {
	f := mustParse(t, `
traces:
  - {name: file, file: a.csv}
  - {name: made, generate: "zipf(objects=10)", with: {alpha: [0.5, 1]}, capacities: 3}
policies: [lru, random, {policy: s3fifo, with: {small: [0.1, 0.2]}}, opt-bypass]
capacities: 1%, 2%
seeds: 2
`)
	want := strings.Split(strings.TrimSpace(`
file 1% lru seed=0
file 1% random seed=0
file 1% random seed=1
file 1% s3fifo seed=0 small=0.1
file 1% s3fifo seed=0 small=0.2
file 1% opt-bypass seed=0
file 1% opt seed=0 (auxiliary)
file 2% lru seed=0
file 2% random seed=0
file 2% random seed=1
file 2% s3fifo seed=0 small=0.1
file 2% s3fifo seed=0 small=0.2
file 2% opt-bypass seed=0
file 2% opt seed=0 (auxiliary)
made 3 lru seed=0 alpha=0.5
made 3 random seed=0 alpha=0.5
made 3 s3fifo seed=0 alpha=0.5,small=0.1
made 3 s3fifo seed=0 alpha=0.5,small=0.2
made 3 opt-bypass seed=0 alpha=0.5
made 3 opt seed=0 alpha=0.5(auxiliary)
made 3 lru seed=1 alpha=0.5
`), "\n")
	cells := mustExpand(t, f)
	if got := summary(cells); !slices.Equal(got[:len(want)], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(cells) != 14+4*6 {
		t.Errorf("%d cells", len(cells))
	}
	hashes := map[string]bool{}
	for i, c := range cells {
		if c.Number != i {
			t.Errorf("cell %d has number %d", i, c.Number)
		}
		hashes[c.Hash] = true
	}
	for _, c := range cells {
		if len(c.Against) != 1 && !c.Auxiliary || c.Auxiliary && c.Against != nil {
			t.Errorf("%s %s is held against %q", c.Label, c.Capacity, c.Against)
		}
		for _, other := range c.Against {
			if !hashes[other] {
				t.Errorf("%s %s is held against %s, which is not there", c.Label, c.Capacity, other)
			}
		}
	}
}
