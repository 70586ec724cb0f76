package queries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var linesWritable = source.Writable{
	Name: "queries", Endings: []string{".jsonl"}, Create: newQueryLineWriter, Holds: stream.Fields{Time: true},
	Kind: Kind{}.Name(), Vectors: true,
}

// lineWriter writes a query per line as JSON, with everything known about it. Numbers of embeddings are the shortest
// decimals that are read as the same float32. Without times the requests are numbered from 0 on, which are then their
// times in seconds.
type lineWriter struct {
	w        io.Writer
	fields   stream.Fields
	line     bytes.Buffer
	requests int64
}

func newQueryLineWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if !are(fields) {
		return nil, errors.New("the requests are not queries: write CSV or Parquet instead")
	}
	return &lineWriter{w: w, fields: fields}, nil
}

func (q *lineWriter) Write(rec *stream.Record) error {
	head := HeadOf(rec)
	if head == nil {
		head = &Head{}
	}
	q.line.Reset()
	q.line.WriteString(`{"time":`)
	if q.fields.Time {
		q.line.Write(source.AppendSeconds(q.line.AvailableBuffer(), rec.Time))
	} else {
		q.line.Write(strconv.AppendInt(q.line.AvailableBuffer(), q.requests, 10))
	}
	q.requests++
	if rec.Text == nil {
		q.line.WriteString(`,"id":`)
		q.line.Write(strconv.AppendUint(q.line.AvailableBuffer(), rec.Num, 10))
	}
	if err := q.writeText("id", rec.Text); err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		text []byte
	}{{"session", head.Session}, {"topic", head.Topic}, {"answer", head.Answer}, {"text", head.Text}} {
		if err := q.writeText(field.name, field.text); err != nil {
			return err
		}
	}
	if head.Vector != nil {
		q.writeVector(head.Vector)
	}
	q.line.WriteString("}\n")
	_, err := q.w.Write(q.line.Bytes())
	return err
}

// writeText writes a field with a text, unless there is none.
func (q *lineWriter) writeText(name string, text []byte) error {
	if text == nil {
		return nil
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%s %q is not UTF-8, so JSON cannot hold it", name, text)
	}
	fmt.Fprintf(&q.line, ",%q:", name)
	encoder := jsonlines.NewEncoder(&q.line)
	if err := encoder.Encode(string(text)); err != nil {
		return err
	}
	q.line.Truncate(q.line.Len() - 1) // remove the line break that the encoder adds
	return nil
}

func (q *lineWriter) writeVector(vector []float32) {
	q.line.WriteString(`,"embedding":`)
	separator := byte('[')
	for _, x := range vector {
		q.line.WriteByte(separator)
		q.line.Write(strconv.AppendFloat(q.line.AvailableBuffer(), float64(x), 'g', -1, 32))
		separator = ','
	}
	q.line.WriteByte(']')
}

func (q *lineWriter) Finish() error { return nil }
func (q *lineWriter) Discard()      {}
