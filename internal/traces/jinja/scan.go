package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// blanks are the white space of templates.
const blanks = " \t\n\r\v\f"

// scanner splits a template into texts and tags, and removes white space around tags as Jinja does with trim_blocks
// and lstrip_blocks.
type scanner struct {
	source     string // what is left
	lineBegins bool   // at the beginning of a line
	trims      bool   // the last tag takes the white space after it
}

// next returns the text before the next tag, and the tag.
func (s *scanner) next() (text string, t tag) {
	t, before, after := nextTag(s.source)
	if text = before; s.trims {
		text = strings.TrimLeft(before, blanks)
		if cut := len(before) - len(text); cut > 0 {
			s.lineBegins = before[cut-1] == '\n'
		}
	}
	switch {
	case t.left == '-':
		text = strings.TrimRight(text, blanks)
	case t.left == 0 && t.kind != '{' && t.kind != 0:
		text = stripLine(text, s.lineBegins)
	}
	s.trims = t.right == '-'
	if s.lineBegins = t.kind != '{' && t.right == 0 && strings.HasPrefix(after, "\n"); s.lineBegins {
		after = after[1:]
	}
	s.source = after
	return text, t
}

// stripLine removes the blanks between the beginning of a line and a tag; begins says that a text begins a line.
func stripLine(text string, begins bool) string {
	line := strings.LastIndexByte(text, '\n') + 1
	if line == 0 && !begins || strings.Trim(text[line:], blanks) != "" {
		return text
	}
	return text[:line]
}

// tag is a part of a template between braces.
type tag struct {
	kind        byte // '{' for an expression, '%' for a statement, '#' for a comment, 'r' for raw text; 0 is none
	left, right byte // '-' or '+' at its ends, or 0
	raw         string
	tokens      []token
}

var (
	tagBegin = regexp.MustCompile(`\{([{%#])([-+]?)`)
	tagEnds  = map[byte]*regexp.Regexp{'{': regexp.MustCompile(`^()(-?)\}\}`), '%': regexp.MustCompile(`^()([-+]?)%\}`),
		'#': regexp.MustCompile(`(?s)^(.*?)([-+]?)#\}`)}
	rawBegin = regexp.MustCompile(`^\{%([-+]?)\s*raw\s*(-?)%\}`)
	rawEnd   = regexp.MustCompile(`(?s)^(.*?)\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

// nextTag returns the first tag of a source, and what is before and after it.
func nextTag(source string) (t tag, before, after string) {
	found := tagBegin.FindStringSubmatchIndex(source)
	if found == nil {
		return tag{}, source, ""
	}
	before, rest := source[:found[0]], source[found[0]:]
	begin := rawBegin.FindStringSubmatch(rest)
	if begin == nil {
		t.kind, t.left = source[found[2]], signOf(source[found[4]:found[5]])
		end := t.read(source[found[1]:])
		if end == nil {
			fail("{%c without its end: %.40q", t.kind, rest)
		}
		t.right = signOf(end[2])
		return t, before, end[3]
	}
	body := rawEnd.FindStringSubmatch(rest[len(begin[0]):])
	if body == nil {
		fail("raw without endraw: %.40q", rest)
	}
	t = tag{kind: 'r', left: signOf(begin[1]), right: signOf(body[3]), raw: body[1]}
	if begin[2] != "" {
		t.raw = strings.TrimLeft(t.raw, blanks)
	}
	if body[2] == "-" {
		t.raw = strings.TrimRight(t.raw, blanks)
	}
	return t, before, rest[len(begin[0])+len(body[0]):]
}

func signOf(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

// token is a part of an expression.
type token struct {
	kind  byte   // 'n' for a name, 'c' for a constant, 's' for a text, 'o' for an operator or a bracket; 0 at the end
	text  string // a name or an operator
	value any    // of a constant or a text
}

// tokenAhead has a group for each kind of token: a name, a number, a text, an operator.
var tokenAhead = regexp.MustCompile(`^(?s:([\p{L}_][\p{L}\p{N}_]*)|` +
	`(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)|` +
	`('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(\*\*|//|[=!<>]=|[-+*/%~<>=(){}\[\].,:|]))`)

// read reads the tokens of a tag, and returns the match of its end; nil without.
func (t *tag) read(text string) (end []string) {
	for depth := 0; ; {
		if t.kind != '#' {
			text = strings.TrimLeft(text, blanks)
		}
		if depth == 0 || t.kind == '%' {
			if end := tagEnds[t.kind].FindStringSubmatch(text); end != nil {
				t.tokens = append(t.tokens, token{})
				return append(end, text[len(end[0]):])
			}
		}
		found := tokenAhead.FindStringSubmatch(text)
		switch {
		case t.kind == '#' || text == "":
			return nil
		case found == nil:
			fail("unexpected %.40q, or a text without its end", text)
		case found[1] != "":
			t.tokens = append(t.tokens, token{kind: 'n', text: found[1]})
		case found[2] != "":
			if last := len(t.tokens) - 1; last >= 0 && t.tokens[last].text == "." { // a.0.1
				found[0], _, _ = strings.Cut(found[0], ".")
			}
			t.tokens = append(t.tokens, token{kind: 'c', value: constant(found[0])})
		case found[3] != "":
			t.tokens = append(t.tokens, token{kind: 's', value: unescape(found[3][1 : len(found[3])-1])})
		default:
			depth += strings.Count("([{", found[4]) - strings.Count(")]}", found[4])
			t.tokens = append(t.tokens, token{kind: 'o', text: found[4]})
		}
		text = text[len(found[0]):]
	}
}

func constant(digits string) any {
	digits = strings.ReplaceAll(digits, "_", "")
	if n, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		fail("the number %.40q is not supported", digits)
	}
	return f
}

// unescape reads the escapes of a text of Python.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var to strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			to.WriteByte(text[i])
			continue
		}
		i++
		if at := strings.IndexByte(`ntrabfv0\'"`, text[i]); at >= 0 {
			to.WriteByte("\n\t\r\a\b\f\v\x00\\'\""[at])
			continue
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[i]]
		if digits > 0 && i+digits < len(text) {
			if r, err := strconv.ParseUint(text[i+1:i+1+digits], 16, 32); err == nil && r <= utf8.MaxRune {
				to.WriteRune(rune(r))
				i += digits
				continue
			}
		}
		to.WriteByte('\\')
		to.WriteByte(text[i])
	}
	return to.String()
}
