package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// RecordWriter writes records in one format to an io.Writer.
type RecordWriter interface {
	Write(rec *stream.Record) error
	Finish() error // writes what is left and frees everything, also after an error
	Discard()      // frees everything
}

// Writable is a format that Create offers.
type Writable struct {
	Name    string
	Endings []string // of file names, in lower case, before the ending of a compression
	Create  func(ctx context.Context, w io.Writer, folder string, fields stream.Fields) (RecordWriter, error)
	Holds   stream.Fields // the fields that it has a place for
	Kind    string        // name of the kind that it holds completely; "" for none
	Tables  bool          // it holds the kinds that have tables
	Vectors bool          // it holds the embeddings of requests
	Part    string        // what is lost of a kind; "": what the kind says
	Fills   bool          // if times and sizes are unknown, it states 0 and 1
}

// holdsKind reports whether the format holds everything that the kind knows about requests.
func (f Writable) holdsKind(kind stream.Kind) bool {
	return kind == nil || f.Kind == kind.Name() || f.Tables && kind.Table() != nil
}

// MadeUp says, in words, which unknown values the format states for records with these fields.
func (f Writable) MadeUp(fields stream.Fields) (madeUp []string) {
	switch {
	case fields.Counted && f.Holds.Time:
		madeUp = append(madeUp, "times (the requests are numbered)")
	case !fields.Time && f.Fills:
		madeUp = append(madeUp, "times (all 0)")
	}
	if !fields.Size && f.Fills {
		madeUp = append(madeUp, "sizes (all 1)")
	}
	return madeUp
}

// Lost says what records with these fields lose in the format, in words.
func (f Writable) Lost(fields stream.Fields) (lost []string) {
	for _, part := range []struct {
		lost bool
		name string
	}{
		{fields.Time && !fields.Counted && !f.Holds.Time, "times"},
		{fields.Size && !f.Holds.Size, "sizes"},
		{fields.Op && !f.Holds.Op, "operations"},
		{fields.TTL && !f.Holds.TTL, "times to live"},
		{fields.Served && !f.Holds.Served, "hits of the server"},
		{fields.Groups && !f.Holds.Groups && !IsGrouped(fields.Kind), "which keys come together"},
	} {
		if part.lost {
			lost = append(lost, part.name)
		}
	}
	if !f.holdsKind(fields.Kind) {
		lost = append(lost, cmp.Or(f.Part, fields.Kind.Lost()))
	}
	return lost
}

// Loser is a RecordWriter that loses more than its fields show.
type Loser interface{ Losses() []string }

// AppendSeconds appends nanoseconds as decimal seconds without trailing zeros.
func AppendSeconds(line []byte, ns int64) []byte { return AppendDecimal(line, ns, 1e9, 9) }

// AppendDecimal appends nanoseconds in units of 10^digits ns, without trailing zeros.
func AppendDecimal(line []byte, ns, unit int64, digits int) []byte {
	line = strconv.AppendInt(line, ns/unit, 10)
	if fraction := ns % unit; fraction != 0 {
		decimals := fmt.Sprintf("%0*d", digits, fraction)
		line = append(append(line, '.'), strings.TrimRight(decimals, "0")...)
	}
	return line
}

func AppendKey(line []byte, rec *stream.Record) []byte {
	if rec.Text == nil {
		return strconv.AppendUint(line, rec.Num, 10)
	}
	return append(line, rec.Text...)
}

// IsGrouped reports whether requests of a kind, nil for plain objects, come in units of several.
func IsGrouped(kind stream.Kind) bool { return kind != nil && kind.Grouped() }
