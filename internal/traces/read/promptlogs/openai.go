package promptlogs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var openaiFormat = source.Format{
	Name:    "openai",
	Options: messageOptions(source.TimeUnitOption(), tenantParam()),
	JSON:    true,
	Whole:   true,
	Detect:  detectOpenAI,
	Open: openObjects("list of requests", "requests of OpenAI's or Anthropic's API in JSON, an object on a line or in an "+
		"array, with messages, prompt or input", collectOpenAI),
}

// envelopes are fields of log entries whose values are requests or answers.
var envelopes = map[string]bool{"body": true, "request": true, "response": true, "request_body": true,
	"response_body": true}

func detectOpenAI(head source.Head, name string) source.Confidence {
	fields := fieldsOf(head, envelopes)
	switch {
	case detectLiteLLM(head, name) != source.No:
		return source.No
	case fields["messages"] == '[' && (fields["model"] != 0 || fields["role"] != 0):
		return source.Certain
	case fields["messages"]+fields["prompt"] == 0 && (fields["input"] == '"' || fields["input"] == '['):
		return detectResponses(fields)
	case fields["prompt"] != '"' && fields["prompt"] != '[' || fields["message_tree_id"] != 0:
		return source.No
	case fields["model"] != 0 || fields["max_tokens"] != 0 || fields["choices"] != 0:
		return source.Certain
	}
	return source.Likely
}

// detectResponses recognises requests to the Responses API, which have an input; so have sessions and embeddings.
func detectResponses(fields map[string]byte) source.Confidence {
	if fields["model"] == 0 || fields["session_id"] != 0 && fields["output"] == '"' {
		return source.No
	}
	for _, name := range []string{"instructions", "previous_response_id", "max_output_tokens", "custom_id", "tools",
		"store"} {
		if fields[name] != 0 {
			return source.Certain
		}
	}
	if fields["output"] == '[' {
		return source.Certain
	}
	return source.Likely
}

// fieldsOf returns the fields of the first object of a file with the first byte of each value: its own, those of the
// objects in envelopes, and in messages those of the first message. The head may end anywhere.
func fieldsOf(head source.Head, envelopes map[string]bool) map[string]byte {
	s := &source.JSONScanner{Text: head.Bytes}
	fields := map[string]byte{}
	var walk func() error
	walk = func() error {
		return s.Object(func(key []byte) error {
			name, begins := string(key), s.Peek()
			if fields[name] == 0 {
				fields[name] = begins
			}
			switch {
			case begins == '{' && envelopes[name]:
				return walk()
			case begins == '[' && name == "messages":
				first := true
				return s.Array(func() error {
					if first && s.Peek() == '{' {
						first = false
						return walk()
					}
					return s.Skip()
				})
			}
			return s.Skip()
		})
	}
	s.Take('[')
	_ = walk() // it fails where the head ends
	return fields
}

// openObjects returns what opens a file of JSON objects: collect returns what reads one, and what is called after the
// last, or nil. what names the file in errors, and expected says what it should hold.
func openObjects(what, expected string, collect func(*collector) (read func(*source.JSONScanner) error,
	end func() error)) Open {
	return func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		c, err := newCollector(src, opts, expected)
		if err != nil {
			return nil, stream.Fields{}, err
		}
		read, end := collect(c)
		if err = c.eachObject(what, read); err == nil && end != nil {
			err = placed(src.Place, end())
		}
		if err != nil {
			return nil, stream.Fields{}, err
		}
		return c.open()
	}
}

// placed says where an error is; errors about memory say that themselves.
func placed(place string, err error) error {
	if full := (*memory.Error)(nil); err == nil || errors.As(err, &full) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

func collectOpenAI(c *collector) (read func(*source.JSONScanner) error, end func() error) {
	b, earlier := &body{}, &responses{}
	return func(s *source.JSONScanner) error {
		b.reset()
		if err := b.readEntry(s); err != nil {
			return err
		}
		if !b.hasInput && b.previous == "" && len(b.ids) == 0 && b.leftOut == "" {
			return errNoInput
		}
		return c.addBody(earlier, b)
	}, nil
}

var errNoInput = errors.New("neither messages, prompt nor input (those of a batch are in its input file, not in its " +
	"output)")

// readEntry reads a request, or an entry of a log with a request and perhaps its answer.
func (b *body) readEntry(s *source.JSONScanner) error {
	return s.Object(func(key []byte) (err error) {
		if envelopes[string(key)] && b.enters(s) {
			was := b.answering
			b.answering = was || strings.HasPrefix(string(key), "response")
			defer func() {
				b.answering = was
				b.leave()
			}()
			return b.readEntry(s)
		}
		switch string(key) {
		case "timestamp", "time", "ts", "created_at", "start_time", "startTime", "request_time":
			var when []byte
			if when, err = timeText(s); when != nil && b.when == nil {
				b.when = when
			}
			return err
		case "session_id", "conversation_id":
			return b.readSession(s)
		case "status_code":
			status, err := s.Label()
			if n, ok := source.ParseWhole(status); ok && n >= 400 {
				b.leftOut = "failed"
			}
			return err
		case "completion", "response":
			return b.readAnswer(s)
		case "output":
			if s.Peek() != '[' {
				return b.readAnswer(s)
			}
		}
		return b.field(key, s)
	})
}

// readSession reads the name of a conversation; null is none.
func (b *body) readSession(s *source.JSONScanner) (err error) {
	if s.Peek() != '"' && (s.Peek() < '0' || s.Peek() > '9') {
		return s.Skip()
	}
	b.hasSession = true
	b.session, err = s.SessionKey()
	return err
}
