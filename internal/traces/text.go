package traces

import (
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/params"
)

var textFormat = Format{
	Name:      "text",
	Summary:   "queries as lines of text: the text is the id, so equal lines are the same query",
	Example:   "How do I reset my password?",
	Carries:   "queries: text",
	Detection: "nothing, as any text would do: name it",
	Detect:    func(Head, string) Confidence { return No },
	Open: func(src *Source, _ params.Values) (Reader, Fields, error) {
		src.reading.Key = "each line is a query"
		return &textReader{src: src}, Fields{Queries: true, Counted: true}, nil
	},
}

// textReader reads a query per line.
type textReader struct {
	src  *Source
	head QueryHead
}

// Read implements Reader.
func (r *textReader) Read(rec *Record) error {
	line, err := r.src.Line()
	switch {
	case err != nil:
		return err
	case len(trimBlanks(line)) == 0:
		return r.src.onlyBlankLines()
	case isBinary(line):
		return r.src.LineErrorf("control characters in %.60q: want lines of text", line)
	case !utf8.Valid(line):
		return r.src.LineErrorf("%.60q is not UTF-8: want lines of text in UTF-8", line)
	}
	r.head = QueryHead{Text: line}
	*rec = Record{Query: &r.head}
	rec.setKey(line)
	return nil
}
