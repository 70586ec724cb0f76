package yamlhint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Locate adds the file and the line to an error of the YAML library, and removes the excerpt that the library adds.
func Locate(file string, err error) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%d: %s", file, at.GetToken().Position.Line, strings.ReplaceAll(at.GetMessage(), "\n", " "))
}

// Child returns the value of a key or list index, and its line; nil if there is none.
func Child(node ast.Node, step any) (value ast.Node, line int) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if key, _ := Scalar(entry.Key); key == step {
				return entry.Value, entry.Key.GetToken().Position.Line
			}
		}
	case *ast.SequenceNode:
		if i, ok := step.(int); ok && i < len(n.Values) {
			return n.Values[i], FirstLine(n.Values[i])
		}
	}
	return nil, 0
}

// FirstLine returns the line on which a value begins; a mapping's own token is its first colon.
func FirstLine(node ast.Node) int {
	if mapping, ok := node.(*ast.MappingNode); ok && len(mapping.Values) > 0 {
		return mapping.Values[0].Key.GetToken().Position.Line
	}
	return node.GetToken().Position.Line
}
