// Package datasets has the readers of published data sets that were not made for caching: dialogues and questions,
// which become queries.
package datasets

import (
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of the data sets.
var Formats = []source.Format{sgdFormat, oasstFormat, tiageFormat, qqpFormat, clincFormat}

// dialogueQuery is a query as a file of dialogues or questions states it; unknown fields are nil.
type dialogueQuery struct{ text, session, topic, answer []byte }

// openQueries returns a reader of queries. Equal texts are the same query, so the text is the key. None of these files
// has a clock that matches the order of the queries.
func openQueries(next func() (dialogueQuery, bool)) (stream.Reader, stream.Fields, error) {
	var head queries.Head
	return stream.ReaderFunc(func(rec *stream.Record) error {
		q, ok := next()
		if !ok {
			return io.EOF
		}
		head = queries.Head{Text: q.text, Session: q.session, Topic: q.topic, Answer: q.answer}
		*rec = stream.Record{Extra: &head}
		rec.SetKey(q.text)
		return nil
	}), stream.Fields{Kind: queries.Kind{}, Counted: true}, nil
}

// inOrder returns a function that hands out queries one after another, for openQueries.
func inOrder(queries []dialogueQuery) func() (dialogueQuery, bool) {
	at := -1
	return func() (dialogueQuery, bool) {
		if at++; at >= len(queries) {
			return dialogueQuery{}, false
		}
		return queries[at], true
	}
}

// scopedName makes a name that is unique across files from a number or name that is unique only within its file.
func scopedName(file int, name []byte) []byte {
	return fmt.Appendf(nil, "%d:%s", file, name)
}
