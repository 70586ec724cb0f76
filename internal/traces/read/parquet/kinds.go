package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

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
	columns []cellReader // per column of the table
	row     stream.Row
	cells   []any      // of row
	first   stream.Row // with which the later rows must agree
}

// cellReader reads the values of a column of a kind.
type cellReader struct {
	name    string  // of the column
	cursor  *cursor // of texts and whole numbers
	vectors *vectors
	text    []byte // buffer for the next text; empty is different from missing
	vector  []float32
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
	k := &kindReader{table: table, columns: make([]cellReader, len(table.Columns)), row: table.New()}
	k.cells = k.row.Cells(nil)
	has := make([]bool, len(table.Columns))
	for i, column := range table.Columns {
		index, err := names.Choose(opts.Text(column.Name), []string{source.PlainName(column.Name)})
		if err != nil {
			return nil, err
		}
		if index < 0 {
			continue
		}
		has[i] = true
		if k.columns[i], err = newCellReader(all[index], k.cells[i]); err != nil {
			return nil, fmt.Errorf("column %q cannot be the %s: it holds %s, want %w; parquet:%s=none ignores it",
				all[index].Name(), column.Name, describeColumn(all[index]), err, column.Name)
		}
	}
	if !table.Is(has) {
		return nil, nil
	}
	return k, nil
}

// newCellReader checks that a column has values for a cell of a row.
func newCellReader(column *parquet.Column, cell any) (c cellReader, err error) {
	c = cellReader{name: column.Name(), text: []byte{}}
	if _, isList := cell.(*[]float32); isList {
		c.vectors, err = newVectors(column)
		return c, err
	}
	c.cursor = &cursor{column: column}
	if _, isNumber := cell.(*int64); isNumber {
		return c, c.cursor.acceptInteger()
	}
	return c, c.cursor.acceptKey()
}

func (k *kindReader) cursors() (cursors []*cursor) {
	for _, c := range k.columns {
		if c.cursor != nil {
			cursors = append(cursors, c.cursor)
		}
	}
	for _, c := range k.columns {
		if c.vectors != nil {
			cursors = append(cursors, &c.vectors.cursor)
		}
	}
	return cursors
}

func (k *kindReader) read() (stream.Extra, error) {
	for i := range k.columns {
		if err := k.columns[i].read(k.cells[i]); err != nil {
			return nil, err
		}
	}
	if k.first == nil {
		k.first = k.row.Clone().(stream.Row)
	}
	return k.row, k.table.Check(k.first, k.row)
}

func (c *cellReader) read(cell any) (err error) {
	switch cell := cell.(type) {
	case *int64:
		return c.readNumber(cell)
	case *[]float32:
		return c.readVector(cell)
	case *[]byte:
		return c.readText(cell)
	}
	return nil
}

func (c *cellReader) readNumber(to *int64) error {
	if c.cursor == nil {
		return nil
	}
	v, err := c.cursor.next()
	if err != nil {
		return err
	}
	var ok bool
	if *to, ok = whole(v, c.cursor.unsigned); !ok {
		return fmt.Errorf("column %q: %v: want a whole number", c.name, v)
	}
	return nil
}

func (c *cellReader) readText(to *[]byte) error {
	*to = nil
	if c.cursor == nil {
		return nil
	}
	v, err := c.cursor.nextOrNull()
	if err != nil || v.IsNull() {
		return err
	}
	c.text = c.cursor.appendText(c.text[:0], v)
	*to = c.text
	return nil
}

func (c *cellReader) readVector(to *[]float32) (err error) {
	*to = nil
	if c.vectors == nil {
		return nil
	}
	if c.vector, err = c.vectors.next(c.vector[:0]); err != nil {
		return fmt.Errorf("column %q: %w", c.vectors.name, err)
	}
	if len(c.vector) > 0 {
		*to = c.vector
	}
	return nil
}

// appendText appends a text, or the digits of a whole number.
func (c *cursor) appendText(to []byte, v parquet.Value) []byte {
	switch kind := v.Kind(); {
	case kind != parquet.Int32 && kind != parquet.Int64:
		return append(to, v.ByteArray()...)
	case c.unsigned:
		return strconv.AppendUint(to, uint64(integer(v, true)), 10)
	}
	return strconv.AppendInt(to, integer(v, false), 10)
}

// vectors reads lists of numbers: a LIST, as pyarrow writes lists and lists of a fixed size, or a repeated column. It
// also reads the bytes of little-endian float32, of fixed length or not, as writers without lists store them.
type vectors struct {
	cursor
	name     string // of the column; the cursor has the name of the numbers in it
	elements int    // the least definition level of an element, null or not; below it, the list is null or empty
	packed   bool   // a value is the bytes of a whole embedding
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
			v.elements = level
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

// next appends the numbers of the next row: none if the list is empty or null.
func (v *vectors) next(to []float32) ([]float32, error) {
	if v.packed {
		return v.nextPacked(to)
	}
	for first := true; ; first = false {
		if len(v.filled) == 0 {
			if err := v.fill(); err == io.EOF && !first {
				return to, nil
			} else if err == io.EOF {
				return nil, errors.New("damaged Parquet: fewer lists than its row group has rows")
			} else if err != nil {
				return nil, err
			}
		}
		value := v.filled[0]
		if begins := value.RepetitionLevel() == 0; begins && !first {
			return to, nil
		} else if !begins && first {
			return nil, errors.New("damaged Parquet: a list that continues in another row group")
		}
		v.filled = v.filled[1:]
		switch {
		case value.DefinitionLevel() < v.elements:
		case value.IsNull():
			return nil, errors.New("a number is missing (null): want finite numbers")
		case value.Kind() == parquet.Float:
			to = append(to, value.Float())
		default:
			x, err := queries.Narrowed(value.Double())
			if err != nil {
				return nil, err
			}
			to = append(to, x)
		}
		if len(to) > queries.MaxDim {
			return nil, fmt.Errorf("more than %d numbers in a list, the limit for embeddings", queries.MaxDim)
		}
	}
}

// nextPacked appends the numbers in the next bytes: none if they are null.
func (v *vectors) nextPacked(to []float32) ([]float32, error) {
	value, err := v.nextOrNull()
	if err != nil || value.IsNull() {
		return to, err
	}
	packed := value.ByteArray()
	if len(packed)%4 != 0 || len(packed) > 4*queries.MaxDim {
		return nil, fmt.Errorf("%d bytes: want embeddings of up to %d numbers of 4 bytes", len(packed), queries.MaxDim)
	}
	for ; len(packed) > 0; packed = packed[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
	}
	return to, nil
}
