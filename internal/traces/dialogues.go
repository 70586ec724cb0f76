package traces

import (
	"bytes"
	"io"
	"slices"
	"strconv"
)

// dialogueQuery is a query as a file of dialogues or of questions gives it; what is not known is nil.
type dialogueQuery struct{ text, session, topic, answer []byte }

// dialogueReader gives queries as records. Equal texts are the same query, so the text is the key.
type dialogueReader struct {
	next func() (query dialogueQuery, ok bool)
	head QueryHead
}

// openQueries returns a reader of queries. None of these files has a clock that fits the order in which they are asked.
func openQueries(next func() (dialogueQuery, bool)) (Reader, Fields, error) {
	return &dialogueReader{next: next}, Fields{Queries: true, Counted: true}, nil
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
func (r *dialogueReader) Read(rec *Record) error {
	q, ok := r.next()
	if !ok {
		return io.EOF
	}
	r.head = QueryHead{Text: q.text, Session: q.session, Topic: q.topic, Answer: q.answer}
	*rec = Record{Query: &r.head}
	rec.setKey(q.text)
	return nil
}

// scopedName is the name of what is told by a number or a name that means something only within its file.
func scopedName(file int, name []byte) []byte {
	return append(strconv.AppendInt(nil, int64(file), 10), append([]byte(":"), name...)...)
}

// words reads a string that says something.
func (s *jsonScanner) words() ([]byte, error) {
	s.peek()
	start := s.pos
	text, err := s.string()
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		s.pos = start
		err = s.fail("a text that is not blank")
	}
	return text, err
}

// oneOf reads a string that is one of those.
func (s *jsonScanner) oneOf(known ...string) ([]byte, error) {
	s.peek()
	start := s.pos
	text, err := s.string()
	if err == nil && !slices.Contains(known, string(text)) {
		s.pos = start
		err = s.fail("one of %q", known)
	}
	return text, err
}

// strings reads an array of strings.
func (s *jsonScanner) strings() (all [][]byte, err error) {
	err = s.array(func() error {
		text, err := s.string()
		all = append(all, text)
		return err
	})
	return all, err
}
