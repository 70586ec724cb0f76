package source

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Rows cuts lines into cells and requires the same number of cells in every row, or a least number. Cells may be quoted
// as in RFC 4180, except if spaces separate them.
type Rows struct {
	Src       *Source
	Delimiter byte
	Columns   int      // cells per row, 0 before the first
	Least     int      // cells that a row must have, 0 for all; those that it lacks at its end are nil
	Wanted    int      // first cells of a row that are wanted, 0 for all; others are counted, and may be left out
	Lacking   int      // such cells of the last row
	Header    []string // names of the columns, nil without a header
	Comments  bool     // the beginning of the file has lines of comments, after #
	FirstRow  [][]byte // cut loosely
	Cells     [][]byte // of the last row; valid until the next

	expected int      // cells of a row, as the beginning of the file has them; 0 if unknown
	remarks  [][]byte // lines of comments at the beginning

	quoted *csv.Reader // reads rows with quotes, from feed
	feed   bytes.Buffer
}

// Next reads the next row into cells and returns io.EOF after the last. Blank lines may only end the file.
func (r *Rows) Next() error {
	line, err := r.Src.Line()
	for err == nil && len(line) > 0 && line[0] == '#' && r.isComment(line) {
		line, err = r.Src.Line()
	}
	if err != nil {
		return err
	}
	if len(line) == 0 {
		return r.Src.OnlyBlankLines()
	}
	n, err := r.cut(line)
	if err != nil {
		return err
	}
	if r.Columns == 0 {
		r.Columns = n
	}
	if r.Lacking = r.Columns - n; r.Lacking == 0 {
		return nil
	}
	if r.Least == 0 || n < r.Least || r.Lacking < 0 {
		return r.Src.LineErrorf("%w", r.WrongColumns())
	}
	for range r.Lacking {
		r.Cells = append(r.Cells, nil)
	}
	return nil
}

// cut cuts a line into cells, and returns how many it has.
func (r *Rows) cut(line []byte) (n int, err error) {
	quoted := r.Delimiter != ' ' && bytes.IndexByte(line, '"') >= 0
	if r.Wanted > 0 && r.Delimiter != ' ' && !quoted {
		var rest []byte
		if r.Cells, rest = cutFirst(r.Cells[:0], line, r.Delimiter, r.Wanted); rest == nil {
			return len(r.Cells), nil
		}
		return len(r.Cells) + 1 + bytes.Count(rest, []byte{r.Delimiter}), nil
	}
	ok := true
	if r.Cells = r.Cells[:0]; quoted {
		r.Cells, ok = cutSimple(r.Cells, line, r.Delimiter)
	} else {
		r.Cells = cutCells(r.Cells, line, r.Delimiter)
	}
	if !ok {
		err = r.cutQuoted(line)
	}
	return len(r.Cells), err
}

// isComment reports whether a line that begins with # is no row: it has another number of cells than the rows.
func (r *Rows) isComment(line []byte) bool {
	columns := cmp.Or(r.Columns, r.expected)
	return columns > 0 && len(CutLoosely(nil, line, r.Delimiter)) != columns
}

// WithoutComments returns the lines of a table without those that begin with # and are no rows: they have another
// number of cells.
func WithoutComments(lines [][]byte) [][]byte {
	isMarked := func(line []byte) bool { return len(line) > 0 && line[0] == '#' }
	rows := slices.DeleteFunc(slices.Clone(lines), isMarked)
	if len(rows) == 0 || len(rows) == len(lines) {
		return lines
	}
	delimiter, ok := GuessDelimiter(rows)
	if !ok {
		return lines
	}
	columns := len(CutLoosely(nil, rows[0], delimiter))
	return slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool {
		return isMarked(line) && len(CutLoosely(nil, line, delimiter)) != columns
	})
}

// Parse reads the next row, and calls parse for its cells. Errors advise where the file may be cut off within the row.
func (r *Rows) Parse(parse func() error) error {
	err := r.Next()
	if err == io.EOF {
		return err
	}
	if err == nil {
		if err = parse(); err != nil {
			err = r.Src.LineErrorf("%w", err)
		}
	}
	return r.Src.CutOff(err)
}

// WrongColumns says that the last row has another number of cells than those before.
func (r *Rows) WrongColumns() error {
	return fmt.Errorf("%d columns, but the lines before have %d", r.Columns-r.Lacking, r.Columns)
}

// cutSimple appends the cells of a line with quotes, which must enclose whole cells without special characters.
func cutSimple(cells [][]byte, line []byte, delimiter byte) (_ [][]byte, ok bool) {
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
	cells, _ = cutFirst(cells, line, delimiter, math.MaxInt)
	return cells
}

// cutFirst appends the first n cells of a line without quotes, and returns what follows the delimiter after them; nil
// if they are all.
func cutFirst(cells [][]byte, line []byte, delimiter byte, n int) (_ [][]byte, rest []byte) {
	for ; n > 0; n-- {
		i := bytes.IndexByte(line, delimiter)
		if i < 0 {
			return append(cells, line), nil
		}
		cells = append(cells, line[:i])
		line = line[i+1:]
	}
	return cells, line
}

// cutQuoted cuts a row with quoted cells, which may continue over several lines, with encoding/csv.
func (r *Rows) cutQuoted(line []byte) error {
	r.feed.Reset()
	first := r.Src.LineNumber
	quotes := 0
	for {
		quotes += bytes.Count(line, []byte(`"`))
		r.feed.Write(line)
		r.feed.WriteByte('\n')
		if quotes%2 == 0 {
			break
		}
		var err error
		if line, err = r.Src.Line(); err == nil && r.feed.Len() < MaxLine {
			continue
		} else if err != nil && err != io.EOF {
			return err
		}
		r.Src.LineNumber = first
		return r.Src.LastLineErrorf("a quote is opened but not closed")
	}
	if r.quoted == nil {
		r.quoted = csv.NewReader(&r.feed)
		r.quoted.Comma = rune(r.Delimiter)
		r.quoted.FieldsPerRecord = -1
		r.quoted.ReuseRecord = true
	}
	record, err := r.quoted.Read()
	if err != nil {
		var parseErr *csv.ParseError
		if errors.As(err, &parseErr) {
			err = parseErr.Err
		}
		return r.Src.LineErrorf("%w", err)
	}
	r.Cells = r.Cells[:0]
	for _, cell := range record {
		r.Cells = append(r.Cells, []byte(cell))
	}
	return nil
}

// ReadHeader takes the next row as the names of the columns.
func (r *Rows) ReadHeader() error {
	if err := r.Next(); err == io.EOF {
		return r.Src.Errorf("no header: the file has no rows")
	} else if err != nil {
		return err
	}
	for _, cell := range r.Cells {
		name := TrimBlanks(cell)
		if len(r.Header) == 0 {
			name = TrimBlanks(bytes.TrimPrefix(name, []byte("#"))) // libCacheSim writes #time
		}
		r.Header = append(r.Header, string(name))
	}
	return nil
}

// NextCell returns a cell of the next row without consuming the row, which makes the cells of the last one invalid. It
// is nil if the row is not at hand. It is for guessing: quotes are dropped.
func (r *Rows) NextCell(column int) []byte {
	head, err := r.Src.Head()
	if err != nil || len(head.Lines) == 0 {
		return nil
	}
	cells := CutLoosely(nil, head.Lines[0], r.Delimiter)
	if column >= len(cells) {
		return nil
	}
	return cells[column]
}

// column returns the index of the column that the user chose by name or by number from 1.
func (r *Rows) column(choice string) (int, error) {
	if i := r.Named(choice); i >= 0 {
		if slices.ContainsFunc(r.Header[i+1:], func(h string) bool { return strings.EqualFold(h, choice) }) {
			return -1, r.Src.Errorf("duplicate column %q: give its number, from 1 to %d", choice, r.Columns)
		}
		return i, nil
	}
	n, err := strconv.Atoi(choice)
	switch {
	case err == nil && n >= 1 && n <= r.Columns:
		return n - 1, nil
	case err == nil:
		return -1, r.Src.Errorf("no column %d: the file has %d columns", n, r.Columns)
	case r.Header == nil:
		return -1, r.Src.Errorf("no column %q, since the file has no header: give a number from 1 to %d", choice,
			r.Columns)
	}
	return -1, r.Src.Errorf("%w", suggest.Unknown("column", choice, r.Header))
}

// ColumnOptions are the options of formats that have named columns.
func ColumnOptions() []params.Param {
	options := []params.Param{{Name: "key", Default: "", Doc: "column of the key: a name in the header or a number from " +
		"1, or several joined by +; by default one named " + strings.Join(KeyNames, ", ") +
		" (case and the characters _-.# do not matter)"}}
	for _, c := range columnsBesideKey {
		doc := "column of " + c.what + " (none: ignore it); by default one named " + strings.Join(c.known, ", ")
		if c.known == nil {
			doc = "column of " + c.what + "; by default none"
		}
		options = append(options, params.Param{Name: c.name, Default: "", Doc: doc})
	}
	return append(options, TimeUnitOption(), TTLUnitOption())
}

// TTLUnitOption is the unit of times to live.
func TTLUnitOption() params.Param {
	return params.Param{Name: "ttl-unit", Default: "s", Choices: UnitNames, Doc: "unit of times to live"}
}

// KnownNames returns the names of columns, as PlainName writes them, for an option: key, time, size, op, ttl or served.
// The first that a file has is read.
func KnownNames(option string) []string {
	if option == "key" {
		return KeyNames
	}
	for _, c := range columnsBesideKey {
		if c.name == option {
			return c.known
		}
	}
	return nil
}

// TimeUnitOption is the unit of times in formats with columns.
func TimeUnitOption() params.Param {
	return params.Param{Name: "time-unit", Default: "auto", Choices: slices.Concat([]string{"auto"}, UnitNames),
		Doc: "unit of times that are numbers; fractions are fine; auto: s, or ms, us or ns if the first is too large for " +
			"anything but that unit since 1970"}
}

// UnitNames are the names of TimeUnits, the longest unit first.
var UnitNames = []string{"s", "ms", "us", "ns"}

// TimeUnits in nanoseconds.
var TimeUnits = map[string]int64{"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// UnitName returns the name of a unit, given in nanoseconds.
func UnitName(ns int64) string {
	for name, unit := range TimeUnits {
		if unit == ns {
			return name
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// TimeUnit returns the unit of times in nanoseconds, as TimeUnitOption chooses it. If it is to be recognised from the
// first time, and is not seconds, it is written into opts.
func TimeUnit(opts params.Values, first []byte) int64 {
	if opts.Text("time-unit") != "auto" {
		return TimeUnits[opts.Text("time-unit")]
	}
	number, err := strconv.ParseFloat(string(TrimBlanks(first)), 64)
	if name := EpochUnit(number); err == nil && name != "s" {
		opts["time-unit"] = name
		return TimeUnits[name]
	}
	return TimeUnits["s"]
}

// TimeKind says what times are, judging by the first: dates, or numbers of units.
func TimeKind(first []byte, unit int64) string {
	if bytes.IndexByte(first, ':') >= 0 {
		return " as dates"
	}
	return " in " + UnitName(unit)
}

// ChosenColumns are the indexes of the columns to read, -1 for none. Key has one for each part of the key.
type ChosenColumns struct {
	Key                                 []int
	Time, Size, Op, TTL, Served, Tenant int
}

// chosenColumn is one of the columns beside the key.
type chosenColumn struct {
	index  *int
	name   string   // of the option
	what   string   // in words
	known  []string // names by which it is found
	stated *string  // in the reading
}

// list returns all columns but the key.
func (c *ChosenColumns) list(r *stream.Reading) []chosenColumn {
	return []chosenColumn{
		{&c.Time, "time", "the time", timeNames, &r.Time},
		{&c.Size, "size", "the size in bytes", sizeNames, &r.Size},
		{&c.Op, "op", "the operation", opNames, &r.Op},
		{&c.TTL, "ttl", "the time to live", ttlNames, &r.TTL},
		{&c.Served, "served", "what the server's own cache found, hit or miss", servedNames, &r.Served},
		{&c.Tenant, "tenant", "the tenant, for dividing a cache among tenants", nil, &r.Tenant},
	}
}

// columnsBesideKey are those of any file.
var columnsBesideKey = new(ChosenColumns).list(new(stream.Reading))

// Fields returns what records with these columns carry.
func (c ChosenColumns) Fields() stream.Fields {
	return stream.Fields{Time: c.Time >= 0, Size: c.Size >= 0, Op: c.Op >= 0, TTL: c.TTL >= 0, Served: c.Served >= 0,
		Tenant: c.Tenant >= 0, SizeMayLack: c.Size >= 0}
}

// ChooseColumns finds the columns that the options of a format name, or else those with known names.
func (r *Rows) ChooseColumns(format string, opts params.Values) (ChosenColumns, error) {
	var c ChosenColumns
	var err error
	if c.Key, err = r.chooseKey(opts.Text("key")); err != nil {
		return c, err
	}
	for _, col := range c.list(r.Src.Reading) {
		if *col.index, err = r.Choose(opts.Text(col.name), col.known); err != nil {
			return c, err
		}
	}
	if c.Key == nil {
		return c, r.noKey(format)
	}
	return c, nil
}

// noKey says that no column is known to have the key, and which one may have it.
func (r *Rows) noKey(format string) error {
	columns := r.describeColumns() // before guess looks at the next rows, which moves the last one
	guess := r.guess()
	switch {
	case guess == "" && r.Delimiter == 0: // no text, whose values were not looked at
		guess = fmt.Sprintf("name one with --input-format %s:key=NAME", format)
	case guess == "":
		return r.Src.Errorf("no column looks like keys: %s; if one has them all the same, name it with --input-format "+
			"%s:key=NAME, or key=NUMBER, counted from 1 (columns %s)", KeyIs, format, columns)
	case strings.ContainsAny(guess, "|"): // for a shell
		guess = fmt.Sprintf("judging by the first rows: --input-format '%s:%s'", format, guess)
	default:
		guess = fmt.Sprintf("judging by the first rows: --input-format %s:%s", format, guess)
	}
	return r.Src.Errorf("cannot tell which column has the key; %s (columns %s)", guess, columns)
}

// chooseKey returns the columns whose values make up the key, nil if the user named none and no name is known. A key is
// always needed, so that "none" must be the name of a column.
func (r *Rows) chooseKey(choice string) (parts []int, err error) {
	names := strings.Split(choice, "+")
	switch {
	case choice == "":
		if i := r.Known(KeyNames); i >= 0 && !(PlainName(r.Header[i]) == "name" && NamesLogger(r.Header)) {
			return []int{i}, nil
		}
		return nil, nil
	case r.Named(choice) >= 0: // its name may have a plus sign
		names = []string{choice}
	}
	for _, name := range names {
		i, err := r.column(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		parts = append(parts, i)
	}
	return parts, nil
}

// State records in the reading which columns are read, and in opts how to choose them again.
func (r *Rows) State(c ChosenColumns, opts params.Values) {
	taken := slices.Clone(c.Key)
	var names, choices []string
	for _, i := range c.Key {
		names, choices = append(names, r.DescribeColumn(i)), append(choices, r.choiceOf(i))
	}
	r.Src.Reading.Key = statedColumn("key", strings.Join(names, "+"))
	opts["key"] = strings.Join(choices, "+")
	for _, col := range c.list(r.Src.Reading) {
		if *col.index >= 0 {
			*col.stated = statedColumn(col.name, r.DescribeColumn(*col.index))
			opts[col.name] = r.choiceOf(*col.index)
			taken = append(taken, *col.index)
		}
	}
	for i := 0; i < r.Columns && len(r.Src.Reading.Others) < mostCandidates; i++ {
		if !slices.Contains(taken, i) && !(r.Header != nil && isNoKey(r.Header[i])) {
			r.Src.Reading.Others = append(r.Src.Reading.Others, r.choiceOf(i))
		}
	}
}

// statedColumn says for people which column is used for something; once, if it has that name.
func statedColumn(use, name string) string {
	if use == name {
		return use
	}
	return use + " " + name
}

// isNoKey reports whether a name is known for something other than a key.
func isNoKey(name string) bool {
	return slices.ContainsFunc(columnsBesideKey, func(c chosenColumn) bool {
		return slices.Contains(c.known, PlainName(name))
	})
}

// DescribeColumn returns the name of a column for people, or its number.
func (r *Rows) DescribeColumn(i int) string {
	if r.Header == nil || r.Header[i] == "" {
		return fmt.Sprintf("column %d", i+1)
	}
	return shortName(r.Header[i])
}

// choiceOf returns a way to choose a column again: its name, if that is plain and unique, or else its number.
func (r *Rows) choiceOf(i int) string {
	if r.Header != nil && isPlainChoice(r.Header[i]) {
		if again, err := r.column(r.Header[i]); err == nil && again == i {
			return r.Header[i]
		}
	}
	return strconv.Itoa(i + 1)
}

// isPlainChoice reports whether a name can be the value of an option and is not mistaken for a number or for "none".
func isPlainChoice(name string) bool {
	for i, c := range name {
		letter := c|' ' >= 'a' && c|' ' <= 'z' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-.", c)) {
			return false
		}
	}
	return name != "" && name != "none" && len(name) <= maxChoice
}

// maxChoice is the longest name of a column that is written out, in bytes; a longer one is given by its number.
const maxChoice = 80

// Choose returns the index of the column that the user chose, for "" the one with a known name, or -1 for none.
func (r *Rows) Choose(choice string, known []string) (int, error) {
	switch choice {
	case "":
		return r.Known(known), nil
	case "none":
		return -1, nil
	}
	return r.column(choice)
}

// Named returns the index of the column with that name, whatever its case, or -1.
func (r *Rows) Named(name string) int {
	return slices.IndexFunc(r.Header, func(h string) bool { return strings.EqualFold(h, name) })
}

// Known returns the index of the column whose name comes first in names, or -1.
func (r *Rows) Known(names []string) int {
	for _, name := range names {
		if i := slices.IndexFunc(r.Header, func(h string) bool { return PlainName(h) == name }); i >= 0 {
			return i
		}
	}
	return -1
}

// PlainName is a column name in lower case without spaces and punctuation: "Obj-ID" and "obj_id" are both "objid".
func PlainName(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" _-.#", c) {
			return -1
		}
		return c
	}, strings.ToLower(name))
}

// Columns that are recognised by their names, as PlainName writes them. If there are several, the first in this order
// is read. An id comes late, since it often numbers the requests while another column names the object; a name comes
// last, since it may be the name of anything.
var (
	KeyNames = []string{
		"key", "cachekey", "objid", "objectid", "obj", "object", "url", "uri", "path", "item", "itemid", "lbn", "lba",
		"block", "blockid", "id", "name",
	}
	sizeNames = []string{
		"size", "objsize", "objectsize", "bytes", "bytessent", "bodybytessent", "contentlength", "length", "len",
	}
	timeNames   = []string{"time", "timestamp", "ts", "optime", "clocktime", "realtime", "datetime", "date", "clock"}
	opNames     = []string{"op", "operation", "opcode", "command", "cmd"}
	ttlNames    = []string{"ttl", "expiry"}
	servedNames = []string{"served", "cachestatus", "cacheresult", "xcache", "hit", "cache"}
)

// isKnownName reports whether a cell of a first line must be the name of a column. Words such as hit may be values.
func isKnownName(name []byte) bool {
	plain := PlainName(string(TrimBlanks(name)))
	return slices.ContainsFunc([][]string{KeyNames, timeNames, sizeNames, opNames},
		func(names []string) bool { return slices.Contains(names, plain) })
}

// IsNumber reports whether a cell is a number or a date, and so not the name of a column.
func IsNumber(cell []byte) bool {
	cell = bytes.TrimPrefix(TrimBlanks(cell), []byte("-"))
	_, err := ParseTime(cell, 1)
	return err == nil
}

// Delimiters by their names in the option.
var Delimiters = []struct {
	Name string
	Char byte
}{{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"pipe", '|'}, {"space", ' '}}

// DelimiterNames returns "auto" and the names of all delimiters.
func DelimiterNames() []string {
	names := []string{"auto"}
	for _, d := range Delimiters {
		names = append(names, d.Name)
	}
	return names
}

// GuessDelimiter returns the delimiter that cuts the first lines into the same number of cells, at least two; one that
// finds a known name in the first line is preferred. ok is false if none does.
func GuessDelimiter(lines [][]byte) (delimiter byte, ok bool) {
	for _, d := range Delimiters {
		if slices.ContainsFunc(CutLoosely(nil, lines[0], d.Char), isKnownName) && bytes.IndexByte(lines[0], d.Char) >= 0 {
			return d.Char, true
		}
	}
	for _, d := range Delimiters {
		if cutsEvenly(lines, d.Char) {
			return d.Char, true
		}
	}
	return 0, false
}

// cutsEvenly reports whether lines have the same number of cells, and more than one. Up to half of them may differ, so
// that one bad line is reported when it is read and does not make the table another format. With blanks as the
// delimiter none may differ, since prose has blanks.
func cutsEvenly(lines [][]byte, delimiter byte) bool {
	var cells [][]byte
	columns, even := 0, 0
	for i, line := range lines {
		cells = CutLoosely(cells[:0], line, delimiter)
		if i == 0 {
			columns = len(cells)
		}
		if len(cells) == columns {
			even++
		}
	}
	return columns > 1 && (even == len(lines) || 2*even >= len(lines) && !IsBlank(delimiter))
}

// CutLoosely appends the cells of a line for guessing: it drops quotes around cells and reports no error.
func CutLoosely(cells [][]byte, line []byte, delimiter byte) [][]byte {
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

// GuessHeader reports whether the first line names the columns: it has no numbers, and either it has a known name (or
// one of wanted), or the second line has numbers.
func GuessHeader(lines [][]byte, delimiter byte, wanted []string) bool {
	first := CutLoosely(nil, lines[0], delimiter)
	if slices.ContainsFunc(first, IsNumber) {
		return false
	}
	isWanted := func(cell []byte) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, string(TrimBlanks(cell))) })
	}
	if slices.ContainsFunc(first, isKnownName) || slices.ContainsFunc(first, isWanted) {
		return true
	}
	return len(lines) > 1 && slices.ContainsFunc(CutLoosely(nil, lines[1], delimiter), IsNumber)
}

// describeColumns lists the columns for an error: their names, or the cells of the first row.
func (r *Rows) describeColumns() string {
	parts := make([]string, 0, len(r.Cells))
	if r.Header != nil {
		for _, h := range r.Header {
			parts = append(parts, strconv.Quote(h))
		}
	} else {
		for i, c := range r.Cells {
			parts = append(parts, fmt.Sprintf("%d: %.40q", i+1, c))
		}
	}
	return suggest.List(parts)
}

// Begin detects the delimiter and whether there is a header, and reads the first row.
func (r *Rows) Begin(opts params.Values) error {
	head, err := r.Src.Head()
	if err != nil {
		return err
	}
	lines := WithoutComments(WithoutBlankEnd(head.Lines))
	if r.Comments = len(lines) < len(WithoutBlankEnd(head.Lines)); len(lines) == 0 || IsBinary(head.Bytes) {
		return r.Src.Errorf("want rows of text, the first of at most %d bytes", HeadLen)
	}
	if r.Comments {
		for _, line := range head.Lines {
			if len(line) > 0 && line[0] == '#' {
				r.remarks = append(r.remarks, bytes.Clone(line))
			}
		}
	}
	r.Delimiter = ','
	if guess, ok := GuessDelimiter(lines); ok {
		r.Delimiter = guess
	}
	for _, d := range Delimiters {
		if d.Name == opts.Text("delimiter") {
			r.Delimiter = d.Char
		}
	}
	r.expected = len(CutLoosely(nil, lines[len(lines)-1], r.Delimiter))
	wanted := append(strings.Split(opts.Text("key"), "+"), opts.Text("key"))
	for _, c := range columnsBesideKey {
		wanted = append(wanted, opts.Text(c.name))
	}
	wanted = slices.DeleteFunc(wanted, func(w string) bool { return w == "" })
	if h := opts.Text("header"); h == "true" || (h == "auto" && GuessHeader(lines, r.Delimiter, wanted)) {
		if len(lines) > 1 {
			r.FirstRow = CutLoosely(nil, bytes.Clone(lines[1]), r.Delimiter)
		}
		return r.ReadHeader()
	}
	r.FirstRow = CutLoosely(nil, bytes.Clone(lines[0]), r.Delimiter)
	return r.Next()
}

// mostCandidates is how many unread columns are remembered, since one of them may be the key.
const mostCandidates = 50
