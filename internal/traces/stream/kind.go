package stream

import (
	"fmt"
	"unsafe"
)

// Kind is a kind of workload: what requests are that are more than a key. A value says how a file has it. Values are
// comparable; those of files that are read together, and of all files in an archive, have to agree.
type Kind interface {
	Name() string // what the requests are, in the plural: "prompts"
	// Request says in a few words what a request is, "" where its key says enough.
	Request() string
	// Format names the format that holds as text all that is known of the requests.
	Format() string
	// Lost says what is lost where only the keys of the requests are written.
	Lost() string
	// Conflict says why a file of this kind and one of another, nil for plain objects, are no one trace; "" if they are.
	Conflict(other Kind) string
	// OftenUnrepeated says that it is no sign of a wrong key where none repeats.
	OftenUnrepeated() bool
	// Grouped says that the groups of requests are units, as Units has them.
	Grouped() bool
	// Units is called where the kind is Grouped, once for all files that are read together; sampled says that a sample
	// will be taken, which may be impossible.
	Units(sampled bool) (Units, error)
	// NewColumns begins the columns of a trace whose records have these fields.
	NewColumns(fields Fields) ColumnsBuilder
	// Table says how the kind stands in tables; nil where it does not.
	Table() *Table
}

// Single is what a kind embeds whose requests are each one on their own, and whose keys say enough.
type Single struct{}

// Request implements Kind.
func (Single) Request() string { return "" }

// Conflict implements Kind: a file of plain objects is read as requests of which no more is known.
func (Single) Conflict(Kind) string { return "" }

// OftenUnrepeated implements Kind.
func (Single) OftenUnrepeated() bool { return false }

// Grouped implements Kind.
func (Single) Grouped() bool { return false }

// Units implements Kind. It is never called.
func (Single) Units(bool) (Units, error) { return nil, nil }

// Units are groups of requests that belong together and come at the same time, such as the blocks of a prompt. Samples
// and limits keep them whole, and so does merging by time.
type Units interface {
	// Take is given each record in order, before it is decided whether it is kept, and may give it another key.
	Take(rec *Record) error
	// SampledBy returns the key of the unit that begins with rec, by whose hash it belongs to a sample or not.
	SampledBy(rec *Record) uint64
	// Last says whether the record that was taken last ends its unit.
	Last() bool
}

// Extra is what is known of a single request by its kind. It is valid until the next call of Read.
type Extra interface {
	Clone() Extra // stays valid
}

// Columns are what is known of the requests of a trace by their kind. They are read-only.
type Columns interface {
	// Slice returns those of a part of the trace that begins and ends with a group, where there are any.
	Slice(requests, groups Span) Columns
	// Only returns those of the requests that were chosen, nil where requests without the others are none of the kind.
	Only(chosen Chosen) Columns
	// Torn says that requests without the others of their group are no group either.
	Torn() bool
	// Bytes returns the memory that they take.
	Bytes() int64
}

// Span is a range of numbers, without its end.
type Span struct{ From, To int }

// Chosen are requests of a trace, whose objects are numbered anew.
type Chosen struct {
	Requests []int    // their positions, in order
	Objects  []uint32 // per new number of an object: the old one
}

// ColumnsBuilder collects columns while a trace loads.
type ColumnsBuilder interface {
	// Add takes the next request, which is to the object with that number.
	Add(rec *Record, object uint32) error
	Finish() Columns
}

// Table says how a kind stands in tables with a row per request, such as Parquet, beside key, time, size and operation.
type Table struct {
	Columns []TableColumn
	// Is says whether rows are requests of the kind, by which of the columns there are.
	Is func(has []bool) bool
	// Of is the kind of such rows.
	Of Kind
	// New makes an Extra to read rows into.
	New func() Row
	// Check refuses a row for what is in it, or as it does not go with the first one.
	Check func(first, row Row) error
}

// TableColumn is a column of a kind.
type TableColumn struct {
	Name    string // which is also that of the option that chooses another
	Repeats bool   // it has the same few texts over and over
}

// Row is the Extra of a kind that stands in tables.
type Row interface {
	Extra
	// Cells appends pointers to the values, in the order of Table.Columns: a *[]byte to a text, which is nil where it is
	// not known; an *int64 to a whole number; a *[]float32 to a list of numbers, which is empty where there is none.
	Cells(to []any) []any
}

// Beside gives the requests of a trace what lies beside it in a file with a row for each.
type Beside interface {
	fmt.Stringer  // the file
	What() string // what it holds, in the plural: "embeddings"
	// Kind returns what requests of a kind, nil for plain objects, become by it.
	Kind(of Kind) (Kind, error)
	// Give reads the row of the next request. It says no where there is none.
	Give(rec *Record) (ok bool, err error)
	// Check makes sure that there was a row for each of the requests that were read and, if those are all, no more.
	Check(requests int, all bool) error
}

// Cut returns a part of a column that may not be there.
func Cut[T any](column []T, part Span) []T {
	if column == nil {
		return nil
	}
	return column[part.From:part.To]
}

// Pick returns the values at these places of a column that may not be there.
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

// ColumnBytes returns the bytes of a column.
func ColumnBytes[T any](values []T) int64 {
	var one T
	return int64(len(values)) * int64(unsafe.Sizeof(one))
}
