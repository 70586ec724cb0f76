// Package columns reads logs whose lines have the same columns, from a list of what each column holds. A format of that
// kind is a Table: its reader, its options and its detection come from the list.
package columns

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Table describes lines with columns, and the format that they make.
type Table struct {
	Name, Summary, Example, Detection string
	// Delimiter separates columns; a space: a run of spaces and tabs. Cells have no quotes.
	Delimiter byte
	Columns   []Column
	// Optional is how many of the last columns a line may lack, and Further says that more may follow, which are not
	// read.
	Optional int
	Further  bool
	Trim     bool // blanks around cells do not count
	// Header says that a line that begins with the name of a column, or with #, names the columns: they may be in
	// another order, lack those that are not read, and have others. With Headed a file must begin with one.
	Header, Headed bool
	Writes         stream.Writes
	// Sure says how sure it is that a file without a header is in this format if most of its first lines can be read;
	// nil: Certain.
	Sure func(head source.Head, name string) source.Confidence
	// Layouts are other tables of the same format, of which Delimiter, Columns and what says how they are read count. A
	// file is read as the one that it looks most like, this one first.
	Layouts []*Table
}

// Format returns the format of the table.
func (t *Table) Format() source.Format {
	return source.Format{
		Name: t.Name, Summary: t.Summary, Example: t.Example, Detection: t.Detection, Carries: t.carries(),
		Options: t.options(), Writes: t.Writes, Detect: t.Detect, Open: t.open,
	}
}

// parts are what columns hold, in words.
var parts = []struct {
	part part
	word string
}{{aTime, "time"}, {aKey, "key"}, {aSize, "size"}, {anOp, "op"}, {aTTL, "ttl"}, {aServed, "served"}}

// Reads returns what a table of reads of files carries.
func (t *Table) Reads() string {
	words := []string{"time", names(t.Columns, aKey), "offset", "length"}
	if !t.holds(aTime) {
		words = words[1:]
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return "file reads: " + strings.ReplaceAll(strings.Join(words, ", "), "+", ", ")
}

func (t *Table) carries() string {
	var words []string
	for _, p := range parts {
		if t.holds(p.part) {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}

// holds reports whether a column of any layout holds a part.
func (t *Table) holds(p part) bool {
	return slices.ContainsFunc(t.Columns, isPart(p)) ||
		slices.ContainsFunc(t.Layouts, func(l *Table) bool { return l.holds(p) })
}

func statesSize(c Column) bool { return c.ofObject }

func isPart(p part) func(Column) bool { return func(c Column) bool { return c.holds&p != 0 } }

// names returns the names of the columns that hold a part, joined by a plus.
func names(columns []Column, p part) string {
	var found []string
	for _, c := range columns {
		if c.holds&p != 0 {
			found = append(found, c.Name)
		}
	}
	return strings.Join(found, "+")
}

func (t *Table) options() (options []params.Param) {
	if t.holds(anOp) {
		options = append(options, source.OpsOption())
	}
	if t.holds(aKeySize) {
		options = append(options, params.Param{Name: "size", Default: "key+value", Choices: []string{"key+value", "value"},
			Doc: "size of an object: that of the key and the value, or of the value alone; a value of 0 means that the " +
				"size is not known"})
	}
	return append(options, params.Param{Name: "tenant", Default: "",
		Doc: "column of the tenant, for dividing a cache among tenants: " + suggest.List(t.columnNames()) +
			"; by default none"})
}

// columnNames returns the names of the columns of all layouts.
func (t *Table) columnNames() []string {
	all := namesOf(t.Columns)
	for _, l := range t.Layouts {
		for _, name := range l.columnNames() {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func namesOf(columns []Column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.Name
	}
	return all
}

// Detect implements Format.Detect: most of the first lines must be requests, or the header name the columns.
func (t *Table) Detect(head source.Head, name string) source.Confidence {
	_, sure := t.layoutOf(head, name)
	return sure
}

// layoutOf returns the layout that a file looks most like, and how much. It is the first that can read the file if none
// is sure.
func (t *Table) layoutOf(head source.Head, name string) (layout *Table, sure source.Confidence) {
	for _, l := range append([]*Table{t}, t.Layouts...) {
		fits, surer := l.looksLike(head, name)
		if fits && (layout == nil || surer > sure) {
			layout, sure = l, surer
		}
	}
	if layout == nil {
		return t, source.No
	}
	return layout, sure
}

// looksLike reports whether most of the first lines are requests in this layout alone, or a header names its columns,
// and how sure it is that they can be nothing else.
func (t *Table) looksLike(head source.Head, name string) (fits bool, sure source.Confidence) {
	lines := source.WithoutBlankEnd(head.Lines)
	p := t.newParser(nil)
	if len(lines) > 0 && t.isHeader(lines[0]) {
		if known, err := p.takeHeader(lines[0]); err != nil {
			return false, source.No
		} else if known {
			return true, source.Certain
		}
		lines = lines[1:]
	}
	parse := func(line []byte) error {
		_, err := p.Parse(line)
		return err
	}
	if t.Headed || !source.MostLines(lines, parse) {
		return false, source.No
	}
	if t.Sure != nil {
		return true, t.Sure(head, name)
	}
	return true, source.Certain
}

// isHeader reports whether a line names the columns, or is a remark.
func (t *Table) isHeader(line []byte) bool {
	if !t.Header || len(line) == 0 {
		return false
	}
	if line[0] == '#' {
		return true
	}
	cell, _, more := cut(line, t.Delimiter)
	return more && !source.IsNumber(cell) && named(t.Columns, string(cell)) >= 0
}

// Parser reads the lines of a file as a Table says.
type Parser struct {
	table   *Table
	columns []Column // of this file, in its order
	least   int      // columns that a line has at the least
	ops     source.OpFilter
	tenant  int  // index of its column, -1 for none
	sized   bool // a column has the size of the object
	row     Row
}

// newParser returns a parser for a file without a header. opts has the options of the format, or is nil.
func (t *Table) newParser(opts params.Values) *Parser {
	p := &Parser{table: t, columns: slices.Clone(t.Columns), least: len(t.Columns) - t.Optional, tenant: -1,
		ops: source.NewOpFilter("all"), sized: slices.ContainsFunc(t.Columns, statesSize)}
	if ops, ok := opts["ops"].(string); ok {
		p.ops = source.NewOpFilter(ops)
	}
	if opts["size"] == "value" {
		for i := range p.columns {
			if p.columns[i].holds&aKeySize != 0 {
				p.columns[i] = Other(p.columns[i].Name)
			}
		}
	}
	return p
}

// NewParser returns a parser for the lines of src, after its header if it has one. opts has the options of the format.
func (t *Table) NewParser(src *source.Source, opts params.Values) (*Parser, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	layout, _ := t.layoutOf(head, src.FormatName)
	p := layout.newParser(opts)
	if len(head.Lines) > 0 && layout.isHeader(head.Lines[0]) {
		if _, err := src.Line(); err != nil {
			return nil, err
		}
		if _, err := p.takeHeader(head.Lines[0]); err != nil {
			return nil, src.LineErrorf("%w", err)
		}
	} else if layout.Headed {
		return nil, src.Errorf("no header: want a first line that names the columns, among them %s",
			strings.Join(layout.needed(), ", "))
	}
	if tenant, ok := opts["tenant"].(string); ok && tenant != "" {
		if p.tenant = named(p.columns, tenant); p.tenant < 0 {
			return nil, src.Errorf("%w", suggest.Unknown("column", tenant, namesOf(p.columns)))
		}
		src.Reading.Tenant = stated("tenant", p.columns[p.tenant].Name)
	}
	p.state(src.Reading, opts)
	return p, nil
}

// takeHeader orders the columns as a header does, and reports whether it names any. A remark need not.
func (p *Parser) takeHeader(line []byte) (known bool, err error) {
	rest := source.TrimBlanks(bytes.TrimPrefix(line, []byte("#")))
	var inOrder []Column
	for more := true; more; {
		var cell []byte
		cell, rest, more = cut(rest, p.table.Delimiter)
		name := string(source.TrimBlanks(cell))
		if i := named(p.columns, name); i >= 0 {
			inOrder, known = append(inOrder, p.columns[i]), true
		} else {
			inOrder = append(inOrder, Other(name))
		}
	}
	if !known {
		return false, nil
	}
	for _, name := range p.table.needed() {
		if named(inOrder, name) < 0 {
			return true, fmt.Errorf("no column %s in the header; want %s", name, strings.Join(p.table.needed(), ", "))
		}
	}
	p.columns, p.least = inOrder, len(inOrder)
	p.sized = slices.ContainsFunc(inOrder, statesSize)
	return true, nil
}

// needed returns the names of the columns without which there are no requests.
func (t *Table) needed() (needed []string) {
	for i, c := range t.Columns {
		if c.must || c.holds&^(aTTL|aServed) != 0 && !c.spare && i < len(t.Columns)-t.Optional {
			needed = append(needed, c.Name)
		}
	}
	return needed
}

// has reports whether this file has a column that holds a part.
func (p *Parser) has(a part) bool { return slices.ContainsFunc(p.columns, isPart(a)) }

// state says in the reading which columns are read.
func (p *Parser) state(r *stream.Reading, opts params.Values) {
	r.Key = stated("key", names(p.columns, aKey))
	if i := slices.IndexFunc(p.columns, isPart(aTime)); i >= 0 {
		r.Time = stated("time", p.columns[i].Name) + " in " + p.columns[i].unit
	}
	if p.has(aSize) {
		r.Size = stated("size", names(p.columns, aSize|aKeySize))
	}
	if p.has(aTTL) {
		r.TTL = stated("ttl", names(p.columns, aTTL))
	}
	if p.has(aServed) {
		r.Served = stated("served", names(p.columns, aServed))
	}
	r.Why = "no requests"
	if p.has(anOp) {
		r.Op = stated("op", names(p.columns, anOp))
		if ops, ok := opts["ops"].(string); ok && ops != "all" {
			r.Why = "not " + ops
		}
	}
}

// stated names the column of a part, unless that has the same name.
func stated(part, column string) string {
	if part == column {
		return part
	}
	return part + " " + column
}

// Fields returns what the records of this file carry.
func (p *Parser) Fields() stream.Fields {
	return stream.Fields{Time: p.has(aTime), Size: p.has(aSize), Op: p.has(anOp), TTL: p.has(aTTL),
		Served: p.has(aServed), Tenant: p.tenant >= 0, SizeMayLack: p.has(aSize)}
}

// Parse reads a line. The row is valid until the next call, as long as the line is. A line that is no request returns
// source.ErrLeftOut.
func (p *Parser) Parse(line []byte) (*Row, error) {
	p.row.reset()
	p.row.Record.SizeUnknown = p.sized // until a column states it
	err := p.cells(line)
	if err == nil {
		err = p.row.finish()
	}
	switch {
	case err == nil && !p.ops.Has(p.row.Record.Op):
		err = source.ErrLeftOut
	case err == nil, err == source.ErrLeftOut:
	case p.table.isHeader(line): // once more, as where files were put together
		err = source.ErrLeftOut
	default:
		err = p.explain(line, err)
	}
	return &p.row, err
}

// explain returns the error of a cell, or one about the number of columns, which may be its cause.
func (p *Parser) explain(line []byte, err error) error {
	if p.table.Delimiter == ' ' {
		line = source.TrimBlanks(line)
	}
	n, most := countCells(line, p.table.Delimiter), len(p.columns)
	if n >= p.least && (n <= most || p.table.Further) {
		return err
	}
	return fmt.Errorf("%d columns: want %d, as %s", n, p.least, strings.Join(namesOf(p.columns), ", "))
}

// cells reads the cells of a line into the row.
func (p *Parser) cells(line []byte) error {
	delimiter := p.table.Delimiter
	if delimiter == ' ' {
		line = source.TrimBlanks(line)
	}
	more := true
	for i := range p.columns {
		if !more {
			if i < p.least {
				return errColumns
			}
			return nil
		}
		var cell []byte
		cell, line, more = cut(line, delimiter)
		if p.table.Trim {
			cell = source.TrimBlanks(cell)
		}
		column := &p.columns[i]
		if column.Parse != nil {
			if err := column.Parse(&p.row, cell); err == source.ErrLeftOut {
				return err
			} else if err != nil {
				return fmt.Errorf("column %d, %s: %w", i+1, column.Name, err)
			}
		}
		if i == p.tenant {
			p.row.Record.Tenant = cell
		}
	}
	if more && !p.table.Further {
		return errColumns
	}
	return nil
}

// errColumns is what explain explains.
var errColumns = errors.New("too few or too many columns")

func countCells(line []byte, delimiter byte) (n int) {
	for more := true; more; n++ {
		_, line, more = cut(line, delimiter)
	}
	return n
}

func (t *Table) open(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	p, err := t.NewParser(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	return source.ReadLines(src, func(line []byte, rec *stream.Record) error {
		row, err := p.Parse(line)
		if err == nil {
			*rec = row.Record
		}
		return err
	}), p.Fields(), nil
}
