package traces

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/suggest"
)

// rowReader cuts lines into cells and wants the same number of cells in every row. Cells may be quoted as in RFC 4180,
// except where spaces separate them.
type rowReader struct {
	src       *Source
	delimiter byte
	columns   int      // cells per row, 0 before the first
	header    []string // names of the columns, nil without a header
	firstRow  [][]byte // cut loosely
	cells     [][]byte // of the last row; valid until the next

	quoted *csv.Reader // reads the rows that hold quotes, from feed
	feed   bytes.Buffer
}

// next reads the next row into cells and returns io.EOF after the last. Blank lines may only end the file.
func (r *rowReader) next() error {
	line, err := r.src.Line()
	if err != nil {
		return err
	}
	if len(line) == 0 {
		return r.src.onlyBlankLines()
	}
	var simple bool
	r.cells, simple = cutSimple(r.cells[:0], line, r.delimiter)
	if !simple {
		if err := r.cutQuoted(line); err != nil {
			return err
		}
	}
	if r.columns == 0 {
		r.columns = len(r.cells)
	}
	if len(r.cells) != r.columns {
		return r.src.LineErrorf("%d columns, but the lines before have %d", len(r.cells), r.columns)
	}
	return nil
}

// cutSimple appends the cells of a line whose quotes, if any, enclose whole cells and nothing that is special in
// quotes.
func cutSimple(cells [][]byte, line []byte, delimiter byte) (_ [][]byte, ok bool) {
	if delimiter == ' ' || bytes.IndexByte(line, '"') < 0 {
		return cutCells(cells, line, delimiter), true
	}
	for {
		end := bytes.IndexByte(line, delimiter)
		if len(line) > 0 && line[0] == '"' {
			end = bytes.IndexByte(line[1:], '"') + 2 // after the closing quote
			if end == 1 || (end < len(line) && line[end] != delimiter) {
				return cells, false
			}
			cells = append(cells, line[1:end-1])
		} else {
			if end < 0 {
				end = len(line)
			}
			if bytes.IndexByte(line[:end], '"') >= 0 {
				return cells, false
			}
			cells = append(cells, line[:end])
		}
		if end == len(line) {
			return cells, true
		}
		line = line[end+1:]
	}
}

// cutCells appends the cells of a line without quotes. A run of spaces and tabs is one delimiter if the delimiter is a
// space.
func cutCells(cells [][]byte, line []byte, delimiter byte) [][]byte {
	if delimiter == ' ' {
		for {
			word, rest := cutWord(line)
			if len(word) == 0 {
				return cells
			}
			cells, line = append(cells, word), rest
		}
	}
	for {
		i := bytes.IndexByte(line, delimiter)
		if i < 0 {
			return append(cells, line)
		}
		cells = append(cells, line[:i])
		line = line[i+1:]
	}
}

// cutQuoted cuts a row with quoted cells, which may go on over several lines, by encoding/csv.
func (r *rowReader) cutQuoted(line []byte) error {
	r.feed.Reset()
	first := r.src.line
	quotes := 0
	for {
		quotes += bytes.Count(line, []byte(`"`))
		r.feed.Write(line)
		r.feed.WriteByte('\n')
		if quotes%2 == 0 {
			break
		}
		var err error
		if line, err = r.src.Line(); err == nil && r.feed.Len() < maxLine {
			continue
		} else if err != nil && err != io.EOF {
			return err
		}
		r.src.line = first
		return r.src.LineErrorf("a quote is opened but not closed")
	}
	if r.quoted == nil {
		r.quoted = csv.NewReader(&r.feed)
		r.quoted.Comma = rune(r.delimiter)
		r.quoted.FieldsPerRecord = -1
		r.quoted.ReuseRecord = true
	}
	record, err := r.quoted.Read()
	if err != nil {
		var parseErr *csv.ParseError
		if errors.As(err, &parseErr) {
			err = parseErr.Err
		}
		return r.src.LineErrorf("%w", err)
	}
	r.cells = r.cells[:0]
	for _, cell := range record {
		r.cells = append(r.cells, []byte(cell))
	}
	return nil
}

// readHeader takes the next row as names of the columns.
func (r *rowReader) readHeader() error {
	if err := r.next(); err == io.EOF {
		return r.src.Errorf("no header: the file holds no rows")
	} else if err != nil {
		return err
	}
	for _, cell := range r.cells {
		r.header = append(r.header, string(trimBlanks(cell)))
	}
	return nil
}

// column returns the index of the column that the user chose by name or by number from 1.
func (r *rowReader) column(choice string) (int, error) {
	if i := r.named(choice); i >= 0 {
		if slices.ContainsFunc(r.header[i+1:], func(h string) bool { return strings.EqualFold(h, choice) }) {
			return -1, r.src.Errorf("column %q is there twice: give its number, from 1 to %d", choice, r.columns)
		}
		return i, nil
	}
	n, err := strconv.Atoi(choice)
	switch {
	case err == nil && n >= 1 && n <= r.columns:
		return n - 1, nil
	case err == nil:
		return -1, r.src.Errorf("there is no column %d: the file has %d", n, r.columns)
	case r.header == nil:
		return -1, r.src.Errorf(
			"there is no column %q, as the file has no header: give a number from 1 to %d",
			choice,
			r.columns,
		)
	}
	return -1, r.src.Errorf("%w", suggest.Unknown("column", choice, r.header))
}

// columnOptions are the options of formats that have named columns.
func columnOptions() []params.Param {
	return []params.Param{
		{Name: "key", Default: "", Doc: "column of the key: a name in the header or a number from 1; by default one named " +
			strings.Join(keyNames, ", ") + " (case and the signs _-.# do not matter)"},
		{Name: "time", Default: "", Doc: "column of the time (none: ignore it); by default one named " +
			strings.Join(timeNames, ", ")},
		{Name: "size", Default: "", Doc: "column of the size in bytes (none: ignore it); by default one named " +
			strings.Join(sizeNames, ", ")},
		{Name: "op", Default: "", Doc: "column of the operation (none: ignore it); by default one named " +
			strings.Join(opNames, ", ")},
		{Name: "tenant", Default: "", Doc: "column of the tenant, for those who divide a cache among tenants; by default none"},
		{Name: "time-unit", Default: "s", Choices: []string{"s", "ms", "us", "ns"}, Doc: "unit of times that are numbers; " +
			"fractions are fine"},
	}
}

// timeUnits in nanoseconds.
var timeUnits = map[string]int64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// unitName returns the name of a unit of so many nanoseconds.
func unitName(ns int64) string {
	for name, unit := range timeUnits {
		if unit == ns {
			return name
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// columns are the indexes of the columns to read, -1 for none.
type columns struct{ key, time, size, op, tenant int }

func (c columns) fields() Fields {
	return Fields{Time: c.time >= 0, Size: c.size >= 0, Op: c.op >= 0, Tenant: c.tenant >= 0}
}

// chooseColumns finds the columns that the options of a format name, or else those with known names.
func (r *rowReader) chooseColumns(format string, opts params.Values) (columns, error) {
	var c columns
	for _, col := range []struct {
		index *int
		name  string
		known []string
	}{{&c.key, "key", keyNames}, {&c.time, "time", timeNames}, {&c.size, "size", sizeNames}, {&c.op, "op", opNames},
		{&c.tenant, "tenant", nil}} {
		choice := opts.Text(col.name)
		var err error
		if choice == "none" && col.index == &c.key {
			*col.index, err = r.column(choice)
		} else {
			*col.index, err = r.choose(choice, col.known)
		}
		if err != nil {
			return c, err
		}
	}
	if c.key < 0 {
		return c, r.src.Errorf("no column is known to hold the key; name one with --input-format %s:key=NAME, or "+
			"key=NUMBER counted from 1 "+
			"(columns %s)", format, r.describeColumns())
	}
	return c, nil
}

// state says in the reading which columns are read, and in opts how to choose them again.
func (r *rowReader) state(c columns, opts params.Values) {
	for _, col := range []struct {
		index  int
		option string
		stated *string
	}{{c.key, "key", &r.src.reading.Key}, {c.time, "time", &r.src.reading.Time}, {c.size, "size",
		&r.src.reading.Size}, {c.op, "op", &r.src.reading.Op}, {c.tenant, "tenant", &r.src.reading.Tenant}} {
		if col.index >= 0 {
			*col.stated = col.option
			if name := r.describeColumn(col.index); name != col.option {
				*col.stated += " " + name
			}
			opts[col.option] = r.choiceOf(col.index)
		}
	}
	for i := 0; i < r.columns && len(r.src.reading.Others) < mostCandidates; i++ {
		if i != c.key && i != c.time && i != c.size && i != c.op && i != c.tenant && !(r.header != nil && isNoKey(r.header[i])) {
			r.src.reading.Others = append(r.src.reading.Others, r.choiceOf(i))
		}
	}
}

// isNoKey says whether a name is a known one of something else than a key.
func isNoKey(name string) bool {
	plain := plainName(name)
	return slices.Contains(timeNames, plain) || slices.Contains(sizeNames, plain) || slices.Contains(opNames, plain)
}

// describeColumn returns the name of a column for people, or its number.
func (r *rowReader) describeColumn(i int) string {
	if r.header == nil || r.header[i] == "" {
		return fmt.Sprintf("column %d", i+1)
	}
	return shortName(r.header[i])
}

// choiceOf returns what chooses a column again: its name, if that is plain and no other column has it, or else its
// number.
func (r *rowReader) choiceOf(i int) string {
	if r.header != nil && isPlainChoice(r.header[i]) {
		if again, err := r.column(r.header[i]); err == nil && again == i {
			return r.header[i]
		}
	}
	return strconv.Itoa(i + 1)
}

// isPlainChoice says whether a name can stand as the value of an option and is not taken for a number or for "none".
func isPlainChoice(name string) bool {
	for i, c := range name {
		letter := c|' ' >= 'a' && c|' ' <= 'z' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-.", c)) {
			return false
		}
	}
	return name != "" && name != "none" && len(name) <= maxChoice
}

// maxChoice is the longest name of a column that is written out, in bytes; a longer one stands as its number.
const maxChoice = 80

// choose returns the index of the column that the user chose, for "" of one with a known name, or -1 for none.
func (r *rowReader) choose(choice string, known []string) (int, error) {
	switch choice {
	case "":
		return r.known(known), nil
	case "none":
		return -1, nil
	}
	return r.column(choice)
}

// named returns the index of the column with that name, whatever its case, or -1.
func (r *rowReader) named(name string) int {
	return slices.IndexFunc(r.header, func(h string) bool { return strings.EqualFold(h, name) })
}

// known returns the index of the first column in the header whose name is one of names, the first of names before the
// second, or -1.
func (r *rowReader) known(names []string) int {
	for _, name := range names {
		if i := slices.IndexFunc(r.header, func(h string) bool { return plainName(h) == name }); i >= 0 {
			return i
		}
	}
	return -1
}

// plainName is a column name in lower case without spaces and signs: "Obj-ID" and "obj_id" are both "objid".
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" _-.#", c) {
			return -1
		}
		return c
	}, strings.ToLower(name))
}

// Columns that are recognised by their names, as plainName writes them. Of several the first in this order is read. An
// id comes late, as it often numbers the requests where another column names the object; a name comes last, as it may
// be that of anything.
var (
	keyNames = []string{
		"key",
		"cachekey",
		"objid",
		"objectid",
		"obj",
		"object",
		"url",
		"uri",
		"path",
		"item",
		"itemid",
		"lbn",
		"lba",
		"block",
		"blockid",
		"id",
		"name",
	}
	sizeNames = []string{
		"size", "objsize", "objectsize", "bytes", "bytessent", "bodybytessent", "contentlength", "length", "len",
	}
	timeNames = []string{"time", "timestamp", "ts", "optime", "clocktime", "realtime", "datetime", "date", "clock"}
	opNames   = []string{"op", "operation", "opcode", "command", "cmd"}
)

// isKnownName says whether name is one of those that are recognised.
func isKnownName(name []byte) bool {
	plain := plainName(string(trimBlanks(name)))
	for _, names := range [][]string{keyNames, sizeNames, timeNames, opNames} {
		if slices.Contains(names, plain) {
			return true
		}
	}
	return false
}

// isNumber says whether a cell is a number or a date, and so no name of a column.
func isNumber(cell []byte) bool {
	cell = bytes.TrimPrefix(trimBlanks(cell), []byte("-"))
	_, err := parseTime(cell, 1)
	return err == nil
}

// delimiters by the names that the option takes.
var delimiters = []struct {
	name string
	char byte
}{{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"pipe", '|'}, {"space", ' '}}

// delimiterNames returns "auto" and the names of all delimiters.
func delimiterNames() []string {
	names := []string{"auto"}
	for _, d := range delimiters {
		names = append(names, d.name)
	}
	return names
}

// guessDelimiter returns the delimiter that cuts the first lines into the same number of cells, two at least; one that
// finds a known name in the first line goes before others. ok is false where none does.
func guessDelimiter(lines [][]byte) (delimiter byte, ok bool) {
	for _, d := range delimiters {
		if slices.ContainsFunc(cutLoosely(nil, lines[0], d.char), isKnownName) && bytes.IndexByte(lines[0], d.char) >= 0 {
			return d.char, true
		}
	}
	for _, d := range delimiters {
		if cutsEvenly(lines, d.char) {
			return d.char, true
		}
	}
	return 0, false
}

// cutsEvenly says whether lines have the same number of cells, and more than one. Up to half of them may differ, so
// that one bad line does not turn a table into something else but is found when it is read; where blanks are the
// delimiter, none may, as prose has blanks.
func cutsEvenly(lines [][]byte, delimiter byte) bool {
	var cells [][]byte
	columns, even := 0, 0
	for i, line := range lines {
		cells = cutLoosely(cells[:0], line, delimiter)
		if i == 0 {
			columns = len(cells)
		}
		if len(cells) == columns {
			even++
		}
	}
	return columns > 1 && (even == len(lines) || 2*even >= len(lines) && !isBlank(delimiter))
}

// cutLoosely appends the cells of a line, to guess by: quotes around cells are dropped, and no error is reported.
func cutLoosely(cells [][]byte, line []byte, delimiter byte) [][]byte {
	if delimiter == ' ' || bytes.IndexByte(line, '"') < 0 {
		return cutCells(cells, line, delimiter)
	}
	start, inQuotes := 0, false
	for i, c := range line {
		if c == '"' {
			inQuotes = !inQuotes
		} else if c == delimiter && !inQuotes {
			cells = append(cells, bytes.Trim(line[start:i], `"`))
			start = i + 1
		}
	}
	return append(cells, bytes.Trim(line[start:], `"`))
}

// guessHeader says whether the first line names the columns: it holds no numbers, and either a known name (or one of
// wanted), or the second line has numbers.
func guessHeader(lines [][]byte, delimiter byte, wanted []string) bool {
	first := cutLoosely(nil, lines[0], delimiter)
	if slices.ContainsFunc(first, isNumber) {
		return false
	}
	isWanted := func(cell []byte) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, string(trimBlanks(cell))) })
	}
	if slices.ContainsFunc(first, isKnownName) || slices.ContainsFunc(first, isWanted) {
		return true
	}
	return len(lines) > 1 && slices.ContainsFunc(cutLoosely(nil, lines[1], delimiter), isNumber)
}

// describeColumns lists the columns for an error: their names, or the cells of the first row.
func (r *rowReader) describeColumns() string {
	parts := make([]string, 0, len(r.cells))
	if r.header != nil {
		for _, h := range r.header {
			parts = append(parts, strconv.Quote(h))
		}
	} else {
		for i, c := range r.cells {
			parts = append(parts, fmt.Sprintf("%d: %.40q", i+1, c))
		}
	}
	return strings.Join(parts, ", ")
}
