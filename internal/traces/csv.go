package traces

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/params"
)

var csvFormat = Format{
	Name:      "csv",
	Summary:   "CSV or TSV with named or numbered columns: key, and time, size and operation if they are there",
	Example:   "time,key,size,op\n0.25,/a.png,4096,get",
	Carries:   "key, and time, size, op where there are columns for them",
	Detection: "a header with a known name for the key, or lines of equally many columns",
	Options: append(columnOptions(),
		params.Param{Name: "delimiter", Default: "auto", Choices: delimiterNames(), Doc: "what separates columns"},
		params.Param{Name: "header", Default: "auto", Choices: []string{"auto", "true", "false"}, Doc: "whether the first " +
			"line names the columns"},
		opsOption(),
	),
	Detect: detectCSV,
	Open:   openCSV,
}

// detectCSV is sure of a header with a column for the key; other tables are possible, and opening them says which
// columns to name.
func detectCSV(head Head, _ string) Confidence {
	lines := withoutBlankEnd(head.Lines)
	if len(lines) == 0 || isBinary(head.Bytes) {
		return No
	}
	delimiter, ok := guessDelimiter(lines)
	if !ok {
		return detectOneColumn(lines)
	}
	header := &rowReader{}
	for _, cell := range cutLoosely(nil, lines[0], delimiter) {
		header.header = append(header.header, string(cell))
	}
	hasHeader := guessHeader(lines, delimiter, nil)
	switch {
	case hasHeader && header.known(keyNames) >= 0:
		return Likely
	case !hasHeader && !looksLikeData(lines[0], delimiter):
		return No
	case isBlank(delimiter):
		return Possible // as other formats have columns with blanks between them
	}
	return Likely
}

// detectOneColumn tells a list of keys with a header from one without.
func detectOneColumn(lines [][]byte) Confidence {
	header := rowReader{header: []string{string(lines[0])}}
	if len(lines) > 1 && header.known(keyNames) == 0 {
		return Likely
	}
	return No
}

// looksLikeData says whether a line has a number in it and no sentences.
func looksLikeData(line []byte, delimiter byte) bool {
	cells := cutLoosely(nil, line, delimiter)
	sentence := func(cell []byte) bool {
		return !isNumber(cell) && slices.ContainsFunc(trimBlanks(cell), isBlank)
	}
	return slices.ContainsFunc(cells, isNumber) && !slices.ContainsFunc(cells, sentence)
}

// csvReader reads the chosen columns of a table.
type csvReader struct {
	rows rowReader
	columns
	unit  int64
	ops   opFilter
	first bool // the first row of a table without a header was read already
}

func openCSV(src *Source, opts params.Values) (Reader, Fields, error) {
	c := &csvReader{rows: rowReader{src: src}, unit: timeUnits[opts.Text("time-unit")], ops: newOpFilter(opts.Text("ops"))}
	if err := c.rows.begin(opts); err != nil {
		return nil, Fields{}, err
	}
	c.first = c.rows.header == nil
	var err error
	if c.columns, err = c.rows.chooseColumns("csv", opts); err != nil {
		return nil, Fields{}, err
	}
	c.state(opts)
	return c, c.columns.fields(), nil
}

// state says what the table is read as.
func (c *csvReader) state(opts params.Values) {
	r := &c.rows
	r.state(c.columns, opts)
	for _, d := range delimiters {
		if d.char == r.delimiter {
			r.src.reading.Layout = d.name
			opts["delimiter"] = d.name
		}
	}
	if r.header == nil {
		r.src.reading.Layout += ", no header"
	}
	opts["header"] = strconv.FormatBool(r.header != nil)
	if c.time >= 0 {
		r.src.reading.Time += timeKind(r.firstRow, c.time, opts.Text("time-unit"))
	}
	r.src.reading.Why = "not " + opts.Text("ops")
}

// timeKind says what the times in a column are, by the first row: dates, or numbers of units.
func timeKind(row [][]byte, column int, unit string) string {
	if column < len(row) && bytes.ContainsAny(row[column], ":") {
		return " as dates"
	}
	return " in " + unit
}

// begin finds out the delimiter and whether there is a header, and reads the first row.
func (r *rowReader) begin(opts params.Values) error {
	head, err := r.src.head()
	if err != nil {
		return err
	}
	lines := withoutBlankEnd(head.Lines)
	if len(lines) == 0 || isBinary(head.Bytes) {
		return r.src.Errorf("want rows of text, the first of at most %d bytes", headLen)
	}
	r.delimiter = ','
	if guess, ok := guessDelimiter(lines); ok {
		r.delimiter = guess
	}
	for _, d := range delimiters {
		if d.name == opts.Text("delimiter") {
			r.delimiter = d.char
		}
	}
	wanted := []string{opts.Text("key"), opts.Text("time"), opts.Text("size"), opts.Text("op")}
	if tenant := opts.Text("tenant"); tenant != "" {
		wanted = append(wanted, tenant)
	}
	if h := opts.Text("header"); h == "true" || (h == "auto" && guessHeader(lines, r.delimiter, wanted)) {
		if len(lines) > 1 {
			r.firstRow = cutLoosely(nil, bytes.Clone(lines[1]), r.delimiter)
		}
		return r.readHeader()
	}
	r.firstRow = cutLoosely(nil, bytes.Clone(lines[0]), r.delimiter)
	return r.next()
}

// Read implements Reader.
func (c *csvReader) Read(rec *Record) error {
	for {
		if c.first {
			c.first = false
		} else if err := c.rows.next(); err != nil {
			return err
		}
		if err := c.parse(rec); err != nil {
			return c.rows.src.LineErrorf("%w", err)
		}
		if c.ops.has(rec.Op) {
			return nil
		}
		c.rows.src.reading.LeftOut++
	}
}

// parse reads the cells of the current row.
func (c *csvReader) parse(rec *Record) error {
	*rec = Record{}
	cells := c.rows.cells
	if len(cells[c.key]) == 0 {
		return fmt.Errorf("column %d: the key is empty", c.key+1)
	}
	rec.setKey(cells[c.key])
	if rec.Text != nil && isBinary(rec.Text) {
		return fmt.Errorf("column %d: control characters in the key %.60q: this is not a text trace", c.key+1, rec.Text)
	}
	var err error
	if c.time >= 0 {
		if rec.Time, err = parseTime(trimBlanks(cells[c.time]), c.unit); err != nil {
			return fmt.Errorf("column %d: %w", c.time+1, err)
		}
	}
	if c.size >= 0 {
		if rec.Size, err = parseSize(trimBlanks(cells[c.size])); err != nil {
			return fmt.Errorf("column %d: %w", c.size+1, err)
		}
	}
	if c.op >= 0 {
		var ok bool
		if rec.Op, ok = parseOp(cells[c.op]); !ok {
			return fmt.Errorf("column %d: operation %.60q: want one such as get, set, read, write or delete, or csv:op=none "+
				"to ignore the column",
				c.op+1, cells[c.op])
		}
	}
	if c.tenant >= 0 {
		rec.Tenant = cells[c.tenant]
	}
	return nil
}
