package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// tablesOf returns the tables of the kinds that have them.
func tablesOf(kinds []stream.Kind) (tables []*stream.Table) {
	for _, kind := range kinds {
		if table := kind.Table(); table != nil {
			tables = append(tables, table)
		}
	}
	return tables
}

func kindColumnOptions(tables []*stream.Table) (options []params.Param) {
	for _, table := range tables {
		for _, column := range table.Columns {
			options = append(options, params.Param{Name: column.Name, Default: "", Doc: fmt.Sprintf("of %s, column of the %s "+
				"(none: ignore it); by default one of that name", table.Of.Name(), column.Name)})
		}
	}
	return options
}

// keyOfKind returns the key column of the kind whose columns the header names; "" without such a kind or column.
func keyOfKind(tables []*stream.Table, names *source.Rows) string {
	for _, table := range tables {
		has := make([]bool, len(table.Columns))
		for i, column := range table.Columns {
			has[i] = names.Known([]string{source.PlainName(column.Name)}) >= 0
		}
		if table.Is(has) && names.Named(table.Key) >= 0 {
			return table.Key
		}
	}
	return ""
}

// kindReader reads what a kind adds to keys and times.
type kindReader struct {
	table   *stream.Table
	cursors []*cursor      // of texts and whole numbers, then of vectors
	fields  []func() error // each reads one of cells
	cells   []any          // of row
	row     stream.Row
	first   stream.Row // with which the later rows must agree
}

// findKind returns the kind whose columns the file has, nil if its rows are plain objects.
func findKind(tables []*stream.Table, names *source.Rows, all []*parquet.Column,
	opts params.Values) (*kindReader, error) {
	for _, table := range tables {
		k, err := newKindReader(table, names, all, opts)
		if k != nil || err != nil {
			return k, err
		}
	}
	return nil, nil
}

// newKindReader chooses the columns of a kind. The result is nil if rows with them are not of the kind.
func newKindReader(table *stream.Table, names *source.Rows, all []*parquet.Column,
	opts params.Values) (*kindReader, error) {
	k := &kindReader{table: table, row: table.New()}
	k.cells = k.row.Cells(nil)
	has := make([]bool, len(table.Columns))
	var lists []*cursor
	for i, column := range table.Columns {
		index, err := names.Choose(opts.Text(column.Name), []string{source.PlainName(column.Name)})
		if err != nil {
			return nil, err
		}
		if index < 0 {
			continue
		}
		has[i] = true
		c, field, err := cellReader(all[index], k.cells[i])
		if err != nil {
			return nil, fmt.Errorf("column %q cannot be the %s: it holds %s, want %w; parquet:%s=none ignores it",
				all[index].Name(), column.Name, describeColumn(all[index]), err, column.Name)
		}
		k.fields = append(k.fields, field)
		if _, isList := k.cells[i].(*[]float32); isList {
			lists = append(lists, c)
		} else {
			k.cursors = append(k.cursors, c)
		}
	}
	if !table.Is(has) {
		return nil, nil
	}
	k.cursors = append(k.cursors, lists...)
	return k, nil
}

// cellReader returns the cursor of a column, and what reads its next value into a cell of a row. It is an error if the
// column cannot have such values.
func cellReader(column *parquet.Column, cell any) (c *cursor, read func() error, err error) {
	c = &cursor{column: column, use: "value"}
	switch cell := cell.(type) {
	case *[]float32:
		v, err := newVectors(column)
		if err != nil {
			return nil, nil, err
		}
		return &v.cursor, func() error { return v.read(cell) }, nil
	case *int64:
		return c, func() error { return c.readNumber(cell) }, c.acceptInteger()
	case *[]byte:
		return c, func() error { return readAny(c, cell, (*cursor).textOf) }, c.acceptKey()
	}
	return nil, nil, fmt.Errorf("no column for a %T", cell)
}

func (k *kindReader) read() (stream.Extra, error) {
	for _, cell := range k.cells {
		if text, ok := cell.(*[]byte); ok {
			*text = nil // whoever took the cells of the last row may have written it
		}
	}
	for _, field := range k.fields {
		if err := field(); err != nil {
			return nil, err
		}
	}
	if k.first == nil {
		k.first = k.row.Clone().(stream.Row)
	}
	return k.row, k.table.Check(k.first, k.row)
}

func (c *cursor) readNumber(to *int64) error {
	v, err := c.next()
	if err != nil {
		return err
	}
	var ok bool
	if *to, ok = whole(v, c.unsigned); !ok {
		return fmt.Errorf("column %q: %v: want a whole number", c.column.Name(), v)
	}
	return nil
}

// vectors reads lists of numbers: a LIST, as pyarrow writes lists and lists of a fixed size, or a repeated column. It
// also reads the bytes of little-endian float32, of fixed length or not, as writers without lists store them.
type vectors struct {
	list
	name   string // of the column; the cursor has the name of the numbers in it
	packed bool   // a value is the bytes of a whole embedding
	vector []float32
}

// newVectors finds the numbers in a column of lists.
func newVectors(column *parquet.Column) (*vectors, error) {
	want := errors.New("lists of 32-bit or 64-bit floating-point numbers, or little-endian float32 as bytes")
	v := &vectors{name: column.Name()}
	level := 0
	for node := column; ; node = node.Columns()[0] {
		if node.Optional() || node.Repeated() {
			level++
		}
		if node.Repeated() {
			v.present = level // null elements, too
		}
		if node.Leaf() {
			v.column = node
			break
		}
		if len(node.Columns()) != 1 {
			return nil, want
		}
	}
	kind := v.column.Type().Kind()
	isList := v.column.MaxRepetitionLevel() == 1 && (kind == parquet.Float || kind == parquet.Double)
	isBytes := (kind == parquet.ByteArray || kind == parquet.FixedLenByteArray) && v.column.Type().LogicalType() == nil
	v.packed = column.Leaf() && v.column.MaxRepetitionLevel() == 0 && isBytes
	if !isList && !v.packed {
		return nil, want
	}
	return v, nil
}

// read sets to to the numbers of the next row: nil if the list is empty or null.
func (v *vectors) read(to *[]float32) (err error) {
	v.vector, *to = v.vector[:0], nil
	if v.packed {
		err = readAny(&v.cursor, &v.vector, v.unpack)
	} else {
		err = v.next(v.add)
	}
	if err != nil {
		return fmt.Errorf("column %q: %w", v.name, err)
	}
	if len(v.vector) > 0 {
		*to = v.vector
	}
	return nil
}

// add appends an element of a list to the vector.
func (v *vectors) add(value parquet.Value) error {
	switch {
	case value.IsNull():
		return errors.New("a number is missing (null): want finite numbers")
	case value.Kind() == parquet.Float:
		v.vector = append(v.vector, value.Float())
	default:
		x, err := queries.Narrowed(value.Double())
		if err != nil {
			return err
		}
		v.vector = append(v.vector, x)
	}
	if len(v.vector) > queries.MaxDim {
		return fmt.Errorf("more than %d numbers in a list, the limit for embeddings", queries.MaxDim)
	}
	return nil
}

// unpack returns the vector that bytes are.
func (v *vectors) unpack(_ *cursor, value parquet.Value) ([]float32, error) {
	packed := value.ByteArray()
	if len(packed)%4 != 0 || len(packed) > 4*queries.MaxDim {
		return nil, fmt.Errorf("%d bytes: want embeddings of up to %d numbers of 4 bytes", len(packed), queries.MaxDim)
	}
	for ; len(packed) > 0; packed = packed[4:] {
		v.vector = append(v.vector, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
	}
	return v.vector, nil
}
