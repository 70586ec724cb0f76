package queries

import (
	"fmt"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var textFormat = source.Format{
	Name:    "text",
	AnyText: "a query in words",
	Detect:  func(source.Head, string) source.Confidence { return source.No },
	Open: func(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "each line is a query"
		var head Head
		return source.ReadLines(src, func(line []byte, rec *stream.Record) error {
			switch {
			case source.IsBinary(line):
				return fmt.Errorf("control characters in %.60q: want lines of text", line)
			case !utf8.Valid(line):
				return fmt.Errorf("%.60q is not UTF-8: want lines of text in UTF-8", line)
			}
			head = Head{Text: line}
			*rec = stream.Record{Extra: &head}
			rec.SetKey(line)
			return nil
		}), stream.Fields{Kind: Kind{}, Counted: true}, nil
	},
}
