// Package pylog reads what servers written in Python print on their console: values as repr writes them, and the times
// of lines.
package pylog

import (
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// Scanner reads values as Python's repr prints them: texts, numbers, lists, and calls with named values.
type Scanner struct {
	Text []byte
	Pos  int // of the next byte
}

// Fail returns an error that says what was expected instead of what comes next.
func (s *Scanner) Fail(want string) error {
	if s.Pos >= len(s.Text) {
		return source.AtEnd{Err: fmt.Errorf("column %d: want %s, got the end", s.Pos+1, want)}
	}
	return fmt.Errorf("column %d: want %s, got %.20q", s.Pos+1, want, s.Text[s.Pos:min(s.Pos+20, len(s.Text))])
}

// Peek returns the next byte; 0 at the end.
func (s *Scanner) Peek() byte {
	if s.Pos < len(s.Text) {
		return s.Text[s.Pos]
	}
	return 0
}

// Takes consumes a text if it comes next.
func (s *Scanner) Takes(text string) bool {
	if rest := s.Text[s.Pos:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	s.Pos += len(text)
	return true
}

// Quoted reads a text in single or double quotes.
func (s *Scanner) Quoted() ([]byte, error) {
	quote := s.Peek()
	if quote != '\'' && quote != '"' {
		return nil, s.Fail("a text in quotes")
	}
	from := s.Pos + 1
	var value []byte // of a text with escapes
	for i := from; i < len(s.Text); i++ {
		switch c := s.Text[i]; {
		case c == quote:
			s.Pos = i + 1
			if value == nil {
				return s.Text[from:i:i], nil
			}
			return value, nil
		case c == '\\':
			if value == nil {
				value = append(make([]byte, 0, i-from+64), s.Text[from:i]...)
			}
			size := 0
			if value, size = appendPyEscape(value, s.Text[i:]); size == 0 {
				s.Pos = i
				return nil, s.Fail("an escape of Python")
			}
			i += size - 1
		case value != nil:
			value = append(value, c)
		}
	}
	s.Pos = len(s.Text)
	return nil, s.Fail("the quote that ends a text")
}

// appendPyEscape appends the character of the escape that text begins with, and returns how many bytes the escape has,
// 0 if it is wrong.
func appendPyEscape(to, text []byte) (_ []byte, size int) {
	if len(text) < 2 {
		return to, 0
	}
	digits := 0
	switch text[1] {
	case 'n':
		return append(to, '\n'), 2
	case 't':
		return append(to, '\t'), 2
	case 'r':
		return append(to, '\r'), 2
	case '\\', '\'', '"':
		return append(to, text[1]), 2
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return to, 0
	}
	size = 2 + digits
	if len(text) < size {
		return to, 0
	}
	r, err := strconv.ParseUint(string(text[2:size]), 16, 32)
	if err != nil {
		return to, 0
	}
	return utf8.AppendRune(to, rune(min(r, utf8.MaxRune+1))), size
}

// IDs appends a list of token ids, each below most.
func (s *Scanner) IDs(to []uint64, most uint64) ([]uint64, error) {
	if !s.Takes("[") {
		return to, s.Fail("a list of token ids")
	}
	for !s.Takes("]") {
		from := s.Pos
		for c := s.Peek(); c >= '0' && c <= '9'; c = s.Peek() {
			s.Pos++
		}
		id, ok := source.ParseDigits(s.Text[from:s.Pos])
		if s.Pos == from || !ok || id >= most {
			s.Pos = from
			return to, s.Fail("the id of a token, a whole number from 0")
		}
		to = append(to, id)
		if !s.Takes(", ") && s.Peek() != ']' {
			return to, s.Fail("a comma or a closing bracket")
		}
	}
	return to, nil
}

// Skip consumes a value up to the comma or bracket after it.
func (s *Scanner) Skip() error {
	depth := 0
	for s.Pos < len(s.Text) {
		switch c := s.Text[s.Pos]; {
		case c == '\'' || c == '"':
			if _, err := s.Quoted(); err != nil {
				return err
			}
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}'):
			return nil
		case c == ')' || c == ']' || c == '}':
			depth--
		}
		s.Pos++
	}
	return nil
}

// Call reads the named values of a call, Name(a=1, b='x'), behind its opening bracket; field consumes the value.
func (s *Scanner) Call(field func(name string) error) error {
	for !s.Takes(")") {
		from := s.Pos
		for c := s.Peek(); c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = s.Peek() {
			s.Pos++
		}
		name := string(s.Text[from:s.Pos])
		if name == "" || !s.Takes("=") {
			return s.Fail("a name with its value")
		}
		if err := field(name); err != nil {
			return err
		}
		if !s.Takes(", ") && s.Peek() != ')' {
			return s.Fail("a comma or a closing bracket")
		}
	}
	return nil
}

// Clock finds the times of lines that servers print on the console.
type Clock struct {
	year  int    // of the last line, where lines have only month and day
	month int    // likewise
	last  []byte // the last time found
}

var (
	fullDate = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?`)
	dayDate  = regexp.MustCompile(`\b(\d\d)-(\d\d \d\d:\d\d:\d\d)`)
)

// firstYear is the year of logs that state none. It is a leap year, which has every day.
const firstYear = 2024

// Of returns the time in what a line has before its message, or else that of the last line that had one; nil if none
// has. A month before the last one begins the next year, if no year is stated.
func (c *Clock) Of(before []byte) []byte {
	const longest = 200 // what programs and collectors print before a message
	before = before[:min(len(before), longest)]
	if at := fullDate.FindIndex(before); at != nil {
		date := append([]byte(nil), before[at[0]:at[1]]...)
		if len(date) > 19 && date[19] == ',' {
			date[19] = '.'
		}
		c.last = date
	} else if found := dayDate.FindSubmatch(before); found != nil {
		month, _ := strconv.Atoi(string(found[1]))
		if c.year == 0 {
			c.year = firstYear
		} else if month < c.month-6 {
			c.year++
		}
		c.month = month
		c.last = fmt.Appendf(nil, "%d-%s-%s", c.year, found[1], found[2])
	}
	return c.last
}
