// Package jsonlines writes JSON lines: one JSON value per line, as everything that prints --format json does.
// Characters such as < and & are not escaped, since the output goes to programs and terminals, not into HTML.
package jsonlines

import (
	"encoding/json"
	"io"
)

// Write writes each row on a line of its own.
func Write[T any](w io.Writer, rows []T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range rows {
		if err := e.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
