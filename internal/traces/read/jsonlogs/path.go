package jsonlogs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// path leads from an object to a value within it.
type path []step

// step is the name of a field, or the number of an element of an array.
type step struct {
	name  string
	index int // from 0; field for a name
}

// field is the index of a step that is a name.
const field = -1

// most bounds what a path may be.
const (
	mostSteps   = 20
	mostElement = 1000
)

// parsePath reads a path as jq writes it: .request.uri, ."cache-status", .headers["Cache-Status"][0]. The first dot may
// be left out.
func parsePath(text string) (path, error) {
	var p path
	for rest := text; rest != "" || len(p) == 0; {
		s, after, ok := cutStep(rest, len(p) == 0)
		if !ok || len(p) == mostSteps {
			return nil, fmt.Errorf("path %q: want names after dots, such as .request.uri, quoted if they have other signs "+
				"than letters, digits, _ and - (.\"a b\"), and elements such as [0]", text)
		}
		p, rest = append(p, s), after
	}
	return p, nil
}

func cutStep(text string, first bool) (s step, rest string, ok bool) {
	dotted := strings.HasPrefix(text, ".")
	text = strings.TrimPrefix(text, ".")
	switch {
	case strings.HasPrefix(text, "["):
		inside, rest, found := strings.Cut(text[1:], "]")
		if strings.HasPrefix(inside, `"`) {
			s, rest, ok = cutQuoted(text[1:])
			rest, closed := strings.CutPrefix(rest, "]")
			return s, rest, ok && closed
		}
		n, err := strconv.Atoi(inside)
		return step{index: n}, rest, found && err == nil && n >= 0 && n <= mostElement
	case !dotted && !first:
		return s, text, false
	case strings.HasPrefix(text, `"`):
		return cutQuoted(text)
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !isNameRune(r) })
	if end < 0 {
		end = len(text)
	}
	return step{text[:end], field}, text[end:], end > 0
}

// cutQuoted cuts a name in double quotes off a path, with escapes as in Go.
func cutQuoted(text string) (s step, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return s, text, false
	}
	name, err := strconv.Unquote(quoted)
	return step{name, field}, text[len(quoted):], err == nil
}

// isNameRune reports whether a name with this character needs no quotes.
func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '@' || r >= '0' && r <= '9' || r|' ' >= 'a' && r|' ' <= 'z' || r > 127
}

// String writes a path so that parsePath reads it.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.index != field:
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.name == "" || strings.ContainsFunc(s.name, func(r rune) bool { return !isNameRune(r) }):
			b.WriteString("." + strconv.Quote(s.name))
		default:
			b.WriteString("." + s.name)
		}
	}
	return b.String()
}

// surveyed reports whether a survey has seen what lies at the path: it only looks at the first elements of arrays.
func (p path) surveyed() bool {
	return len(p) <= surveyedDepth && !slices.ContainsFunc(p, func(s step) bool { return s.index > 0 })
}

func (p path) last() string {
	for _, s := range slices.Backward(p) {
		if s.index == field {
			return s.name
		}
	}
	return ""
}

// splitPaths cuts a list of paths at plus signs outside names in quotes.
func splitPaths(text string) ([]path, error) {
	var texts []string
	start, quoted := 0, false
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '"' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case i == len(text) || text[i] == '+' && !quoted:
			texts, start = append(texts, strings.TrimSpace(text[start:i])), i+1
		}
	}
	return parsePaths(texts)
}

func parsePaths(texts []string) ([]path, error) {
	all := make([]path, len(texts))
	for i, text := range texts {
		var err error
		if all[i], err = parsePath(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// joinPaths writes a list of paths so that splitPaths reads it.
func joinPaths(all []path) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return strings.Join(texts, "+")
}
