package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// queryLineWriter writes a query per line as JSON, with what is known of it. Numbers of embeddings are the shortest
// decimals that are read as the same float32. Without times the requests are numbered from 0 on, which are then their
// times in seconds.
type queryLineWriter struct {
	w        io.Writer
	fields   Fields
	line     bytes.Buffer
	requests int64
}

func newQueryLineWriter(_ context.Context, w io.Writer, _ string, fields Fields) (recordWriter, error) {
	if !fields.Queries {
		return nil, errors.New("the requests are no queries: write CSV or Parquet instead")
	}
	return &queryLineWriter{w: w, fields: fields}, nil
}

func (q *queryLineWriter) write(rec *Record) error {
	head := rec.Query
	q.line.Reset()
	q.line.WriteString(`{"time":`)
	if q.fields.Time {
		q.line.Write(appendSeconds(q.line.AvailableBuffer(), rec.Time))
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
	for _, name := range []string{"session", "topic", "answer", "text"} {
		if err := q.writeText(name, head.name(name)); err != nil {
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

// writeText writes a field whose value is a text, unless there is none.
func (q *queryLineWriter) writeText(name string, text []byte) error {
	if text == nil {
		return nil
	}
	if !utf8.Valid(text) {
		return fmt.Errorf("%s %q: it is not UTF-8, which JSON cannot hold", name, text)
	}
	fmt.Fprintf(&q.line, ",%q:", name)
	encoder := json.NewEncoder(&q.line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(string(text)); err != nil {
		return err
	}
	q.line.Truncate(q.line.Len() - 1) // the line break that the encoder adds
	return nil
}

func (q *queryLineWriter) writeVector(vector []float32) {
	q.line.WriteString(`,"embedding":`)
	separator := byte('[')
	for _, x := range vector {
		q.line.WriteByte(separator)
		q.line.Write(strconv.AppendFloat(q.line.AvailableBuffer(), float64(x), 'g', -1, 32))
		separator = ','
	}
	q.line.WriteByte(']')
}

func (q *queryLineWriter) finish() error { return nil }
func (q *queryLineWriter) discard()      {}
