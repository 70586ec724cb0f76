package records

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// Names of the files that Write creates in a folder.
const (
	jsonName    = "records.jsonl"
	csvName     = "records.csv"
	parquetName = "records.parquet"
)

// FileNames returns the names of the files that Write creates.
func FileNames() []string { return []string{jsonName, csvName, parquetName} }

// CheckDir makes sure that files can be written to dir, so that errors show before results are computed. It creates
// neither the folder nor a file, since there may be no results.
func CheckDir(dir string) error {
	if err := atomicfile.CheckFolder(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := atomicfile.CreateIn(dir, jsonName)
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

type encoder func(io.Writer, []Record) error

type file struct {
	name   string
	encode encoder
}

var formats = []file{{jsonName, sealedJSON}, {csvName, sealedCSV}, {parquetName, sealedParquet}}

// Write writes recs as records.jsonl, records.csv and records.parquet into dir, which is created if it does not exist.
// After an error none of the three has changed, unless renaming one of them failed.
func Write(dir string, recs []Record) error {
	return writeAll(dir, formats, recs)
}

// Rewrite writes recs in place of those that Read finds at path, a file or a folder, in every format that exists there.
// After an error nothing has changed, unless renaming a file failed.
func Rewrite(path string, recs []Record) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		encode, err := encoderOf(path)
		if err != nil {
			return err
		}
		return writeAll(filepath.Dir(path), []file{{filepath.Base(path), encode}}, recs)
	}
	var there []file
	for _, f := range formats {
		if _, err := os.Stat(filepath.Join(path, f.name)); err == nil {
			there = append(there, f)
		}
	}
	return writeAll(path, there, recs)
}

func encoderOf(path string) (encoder, error) {
	data, err := filestate.ReadFile(path)
	switch {
	case err != nil:
		return nil, err
	case isParquet(data):
		return sealedParquet, nil
	case isJSON(data):
		return sealedJSON, nil
	}
	return sealedCSV, nil
}

// Outputs returns what writes the files of Write, to be written together with others.
func Outputs(recs []Record) ([]atomicfile.Output, error) { return outputs(formats, recs) }

func writeAll(dir string, files []file, recs []Record) error {
	all, err := outputs(files, recs)
	if err != nil {
		return err
	}
	return atomicfile.WriteAllIn(dir, all...)
}

func outputs(files []file, recs []Record) (all []atomicfile.Output, err error) {
	if err := checkAll(recs); err != nil {
		return nil, err
	}
	recs = sealed(recs)
	for _, f := range files {
		write := func(w io.Writer) error { return f.encode(w, recs) }
		all = append(all, atomicfile.Output{Name: f.name, Write: write})
	}
	return all, nil
}

// EncodeJSON writes one record per line as a JSON object.
func EncodeJSON(w io.Writer, recs []Record) error { return encodeSealed(w, recs, sealedJSON) }

// EncodeCSV writes a line with the names of the fields, including the metrics of at least one record, and one line per
// record; null is an empty cell.
func EncodeCSV(w io.Writer, recs []Record) error { return encodeSealed(w, recs, sealedCSV) }

func encodeSealed(w io.Writer, recs []Record, encode encoder) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	return encode(w, sealed(recs))
}

func sealedJSON(w io.Writer, recs []Record) error { return jsonlines.Write(w, recs) }

// MarshalJSON writes a record's fields and metrics as one object.
func (r Record) MarshalJSON() ([]byte, error) {
	var object bytes.Buffer
	values := jsonlines.NewEncoder(&object)
	separator := byte('{')
	for _, f := range fieldsOf([]Record{r}) {
		x := f.value(&r)
		if x == nil {
			continue
		}
		object.WriteByte(separator)
		if err := values.Encode(f.name); err != nil { // a label can have any character
			return nil, err
		}
		object.WriteByte(':')
		if err := values.Encode(x); err != nil {
			return nil, err
		}
		separator = ','
	}
	object.WriteByte('}')
	return object.Bytes(), nil
}

func sealedCSV(w io.Writer, recs []Record) error {
	fields := fieldsOf(recs)
	row := make([]string, len(fields))
	for j, f := range fields {
		row[j] = f.name
	}
	c := csv.NewWriter(w)
	c.Write(row) // c stores errors until Flush
	for i := range recs {
		for j, f := range fields {
			if text, ok := f.text(&recs[i]); ok {
				row[j] = text
			} else {
				row[j] = ""
			}
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}

func sealedParquet(w io.Writer, recs []Record) error {
	file, err := encodedParquet(recs)
	if err == nil {
		_, err = w.Write(file)
	}
	return err
}

// checkAll rejects what Read would reject.
func checkAll(recs []Record) error {
	for i := range recs {
		if err := recs[i].Check(); err != nil {
			return fmt.Errorf("record %d (%s at %d): %w", i+1, recs[i].Label, recs[i].Capacity, err)
		}
	}
	return nil
}
