package columns

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Row is what a line says. The columns of a Table fill it in.
type Row struct {
	Record stream.Record
	Path   []byte // of the file or device that is read; several columns of it are joined by slashes
	Offset int64  // first byte of the read
	Length int64  // its bytes
	Job    []byte // who reads; nil where no column says it

	key       []byte
	parts     source.KeyParts // of a key with several columns
	sizeTells bool            // a size of 0 is one that the log does not state: a read without one was a miss
	joined    []byte          // a path with several columns
}

// Column is a column of a Table.
type Column struct {
	Name string
	// Parse reads a cell; nil: the column is not read. The error need not name the column.
	Parse    func(row *Row, cell []byte) error
	holds    part
	unit     string // of times
	spare    bool   // a header may lack it although it is read
	must     bool   // a header must have it although it is not read
	ofObject bool   // it is the size of the object, which rows may lack
}

// part is what a column holds of a request, or several parts.
type part uint8

const (
	aKey part = 1 << iota
	aTime
	aSize
	aKeySize
	anOp
	aTTL
	aServed
)

// Other is a column that is not read, except as the tenant if the user names it.
func Other(name string) Column { return Column{Name: name} }

// Others are columns that are not read.
func Others(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Other(name)
	}
	return columns
}

// Key is the column of the key. If a table has several, the key is all of them, joined by source.KeyParts.
func Key(name string) Column {
	return Column{Name: name, holds: aKey, Parse: func(row *Row, cell []byte) error {
		if len(cell) == 0 {
			return errors.New("the key is empty")
		}
		if row.key == nil {
			row.key = cell
			return nil
		}
		if row.parts.Text() == nil {
			row.parts.Add(row.key)
		}
		row.parts.Add(cell)
		row.key = row.parts.Text()
		return nil
	}}
}

// Time is a column of times: numbers of a unit in nanoseconds, or dates as source.ParseTime reads them.
func Time(name string, unit int64) Column {
	return Column{Name: name, holds: aTime, unit: source.UnitName(unit), Parse: func(row *Row, cell []byte) (err error) {
		row.Record.Time, err = source.ParseTime(cell, unit)
		return err
	}}
}

// TimeAs is a column of times that are written in another way, which the words say.
func TimeAs(name, words string, parse func(cell []byte) (int64, error)) Column {
	return Column{Name: name, holds: aTime, unit: words, Parse: func(row *Row, cell []byte) (err error) {
		row.Record.Time, err = parse(cell)
		return err
	}}
}

// Epoch is Time for numbers since 1970 in seconds, or ms, us or ns if they are too large for anything else.
func Epoch(name string) Column {
	return TimeAs(name, "s or ms", func(cell []byte) (int64, error) {
		whole, _, _ := bytes.Cut(cell, []byte("."))
		n, _ := source.ParseDigits(whole)
		return source.ParseTime(cell, source.TimeUnits[source.EpochUnit(float64(n))])
	})
}

// Spare is a column that a header may lack.
func Spare(column Column) Column {
	column.spare = true
	return column
}

// Must is a column that is not read, but that a header must have.
func Must(name string) Column { return Column{Name: name, must: true} }

// Whole is a column that must be a whole number in digits.
func Whole(column Column) Column {
	parse := column.Parse
	column.Parse = func(row *Row, cell []byte) error {
		if !source.IsDigits(cell) {
			return fmt.Errorf("%.40q: want a whole number", cell)
		}
		return parse(row, cell)
	}
	return column
}

// Size is the column of the size of the object in bytes.
func Size(name string) Column {
	return Column{Name: name, holds: aSize, ofObject: true, Parse: func(row *Row, cell []byte) error {
		row.Record.SizeUnknown = false
		return source.SetSize(&row.Record, cell)
	}}
}

// SizeIfHit is Size in a trace that states 0 for a read that missed in the server's own cache.
func SizeIfHit(name string) Column {
	column := Size(name)
	column.holds |= aServed
	size := column.Parse
	column.Parse = func(row *Row, cell []byte) error {
		row.sizeTells = true
		return size(row, cell)
	}
	return column
}

// KeySize is the column of the size of the key, which a cache keeps beside the value.
func KeySize(name string) Column {
	return Column{Name: name, holds: aKeySize, Parse: func(row *Row, cell []byte) (err error) {
		row.Record.KeySize, err = source.ParseSize(cell)
		return err
	}}
}

// TTL is the column of how long the object stays valid, in a unit in nanoseconds, as source.ParseTTL reads it.
func TTL(name string, unit int64) Column {
	return Column{Name: name, holds: aTTL, Parse: func(row *Row, cell []byte) (err error) {
		row.Record.TTL, err = source.ParseTTL(cell, unit)
		return err
	}}
}

// Word is a word for an operation.
type Word struct {
	Text string
	Op   stream.Op
}

// ReadWrite are the words of a trace that has two operations.
func ReadWrite(read, write string) []Word {
	return []Word{{read, stream.OpRead}, {write, stream.OpWrite}}
}

// Op is the column of the operation, one of the words, whose case matters. Other words are errors.
func Op(name string, words []Word) Column {
	return Column{Name: name, holds: anOp, Parse: func(row *Row, cell []byte) error {
		if !row.setOp(words, cell) {
			return fmt.Errorf("operation %.40q: want %s", cell, listWords(words))
		}
		return nil
	}}
}

// OpOnly is Op in a log with lines about other events, which are left out.
func OpOnly(name string, words []Word) Column {
	return Column{Name: name, holds: anOp, Parse: func(row *Row, cell []byte) error {
		if !row.setOp(words, cell) {
			return source.ErrLeftOut
		}
		return nil
	}}
}

func (row *Row) setOp(words []Word, cell []byte) bool {
	for i := range words {
		if words[i].Text == string(cell) {
			row.Record.Op = words[i].Op
			return true
		}
	}
	return false
}

func listWords(words []Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// Only is a column whose other words mark lines that are no requests. They are left out.
func Only(name string, words ...string) Column {
	return Column{Name: name, must: true, Parse: func(_ *Row, cell []byte) error {
		if !slices.ContainsFunc(words, func(w string) bool { return w == string(cell) }) {
			return source.ErrLeftOut
		}
		return nil
	}}
}

// Number is a column that is not read, but must hold a number. It makes detection surer.
func Number(name string) Column {
	return Column{Name: name, Parse: func(_ *Row, cell []byte) error {
		if _, ok := source.ParseDigits(cell); !ok && !source.IsNumber(cell) {
			return fmt.Errorf("%.40q: want a number", cell)
		}
		return nil
	}}
}

// Served is the column of what the server's own cache found, in two words. Others mean that it is not known.
func Served(name, hit, miss string) Column {
	return Column{Name: name, holds: aServed, Parse: func(row *Row, cell []byte) error {
		switch string(cell) {
		case hit:
			row.Record.Served = stream.ServedHit
		case miss:
			row.Record.Served = stream.ServedMiss
		}
		return nil
	}}
}

// Path is the column of the file or device that is read. If a table has several, a slash is between them.
func Path(name string) Column {
	return Column{Name: name, holds: aKey, Parse: func(row *Row, cell []byte) error {
		if len(cell) == 0 {
			return errors.New("the path is empty")
		}
		if row.Path == nil {
			row.Path = cell
			return nil
		}
		row.joined = append(append(append(row.joined[:0], row.Path...), '/'), cell...)
		row.Path = row.joined
		return nil
	}}
}

// Offset is the column of the first byte of a read of a file or device, in units of bytes.
func Offset(name string, unit int64) Column {
	return Column{Name: name, holds: aSize, Parse: func(row *Row, cell []byte) (err error) {
		row.Offset, err = parseUnits("offset", cell, unit)
		return err
	}}
}

// Length is the column of the bytes of a read, in units of bytes.
func Length(name string, unit int64) Column {
	return Column{Name: name, holds: aSize, Parse: func(row *Row, cell []byte) (err error) {
		row.Length, err = parseUnits("length", cell, unit)
		return err
	}}
}

func parseUnits(what string, cell []byte, unit int64) (int64, error) {
	n, ok := source.ParseWhole(cell)
	if !ok || n > uint64(source.MaxSize/unit) {
		return 0, fmt.Errorf("%s %.40q: want a whole number from 0 to %d", what, cell, source.MaxSize/unit)
	}
	return int64(n) * unit, nil
}

// Job is the column of who reads a file or device.
func Job(name string) Column {
	return Column{Name: name, Parse: func(row *Row, cell []byte) error {
		row.Job = cell
		return nil
	}}
}

// PathAndJob is a column that is part of the path, and at the same time who reads.
func PathAndJob(name string) Column {
	column := Path(name)
	path := column.Parse
	column.Parse = func(row *Row, cell []byte) error {
		row.Job = cell
		return path(row, cell)
	}
	return column
}

// finish makes the record of what the columns said.
func (row *Row) finish() error {
	rec := &row.Record
	rec.SetKey(row.key)
	if rec.Text != nil && source.IsBinary(rec.Text) {
		return fmt.Errorf("control characters in the key %.60q: this is not a text trace", rec.Text)
	}
	if source.IsBinary(row.Path) {
		return fmt.Errorf("control characters in the path %.60q: this is not a text trace", row.Path)
	}
	if row.sizeTells {
		if rec.Op == stream.OpRead {
			rec.Served = stream.ServedMiss
			if rec.Size > 0 {
				rec.Served = stream.ServedHit
			}
		}
		rec.SizeUnknown = rec.SizeUnknown || rec.Size == 0
	}
	return nil
}

// reset prepares the row for the next line.
func (row *Row) reset() {
	if row.parts.Text() != nil {
		row.parts.Reset()
	}
	*row = Row{joined: row.joined, parts: row.parts}
}

// named returns the index of the column with that name, whatever the case, blanks and punctuation, or -1.
func named(columns []Column, name string) int {
	plain := source.PlainName(name)
	return slices.IndexFunc(columns, func(c Column) bool { return source.PlainName(c.Name) == plain })
}

// cut returns the first cell of a line and what follows it; more says that a delimiter was between them. Blanks in a
// row, and at the ends of a line, are one delimiter.
func cut(line []byte, delimiter byte) (cell, rest []byte, more bool) {
	if delimiter != ' ' {
		end := bytes.IndexByte(line, delimiter)
		if end < 0 {
			return line, nil, false
		}
		return line[:end], line[end+1:], true
	}
	end := 0
	for end < len(line) && !source.IsBlank(line[end]) {
		end++
	}
	rest = line[end:]
	for len(rest) > 0 && source.IsBlank(rest[0]) {
		rest = rest[1:]
	}
	return line[:end], rest, len(rest) > 0
}
