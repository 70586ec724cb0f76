package prompts

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// pyScanner reads values as Python's repr prints them: texts, numbers, lists, and calls with named values.
type pyScanner struct {
	text []byte
	pos  int
}

func (s *pyScanner) fail(want string) error {
	got := "the end"
	if s.pos < len(s.text) {
		got = fmt.Sprintf("%.20q", s.text[s.pos:min(s.pos+20, len(s.text))])
	}
	return fmt.Errorf("column %d: want %s, got %s", s.pos+1, want, got)
}

func (s *pyScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// takes consumes a text if it comes next.
func (s *pyScanner) takes(text string) bool {
	if rest := s.text[s.pos:]; len(rest) < len(text) || string(rest[:len(text)]) != text {
		return false
	}
	s.pos += len(text)
	return true
}

// quoted reads a text in single or double quotes.
func (s *pyScanner) quoted() ([]byte, error) {
	quote := s.peek()
	if quote != '\'' && quote != '"' {
		return nil, s.fail("a text in quotes")
	}
	from := s.pos + 1
	var value []byte // of a text with escapes
	for i := from; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == quote:
			s.pos = i + 1
			if value == nil {
				return s.text[from:i:i], nil
			}
			return value, nil
		case c == '\\':
			if value == nil {
				value = append(make([]byte, 0, i-from+64), s.text[from:i]...)
			}
			size := 0
			if value, size = appendPyEscape(value, s.text[i:]); size == 0 {
				s.pos = i
				return nil, s.fail("an escape of Python")
			}
			i += size - 1
		case value != nil:
			value = append(value, c)
		}
	}
	s.pos = len(s.text)
	return nil, s.fail("the quote that ends a text")
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

// ids reads a list of token ids.
func (s *pyScanner) ids(to []uint64) ([]uint64, error) {
	if !s.takes("[") {
		return to, s.fail("a list of token ids")
	}
	for !s.takes("]") {
		from := s.pos
		for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
			s.pos++
		}
		id, ok := source.ParseDigits(s.text[from:s.pos])
		if s.pos == from || !ok || id >= maxTokenID {
			s.pos = from
			return to, s.fail("the id of a token, a whole number from 0")
		}
		to = append(to, id)
		if !s.takes(", ") && s.peek() != ']' {
			return to, s.fail("a comma or a closing bracket")
		}
	}
	return to, nil
}

// skip consumes a value up to the comma or bracket after it.
func (s *pyScanner) skip() error {
	depth := 0
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '\'' || c == '"':
			if _, err := s.quoted(); err != nil {
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
		s.pos++
	}
	return nil
}

// call reads the named values of a call, Name(a=1, b='x'), behind its opening bracket; field consumes the value.
func (s *pyScanner) call(field func(name string) error) error {
	for !s.takes(")") {
		from := s.pos
		for c := s.peek(); c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'; c = s.peek() {
			s.pos++
		}
		name := string(s.text[from:s.pos])
		if name == "" || !s.takes("=") {
			return s.fail("a name with its value")
		}
		if err := field(name); err != nil {
			return err
		}
		if !s.takes(", ") && s.peek() != ')' {
			return s.fail("a comma or a closing bracket")
		}
	}
	return nil
}
