// Package ptx reads kernels in PTX, the assembly language of NVIDIA's GPUs, as clang writes them: their registers and
// variables, and the text of instructions. What instructions mean is up to package ptxrun. Kernels call no functions,
// and use no variables of the module but shared ones.
//
// Source: NVIDIA, Parallel thread execution ISA, version 7.0.
package ptx

import (
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// token is a word, a string or one other character of PTX, and its line.
type token struct {
	text string
	line int
}

// longestText is how long a PTX text may be, in bytes; this program's have less than 110 KB.
const longestText = 8 << 20

// Problem says why a text is not PTX that can be run, with the line.
type Problem struct {
	line    int
	message string
}

func (p Problem) Error() string { return fmt.Sprintf("line %d: %s", p.line, p.message) }

// Refuse panics with a Problem. Parse recovers from it; later stages that call Refuse must call Recover, too.
func Refuse(line int, format string, a ...any) { panic(Problem{line, fmt.Sprintf(format, a...)}) }

// Recover, deferred, turns a Problem into an error.
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case Problem:
		*err = r
	default:
		panic(r)
	}
}

func wordLetter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_$%.", c)
}

// tokens splits a text, without blanks and comments.
func tokens(text string) (all []token) {
	var s scanner.Scanner
	s.Init(strings.NewReader(text))
	s.Mode = scanner.ScanIdents | scanner.ScanStrings | scanner.ScanComments | scanner.SkipComments
	s.IsIdentRune = func(c rune, _ int) bool { return wordLetter(c) }
	s.Error = func(s *scanner.Scanner, message string) { Refuse(s.Pos().Line, "%s", message) }
	for s.Scan() != scanner.EOF {
		all = append(all, token{s.TokenText(), s.Line})
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

// ends reports whether a list ends here; otherwise it continues behind a comma.
func (c *cursor) ends(text string) bool {
	if c.accept(text) {
		return true
	}
	c.expect(",")
	return false
}

// name returns a token that is an identifier.
func (c *cursor) name() string {
	t := c.next()
	if !wordLetter(rune(t[0])) || t[0] == '.' || t[0] >= '0' && t[0] <= '9' {
		Refuse(c.line, "unexpected %q, expected a name", t)
	}
	return t
}

// value returns a name or a number.
func (c *cursor) value() string {
	sign := ""
	if c.accept("-") {
		sign = "-"
	}
	t := c.next()
	if !wordLetter(rune(t[0])) || t[0] == '.' {
		Refuse(c.line, "unexpected %q, expected an operand", t)
	}
	return sign + t
}

// count returns a whole number from least to most.
func (c *cursor) count(least, most int64) int64 {
	t := c.value()
	n, err := strconv.ParseInt(strings.TrimSuffix(t, "U"), 0, 64)
	if err != nil || n < least || n > most {
		Refuse(c.line, "%q is no number from %d to %d", t, least, most)
	}
	return n
}
