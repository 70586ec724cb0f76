// Package columns reads logs whose lines have the same columns, from a list of what each column holds. A format of that
// kind is a Table: its reader, its options and its detection come from the list.
package columns

import (
	"bytes"
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
	// Header says that lines that begin with the name of the first column, or with #, name the columns: they may be in
	// another order, lack those that are not read, and have others. Columns are then recognised by the header alone if
	// Headed is set, and a file must have one.
	Header, Headed bool
	Writes         stream.Writes
	// Sure says how sure it is that a file whose first lines can be read is in this format; nil: Certain.
	Sure func(head source.Head, name string) source.Confidence
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

func (t *Table) carries() string {
	var words []string
	for _, p := range parts {
		if t.holds(p.part) {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}

func (t *Table) holds(p part) bool { return slices.ContainsFunc(t.Columns, isPart(p)) }

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

func (t *Table) columnNames() []string {
	all := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		all[i] = c.Name
	}
	return all
}

// Detect implements Format.Detect: most of the first lines must be requests.
func (t *Table) Detect(head source.Head, name string) source.Confidence {
	lines := source.WithoutBlankEnd(head.Lines)
	p := t.newParser(nil, nil)
	if len(lines) > 0 && t.isHeader(lines[0]) {
		if p.takeHeader(lines[0]) != nil {
			return source.No
		}
		if t.Headed {
			return source.Certain
		}
		lines = lines[1:]
	} else if t.Headed {
		return source.No
	}
	requests, bad := 0, 0
	for _, line := range lines {
		switch _, err := p.Parse(line); err {
		case nil:
			requests++
		case source.ErrLeftOut:
		default:
			bad++
		}
	}
	switch {
	case requests <= bad:
		return source.No
	case t.Sure != nil:
		return t.Sure(head, name)
	}
	return source.Certain
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
	tenant  int // index of its column, -1 for none
	row     Row
}

// newParser returns a parser for a file without a header. opts may be nil.
func (t *Table) newParser(columns []Column, opts params.Values) *Parser {
	p := &Parser{table: t, ops: source.NewOpFilter("all"), tenant: -1}
	if opts != nil && t.holds(anOp) {
		p.ops = source.NewOpFilter(opts.Text("ops"))
	}
	if columns == nil {
		columns = t.Columns
	}
	p.columns, p.least = slices.Clone(columns), len(columns)-t.Optional
	if opts != nil && t.holds(aKeySize) && opts.Text("size") == "value" {
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
	p := t.newParser(nil, opts)
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	hasHeader := len(head.Lines) > 0 && t.isHeader(head.Lines[0])
	if t.Headed && !hasHeader {
		return nil, src.Errorf("no header: want a first line that names the columns, among them %s",
			strings.Join(t.needed(), ", "))
	}
	if hasHeader {
		if _, err := src.Line(); err != nil {
			return nil, err
		}
		if err := p.takeHeader(head.Lines[0]); err != nil {
			return nil, src.LineErrorf("%w", err)
		}
	}
	if tenant, ok := opts["tenant"]; ok && tenant != "" {
		if p.tenant = named(p.columns, opts.Text("tenant")); p.tenant < 0 {
			return nil, src.Errorf("%w", suggest.Unknown("column", opts.Text("tenant"), p.names()))
		}
		src.Reading.Tenant = "tenant " + p.columns[p.tenant].Name
	}
	p.state(src.Reading, opts)
	return p, nil
}

// takeHeader orders the columns as a header does. A remark that names none of them changes nothing.
func (p *Parser) takeHeader(line []byte) error {
	line = source.TrimBlanks(bytes.TrimPrefix(line, []byte("#")))
	var inOrder []Column
	known := 0
	for rest, more := line, true; more; {
		var cell []byte
		cell, rest, more = cut(rest, p.table.Delimiter)
		name := string(source.TrimBlanks(cell))
		if i := named(p.columns, name); i >= 0 {
			inOrder = append(inOrder, p.columns[i])
			known++
		} else {
			inOrder = append(inOrder, Other(name))
		}
	}
	if known == 0 {
		return nil
	}
	for _, name := range p.table.needed() {
		if named(inOrder, name) < 0 {
			return fmt.Errorf("no column %s in the header; want %s", name, strings.Join(p.table.needed(), ", "))
		}
	}
	p.columns, p.least = inOrder, len(inOrder)
	return nil
}

// needed returns the names of the columns without which there are no requests.
func (t *Table) needed() (needed []string) {
	for i, c := range t.Columns {
		if c.Parse != nil && i < len(t.Columns)-t.Optional && c.holds&^(aTTL|aServed) != 0 {
			needed = append(needed, c.Name)
		}
	}
	return needed
}

func (p *Parser) names() []string { return (&Table{Columns: p.columns}).columnNames() }

// has reports whether this file has a column that holds a part.
func (p *Parser) has(part part) bool { return slices.ContainsFunc(p.columns, isPart(part)) }

// state says in the reading which columns are read.
func (p *Parser) state(r *source.Reading, opts params.Values) {
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
		r.Why = "not " + opts.Text("ops")
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
		Served: p.has(aServed), Tenant: p.tenant >= 0}
}

// Parse reads a line. The row is valid until the next call, as long as the line is. A line that is no request returns
// source.ErrLeftOut.
func (p *Parser) Parse(line []byte) (*Row, error) {
	p.row.reset()
	err := p.cells(line)
	if err == nil {
		err = p.row.finish()
	}
	switch {
	case err == nil && !p.ops.Has(p.row.Record.Op):
		err = source.ErrLeftOut
	case err != nil && p.table.isHeader(line): // once more, as where files were put together
		err = source.ErrLeftOut
	}
	return &p.row, err
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
				return fmt.Errorf("%d columns: want %d, as %s", i, p.least, strings.Join(p.names(), ", "))
			}
			return nil
		}
		var cell []byte
		cell, line, more = cut(line, delimiter)
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
		return fmt.Errorf("%d columns: want %d, as %s", len(p.columns)+countMore(line, delimiter), len(p.columns),
			strings.Join(p.names(), ", "))
	}
	return nil
}

// countMore returns how many cells are in the rest of a line.
func countMore(rest []byte, delimiter byte) (n int) {
	for more := true; more; n++ {
		_, rest, more = cut(rest, delimiter)
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
