package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestEstimatesGrowWithTheTrace(t *testing.T) {
	var lines strings.Builder
	for i := range 3 * measuredRequests {
		fmt.Fprintln(&lines, i*i%997)
	}
	file := filepath.Join(t.TempDir(), "trace.txt")
	must.Do(t, os.WriteFile(file, []byte(lines.String()), 0o644))
	limited := newCell(file, "lru", "10")
	limited.Workload.Limit = 2 * measuredRequests
	for _, test := range []struct {
		cell Cell
		want float64 // length of the trace divided by what is measured
	}{
		{newCell(file, "lru", "10"), 3},
		{limited, 2},
		{newCell("zipf(objects=100,requests=1000)", "lru", "10"), 1},
		{newCell("zipf(objects=100,requests=1000000)", "lru", "10"), 10},
		{newCell("attention(layers=1,context=200,steps=40)", "lru", "10"), 5},
		{newCell("attention(layers=1,context=200,steps=4)", "lru", "10"), 1},
	} {
		s := must.Get(takeSample(t.Context(), []Cell{test.cell}, nil))(t)
		if s.scale < 0.9*test.want || s.scale > 1.1*test.want {
			t.Errorf("%s, at most %d requests: is taken to be %v times what is measured, want %v", test.cell,
				test.cell.Workload.Limit, s.scale, test.want)
		}
	}
}

func TestEstimateCountsSharedPassesOnce(t *testing.T) {
	cells := numbered(newCell(zipfA, "lru-stack", "5"), newCell(zipfA, "lru-stack", "10"), newCell(zipfA, "lru", "5"),
		newCell(zipfA, "lru", "10"), newCell(zipfB, "lru", "10"))
	cost := must.Get(EstimateCost(t.Context(), cells, nil))(t)
	var sum float64
	for _, c := range cells {
		if cost.Cells[c.Hash] <= 0 {
			t.Errorf("%s costs %v", c, cost.Cells[c.Hash])
		}
		sum += cost.Cells[c.Hash]
	}
	if got, want := cost.Total(cells, 2), cost.Loads+sum/2; got != want || cost.Loads <= 0 {
		t.Errorf("total %v, want %v, with loads %v", got, want, cost.Loads)
	}
	again := newCell(zipfA, "lru-stack", "5")
	s := must.Get(takeSample(t.Context(), []Cell{again}, nil))(t)
	s.measured[again.costKey()] = 8
	seconds := map[string]float64{}
	other := newCell(zipfA, "lru-stack", "10")
	other.Hash = "other"
	if err := s.replayAll(t.Context(), []Cell{again, other}, seconds); err != nil || seconds["other"] != 4 {
		t.Errorf("each of two cells that share a pass of 8 s costs %v, %v", seconds, err)
	}
}

func TestEstimateNamesTheCellThatCannotBeRun(t *testing.T) {
	for trace, want := range map[string]string{"nowhere.csv": "trace nowhere.csv: nowhere.csv: no such trace file",
		zipfA: "lru at 1MiB on zipf"} {
		if _, err := EstimateCost(t.Context(), numbered(newCell(trace, "lru", "1MiB")), nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
