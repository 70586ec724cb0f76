package experiment

import (
	"testing"

	"github.com/cachesim/cachesim/configs"
)

// fewAllocations take a few milliseconds: an experiment with so few may check many parts for few cells each.
const fewAllocations = 30_000

// The extent equals the number of cells, and computing it creates none: listing experiments must not take seconds.
func TestExtentCountsCellsWithoutMakingThem(t *testing.T) {
	for _, name := range configs.Names() {
		f, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := f.Cells(CellOptions{Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		extent, err := f.Extent()
		if err != nil {
			t.Fatal(err)
		}
		if extent.Cells != len(cells) {
			t.Errorf("%s: extent has %d cells, the experiment %d", name, extent.Cells, len(cells))
		}
		workloads := map[string]bool{}
		for _, w := range extent.Workloads {
			workloads[w.Name] = true
		}
		for _, c := range cells {
			if !workloads[c.Workload.Name] {
				t.Fatalf("%s: workload %s is not in the extent", name, c.Workload.Name)
			}
		}
		counting := testing.AllocsPerRun(1, func() { _, _ = f.Extent() })
		making := testing.AllocsPerRun(1, func() { _, _ = f.Cells(CellOptions{Version: "test"}) })
		if counting > fewAllocations && counting > making*2/3 {
			t.Errorf("%s: %.0f allocations to count the cells, %.0f to make them", name, counting, making)
		}
	}
}
