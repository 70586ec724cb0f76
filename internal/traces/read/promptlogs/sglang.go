package promptlogs

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/pylog"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var sglangFormat = source.Format{
	Name:    "sglang",
	Options: textOptions(),
	JSON:    true,
	Whole:   true,
	Detect: source.CertainIf(func(head source.Head) bool {
		return bytes.Contains(head.Bytes, []byte(sglangReceived)) || bytes.Contains(head.Bytes, []byte(sglangFinished)) ||
			sglangEvent.Match(head.Bytes)
	}),
	Open: openSGLang,
}

const (
	sglangReceived = "Receive: obj=GenerateReqInput("
	sglangFinished = "Finish: obj=GenerateReqInput("
	sglangJSON     = `{"timestamp": "`
)

var (
	sglangEvent = regexp.MustCompile(regexp.QuoteMeta(sglangJSON) + `[^"]*", "event": "request\.(received|finished)`)
	// noMedia is what SGLang prints for no images: nothing, or nothing for each prompt.
	noMedia = regexp.MustCompile(`^(None|null|[\[\], ])*$`)
	// abbreviated is a text with only its length in the log (SGLANG_LOG_REQUEST_ABBREVIATE_FIELDS).
	abbreviated = regexp.MustCompile(`^<\w+: \d+ chars, blake2b=[0-9a-f]+>`)
	mediaNames  = map[string]string{"image_data": "images", "video_data": "videos", "audio_data": "audio"}
)

// sglangReader reads the lines of a log.
type sglangReader struct {
	*collector
	clock   pylog.Clock
	body    body
	rid     string
	rids    []string // of a request with several prompts; each is finished by itself
	cut     bool     // the log has only the two ends of the prompt
	result  sglangResult
	scanner source.JSONScanner
	seen    int    // lines of requests, with prompts or not
	first   []byte // the first line
	// received has the requests whose beginning the log has; those without a prompt wait there for their length.
	received map[string]sglangReceipt
}

// sglangResult is an answer in a line: tokens of the prompt and of the answer, -1 if unknown, and the time from the
// arrival to the end.
type sglangResult struct {
	input, output int32
	latency       float64 // seconds
}

// sglangReceipt is a request that was received.
type sglangReceipt struct {
	when []byte
	bare bool // the log has no prompt
}

func openSGLang(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts, "a log of SGLang")
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &sglangReader{collector: c, received: map[string]sglangReceipt{}}
	if err := eachLine(src, r.read); err != nil {
		return nil, stream.Fields{}, err
	}
	if len(r.prompts)+len(r.lengths) == 0 {
		return nil, stream.Fields{}, src.Errorf("%s: start SGLang with --log-requests --log-requests-level 3, which "+
			"prints prompts in full", r.lacks())
	}
	for _, receipt := range r.received {
		if receipt.bare {
			r.leaveOut("not finished within the log")
		}
	}
	return r.open()
}

// lacks says what a log without prompts has instead.
func (r *sglangReader) lacks() string {
	if r.seen > 0 {
		return fmt.Sprintf("%d requests, but no prompts", r.seen)
	}
	return "no requests; " + r.firstLine(r.first)
}

// firstLine says why the first line that could not be read could not, or what the first line of a log is.
func (c *collector) firstLine(line []byte) string {
	if bad := c.src.Reading.FirstBad(); bad != nil {
		return bad.Error()
	}
	return fmt.Sprintf("the first line is %.60q", line)
}

func (r *sglangReader) read(line []byte) error {
	if r.first == nil {
		r.first = bytes.Clone(line)
	}
	r.body.reset()
	r.rid, r.rids, r.cut, r.result = "", nil, false, sglangResult{-1, -1, 0}
	if before, _, ok := bytes.Cut(line, []byte(sglangReceived)); ok {
		NoteEnd(r.src)
		s := &pylog.Scanner{Text: line, Pos: len(before) + len(sglangReceived)}
		r.body.when = r.clock.Of(before)
		if err := s.Call(func(name string) error { return r.readValue(name, s) }); err != nil {
			return err
		}
		return r.addRequest()
	}
	if before, _, ok := bytes.Cut(line, []byte(sglangFinished)); ok {
		NoteEnd(r.src)
		return r.readFinish(line, before)
	}
	if at := bytes.Index(line, []byte(sglangJSON)); at >= 0 {
		r.scanner.Reset(line[at:])
		return r.readJSON(&r.scanner)
	}
	r.clock.Of(line)
	r.leaveOutOther(line)
	return nil
}

// addRequest adds what was read. A request may have several prompts, each with a name of its own.
func (r *sglangReader) addRequest() error {
	r.seen++
	if r.cut {
		r.receive(sglangReceipt{})
		r.leaveOut("cut by the log, which has only the ends of the prompt")
		return nil
	}
	if !r.hasPrompt() {
		r.receive(sglangReceipt{bytes.Clone(r.body.when), true})
		return r.checkBudget(200)
	}
	r.receive(sglangReceipt{})
	if len(r.body.ids)+len(r.body.idLists) > 0 {
		r.body.prompts = r.body.prompts[:0]
	}
	place := 0
	return r.body.each(func(q *request) error {
		name := r.rid
		if place < len(r.rids) {
			name = r.rids[place]
		}
		place++
		r.named(name)
		return r.add(q)
	})
}

// receive notes that a request was received.
func (r *sglangReader) receive(receipt sglangReceipt) {
	if len(r.rids) == 0 {
		r.received[r.rid] = receipt
	}
	for _, rid := range r.rids {
		r.received[rid] = receipt
	}
}

// readValue reads a field of GenerateReqInput as Python prints it.
func (r *sglangReader) readValue(name string, s *pylog.Scanner) error {
	switch c := s.Peek(); {
	case name == "rid" && c == '\'':
		rid, err := s.Quoted()
		r.rid = string(rid)
		return err
	case name == "rid" && c == '[':
		return r.readNames(s)
	case name == "text" && (c == '\'' || c == '"'):
		return r.readText(s)
	case (name == "text" || name == "input_ids") && c == '[':
		return r.readLists(s, name == "text")
	case name == "session_id" && c == '\'':
		session, err := s.Quoted()
		r.body.session, r.body.hasSession = stream.HashText(session), true
		return err
	case name == "text" && abbreviated.Match(s.Text[s.Pos:]):
		r.cut = true
		s.Pos += len(abbreviated.Find(s.Text[s.Pos:]))
		return nil
	}
	from := s.Pos
	err := s.Skip()
	value := s.Text[from:s.Pos]
	if field, ok := servedFields[name]; ok && string(value) != "None" {
		*field(&r.body.served) = append([]byte(nil), value...)
	}
	r.noteMedia(name, value)
	return err
}

// noteMedia notes a field with images, videos or audio.
func (r *sglangReader) noteMedia(name string, value []byte) {
	if what := mediaNames[name]; what != "" && !noMedia.Match(value) {
		r.body.parts = append(r.body.parts, what)
	}
}

// eachOf calls read in front of each value of a list as Python prints it. The log may lack what is in the middle.
func (r *sglangReader) eachOf(s *pylog.Scanner, read func() error) error {
	s.Pos++
	for !s.Takes("]") {
		if err := read(); err != nil {
			return err
		}
		if !s.Takes(", ") && s.Peek() != ']' {
			return s.Fail("a comma or a closing bracket")
		}
	}
	return nil
}

// readNames reads the names of several prompts.
func (r *sglangReader) readNames(s *pylog.Scanner) error {
	err := r.eachOf(s, func() error {
		rid, err := s.Quoted()
		r.rids = append(r.rids, string(rid))
		return err
	})
	if err == nil && s.Takes(betweenEnds) {
		return s.Skip()
	}
	return err
}

// betweenEnds is what SGLang prints for the middle of a long value.
const betweenEnds = " ... "

func (r *sglangReader) readText(s *pylog.Scanner) error {
	text, err := s.Quoted()
	if err != nil {
		return err
	}
	r.body.prompts = append(r.body.prompts, text)
	if s.Takes(betweenEnds) {
		r.cut = true
		_, err = s.Quoted()
	}
	return err
}

// readLists reads texts, token ids or lists of these.
func (r *sglangReader) readLists(s *pylog.Scanner, text bool) (err error) {
	switch {
	case text:
		err = r.eachOf(s, func() error { return r.readText(s) })
	case bytes.HasPrefix(s.Text[s.Pos:], []byte("[[")):
		err = r.eachOf(s, func() error {
			ids, err := s.IDs(nil, maxTokenID)
			r.body.idLists = append(r.body.idLists, ids)
			return err
		})
	default:
		r.body.ids, err = s.IDs(r.body.ids, maxTokenID)
	}
	if err == nil && s.Takes(betweenEnds) {
		r.cut = true
		return s.Skip()
	}
	return err
}

func (r *sglangReader) hasPrompt() bool {
	return len(r.body.prompts)+len(r.body.ids)+len(r.body.idLists) > 0
}

// readFinish reads a request that is finished, with the lengths of its prompt and its answer.
func (r *sglangReader) readFinish(line, before []byte) (err error) {
	r.body.when = r.clock.Of(before)
	s := &pylog.Scanner{Text: line, Pos: len(before) + len(sglangFinished)}
	if err := s.Call(func(name string) error { return r.readValue(name, s) }); err != nil {
		return err
	}
	for name, n := range map[string]*int32{"prompt_tokens": &r.result.input, "completion_tokens": &r.result.output} {
		if text := lastNumber(line[s.Pos:], name); text != nil {
			*n = countOf(text)
		}
	}
	for _, name := range []string{"prompt_tokens", "cached_tokens"} {
		r.body.usage.SetText(name, lastNumber(line[s.Pos:], name))
	}
	if text := lastNumber(line[s.Pos:], "e2e_latency"); text != nil {
		if r.result.latency, err = strconv.ParseFloat(string(text), 64); err != nil {
			return fmt.Errorf("e2e_latency %.40q: want seconds", text)
		}
	}
	return r.addFinished()
}

// lastNumber returns the number that a name has in the last dictionary of a line; nil without.
func lastNumber(line []byte, name string) []byte {
	mark := "'" + name + "': "
	at := bytes.LastIndex(line, []byte(mark))
	if at < 0 {
		return nil
	}
	digits := line[at+len(mark):]
	end := bytes.IndexAny(digits, ",}")
	if end < 0 || string(digits[:end]) == "None" {
		return nil
	}
	return digits[:end]
}

// addFinished notes the answer to a request. A request whose beginning the log lacks, as with
// SGLANG_LOG_REQUEST_EXCEEDED_MS, is added now. It arrived earlier by the time of its answer.
func (r *sglangReader) addFinished() error {
	receipt, known := r.received[r.rid]
	switch {
	case known && receipt.bare:
		delete(r.received, r.rid)
		r.body.when = receipt.when
		return r.addLength()
	case known:
		return r.setResult()
	}
	if err := r.setArrival(); err != nil {
		return err
	}
	if !r.cut && !r.hasPrompt() {
		r.seen++
		return r.addLength()
	}
	answer, ids := r.body.answer, r.body.answerIDs // set below, with its length
	r.body.answer, r.body.answerIDs = nil, nil
	if err := r.addRequest(); err != nil {
		return err
	}
	r.body.answer, r.body.answerIDs = answer, ids
	return r.setResult()
}

// setResult sets the answer to the request that is finished.
func (r *sglangReader) setResult() error {
	r.body.output = r.result.output
	_, err := r.finish(r.rid, &r.body.request)
	return err
}

// addLength adds a request with a length alone.
func (r *sglangReader) addLength() error {
	r.body.output = r.result.output
	return r.addLengths(&r.body.request, r.result.input)
}

// setArrival turns the time of the end of an answer into that of its request.
func (r *sglangReader) setArrival() error {
	latency := r.result.latency
	if r.body.when == nil || !(latency > 0 && latency < 1e6) {
		return nil
	}
	end, err := source.ParseTime(r.body.when, int64(time.Second))
	if err != nil {
		return err
	}
	r.body.at, r.body.timed = end-int64(latency*1e9), true
	return nil
}

// readJSON reads a line in JSON: a request that was received, or one that is finished.
func (r *sglangReader) readJSON(s *source.JSONScanner) error {
	event := ""
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "timestamp":
			r.body.when, err = timeText(s)
			return err
		case "event":
			return readText(s, &event)
		case "rid":
			return r.readJSONNames(s)
		case "obj":
			if event == "request.received" || event == "request.finished" {
				return r.readObject(s)
			}
		case "out":
			return r.readOut(s)
		}
		return s.Skip()
	})
	if err != nil {
		return err
	}
	switch event {
	case "request.received":
		return r.addRequest()
	case "request.finished":
		if err := r.addFinished(); err != nil {
			return err
		}
	default:
		r.leaveOutOther(nil)
	}
	return s.End()
}

// readJSONNames reads the name of a request, or those of several prompts.
func (r *sglangReader) readJSONNames(s *source.JSONScanner) error {
	if s.Peek() != '[' {
		return readText(s, &r.rid)
	}
	return s.Array(func() error {
		rid, err := optional(s)
		r.rids = append(r.rids, string(rid))
		return err
	})
}

// readObject reads the request of a line in JSON.
func (r *sglangReader) readObject(s *source.JSONScanner) error {
	return eachField(s, func(key []byte) error {
		switch string(key) {
		case "text":
			if err := r.body.readPrompt(s); err != nil {
				return err
			}
			for _, text := range r.body.prompts {
				r.cut = r.cut || isCutJSON(text)
			}
			return nil
		case "input_ids":
			return r.readJSONIDs(s)
		case "session_id":
			session, err := optional(s)
			if len(session) > 0 {
				r.body.session, r.body.hasSession = stream.HashText(session), true
			}
			return err
		case "sampling_params":
			return eachField(s, func(key []byte) error {
				if string(key) == "max_new_tokens" {
					return r.body.readMost(s)
				}
				return s.Skip()
			})
		}
		if ok, err := r.body.served.read(string(key), s); ok {
			return err
		}
		s.Peek() // passes over white space
		from := s.Pos
		err := s.Skip()
		r.noteMedia(string(key), s.Text[from:s.Pos])
		return err
	})
}

// readJSONIDs reads token ids, or lists of them. A text among them stands for those that the log lacks.
func (r *sglangReader) readJSONIDs(s *source.JSONScanner) error {
	return r.eachJSONID(s, &r.body.ids, func() error {
		var ids []uint64
		err := r.eachJSONID(s, &ids, s.Skip)
		r.body.idLists = append(r.body.idLists, ids)
		return err
	})
}

// eachJSONID appends token ids, and calls list in front of each list among them.
func (r *sglangReader) eachJSONID(s *source.JSONScanner, ids *[]uint64, list func() error) error {
	return eachElement(s, func() error {
		switch s.Peek() {
		case '"':
			r.cut = true
			return s.Skip()
		case '[':
			return list()
		}
		id, err := readID(s)
		*ids = append(*ids, id)
		return err
	})
}

// isCutJSON reports whether a text is incomplete: the log has only its length, or three dots instead of its middle,
// because level 2 keeps 2048 characters.
func isCutJSON(text []byte) bool {
	const kept, dots = 2048, "..."
	if found := abbreviated.Find(text); found != nil && len(found) == len(text) {
		return true
	}
	if len(text) < kept+len(dots) || utf8.RuneCount(text) != kept+len(dots) {
		return false
	}
	runes := []rune(string(text))
	return string(runes[kept/2:kept/2+len(dots)]) == dots
}

// readOut reads how many tokens an answer has.
func (r *sglangReader) readOut(s *source.JSONScanner) error {
	return eachField(s, func(key []byte) error {
		switch string(key) {
		case "text":
			return r.body.readAnswer(s)
		case "output_ids":
			return readIDs(s, &r.body.answerIDs)
		case "meta_info":
		default:
			return s.Skip()
		}
		return eachField(s, func(key []byte) error {
			switch string(key) {
			case "prompt_tokens":
				err := readCount(s, &r.result.input)
				if r.result.input >= 0 {
					r.body.usage.Set("prompt_tokens", int64(r.result.input))
				}
				return err
			case "completion_tokens":
				return readCount(s, &r.result.output)
			case "e2e_latency":
				if !s.Null() {
					text, err := s.Number()
					if err == nil {
						r.result.latency, err = strconv.ParseFloat(string(text), 64)
					}
					return err
				}
				return nil
			}
			return ReadUsage(&r.body.usage, key, s)
		})
	})
}
