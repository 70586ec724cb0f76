package sizes

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Listed has the sizes that a file lists by key, and for each type the mean of all keys if the file has a summary.
type Listed struct {
	keys    *stream.Numbering
	sizes   []int64
	whole   bool // see Size
	summary bool // keys are only the largest ones; the means are those of all
	types   [stream.ValueTypes]Mean
}

// Of returns the size of an object; false if the file does not tell it.
func (l *Listed) Of(key []byte, of stream.ValueType) (Size, bool) {
	if number, ok := l.keys.FindText(key); ok {
		return Size{l.sizes[number], l.whole}, true
	}
	if !l.summary {
		return Size{}, false
	}
	mean := l.types[of]
	if of == stream.ValueUnknown {
		for _, m := range l.types {
			mean.add(m)
		}
	}
	if mean.n == 0 {
		return Size{}, false
	}
	return Size{mean.rounded(), l.whole}, true
}

// add sets the size of a key. If a key is listed again, the last size counts.
func (l *Listed) add(key []byte, size int64) error {
	if len(key) == 0 {
		return fmt.Errorf("the key is empty")
	}
	var rec stream.Record
	if rec.SetKey(key); rec.Text == nil {
		key = source.AppendKey(nil, &rec) // as the trace has it: 7 for 7.0
	}
	number := l.keys.OfText(key)
	if l.keys.Full {
		return stream.ErrTooManyObjects
	}
	if int(number) == len(l.sizes) {
		l.sizes = append(l.sizes, size)
	}
	l.sizes[number] = size
	return nil
}

// addLine adds the key and the size of a line. It refuses a file without memory for its keys: the tables double.
func (l *Listed) addLine(src *source.Source, key, text []byte) error {
	size, err := source.ParseSize(text)
	if err == nil {
		err = l.add(key, size)
	}
	if err != nil {
		return src.LineErrorf("%w", err)
	}
	const checkedEvery = 1 << 14 // keys
	if len(l.sizes)%checkedEvery != 0 {
		return nil
	}
	return src.In.Budget.Need(2*(l.keys.TextBytes()+8*int64(cap(l.sizes))),
		fmt.Sprintf("%s: the sizes of more than %d keys", src.Place, len(l.sizes)), "a file of fewer keys")
}

// wanted is what a file of sizes may be.
const wanted = "want rows KEY,SIZE, the output of redis-cli --memkeys or --bigkeys, or a key and its MEMORY USAGE on " +
	"each line"

// ReadListed reads a file of sizes and recognises by its content what it is.
func ReadListed(src *source.Source) (*Listed, error) {
	l := &Listed{keys: stream.NewNumbering()}
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	if source.IsBinary(head.Bytes) {
		return nil, src.Errorf("is not text: %s", wanted)
	}
	lines := source.WithoutBlankEnd(head.Lines)
	first := slices.IndexFunc(lines, func(line []byte) bool { return len(source.TrimBlanks(line)) > 0 })
	switch {
	case first < 0:
		return nil, src.Errorf("holds no sizes: %s", wanted)
	case slices.ContainsFunc(lines, isScan):
		err = l.readScan(src)
	case first == 0 && looksLikeCSV(lines[0]):
		err = l.readCSV(src)
	default:
		l.whole = true
		err = l.readUsage(src)
	}
	if err != nil {
		return nil, err
	}
	if len(l.sizes) == 0 && !l.summary {
		return nil, src.Errorf("holds no sizes: %s", wanted)
	}
	return l, nil
}

// Columns of a table of sizes. Those in memoryNames are of all that a server keeps for a key; sizeinbytes is what
// redis-rdb-tools writes.
var (
	memoryNames = []string{"memory", "memoryusage", "memorybytes", "sizeinbytes"}
	valueNames  = append([]string{"valuesize", "valuebytes", "valuelength"}, source.KnownNames("size")...)
)

// looksLikeCSV reports whether a line is a row of key and size, or names such columns.
func looksLikeCSV(line []byte) bool {
	cells := source.CutLoosely(nil, line, ',')
	if len(cells) < 2 {
		return false
	}
	_, whole := source.ParseWhole(source.TrimBlanks(cells[1]))
	return whole || !source.SizeKnown(source.TrimBlanks(cells[1])) || namesColumns(cells)
}

// namesColumns reports whether a row is a header with a key and a size.
func namesColumns(cells [][]byte) bool {
	has := func(names []string) bool {
		return slices.ContainsFunc(cells, func(cell []byte) bool {
			return slices.Contains(names, source.PlainName(string(source.TrimBlanks(cell))))
		})
	}
	return has(source.KeyNames) && has(slices.Concat(memoryNames, valueNames))
}

// readCSV reads rows of key and size, with or without a header.
func (l *Listed) readCSV(src *source.Source) error {
	rows := &source.Rows{Src: src, Delimiter: ','}
	head, err := src.Head()
	if err != nil {
		return err
	}
	key, size, database := 0, 1, -1
	if namesColumns(source.CutLoosely(nil, head.Lines[0], ',')) {
		if err := rows.ReadHeader(); err != nil {
			return err
		}
		key, database = rows.Known(source.KeyNames), rows.Known([]string{"database", "db"})
		if size = rows.Known(memoryNames); size >= 0 {
			l.whole = true
		} else {
			size = rows.Known(valueNames)
		}
	}
	for {
		if err := rows.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if len(rows.Cells) < 2 {
			return src.LineErrorf("one column: want a key and its size, such as user:7,475")
		}
		cell := source.TrimBlanks(rows.Cells[size])
		if !source.SizeKnown(cell) {
			continue
		}
		name := rows.Cells[key]
		if database >= 0 {
			if db := string(source.TrimBlanks(rows.Cells[database])); db != "0" && db != "" {
				name = slices.Concat([]byte(db+"/"), name) // as the reader of MONITOR writes it
			}
		}
		if err := l.addLine(src, name, cell); err != nil {
			return err
		}
	}
}

// What redis-cli prints while it scans (its findBigKeys): the largest keys found so far, and a summary by type.
var (
	scanHead = []byte("Scanning the entire keyspace")
	scanEnd  = []byte("-------- summary -------")
	biggest  = regexp.MustCompile(`Biggest\s+(\S+)\s+found (?:so far )?(".*"|'.*') (?:with|has) (\d+) (\w+)$`)
	typeSums = regexp.MustCompile(`^(\d+) (\S+)s with (\d+) (\w+) \(`)
)

func isScan(line []byte) bool { return bytes.Contains(line, scanHead) || bytes.Equal(line, scanEnd) }

// readScan reads the output of redis-cli --memkeys, in bytes of memory, or --bigkeys, in bytes of strings and in
// elements of other types.
func (l *Listed) readScan(src *source.Source) error {
	l.summary = true
	ended, memory, elements, types := false, false, false, 0
	for {
		line, err := src.Line()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		ended = ended || bytes.Equal(line, scanEnd)
		if m := biggest.FindSubmatch(line); m != nil && string(m[4]) == "bytes" {
			if err := l.addLine(src, source.AppendUnquoted(nil, unquoted(m[2])), m[3]); err != nil {
				return err
			}
		} else if m := typeSums.FindSubmatch(line); m != nil && ended {
			types++
			inBytes, text := string(m[4]) == "bytes", string(m[2]) == "string"
			memory, elements = memory || inBytes && !text, elements || !inBytes
			if !inBytes {
				continue
			}
			n, ok := source.ParseDigits(m[1])
			sum, sumOK := source.ParseDigits(m[3])
			if !ok || !sumOK || sum > 1<<62 || n > 1<<40 {
				return src.LineErrorf("%.60q: want numbers of keys and bytes", line)
			}
			of, _ := stream.ParseValueType(string(m[2]))
			l.types[of].add(Mean{float64(sum), float64(n)})
		}
	}
	l.whole = memory
	switch {
	case !ended || types == 0:
		return src.Errorf("ends before the summary by type: let redis-cli end its scan")
	case !memory && !elements:
		return src.Errorf("has strings alone, so that lengths (--bigkeys) and memory (--memkeys) look alike: write rows " +
			"KEY,SIZE instead")
	case !slices.ContainsFunc(l.types[:], func(m Mean) bool { return m.n > 0 }):
		return src.Errorf("states no bytes, only numbers of elements: use redis-cli --memkeys")
	}
	return nil
}

// unquoted returns a key without the quotes around it: redis-cli writes "key", and in some versions '"key"'.
func unquoted(text []byte) []byte {
	for _, quote := range []string{`'`, `"`} {
		if len(text) >= 2 && text[0] == quote[0] && text[len(text)-1] == quote[0] {
			text = text[1 : len(text)-1]
		}
	}
	return text
}

// usage finds the command in a line, behind a prompt if there is one; integer is how a terminal shows a number.
var (
	usage   = regexp.MustCompile(`(?i)^(?:\S+> *)?memory usage (.+?)(?: samples \d+)?$`)
	integer = regexp.MustCompile(`^(?:\(integer\) *)?(\d+)$|^\(nil\)$`)
	inLine  = regexp.MustCompile(`^(.+?)[ \t]+((?:\(integer\) *)?\d+|\(nil\))$`)
)

// readUsage reads keys with what MEMORY USAGE answers, on the same line or on the next. A key that does not exist has
// no answer.
func (l *Listed) readUsage(src *source.Source) error {
	var pending []byte
	at := 0
	for {
		line, err := src.Line()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		key, size := pending, line
		command, both := usage.FindSubmatch(line), inLine.FindSubmatch(line)
		switch text := source.TrimBlanks(line); {
		case len(text) == 0: // no answer, if a key is pending
			pending = nil
			continue
		case command != nil && pending == nil:
			pending, at = source.AppendUnquoted(nil, unquoted(command[1])), src.LineNumber
			continue
		case integer.Match(text) && pending != nil:
			size = text
		case integer.Match(text):
			return src.LineErrorf("%.40q: a size without a key; print the keys, too: redis-cli --scan | while read -r k; do "+
				"echo \"$k $(redis-cli MEMORY USAGE \"$k\")\"; done", text)
		case both != nil && pending == nil:
			key, size = both[1], both[2]
		case pending != nil:
			return src.LineErrorf("%.60q: want the size of the key of line %d; %s", text, at, wanted)
		case source.IsBlank(line[len(line)-1]): // a key without an answer
			continue
		default:
			pending, at = bytes.Clone(text), src.LineNumber
			continue
		}
		pending = nil
		if m := integer.FindSubmatch(size); m[1] != nil {
			if err := l.addLine(src, unquoted(key), m[1]); err != nil {
				return err
			}
		}
	}
	if pending != nil {
		return src.Errorf("line %d: %.60q: no size follows; %s", at, strings.ToValidUTF8(string(pending), "?"), wanted)
	}
	return nil
}
