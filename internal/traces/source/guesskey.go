package source

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// guessedRows are looked at for a column that may be the key.
const guessedRows = 1000

// KeyIs says what a column of keys is, for a log in which nothing looks like one.
const KeyIs = "a key is what is requested (a URL, an object, a block), and takes many values that repeat"

// Seen counts the values of a column, or of a field, for guessing whether it may be the key.
type Seen struct {
	Rows       int
	Distinct   map[string]struct{}
	Times      int // values that are points in time
	Wholes     int // other whole numbers
	Quantities int // fractions, nothing, and numbers with a unit, such as 1.5G or 20ms
}

// See counts a value.
func (s *Seen) See(cell []byte) {
	if s.Distinct == nil {
		s.Distinct = map[string]struct{}{}
	}
	s.Rows++
	s.Distinct[string(cell)] = struct{}{}
	_, whole := stream.ParseFloatNumber(cell)
	switch {
	case IsMoment(cell):
		s.Times++
	case whole:
		s.Wholes++
	case len(cell) == 0 || IsNumber(cell) || quantity.Match(cell):
		s.Quantities++
	}
}

// quantity is a number with a unit.
var quantity = regexp.MustCompile(`^[-+]?\d+(?:\.\d+)?\s?(?:%|[KMGTP]i?B?|[kmgtp]b?|B|ns|us|µs|ms|s|m|h|d)$`)

// MayBeKey reports whether values vary and repeat as keys do. name is that of the column and inside that of what it is
// a part of, "" if they have none. A number with a name must be called a key's.
func (s *Seen) MayBeKey(name, inside string) bool {
	name, inside = PlainName(name), PlainName(inside)
	switch n := len(s.Distinct); {
	case s.Quantities > 0, s.Times == s.Rows, n < 2, n == s.Rows, 4*n*n <= s.Rows:
		return false
	case name == "":
		return true
	case IsFormatWord(name), name == "id" && slices.Contains(eventNames, inside):
		return false
	}
	return s.Wholes < s.Rows || slices.Contains(KeyNames, name) || slices.ContainsFunc(numberedNames,
		func(word string) bool { return strings.Contains(name, word) })
}

// IsFormatWord reports whether a name, as PlainName writes it, is a word of the format: what kind of event a line is
// of, which one, and who wrote it.
func IsFormatWord(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(name, "uuid"), "id")
	isID := base != name && (base == "" && name == "uuid" || slices.ContainsFunc(eventNames,
		func(word string) bool { return strings.HasSuffix(base, word) }))
	return isID || slices.Contains(formatNames, name) || slices.ContainsFunc(formatEndings,
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// eventNames are events, and what they belong to: their identifiers name no object that is requested.
var eventNames = []string{"message", "msg", "request", "req", "response", "session", "trace", "span", "event",
	"thread", "conversation", "run", "parent", "process", "client", "organization", "org", "project", "account",
	"correlation"}

// formatNames are names of fields that say how, when, where and by whom, as PlainName writes them.
var formatNames = []string{"type", "level", "levelname", "severity", "loglevel", "status", "statuscode", "code",
	"method", "verb", "model", "role", "kind", "event", "msg", "message", "content", "text", "prompt",
	"description", "error", "reason", "stopreason", "finishreason", "logger", "funcname", "lineno", "module",
	"thread", "threadname", "process", "processname", "pid", "tid", "service", "servicename", "host",
	"hostname", "server", "region", "env", "environment", "version", "protocol", "scheme", "useragent", "agent",
	"referer", "referrer", "ip", "clientip", "remoteaddr", "client", "user", "username", "account", "country",
	"city", "provider", "currency", "unit", "phase", "state", "result", "outcome", "success", "caller", "cwd",
	"gitbranch", "usertype", "scope", "name"}

// formatEndings are the ends of names of models, types and the like.
var formatEndings = []string{"model", "type", "version", "role", "status", "reason", "system", "tier", "count",
	"tokens", "bytes", "cost", "ratio", "time", "latency", "duration", "durationms", "latencyms", "elapsedms",
	"seconds"}

// numberedNames are parts of names of numbers that name something.
var numberedNames = []string{"id", "key", "hash", "block", "blk", "page", "addr", "lba", "lbn", "offset",
	"sector", "obj", "item", "inode", "chunk", "file", "photo", "video", "asset"}

// NamesLogger reports whether the column name has the name of the program that wrote a line, or of an operation, rather
// than of an object: the other columns are those of messages or of spans.
func NamesLogger(others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return slices.Contains([]string{"level", "levelname", "severity", "loglevel", "levelno", "spanid", "traceid", "msg"},
			PlainName(other))
	})
}

// columnGuess is what the first rows have in a column.
type columnGuess struct {
	Seen
	index  int
	ops    int // words that name operations
	values []string
}

// guess returns the options that read a table without a known name for the key, as --input-format has them behind the
// name of the format; "" if no column can be it. The key is the column with most values; text goes before numbers, as a
// number may be a size.
func (r *Rows) guess() string {
	columns := r.firstColumns()
	clock := r.guessClock(columns)
	codes := r.legend()
	op := slices.IndexFunc(columns, func(c columnGuess) bool {
		return c.index != clock && (c.ops == c.Rows && len(c.Distinct) > 1 || codes.cover(c.values))
	})
	var keys []columnGuess
	for _, c := range columns {
		name := ""
		if r.Header != nil {
			name = r.Header[c.index]
		}
		if c.index != clock && c.index != op && c.MayBeKey(name, "") && !(r.Header != nil && isNoKey(name)) {
			keys = append(keys, c)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.SortStableFunc(keys, func(a, b columnGuess) int {
		one, other := a.rank(), b.rank()
		return slices.Compare(one[:], other[:])
	})
	guess := "key=" + r.choiceOf(keys[0].index)
	add := func(option string, known []string, at int) bool {
		is := at >= 0 && r.Known(known) < 0
		if is {
			guess += "," + option + "=" + r.choiceOf(at)
		}
		return is
	}
	if add("time", timeNames, clock) && columns[clock].Times < columns[clock].Rows {
		guess += r.unitInComments()
	}
	size := slices.IndexFunc(columns, func(c columnGuess) bool { // a header would say it
		return r.Header == nil && c.index != clock && c.index != op && c.index != keys[0].index && c.isSizeOf(keys[0])
	})
	add("size", sizeNames, size)
	if add("op", opNames, op) && columns[op].ops < columns[op].Rows {
		guess += "," + OpCodesName + "=" + codes.String()
	}
	return guess
}

// guessClock returns the column of times: points in time or, without a header, whole numbers that rise; -1 for none.
func (r *Rows) guessClock(columns []columnGuess) int {
	at := slices.IndexFunc(columns, func(c columnGuess) bool { return c.Times == c.Rows })
	if at < 0 && r.Header == nil {
		at = slices.IndexFunc(columns, columnGuess.rises)
	}
	return at
}

// rises reports whether the values are whole numbers none of which is below the one before, and most of them above.
func (c columnGuess) rises() bool {
	const fewest = 5
	if c.Wholes < c.Rows || c.Rows < fewest || 2*len(c.Distinct) <= c.Rows {
		return false
	}
	return slices.IsSortedFunc(c.values, func(a, b string) int {
		one, _ := strconv.ParseUint(a, 10, 64)
		other, _ := strconv.ParseUint(b, 10, 64)
		return int(min(max(int64(one-other), -1), 1))
	})
}

// isSizeOf reports whether the values are whole numbers that are the same for the same key.
func (c columnGuess) isSizeOf(key columnGuess) bool {
	const fewest, least = 5, 100 // repetitions, and bytes of the largest
	if c.Wholes < c.Rows || len(c.Distinct) < 2 || len(key.values) != len(c.values) ||
		!slices.ContainsFunc(c.values, func(v string) bool { return len(v) >= len(strconv.Itoa(least)) }) {
		return false
	}
	of, again := map[string]string{}, 0
	for i, k := range key.values {
		before, seen := of[k]
		if seen && before != c.values[i] {
			return false
		}
		if of[k] = c.values[i]; seen {
			again++
		}
	}
	return again >= fewest
}

// legend is the codes of operations that a comment explains, with their words.
type legend [][2]string

var legendPair = regexp.MustCompile(`([A-Za-z_]+)\s*[:=]\s*(\d+)\b|\b(\d+)\s*[:=]\s*([A-Za-z_]+)`)

// legend returns what comments say of codes: [Put:0, Get:1].
func (r *Rows) legend() (codes legend) {
	for _, line := range r.remarks {
		for _, m := range legendPair.FindAllStringSubmatch(string(line), -1) {
			code, word := m[2]+m[3], strings.ToLower(m[1]+m[4])
			if op, ok := ParseOp([]byte(word)); ok && op != stream.OpUnknown {
				codes = append(codes, [2]string{code, word})
			}
		}
	}
	return codes
}

// cover reports whether all values are among the codes.
func (l legend) cover(values []string) bool {
	return len(l) > 1 && !slices.ContainsFunc(values, func(value string) bool {
		return !slices.ContainsFunc(l, func(pair [2]string) bool { return pair[0] == value })
	})
}

// String returns the codes as OpCodesOption takes them.
func (l legend) String() string {
	pairs := make([]string, len(l))
	for i, pair := range l {
		pairs[i] = pair[0] + ":" + pair[1]
	}
	return strings.Join(pairs, "|")
}

// unitInComments returns the option for the unit that comments state after the word time; "" without one, or for
// seconds.
func (r *Rows) unitInComments() string {
	for _, line := range r.remarks {
		if m := unitAfterTime.FindSubmatch(bytes.ToLower(line)); m != nil {
			return ",time-unit=" + string(m[1])
		}
	}
	return ""
}

var unitAfterTime = regexp.MustCompile(`\btime(?:stamp)?s?\s*(?:in\s+|[\[(])(ms|us|ns)\b`)

// rank orders columns that may be keys: first texts, as a number may be a size, then those with more values.
func (c columnGuess) rank() (rank [2]int) {
	if c.Wholes == c.Rows {
		rank[0] = 1
	}
	rank[1] = -len(c.Distinct)
	return rank
}

// firstColumns looks at the rows at hand, without consuming them.
func (r *Rows) firstColumns() []columnGuess {
	if r.Delimiter == 0 { // no text
		return nil
	}
	head, err := r.Src.Head()
	if err != nil {
		return nil
	}
	columns := make([]columnGuess, r.Columns)
	for i := range columns {
		columns[i].index = i
	}
	rows := head.Lines[:min(len(head.Lines), guessedRows)]
	var cells [][]byte
	if r.Header == nil && len(r.FirstRow) == len(columns) {
		see(columns, r.FirstRow) // which was read already
	}
	for _, line := range WithoutBlankEnd(rows) {
		if cells = CutLoosely(cells[:0], line, r.Delimiter); len(cells) == len(columns) {
			see(columns, cells)
		}
	}
	return columns
}

// see takes the values of a row.
func see(columns []columnGuess, cells [][]byte) {
	for i := range columns {
		c, cell := &columns[i], TrimBlanks(cells[i])
		_, whole := stream.ParseFloatNumber(cell)
		if _, ok := ParseOp(cell); ok && len(cell) > 1 && !whole { // a letter may be a key
			c.ops++
		}
		c.values = append(c.values, string(cell))
		c.See(cell)
	}
}
