package agentlogs

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/turns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// codexFormat reads the sessions that Codex keeps (~/.codex/sessions/*/*/*/rollout-*.jsonl). As those of Claude Code
// they lack the definitions of tools, so that a prompt is as long as its usage says.
var codexFormat = source.Format{
	Name:    "codex",
	Options: promptlogs.SessionOptions(),
	JSON:    true,
	Whole:   true,
	Detect:  source.CertainIf(looksLikeCodex),
	Open: promptlogs.OpenSessions("session of Codex", "a session of Codex, with token_usage_record or token_count",
		beginCodex),
}

func looksLikeCodex(head source.Head) bool {
	return source.LooksLikeJSON(head, "timestamp", "type", "payload", "session_meta", "originator", "cli_version")
}

// codex reads the lines of a session, of which one says what the server counted in a prompt and its answer. The session
// may have been forked from another one.
type codex struct {
	src     *source.Source
	threads map[string][]codexTurn // of all files, by their ids
	order   []*promptlogs.Exchange
	last    *turns.Turn // of the session
	id      string      // of the session
	model   string
	lines   int64
	asked   []byte // when the last message or result of a tool was written
	sent    []byte // likewise, the one before the answer that is being read
	counted bool   // the record of the answer has come
	total   string // of the last token_count, which comes again with new limits
}

// codexTurn is a turn with the number of lines of its session after it.
type codexTurn struct {
	*turns.Turn
	lines int64
}

func beginCodex(src *source.Source) promptlogs.Sessions {
	threads := src.Shared("turns of Codex", func() any { return map[string][]codexTurn{} })
	return &codex{src: src, threads: threads.(map[string][]codexTurn), id: src.Place}
}

func (c *codex) Exchanges() []*promptlogs.Exchange { return c.order }

// codexLine is what a line says, whatever its type.
type codexLine struct {
	kind, item, role, id, model, response string // kind is its type, item that of its payload
	forked, base                          string // the session that it was forked from, and whose lines come before
	end                                   int64  // how many of these
	total                                 string
	usage                                 prompts.Usage
	output                                int64
	counts                                bool // there is a usage
	when                                  []byte
}

func (c *codex) Read(s *source.JSONScanner) error {
	l := codexLine{output: -1}
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "timestamp":
			l.when, err = promptlogs.TimeText(s)
			return err
		case "type":
			l.kind, err = promptlogs.Text(s)
			return err
		case "payload":
			return c.readPayload(s, &l)
		}
		return s.Skip()
	})
	if err == nil {
		c.lines++
		c.take(&l)
	}
	return err
}

func (c *codex) readPayload(s *source.JSONScanner, l *codexLine) error {
	texts := map[string]*string{"type": &l.item, "role": &l.role, "id": &l.id, "model": &l.model,
		"response_id": &l.response, "forked_from_id": &l.forked}
	return promptlogs.EachField(s, func(key []byte) (err error) {
		if to, ok := texts[string(key)]; ok {
			*to, err = promptlogs.Text(s)
			return err
		}
		switch string(key) {
		case "usage":
			return c.readUsage(s, l)
		case "info":
			return promptlogs.EachField(s, func(key []byte) error {
				switch string(key) {
				case "last_token_usage":
					return c.readUsage(s, l)
				case "total_token_usage":
					total, err := raw(s)
					l.total = string(total)
					return err
				}
				return s.Skip()
			})
		case "history_base":
			return c.readBase(s, l)
		}
		return s.Skip()
	})
}

// readUsage reads what the server counted: cached tokens are among those of the input.
func (c *codex) readUsage(s *source.JSONScanner, l *codexLine) error {
	l.counts = s.Peek() == '{'
	return promptlogs.EachField(s, func(key []byte) (err error) {
		switch string(key) {
		case "cached_input_tokens":
			return promptlogs.ReadUsage(&l.usage, []byte("cached_tokens"), s)
		case "output_tokens":
			l.output, err = promptlogs.ReadCount(s, c.src.Reading)
			return err
		}
		return promptlogs.ReadUsage(&l.usage, key, s)
	})
}

// readBase reads which lines of another session come before those of this one.
func (c *codex) readBase(s *source.JSONScanner, l *codexLine) error {
	return promptlogs.EachField(s, func(key []byte) (err error) {
		switch string(key) {
		case "thread_id":
			l.base, err = promptlogs.Text(s)
			return err
		case "end_ordinal_exclusive":
			if s.Peek() < '0' || s.Peek() > '9' {
				return s.Skip()
			}
			text, err := s.Number()
			if n, ok := source.ParseWhole(text); ok {
				l.end = int64(min(n, 1<<62))
			}
			return err
		}
		return s.Skip()
	})
}

// take adds what a line says to the session.
func (c *codex) take(l *codexLine) {
	switch l.kind {
	case "session_meta":
		c.begin(l)
	case "turn_context":
		c.model = l.model
	case "response_item":
		if l.item == "message" && l.role != "assistant" || isOutput(l.item) {
			c.asked = slices.Clone(l.when)
		} else if c.sent == nil {
			c.sent = c.asked
		}
	case "token_usage_record":
		c.counted = true
		c.answer(l)
	case "event_msg":
		if l.item != "token_count" || !l.counts {
			return
		}
		if !c.counted && l.total != c.total { // otherwise it is the answer before
			c.answer(l)
		}
		c.counted, c.total = false, l.total
	}
}

// isOutput reports whether an item of a type is the result of a tool.
func isOutput(kind string) bool {
	return slices.Contains([]string{"function_call_output", "custom_tool_call_output", "local_shell_call_output",
		"tool_search_output"}, kind)
}

// begin begins a session, where the one that it was forked from was at that time.
func (c *codex) begin(l *codexLine) {
	if c.lines > 1 { // a copy of that of an earlier session
		return
	}
	c.id = l.id
	switch {
	case l.base != "":
		for _, t := range c.threads[l.base] {
			if t.lines <= l.end {
				c.last = t.Turn
			}
		}
		if c.last == nil {
			c.note("a session forked from one that is not among the files")
		}
	case l.forked != "":
		c.note("a fork whose file may repeat prompts of the session before")
	}
}

func (c *codex) note(what string) {
	c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, what, 1)
}

// answer adds the prompt of an answer.
func (c *codex) answer(l *codexLine) {
	tokens, cached, _ := l.usage.Prompt()
	own := l.response
	if own == "" {
		own = c.id + " " + l.total
	}
	x := &promptlogs.Exchange{Turn: turns.Turn{Before: c.last, Own: stream.HashText([]byte(own)), Tokens: tokens,
		Output: max(0, l.output), Cached: cached, Model: c.model}, Session: c.id, Usage: l.usage, When: c.sent}
	if x.When == nil {
		x.When = c.asked
	}
	if x.When == nil {
		x.When = slices.Clone(l.when)
	}
	c.sent = nil
	c.order = append(c.order, x)
	c.last = &x.Turn
	c.threads[c.id] = append(c.threads[c.id], codexTurn{c.last, c.lines})
}
