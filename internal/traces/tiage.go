package traces

import (
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/params"
)

var tiageFormat = Format{
	Name: "tiage",
	Summary: "chats with marks where the topic shifts, a JSON object per file (TIAGE): a turn is a query, its " +
		"dialogue the session",
	Example:   `{"1": [["hello , how are you ?", "-1"], ["i am well .", "0"], ["i love this season .", "1"]]}`,
	Carries:   "queries: text, session, topic",
	Detection: `a JSON object of arrays of pairs of strings, the second of the first "-1", "0" or "1"`,
	JSON:      true,
	Detect: certainIf(func(head Head) bool {
		_, label, ok := firstPair(head)
		return ok && slices.Contains(shiftLabels, string(label))
	}),
	Open: openTIAGE,
}

// shiftLabels mark turns: "1" where the topic shifts, "0" where it does not, "-1" at the first turn.
var shiftLabels = []string{"1", "0", "-1"}

// firstPair returns the first key of a JSON object of arrays of pairs of strings, and the second string of the first
// pair.
func firstPair(head Head) (key, second []byte, ok bool) {
	s := &jsonScanner{text: head.Bytes}
	if !s.take('{') {
		return nil, nil, false
	}
	key, err := s.string()
	if err != nil || !s.take(':') || !s.take('[') || !s.take('[') {
		return nil, nil, false
	}
	if _, err := s.string(); err != nil || !s.take(',') {
		return nil, nil, false
	}
	second, err = s.string()
	return key, second, err == nil && s.take(']')
}

// pair reads an array of two strings that say something, the second one of those labels if any are given.
func (s *jsonScanner) pair(labels ...string) (text, label []byte, err error) {
	if !s.take('[') {
		return nil, nil, s.fail("a pair of strings in brackets")
	}
	if text, err = s.words(); err != nil {
		return nil, nil, err
	}
	if !s.take(',') {
		return nil, nil, s.fail("a comma and a second string")
	}
	if len(labels) > 0 {
		label, err = s.oneOf(labels...)
	} else {
		label, err = s.words()
	}
	if err != nil {
		return nil, nil, err
	}
	if !s.take(']') {
		return nil, nil, s.fail("a closing bracket after two strings")
	}
	return text, label, nil
}

// openTIAGE reads the file whole: its memory is that of the text and of 120 bytes per turn.
func openTIAGE(src *Source, _ params.Values) (Reader, Fields, error) {
	src.reading.Request = "turns as queries"
	file := src.nextNumber()
	var queries []dialogueQuery
	err := src.scanObject("file of dialogues", func(key []byte, s *jsonScanner) (err error) {
		queries, err = s.tiageDialogue(queries, scopedName(file, key))
		return err
	})
	if err != nil {
		return nil, Fields{}, err
	}
	return openQueries(inOrder(queries))
}

// tiageDialogue appends the turns of a dialogue. Its topics are numbered from 0.
func (s *jsonScanner) tiageDialogue(to []dialogueQuery, session []byte) ([]dialogueQuery, error) {
	segment := 0
	topic := segmentName(session, segment)
	first := true
	err := s.array(func() error {
		text, label, err := s.pair(shiftLabels...)
		if string(label) == "1" && !first {
			segment++
			topic = segmentName(session, segment)
		}
		first = false
		to = append(to, dialogueQuery{text: text, session: session, topic: topic})
		return err
	})
	return to, err
}

// segmentName is the name of a topic of a dialogue.
func segmentName(session []byte, segment int) []byte {
	return strconv.AppendInt(append(append([]byte(nil), session...), '/'), int64(segment), 10)
}
