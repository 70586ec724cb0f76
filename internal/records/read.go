package records

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/filestate"
)

// Read reads records from a file, from a folder that Write filled, or from stdin if path is "-". JSON lines, CSV and
// Parquet are recognised by content. An unknown or missing field, a value of the wrong type, a number out of range and
// a truncated file are errors with file and line.
func Read(path string, stdin io.Reader) ([]Record, error) {
	if path == "-" {
		return ReadFrom("standard input", stdin)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		names := []string{jsonName, parquetName, csvName}
		found := FindIn(path, names)
		if found == "" {
			return nil, fmt.Errorf("folder %s contains none of %s", path, strings.Join(names, ", "))
		}
		path = found
	}
	f, err := filestate.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; want a file of records, or a folder that run -o wrote", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(path, filestate.Reader(f, path))
}

// FindIn returns the path of the first of some files that a folder has; "" if it has none.
func FindIn(dir string, names []string) string {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// ReadFrom reads records from r, as Read does. Errors begin with the name.
func ReadFrom(name string, r io.Reader) ([]Record, error) {
	data, err := io.ReadAll(r)
	var recs []Record
	if err == nil {
		recs, err = decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return recs, nil
}

// decode recognises the format of data and parses it.
func decode(data []byte) (recs []Record, err error) {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return nil, errors.New("empty, want records")
	case isParquet(data):
		recs, err = decodeParquet(data)
	case isJSON(data):
		recs, err = decodeJSON(data)
	case text[0] == '[':
		return nil, errors.New("line 1: want one record per line, got a JSON array")
	default:
		recs, err = decodeCSV(data)
	}
	if err == nil && len(recs) == 0 {
		err = errors.New("it contains no records")
	}
	return recs, err
}

// Recognises reports whether data begins as a file of records does: as Parquet, as a JSON object, or as CSV with the
// columns of records. ReadFrom may still refuse it.
func Recognises(data []byte) bool {
	header, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return isParquet(data) || isJSON(data) || bytes.HasPrefix(header, []byte(identity[0].name+","+identity[1].name+","))
}

func isParquet(data []byte) bool { return bytes.HasPrefix(data, []byte("PAR1")) }

func isJSON(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

func decodeJSON(data []byte) ([]Record, error) {
	var recs []Record
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var r Record
		if err := r.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func (r *Record) UnmarshalJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not UTF-8 text")
	}
	values, err := objectFields(text)
	if err != nil {
		return err
	}
	for _, f := range needed() {
		if _, ok := values[f.name]; !ok {
			return errMissing(f)
		}
	}
	var read Record
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f, err := fieldOf(name)
		if err != nil {
			return err
		}
		if err := f.setJSON(&read, values[name]); err != nil {
			return err
		}
	}
	*r = read
	return r.checkRead()
}

func (f field) setJSON(r *Record, raw json.RawMessage) error {
	if string(raw) == "null" {
		if f.optional {
			return nil
		}
		return fmt.Errorf("%s is null, want %s", f.name, f.want())
	}
	v := reflect.New(kinds[f.kind])
	if err := json.Unmarshal(raw, v.Interface()); err != nil {
		return fmt.Errorf("%s is %s, want %s", f.name, raw, f.want())
	}
	f.set(r, v.Elem())
	return nil
}

// objectFields returns the fields of a JSON object, which must be the whole text and have no duplicate fields.
func objectFields(text []byte) (map[string]json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	seen := map[string]bool{} // values has only the last of several fields with one name; the tokens show all
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token() // the text is known to be an object, and so are its braces
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(token)
		if seen[name] {
			return nil, fmt.Errorf("field %.80q appears twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func errMissing(f field) error {
	return fmt.Errorf("field %s is missing; records of older versions lack some fields; run it again", f.name)
}

func decodeCSV(data []byte) ([]Record, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8 text; want records as JSON lines, CSV or Parquet")
	}
	c := csv.NewReader(bytes.NewReader(data))
	header, err := c.Read()
	if err != nil {
		return nil, err
	}
	columns, err := columnsOf(header)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if data[len(data)-1] != '\n' { // a last number that was cut would be read as another number
		return nil, fmt.Errorf("line %d: truncated; want a line end after the last record", bytes.Count(data,
			[]byte("\n"))+1)
	}
	var recs []Record
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return recs, nil
		}
		if err != nil {
			return nil, err
		}
		var r Record
		for i, f := range columns {
			if err := f.setText(&r, row[i]); err != nil {
				line, _ := c.FieldPos(i)
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		if err := r.checkRead(); err != nil {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		recs = append(recs, r)
	}
}

// columnsOf returns the field of each column. Every required field must be there, and none twice.
func columnsOf(header []string) ([]field, error) {
	columns := make([]field, len(header))
	for i, name := range header {
		f, err := fieldOf(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("field %s appears twice", name)
		}
		columns[i] = f
	}
	for _, f := range needed() {
		if !slices.Contains(header, f.name) {
			return nil, errMissing(f)
		}
	}
	return columns, nil
}
