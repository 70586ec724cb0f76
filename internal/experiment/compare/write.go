package compare

import (
	"io"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// Write writes the comparison into a folder, which is created if missing: comparison.md, comparison.json, the rows and
// the cells as CSV, the reductions if there are any, and the figures. After an error no file has changed.
func (c *Comparison) Write(dir string) error {
	drawn, err := c.Figures()
	if err != nil {
		return err
	}
	as := func(format string) func(io.Writer) error {
		return func(w io.Writer) error { return c.Print(w, format, 0) }
	}
	outputs := []atomicfile.Output{{Name: "comparison.md", Write: as("markdown")},
		{Name: "comparison.json", Write: as("json")}}
	if len(c.Versus) > 0 {
		outputs = append(outputs, atomicfile.Output{Name: "rows.csv", Write: c.rowsCSV},
			atomicfile.Output{Name: "cells.csv", Write: c.cellsCSV})
	}
	if c.Reductions != nil {
		outputs = append(outputs, atomicfile.Output{Name: "reductions.csv", Write: c.reductionsCSV})
	}
	return atomicfile.WriteAllIn(dir, append(outputs, plots.Outputs(drawn)...)...)
}
