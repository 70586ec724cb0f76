package traces

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetGroup is the number of rows in a row group: what is held in memory while writing.
const parquetGroup = 1 << 16

// parquetWriter writes the columns that the records carry: time (TIMESTAMP in ns), key (UINT_64, or a string if one of the first
// parquetGroup keys is text), size (INT64, bytes) and op (a string).
type parquetWriter struct {
	dst      io.Writer
	fields   Fields
	pending  []Record // before the type of the key is decided
	out      *parquet.GenericWriter[any]
	textKeys bool
	rows     int
	row      parquet.Row
	index    columns // of the values in a row
}

func newParquetWriter(_ context.Context, w io.Writer, _ string, fields Fields) (recordWriter, error) {
	return &parquetWriter{dst: w, fields: fields}, nil
}

func (p *parquetWriter) write(rec *Record) error {
	if p.out != nil {
		return p.writeRow(rec)
	}
	copied := *rec
	copied.Text = bytes.Clone(rec.Text)
	p.textKeys = p.textKeys || rec.Text != nil
	if p.pending = append(p.pending, copied); len(p.pending) == parquetGroup {
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
	schema := parquet.NewSchema("trace", group)
	p.row = make(parquet.Row, len(group))
	for i, path := range schema.Columns() {
		switch path[0] {
		case "key":
			p.index.key = i
		case "time":
			p.index.time = i
		case "size":
			p.index.size = i
		case "op":
			p.index.op = i
		}
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

func (p *parquetWriter) writeRow(rec *Record) error {
	key, err := p.keyValue(rec)
	if err != nil {
		return err
	}
	p.set(p.index.key, key)
	if p.fields.Time {
		p.set(p.index.time, parquet.Int64Value(rec.Time))
	}
	if p.fields.Size {
		p.set(p.index.size, parquet.Int64Value(rec.Size))
	}
	if p.fields.Op {
		p.set(p.index.op, parquet.ByteArrayValue([]byte(rec.Op.String())))
	}
	if _, err := p.out.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.rows++; p.rows%parquetGroup == 0 {
		return p.out.Flush()
	}
	return nil
}

func (p *parquetWriter) keyValue(rec *Record) (parquet.Value, error) {
	switch {
	case p.textKeys:
		return parquet.ByteArrayValue(appendKey(nil, rec)), nil
	case rec.Text == nil:
		return parquet.Int64Value(int64(rec.Num)), nil
	}
	return parquet.Value{}, fmt.Errorf("key %q is text, but the first %d keys are numbers, so the column holds numbers: write CSV instead",
		rec.Text, parquetGroup)
}

func (p *parquetWriter) set(column int, v parquet.Value) {
	p.row[column] = v.Level(0, 0, column)
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
