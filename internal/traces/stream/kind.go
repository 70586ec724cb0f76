package stream

import (
	"fmt"
	"unsafe"
)

// Kind is a kind of workload whose requests are more than a key. A value describes the kind in one file. Values are
// comparable; kinds of files that are read together, and of all files in an archive, must agree.
type Kind interface {
	Name() string // what the requests are, in the plural: "prompts"
	// Request says in a few words what a request is, "" if its key says enough.
	Request() string
	// Format names the text format that holds everything known about the requests.
	Format() string
	// Lost says what is lost if only the keys of the requests are written.
	Lost() string
	// Conflict says why a file of this kind and one of another, nil for plain objects, cannot be one trace; "" if they
	// can.
	Conflict(other Kind) string
	// Unrepeated says what can hit although no key of a trace ever repeats; "" if nothing can, so that the wrong key
	// may have been read.
	Unrepeated() string
	// Grouped says that groups of requests are units; see Units.
	Grouped() bool
	// Units is called once for all files that are read together, if the kind is Grouped; sampled says that a sample will
	// be taken, which Units may refuse.
	Units(sampled bool) (Units, error)
	// NewColumns begins the columns of a trace whose records have these fields.
	NewColumns(fields Fields) ColumnsBuilder
	// Table describes the kind in tables; nil if it has none.
	Table() *Table
}

// Single is embedded by kinds with independent requests that are known by their keys. It implements Kind.
type Single struct{}

func (Single) Request() string { return "" }

// Conflict implements Kind: a file of plain objects is read as requests about which no more is known.
func (Single) Conflict(Kind) string { return "" }
func (Single) Unrepeated() string   { return "" }
func (Single) Grouped() bool        { return false }

// Units implements Kind. It is never called.
func (Single) Units(bool) (Units, error) { return nil, nil }

// Units are groups of requests that belong together and come at the same time, such as the blocks of a prompt. Samples
// and limits keep them whole, and so does merging by time.
type Units interface {
	// Take receives each record that is kept, in order, and may change its key.
	Take(rec *Record) error
	// SampledBy returns the key of the unit that begins with rec, which has not been taken; its hash decides whether the
	// unit belongs to a sample.
	SampledBy(rec *Record) uint64
	// Last reports whether the record taken last ends its unit.
	Last() bool
}

// NumberingUnits are Units that number the objects of their requests, so that no index of all keys is needed.
type NumberingUnits interface {
	Units
	// NumberOnly is called before the first record if keys are not needed. Take then does not make them.
	NumberOnly()
	// Number returns the number of the object of the record taken last: they are dense, in order of first appearance.
	Number() uint32
	// Objects returns how many objects have numbers.
	Objects() int
}

// Extra is what a kind knows about a single request. It is valid until the next call of Read.
type Extra interface {
	Clone() Extra // stays valid
}

// Columns are what a kind knows about the requests of a trace. They are read-only.
type Columns interface {
	// Slice returns the columns of a part of the trace that begins and ends with a group, if there are groups.
	Slice(requests, groups Span) Columns
	// Only returns the columns of the chosen requests, nil if requests without the others are not of the kind.
	Only(chosen Chosen) Columns
	// Torn says that an incomplete group is not a group.
	Torn() bool
	// Bytes returns the memory of the columns.
	Bytes() int64
}

// Span is a range of numbers, without its end.
type Span struct{ From, To int }

// Chosen are requests of a trace whose objects are renumbered.
type Chosen struct {
	Requests []int    // their positions, in order
	Objects  []uint32 // per new number of an object: the old one
}

// ColumnsBuilder collects columns while a trace loads.
type ColumnsBuilder interface {
	// Add takes the next request, with the number of its object.
	Add(rec *Record, object uint32) error
	Finish() Columns
}

// Table says how a kind is stored in tables with a row per request, such as Parquet, in addition to key, time, size and
// operation.
type Table struct {
	Key     string // name of the column of the key; "": as for plain objects
	Columns []TableColumn
	// Is reports whether rows are requests of the kind, given which of the columns exist.
	Is func(has []bool) bool
	// Of is the kind of such rows.
	Of Kind
	// New makes an Extra to read rows into.
	New func() Row
	// Check refuses a row because of its content, or because it does not match the first one.
	Check func(first, row Row) error
}

// TableColumn is a column of a kind.
type TableColumn struct {
	Name    string // also the name of the option that chooses another column
	Repeats bool   // it repeats a few texts
	// ReadOnly is set if the column states in another way what other columns do. It is read, but never written.
	ReadOnly bool
}

// Row is the Extra of a kind that has a table.
type Row interface {
	Extra
	// Cells appends pointers to the values, in the order of Table.Columns: a *[]byte to a text, which is nil if
	// unknown; an *int64 to a whole number; a *[]float32 to a list of numbers, which is empty if there is none.
	Cells(to []any) []any
}

// Beside adds to the requests of a trace the content of a file beside it, with a row for each.
type Beside interface {
	fmt.Stringer  // the file
	What() string // its content, in the plural: "embeddings"
	// Kind returns what requests of a kind, nil for plain objects, become with it.
	Kind(of Kind) (Kind, error)
	// Give reads the row of the next request. It returns false if there is none.
	Give(rec *Record) (ok bool, err error)
	// Check makes sure that there was a row for each request read and, if those are all requests, no more rows.
	Check(requests int, all bool) error
}

// Cut returns a part of a column that may be absent.
func Cut[T any](column []T, part Span) []T {
	if column == nil {
		return nil
	}
	return column[part.From:part.To]
}

// Pick returns the values at these places of a column that may be absent.
func Pick[T any, N int | uint32](column []T, places []N) []T {
	if column == nil {
		return nil
	}
	picked := make([]T, len(places))
	for i, place := range places {
		picked[i] = column[place]
	}
	return picked
}

func ColumnBytes[T any](values []T) int64 {
	var one T
	return int64(len(values)) * int64(unsafe.Sizeof(one))
}
