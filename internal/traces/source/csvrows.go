package source

import (
	"bytes"
	"encoding/csv"
	"io"
)

// CSVRows writes rows of CSV, each at once, so that an error names its request.
type CSVRows struct {
	buffer bytes.Buffer
	rows   *csv.Writer
	w      io.Writer
}

func NewCSVRows(w io.Writer) *CSVRows {
	r := &CSVRows{w: w}
	r.rows = csv.NewWriter(&r.buffer)
	return r
}

func (r *CSVRows) Write(cells []string) error {
	r.buffer.Reset()
	if err := r.rows.Write(cells); err != nil {
		return err
	}
	r.rows.Flush()
	_, err := r.w.Write(r.buffer.Bytes())
	return err
}
