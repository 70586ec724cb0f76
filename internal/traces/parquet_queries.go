package traces

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/params"
)

// queryColumnNames are the names of the columns of what is known of a query, beside key and time, and of the options
// that name others.
var queryColumnNames = []string{"session", "topic", "answer", "text", "embedding"}

func queryColumnOptions() (options []params.Param) {
	for _, name := range queryColumnNames {
		options = append(options, params.Param{Name: name, Default: "", Doc: fmt.Sprintf("of queries, column of the %s "+
			"(none: ignore it); by default one of that name", name)})
	}
	return options
}

// parquetQueries reads what is known of queries beside their keys and times.
type parquetQueries struct {
	names     [4]*parquetCursor // session, topic, answer, text; nil without such a column
	embedding *parquetVectors   // nil without such a column
	head      QueryHead
	texts     [4][]byte // room for the names
	vector    []float32
	dim       int // of all embeddings, -1 until the first row was read
}

// newParquetQueries chooses the columns. Without texts and embeddings the rows are no queries, and the result is nil.
func newParquetQueries(table *rowReader, all []*parquet.Column, opts params.Values) (*parquetQueries, error) {
	q := &parquetQueries{dim: -1}
	for i := range q.texts {
		q.texts[i] = []byte{} // an empty text is not the same as none
	}
	for i, name := range queryColumnNames {
		index, err := table.choose(opts.Text(name), []string{name})
		if err != nil {
			return nil, err
		}
		if index < 0 {
			continue
		}
		if name == "embedding" {
			q.embedding, err = newParquetVectors(all[index])
		} else {
			q.names[i] = &parquetCursor{column: all[index]}
			err = q.names[i].acceptKey()
		}
		if err != nil {
			return nil, fmt.Errorf("column %q cannot be the %s: it holds %s, want %w; parquet:%s=none ignores it",
				all[index].Name(), name, describeColumn(all[index]), err, name)
		}
	}
	if q.embedding == nil && q.names[3] == nil {
		return nil, nil
	}
	return q, nil
}

// cursors returns those of the columns that are read.
func (q *parquetQueries) cursors() (cursors []*parquetCursor) {
	for _, c := range q.names {
		if c != nil {
			cursors = append(cursors, c)
		}
	}
	if q.embedding != nil {
		cursors = append(cursors, &q.embedding.parquetCursor)
	}
	return cursors
}

// read reads the next row.
func (q *parquetQueries) read() (*QueryHead, error) {
	q.head = QueryHead{}
	for i, to := range []*[]byte{&q.head.Session, &q.head.Topic, &q.head.Answer, &q.head.Text} {
		if q.names[i] == nil {
			continue
		}
		v, err := q.names[i].nextOrNull()
		if err != nil {
			return nil, err
		}
		if !v.IsNull() {
			q.texts[i] = q.names[i].appendText(q.texts[i][:0], v)
			*to = q.texts[i]
		}
	}
	if q.embedding == nil {
		return &q.head, nil
	}
	var err error
	if q.vector, err = q.embedding.next(q.vector[:0]); err != nil {
		return nil, fmt.Errorf("column %q: %w", q.embedding.name, err)
	}
	if len(q.vector) > 0 {
		q.head.Vector = q.vector
	}
	return &q.head, q.checkVector()
}

// appendText appends a text, or a whole number in digits.
func (c *parquetCursor) appendText(to []byte, v parquet.Value) []byte {
	switch kind := v.Kind(); {
	case kind != parquet.Int32 && kind != parquet.Int64:
		return append(to, v.ByteArray()...)
	case c.unsigned:
		return strconv.AppendUint(to, uint64(integer(v, true)), 10)
	}
	return strconv.AppendInt(to, integer(v, false), 10)
}

// checkVector makes sure that all rows have embeddings of the same length, or none has.
func (q *parquetQueries) checkVector() error {
	if q.dim < 0 {
		q.dim = len(q.vector)
	}
	switch {
	case len(q.vector) != q.dim:
		return lengthError(len(q.vector), q.dim)
	case q.dim == 0:
		return nil
	}
	return checkVector(q.vector)
}

// parquetVectors reads lists of numbers: a LIST, as pyarrow writes lists and lists of a fixed size, or a repeated
// column. It also reads the bytes of little-endian float32, of a fixed length or not, as writers without lists have
// them.
type parquetVectors struct {
	parquetCursor
	name     string // of the column; that of the cursor is the one of the numbers in it
	elements int    // the definition level from which on a value is an element, null or not
	packed   bool   // a value is the bytes of a whole embedding
}

// newParquetVectors finds the numbers in a column of lists.
func newParquetVectors(column *parquet.Column) (*parquetVectors, error) {
	want := errors.New("lists of 32-bit or 64-bit floating-point numbers, or little-endian float32 as bytes")
	v := &parquetVectors{name: column.Name()}
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

// next appends the numbers of the next row: none where the list is empty or null.
func (v *parquetVectors) next(to []float32) ([]float32, error) {
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
			return nil, errors.New("damaged Parquet: a list that goes on in another row group")
		}
		v.filled = v.filled[1:]
		switch {
		case value.DefinitionLevel() < v.elements:
		case value.IsNull():
			return nil, errors.New("a number is missing (null): want finite numbers")
		case value.Kind() == parquet.Float:
			to = append(to, value.Float())
		default:
			x, err := narrowed(value.Double())
			if err != nil {
				return nil, err
			}
			to = append(to, x)
		}
		if len(to) > maxDim {
			return nil, fmt.Errorf("more than %d numbers in a list: want embeddings of at most so many", maxDim)
		}
	}
}

// nextPacked appends the numbers in the next bytes: none where they are null.
func (v *parquetVectors) nextPacked(to []float32) ([]float32, error) {
	value, err := v.nextOrNull()
	if err != nil || value.IsNull() {
		return to, err
	}
	packed := value.ByteArray()
	if len(packed)%4 != 0 || len(packed) > 4*maxDim {
		return nil, fmt.Errorf("%d bytes: want embeddings of up to %d numbers of 4 bytes", len(packed), maxDim)
	}
	for ; len(packed) > 0; packed = packed[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
	}
	return to, nil
}
