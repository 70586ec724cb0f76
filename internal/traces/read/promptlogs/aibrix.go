package promptlogs

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var aibrixFormat = source.Format{
	Name: "aibrix",
	Options: messageOptions(params.Param{Name: "time-unit", Default: "ms", Choices: source.UnitNames,
		Doc: "unit of timestamp"},
		params.Param{Name: "interval", Default: 1000, Min: 1, Max: 1e9, Doc: "milliseconds from one moment to the next, in " +
			"the oldest form, which states no times"}),
	JSON:   true,
	Whole:  true,
	Detect: source.CertainIf(looksLikeAIBrix),
	Open:   openAIBrix,
}

// aibrixName is a name of a field in lower case, with low lines: "Prompt Length" is what older versions write.
func aibrixName(key []byte) string { return strings.ReplaceAll(strings.ToLower(string(key)), " ", "_") }

func looksLikeAIBrix(head source.Head) bool {
	timed, lengths := false, false
	eachInHead(head, &lengths, func(s *source.JSONScanner, key []byte) error {
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
	})
	return timed && lengths || oldAIBrix.Match(head.Bytes)
}

// oldAIBrix recognises arrays of moments, which are arrays of requests: a prompt, its length, that of the answer and
// null.
var oldAIBrix = regexp.MustCompile(`^\s*\[\s*(\[\s*\]\s*,\s*)*\[\s*\[\s*"([^"\\]|\\.)*"\s*,\s*\d+\s*,\s*\d+[\s,\]]`)

// openAIBrix reads a workload. If no request has a prompt, they have lengths only.
func openAIBrix(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts, "moments in JSON, an object on a line or in an array, with "+
		"timestamp and requests")
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &aibrixReader{collector: c, interval: int64(opts.Int("interval")) * int64(time.Millisecond)}
	if err = c.eachObject("workload of AIBrix", r.readMoment); err != nil {
		return nil, stream.Fields{}, err
	}
	interval := opts.Int("interval")
	if !r.old && interval != 1000 {
		return nil, stream.Fields{}, src.Errorf("the option interval=%d has no effect: moments have times; remove it",
			interval)
	}
	reader, fields, err := r.open()
	if err == nil && r.old {
		src.Reading.Time = fmt.Sprintf("a moment every %d ms", interval)
	}
	return reader, fields, err
}

type aibrixReader struct {
	*collector
	requests []aibrixRequest // of the moment
	moments  int64           // that were read
	interval int64           // from one to the next, in the oldest form
	old      bool            // the file has the oldest form
}

type aibrixRequest struct {
	body
	input int32
}

// readMoment reads the requests of a moment, and adds them when its time is known.
func (r *aibrixReader) readMoment(s *source.JSONScanner) (err error) {
	r.requests = r.requests[:0]
	at := r.moments * r.interval
	r.moments++
	if s.Peek() == '[' {
		r.old = true
		err = s.Array(func() error { return r.readOld(s, at) })
	} else {
		err = r.readNew(s)
	}
	if err != nil {
		return err
	}
	for i := range r.requests {
		q := &r.requests[i]
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

// readNew reads an object with a time and requests.
func (r *aibrixReader) readNew(s *source.JSONScanner) error {
	var when []byte
	err := s.Object(func(key []byte) (err error) {
		switch aibrixName(key) {
		case "timestamp":
			when, err = timeText(s)
			return err
		case "requests":
			return s.Array(func() error {
				request, err := readAIBrix(s)
				r.requests = append(r.requests, request)
				return err
			})
		}
		return s.Skip()
	})
	for i := range r.requests {
		r.requests[i].when = when
	}
	return err
}

// readOld reads a request of the oldest form: an array of a prompt, its length, that of the answer, and null.
func (r *aibrixReader) readOld(s *source.JSONScanner, at int64) error {
	var q aibrixRequest
	q.body.reset()
	q.input, q.at, q.timed = -1, at, true
	place := 0
	err := s.Array(func() error {
		switch place++; place {
		case 1:
			return q.readPrompt(s)
		case 2:
			return readCount(s, &q.input)
		case 3:
			return readCount(s, &q.output)
		}
		return s.Skip()
	})
	r.requests = append(r.requests, q)
	return err
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
		if ok, err := q.served.read(string(key), s); ok {
			return err
		}
		return s.Skip()
	})
	return q, err
}
