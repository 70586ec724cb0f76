package source

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Eight bytes at once, as in a word.
const (
	ones = 0x0101010101010101 // one in each byte
	tops = ones << 7          // the top bit of each
)

// controls sets the top bit of the lowest byte below a space; those of higher bytes may be wrong then. Other bits say
// nothing.
func controls(x uint64) uint64 { return (x - ones*' ') &^ x }

// HeadLen is how many bytes of a file detection looks at.
const HeadLen = 64 << 10

// Head is the beginning of a file, for detection.
type Head struct {
	Bytes []byte
	Lines [][]byte // the whole lines without their breaks
}

// NewHead splits the beginning of a file into lines; whole says that it is the whole file.
func NewHead(b []byte, whole bool) Head {
	h := Head{Bytes: b}
	for rest := b; len(rest) > 0; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found && !whole {
			break
		}
		h.Lines = append(h.Lines, bytes.TrimSuffix(line, []byte("\r")))
		rest = after
	}
	return h
}

// Head returns the beginning of s without consuming it.
func (s *Source) Head() (Head, error) {
	b, err := s.Peek(HeadLen)
	if err != nil && err != io.EOF {
		return Head{}, err
	}
	return NewHead(b, err == io.EOF), nil
}

// NoTextTrace implements Format.Impossible for formats that would take any word for a key: it refuses JSON.
func NoTextTrace(head Head) string {
	if len(head.Lines) == 0 || !bytes.HasPrefix(head.Lines[0], []byte("{")) || !json.Valid(head.Lines[0]) {
		return ""
	}
	return "line 1 is JSON"
}

// IsBinary reports whether b holds control characters that text never has.
func IsBinary(b []byte) bool {
	for len(b) >= 8 && controls(binary.LittleEndian.Uint64(b))&tops == 0 {
		b = b[8:]
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return false
}

// CertainIf makes a Detect for files that look like only one format.
func CertainIf(looksSo func(Head) bool) func(Head, string) Confidence {
	return func(head Head, _ string) Confidence { return Certain.If(looksSo(head)) }
}

// ImpossibleUnless makes a Format.Impossible for files that look like only one format; why says what others lack.
func ImpossibleUnless(looksSo func(Head) bool, why string) func(Head) string {
	return func(head Head) string {
		if looksSo(head) {
			return ""
		}
		return why
	}
}

// LooksLikeJSON reports whether the file begins with a JSON object that has fields of these names.
func LooksLikeJSON(head Head, names ...string) bool { return beginsLikeJSON(head, "{", names) }

// LooksLikeJSONArray reports whether the file begins with a JSON array that has fields of these names.
func LooksLikeJSONArray(head Head, names ...string) bool { return beginsLikeJSON(head, "[", names) }

// beginsLikeJSON only looks for the names: the head may end within the first object, so that it need not be valid.
func beginsLikeJSON(head Head, bracket string, names []string) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(head.Bytes, " \t\r\n"), []byte(bracket)) {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		return !bytes.Contains(head.Bytes, []byte(`"`+name+`"`))
	})
}

// WithoutBlankEnd drops blank lines at the end.
func WithoutBlankEnd(lines [][]byte) [][]byte {
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// AllDigits reports whether every word is a run of digits.
func AllDigits(words [][]byte) bool {
	return !slices.ContainsFunc(words, func(w []byte) bool { return !IsDigits(w) })
}

// OddBytes reports whether a key has blanks or control characters in it.
func OddBytes(key []byte) (blanks, controls bool) {
	for _, c := range key {
		if c <= ' ' {
			blanks = blanks || IsBlank(c)
			controls = controls || !IsBlank(c)
		}
	}
	return blanks, controls
}

// FieldNames returns the first names in the first object of a file.
func FieldNames(head Head) string {
	const most = 8
	s := &JSONScanner{Text: head.Bytes}
	s.Take('[')
	var names []string
	_ = s.Object(func(key []byte) error { // it fails where the head ends
		if len(names) < most {
			names = append(names, fmt.Sprintf("%.40q", key))
		}
		return s.Skip()
	})
	return strings.Join(names, ", ")
}
