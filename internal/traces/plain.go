package traces

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/params"
)

var plainFormat = Format{
	Name:      "plain",
	Summary:   "one key per line, an integer or a word",
	Example:   "4711\nn03794056_10253.JPEG",
	Carries:   "key",
	Detection: "every line is one word",
	Options: []params.Param{{
		Name: "spaces", Default: false,
		Doc: "keys may contain white space; otherwise it is an error, as the file is likely to have columns",
	}},
	Detect:     detectPlain,
	Impossible: noTextTrace,
	Open:       openPlain,
}

// detectPlain accepts lines of one word each; a blank line may only end the file.
func detectPlain(head Head, _ string) Confidence {
	if isBinary(head.Bytes) {
		return No
	}
	lines := withoutBlankEnd(head.Lines)
	for _, line := range lines {
		if len(line) == 0 || bytes.ContainsAny(line, " \t") {
			return No
		}
	}
	if len(lines) == 0 {
		return No
	}
	return Possible
}

// withoutBlankEnd drops blank lines at the end.
func withoutBlankEnd(lines [][]byte) [][]byte {
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// plainReader reads one key per line.
type plainReader struct {
	src     *Source
	spaces  bool // allowed in keys
	sawText bool // some key was no number
}

func openPlain(src *Source, opts params.Values) (Reader, Fields, error) {
	src.reading.Key = "one key per line"
	return &plainReader{src: src, spaces: opts.Bool("spaces")}, Fields{}, nil
}

// Read implements Reader.
func (p *plainReader) Read(rec *Record) error {
	line, err := p.src.Line()
	if err != nil {
		return err
	}
	if num, ok := parseNumber(line); ok {
		*rec = Record{Num: num}
		return nil
	}
	return p.readText(rec, line)
}

// readText handles a line that is not all digits.
func (p *plainReader) readText(rec *Record, line []byte) error {
	if num, ok := parseNumber(withoutZeroFraction(line)); ok {
		*rec = Record{Num: num}
		return nil
	}
	blanks, controls := oddBytes(line)
	switch {
	case len(line) == 0:
		return p.src.onlyBlankLines()
	case controls:
		return p.src.LineErrorf("control characters in the key %.60q: this is not a text trace", line)
	case blanks && !p.spaces:
		return p.src.LineErrorf("white space in the key %.60q: want one key per line; plain:spaces=true takes the whole "+
			"line as the key", line)
	case !p.sawText && len(line) == 1 && line[0] == '*' && p.src.line > 1:
		return p.src.LineErrorf("a mark * between numbers: this looks like the format lirs, read it with --input-format lirs")
	}
	p.sawText = true
	*rec = Record{Text: line}
	return nil
}

// oddBytes says whether a key has blanks or control characters in it.
func oddBytes(key []byte) (blanks, controls bool) {
	for _, c := range key {
		if c <= ' ' {
			blanks = blanks || isBlank(c)
			controls = controls || !isBlank(c)
		}
	}
	return blanks, controls
}

// onlyBlankLines returns io.EOF if nothing but blank lines follow, and an error at the first other line.
func (s *Source) onlyBlankLines() error {
	blank := s.line
	for {
		line, err := s.Line()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			s.line = blank
			return s.LineErrorf("no key: blank lines may only end the file")
		}
	}
}
