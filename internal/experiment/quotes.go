package experiment

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// checkCommas refuses a text without quotes that a comma cuts: within brackets and braces "s3fifo(small=0.1,ghost=0.9)"
// is two texts to YAML, and what is wrong with them would be said in other words.
func checkCommas(node ast.Node) error {
	v := &commaFinder{}
	ast.Walk(v, node)
	return v.err
}

// commaFinder visits a document until it finds a text that a comma cuts.
type commaFinder struct{ err error }

// Visit implements ast.Visitor.
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
				// The rest of a text that was cut stands where a key should, without a value.
				items = append(items, entry.Value)
				if entry.Value.Type() == ast.NullType {
					items[len(items)-1] = entry.Key
				}
			}
		}
	}
	for i, item := range items {
		if isPlain(item) && open(item.GetToken().Value) > 0 {
			if v.err = cutByComma(item, items[i+1:]); v.err != nil {
				return nil
			}
		}
	}
	return v
}

// isPlain reports whether a node is a text without quotes.
func isPlain(node ast.Node) bool {
	return node.Type() == ast.StringType && node.GetToken().Type == token.StringType
}

// open returns how many parentheses of a text are not closed.
func open(text string) int { return strings.Count(text, "(") - strings.Count(text, ")") }

// cutByComma returns the error for a text that goes on in the items behind it; nil where it does not.
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

// quoteColon says what to do about a line at which the parser stumbled; "" where it is something else.
func quoteColon(text []byte, line int) string {
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

// quotedYAML puts a text in quotes as YAML reads them.
func quotedYAML(text string) string {
	return "'" + strings.ReplaceAll(shortened(text), "'", "''") + "'"
}

// longestQuote is how many characters of a text an error repeats.
const longestQuote = 80

func shortened(text string) string {
	if r := []rune(text); len(r) > longestQuote {
		return string(r[:longestQuote-1]) + "…"
	}
	return text
}
