package records

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/atomicfile"
)

// Names of the files that Write makes in a folder.
const (
	jsonName    = "records.jsonl"
	csvName     = "records.csv"
	parquetName = "records.parquet"
)

// CheckDir creates dir if it is missing and makes sure that files can be written there, so that a long replay need not find out.
func CheckDir(dir string) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	f, err := atomicfile.Create(filepath.Join(dir, jsonName))
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// Write writes recs as records.jsonl, records.csv and records.parquet into dir, which is created if missing.
// After an error none of the three has changed, unless renaming one of them itself failed.
func Write(dir string, recs []Record) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	var files []*atomicfile.File
	for _, out := range []struct {
		name   string
		encode func(io.Writer, []Record) error
	}{{jsonName, EncodeJSON}, {csvName, EncodeCSV}, {parquetName, encodeParquet}} {
		f, err := atomicfile.Create(filepath.Join(dir, out.name))
		if err != nil {
			return err
		}
		defer f.Abort()
		buffer := bufio.NewWriter(f)
		if err := out.encode(buffer, recs); err != nil {
			return err
		}
		if err := buffer.Flush(); err != nil {
			return err
		}
		files = append(files, f)
	}
	for _, f := range files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// EncodeJSON writes one record per line as a JSON object.
func EncodeJSON(w io.Writer, recs []Record) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range recs {
		if err := e.Encode(&recs[i]); err != nil {
			return err
		}
	}
	return nil
}

// EncodeCSV writes a line with the names of the fields and one line per record; null is an empty cell.
func EncodeCSV(w io.Writer, recs []Record) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	c := csv.NewWriter(w)
	c.Write(fieldNames()) // errors stay in c until Flush
	row := make([]string, len(fields))
	for i := range recs {
		for j, f := range fields {
			row[j] = f.text(&recs[i])
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}

func encodeParquet(w io.Writer, recs []Record) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	p := parquet.NewGenericWriter[Record](w, parquet.Compression(&parquet.Zstd))
	if _, err := p.Write(recs); err != nil {
		return err
	}
	return p.Close()
}

// checkAll refuses to write what Read would refuse.
func checkAll(recs []Record) error {
	for i := range recs {
		if err := recs[i].Check(); err != nil {
			return fmt.Errorf("record %d (%s at %d): %w", i+1, recs[i].Label, recs[i].Capacity, err)
		}
	}
	return nil
}
