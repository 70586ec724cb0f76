package datasets

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var tiageFormat = source.Format{
	Name: "tiage",
	JSON: true,
	Detect: source.CertainIf(func(head source.Head) bool {
		_, label, ok := firstPair(head)
		return ok && slices.Contains(shiftLabels, string(label))
	}),
	Open: openTIAGE,
}

// shiftLabels mark turns: "1" if the topic shifts, "0" if not, "-1" at the first turn.
var shiftLabels = []string{"1", "0", "-1"}

// firstPair returns the first key of a JSON object of arrays of pairs of strings, and the second string of the first
// pair.
func firstPair(head source.Head) (key, second []byte, ok bool) {
	s := &source.JSONScanner{Text: head.Bytes}
	if !s.Take('{') {
		return nil, nil, false
	}
	key, err := s.String()
	if err != nil || !s.Take(':') || !s.Take('[') || !s.Take('[') {
		return nil, nil, false
	}
	if _, err := s.String(); err != nil || !s.Take(',') {
		return nil, nil, false
	}
	second, err = s.String()
	return key, second, err == nil && s.Take(']')
}

// readPair reads an array of two non-empty strings. If labels are given, the second must be one of them.
func readPair(s *source.JSONScanner, labels ...string) (text, label []byte, err error) {
	if !s.Take('[') {
		return nil, nil, s.Fail("a pair of strings in brackets")
	}
	if text, err = s.Words(); err != nil {
		return nil, nil, err
	}
	if !s.Take(',') {
		return nil, nil, s.Fail("a comma and a second string")
	}
	if len(labels) > 0 {
		label, err = s.OneOf(labels...)
	} else {
		label, err = s.Words()
	}
	if err != nil {
		return nil, nil, err
	}
	if !s.Take(']') {
		return nil, nil, s.Fail("a closing bracket after two strings")
	}
	return text, label, nil
}

// openTIAGE reads the whole file: it needs memory for the text and 120 bytes per turn.
func openTIAGE(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
	src.Reading.Request = "turns as queries"
	file := src.NextNumber()
	var queries []dialogueQuery
	err := src.ScanObject("file of dialogues", func(key []byte, s *source.JSONScanner) (err error) {
		queries, err = readTIAGEDialogue(s, queries, scopedName(file, key))
		return err
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	return openQueries(inOrder(queries))
}

// readTIAGEDialogue appends the turns of a dialogue. Its topics are numbered from 0.
func readTIAGEDialogue(s *source.JSONScanner, to []dialogueQuery, session []byte) ([]dialogueQuery, error) {
	segment := -1
	var topic []byte
	err := s.Array(func() error {
		text, label, err := readPair(s, shiftLabels...)
		if string(label) == "1" || segment < 0 {
			segment++
			topic = fmt.Appendf(nil, "%s/%d", session, segment)
		}
		to = append(to, dialogueQuery{text: text, session: session, topic: topic})
		return err
	})
	return to, err
}
