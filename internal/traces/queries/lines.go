package queries

import (
	"bytes"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var linesFormat = source.Format{
	Name: "queries",
	Options: []params.Param{{Name: "time-unit", Default: "s", Choices: []string{"s", "ms", "us", "ns"},
		Doc: "unit of time"}},
	JSON:   true,
	Detect: detectQueries,
	Open:   openQueryLines,
}

func detectQueries(head source.Head, _ string) source.Confidence {
	if beginsLikeQuery(head.Bytes) || areJSONStrings(head.Lines) {
		return source.Certain
	}
	return source.No
}

// beginsLikeQuery reports whether the first line is an object with an id and a time. An embedding may make the line
// longer than the bytes at hand.
func beginsLikeQuery(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	s := source.JSONScanner{Text: line}
	hasID, hasTime := false, false
	_ = s.Object(func(key []byte) error {
		hasID = hasID || string(key) == "id"
		hasTime = hasTime || string(key) == "time"
		return s.Skip()
	}) // a line that is cut off is enough
	return hasID && hasTime
}

// areJSONStrings reports whether all lines are JSON strings, at least one of them with several words.
func areJSONStrings(lines [][]byte) bool {
	words := false
	for _, line := range source.WithoutBlankEnd(lines) {
		s := source.JSONScanner{Text: line}
		text, err := s.String()
		if err != nil || s.End() != nil {
			return false
		}
		words = words || bytes.ContainsAny(text, " \t")
	}
	return words
}

type lineReader struct {
	unit      int64
	textsOnly bool // lines are strings
	scanner   source.JSONScanner
	head      Head
	vector    []float32
	dim       int // of all embeddings, -1 until the first line was read
}

func openQueryLines(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &lineReader{unit: source.TimeUnits[opts.Text("time-unit")], dim: -1}
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r.textsOnly = bytes.HasPrefix(source.TrimBlanks(head.Bytes), []byte(`"`))
	src.Reading.Key, src.Reading.Time = "id", "time in "+opts.Text("time-unit")
	if r.textsOnly {
		src.Reading.Key, src.Reading.Time = "id is the text", ""
	}
	return source.ReadLines(src, r.parse), stream.Fields{Time: !r.textsOnly, Counted: r.textsOnly, Kind: Kind{}}, nil
}

func (r *lineReader) parse(line []byte, rec *stream.Record) (err error) {
	r.scanner = source.JSONScanner{Text: line}
	r.head = Head{}
	*rec = stream.Record{Extra: &r.head}
	if r.textsOnly {
		err = r.readText(rec)
	} else {
		err = r.readObject(rec)
	}
	if err != nil {
		return err
	}
	return r.scanner.End()
}

// readText reads a line that is the text of a query, which is also its id.
func (r *lineReader) readText(rec *stream.Record) (err error) {
	if r.head.Text, err = r.scanner.Words(); err != nil {
		return err
	}
	rec.SetKey(r.head.Text)
	return nil
}

// readObject reads a line that is an object. It skips unknown fields.
func (r *lineReader) readObject(rec *stream.Record) error {
	s := &r.scanner
	hasTime, hasID := false, false
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "time":
			hasTime = true
			rec.Time, err = s.Time(r.unit)
		case "id":
			hasID = true
			err = r.readID(rec)
		case "session":
			r.head.Session, err = s.Label()
		case "topic":
			r.head.Topic, err = s.Label()
		case "answer":
			r.head.Answer, err = s.Label()
		case "text":
			if !s.Null() {
				r.head.Text, err = s.String()
			}
		case "embedding":
			if !s.Null() {
				r.vector, err = s.Floats(r.vector[:0])
				r.head.Vector = r.vector
			}
		default:
			err = s.Skip()
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
func (r *lineReader) readID(rec *stream.Record) error {
	s := &r.scanner
	if s.Peek() == '"' {
		id, err := s.Words()
		rec.SetKey(id)
		return err
	}
	start := s.Pos
	id, err := s.Number()
	if err != nil {
		s.Pos = start
		return s.Fail("an id, which is a text or a whole number")
	}
	if !source.IsDigits(stream.WithoutZeroFraction(bytes.TrimPrefix(id, []byte("-")))) {
		s.Pos = start
		return s.Fail("a whole number or a text in double quotes as the id")
	}
	rec.SetKey(id)
	return nil
}

// checkVector makes sure that all lines have embeddings of the same length, or none has.
func (r *lineReader) checkVector() error {
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
