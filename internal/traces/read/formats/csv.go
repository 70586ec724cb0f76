package formats

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var csvFormat = source.Format{
	Name: "csv",
	Options: append(source.ColumnOptions(),
		params.Param{Name: "delimiter", Default: "auto", Choices: source.DelimiterNames(), Doc: "separator of columns"},
		params.Param{Name: "header", Default: "auto", Choices: []string{"auto", "true", "false"}, Doc: "whether the first " +
			"line names the columns"},
		source.OpsOption(),
		source.OpCodesOption(),
	),
	Detect: detectCSV,
	Open:   openCSV,
}

// detectCSV is sure if a header has a column for the key. Other tables are possible; opening one says which columns to
// name.
func detectCSV(head source.Head, _ string) source.Confidence {
	lines := source.WithoutComments(source.WithoutBlankEnd(head.Lines))
	if len(lines) == 0 || source.IsBinary(head.Bytes) {
		return source.No
	}
	delimiter, ok := source.GuessDelimiter(lines)
	if !ok {
		// A list of keys with a header, unlike one without.
		one := source.Rows{Header: []string{string(lines[0])}}
		return source.Likely.If(len(lines) > 1 && one.Known(source.KeyNames) == 0)
	}
	header := &source.Rows{}
	for _, cell := range source.CutLoosely(nil, lines[0], delimiter) {
		header.Header = append(header.Header, string(cell))
	}
	hasHeader := source.GuessHeader(lines, delimiter, nil)
	switch {
	case hasHeader && header.Known(source.KeyNames) >= 0:
		return source.Likely
	case !hasHeader && !looksLikeData(lines[0], delimiter):
		return source.No
	case source.IsBlank(delimiter):
		return source.Possible // since other formats have columns separated by blanks
	}
	return source.Likely
}

// looksLikeData reports whether a line has a number in it and no sentences.
func looksLikeData(line []byte, delimiter byte) bool {
	cells := source.CutLoosely(nil, line, delimiter)
	sentence := func(cell []byte) bool {
		return !source.IsNumber(cell) && slices.ContainsFunc(source.TrimBlanks(cell), source.IsBlank)
	}
	return slices.ContainsFunc(cells, source.IsNumber) && !slices.ContainsFunc(cells, sentence)
}

// csvReader reads the chosen columns of a table. It implements Reader.
type csvReader struct {
	rows source.Rows
	source.ChosenColumns
	unit  int64 // of times
	ttl   int64 // unit of times to live
	key   source.KeyParts
	ops   source.OpFilter
	codes source.OpCodes
	first bool // the first row of a table without a header has been read already
}

func openCSV(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c := &csvReader{rows: source.Rows{Src: src},
		ttl: source.TimeUnits[opts.Text("ttl-unit")], ops: source.NewOpFilter(opts.Text("ops"))}
	var err error
	if c.codes, err = source.ParseOpCodes(opts); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	if err := c.rows.Begin(opts); err != nil {
		return nil, stream.Fields{}, err
	}
	c.first = c.rows.Header == nil // Begin had to read a row to find out
	if c.ChosenColumns, err = c.rows.ChooseColumns("csv", opts); err != nil {
		return nil, stream.Fields{}, err
	}
	if c.codes != nil && c.Op < 0 {
		return nil, stream.Fields{}, src.Errorf("op-codes=%s: no column has operations; name it, as in csv:op=2",
			opts.Text(source.OpCodesName))
	}
	c.rows.Least = c.least()
	c.rows.Wanted = 1 + max(slices.Max(c.Key), c.Time, c.Size, c.Op, c.TTL, c.Served, c.Tenant)
	c.state(opts)
	return c, c.ChosenColumns.Fields(), nil
}

// least returns how many cells a row must have. One that is no write may end before its size and its time to live, if
// its operation comes before them: 4,a,get. Without one, a row that was cut off would look complete.
func (c *csvReader) least() int {
	if c.Op < 0 {
		return 0
	}
	last := max(slices.Max(c.Key), c.Time, c.Op, c.Served, c.Tenant)
	if c.Size >= 0 && c.Size < last || c.TTL >= 0 && c.TTL < last {
		return 0
	}
	return last + 1
}

func (c *csvReader) state(opts params.Values) {
	r := &c.rows
	r.State(c.ChosenColumns, opts)
	for _, d := range source.Delimiters {
		if d.Char == r.Delimiter {
			r.Src.Reading.Layout = d.Name
			opts["delimiter"] = d.Name
		}
	}
	if r.Header == nil {
		r.Src.Reading.Layout += ", no header"
	}
	if r.Comments {
		r.Src.Reading.Layout += ", without comments (#)"
	}
	opts["header"] = strconv.FormatBool(r.Header != nil)
	if c.Time >= 0 {
		var first []byte
		if c.Time < len(r.FirstRow) {
			first = r.FirstRow[c.Time]
		}
		c.unit = source.TimeUnit(opts, first)
		r.Src.Reading.Time += source.TimeKind(first, c.unit)
	}
	if c.TTL >= 0 {
		r.Src.Reading.TTL += " in " + opts.Text("ttl-unit")
	}
	r.Src.Reading.Why = "not " + opts.Text("ops")
}

func (c *csvReader) Read(rec *stream.Record) error {
	for {
		if c.first {
			c.first = false
		} else if err := c.rows.Next(); err != nil {
			return err
		}
		if err := c.parse(rec); err != nil {
			return c.rows.Src.LineErrorf("%w", err)
		}
		if c.ops.Has(rec.Op) {
			return nil
		}
		c.rows.Src.Reading.LeftOut++
	}
}

func (c *csvReader) parse(rec *stream.Record) error {
	*rec = stream.Record{}
	cells := c.rows.Cells
	if err := c.setKey(rec); err != nil {
		return err
	}
	var err error
	if c.Time >= 0 {
		if rec.Time, err = source.ParseTime(source.TrimBlanks(cells[c.Time]), c.unit); err != nil {
			return fmt.Errorf("column %d: %w", c.Time+1, err)
		}
	}
	if c.Size >= 0 {
		if err = source.SetSize(rec, cells[c.Size]); err != nil {
			return fmt.Errorf("column %d: %w", c.Size+1, err)
		}
	}
	if c.Op >= 0 {
		if err := c.setOp(rec, cells[c.Op]); err != nil {
			return err
		}
		if c.rows.Lacking > 0 && rec.Op.Writes() {
			return c.rows.WrongColumns()
		}
	}
	if c.TTL >= 0 {
		if rec.TTL, err = source.ParseTTL(cells[c.TTL], c.ttl); err != nil {
			return fmt.Errorf("column %d: %w; or use csv:ttl=none to ignore the column", c.TTL+1, err)
		}
	}
	if c.Served >= 0 {
		rec.Served = source.ParseServed(source.TrimBlanks(cells[c.Served]))
	}
	if c.Tenant >= 0 {
		rec.Tenant = cells[c.Tenant]
	}
	return nil
}

func (c *csvReader) setOp(rec *stream.Record, cell []byte) (err error) {
	if rec.Op, err = c.codes.Parse(cell); err != nil {
		err = fmt.Errorf("column %d: %w; or use csv:op=none to ignore the column", c.Op+1, err)
	}
	return err
}

func (c *csvReader) setKey(rec *stream.Record) error {
	first := c.Key[0]
	text := c.rows.Cells[first]
	if len(c.Key) > 1 {
		c.key.Reset()
		for _, i := range c.Key {
			c.key.Add(c.rows.Cells[i])
		}
		text = c.key.Text()
	}
	if len(text) == 0 {
		return fmt.Errorf("column %d: the key is empty", first+1)
	}
	rec.SetKey(text)
	if rec.Text != nil && source.IsBinary(rec.Text) {
		return fmt.Errorf("column %d: control characters in the key %.60q: this is not a text trace", first+1, rec.Text)
	}
	return nil
}
