package traces

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may lie in each other where they are skipped.
const maxDepth = 100

// jsonScanner reads JSON text from memory, value by value, without building any: several times as fast as a decoder for
// all of JSON.
type jsonScanner struct {
	text []byte
	pos  int
	at   int64 // of the text in the content of the file
}

// syntaxError says what was expected at a byte of the text.
type syntaxError struct {
	at   int // from 0
	want string
	got  string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("want %s, got %s", e.want, e.got) }

// fail returns the error that something else was expected at the present byte.
func (s *jsonScanner) fail(format string, args ...any) error {
	e := &syntaxError{at: s.pos, want: fmt.Sprintf(format, args...), got: "the end"}
	if s.pos < len(s.text) {
		e.got = fmt.Sprintf("%.20q", s.text[s.pos:min(s.pos+20, len(s.text))])
	}
	return e
}

// peek returns the next byte that is not white space without consuming it, 0 at the end.
func (s *jsonScanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes c if it comes next.
func (s *jsonScanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// end makes sure that nothing follows.
func (s *jsonScanner) end() error {
	if s.peek() != 0 || s.pos < len(s.text) {
		return s.fail("nothing after the object")
	}
	return nil
}

// object reads an object and calls field for each key; field consumes the value.
func (s *jsonScanner) object(field func(key []byte) error) error {
	if !s.take('{') {
		return s.fail("an object in braces")
	}
	if s.take('}') {
		return nil
	}
	for {
		key, err := s.string()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon after the name %.40q", key)
		}
		if err := field(key); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or a closing brace")
		}
	}
}

// array reads an array and calls element for each; element consumes it.
func (s *jsonScanner) array(element func() error) error {
	if !s.take('[') {
		return s.fail("an array in brackets")
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or a closing bracket")
		}
	}
}

// string reads a string. It points into the text unless it has escapes.
func (s *jsonScanner) string() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("a string in double quotes")
	}
	start, escaped := s.pos, false
	for i := start + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.pos = i + 1
			if escaped || !utf8.Valid(s.text[start+1:i]) {
				return s.unquote(start)
			}
			return s.text[start+1 : i], nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			s.pos = i
			return nil, s.fail("no control character within a string")
		}
	}
	s.pos = len(s.text)
	return nil, s.fail("the double quote that ends a string")
}

// unquote resolves the escapes of the string that was read from start on.
func (s *jsonScanner) unquote(start int) ([]byte, error) {
	var text string
	if err := json.Unmarshal(s.text[start:s.pos], &text); err != nil {
		s.pos = start
		return nil, s.fail("a string with proper escapes")
	}
	return []byte(text), nil
}

// number reads a number as its text.
func (s *jsonScanner) number() ([]byte, error) {
	s.peek()
	start := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		s.pos++
	}
	if s.pos == start {
		return nil, s.fail("a number")
	}
	return s.text[start:s.pos], nil
}

// integers appends an array of whole numbers of 64 bits; negative ones become their two's complement.
func (s *jsonScanner) integers(to []uint64) ([]uint64, error) {
	err := s.array(func() (err error) {
		to = s.digits(to)
		to, err = s.integer(to)
		return err
	})
	return to, err
}

// digits appends the numbers, without sign and each with a comma behind it, that come next: most of an array, without a
// call for each.
func (s *jsonScanner) digits(to []uint64) []uint64 {
	text := s.text
	for at := s.pos; ; {
		for at < len(text) && text[at] == ' ' {
			at++
		}
		start, n := at, uint64(0)
		for at < len(text) && text[at]-'0' <= 9 {
			n = n*10 + uint64(text[at]-'0')
			at++
		}
		const safe = 19 // digits that fit
		if at == start || at-start > safe || at == len(text) || text[at] != ',' || text[start] == '0' && at-start > 1 {
			return to
		}
		at++
		s.pos = at
		to = append(to, n)
	}
}

// integer appends a number of any form.
func (s *jsonScanner) integer(to []uint64) ([]uint64, error) {
	s.peek()
	start := s.pos
	text, err := s.number()
	if err != nil {
		return to, err
	}
	n, ok := parseNumber(text)
	if !ok && len(text) > 1 && text[0] == '-' {
		n, ok = parseNumber(text[1:])
		ok = ok && n <= 1<<63
		n = -n
	}
	if !ok {
		s.pos = start
		return to, s.fail("a whole number of 64 bits")
	}
	return append(to, n), nil
}

// time reads a point in time as nanoseconds: a number of units.
func (s *jsonScanner) time(unit int64) (int64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	return parseTime(text, unit)
}

// tokens reads a number of tokens of at least least.
func (s *jsonScanner) tokens(least int32) (int32, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	return parseTokens(text, least)
}

// sessionKey reads what names a conversation: a number or a text, which is hashed.
func (s *jsonScanner) sessionKey() (uint64, error) {
	if s.peek() == '"' {
		text, err := s.string()
		return hashText(text), err
	}
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	if n, ok := parseNumber(text); ok {
		return n, nil
	}
	return hashText(text), nil
}

// skip consumes any value.
func (s *jsonScanner) skip() error { return s.skipWithin(maxDepth) }

func (s *jsonScanner) skipWithin(depth int) error {
	if depth == 0 {
		return s.fail("no more than %d arrays and objects within each other", maxDepth)
	}
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.skipWithin(depth - 1) })
	case '[':
		return s.array(func() error { return s.skipWithin(depth - 1) })
	case '"':
		_, err := s.string()
		return err
	case 't', 'f', 'n':
		return s.literal()
	}
	_, err := s.number()
	return err
}

// literal consumes true, false or null.
func (s *jsonScanner) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if rest := s.text[s.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.pos += len(word)
			return nil
		}
	}
	return s.fail("a value")
}
