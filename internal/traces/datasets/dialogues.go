// Package datasets has the readers of published data sets that were made for other purposes than caching: dialogues and
// questions, which become queries.
package datasets

import (
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are those of the data sets.
var Formats = []source.Format{sgdFormat, oasstFormat, tiageFormat, qqpFormat, clincFormat}

// dialogueQuery is a query as a file of dialogues or of questions gives it; what is not known is nil.
type dialogueQuery struct{ text, session, topic, answer []byte }

// dialogueReader gives queries as records. Equal texts are the same query, so the text is the key.
type dialogueReader struct {
	next func() (query dialogueQuery, ok bool)
	head queries.Head
}

// openQueries returns a reader of queries. None of these files has a clock that fits the order in which they are asked.
func openQueries(next func() (dialogueQuery, bool)) (stream.Reader, stream.Fields, error) {
	return &dialogueReader{next: next}, stream.Fields{Kind: queries.Kind{}, Counted: true}, nil
}

// inOrder gives queries one after another.
func inOrder(queries []dialogueQuery) func() (dialogueQuery, bool) {
	at := -1
	return func() (dialogueQuery, bool) {
		if at++; at >= len(queries) {
			return dialogueQuery{}, false
		}
		return queries[at], true
	}
}

// Read implements Reader.
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

// scopedName is the name of what is told by a number or a name that means something only within its file.
func scopedName(file int, name []byte) []byte {
	return append(strconv.AppendInt(nil, int64(file), 10), append([]byte(":"), name...)...)
}
