package promptlogs

import (
	"bytes"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
)

var litellmFormat = source.Format{
	Name:    "litellm",
	Options: messageOptions(source.TimeUnitOption(), tenantParam()),
	JSON:    true,
	Whole:   true,
	Detect:  detectLiteLLM,
	Open: openObjects("log of LiteLLM", "calls of LiteLLM in JSON, an object on a line or in an array, with startTime, "+
		"and with messages or prompt_tokens", collectLiteLLM),
}

// litellmEnvelopes are where integrations put the payload.
var litellmEnvelopes = map[string]bool{"kwargs": true, "standard_logging_object": true}

func detectLiteLLM(head source.Head, _ string) source.Confidence {
	fields := fieldsOf(head, litellmEnvelopes)
	if fields["startTime"] != 0 && (fields["call_type"] != 0 || fields["spend"] != 0) {
		return source.Certain
	}
	return source.No
}

// litellmEntry is one call of a log.
type litellmEntry struct {
	body
	input  int32 // tokens of the prompt; -1 if unknown
	served bool  // from the proxy's own cache
}

// collectLiteLLM reads the calls of a log. If none has a text, the prompts have lengths only.
func collectLiteLLM(c *collector) (read func(*source.JSONScanner) error, end func() error) {
	e, earlier := &litellmEntry{}, &responses{}
	return func(s *source.JSONScanner) error {
		e.body.reset()
		e.input, e.served = -1, false
		if err := e.read(s); err != nil {
			return err
		}
		if e.served && e.leftOut == "" {
			e.leftOut = "answered by LiteLLM's cache"
		}
		if e.leftOut == "" && e.previous == "" && len(e.messages)+len(e.prompts)+len(e.idLists)+len(e.ids) == 0 {
			return c.addLengths(&e.request, e.input)
		}
		return c.addBody(earlier, &e.body)
	}, nil
}

func (e *litellmEntry) read(s *source.JSONScanner) error {
	return s.Object(func(key []byte) (err error) {
		if litellmEnvelopes[string(key)] && e.enters(s) {
			defer e.leave()
			return e.read(s)
		}
		switch string(key) {
		case "startTime":
			e.when, err = timeText(s)
			return err
		case "session_id", "trace_id":
			if !e.hasSession {
				return e.readSession(s)
			}
		case "prompt_tokens":
			if err = readCount(s, &e.input); e.input >= 0 {
				e.usage.Set("prompt_tokens", int64(e.input))
			}
			return err
		case "completion_tokens":
			return readCount(s, &e.output)
		case "call_type", "status":
			text, err := optional(s)
			if name := string(text); string(key) == "call_type" && name != "" && !generates(name) {
				e.leftOut = otherCalls
			} else if name == "failure" {
				e.leftOut = "failed"
			}
			return err
		case "cache_hit":
			return e.readCacheHit(s)
		case "model":
			return e.readModel(s)
		case "messages", "proxy_server_request":
			return e.readInput(s)
		case "response":
			return e.readResponse(s)
		case "model_parameters":
			return eachField(s, func(key []byte) (err error) {
				if string(key) == "tools" || string(key) == "functions" {
					e.tools, err = rawValue(s)
					return err
				}
				return s.Skip()
			})
		}
		return ReadUsage(&e.usage, key, s)
	})
}

// generates reports whether calls of a type generate a text from a prompt.
func generates(callType string) bool {
	for _, part := range []string{"completion", "message", "response", "generate"} {
		if strings.Contains(callType, part) {
			return true
		}
	}
	return false
}

// readCacheHit reads a truth value, which spend logs have as a text.
func (e *litellmEntry) readCacheHit(s *source.JSONScanner) error {
	if s.Peek() == '"' {
		text, err := s.String()
		e.served = bytes.EqualFold(text, []byte("true"))
		return err
	}
	e.served = s.Peek() == 't'
	return s.Skip()
}

// readInput reads messages, or a request with messages or a prompt: JSON, or a text that is JSON, as exports of the
// database have. What comes first counts.
func (e *litellmEntry) readInput(s *source.JSONScanner) error {
	if len(e.messages)+len(e.prompts)+len(e.idLists) > 0 {
		return s.Skip()
	}
	if s.Peek() != '"' {
		return e.readInputJSON(s)
	}
	text, err := s.String()
	if err != nil {
		return err
	}
	inner := &source.JSONScanner{Text: text}
	if c := inner.Peek(); c == '[' || c == '{' {
		if e.readInputJSON(inner) == nil && inner.End() == nil {
			return nil
		}
		e.messages, e.prompts, e.idLists = e.messages[:0], e.prompts[:0], e.idLists[:0]
	}
	if len(text) > 0 {
		e.prompts = append(e.prompts, text)
	}
	return nil
}

func (e *litellmEntry) readInputJSON(s *source.JSONScanner) error {
	switch s.Peek() {
	case '[':
		return e.readMessages(s)
	case '{':
		return s.Object(func(key []byte) error {
			switch string(key) {
			case "messages", "prompt", "tools", "functions", "input", "instructions", "system", "previous_response_id",
				"chat_template_kwargs", "cache_salt", "max_tokens", "max_completion_tokens":
				return e.field(key, s)
			}
			return s.Skip()
		})
	}
	return s.Skip()
}

// readResponse reads the answer: its text, if its tokens are not counted elsewhere.
func (e *litellmEntry) readResponse(s *source.JSONScanner) error {
	if s.Peek() == '"' {
		return e.readAnswer(s)
	}
	return eachField(s, func(key []byte) error {
		switch string(key) {
		case "choices", "output", "content", "id":
			return e.field(key, s)
		}
		return ReadUsage(&e.usage, key, s)
	})
}
