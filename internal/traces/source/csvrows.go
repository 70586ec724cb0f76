package source

import (
	"bytes"
	"encoding/csv"
	"io"
)

// CSVRows writes rows of CSV, each at once, so that an error names its request. With a clock, they begin with a time.
// What embeds it has nothing to write at its end.
type CSVRows struct {
	buffer bytes.Buffer
	rows   *csv.Writer
	w      io.Writer
	clock  bool
	cells  []string
}

// NewCSVRows writes the header; the cells of a row are in its order.
func NewCSVRows(w io.Writer, clock bool, header ...string) (*CSVRows, error) {
	r := &CSVRows{w: w, clock: clock}
	r.rows = csv.NewWriter(&r.buffer)
	return r, r.write("time", header)
}

// WriteRow writes a row; time is in nanoseconds.
func (r *CSVRows) WriteRow(time int64, cells ...string) error {
	return r.write(string(AppendSeconds(nil, time)), cells)
}

func (r *CSVRows) write(time string, cells []string) error {
	r.cells = r.cells[:0]
	if r.clock {
		r.cells = append(r.cells, time)
	}
	r.buffer.Reset()
	if err := r.rows.Write(append(r.cells, cells...)); err != nil {
		return err
	}
	r.rows.Flush()
	_, err := r.w.Write(r.buffer.Bytes())
	return err
}

func (r *CSVRows) Finish() error { return nil }
func (r *CSVRows) Discard()      {}
