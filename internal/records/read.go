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

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/cachesim/cachesim/internal/faults"
	"github.com/cachesim/cachesim/internal/filestate"
	"github.com/cachesim/cachesim/internal/suggest"
)

// Read reads records from a file, from a folder that Write filled, or from stdin where path is "-". JSON lines, CSV and
// Parquet are told apart by their content. A field that is unknown or missing, a value of the wrong type, a number out
// of range and a file that breaks off are errors with file and line.
func Read(path string, stdin io.Reader) ([]Record, error) {
	if path == "-" {
		return readFrom("standard input", stdin)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if path, err = findIn(path); err != nil {
			return nil, err
		}
	}
	f, err := filestate.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist; want a file of records, or a folder that run -o wrote", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFrom(path, faults.Reader(f, path))
}

// findIn returns the file of records in dir.
func findIn(dir string) (string, error) {
	names := []string{jsonName, parquetName, csvName}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("folder %s holds none of %s", dir, strings.Join(names, ", "))
}

func readFrom(name string, r io.Reader) ([]Record, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	recs, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return recs, nil
}

// decode recognises the format of data and reads it.
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
		err = errors.New("there are no records in it")
	}
	return recs, err
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
		r, err := decodeObject(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func decodeObject(text []byte) (Record, error) {
	if !utf8.Valid(text) {
		return Record{}, errors.New("not UTF-8 text")
	}
	values, err := objectFields(text)
	if err != nil {
		return Record{}, err
	}
	var r Record
	v := reflect.ValueOf(&r).Elem()
	for _, f := range fields {
		raw, ok := values[f.name]
		delete(values, f.name)
		switch {
		case f.optional && string(raw) == "null", !ok && f.mayBeAbsent():
			continue
		case !ok:
			return Record{}, errMissing(f)
		case string(raw) == "null":
			return Record{}, fmt.Errorf("%s is null, want %s", f.name, f.want())
		}
		if err := json.Unmarshal(raw, v.Field(f.index).Addr().Interface()); err != nil {
			return Record{}, fmt.Errorf("%s is %s, want %s", f.name, raw, f.want())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		return Record{}, suggest.Unknown("field", name, fieldNames())
	}
	return r, r.checkRead()
}

// objectFields returns the fields of a JSON object that is all of text, and in which none is there twice.
func objectFields(text []byte) (map[string]json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token() // that text is an object is known, as are its braces
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if name := fmt.Sprint(name); seen[name] {
			return nil, fmt.Errorf("field %.80q appears twice", name)
		}
		seen[fmt.Sprint(name)] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func errMissing(f field) error {
	return fmt.Errorf("field %s is missing; records of an older version lack some and have to be made anew", f.name)
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
	if data[len(data)-1] != '\n' {
		return nil, fmt.Errorf("line %d: breaks off, want a line end after the last record", bytes.Count(data,
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

// columnsOf returns the field of each column. Every field that may not be absent must be there, none twice.
func columnsOf(header []string) ([]field, error) {
	columns := make([]field, len(header))
	seen := map[string]bool{}
	for i, name := range header {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if at < 0 {
			return nil, suggest.Unknown("field", name, fieldNames())
		}
		if seen[name] {
			return nil, fmt.Errorf("field %s appears twice", name)
		}
		seen[name] = true
		columns[i] = fields[at]
	}
	for _, f := range fields {
		if !f.mayBeAbsent() && !seen[f.name] {
			return nil, errMissing(f)
		}
	}
	return columns, nil
}

func decodeParquet(data []byte) (recs []Record, err error) {
	defer func() { // the library panics on some damaged files
		if r := recover(); r != nil {
			recs, err = nil, errors.New("damaged Parquet file: what it says of its columns contradicts what they hold")
		}
	}()
	if err := checkParquet(data); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	if err := checkSchema(file.Schema()); err != nil {
		return nil, err
	}
	if err := checkCodecs(file.Metadata()); err != nil {
		return nil, err
	}
	r := parquet.NewGenericReader[Record](file)
	defer r.Close()
	batch := make([]Record, 1024)
	for err == nil {
		clear(batch)
		var n int
		n, err = r.Read(batch)
		for i := range batch[:n] {
			if err := batch[i].checkRead(); err != nil {
				return nil, fmt.Errorf("record %d: %w", len(recs)+1, err)
			}
			recs = append(recs, batch[i])
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	if int64(len(recs)) != file.NumRows() {
		return nil, fmt.Errorf("damaged Parquet file: %d records, want %d", len(recs), file.NumRows())
	}
	return recs, nil
}

// checkCodecs refuses LZ4, which nobody writes records with: the library takes ever more memory for a page that is
// damaged.
func checkCodecs(m *format.FileMetaData) error {
	for _, group := range m.RowGroups {
		for _, column := range group.Columns {
			if codec := column.MetaData.Codec; codec == format.Lz4 || codec == format.Lz4Raw {
				return fmt.Errorf("damaged Parquet file, or one with compression %s; want zstd, snappy, gzip or none", codec)
			}
		}
	}
	return nil
}

// checkSchema refuses columns that the library would drop, fill with zeros or convert.
func checkSchema(got *parquet.Schema) error {
	want := map[string]parquet.Field{}
	for _, f := range parquet.SchemaOf(Record{}).Fields() {
		want[f.Name()] = f
	}
	for _, g := range got.Fields() {
		w, ok := want[g.Name()]
		if !ok {
			return suggest.Unknown("field", g.Name(), fieldNames())
		}
		delete(want, g.Name())
		if !parquet.EqualNodes(g, w) {
			return fmt.Errorf("column %s is %s, want %s", g.Name(), g, w)
		}
	}
	for _, f := range fields {
		if _, missing := want[f.name]; missing && !f.mayBeAbsent() {
			return errMissing(f)
		}
	}
	return nil
}
