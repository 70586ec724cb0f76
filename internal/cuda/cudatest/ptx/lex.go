// Package ptx reads kernels in PTX, the assembly language of NVIDIA's GPUs, as compilers write it: functions, their
// registers and variables, and the text of instructions. What instructions mean is up to package ptxrun.
//
// Source: NVIDIA, Parallel thread execution ISA, version 7.0.
package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// token is a word, a string or one other character of PTX, and its line.
type token struct {
	text string
	line int
}

// longestText is how long a PTX text may be, in bytes; this program's have less than 100 KB.
const longestText = 8 << 20

// Problem says why a text is not PTX that can be run, with the line.
type Problem struct {
	line    int
	message string
}

func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.line, p.message) }

// Refuse panics with a Problem. Parse recovers from it; later stages that call Refuse must do so, too.
func Refuse(line int, format string, a ...any) { panic(Problem{line, fmt.Sprintf(format, a...)}) }

func wordLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_$%.", c) >= 0
}

// tokens splits a text, without blanks and comments.
func tokens(text string) (all []token) {
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(text[i:], "//"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return all
			}
			i += end
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i:], "*/")
			if end < 0 {
				Refuse(line, "a comment does not end")
			}
			line += strings.Count(text[i:i+end], "\n")
			i += end + 2
		case c == '"':
			end := strings.IndexAny(text[i+1:], "\"\n")
			if end < 0 || text[i+1+end] != '"' {
				Refuse(line, "a string does not end")
			}
			all = append(all, token{text[i : i+end+2], line})
			i += end + 2
		case wordLetter(c):
			from := i
			for i < len(text) && wordLetter(text[i]) {
				i++
			}
			all = append(all, token{text[from:i], line})
		case strings.IndexByte(",;:{}[]()|!@+-=<>", c) >= 0:
			all = append(all, token{text[i : i+1], line})
			i++
		default:
			Refuse(line, "unexpected character %q", c)
		}
	}
	return all
}

// cursor walks over tokens.
type cursor struct {
	all  []token
	at   int
	line int // of the last token
}

func (c *cursor) peek() string {
	if c.at >= len(c.all) {
		return ""
	}
	return c.all[c.at].text
}

// next consumes and returns a token, which must exist.
func (c *cursor) next() string {
	if c.at >= len(c.all) {
		Refuse(c.line, "the text ends too early")
	}
	t := c.all[c.at]
	c.at++
	c.line = t.line
	return t.text
}

func (c *cursor) accept(text string) bool {
	if c.peek() != text {
		return false
	}
	c.next()
	return true
}

func (c *cursor) expect(text string) {
	if got := c.next(); got != text {
		Refuse(c.line, "unexpected %q, expected %q", got, text)
	}
}

// name returns a token that is an identifier.
func (c *cursor) name() string {
	t := c.next()
	if !wordLetter(t[0]) || t[0] == '.' || t[0] >= '0' && t[0] <= '9' {
		Refuse(c.line, "unexpected %q, expected a name", t)
	}
	return t
}

// count returns a whole number from 0 to most.
func (c *cursor) count(most int64) int64 {
	t := c.next()
	n, err := strconv.ParseInt(strings.TrimSuffix(t, "U"), 0, 64)
	if err != nil || n < 0 || n > most {
		Refuse(c.line, "%q is no number from 0 to %d", t, most)
	}
	return n
}
