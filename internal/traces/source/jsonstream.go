package source

import (
	"bufio"
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/base/memory"
)

// Bounds of what is read as a whole: a long line, an element of an array, a file beside a trace.
const (
	maxValue   = 256 << 20 // bytes
	valueShare = 0.125     // of the budget; the text is held twice while it grows
)

// jsonStream reads a file that is one JSON array or object, value by value, so that errors are found where they are and
// only one value is held in memory.
type jsonStream struct {
	src  *Source
	what string // the expected kind of file
	at   int64  // bytes before the current one
}

// ScanArray reads a file that must be an array, and calls element with a scanner in front of each element; what names
// the expected kind of file.
func (s *Source) ScanArray(what string, element func(*JSONScanner) error) error {
	j := &jsonStream{src: s, what: what}
	if err := j.want('[', "an array in brackets"); err != nil {
		return err
	}
	err := j.list(']', "a comma or a closing bracket", func() error { return j.value(element) })
	if err != nil {
		return err
	}
	return j.end()
}

// ScanObject reads a file that must be an object, and calls field with each name, and a scanner in front of its value.
func (s *Source) ScanObject(what string, field func(key []byte, s *JSONScanner) error) error {
	j := &jsonStream{src: s, what: what}
	if err := j.want('{', "an object in braces"); err != nil {
		return err
	}
	err := j.list('}', "a comma or a closing brace", func() error {
		var key []byte
		err := j.value(func(s *JSONScanner) (err error) {
			key, err = s.String()
			return err
		})
		if err != nil {
			return err
		}
		if err := j.want(':', fmt.Sprintf("a colon after the name %.40q", key)); err != nil {
			return err
		}
		return j.value(func(s *JSONScanner) error { return field(key, s) })
	})
	if err != nil {
		return err
	}
	return j.end()
}

// list calls each for every element until the closing byte comes instead of a comma.
func (j *jsonStream) list(closing byte, want string, each func() error) error {
	if c, err := j.peek(); err != nil || c == closing {
		j.skip()
		return err
	}
	for {
		if err := j.src.In.Ended(); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
		c, err := j.peek()
		switch {
		case err != nil:
			return err
		case c == closing:
			j.skip()
			return nil
		}
		if err := j.want(',', want); err != nil {
			return err
		}
	}
}

// end returns an error unless only white space is left.
func (j *jsonStream) end() error {
	c, err := j.peek()
	if err == nil && (c != 0 || j.left()) {
		err = j.fail("nothing after the object")
	}
	return err
}

// peek returns the next byte that is not white space without consuming it, 0 at the end.
func (j *jsonStream) peek() (byte, error) {
	for {
		head, err := j.src.buf.Peek(1)
		if err == io.EOF {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		if !isJSONBlank(head[0]) {
			return head[0], nil
		}
		j.skip()
	}
}

func isJSONBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// left tells a byte 0 from the end; peek returns 0 for both.
func (j *jsonStream) left() bool {
	head, _ := j.src.buf.Peek(1)
	return len(head) > 0
}

func (j *jsonStream) skip() {
	n, _ := j.src.buf.Discard(1)
	j.at += int64(n)
}

// want consumes c, which must come next.
func (j *jsonStream) want(c byte, what string) error {
	next, err := j.peek()
	if err != nil {
		return err
	}
	if next != c {
		return j.fail("%s", what)
	}
	j.skip()
	return nil
}

// shownBytes are enough for an error to show what was found.
const shownBytes = 80

func (j *jsonStream) fail(format string, args ...any) error {
	head, err := j.src.buf.Peek(shownBytes)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return err
	}
	return j.src.OffsetErrorf(j.at, "%w", (&JSONScanner{Text: head}).Fail(format, args...))
}

// value reads a value and calls read with a scanner in front of it, which must consume it. The text stays valid.
func (j *jsonStream) value(read func(*JSONScanner) error) error {
	if _, err := j.peek(); err != nil {
		return err
	}
	text, err := j.cut()
	if err != nil {
		return err
	}
	s := &JSONScanner{Text: text, At: j.at}
	err = read(s)
	if err == nil && s.Pos < len(text) {
		err = s.Fail("nothing after the value")
	}
	if err != nil {
		return j.src.OffsetErrorf(s.At+int64(s.Pos), "%w", err)
	}
	j.at += int64(len(text))
	return nil
}

// cut returns the text of the next value. If that is not JSON, it is cut off a little later, so that a scanner finds
// the error.
func (j *jsonStream) cut() (text []byte, err error) {
	var end valueEnd
	most := j.src.mayHold()
	for {
		if _, err := j.src.buf.Peek(1); err == io.EOF {
			return text, nil
		} else if err != nil {
			return nil, err
		}
		chunk, _ := j.src.buf.Peek(j.src.buf.Buffered())
		n, over := end.find(chunk)
		text = append(text, chunk[:n]...)
		j.src.buf.Discard(n)
		switch {
		case end.wrong:
			rest, _ := j.src.buf.Peek(shownBytes)
			return append(text, rest...), nil
		case over:
			return text, nil
		case len(text) > most && most < maxValue:
			return nil, j.src.In.Budget.Refuse(0, fmt.Sprintf("%s: byte %d: a single value of more than %s",
				j.src.Place, j.at, memory.Bytes(int64(most))))
		case len(text) > most:
			return nil, j.src.OffsetErrorf(j.at, "a value longer than %d bytes: this is not a %s", most, j.what)
		}
	}
}

// valueEnd finds where a value ends. It follows only brackets and quotes, and stops at bytes that cannot occur in JSON.
type valueEnd struct {
	depth             int
	begun             bool
	inString, escaped bool
	wrong             bool
}

// jsonBytes can occur outside of strings: brackets, punctuation, blanks, and the letters of numbers, true, false and
// null.
var jsonBytes = func() (allowed [256]bool) {
	for _, c := range []byte("{}[]:,\" \t\r\n+-.0123456789Eaeflnrstu") {
		allowed[c] = true
	}
	return allowed
}()

// find returns how many bytes of the next part of a text belong to the value, and whether it ends there.
func (e *valueEnd) find(text []byte) (n int, over bool) {
	for i, c := range text {
		switch {
		case e.inString && e.escaped:
			e.escaped = false
		case e.inString && c == '\\':
			e.escaped = true
		case e.inString && c == '"':
			e.inString = false
			if e.depth == 0 {
				return i + 1, true
			}
		case e.inString && c < ' ', !e.inString && !jsonBytes[c]:
			e.wrong = true
			return i, true
		case e.inString:
		case e.depth == 0 && e.begun && (c == ',' || c == ':' || c == ']' || c == '}' || isJSONBlank(c)):
			return i, true // after a number or a word
		case c == '"':
			e.inString = true
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			if e.depth--; e.depth <= 0 {
				return i + 1, true
			}
		}
		e.begun = true
	}
	return len(text), false
}
