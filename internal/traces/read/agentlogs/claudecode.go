package agentlogs

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/turns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// claudeCodeFormat reads the sessions that Claude Code keeps (~/.claude/projects/*/*.jsonl). They have the messages,
// but neither the system prompt nor the definitions of tools, which are most of a prompt. So a prompt is as long as its
// usage says, and its tokens are known by where they come from: a prompt goes on where the one before it ended.
var claudeCodeFormat = source.Format{
	Name:    "claude-code",
	Options: promptlogs.SessionOptions(),
	JSON:    true,
	Whole:   true,
	Detect:  source.CertainIf(func(head source.Head) bool { return slices.ContainsFunc(head.Lines, isClaudeCode) }),
	Open: promptlogs.OpenSessions("session of Claude Code", "a session of Claude Code, with answers that have a usage",
		beginClaudeCode),
}

func isClaudeCode(line []byte) bool {
	fields := promptlogs.FieldsOf(line)
	return fields["parentUuid"] != 0 && fields["sessionId"] == '"' && fields["uuid"] == '"'
}

// claudeCode reads the lines of sessions: messages that name the one before them. An answer has a line for each of its
// parts, all with one id.
type claudeCode struct {
	src     *source.Source
	turns   map[string]*turns.Turn // by the ids of lines: the last answer so far
	later   map[string]struct{}    // lines that others go on from, and that have not come
	times   map[string][]byte      // of lines: a prompt was sent when the message before its answer was written
	answers map[string]*promptlogs.Exchange
	order   []*promptlogs.Exchange
	files   turns.Files
}

func beginClaudeCode(src *source.Source) promptlogs.Sessions {
	files := src.Shared("answers of Claude Code", func() any { return turns.Files{} }).(turns.Files)
	return &claudeCode{src: src, turns: map[string]*turns.Turn{}, later: map[string]struct{}{},
		times: map[string][]byte{}, answers: map[string]*promptlogs.Exchange{}, files: files}
}

func (c *claudeCode) Exchanges() []*promptlogs.Exchange { return c.order }

// line is what a line says of itself.
type line struct {
	uuid, parent, logical, session, agent, id, kind, model string
	when                                                   []byte
	usage                                                  prompts.Usage
	output                                                 int64 // tokens
}

func (c *claudeCode) Read(s *source.JSONScanner) error {
	var l line
	texts := map[string]*string{"uuid": &l.uuid, "parentUuid": &l.parent, "logicalParentUuid": &l.logical,
		"sessionId": &l.session, "agentId": &l.agent, "type": &l.kind}
	err := s.Object(func(key []byte) (err error) {
		if to, ok := texts[string(key)]; ok {
			*to, err = promptlogs.Text(s)
			return err
		}
		switch string(key) {
		case "timestamp":
			l.when, err = promptlogs.TimeText(s)
			return err
		case "message":
			return c.readMessage(s, &l)
		}
		return s.Skip()
	})
	if err == nil && l.uuid != "" { // others are summaries and snapshots of files
		c.take(&l)
	}
	return err
}

// readMessage reads what an answer says of itself; the texts of messages are not needed.
func (c *claudeCode) readMessage(s *source.JSONScanner, l *line) error {
	return promptlogs.EachField(s, func(key []byte) (err error) {
		switch string(key) {
		case "id":
			l.id, err = promptlogs.Text(s)
			return err
		case "model":
			l.model, err = promptlogs.Text(s)
			return err
		case "usage":
			return promptlogs.EachField(s, func(key []byte) (err error) {
				if string(key) == "output_tokens" {
					l.output, err = promptlogs.ReadCount(s, c.src.Reading)
					return err
				}
				return promptlogs.ReadUsage(&l.usage, key, s)
			})
		}
		return s.Skip()
	})
}

// take adds a line to its conversation.
func (c *claudeCode) take(l *line) {
	l.parent = cmp.Or(l.parent, l.logical) // a compaction has a parent that is only logical
	c.noteOrder(l)
	t := c.turns[l.parent]
	c.times[l.uuid] = slices.Clone(l.when)
	if l.kind == "assistant" && l.id != "" {
		t = &c.answer(l, t).Turn
	}
	c.turns[l.uuid] = t
}

// noteOrder notes what contradicts that lines go on from earlier ones.
func (c *claudeCode) noteOrder(l *line) {
	note := func(what string) { c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, what, 1) }
	if _, ok := c.later[l.uuid]; ok {
		note("lines that earlier ones go on from")
		delete(c.later, l.uuid)
	}
	if l.parent == l.uuid {
		note("lines that go on from themselves")
		l.parent = ""
	} else if _, known := c.turns[l.parent]; !known && l.parent != "" {
		c.later[l.parent] = struct{}{}
	}
}

// answer returns the turn of a part of an answer, after another turn.
func (c *claudeCode) answer(l *line, before *turns.Turn) *promptlogs.Exchange {
	t, known := c.answers[l.id]
	if !known {
		t = &promptlogs.Exchange{Turn: turns.Turn{Before: before, Own: stream.HashText([]byte(l.id))},
			Session: l.session + " " + l.agent, Copied: c.files.Claim(l.id, c.src.Place)}
		if t.When = c.times[l.parent]; t.When == nil {
			t.When = slices.Clone(l.when)
		}
		c.answers[l.id], c.order = t, append(c.order, t)
	}
	if tokens, cached, ok := l.usage.Prompt(); ok && tokens != 0 {
		t.Tokens, t.Cached, t.Usage, t.Model = tokens, cached, l.usage, l.model
		t.Output = max(t.Output, l.output)
	}
	return t
}
