// Package datasets has the readers of published data sets that were not made for caching: dialogues and questions,
// which become queries.
package datasets

import (
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of the data sets.
var Formats = []source.Format{sgdFormat, oasstFormat, tiageFormat, qqpFormat, clincFormat}

// dialogueQuery is a query as a file of dialogues or questions states it; unknown fields are nil.
type dialogueQuery struct{ text, session, topic, answer []byte }

// dialogueReader returns queries as records. Equal texts are the same query, so the text is the key. It implements
// stream.Reader.
type dialogueReader struct {
	next func() (query dialogueQuery, ok bool)
	head queries.Head
}

// openQueries returns a reader of queries. None of these files has a clock that matches the order of the queries.
func openQueries(next func() (dialogueQuery, bool)) (stream.Reader, stream.Fields, error) {
	return &dialogueReader{next: next}, stream.Fields{Kind: queries.Kind{}, Counted: true}, nil
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

func (r *dialogueReader) Read(rec *stream.Record) error {
	q, ok := r.next()
	if !ok {
		return io.EOF
	}
	r.head = queries.Head{Text: q.text, Session: q.session, Topic: q.topic, Answer: q.answer}
	*rec = stream.Record{Extra: &r.head}
	rec.SetKey(q.text)
	return nil
}

// scopedName makes a name that is unique across files from a number or name that is unique only within its file.
func scopedName(file int, name []byte) []byte {
	return append(strconv.AppendInt(nil, int64(file), 10), append([]byte(":"), name...)...)
}
