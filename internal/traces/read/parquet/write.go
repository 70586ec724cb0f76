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

// writer writes the columns that the records carry: time (TIMESTAMP in ns), key (UINT_64, or a string if any of the
// first keys, up to the rows of a row group, is text), size (INT64, bytes) and op (a string); and the columns of the
// kind's Table: texts (strings or null), whole numbers (INT64) and, if the first record has any, lists (LIST of FLOAT).
type writer struct {
	dst      io.Writer
	fields   stream.Fields
	group    int             // rows in a row group
	pending  []stream.Record // until the type of the key is decided
	out      *parquet.GenericWriter[any]
	textKeys bool
	rows     int
	row      parquet.Row
	columns  []outColumn // in the order of their values in a row

	table *stream.Table // of the kind; nil for plain objects
	none  stream.Row    // for a record without one
	first stream.Row
	cells []any // of the current row
}

type outColumn struct {
	name string
	cell int // index in Table.Columns; -1 for the columns that all records have
}

// NewWriter implements source.Writable.Create. Requests are rows; of reads of files, each read is one.
func NewWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if _, ok := fields.Kind.(files.Kind); ok {
		return newReadsWriter(w, fields), nil
	}
	p := &writer{dst: w, fields: fields, group: groupRows}
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
	key := p.keyColumn()
	group := parquet.Group{key: parquet.Uint(64)}
	if p.textKeys {
		group[key] = parquet.String()
	}
	if p.fields.Time {
		group["time"] = parquet.Timestamp(parquet.Nanosecond)
	}
	if p.fields.Size {
		group["size"] = parquet.Int(64)
		if p.fields.SizeMayLack {
			group["size"] = parquet.Optional(parquet.Int(64))
		}
	}
	if p.fields.Op {
		group["op"] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
	if p.fields.TTL {
		group["ttl"] = parquet.Leaf(parquet.DoubleType) // seconds, 0 for ever
	}
	if p.fields.Served {
		group["served"] = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
	if p.table != nil {
		p.addKindColumns(group)
	}
	schema := parquet.NewSchema("trace", group)
	for _, path := range schema.Columns() {
		column := outColumn{path[0], -1}
		if p.table != nil {
			column.cell = slices.IndexFunc(p.table.Columns, func(c stream.TableColumn) bool { return c.Name == path[0] })
		}
		p.columns = append(p.columns, column)
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

func (p *writer) keyColumn() string {
	if p.table != nil && p.table.Key != "" {
		return p.table.Key
	}
	return "key"
}

// addKindColumns adds the columns of the kind, except a list that the first record does not have.
func (p *writer) addKindColumns(group parquet.Group) {
	p.first = p.none
	if len(p.pending) > 0 {
		p.first = p.rowOf(&p.pending[0])
	}
	for i, cell := range p.first.Cells(nil) {
		column := p.table.Columns[i]
		if column.ReadOnly {
			continue
		}
		switch cell := cell.(type) {
		case *int64:
			group[column.Name] = parquet.Int(64)
		case *[]float32:
			if len(*cell) > 0 {
				group[column.Name] = parquet.List(parquet.Leaf(parquet.FloatType))
			}
		default:
			node := parquet.String()
			if column.Repeats {
				node = parquet.Encoded(node, &parquet.RLEDictionary)
			}
			group[column.Name] = parquet.Optional(node)
		}
	}
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
	p.row = p.row[:0]
	for i, column := range p.columns {
		if column.cell >= 0 {
			p.appendCell(p.cells[column.cell], i)
			continue
		}
		v, err := p.value(rec, column.name)
		if err != nil {
			return err
		}
		present := 0 // the definition level of a value that may be null, and is not
		if column.name == "size" && p.fields.SizeMayLack && !v.IsNull() {
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

// value returns the value of a record in a column that does not depend on its kind.
func (p *writer) value(rec *stream.Record, name string) (parquet.Value, error) {
	switch name {
	case "time":
		return parquet.Int64Value(rec.Time), nil
	case "size":
		if rec.SizeUnknown && p.fields.SizeMayLack {
			return parquet.NullValue(), nil
		}
		return parquet.Int64Value(rec.Size), nil
	case "op":
		return parquet.ByteArrayValue([]byte(rec.Op.String())), nil
	case "ttl":
		return parquet.DoubleValue(float64(rec.TTL) / 1e9), nil
	case "served":
		return parquet.ByteArrayValue([]byte(rec.Served.String())), nil
	}
	return p.keyValue(rec)
}

// appendCell appends to the row the value of a record in a column of its kind.
func (p *writer) appendCell(cell any, column int) {
	switch cell := cell.(type) {
	case *int64:
		p.row = append(p.row, parquet.Int64Value(*cell).Level(0, 0, column))
	case *[]float32:
		p.appendVector(*cell, column)
	case *[]byte:
		p.appendText(*cell, column)
	}
}

// appendText appends a text, or null if there is none.
func (p *writer) appendText(text []byte, column int) {
	v := parquet.Value{}.Level(0, 0, column)
	if text != nil {
		v = parquet.ByteArrayValue(text).Level(0, 1, column)
	}
	p.row = append(p.row, v)
}

// appendVector appends the elements of a list; the first one begins the row.
func (p *writer) appendVector(vector []float32, column int) {
	for i, x := range vector {
		p.row = append(p.row, parquet.FloatValue(x).Level(min(i, 1), 1, column))
	}
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

func (p *writer) Discard() {}
