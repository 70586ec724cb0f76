package prompts

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var aibrixFormat = source.Format{
	Name: "aibrix",
	Summary: "workloads of AIBrix's generator, a JSON object on a line or an array of them: the requests of each " +
		"moment, " +
		"with their prompts, or their lengths alone",
	Example: `{"timestamp": 19, "requests": [{"prompt": "I need to understand data science", "prompt_length": 8, ` +
		`"output_length": 40, "session_id": 0}]}`,
	Carries: "prompts: blocks, lengths, time, session",
	Detection: `a JSON object, or an array of them, with "timestamp" and "requests", an array of objects with ` +
		`"prompt_length" or "Prompt Length"`,
	Options: messageOptions(params.Param{Name: "time-unit", Default: "ms", Choices: source.UnitNames,
		Doc: "unit of timestamp"}),
	JSON:   true,
	Whole:  true,
	Detect: source.CertainIf(looksLikeAIBrix),
	Open:   openAIBrix,
}

// aibrixName is a name of a field in lower case, with low lines: "Prompt Length" is what older versions write.
func aibrixName(key []byte) string { return strings.ReplaceAll(strings.ToLower(string(key)), " ", "_") }

func looksLikeAIBrix(head source.Head) bool {
	s := &source.JSONScanner{Text: head.Bytes}
	s.Take('[')
	timed, lengths := false, false
	object := func(key []byte) error {
		switch name := aibrixName(key); {
		case name == "timestamp":
			timed = true
		case name == "requests" && s.Peek() == '[':
			return s.Array(func() error {
				return s.Object(func(key []byte) error {
					lengths = lengths || aibrixName(key) == "prompt_length"
					return s.Skip()
				})
			})
		}
		return s.Skip()
	}
	for !lengths && s.Object(object) == nil { // it fails where the head ends
		s.Take(',')
	}
	return timed && lengths
}

// openAIBrix reads a workload. If no request has a prompt, they have lengths only.
func openAIBrix(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &aibrixReader{collector: c}
	if err = eachObject(src, "workload of AIBrix", r.readMoment); err != nil {
		return nil, stream.Fields{}, err
	}
	return r.open()
}

type aibrixReader struct {
	*collector
	when     []byte
	requests []aibrixRequest // of the moment
}

type aibrixRequest struct {
	body
	input int32
}

// readMoment reads the requests of a moment, and adds them when its time is known.
func (r *aibrixReader) readMoment(s *source.JSONScanner) error {
	r.when, r.requests = nil, r.requests[:0]
	err := s.Object(func(key []byte) (err error) {
		switch aibrixName(key) {
		case "timestamp":
			r.when, err = timeText(s)
		case "requests":
			return s.Array(func() error {
				request, err := readAIBrix(s)
				r.requests = append(r.requests, request)
				return err
			})
		default:
			err = s.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range r.requests {
		q := &r.requests[i]
		q.when = r.when
		if len(q.messages)+len(q.prompts)+len(q.idLists) == 0 {
			err = r.addLengths(&q.request, q.input)
		} else {
			err = q.each(r.add)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readAIBrix(s *source.JSONScanner) (q aibrixRequest, err error) {
	q.body.reset()
	q.input = -1
	err = s.Object(func(key []byte) error {
		switch aibrixName(key) {
		case "prompt":
			if s.Peek() == '[' {
				return q.readMessages(s)
			}
			return q.readPrompt(s)
		case "prompt_length":
			return readCount(s, &q.input)
		case "output_length":
			return readCount(s, &q.output)
		case "session_id":
			return q.readSession(s)
		}
		return s.Skip()
	})
	return q, err
}
