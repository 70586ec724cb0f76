package yamlhint

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Wrong returns the error for a node of an unexpected type.
func Wrong(node ast.Node, want string) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf("want %s, not %s", want, describe(node)), Token: node.GetToken()}
}

func describe(node ast.Node) string {
	if text, ok := Scalar(node); ok {
		return strconv.Quote(text)
	}
	if IsText(node) {
		return "a text with tabs or control characters"
	}
	switch n := node.(type) {
	case *ast.SequenceNode:
		if len(n.Values) == 0 {
			return "an empty list"
		}
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag (a text that begins with &, * or ! needs quotes)"
	}
	return "nothing"
}

// Scalar returns the text of a single value as it was written: 0.10 stays "0.10". The lines of a text are joined into
// one, because titles, names and sentences are shown on one line.
func Scalar(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		n.Value = oneLine(n.Value)
		return n.Value, isPrintable(n.Value)
	case *ast.LiteralNode:
		n.Value.Value = oneLine(n.Value.Value)
		return n.Value.Value, isPrintable(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// IsText reports whether YAML reads a single value as text, not as a number or a truth value.
func IsText(node ast.Node) bool {
	switch node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

func oneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// IsLine reports whether Scalar can return a text: one line of printable characters.
func IsLine(text string) bool {
	return utf8.ValidString(text) && text == oneLine(text) && isPrintable(text)
}

// isPrintable reports whether a text has no tabs or other control characters, which no name or sentence needs.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return !unicode.IsPrint(c) && !unicode.IsSpace(c) ||
			unicode.IsControl(c)
	})
}

func Scalars(node ast.Node, want string) (texts []string, nodes []ast.Node, err error) {
	nodes = []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	for _, item := range nodes {
		text, ok := Scalar(item)
		if !ok {
			return nil, nil, Wrong(item, want)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, nil, Wrong(node, want)
	}
	return texts, nodes, nil
}
