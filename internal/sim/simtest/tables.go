package simtest

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// ReferenceFolders returns the folder of real traces (CACHESIM_TRACES), and ../reference beside it with published
// numbers for them. It skips the test without them.
func ReferenceFolders(t testing.TB) (ofTraces, ofNumbers string) {
	t.Helper()
	ofTraces = os.Getenv("CACHESIM_TRACES")
	if ofTraces == "" {
		t.Skip("CACHESIM_TRACES is not set: no real traces to compare on")
	}
	ofNumbers = filepath.Join(ofTraces, "..", "reference")
	if _, err := os.Stat(ofNumbers); err != nil {
		t.Skipf("no reference numbers beside the traces: %v", err)
	}
	return ofTraces, ofNumbers
}

// ReadTable returns the rows of a table, with tabs and a header line, as maps from column to text.
func ReadTable(t testing.TB, path string) []map[string]string {
	t.Helper()
	file := must.Get(filestate.Open(path))(t)
	defer file.Close()
	r := csv.NewReader(file)
	r.Comma, r.Comment, r.LazyQuotes, r.FieldsPerRecord = '\t', '#', true, -1
	header := must.Get(r.Read())(t)
	var rows []map[string]string
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		must.Do(t, err)
		row := map[string]string{}
		for i, f := range fields {
			row[header[i]] = f
		}
		rows = append(rows, row)
	}
}
