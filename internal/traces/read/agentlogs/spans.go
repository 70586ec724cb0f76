package agentlogs

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// spansFormat reads OpenTelemetry's spans of calls of language models, and the events of their messages, as exporters
// write them in JSON (OTLP), or spans by themselves, as the console exporters of its libraries do.
var spansFormat = source.Format{
	Name:    "otel",
	Options: promptlogs.RequestOptions(),
	JSON:    true,
	Whole:   true,
	Detect:  source.CertainIf(looksLikeSpans),
	Open: promptlogs.OpenRequests("spans of OpenTelemetry", "spans or events of OpenTelemetry in JSON, with attributes "+
		"gen_ai.* or llm.*", func(to *promptlogs.Requests) (func(*source.JSONScanner) error, func() error) {
		r := &spanReader{to: to, open: map[string]*chat{}}
		return r.read, r.end
	}),
}

// spanMarks are attributes that only calls of language models have, and the names of events with their messages.
var spanMarks = [][]byte{[]byte(`"gen_ai.`), []byte(`"llm.input_messages.`), []byte(`"llm.token_count.`)}

func looksLikeSpans(head source.Head) bool {
	isOTLP := source.LooksLikeJSON(head, "resourceSpans") || source.LooksLikeJSON(head, "resourceLogs")
	isSpan := source.LooksLikeJSON(head, "attributes", "start_time", "context") ||
		source.LooksLikeJSON(head, "attributes", "startTimeUnixNano") || source.LooksLikeJSON(head, "attributes", "spanId") ||
		source.LooksLikeJSON(head, "attributes", "gen_ai.input.messages")
	return (isOTLP || isSpan) && slices.ContainsFunc(spanMarks, func(mark []byte) bool {
		return bytes.Contains(head.Bytes, mark)
	})
}

// spanReader makes requests of spans and of events.
type spanReader struct {
	to    *promptlogs.Requests
	open  map[string]*chat // messages of events whose answer has not come, by the ids of their spans
	order []string         // of these
}

// span is a span or an event.
type span struct {
	start, observed, id, event string
	failed                     bool
	attributes                 attributes
	body                       json.RawMessage
}

// wrappers are the lists within each other that OTLP puts around spans and events.
var wrappers = []string{"resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "resourceLogs",
	"scopeLogs", "logRecords"}

// read reads a span, an event, or what is around several.
func (r *spanReader) read(s *source.JSONScanner) error {
	one := span{attributes: attributes{}}
	around := false
	err := s.Object(func(key []byte) error {
		if slices.Contains(wrappers, string(key)) && s.Peek() == '[' {
			around = true
			return s.Array(func() error { return r.readWithin(s, string(key)) })
		}
		return one.field(string(key), s)
	})
	if err != nil || around {
		return err
	}
	return r.add(&one)
}

// readWithin reads an element of one of the lists.
func (r *spanReader) readWithin(s *source.JSONScanner, list string) error {
	if list == "spans" || list == "logRecords" {
		one := span{attributes: attributes{}}
		if err := s.Object(func(key []byte) error { return one.field(string(key), s) }); err != nil {
			return err
		}
		return r.add(&one)
	}
	return s.Object(func(key []byte) error {
		at := slices.Index(wrappers, list)
		if next := slices.Index(wrappers, string(key)); next > at && s.Peek() == '[' {
			return s.Array(func() error { return r.readWithin(s, string(key)) })
		}
		return s.Skip()
	})
}

func (p *span) field(key string, s *source.JSONScanner) error {
	switch key {
	case "startTimeUnixNano", "timeUnixNano", "start_time", "startTime", "timestamp":
		return label(s, &p.start)
	case "observedTimeUnixNano":
		return label(s, &p.observed)
	case "spanId":
		return label(s, &p.id)
	case "eventName", "event_name":
		return label(s, &p.event)
	case "attributes":
		return p.attributes.read(s)
	case "events":
		return each(s, func() error {
			return promptlogs.EachField(s, func(key []byte) error {
				if string(key) == "attributes" {
					return p.attributes.read(s)
				}
				return s.Skip()
			})
		})
	case "body":
		value, err := anyValue(s, 0)
		p.body = value
		return err
	case "status":
		return promptlogs.EachField(s, func(key []byte) error {
			var code string
			if string(key) != "code" && string(key) != "status_code" {
				return s.Skip()
			}
			err := label(s, &code)
			p.failed = code == "2" || code == "STATUS_CODE_ERROR" || code == "ERROR"
			return err
		})
	}
	return s.Skip()
}

// label reads a text or a number; nothing for any other value.
func label(s *source.JSONScanner, to *string) error {
	if c := s.Peek(); c != '"' && c != '-' && !('0' <= c && c <= '9') {
		return s.Skip()
	}
	text, err := s.Label()
	*to = string(text)
	return err
}

func each(s *source.JSONScanner, read func() error) error {
	if s.Peek() != '[' {
		return s.Skip()
	}
	return s.Array(read)
}

// request is one of OpenAI's API, with its answer.
type request struct {
	Time     string                     `json:"time,omitempty"`
	Model    json.RawMessage            `json:"model,omitempty"`
	Session  json.RawMessage            `json:"session_id,omitempty"`
	Messages []*message                 `json:"messages,omitempty"`
	Tools    json.RawMessage            `json:"tools,omitempty"`
	Choices  []choice                   `json:"choices,omitempty"`
	Usage    map[string]json.RawMessage `json:"usage,omitempty"`
	Error    string                     `json:"error,omitempty"`
}

type choice struct {
	Message *message `json:"message"`
}

// add adds the request of a span, or what an event says of one.
func (r *spanReader) add(p *span) error {
	a := p.attributes
	if p.event == "" {
		p.event = a.text("event.name")
	}
	if p.start == "" {
		p.start = p.observed
	}
	if role, ok := eventRoles[p.event]; ok {
		return r.addEvent(p, role)
	}
	if otherOperations[a.text("gen_ai.operation.name")] || a.text("openinference.span.kind") != "" &&
		a.text("openinference.span.kind") != "LLM" {
		r.to.LeaveOut("of other calls")
		return nil
	}
	q := request{Time: p.start, Model: a.first("gen_ai.request.model", "llm.model_name", "gen_ai.response.model"),
		Session: a.first("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id"),
		Usage:   a.usage(), Tools: a.tools(), Messages: a.input()}
	if len(q.Messages)+len(q.Usage) == 0 {
		r.to.LeaveOut("of other calls")
		return nil
	}
	if p.failed {
		q.Error = "failed"
	}
	if out := a.output(); len(out) > 0 {
		q.Choices = []choice{{out[0]}}
	}
	return r.send(&q)
}

// otherOperations are spans around calls of models, and calls of others.
var otherOperations = map[string]bool{"invoke_agent": true, "create_agent": true, "execute_tool": true,
	"embeddings": true, "invoke_workflow": true, "retrieval": true}

func (r *spanReader) send(q *request) error {
	text, err := jsonlines.Marshal(q)
	if err != nil {
		return err
	}
	return r.to.Add(text)
}

// eventRoles are the roles of the messages that events have; "" is the answer.
var eventRoles = map[string]string{"gen_ai.system.message": "system", "gen_ai.user.message": "user",
	"gen_ai.assistant.message": "assistant", "gen_ai.tool.message": "tool", "gen_ai.choice": ""}

// chat is a request whose messages come one after another.
type chat struct{ request }

// addEvent adds a message to the request of its span. The answer comes last.
func (r *spanReader) addEvent(p *span, role string) error {
	q := r.open[p.id]
	if q == nil {
		q = &chat{request{Time: p.start}}
		r.open[p.id] = q
		r.order = append(r.order, p.id)
	}
	var body struct {
		message
		ID      string
		Message *message
	}
	if len(p.body) > 0 && json.Unmarshal(p.body, &body) != nil {
		r.to.LeaveOut("events with another body than an object")
		return nil
	}
	if role == "" {
		if body.Message != nil {
			q.Choices = []choice{{body.Message}}
		}
		delete(r.open, p.id)
		r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == p.id })
		return r.send(&q.request)
	}
	m := body.message
	m.Role, m.CallID = role, body.ID
	q.Messages = append(q.Messages, &m)
	return nil
}

// end adds the requests that have no answer.
func (r *spanReader) end() error {
	for _, id := range r.order {
		if err := r.send(&r.open[id].request); err != nil {
			return err
		}
	}
	return nil
}

// attributes are those of a span, as JSON.
type attributes map[string]json.RawMessage

// read reads attributes: an object, or as in OTLP a list of keys and values. The first of a name counts.
func (a attributes) read(s *source.JSONScanner) error {
	set := func(key string, value []byte) {
		if _, known := a[key]; !known && value != nil {
			a[key] = value
		}
	}
	if s.Peek() == '{' {
		return s.Object(func(key []byte) error {
			name := string(key)
			value, err := raw(s)
			set(name, value)
			return err
		})
	}
	return each(s, func() error {
		var name string
		var value []byte
		err := promptlogs.EachField(s, func(key []byte) (err error) {
			switch string(key) {
			case "key":
				return label(s, &name)
			case "value":
				value, err = anyValue(s, 0)
				return err
			}
			return s.Skip()
		})
		set(name, value)
		return err
	})
}

// raw returns a value as it is written.
func raw(s *source.JSONScanner) ([]byte, error) {
	s.Peek()
	from := s.Pos
	err := s.Skip()
	return bytes.Clone(s.Text[from:s.Pos]), err
}

// mostNested is how many values of OTLP may be within each other.
const mostNested = 20

// anyValue reads a value of OTLP, {"stringValue": "x"}, and returns it as JSON; nil for nothing.
func anyValue(s *source.JSONScanner, depth int) (value []byte, err error) {
	if s.Peek() != '{' || depth > mostNested {
		return raw(s)
	}
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "intValue", "int_value":
			var text string
			err = label(s, &text)
			if source.IsNumber([]byte(text)) {
				value = []byte(text)
			}
		case "arrayValue", "array_value", "kvlistValue", "kvlist_value":
			value, err = values(s, string(key)[0] == 'k', depth)
		default:
			value, err = raw(s)
		}
		return err
	})
	return value, err
}

// values reads the values of a list or of an object.
func values(s *source.JSONScanner, object bool, depth int) (value []byte, err error) {
	open, closing := "[", "]"
	if object {
		open, closing = "{", "}"
	}
	b := bytes.NewBufferString(open)
	err = promptlogs.EachField(s, func(key []byte) error {
		if string(key) != "values" {
			return s.Skip()
		}
		return each(s, func() (err error) {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			if !object {
				one, err := anyValue(s, depth+1)
				b.Write(orNull(one))
				return err
			}
			name, one := []byte(`""`), []byte(nil)
			err = promptlogs.EachField(s, func(key []byte) (err error) {
				switch string(key) {
				case "key":
					name, err = raw(s)
				case "value":
					one, err = anyValue(s, depth+1)
				default:
					err = s.Skip()
				}
				return err
			})
			b.Write(name)
			b.WriteByte(':')
			b.Write(orNull(one))
			return err
		})
	})
	b.WriteString(closing)
	return b.Bytes(), err
}

func orNull(value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	return value
}

// text returns an attribute that is a text; "" for any other.
func (a attributes) text(name string) (text string) {
	_ = json.Unmarshal(a[name], &text) // what is no text is ""
	return text
}

// first returns the first of some attributes that there is.
func (a attributes) first(names ...string) json.RawMessage {
	for _, name := range names {
		if value := a[name]; len(value) > 0 && string(value) != "null" && string(value) != `""` {
			return value
		}
	}
	return nil
}

// usage returns what the server counted, under the names of attributes.
func (a attributes) usage() map[string]json.RawMessage {
	usage := map[string]json.RawMessage{}
	for name, value := range a {
		if prompts.CountsTokens([]byte(name)) {
			usage[name] = value
		}
	}
	output := a.first("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
	if n := bytes.Trim(output, `"`); source.IsNumber(n) {
		usage["completion_tokens"] = n
	}
	return usage
}
