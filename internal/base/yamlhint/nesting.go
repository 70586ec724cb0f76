package yamlhint

import "github.com/goccy/go-yaml/token"

// MaxNesting is how deep brackets, and dashes on one line, may be nested, so that no file can exhaust the stack of the
// parser.
const MaxNesting = 100

// DeepLine returns the first line on which brackets, or leading dashes, are nested too deep; 0 if there is none. What a
// text contains does not count.
func DeepLine(tokens token.Tokens) int {
	line, indent, brackets, dashes := 0, 0, 0, 0
	for _, t := range tokens {
		if p := t.Prev; p != nil && (p.Type == token.LiteralType || p.Type == token.FoldedType) {
			continue // lines of a text, which are as long as they are
		}
		if t.Position.Line != line {
			line, indent, dashes = t.Position.Line, t.Position.Column-1, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(0, brackets-1)
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if max(brackets, dashes, indent/2) > MaxNesting {
			return line
		}
	}
	return 0
}
