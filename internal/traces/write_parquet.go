package traces

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetGroup is the number of rows in a row group, parquetQueryGroup that of queries, which are larger: what is held
// in memory while writing.
const (
	parquetGroup      = 1 << 16
	parquetQueryGroup = 1 << 13
)

// parquetWriter writes the columns that the records carry: time (TIMESTAMP in ns), key (UINT_64, or a string if one of
// the first keys, as many as a row group has rows, is text), size (INT64, bytes) and op (a string); of queries also
// session, topic, answer and text (strings or null) and embedding (a LIST of FLOAT) if the first has one.
type parquetWriter struct {
	dst      io.Writer
	fields   Fields
	group    int      // rows in a row group
	pending  []Record // before the type of the key is decided
	out      *parquet.GenericWriter[any]
	textKeys bool
	dim      int // of embeddings, 0 without
	rows     int
	row      parquet.Row
	columns  []string // their names, as their values follow each other in a row
}

func newParquetWriter(_ context.Context, w io.Writer, _ string, fields Fields) (recordWriter, error) {
	p := &parquetWriter{dst: w, fields: fields, group: parquetGroup}
	if fields.Queries {
		p.group = parquetQueryGroup
	}
	return p, nil
}

func (p *parquetWriter) write(rec *Record) error {
	if p.out != nil {
		return p.writeRow(rec)
	}
	copied := *rec
	copied.Text = bytes.Clone(rec.Text)
	if p.fields.Queries {
		copied.Query = rec.Query.clone()
	}
	p.textKeys = p.textKeys || rec.Text != nil
	if p.pending = append(p.pending, copied); len(p.pending) == p.group {
		return p.begin()
	}
	return nil
}

// begin decides the schema and writes what was held back.
func (p *parquetWriter) begin() error {
	group := parquet.Group{"key": parquet.Uint(64)}
	if p.textKeys {
		group["key"] = parquet.String()
	}
	if p.fields.Time {
		group["time"] = parquet.Timestamp(parquet.Nanosecond)
	}
	if p.fields.Size {
		group["size"] = parquet.Int(64)
	}
	if p.fields.Op {
		group["op"] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
	if p.fields.Queries {
		p.addQueryColumns(group)
	}
	schema := parquet.NewSchema("trace", group)
	for _, path := range schema.Columns() {
		p.columns = append(p.columns, path[0])
	}
	p.out = parquet.NewGenericWriter[any](p.dst, schema, parquet.Compression(&parquet.Zstd))
	pending := p.pending
	p.pending = nil
	for i := range pending {
		if err := p.writeRow(&pending[i]); err != nil {
			return err
		}
	}
	return nil
}

// addQueryColumns adds the columns of what is known of queries.
func (p *parquetWriter) addQueryColumns(group parquet.Group) {
	for _, name := range []string{"session", "topic", "answer"} {
		group[name] = parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
	}
	group["text"] = parquet.Optional(parquet.String())
	if len(p.pending) > 0 && p.pending[0].Query.Vector != nil {
		p.dim = len(p.pending[0].Query.Vector)
		group["embedding"] = parquet.List(parquet.Leaf(parquet.FloatType))
	}
}

func (p *parquetWriter) writeRow(rec *Record) (err error) {
	p.row = p.row[:0]
	for i, name := range p.columns {
		if err := p.appendValues(rec, name, i); err != nil {
			return err
		}
	}
	if p.fields.Queries && len(rec.Query.Vector) != p.dim {
		return lengthError(len(rec.Query.Vector), p.dim)
	}
	if _, err := p.out.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.rows++; p.rows%p.group == 0 {
		return p.out.Flush()
	}
	return nil
}

// appendValues appends to the row what a record has in a column.
func (p *parquetWriter) appendValues(rec *Record, name string, column int) error {
	var v parquet.Value
	switch name {
	case "key":
		key, err := p.keyValue(rec)
		if err != nil {
			return err
		}
		v = key
	case "time":
		v = parquet.Int64Value(rec.Time)
	case "size":
		v = parquet.Int64Value(rec.Size)
	case "op":
		v = parquet.ByteArrayValue([]byte(rec.Op.String()))
	case "embedding":
		p.appendVector(rec.Query.Vector, column)
		return nil
	default:
		p.appendText(rec.Query.name(name), column)
		return nil
	}
	p.row = append(p.row, v.Level(0, 0, column))
	return nil
}

// appendText appends a text, or null where there is none.
func (p *parquetWriter) appendText(text []byte, column int) {
	v := parquet.Value{}.Level(0, 0, column)
	if text != nil {
		v = parquet.ByteArrayValue(text).Level(0, 1, column)
	}
	p.row = append(p.row, v)
}

// appendVector appends the elements of a list, of which the first begins the row.
func (p *parquetWriter) appendVector(vector []float32, column int) {
	for i, x := range vector {
		p.row = append(p.row, parquet.FloatValue(x).Level(min(i, 1), 1, column))
	}
}

func (p *parquetWriter) keyValue(rec *Record) (parquet.Value, error) {
	switch {
	case p.textKeys:
		return parquet.ByteArrayValue(appendKey(nil, rec)), nil
	case rec.Text == nil:
		return parquet.Int64Value(int64(rec.Num)), nil
	}
	return parquet.Value{}, fmt.Errorf("key %q is text, but the first %d keys are numbers, so the column holds numbers: "+
		"write CSV instead",
		rec.Text, p.group)
}

func (p *parquetWriter) finish() error {
	if p.out == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	return p.out.Close()
}

func (p *parquetWriter) discard() {}
