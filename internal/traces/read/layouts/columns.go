package layouts

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

// layout are lines with columns, as a Layout describes them.
type layout struct {
	delimiter byte // a space: a run of spaces and tabs
	columns   []column
	// optional is how many of the last columns a line may lack, and further says that more may follow, which are not
	// read.
	optional int
	further  bool
	trim     bool // blanks around cells do not count
	// header says that a line that begins with the name of a column, or with #, names the columns. They may be in another
	// order, omit those that are not read, and include others. With headed a file must begin with one.
	header, headed bool
	// sure says how sure it is that a file without a header is in this format if most of its first lines can be read.
	sure func(head source.Head, name string) source.Confidence
}

// table are the layouts of a format. A file is read as the one that it looks most like, the first if none fits.
type table []*layout

// parts are what columns hold, in words.
var parts = []struct {
	part part
	word string
}{{aTime, "time"}, {aKey, "key"}, {aSize, "size"}, {anOp, "op"}, {aTTL, "ttl"}, {aServed, "served"}}

func (t table) carries() string {
	var words []string
	for _, p := range parts {
		if t.holds(p.part) {
			words = append(words, p.word)
		}
	}
	return strings.Join(words, ", ")
}

// holds reports whether a column of any layout holds a part.
func (t table) holds(p part) bool {
	return slices.ContainsFunc(t, func(l *layout) bool { return slices.ContainsFunc(l.columns, isPart(p)) })
}

func statesSize(c column) bool { return c.ofObject }

func isPart(p part) func(column) bool { return func(c column) bool { return c.holds&p != 0 } }

// names returns the names of the columns that hold a part, joined by a plus.
func names(columns []column, p part) string {
	var found []string
	for _, c := range columns {
		if c.holds&p != 0 {
			found = append(found, c.name)
		}
	}
	return strings.Join(found, "+")
}

func (t table) options() (options []params.Param) {
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
func (t table) columnNames() (all []string) {
	for _, l := range t {
		for _, name := range namesOf(l.columns) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func namesOf(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return all
}

// detect implements Format.Detect: most of the first lines must be requests, or the header name the columns.
func (t table) detect(head source.Head, name string) source.Confidence {
	_, sure := t.layoutOf(head, name)
	return sure
}

// layoutOf returns the layout that a file looks most like, and how much. It is the first that can read the file if none
// is sure.
func (t table) layoutOf(head source.Head, name string) (best *layout, sure source.Confidence) {
	for _, l := range t {
		fits, surer := l.looksLike(head, name)
		if fits && (best == nil || surer > sure) {
			best, sure = l, surer
		}
	}
	if best == nil {
		return t[0], source.No
	}
	return best, sure
}

// looksLike reports whether most of the first lines are requests in this layout alone, or a header names its columns,
// and how sure it is that they can be nothing else.
func (l *layout) looksLike(head source.Head, name string) (fits bool, sure source.Confidence) {
	lines := source.WithoutBlankEnd(head.Lines)
	p := l.newParser(nil)
	if len(lines) > 0 && l.isHeader(lines[0]) {
		if known, err := p.takeHeader(lines[0]); err != nil {
			return false, source.No
		} else if known {
			return true, source.Certain
		}
		lines = lines[1:]
	}
	parse := func(line []byte) error {
		_, err := p.parse(line)
		return err
	}
	if l.headed || !source.MostLines(lines, parse) {
		return false, source.No
	}
	if l.sure != nil {
		return true, l.sure(head, name)
	}
	return true, source.Certain
}

// isHeader reports whether a line names the columns, or is a remark.
func (l *layout) isHeader(line []byte) bool {
	if !l.header || len(line) == 0 {
		return false
	}
	if line[0] == '#' {
		return true
	}
	cell, _, more := cut(line, l.delimiter)
	return more && !source.IsNumber(cell) && named(l.columns, string(cell)) >= 0
}

// lineParser reads the lines of a file in a layout.
type lineParser struct {
	layout  *layout
	columns []column // of this file, in its order
	least   int      // columns that a line has at the least
	ops     source.OpFilter
	tenant  int  // index of its column, -1 for none
	sized   bool // a column has the size of the object
	row     Row
}

// newParser returns a parser for a file without a header. opts has the options of the format, or is nil.
func (l *layout) newParser(opts params.Values) *lineParser {
	p := &lineParser{layout: l, columns: slices.Clone(l.columns), least: len(l.columns) - l.optional, tenant: -1,
		ops: source.NewOpFilter("all"), sized: slices.ContainsFunc(l.columns, statesSize)}
	if ops, ok := opts["ops"].(string); ok {
		p.ops = source.NewOpFilter(ops)
	}
	if opts["size"] == "value" {
		for i := range p.columns {
			if p.columns[i].holds&aKeySize != 0 {
				p.columns[i] = column{name: p.columns[i].name}
			}
		}
	}
	return p
}

// newParser returns a parser for the lines of src, after its header if it has one. opts has the options of the format.
func (t table) newParser(src *source.Source, opts params.Values) (*lineParser, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	l, _ := t.layoutOf(head, src.FormatName)
	p := l.newParser(opts)
	if len(head.Lines) > 0 && l.isHeader(head.Lines[0]) {
		if _, err := src.Line(); err != nil {
			return nil, err
		}
		if _, err := p.takeHeader(head.Lines[0]); err != nil {
			return nil, src.LineErrorf("%w", err)
		}
	} else if l.headed {
		return nil, src.Errorf("no header: want a first line that names the columns, among them %s",
			strings.Join(l.needed(), ", "))
	}
	if tenant, ok := opts["tenant"].(string); ok && tenant != "" {
		if p.tenant = named(p.columns, tenant); p.tenant < 0 {
			return nil, src.Errorf("%w", suggest.Unknown("column", tenant, namesOf(p.columns)))
		}
		src.Reading.Tenant = stated("tenant", p.columns[p.tenant].name)
	}
	p.state(src.Reading, opts)
	return p, nil
}

// takeHeader orders the columns as a header does, and reports whether it names any. A remark need not.
func (p *lineParser) takeHeader(line []byte) (known bool, err error) {
	rest := source.TrimBlanks(bytes.TrimPrefix(line, []byte("#")))
	var inOrder []column
	for more := true; more; {
		var cell []byte
		cell, rest, more = cut(rest, p.layout.delimiter)
		name := string(source.TrimBlanks(cell))
		if i := named(p.columns, name); i >= 0 {
			inOrder, known = append(inOrder, p.columns[i]), true
		} else {
			inOrder = append(inOrder, column{name: name})
		}
	}
	if !known {
		return false, nil
	}
	for _, name := range p.layout.needed() {
		if named(inOrder, name) < 0 {
			return true, fmt.Errorf("no column %s in the header; want %s", name, strings.Join(p.layout.needed(), ", "))
		}
	}
	p.columns, p.least = inOrder, len(inOrder)
	p.sized = slices.ContainsFunc(inOrder, statesSize)
	return true, nil
}

// needed returns the names of the columns without which there are no requests.
func (l *layout) needed() (needed []string) {
	for i, c := range l.columns {
		if c.must || c.holds&^(aTTL|aServed) != 0 && !c.spare && i < len(l.columns)-l.optional {
			needed = append(needed, c.name)
		}
	}
	return needed
}

// has reports whether this file has a column that holds a part.
func (p *lineParser) has(a part) bool { return slices.ContainsFunc(p.columns, isPart(a)) }

// state says in the reading which columns are read.
func (p *lineParser) state(r *stream.Reading, opts params.Values) {
	r.Key = stated("key", names(p.columns, aKey))
	if i := slices.IndexFunc(p.columns, isPart(aTime)); i >= 0 {
		r.Time = stated("time", p.columns[i].name) + " in " + p.columns[i].unit
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

// fields returns what the records of this file carry.
func (p *lineParser) fields() stream.Fields {
	return stream.Fields{Time: p.has(aTime), Size: p.has(aSize), Op: p.has(anOp), TTL: p.has(aTTL),
		Served: p.has(aServed), Tenant: p.tenant >= 0, SizeMayLack: p.has(aSize)}
}

// parse reads a line. The row is valid until the next call, as long as the line is. A line that is no request returns
// source.ErrLeftOut.
func (p *lineParser) parse(line []byte) (*Row, error) {
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
	case p.layout.isHeader(line): // once more, as where files were put together
		err = source.ErrLeftOut
	default:
		err = p.explain(line, err)
	}
	return &p.row, err
}

// explain returns the error of a cell, or one about the number of columns, which may be its cause.
func (p *lineParser) explain(line []byte, err error) error {
	if p.layout.delimiter == ' ' {
		line = source.TrimBlanks(line)
	}
	n, most := 0, len(p.columns)
	for rest, more := line, true; more; n++ {
		_, rest, more = cut(rest, p.layout.delimiter)
	}
	if n >= p.least && (n <= most || p.layout.further) {
		return err
	}
	return fmt.Errorf("%d columns: want %d, as %s", n, p.least, strings.Join(namesOf(p.columns), ", "))
}

// cells reads the cells of a line into the row.
func (p *lineParser) cells(line []byte) error {
	delimiter := p.layout.delimiter
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
		if p.layout.trim {
			cell = source.TrimBlanks(cell)
		}
		column := &p.columns[i]
		if column.parse != nil {
			if err := column.parse(&p.row, cell); err == source.ErrLeftOut {
				return err
			} else if err != nil {
				return fmt.Errorf("column %d, %s: %w", i+1, column.name, err)
			}
		}
		if i == p.tenant {
			p.row.Record.Tenant = cell
		}
	}
	if more && !p.layout.further {
		return errColumns
	}
	return nil
}

// errColumns is what explain explains.
var errColumns = errors.New("too few or too many columns")

// named returns the index of the column with that name, whatever the case, blanks and punctuation, or -1.
func named(columns []column, name string) int {
	plain := source.PlainName(name)
	return slices.IndexFunc(columns, func(c column) bool { return source.PlainName(c.name) == plain })
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

func (t table) open(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	p, err := t.newParser(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	return source.ReadLines(src, func(line []byte, rec *stream.Record) error {
		row, err := p.parse(line)
		if err == nil {
			*rec = row.Record
		}
		return err
	}), p.fields(), nil
}
