package parquet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// groupRows is the number of rows in a row group. Requests that carry more than a key are larger, and come in groups of
// kindGroupRows: writing keeps a row group in memory.
const (
	groupRows     = 1 << 16
	kindGroupRows = 1 << 13
)

// rowWriter writes a row per record.
type rowWriter struct {
	out     *parquet.GenericWriter[any]
	columns []outColumn // in the order of their values in a row
	row     parquet.Row
	rows    int
	group   int // rows in a row group
}

// outColumn is a column that is written: one value of each record, null where its node is optional, or a list.
type outColumn struct {
	name  string
	node  parquet.Node
	value func(rec *stream.Record) (parquet.Value, error)
	list  func() []float32 // instead of value; not empty
}

var timeColumn = outColumn{name: "time", node: parquet.Timestamp(parquet.Nanosecond),
	value: func(rec *stream.Record) (parquet.Value, error) { return parquet.Int64Value(rec.Time), nil }}

func newRowWriter(w io.Writer, name string, group int, columns []outColumn) rowWriter {
	nodes := parquet.Group{}
	for _, c := range columns {
		nodes[c.name] = c.node
	}
	schema := parquet.NewSchema(name, nodes)
	p := rowWriter{group: group, out: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))}
	for _, path := range schema.Columns() {
		at := slices.IndexFunc(columns, func(c outColumn) bool { return c.name == path[0] })
		p.columns = append(p.columns, columns[at])
	}
	return p
}

func (p *rowWriter) Write(rec *stream.Record) error {
	p.row = p.row[:0]
	for i, c := range p.columns {
		if c.list != nil {
			for k, x := range c.list() { // the first begins the row
				p.row = append(p.row, parquet.FloatValue(x).Level(min(k, 1), 1, i))
			}
			continue
		}
		v, err := c.value(rec)
		if err != nil {
			return err
		}
		present := 0 // the definition level
		if c.node.Optional() && !v.IsNull() {
			present = 1
		}
		p.row = append(p.row, v.Level(0, present, i))
	}
	if _, err := p.out.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.rows++; p.rows%p.group == 0 {
		return p.out.Flush()
	}
	return nil
}

func (p *rowWriter) Finish() error { return p.out.Close() }
func (p *rowWriter) Discard()      {}

func textOrNull(text []byte) parquet.Value {
	if text == nil {
		return parquet.NullValue()
	}
	return parquet.ByteArrayValue(text)
}

// writer writes the columns that the records carry: time (TIMESTAMP in ns), key (UINT_64, or a string if any of the
// first keys, up to the rows of a row group, is text), size (INT64, bytes) and op (a string); and the columns of the
// kind's Table: texts (strings or null), whole numbers (INT64) and, if the first record has any, lists (LIST of FLOAT).
type writer struct {
	rowWriter
	dst      io.Writer
	fields   stream.Fields
	pending  []stream.Record // until the type of the key is decided
	textKeys bool

	table *stream.Table // of the kind; nil for plain objects
	none  stream.Row    // for a record without one
	first stream.Row
	cells []any // of the current row
}

// NewWriter implements source.Writable.Create. Requests are rows; of reads of files, each read is one.
func NewWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if _, ok := fields.Kind.(files.Kind); ok {
		return newReadsWriter(w, fields), nil
	}
	p := &writer{rowWriter: rowWriter{group: groupRows}, dst: w, fields: fields}
	if fields.Kind != nil && fields.Kind.Table() != nil {
		p.group, p.table = kindGroupRows, fields.Kind.Table()
		p.none = p.table.New()
	}
	return p, nil
}

func (p *writer) Write(rec *stream.Record) error {
	if p.out != nil {
		return p.writeRow(rec)
	}
	copied := *rec
	copied.Text = bytes.Clone(rec.Text)
	if rec.Extra != nil {
		copied.Extra = rec.Extra.Clone()
	}
	p.textKeys = p.textKeys || rec.Text != nil
	if p.pending = append(p.pending, copied); len(p.pending) == p.group {
		return p.begin()
	}
	return nil
}

// begin decides the schema and writes the pending records.
func (p *writer) begin() error {
	p.rowWriter = newRowWriter(p.dst, "trace", p.group, append(p.plainColumns(), p.kindColumns()...))
	pending := p.pending
	p.pending = nil
	for i := range pending {
		if err := p.writeRow(&pending[i]); err != nil {
			return err
		}
	}
	return nil
}

// plainColumns are those that do not depend on the kind.
func (p *writer) plainColumns() []outColumn {
	key := outColumn{name: "key", node: parquet.Uint(64), value: p.keyValue}
	if p.table != nil && p.table.Key != "" {
		key.name = p.table.Key
	}
	if p.textKeys {
		key.node = parquet.String()
	}
	columns := []outColumn{key}
	add := func(has bool, name string, node parquet.Node, value func(rec *stream.Record) parquet.Value) {
		if has {
			columns = append(columns, outColumn{name: name, node: node,
				value: func(rec *stream.Record) (parquet.Value, error) { return value(rec), nil }})
		}
	}
	if p.fields.Time {
		columns = append(columns, timeColumn)
	}
	size, word := parquet.Int(64), parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	if p.fields.SizeMayLack {
		size = parquet.Optional(size)
	}
	add(p.fields.Size, "size", size, func(rec *stream.Record) parquet.Value {
		if rec.SizeUnknown && p.fields.SizeMayLack {
			return parquet.NullValue()
		}
		return parquet.Int64Value(rec.Size)
	})
	add(p.fields.Op, "op", word, func(rec *stream.Record) parquet.Value {
		return parquet.ByteArrayValue([]byte(rec.Op.String()))
	})
	add(p.fields.TTL, "ttl", parquet.Leaf(parquet.DoubleType), func(rec *stream.Record) parquet.Value {
		return parquet.DoubleValue(float64(rec.TTL) / 1e9) // seconds, 0 for ever
	})
	add(p.fields.Served, "served", word, func(rec *stream.Record) parquet.Value {
		return parquet.ByteArrayValue([]byte(rec.Served.String()))
	})
	return columns
}

// kindColumns are those of the kind, except a list that the first record does not have.
func (p *writer) kindColumns() (columns []outColumn) {
	if p.table == nil {
		return nil
	}
	p.first = p.none
	if len(p.pending) > 0 {
		p.first = p.rowOf(&p.pending[0])
	}
	for i, cell := range p.first.Cells(nil) {
		column := outColumn{name: p.table.Columns[i].Name}
		switch cell := cell.(type) {
		case *int64:
			column.node = parquet.Int(64)
			column.value = func(*stream.Record) (parquet.Value, error) {
				return parquet.Int64Value(*p.cells[i].(*int64)), nil
			}
		case *[]float32:
			if len(*cell) == 0 {
				continue
			}
			column.node = parquet.List(parquet.Leaf(parquet.FloatType))
			column.list = func() []float32 { return *p.cells[i].(*[]float32) }
		default:
			column.node = parquet.Optional(parquet.String())
			if p.table.Columns[i].Repeats {
				column.node = parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
			}
			column.value = func(*stream.Record) (parquet.Value, error) { return textOrNull(*p.cells[i].(*[]byte)), nil }
		}
		if !p.table.Columns[i].ReadOnly {
			columns = append(columns, column)
		}
	}
	return columns
}

// rowOf returns the fields of a record's kind.
func (p *writer) rowOf(rec *stream.Record) stream.Row {
	if row, ok := rec.Extra.(stream.Row); ok {
		return row
	}
	return p.none
}

func (p *writer) writeRow(rec *stream.Record) (err error) {
	if p.table != nil {
		row := p.rowOf(rec)
		if err := p.table.Check(p.first, row); err != nil {
			return err
		}
		p.cells = row.Cells(p.cells[:0])
	}
	return p.rowWriter.Write(rec)
}

func (p *writer) keyValue(rec *stream.Record) (parquet.Value, error) {
	switch {
	case p.textKeys:
		return parquet.ByteArrayValue(source.AppendKey(nil, rec)), nil
	case rec.Text == nil:
		return parquet.Int64Value(int64(rec.Num)), nil
	}
	return parquet.Value{}, fmt.Errorf("key %q is text, but the first %d keys are numbers, so the column holds numbers: "+
		"write CSV instead", rec.Text, p.group)
}

func (p *writer) Finish() error {
	if p.out == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	return p.out.Close()
}
