// Package jsonlines writes JSON, as everything that prints or stores it does; rows are one JSON value per line.
// Characters such as < and & are not escaped, since the output goes to programs and terminals, not into HTML. It reads
// JSON of users, with errors in their terms. Seal appends a digest to what the program stores on disk, so that it can
// read it again safely: any later change of the content makes the digest wrong.
package jsonlines

import (
	"bytes"
	"encoding/json"
	"io"
)

// NewEncoder returns an encoder that writes each value on a line of its own.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// Write writes each row on a line of its own.
func Write[T any](w io.Writer, rows []T) error {
	e := NewEncoder(w)
	for i := range rows {
		if err := e.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// Marshal returns a value in JSON, without a line break.
func Marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	err := NewEncoder(&text).Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
