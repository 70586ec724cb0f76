package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// The metadata of a Parquet file of records contains a digest of the whole file, computed with zeros in place of the
// digest.
const parquetDigestName = "cachesim-sha256"

var (
	noDigest = strings.Repeat("0", 64)
	// parquetDigest finds the digest: in Thrift, its type and its length come between its name and its value.
	parquetDigest = regexp.MustCompile(parquetDigestName + "\x18\x40" + "([0-9a-f]{64})")
)

func (f field) node() parquet.Node {
	n := map[reflect.Kind]parquet.Node{
		reflect.String: parquet.String(), reflect.Int64: parquet.Int(64), reflect.Uint64: parquet.Uint(64),
		reflect.Float64: parquet.Leaf(parquet.DoubleType), reflect.Bool: parquet.Leaf(parquet.BooleanType),
	}[f.kind]
	if f.optional {
		return parquet.Optional(n)
	}
	return n
}

// inOrder is a group whose columns are in the order of the fields instead of sorted by name.
type inOrder struct {
	parquet.Group
	fields []field
}

func (g inOrder) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	all := make([]parquet.Field, len(g.fields))
	for i, f := range g.fields {
		all[i] = byName[f.name]
	}
	return all
}

func writeParquet(w io.Writer, recs []Record, options ...parquet.WriterOption) error {
	fields := fieldsOf(recs)
	group := inOrder{parquet.Group{}, fields}
	for _, f := range fields {
		group.Group[f.name] = f.node()
	}
	p := parquet.NewGenericWriter[any](w, append(options, parquet.NewSchema("Record", group))...)
	row := make(parquet.Row, len(fields))
	for i := range recs {
		for column, f := range fields {
			row[column] = f.parquetValue(&recs[i], column)
		}
		if _, err := p.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return p.Close()
}

// encodedParquet returns a Parquet file of records with its digest.
func encodedParquet(recs []Record) ([]byte, error) {
	var file bytes.Buffer
	err := writeParquet(&file, recs, parquet.Compression(&parquet.Zstd),
		parquet.KeyValueMetadata(parquetDigestName, noDigest))
	if err != nil {
		return nil, err
	}
	at := placeOfDigest(file.Bytes())
	if at == nil {
		return nil, errors.New("the Parquet file has no room for its digest")
	}
	digest := jsonlines.Digest(file.Bytes())
	copy(at, digest)
	return file.Bytes(), nil
}

func (f field) parquetValue(r *Record, column int) parquet.Value {
	x := f.value(r)
	if x == nil {
		return parquet.Value{}.Level(0, 0, column)
	}
	defined := 0
	if f.optional {
		defined = 1
	}
	if s, ok := x.(string); ok {
		return parquet.ByteArrayValue([]byte(s)).Level(0, defined, column)
	}
	return parquet.ValueOf(x).Level(0, defined, column)
}

// setParquet is the inverse of parquetValue.
func (f field) setParquet(r *Record, x parquet.Value) {
	var v any
	switch f.kind {
	case reflect.String:
		v = string(x.ByteArray())
	case reflect.Int64:
		v = x.Int64()
	case reflect.Uint64:
		v = x.Uint64()
	case reflect.Float64:
		v = x.Double()
	case reflect.Bool:
		v = x.Boolean()
	}
	f.set(r, reflect.ValueOf(v))
}

// RecoverParquet turns a panic of the library into an error without a result: it panics on some damaged files. Readers
// of Parquet files defer it.
func RecoverParquet[T any](result *T, err *error) {
	if r := recover(); r != nil {
		var none T
		*result = none
		*err = errors.New("damaged Parquet file: its description of the columns contradicts their content")
	}
}

func decodeParquet(data []byte) (recs []Record, err error) {
	defer RecoverParquet(&recs, &err)
	if err := checkParquet(data); err != nil {
		return nil, err
	}
	file, err := OpenParquet(data)
	if err != nil {
		return nil, err
	}
	columns, err := parquetColumns(file.Schema())
	if err != nil {
		return nil, err
	}
	for _, group := range file.RowGroups() {
		if recs, err = appendGroup(recs, group, columns); err != nil {
			return nil, err
		}
	}
	if int64(len(recs)) != file.NumRows() {
		return nil, fmt.Errorf("damaged Parquet file: %d records, want %d", len(recs), file.NumRows())
	}
	return recs, nil
}

func appendGroup(recs []Record, group parquet.RowGroup, columns []field) ([]Record, error) {
	rows := group.Rows()
	defer rows.Close()
	batch := make([]parquet.Row, 128)
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			var r Record
			for _, x := range row {
				if !x.IsNull() {
					columns[x.Column()].setParquet(&r, x)
				}
			}
			if err := r.checkRead(); err != nil {
				return nil, fmt.Errorf("record %d: %w", len(recs)+1, err)
			}
			recs = append(recs, r)
		}
		switch {
		case errors.Is(err, io.EOF):
			return recs, nil
		case err != nil:
			return nil, fmt.Errorf("damaged Parquet file: %w", err)
		case n == 0:
			return nil, errors.New("damaged Parquet file: it is truncated")
		}
	}
}

// parquetColumns returns the field of each column. It rejects columns that would have to be dropped or converted.
func parquetColumns(got *parquet.Schema) ([]field, error) {
	var header []string
	for _, g := range got.Fields() {
		header = append(header, g.Name())
	}
	columns, err := columnsOf(header)
	if err != nil {
		return nil, err
	}
	for i, g := range got.Fields() {
		if want := columns[i].node(); !parquet.EqualNodes(g, want) {
			return nil, fmt.Errorf("column %s is %s, want %s", g.Name(), g, want)
		}
	}
	return columns, nil
}

// OpenParquet opens a Parquet file that this program may have written. It rejects what the library would need memory
// for without bounds: metadata that claim to be longer than the file, and LZ4.
func OpenParquet(data []byte) (*parquet.File, error) {
	const frame = len("PAR1") + 4 + len("PAR1") // around the metadata: marks, and their length before the last
	if len(data) < frame || uint64(binary.LittleEndian.Uint32(data[len(data)-8:])) > uint64(len(data)-frame) {
		return nil, errors.New("damaged Parquet file: its metadata are longer than the file; it may be truncated")
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("damaged Parquet file: %w", err)
	}
	return file, checkCodecs(file.Metadata())
}

// checkCodecs rejects Parquet files with LZ4, which no program uses for records: the library needs ever more memory for
// a damaged page.
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

// placeOfDigest returns the position of the digest in a Parquet file, nil if it has none.
func placeOfDigest(file []byte) []byte {
	places := parquetDigest.FindAllSubmatchIndex(file, -1)
	if places == nil {
		return nil
	}
	last := places[len(places)-1] // the metadata are at the end: an earlier match is text of a record
	return file[last[2]:last[3]]
}

// checkParquet rejects a file that was changed after it was written, before any of its content is used. A file without
// a digest, written by another program, passes.
func checkParquet(data []byte) error {
	data = bytes.Clone(data)
	at := placeOfDigest(data)
	if at == nil {
		return nil
	}
	digest := string(at)
	copy(at, noDigest)
	if jsonlines.Digest(data) != digest {
		return errors.New("damaged Parquet file: its digest does not match its content; run it again")
	}
	return nil
}
