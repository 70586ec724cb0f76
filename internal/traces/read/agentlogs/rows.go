package agentlogs

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// rowFormat is a format of JSON lines, each a request with the hashes of its blocks, or another event.
type rowFormat struct {
	// field reads a field of a line, and what is within it.
	field       func(s *source.JSONScanner, key []byte, p *promptlogs.BlockPrompt, row *row) error
	event       string // the type of event that is a request
	notRequests string // why other lines are left out
	size        string // what the format calls the tokens in a block
	expected    string // what a file should hold
	time        string // what the time is
}

// row is what a line says beside its prompt.
type row struct {
	event       string
	session     uint64
	hasSession  bool
	at          int64 // -1: unknown
	blockTokens int
}

// rowReader reads the lines of a file.
type rowReader struct {
	*rowFormat
	src         *source.Source
	opts        params.Values
	scanner     source.JSONScanner
	blockTokens int
	sessions    bool // the first request belongs to one
}

func (f *rowFormat) open(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &rowReader{rowFormat: f, src: src, opts: opts}
	lines, err := promptlogs.FirstLines(src)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	for _, text := range lines {
		var p promptlogs.BlockPrompt
		if one, err := r.parse(text, &p); err == nil && r.leftOut(&one, &p) == "" {
			r.blockTokens, r.sessions = one.blockTokens, one.hasSession
			break
		}
	}
	if r.blockTokens == 0 {
		return nil, stream.Fields{}, src.Errorf("want %s in the first lines", f.expected)
	}
	src.Reading.Layout, src.Reading.Time = "sorted by time", f.time
	return promptlogs.BlockPrompts(r.next).OpenInOrder(src, prompts.Kind{BlockTokens: r.blockTokens, Sessions: r.sessions})
}

// leftOut says why a line is no request that can be replayed; "" if it is one.
func (r *rowReader) leftOut(one *row, p *promptlogs.BlockPrompt) string {
	switch {
	case one.event != r.event:
		return r.notRequests
	case !p.IsWhole() || one.blockTokens == 0:
		return "without a length, hashes or " + r.size
	case one.at < 0:
		return "without a time"
	}
	return ""
}

func (r *rowReader) next(p *promptlogs.BlockPrompt) error {
	for {
		text, err := r.src.Line()
		if err != nil {
			return err
		}
		if len(source.TrimBlanks(text)) == 0 {
			continue
		}
		one, err := r.parse(text, p)
		if err != nil {
			return r.src.LineSyntaxError(err)
		}
		if why := r.leftOut(&one, p); why != "" {
			r.src.Reading.LeaveOut(why)
			continue
		}
		if err = r.check(&one); err == nil {
			p.Session = one.session
			err = p.End(one.at, r.blockTokens, 0, r.src, r.opts)
		}
		if err != nil {
			return r.src.LineErrorf("%w", err)
		}
		return nil
	}
}

// check refuses a request that differs from the first one.
func (r *rowReader) check(one *row) error {
	switch {
	case one.blockTokens != r.blockTokens:
		return fmt.Errorf("%s: %d tokens, and %d in the first request", r.size, one.blockTokens, r.blockTokens)
	case one.hasSession && !r.sessions:
		return errors.New("an agent_context, which the first request lacks")
	case !one.hasSession && r.sessions:
		return errors.New("no agent_context with a session_id, which the first request has")
	}
	return nil
}

// parse reads a line.
func (r *rowReader) parse(text []byte, p *promptlogs.BlockPrompt) (one row, err error) {
	s := &r.scanner
	s.Reset(text)
	p.Begin()
	one.at = -1
	err = s.Object(func(key []byte) error { return r.field(s, key, p, &one) })
	if err == nil {
		err = s.End()
	}
	return one, err
}

func (one *row) readTime(s *source.JSONScanner, unit int64) (err error) {
	if s.Null() {
		return nil
	}
	one.at, err = s.Time(unit)
	return err
}

// dynamoFormat reads what Dynamo's frontend writes with DYN_REQUEST_TRACE=1: requests when they end, and other events.
var dynamoFormat = source.Format{
	Name:    "dynamo",
	Options: []params.Param{promptlogs.ShareParam()},
	JSON:    true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "schema", "event_type", "request") &&
			bytes.Contains(head.Bytes, []byte(`"dynamo.request.trace.v`))
	}),
	Open: (&rowFormat{field: dynamoField, event: "request_end",
		notRequests: "of other events than the end of a request", size: "trace_block_size",
		expected: "a request_end with a replay, which has input_sequence_hashes and a trace_block_size,",
		time:     "time in ms, request_received_ms"}).open,
}

func dynamoField(s *source.JSONScanner, key []byte, p *promptlogs.BlockPrompt, one *row) (err error) {
	switch string(key) {
	case "event_type":
		one.event, err = promptlogs.Text(s)
		return err
	case "agent_context":
		return promptlogs.EachField(s, func(key []byte) (err error) {
			if string(key) != "session_id" || s.Peek() == 'n' {
				return s.Skip()
			}
			one.hasSession = true
			one.session, err = s.SessionKey()
			return err
		})
	case "request", "replay":
		return promptlogs.EachField(s, func(key []byte) error { return dynamoField(s, key, p, one) })
	case "request_received_ms":
		return one.readTime(s, 1e6)
	case "output_tokens":
		return p.Output(s)
	case "trace_block_size":
		one.blockTokens, err = promptlogs.ReadBlockTokens(s)
		return err
	case "input_length":
		return p.Input(s)
	case "input_sequence_hashes":
		return p.BlockIDs(s)
	}
	return p.Other(key, s)
}

// lmcacheFormat reads the lookups that LMCache's server writes with --lookup-hash-log-dir, which its own simulator
// replays.
var lmcacheFormat = source.Format{
	Name:    "lmcache",
	Options: []params.Param{promptlogs.ShareParam()},
	JSON:    true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "chunk_size", "seq_len", "chunk_hashes")
	}),
	Open: (&rowFormat{field: lmcacheField, size: "chunk_size", expected: "a lookup with seq_len, chunk_size and " +
		"chunk_hashes", time: "time in s"}).open,
}

func lmcacheField(s *source.JSONScanner, key []byte, p *promptlogs.BlockPrompt, one *row) (err error) {
	switch string(key) {
	case "timestamp":
		return one.readTime(s, 1e9)
	case "model_name":
		return p.Other([]byte("model"), s)
	case "chunk_size":
		one.blockTokens, err = promptlogs.ReadBlockTokens(s)
		return err
	case "seq_len":
		return p.Input(s)
	case "chunk_hashes":
		return p.BlockIDs(s)
	}
	return s.Skip()
}
