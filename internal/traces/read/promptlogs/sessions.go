package promptlogs

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/turns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Open starts reading a file.
type Open = func(*source.Source, params.Values) (stream.Reader, stream.Fields, error)

// Exchange is a prompt with its answer in a session of which a log has the lengths.
type Exchange struct {
	turns.Turn
	When    []byte        // when the prompt was sent, as the log writes it; nil without
	Session string        // that it belongs to
	Usage   prompts.Usage // what the server counted in it
	Copied  bool          // another file has it
	tenant  string
	line    int // of the file, where it began
}

// Sessions are the sessions of one file while it is read.
type Sessions interface {
	// Read reads the next object of the file.
	Read(s *source.JSONScanner) error
	// Exchanges returns what has been read so far, in the order of the file: it only grows.
	Exchanges() []*Exchange
}

// SessionOptions are the options of a format of sessions.
func SessionOptions() []params.Param {
	return []params.Param{{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens, Doc: "tokens in a block; a last, " +
		"partial block is left out"}, source.TimeUnitOption(), tenantParam(), shareParam()}
}

// OpenSessions returns what opens a file of sessions, JSON objects, which begin makes the reader of. what names the
// file in errors, and expected says what it should hold.
func OpenSessions(what, expected string, begin func(*source.Source) Sessions) Open {
	return openObjects(what, expected, func(c *collector) (read func(*source.JSONScanner) error, end func() error) {
		c.key = "prompts as long as their usage says, each going on where the one before it ended"
		sessions, known := begin(c.src), 0
		return func(s *source.JSONScanner) error {
			if err := sessions.Read(s); err != nil {
				return err
			}
			all := sessions.Exchanges()
			for _, x := range all[known:] {
				x.tenant, x.line = c.ofTenant, c.src.LineNumber
			}
			known = len(all)
			return c.checkBudget(400)
		}, func() error { return c.addExchanges(sessions.Exchanges()) }
	})
}

// addExchanges adds prompts, now that all parts of their answers are known.
func (c *collector) addExchanges(all []*Exchange) error {
	var q request
	var tokens []uint64
	for _, x := range all {
		if x.Continue(); x.Before != nil && x.Tokens > 0 && x.Tokens < x.Before.Tokens {
			c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, "shorter than the prompt before in their "+
				"conversation, of which they are taken to have what the server had", 1)
		}
		left := ""
		switch {
		case x.Copied:
			left = "that another file has, too"
		case x.Tokens == 0:
			left = "without a usage"
		case x.Tokens < 0:
			left = oddCounts
		case x.IsHuge():
			left = "with a usage of more than 16 million tokens"
		}
		if left != "" {
			c.leaveOut(left)
			continue
		}
		tokens = x.AppendAnswer(x.AppendTokens(tokens[:0]))
		q.reset()
		q.when, q.usage, q.session, q.hasSession = x.When, x.Usage, stream.HashText([]byte(x.Session)), true
		q.served.model = append(q.served.model, x.Model...)
		q.ids, q.answerIDs = tokens[:x.Tokens], tokens[x.Tokens:]
		c.ofTenant = x.tenant
		if err := c.add(&q); err != nil {
			return placed(fmt.Sprintf("line %d", x.line), err)
		}
		q.ids, q.answerIDs = nil, nil
	}
	return nil
}

// ReadCount reads how many tokens an answer has, -1 if that is null. What cannot be is counted, and is unknown.
func ReadCount(s *source.JSONScanner, reading *stream.Reading) (int64, error) {
	n := int32(-1)
	err := readCount(s, &n)
	return int64(known(n, reading)), err
}

// Text reads a text; "" for any other value.
func Text(s *source.JSONScanner) (text string, err error) {
	err = readText(s, &text)
	return text, err
}

// TimeText reads a time as it is written, a number or a date; nil for null.
func TimeText(s *source.JSONScanner) ([]byte, error) { return timeText(s) }

// EachField calls read in front of each value of an object; what is no object is skipped.
func EachField(s *source.JSONScanner, read func(key []byte) error) error { return eachField(s, read) }

// Requests adds the requests of a log to its prompts.
type Requests struct {
	c       *collector
	b       body
	earlier responses
	scanner source.JSONScanner
}

// Add adds a request of OpenAI's API with its answer, in JSON as for the format openai. If it has neither messages nor
// a prompt it has a length, as far as its usage says.
func (r *Requests) Add(request []byte) error {
	r.b.reset()
	r.scanner.Reset(request)
	if err := r.b.readEntry(&r.scanner); err != nil {
		return err
	}
	if b := &r.b; !b.hasInput && b.leftOut == "" {
		tokens, _, _ := b.usage.Prompt()
		return r.c.addLengths(&b.request, int32(max(-1, min(tokens, maxTokens))))
	}
	return r.c.addBody(&r.earlier, &r.b)
}

// LeaveOut leaves out a part of the log that is no request.
func (r *Requests) LeaveOut(why string) { r.c.leaveOut(why) }

// RequestOptions are the options of a format of requests with their texts.
func RequestOptions() []params.Param { return messageOptions(source.TimeUnitOption(), tenantParam()) }

// OpenRequests returns what opens a file of JSON objects, each with any number of requests, which begin makes the
// reader of, with what is called after the last object.
func OpenRequests(what, expected string, begin func(*Requests) (read func(*source.JSONScanner) error,
	end func() error)) Open {
	return openObjects(what, expected, func(c *collector) (func(*source.JSONScanner) error, func() error) {
		return begin(&Requests{c: c})
	})
}

// FieldsOf returns the fields of the object on a line with the first byte of each value; the line may end anywhere.
func FieldsOf(line []byte) map[string]byte {
	return fieldsOf(source.Head{Bytes: line, Lines: [][]byte{line}}, nil)
}
