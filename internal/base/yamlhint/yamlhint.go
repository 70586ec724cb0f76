// Package yamlhint explains mistakes in a YAML document: texts that need quotes, unknown keys, values of the wrong
// type. It reads single values, with errors that show their place.
package yamlhint

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// CheckCommas rejects an unquoted text that is split by a comma: within brackets and braces, YAML reads
// "s3fifo(small=0.1,ghost=0.9)" as two texts, and the resulting error would not mention the comma.
func CheckCommas(node ast.Node) error {
	v := &commaFinder{}
	ast.Walk(v, node)
	return v.err
}

// commaFinder visits a document until it finds a text that is split by a comma. It implements ast.Visitor.
type commaFinder struct{ err error }

func (v *commaFinder) Visit(node ast.Node) ast.Visitor {
	if v.err != nil {
		return nil
	}
	var items []ast.Node
	switch n := node.(type) {
	case *ast.SequenceNode:
		if n.IsFlowStyle {
			items = n.Values
		}
	case *ast.MappingNode:
		if n.IsFlowStyle {
			for _, entry := range n.Values {
				// The rest of a split text is where a key should be, without a value.
				items = append(items, entry.Value)
				if entry.Value.Type() == ast.NullType {
					items[len(items)-1] = entry.Key
				}
			}
		}
	}
	for i, item := range items {
		isPlain := item.Type() == ast.StringType && item.GetToken().Type == token.StringType // unquoted
		if isPlain && open(item.GetToken().Value) > 0 {
			if v.err = cutByComma(item, items[i+1:]); v.err != nil {
				return nil
			}
		}
	}
	return v
}

// open returns the number of open parentheses in a text.
func open(text string) int { return strings.Count(text, "(") - strings.Count(text, ")") }

// cutByComma returns the error for a text that continues in the following items; nil if it does not.
func cutByComma(first ast.Node, rest []ast.Node) error {
	at := first.GetToken()
	whole := at.Value
	for _, item := range rest {
		if open(whole) <= 0 {
			break
		}
		whole += "," + item.GetToken().Value
	}
	if open(whole) != 0 {
		return nil
	}
	message := fmt.Sprintf("the comma ends the text %s; put it in quotes: %s", shortened(at.Value), quotedYAML(whole))
	return &yaml.SyntaxError{Message: message, Token: at}
}

// colonWithin matches a line with a text that has a colon and a space in it.
var colonWithin = regexp.MustCompile(`^[\s-]*([\w-]+):\s+([^'"\[{|>&*!#].*:\s.*?)\s*$`)

// Colon returns the advice for a line that the parser could not parse; "" if the reason is something else.
func Colon(text []byte, line int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	m := colonWithin.FindSubmatch(lines[line-1])
	if m == nil {
		return ""
	}
	return fmt.Sprintf("a text with a colon and a space in it needs quotes: %s: %s", m[1], quotedYAML(string(m[2])))
}

func quotedYAML(text string) string {
	return "'" + strings.ReplaceAll(shortened(text), "'", "''") + "'"
}

// longestQuote is the number of characters of a text that an error repeats.
const longestQuote = 80

func shortened(text string) string {
	if r := []rune(text); len(r) > longestQuote {
		return string(r[:longestQuote-1]) + "…"
	}
	return text
}
