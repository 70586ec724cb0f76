package traces

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/cachesim/cachesim/internal/params"
)

var queriesFormat = Format{
	Name:    "queries",
	Summary: "queries as JSON lines: objects with an id and a time, or texts alone",
	Example: `{"time":0,"id":"q17","session":"s1","topic":"film","answer":"dune","text":"A film with sandworms?","embedding":[0.6,-0.8]}`,
	Carries: "queries: time, id, and session, topic, answer, text, embedding where they are known",
	Detection: `a first line that is a JSON object with "id" and "time" outside of what is within it; or lines that are JSON strings, one of them of ` +
		`several words`,
	Options: []params.Param{{Name: "time-unit", Default: "s", Choices: []string{"s", "ms", "us", "ns"},
		Doc: "unit of time"}},
	JSON:   true,
	Detect: detectQueries,
	Open:   openQueryLines,
}

func detectQueries(head Head, _ string) Confidence {
	if beginsLikeQuery(head.Bytes) || areJSONStrings(head.Lines) {
		return Certain
	}
	return No
}

// beginsLikeQuery says whether the first line, which an embedding may make longer than what is known of it, is an
// object with an id and a time.
func beginsLikeQuery(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	s := jsonScanner{text: line}
	hasID, hasTime := false, false
	_ = s.object(func(key []byte) error {
		hasID = hasID || string(key) == "id"
		hasTime = hasTime || string(key) == "time"
		return s.skip()
	}) // a line that is cut off says enough
	return hasID && hasTime
}

// areJSONStrings says whether all lines are JSON strings, at least one of them of several words.
func areJSONStrings(lines [][]byte) bool {
	words := false
	for _, line := range withoutBlankEnd(lines) {
		s := jsonScanner{text: line}
		text, err := s.string()
		if err != nil || s.end() != nil {
			return false
		}
		words = words || bytes.ContainsAny(text, " \t")
	}
	return words
}

// queryLineReader reads a query per line.
type queryLineReader struct {
	src       *Source
	unit      int64
	textsOnly bool // lines are strings
	scanner   jsonScanner
	head      QueryHead
	vector    []float32
	dim       int // of all embeddings, -1 until the first line was read
}

func openQueryLines(src *Source, opts params.Values) (Reader, Fields, error) {
	r := &queryLineReader{src: src, unit: timeUnits[opts.Text("time-unit")], dim: -1}
	head, err := src.head()
	if err != nil {
		return nil, Fields{}, err
	}
	r.textsOnly = bytes.HasPrefix(trimBlanks(head.Bytes), []byte(`"`))
	src.reading.Key, src.reading.Time = "id", "time in "+opts.Text("time-unit")
	if r.textsOnly {
		src.reading.Key, src.reading.Time = "id is the text", ""
	}
	return r, Fields{Time: !r.textsOnly, Counted: r.textsOnly, Queries: true}, nil
}

// Read implements Reader.
func (r *queryLineReader) Read(rec *Record) error {
	line, err := r.src.Line()
	if err != nil {
		return err
	}
	if len(trimBlanks(line)) == 0 {
		return r.src.onlyBlankLines()
	}
	r.scanner = jsonScanner{text: line}
	r.head = QueryHead{}
	*rec = Record{Query: &r.head}
	if r.textsOnly {
		err = r.readText(rec)
	} else {
		err = r.readObject(rec)
	}
	if err == nil {
		err = r.scanner.end()
	}
	if err != nil {
		return r.src.lineSyntaxError(err)
	}
	return nil
}

// readText reads a line that is the text of a query, which is its id as well.
func (r *queryLineReader) readText(rec *Record) (err error) {
	if r.head.Text, err = r.scanner.words(); err != nil {
		return err
	}
	rec.setKey(r.head.Text)
	return nil
}

// readObject reads a line that is an object. What it does not know it skips.
func (r *queryLineReader) readObject(rec *Record) error {
	s := &r.scanner
	hasTime, hasID := false, false
	err := s.object(func(key []byte) (err error) {
		switch string(key) {
		case "time":
			hasTime = true
			rec.Time, err = s.time(r.unit)
		case "id":
			hasID = true
			err = r.readID(rec)
		case "session":
			r.head.Session, err = s.label()
		case "topic":
			r.head.Topic, err = s.label()
		case "answer":
			r.head.Answer, err = s.label()
		case "text":
			if !s.null() {
				r.head.Text, err = s.string()
			}
		case "embedding":
			if !s.null() {
				r.vector, err = s.floats(r.vector[:0])
				r.head.Vector = r.vector
			}
		default:
			err = s.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !hasID || !hasTime:
		return fmt.Errorf("want an id and a time in every line")
	}
	return r.checkVector()
}

// readID reads a text or a whole number.
func (r *queryLineReader) readID(rec *Record) error {
	s := &r.scanner
	if s.peek() == '"' {
		id, err := s.words()
		rec.setKey(id)
		return err
	}
	start := s.pos
	id, err := s.number()
	if err != nil {
		s.pos = start
		return s.fail("an id, which is a text or a whole number")
	}
	if !isDigits(withoutZeroFraction(bytes.TrimPrefix(id, []byte("-")))) {
		s.pos = start
		return s.fail("a whole number or a text in double quotes as the id")
	}
	rec.setKey(id)
	return nil
}

// checkVector makes sure that all lines have embeddings of the same length, or none has.
func (r *queryLineReader) checkVector() error {
	n := len(r.head.Vector)
	if r.dim < 0 {
		r.dim = n
	}
	if n != r.dim {
		return lengthError(n, r.dim)
	}
	if n == 0 {
		return nil
	}
	return checkVector(r.head.Vector)
}

// label reads what names a session, a topic or an answer: a text or a number; null is none.
func (s *jsonScanner) label() ([]byte, error) {
	switch s.peek() {
	case 'n':
		return nil, s.literal()
	case '"':
		return s.string()
	}
	name, err := s.number()
	if err != nil {
		err = s.fail("a text, a number or null")
	}
	return name, err
}

// null consumes null if it comes next.
func (s *jsonScanner) null() bool { return s.peek() == 'n' && s.literal() == nil }

// floats appends an array of at least one finite number.
func (s *jsonScanner) floats(to []float32) ([]float32, error) {
	s.peek()
	start := s.pos
	err := s.array(func() error {
		s.peek()
		start := s.pos
		text, err := s.number()
		if err == nil {
			var x float64
			if x, err = strconv.ParseFloat(string(text), 32); err == nil {
				to = append(to, float32(x))
				return nil
			}
		}
		s.pos = start
		return s.fail("a finite number, within the range of float32")
	})
	if err == nil && len(to) == 0 {
		s.pos = start
		err = s.fail("an embedding of at least one number")
	}
	return to, err
}
