package source

import (
	"errors"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// LineParser fills in the record of a line, or says what is wrong with the line. It need not name the file and the
// line, nor the column that a JSONScanner reports.
type LineParser func(line []byte, rec *stream.Record) error

// ErrLeftOut is what a LineParser returns for a line that is not a request.
var ErrLeftOut = errors.New("no request")

// ReadLines returns a reader of a format with a request per line. Blank lines may only end the file; the parser does
// not get them.
func ReadLines(src *Source, parse LineParser) stream.Reader { return readLines(src, parse, false) }

// ReadAllLines is ReadLines for a format with blank lines between others.
func ReadAllLines(src *Source, parse LineParser) stream.Reader { return readLines(src, parse, true) }

// readLines reads lines; blanks says that the parser gets blank ones, too.
func readLines(src *Source, parse LineParser, blanks bool) stream.Reader {
	return stream.ReaderFunc(func(rec *stream.Record) error {
		for {
			line, err := src.Line()
			if err != nil {
				return err
			}
			if !blanks && (len(line) == 0 || IsBlank(line[0]) && len(TrimBlanks(line)) == 0) {
				return src.OnlyBlankLines()
			}
			switch err := parse(line, rec); err {
			case nil:
				return nil
			case ErrLeftOut:
				src.Reading.LeftOut++
			default:
				return src.LineSyntaxError(err)
			}
		}
	})
}

// EveryLine reports whether the file begins with lines, all of which look right. Blank lines may end the file. Lines
// are numbered from 0.
func (h Head) EveryLine(looks func(number int, line []byte) bool) bool {
	lines := WithoutBlankEnd(h.Lines)
	for i, line := range lines {
		if !looks(i, line) {
			return false
		}
	}
	return len(lines) > 0
}

// MostLines reports whether more of the first lines are requests of a format than are damaged, judging by its parser,
// which may return ErrLeftOut for others. A file with some damaged lines is recognised like that, unlike by EveryLine.
func MostLines(lines [][]byte, parse func(line []byte) error) bool {
	const (
		most  = 64 // requests and damaged lines that are looked at
		never = 8  // damaged lines without any request, after which none is expected
	)
	requests, damaged := 0, 0
	for _, line := range WithoutBlankEnd(lines) {
		switch parse(line) {
		case nil:
			requests++
		case ErrLeftOut:
		default:
			damaged++
		}
		if requests+damaged == most || requests == 0 && damaged == never {
			break
		}
	}
	return requests > damaged
}
