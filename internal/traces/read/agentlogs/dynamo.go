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

// dynamoFormat reads what Dynamo's frontend writes with DYN_REQUEST_TRACE=1: requests when they end, and other events.
var dynamoFormat = source.Format{
	Name:    "dynamo",
	Options: []params.Param{promptlogs.ShareParam()},
	JSON:    true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.LooksLikeJSON(head, "schema", "event_type", "request") &&
			bytes.Contains(head.Bytes, []byte(`"dynamo.request.trace.v`))
	}),
	Open: openDynamo,
}

type dynamoReader struct {
	src         *source.Source
	opts        params.Values
	scanner     source.JSONScanner
	blockTokens int
	sessions    bool // the first request belongs to one
}

// dynamoRow is what a row says beside its prompt.
type dynamoRow struct {
	event       string
	session     uint64
	hasSession  bool
	at          int64
	blockTokens int
}

func openDynamo(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	d := &dynamoReader{src: src, opts: opts}
	lines, err := promptlogs.FirstLines(src)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	for _, text := range lines {
		var p promptlogs.BlockPrompt
		var row dynamoRow
		if p.Begin(); d.parse(text, &p, &row) == nil && row.leftOut(&p) == "" {
			d.blockTokens, d.sessions = row.blockTokens, row.hasSession
			break
		}
	}
	if d.blockTokens == 0 {
		return nil, stream.Fields{}, src.Errorf("want a request_end with a replay, which has input_sequence_hashes and a " +
			"trace_block_size, in the first lines")
	}
	src.Reading.Layout, src.Reading.Time = "sorted by time", "time in ms, request_received_ms"
	return promptlogs.BlockPrompts(d.next).OpenInOrder(src, prompts.Kind{BlockTokens: d.blockTokens, Sessions: d.sessions})
}

// leftOut says why a row is no request that can be replayed; "" if it is one.
func (r *dynamoRow) leftOut(p *promptlogs.BlockPrompt) string {
	switch {
	case r.event != "request_end":
		return "of other events than the end of a request"
	case !p.IsWhole() || r.blockTokens == 0:
		return "without the hashes of a replay"
	case r.at < 0:
		return "without request_received_ms"
	}
	return ""
}

func (d *dynamoReader) next(p *promptlogs.BlockPrompt) error {
	for {
		text, err := d.src.Line()
		if err != nil {
			return err
		}
		if len(source.TrimBlanks(text)) == 0 {
			if err := d.src.OnlyBlankLines(); err != nil {
				return err
			}
			continue
		}
		var row dynamoRow
		p.Begin()
		if err := d.parse(text, p, &row); err != nil {
			return d.src.LineSyntaxError(err)
		}
		if why := row.leftOut(p); why != "" {
			d.src.Reading.LeaveOut(why)
			continue
		}
		if err := d.check(&row); err != nil {
			return d.src.LineErrorf("%w", err)
		}
		p.Session = row.session
		if err := p.End(row.at, d.blockTokens, 0, d.src, d.opts); err != nil {
			return d.src.LineErrorf("%w", err)
		}
		return nil
	}
}

// check refuses a request that differs from the first one.
func (d *dynamoReader) check(row *dynamoRow) error {
	switch {
	case row.blockTokens != d.blockTokens:
		return fmt.Errorf("a trace_block_size of %d tokens, and of %d in the first request", row.blockTokens, d.blockTokens)
	case row.hasSession && !d.sessions:
		return errors.New("an agent_context, which the first request lacks")
	case !row.hasSession && d.sessions:
		return errors.New("no agent_context with a session_id, which the first request has")
	}
	return nil
}

// parse reads a row.
func (d *dynamoReader) parse(text []byte, p *promptlogs.BlockPrompt, row *dynamoRow) error {
	s := &d.scanner
	s.Reset(text)
	row.at = -1
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "event_type":
			row.event, err = promptlogs.Text(s)
			return err
		case "agent_context":
			return promptlogs.EachField(s, func(key []byte) (err error) {
				if string(key) != "session_id" || s.Peek() == 'n' {
					return s.Skip()
				}
				row.hasSession = true
				row.session, err = s.SessionKey()
				return err
			})
		case "request":
			return promptlogs.EachField(s, func(key []byte) error { return d.field(key, p, row) })
		}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	return err
}

// field reads a field of the request of a row.
func (d *dynamoReader) field(key []byte, p *promptlogs.BlockPrompt, row *dynamoRow) (err error) {
	s := &d.scanner
	switch string(key) {
	case "request_received_ms":
		if s.Peek() == 'n' {
			return s.Skip()
		}
		row.at, err = s.Time(1e6)
		return err
	case "output_tokens":
		return p.Output(s)
	case "replay":
		return promptlogs.EachField(s, func(key []byte) (err error) {
			switch string(key) {
			case "trace_block_size":
				row.blockTokens, err = promptlogs.ReadBlockTokens(s)
				return err
			case "input_length":
				return p.Input(s)
			case "input_sequence_hashes":
				return p.BlockIDs(s)
			}
			return s.Skip()
		})
	}
	return p.Other(key, s)
}
