package formats

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// adviceJSON says how to read unrecognised JSON, "" for anything else: the objects of an array, or one that was written
// on many lines, can be written one on a line.
func adviceJSON(s *source.Source, what, begins string) string {
	if what != foreignJSON {
		return ""
	}
	var names []string
	for _, f := range formats() {
		if f.JSON {
			names = append(names, f.Name)
		}
	}
	filter, file := ".", "FILE"
	if s.Size() > 0 { // neither a pipe nor packed
		file = s.Place
	}
	if begins == "[" {
		filter = "'.[]'"
	}
	return fmt.Sprintf(": if it holds one record after another, write each on a line: jq -c %s %s | cachesim run -; or "+
		"name a format with --input-format NAME (%s)", filter, file, suggest.List(names))
}

// advice names the formats that can read a file that no format recognises.
func advice(head source.Head) string {
	binary := source.IsBinary(head.Bytes)
	var possible []string
	for _, f := range formats() {
		if f.Binary == binary && !f.JSON && f.AnyText == "" && (f.Impossible == nil || f.Impossible(head) == "") {
			possible = append(possible, f.Name)
		}
	}
	said, each := fmt.Sprintf("name one with --input-format NAME (%s)", suggest.List(possible)), "if each line is"
	if binary {
		said, each = "no other binary format fits", "if it has"
		if len(possible) > 0 {
			said = "if it is such a trace all the same, name the format: --input-format " + strings.Join(possible, " or ")
		}
	}
	if !binary {
		said += "; or let a regular expression cut the lines: --input-format '" + suggestPattern(head) + "'"
	}
	for _, f := range formats() {
		if f.AnyText != "" && f.Binary == binary {
			said += fmt.Sprintf("; %s %s: --input-format %s", each, f.AnyText, f.Name)
		}
	}
	return said
}

// namedValue is a word such as key=/a, or key="/a b".
var namedValue = regexp.MustCompile(`(?:^|\s)([A-Za-z_][A-Za-z0-9_.-]*)=`)

// suggestPattern returns a format that cuts the lines: by the names of their values, in the order of the first line, if
// one is known for the key, and otherwise an example.
func suggestPattern(head source.Head) string {
	var parts, groups []string
	hasKey := false
	line, _, _ := bytes.Cut(head.Bytes, []byte("\n"))
	for _, match := range namedValue.FindAllSubmatch(line, -1) {
		name := string(match[1])
		for _, group := range []string{"key", "time", "size", "op"} {
			known := slices.Contains(source.KnownNames(group), source.PlainName(name))
			if known && !slices.Contains(groups, group) {
				groups = append(groups, group)
				parts = append(parts, fmt.Sprintf(`\b%s="?(?<%s>[^" ]+)`, regexp.QuoteMeta(name), group))
				hasKey = hasKey || group == "key"
			}
		}
	}
	pattern := strings.Join(parts, ".*")
	if !hasKey {
		pattern = datedPattern(head.Lines)
	}
	switch {
	case pattern != "":
	case len(head.Lines) > 0 && dated.Match(head.Lines[0]):
		return `regex:pattern=(?<time>\S+ \S+) (?<key>\S+)`
	default:
		return `regex:pattern=(?<time>\S+) (?<key>\S+)`
	}
	matches := regexp.MustCompile(pattern).Match
	if slices.ContainsFunc(source.WithoutBlankEnd(head.Lines), func(line []byte) bool { return !matches(line) }) {
		return "regex:unmatched=skip,pattern=" + pattern
	}
	return "regex:pattern=" + pattern
}

// dated is a line that begins with a date and a time of day, with a blank between.
var dated = regexp.MustCompile(`^\d{4}[-/]\d{2}[-/]\d{2} \d{2}:\d{2}:\d{2}\S*(\s.*)$`)

var (
	blanksAndWord = regexp.MustCompile(`\s+\S+`)
	method        = regexp.MustCompile(`^(?:GET|PUT|POST|HEAD|DELETE)$`)
)

// datedPattern returns a pattern for lines of words behind a date and a time of day, if one of the words is a path; ""
// if it knows none. The path is the key, and a method of HTTP before it the operation.
func datedPattern(lines [][]byte) string {
	if len(lines) == 0 {
		return ""
	}
	cut := dated.FindSubmatch(lines[0])
	if cut == nil {
		return ""
	}
	pattern := `^(?<time>\S+ \S+)`
	for _, word := range blanksAndWord.FindAll(cut[1], -1) {
		switch word = bytes.TrimSpace(word); {
		case word[0] == '/':
			return pattern + `\s+(?<key>/\S*)`
		case method.Match(word):
			pattern += `\s+(?<op>\S+)`
		default:
			pattern += `\s+\S+`
		}
	}
	return ""
}
