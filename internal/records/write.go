package records

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/jsonlines"
)

// Names of the files that Write makes in a folder.
const (
	jsonName    = "records.jsonl"
	csvName     = "records.csv"
	parquetName = "records.parquet"
)

// FileNames returns the names of the files that Write makes.
func FileNames() []string { return []string{jsonName, csvName, parquetName} }

// CheckDir creates dir if it is missing and makes sure that files can be written there, so that a long replay need not
// find out.
func CheckDir(dir string) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	f, err := atomicfile.CreateIn(dir, jsonName)
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// output is a file of records to write.
type output struct {
	create func() (*atomicfile.File, error)
	encode encoder
}

type encoder func(io.Writer, []Record) error

// encoders are the formats by the names of their files.
var encoders = []struct {
	name   string
	encode encoder
}{{jsonName, EncodeJSON}, {csvName, EncodeCSV}, {parquetName, encodeParquet}}

func outputIn(dir, name string, encode encoder) output {
	return output{func() (*atomicfile.File, error) { return atomicfile.CreateIn(dir, name) }, encode}
}

// Write writes recs as records.jsonl, records.csv and records.parquet into dir, which is created if missing.
// After an error none of the three has changed, unless renaming one of them itself failed.
func Write(dir string, recs []Record) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	var outputs []output
	for _, e := range encoders {
		outputs = append(outputs, outputIn(dir, e.name, e.encode))
	}
	return writeAll(outputs, recs)
}

// Rewrite writes recs in place of those that Read finds at path, a file or a folder, in every format in which they are
// there. After an error nothing has changed, unless renaming a file itself failed.
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
		create := func() (*atomicfile.File, error) { return atomicfile.CreateIn(filepath.Split(path)) }
		return writeAll([]output{{create, encode}}, recs)
	}
	var outputs []output
	for _, e := range encoders {
		if _, err := os.Stat(filepath.Join(path, e.name)); err == nil {
			outputs = append(outputs, outputIn(path, e.name, e.encode))
		}
	}
	return writeAll(outputs, recs)
}

// encoderOf returns what writes the format of the records in a file.
func encoderOf(path string) (encoder, error) {
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, err
	case isParquet(data):
		return encodeParquet, nil
	case isJSON(data):
		return EncodeJSON, nil
	}
	return EncodeCSV, nil
}

// writeAll writes all files and then puts them under their names.
func writeAll(outputs []output, recs []Record) error {
	var files []*atomicfile.File
	for _, out := range outputs {
		f, err := out.create()
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
	return jsonlines.Write(w, sealed(recs))
}

// MarshalJSON writes the fields and the metrics of a record side by side.
func (r Record) MarshalJSON() ([]byte, error) {
	var object bytes.Buffer
	values := json.NewEncoder(&object)
	values.SetEscapeHTML(false) // jsonlines says why
	separator := byte('{')
	for _, f := range fieldsOf([]Record{r}) {
		x := f.value(&r)
		if x == nil {
			continue
		}
		object.WriteByte(separator)
		object.WriteString(strconv.Quote(f.name) + ":")
		if err := values.Encode(x); err != nil {
			return nil, err
		}
		separator = ','
	}
	object.WriteByte('}')
	return object.Bytes(), nil
}

// EncodeCSV writes a line with the names of the fields, those of the metrics that some record has among them, and one
// line per record; null is an empty cell.
func EncodeCSV(w io.Writer, recs []Record) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	recs = sealed(recs)
	fields := fieldsOf(recs)
	row := make([]string, len(fields))
	for j, f := range fields {
		row[j] = f.name
	}
	c := csv.NewWriter(w)
	c.Write(row) // errors stay in c until Flush
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

func encodeParquet(w io.Writer, recs []Record) error {
	if err := checkAll(recs); err != nil {
		return err
	}
	file, err := encodedParquet(sealed(recs))
	if err == nil {
		_, err = w.Write(file)
	}
	return err
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
