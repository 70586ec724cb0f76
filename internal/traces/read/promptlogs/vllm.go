package promptlogs

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/pylog"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var vllmFormat = source.Format{
	Name:    "vllm",
	Options: textOptions(),
	JSON:    true,
	Whole:   true,
	Detect: source.CertainIf(func(head source.Head) bool {
		_, _, ok := vllmRequest(head.Bytes)
		return ok
	}),
	Open: openVLLM,
}

// vllmMarks are what lines with prompts have before and behind the name of the request.
var vllmMarks = []struct{ before, behind string }{
	{"Received request ", ": prompt: "},
	{"Request ", " details: prompt: "},
}

// vllmRequest finds the name of a request and its prompt in a line, or in the beginning of a file.
func vllmRequest(text []byte) (before, name []byte, ok bool) {
	for _, mark := range vllmMarks {
		for rest := text; ; {
			_, after, found := bytes.Cut(rest, []byte(mark.before))
			if !found {
				break
			}
			if name, _, ok := bytes.Cut(after, []byte(mark.behind)); ok && bytes.IndexByte(name, ' ') < 0 {
				at := len(text) - len(after)
				return text[:at-len(mark.before)], text[at : at+len(name)+len(mark.behind)], true
			}
			rest = after
		}
	}
	return nil, nil, false
}

// vllmReader reads the lines of a log.
type vllmReader struct {
	*collector
	clock           pylog.Clock
	request         request
	first           []byte // line
	longest, asLong int    // the longest prompt, in tokens or characters of the log, and how many are as long
}

func openVLLM(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts, "a log of vLLM")
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &vllmReader{collector: c}
	if err := eachLine(src, r.read); err != nil {
		return nil, stream.Fields{}, err
	}
	const several = 3
	if r.asLong >= several {
		src.Reading.Notable = stream.Count(src.Reading.Notable, fmt.Sprintf("of the greatest length, %d, which may be "+
			"that of --max-log-len", r.longest), int64(r.asLong))
	}
	if len(r.prompts) == 0 {
		return nil, stream.Fields{}, src.Errorf("no line has a prompt; %s: start vLLM with --enable-log-requests, "+
			"from version 0.11 on also with VLLM_LOGGING_LEVEL=DEBUG", r.firstLine(r.first))
	}
	return r.open()
}

func (r *vllmReader) read(line []byte) error {
	if r.first == nil {
		r.first = bytes.Clone(line)
	}
	line = pylog.Console(line)
	before, name, ok := vllmRequest(line)
	if !ok {
		return r.readAnswer(line)
	}
	NoteEnd(r.src)
	s := &pylog.Scanner{Text: line, Pos: len(before) + bytes.Index(line[len(before):], name) + len(name)}
	r.request.reset()
	q := &r.request
	if when := r.clock.Of(before); when != nil {
		q.when = when
	}
	if !s.Takes("None") {
		text, err := s.Quoted()
		if err != nil {
			return err
		}
		q.text = text
	}
	if err := r.readIDs(s, q); err != nil {
		return err
	}
	r.readServed(s.Text[s.Pos:], q)
	r.measure(q)
	id, _, _ := bytes.Cut(name, []byte(":"))
	id, _, _ = bytes.Cut(id, []byte(" "))
	r.named(string(id))
	return r.add(q)
}

// readIDs reads the token ids behind a prompt, if the line has any.
func (r *vllmReader) readIDs(s *pylog.Scanner, q *request) (err error) {
	rest := s.Text[s.Pos:]
	for _, mark := range []string{"prompt_token_ids: ", "prompt token ids: "} {
		if at := bytes.Index(rest, []byte(mark)); at >= 0 {
			s.Pos += at + len(mark)
			if s.Peek() == '[' {
				q.ids, err = s.IDs(q.ids, maxTokenID)
			}
			return err
		}
	}
	return nil
}

// readServed reads the adapter, the salt and the most tokens of the answer, which follow a prompt.
func (r *vllmReader) readServed(rest []byte, q *request) {
	for _, field := range []struct {
		name string
		to   *[]byte
		ends string
	}{{"lora_request: ", &q.served.adapter, ")"}, {"cache_salt: ", &q.served.salt, ",."}} {
		if _, value, ok := bytes.Cut(rest, []byte(field.name)); ok && !bytes.HasPrefix(value, []byte("None")) {
			if end := bytes.IndexAny(value, field.ends); end >= 0 {
				value = value[:end]
			}
			*field.to = append((*field.to)[:0], value...)
		}
	}
	if _, value, ok := bytes.Cut(rest, []byte("max_tokens=")); ok {
		if end := bytes.IndexAny(value, ",)"); end >= 0 {
			if n, ok := source.ParseWhole(value[:end]); ok && n <= maxTokens {
				q.most = int32(n)
			}
		}
	}
}

// measure counts the prompts that are as long as the longest: vLLM cuts what it prints without a sign of it.
func (r *vllmReader) measure(q *request) {
	n := len(q.ids)
	if n == 0 {
		n = utf8.RuneCount(q.text)
	}
	switch {
	case n > r.longest:
		r.longest, r.asLong = n, 1
	case n == r.longest:
		r.asLong++
	}
}

// readAnswer reads a line with an answer; others are left out.
func (r *vllmReader) readAnswer(line []byte) error {
	if r.readLMCache(line) {
		return nil
	}
	_, after, ok := bytes.Cut(line, []byte("Generated response "))
	name, _, found := bytes.Cut(after, []byte(": output: "))
	if !ok || !found || bytes.HasSuffix(name, []byte(" (streaming delta)")) {
		r.leaveOutOther(line)
		return nil
	}
	NoteEnd(r.src)
	s := &pylog.Scanner{Text: line, Pos: len(line) - len(after) + len(name) + len(": output: ")}
	text, err := s.Quoted()
	if err != nil {
		return err
	}
	q := &r.request
	q.reset()
	q.answer = text
	if s.Takes(", output_token_ids: ") && s.Peek() == '[' {
		if q.answerIDs, err = s.IDs(q.answerIDs, maxTokenID); err != nil {
			return err
		}
	}
	id, _, _ := bytes.Cut(name, []byte(" "))
	known, err := r.finish(string(id), q)
	if !known && err == nil {
		_, err = r.finish(string(id)+"-0", q) // the first prompt of a completion
	}
	return err
}
