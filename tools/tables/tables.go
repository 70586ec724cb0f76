// Package tables keeps tables of the repository: text with tabs between its columns, and the names of these in the first
// line.
package tables

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Read returns the rows of a table, which must have these columns: none if there is no file, or an empty one.
func Read(path string, columns []string) ([][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	table := csv.NewReader(bytes.NewReader(text))
	table.Comma = '\t'
	lines, err := table.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) == 0 {
		return nil, nil
	}
	if !slices.Equal(lines[0], columns) {
		return nil, fmt.Errorf("%s has the columns %q, want %q", path, lines[0], columns)
	}
	return lines[1:], nil
}

// Write replaces a table. If that fails, the file stays as it is.
func Write(path string, columns []string, rows [][]string) error {
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	table.Comma = '\t'
	table.Write(columns) //nolint:errcheck // WriteAll has it
	if err := table.WriteAll(rows); err != nil {
		return err
	}
	return Replace(path, text.Bytes())
}

// SetRow replaces the row of a table that begins with the same name as this one, or adds it. Rows are in the order of
// the names; those of other names are removed.
func SetRow(path string, columns, row, names []string) error {
	rows, err := Read(path, columns)
	if err != nil {
		return err
	}
	byName := map[string][]string{}
	for _, r := range append(rows, row) {
		byName[r[0]] = r
	}
	rows = nil
	for _, name := range names {
		if r, ok := byName[name]; ok {
			rows = append(rows, r)
		}
	}
	return Write(path, columns, rows)
}

// Replace replaces a file, or leaves it as it is.
func Replace(path string, text []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
