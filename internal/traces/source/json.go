package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// maxDepth is how deep skipped arrays and objects may be nested.
const maxDepth = 100

// JSONScanner reads JSON text from memory, value by value, without building any: several times as fast as a full JSON
// decoder.
type JSONScanner struct {
	Text []byte
	Pos  int
	At   int64 // of the text in the content of the file
	// Room has the values of strings with escapes. Reset uses it again.
	Room []byte
	// AnyBytes keeps bytes of strings that are not UTF-8; otherwise they become U+FFFD.
	AnyBytes bool
}

// Reset begins another text, in the same Room: what was read before becomes invalid.
func (s *JSONScanner) Reset(text []byte) {
	s.Text, s.Pos, s.Room = text, 0, s.Room[:0]
}

const theEnd = "the end"

// syntaxError says what was expected at a byte of the text.
type syntaxError struct {
	at   int // from 0
	want string
	got  string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("want %s, got %s", e.want, e.got) }

// Fail returns the error that something else was expected at the current byte.
func (s *JSONScanner) Fail(format string, args ...any) error {
	e := &syntaxError{at: s.Pos, want: fmt.Sprintf(format, args...), got: theEnd}
	if s.Pos < len(s.Text) {
		e.got = fmt.Sprintf("%.20q", s.Text[s.Pos:min(s.Pos+20, len(s.Text))])
	}
	return e
}

// failAt is Fail for an earlier byte.
func (s *JSONScanner) failAt(pos int, format string, args ...any) error {
	s.Pos = pos
	return s.Fail(format, args...)
}

// Peek returns the next byte that is not white space without consuming it, 0 at the end.
func (s *JSONScanner) Peek() byte {
	if s.Pos < len(s.Text) && s.Text[s.Pos] > ' ' { // as usual; this much is inlined
		return s.Text[s.Pos]
	}
	return s.peekBehindBlanks()
}

func (s *JSONScanner) peekBehindBlanks() byte {
	for s.Pos < len(s.Text) {
		switch c := s.Text[s.Pos]; c {
		case ' ', '\t', '\n', '\r':
			s.Pos++
		default:
			return c
		}
	}
	return 0
}

// Take consumes c if it comes next.
func (s *JSONScanner) Take(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.Pos++
	return true
}

// End returns an error unless only white space is left.
func (s *JSONScanner) End() error {
	if s.Peek() != 0 || s.Pos < len(s.Text) {
		return s.Fail("nothing after the object")
	}
	return nil
}

// Object reads an object and calls field for each key; field consumes the value.
func (s *JSONScanner) Object(field func(key []byte) error) error {
	if !s.Take('{') {
		return s.Fail("an object in braces")
	}
	if s.Take('}') {
		return nil
	}
	for {
		key, err := s.String()
		if err != nil {
			return err
		}
		if !s.Take(':') {
			return s.Fail("a colon after the name %.40q", key)
		}
		if err := field(key); err != nil {
			return err
		}
		if s.Take('}') {
			return nil
		}
		if !s.Take(',') {
			return s.Fail("a comma or a closing brace")
		}
	}
}

// Array reads an array and calls element for each element, which element consumes.
func (s *JSONScanner) Array(element func() error) error {
	if !s.Take('[') {
		return s.Fail("an array in brackets")
	}
	if s.Take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.Take(']') {
			return nil
		}
		if !s.Take(',') {
			return s.Fail("a comma or a closing bracket")
		}
	}
}

// String reads a string. It points into the text, or into Room if it has escapes.
func (s *JSONScanner) String() ([]byte, error) {
	inside, plain, err := s.passString()
	if err != nil || plain {
		return inside, err
	}
	if bytes.IndexByte(inside, '\\') < 0 && (s.AnyBytes || utf8.Valid(inside)) {
		return inside, nil
	}
	return s.unescape(inside)
}

// passString consumes a string and returns what is between its quotes. plain says that this is its value: ASCII without
// escapes.
func (s *JSONScanner) passString() (inside []byte, plain bool, err error) {
	if s.Peek() != '"' {
		return nil, false, s.Fail("a string in double quotes")
	}
	text, start := s.Text, s.Pos+1
	plain = true
	for i := start; i < len(text); i++ {
		for ; i+8 <= len(text); i += 8 {
			if n := plainBytes(binary.LittleEndian.Uint64(text[i:])); n < 8 {
				i += n
				break
			}
		}
		if i == len(text) {
			break
		}
		c := text[i]
		switch {
		case c == '"':
			s.Pos = i + 1
			return text[start:i], plain, nil
		case c == '\\':
			i++
		case c < ' ':
			s.Pos = i
			return nil, false, s.Fail("no control character within a string")
		}
		plain = plain && c < utf8.RuneSelf && c != '\\'
	}
	s.Pos = len(text)
	return nil, false, s.Fail("the double quote that ends a string")
}

// plainBytes returns how many of the first of eight bytes are ASCII and stand for themselves in a string.
func plainBytes(x uint64) int {
	quotes, slashes := x^ones*'"', x^ones*'\\'
	// The lowest byte whose top bit is set here is the first that is not plain; those above it may be wrong.
	return bits.TrailingZeros64((x|controls(x)|(quotes-ones)&^quotes|(slashes-ones)&^slashes)&tops) / 8
}

// unescape returns the value of the string that was consumed last, in Room.
func (s *JSONScanner) unescape(inside []byte) ([]byte, error) {
	from := len(s.Room)
	for rest := inside; len(rest) > 0; {
		switch {
		case rest[0] == '\\':
			r, size := escaped(rest)
			if size == 0 {
				s.Pos -= len(inside) + len(`""`)
				return nil, s.Fail("a string with proper escapes")
			}
			s.Room, rest = utf8.AppendRune(s.Room, r), rest[size:]
		case rest[0] < utf8.RuneSelf || s.AnyBytes:
			s.Room, rest = append(s.Room, rest[0]), rest[1:]
		default:
			r, size := utf8.DecodeRune(rest)
			s.Room, rest = utf8.AppendRune(s.Room, r), rest[size:]
		}
	}
	return s.Room[from:len(s.Room):len(s.Room)], nil
}

// escaped returns the character of the escape that text begins with, and how many bytes it has, 0 if it is wrong. Half
// a surrogate pair is U+FFFD, as in encoding/json.
func escaped(text []byte) (r rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	const short, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(short, text[1]); i >= 0 {
		return rune(means[i]), 2
	}
	r = hexEscape(text)
	if r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		const one = len(`\u0000`)
		if pair := utf16.DecodeRune(r, hexEscape(text[one:])); pair != utf8.RuneError {
			return pair, 2 * one
		}
		r = utf8.RuneError
	}
	return r, len(`\u0000`)
}

// hexEscape returns the number of an escape such as \u00e4 that text begins with, -1 without one.
func hexEscape(text []byte) rune {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, ok := ParseHex(text[2:6])
	if !ok {
		return -1
	}
	return rune(n)
}

// Number reads a number as its text.
func (s *JSONScanner) Number() ([]byte, error) {
	s.Peek()
	rest := s.Text[s.Pos:]
	n := 0
	for n < len(rest) && inNumbers[rest[n]] {
		n++
	}
	if n == 0 {
		return nil, s.Fail("a number")
	}
	s.Pos += n
	return rest[:n], nil
}

// inNumbers are the bytes of numbers.
var inNumbers = func() (in [256]bool) {
	for _, c := range []byte("0123456789-+.eE") {
		in[c] = true
	}
	return in
}()

// digits appends the next numbers, as long as they have no sign and a comma follows each: most of an array, without a
// call per number.
func (s *JSONScanner) digits(to []uint64) []uint64 {
	text := s.Text
	for at := s.Pos; ; {
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
		s.Pos = at
		to = append(to, n)
	}
}

// IDs appends an array of ids: whole numbers of 64 bits, or texts of hexadecimal digits, which are hashed. Negative
// numbers become their two's complement.
func (s *JSONScanner) IDs(to []uint64) ([]uint64, error) {
	err := s.Array(func() (err error) {
		if s.Peek() == '"' {
			to, err = s.hexadecimal(to)
			return err
		}
		to = s.digits(to)
		to, err = s.integer(to)
		return err
	})
	return to, err
}

// hexadecimal appends the hash of a text of hexadecimal digits.
func (s *JSONScanner) hexadecimal(to []uint64) ([]uint64, error) {
	start := s.Pos
	text, err := s.String()
	if err != nil {
		return to, err
	}
	digits := bytes.TrimPrefix(text, []byte("0x"))
	isOther := func(r rune) bool { return r > unicode.MaxASCII || hexDigit(byte(r)) < 0 }
	if len(digits) == 0 || bytes.IndexFunc(digits, isOther) >= 0 {
		return to, s.failAt(start, "a whole number of 64 bits, or hexadecimal digits")
	}
	return append(to, stream.HashText(text)), nil
}

// integer appends a number of any form.
func (s *JSONScanner) integer(to []uint64) ([]uint64, error) {
	s.Peek()
	start := s.Pos
	text, err := s.Number()
	if err != nil {
		return to, err
	}
	n, ok := stream.ParseNumber(text)
	if !ok && len(text) > 1 && text[0] == '-' {
		n, ok = stream.ParseNumber(text[1:])
		ok = ok && n <= 1<<63
		n = -n
	}
	if !ok {
		return to, s.failAt(start, "a whole number of 64 bits")
	}
	return append(to, n), nil
}

// Time reads a point in time as nanoseconds: a number of units.
func (s *JSONScanner) Time(unit int64) (int64, error) {
	text, err := s.Number()
	if err != nil {
		return 0, err
	}
	return ParseTime(text, unit)
}

// SessionKey reads the name of a conversation: a number or a text, which is hashed.
func (s *JSONScanner) SessionKey() (uint64, error) {
	if s.Peek() == '"' {
		text, err := s.String()
		return stream.HashText(text), err
	}
	text, err := s.Number()
	if err != nil {
		return 0, err
	}
	if n, ok := stream.ParseNumber(text); ok {
		return n, nil
	}
	return stream.HashText(text), nil
}

// Skip consumes any value.
func (s *JSONScanner) Skip() error { return s.skipWithin(maxDepth) }

func (s *JSONScanner) skipWithin(depth int) error {
	if depth == 0 {
		return s.Fail("at most %d nested arrays and objects", maxDepth)
	}
	switch s.Peek() {
	case '{':
		return s.Object(func([]byte) error { return s.skipWithin(depth - 1) })
	case '[':
		return s.Array(func() error { return s.skipWithin(depth - 1) })
	case '"':
		_, _, err := s.passString()
		return err
	case 't', 'f', 'n':
		return s.literal()
	}
	_, err := s.Number()
	return err
}

// literal consumes true, false or null.
func (s *JSONScanner) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if rest := s.Text[s.Pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.Pos += len(word)
			return nil
		}
	}
	return s.Fail("a value")
}

// Words reads a string that is not blank.
func (s *JSONScanner) Words() ([]byte, error) {
	isText := func(text []byte) bool { return len(bytes.TrimSpace(text)) > 0 }
	return s.stringThat(isText, "a text that is not blank")
}

// OneOf reads a string that is one of the known ones.
func (s *JSONScanner) OneOf(known ...string) ([]byte, error) {
	return s.stringThat(func(text []byte) bool { return slices.Contains(known, string(text)) }, "one of %q", known)
}

func (s *JSONScanner) stringThat(is func(text []byte) bool, want string, args ...any) ([]byte, error) {
	s.Peek()
	start := s.Pos
	text, err := s.String()
	if err == nil && !is(text) {
		err = s.failAt(start, want, args...)
	}
	return text, err
}

func (s *JSONScanner) Strings() (all [][]byte, err error) {
	err = s.Array(func() error {
		text, err := s.String()
		all = append(all, text)
		return err
	})
	return all, err
}

// OptionalString reads a string or null, which gives "".
func (s *JSONScanner) OptionalString() (string, error) {
	if s.Null() {
		return "", nil
	}
	text, err := s.String()
	return string(text), err
}

// Date reads a point in time as nanoseconds, -1 for null.
func (s *JSONScanner) Date() (int64, error) {
	if s.Null() {
		return -1, nil
	}
	text, err := s.String()
	if err != nil {
		return 0, err
	}
	return ParseTime(text, 1e9)
}

// Label reads the name of a session, a topic or an answer: a text or a number; null means none.
func (s *JSONScanner) Label() ([]byte, error) {
	switch s.Peek() {
	case 'n':
		return nil, s.literal()
	case '"':
		return s.String()
	}
	name, err := s.Number()
	if err != nil {
		err = s.Fail("a text, a number or null")
	}
	return name, err
}

// Null consumes null if it comes next.
func (s *JSONScanner) Null() bool { return s.Peek() == 'n' && s.literal() == nil }

// Floats appends an array of at least one finite number.
func (s *JSONScanner) Floats(to []float32) ([]float32, error) {
	s.Peek()
	start := s.Pos
	err := s.Array(func() error {
		s.Peek()
		start := s.Pos
		text, err := s.Number()
		if err == nil {
			var x float64
			if x, err = strconv.ParseFloat(string(text), 32); err == nil {
				to = append(to, float32(x))
				return nil
			}
		}
		return s.failAt(start, "a finite number, within the range of float32")
	})
	if err == nil && len(to) == 0 {
		err = s.failAt(start, "an embedding of at least one number")
	}
	return to, err
}

// LineSyntaxError returns an error about the line that Line last returned, with the column if it is a syntax error.
func (s *Source) LineSyntaxError(err error) error {
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		return s.LineErrorf("column %d: %w", syntax.at+1, err)
	}
	return s.LineErrorf("%w", err)
}

// AtEnd is an error about a text that ends where more was expected.
type AtEnd struct{ Err error }

func (e AtEnd) Error() string { return e.Err.Error() }

// IsCut reports whether an error about the line that Line returned last is one of a text that may have been cut: in a
// last line without its end, it says that more was expected.
func (s *Source) IsCut(err error) bool {
	if !s.Unended {
		return false
	}
	if _, ended := errors.AsType[AtEnd](err); ended {
		return true
	}
	syntax, ok := errors.AsType[*syntaxError](err)
	begins := func(word string) bool {
		return strings.HasPrefix(strconv.Quote(word), strings.TrimSuffix(syntax.got, `"`))
	}
	return ok && (syntax.got == theEnd || slices.ContainsFunc([]string{"true", "false", "null"}, begins))
}
