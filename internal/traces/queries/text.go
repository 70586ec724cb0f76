package queries

import (
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var Text = source.Format{
	Name:      "text",
	Summary:   "queries as lines of text: the text is the id, so equal lines are the same query",
	Example:   "How do I reset my password?",
	Carries:   "queries: text",
	Detection: "nothing, as any text would do: name it",
	Detect:    func(source.Head, string) source.Confidence { return source.No },
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "each line is a query"
		return &textReader{src: src}, stream.Fields{Kind: Kind{}, Counted: true}, nil
	},
}

// textReader reads a query per line.
type textReader struct {
	src  *source.Source
	head Head
}

// Read implements Reader.
func (r *textReader) Read(rec *stream.Record) error {
	line, err := r.src.Line()
	switch {
	case err != nil:
		return err
	case len(source.TrimBlanks(line)) == 0:
		return r.src.OnlyBlankLines()
	case source.IsBinary(line):
		return r.src.LineErrorf("control characters in %.60q: want lines of text", line)
	case !utf8.Valid(line):
		return r.src.LineErrorf("%.60q is not UTF-8: want lines of text in UTF-8", line)
	}
	r.head = Head{Text: line}
	*rec = stream.Record{Extra: &r.head}
	rec.SetKey(line)
	return nil
}
