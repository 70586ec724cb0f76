package pylog

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// Names of what loggers write as JSON: the message, and its time.
var (
	messageNames = []string{"message", "msg", "event"}
	timeNames    = []string{"timestamp", "asctime", "time", "ts", "@timestamp", "datetime"}
)

// Console returns a line of a logger as the console would have it, its time and its message, where the logger writes
// JSON; any other line as it is.
func Console(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return line
	}
	s := &source.JSONScanner{Text: line}
	var when, message []byte
	err := s.Object(func(key []byte) (err error) {
		name := string(key)
		switch {
		case s.Peek() != '"':
			return s.Skip()
		case message == nil && slices.Contains(messageNames, name):
			message, err = s.String()
		case when == nil && slices.Contains(timeNames, name):
			when, err = s.String()
		default:
			err = s.Skip()
		}
		return err
	})
	if err != nil || message == nil {
		return line
	}
	return slices.Concat(when, []byte(" "), message)
}
