package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Names of the files that Write creates in a folder.
const (
	jsonName    = "series.jsonl"
	parquetName = "series.parquet"
)

// FileNames returns the names of the files that Write creates.
func FileNames() []string { return []string{jsonName, parquetName} }

// Write writes rows as series.jsonl and series.parquet into dir, which is created if it does not exist. Without rows it
// removes an earlier run's. After an error neither file has changed, unless renaming one of them failed.
func Write(dir string, rows []Row) error {
	outputs, err := Outputs(rows)
	switch {
	case err != nil:
		return err
	case len(outputs) == 0:
		return Remove(dir)
	}
	return atomicfile.WriteAllIn(dir, outputs...)
}

// Outputs returns what writes the files of Write, to be written together with others; none without rows.
func Outputs(rows []Row) ([]atomicfile.Output, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	for i := range rows {
		if err := rows[i].check(); err != nil {
			return nil, fmt.Errorf("row %d of the series: %w", i+1, err)
		}
	}
	return []atomicfile.Output{
		{Name: jsonName, Write: func(w io.Writer) error { return jsonlines.Write(w, rows) }},
		{Name: parquetName, Write: func(w io.Writer) error { return encodeParquet(w, rows) }},
	}, nil
}

// Remove deletes the files that Write made in a folder, if there are any.
func Remove(dir string) error {
	for _, name := range FileNames() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func encodeParquet(w io.Writer, rows []Row) error {
	p := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Zstd))
	if _, err := p.Write(rows); err != nil {
		return err
	}
	return p.Close()
}

// Read reads series from a file, or from a folder that Write filled; a folder without series has none. JSON lines and
// Parquet are recognised by content. An unknown or missing field, an impossible value and a truncated file are errors
// with file and line.
func Read(path string) ([]Row, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if path = records.FindIn(path, FileNames()); path == "" {
			return nil, nil
		}
	}
	f, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(filestate.Reader(f, path))
	if err == nil {
		var rows []Row
		if rows, err = decode(data); err == nil {
			return rows, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

func decode(data []byte) ([]Row, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("empty, want the rows of series")
	case bytes.HasPrefix(data, []byte("PAR1")):
		return decodeParquet(data)
	}
	return decodeJSON(data)
}

func decodeJSON(data []byte) (rows []Row, err error) {
	if len(data) == 0 || data[len(data)-1] != '\n' {
		return nil, fmt.Errorf("line %d: truncated; want a line end after the last row", bytes.Count(data, []byte("\n"))+1)
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var row struct {
			Cell, Name, Label *string
			Time, Value       *float64
		}
		err := d.Decode(&row)
		if err == nil && (row.Cell == nil || row.Name == nil || row.Label == nil || row.Time == nil || row.Value == nil) {
			err = errors.New("want the fields cell, time, name, label and value")
		}
		if err == nil && d.More() {
			err = errors.New("more than one value on a line")
		}
		var r Row
		if err == nil {
			r = Row{*row.Cell, *row.Time, *row.Name, *row.Label, *row.Value}
			err = r.check()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func decodeParquet(data []byte) (rows []Row, err error) {
	defer records.RecoverParquet(&rows, &err)
	file, err := records.OpenParquet(data)
	if err != nil {
		return nil, err
	}
	if err := checkColumns(file); err != nil {
		return nil, err
	}
	r := parquet.NewGenericReader[Row](file)
	defer r.Close()
	batch := make([]Row, 1024)
	for err == nil {
		clear(batch)
		var n int
		n, err = r.Read(batch)
		for i := range batch[:n] {
			if err := batch[i].check(); err != nil {
				return nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
			}
			rows = append(rows, batch[i])
		}
	}
	if !errors.Is(err, io.EOF) || int64(len(rows)) != file.NumRows() {
		return nil, fmt.Errorf("damaged Parquet file: %d rows read, want %d: %w", len(rows), file.NumRows(), err)
	}
	return rows, nil
}

// checkColumns rejects columns other than a Row's.
func checkColumns(file *parquet.File) error {
	want := parquet.SchemaOf(Row{}).Fields()
	got := file.Schema().Fields()
	if len(got) != len(want) {
		return fmt.Errorf("%d columns, want cell, time, name, label and value", len(got))
	}
	types := map[string]parquet.Field{}
	for _, f := range got {
		types[f.Name()] = f
	}
	for _, w := range want {
		if g, ok := types[w.Name()]; !ok || !parquet.EqualNodes(g, w) {
			return fmt.Errorf("column %s is missing or of another type, want %s", w.Name(), w)
		}
	}
	return nil
}

// ReadOf reads the series that belong to records in a folder, and checks the rows of each record, in each file,
// against the record's digest. It returns none if the records were read from a file or the folder contains no series:
// records may be kept without them.
func ReadOf(dir string, recs []records.Record) (rows []Row, err error) {
	for _, name := range FileNames() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if rows, err = Read(path); err != nil {
			return nil, err
		}
		byCell := ByCell(rows)
		for i := range recs {
			if r := &recs[i]; r.Series != "" && Digest(byCell[r.Cell]) != r.SeriesDigest {
				return nil, fmt.Errorf("%s: the series of record %d, %s at %s, was not written with it, or was changed; run it "+
					"again, or remove the series", path, i+1,
					show.Printable(r.Label), show.Printable(r.CapacityText))
			}
		}
	}
	return rows, nil
}
