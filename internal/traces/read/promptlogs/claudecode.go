package promptlogs

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/turns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// claudeCodeFormat reads the sessions that Claude Code keeps (~/.claude/projects/*/*.jsonl). They have the messages,
// but neither the system prompt nor the definitions of tools, which are most of a prompt. So a prompt is as long as its
// usage says, and its tokens are known by where they come from: a prompt goes on where the one before it ended.
var claudeCodeFormat = source.Format{
	Name: "claude-code",
	Options: []params.Param{{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens, Doc: "tokens in a block; a last, " +
		"partial block is left out"}, source.TimeUnitOption(), tenantParam(), shareParam()},
	JSON:   true,
	Whole:  true,
	Detect: source.CertainIf(func(head source.Head) bool { return slices.ContainsFunc(head.Lines, isClaudeCode) }),
	Open:   openClaudeCode,
}

func isClaudeCode(line []byte) bool {
	fields := fieldsOf(source.Head{Bytes: line, Lines: [][]byte{line}}, nil)
	return fields["parentUuid"] != 0 && fields["sessionId"] == '"' && fields["uuid"] == '"'
}

func openClaudeCode(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts, "a session of Claude Code, with answers that have a usage")
	if err != nil {
		return nil, stream.Fields{}, err
	}
	s := &codeSession{collector: c, turns: map[string]*turns.Turn{}, times: map[string][]byte{},
		answers: map[string]*codeTurn{}}
	s.files = src.Shared("answers of Claude Code", func() any { return turns.Files{} }).(turns.Files)
	if err = c.eachObject("session of Claude Code", s.read); err == nil {
		err = s.addAll()
	}
	if err != nil {
		return nil, stream.Fields{}, err
	}
	reader, fields, err := c.open()
	src.Reading.Key = "prompts as long as their usage says, each going on where the one before it ended"
	return reader, fields, err
}

// codeSession reads the lines of sessions: messages that name the one before them. An answer has a line for each of its
// parts, all with one id.
type codeSession struct {
	*collector
	body    body
	turns   map[string]*turns.Turn // by the ids of lines: the last answer so far
	times   map[string][]byte      // of lines: a prompt was sent when the message before its answer was written
	answers map[string]*codeTurn   // by their ids
	order   []*codeTurn
	files   turns.Files
}

// codeTurn is a prompt with its answer.
type codeTurn struct {
	turns.Turn
	request
	copied bool // from another file
}

// line is what a line says of itself.
type line struct {
	uuid, parent, logical, session, agent, id, kind string
	when                                            []byte
}

func (s *codeSession) read(scanner *source.JSONScanner) error {
	var l line
	s.body.reset()
	texts := map[string]*string{"uuid": &l.uuid, "parentUuid": &l.parent, "logicalParentUuid": &l.logical,
		"sessionId": &l.session, "agentId": &l.agent, "type": &l.kind}
	err := scanner.Object(func(key []byte) (err error) {
		if to, ok := texts[string(key)]; ok {
			*to, err = optionalName(scanner)
			return err
		}
		switch string(key) {
		case "timestamp":
			l.when, err = timeText(scanner)
			return err
		case "message":
			return s.readMessage(scanner, &l)
		}
		return scanner.Skip()
	})
	if err != nil || l.uuid == "" {
		return err // summaries and snapshots of files
	}
	return s.take(&l)
}

// readMessage reads what an answer says of itself; the texts of messages are not needed.
func (s *codeSession) readMessage(scanner *source.JSONScanner, l *line) error {
	return eachField(scanner, func(key []byte) (err error) {
		switch string(key) {
		case "id":
			l.id, err = optionalName(scanner)
			return err
		case "model":
			return s.body.readModel(scanner)
		case "usage":
			return s.body.readUsage(scanner)
		}
		return scanner.Skip()
	})
}

// take adds a line to its conversation.
func (s *codeSession) take(l *line) error {
	l.parent = cmp.Or(l.parent, l.logical) // a compaction has a parent that is only logical
	t := s.turns[l.parent]
	s.times[l.uuid] = slices.Clone(l.when)
	if l.kind == "assistant" && l.id != "" {
		t = &s.answer(l, t).Turn
	}
	s.turns[l.uuid] = t
	return s.checkBudget(400)
}

// answer returns the turn of a part of an answer, after another turn.
func (s *codeSession) answer(l *line, before *turns.Turn) *codeTurn {
	t, known := s.answers[l.id]
	if !known {
		t = &codeTurn{Turn: turns.Turn{Before: before, Own: stream.HashText([]byte(l.id))}}
		t.request.reset()
		if t.when = s.times[l.parent]; t.when == nil {
			t.when = slices.Clone(l.when)
		}
		t.session, t.hasSession = stream.HashText([]byte(l.session+" "+l.agent)), true
		t.copied = s.files.Claim(l.id, s.src.Place)
		s.answers[l.id], s.order = t, append(s.order, t)
	}
	if tokens, cached, ok := s.body.usage.Prompt(); ok && tokens > 0 {
		t.Tokens, t.Cached, t.usage = tokens, cached, s.body.usage
		t.served.model = append(t.served.model[:0], s.body.served.model...)
		t.Model, t.Output = string(t.served.model), max(t.Output, int64(s.body.output))
	}
	return t
}

// addAll adds the prompts, now that all parts of their answers are known.
func (s *codeSession) addAll() error {
	var tokens []uint64
	for _, t := range s.order {
		t.Continue()
		left := ""
		switch {
		case t.copied:
			left = "that another file has, too"
		case t.Tokens == 0:
			left = "without a usage"
		case t.IsHuge():
			left = "with a usage of more than 16 million tokens"
		}
		if left != "" {
			s.leaveOut(left)
			continue
		}
		tokens = t.AppendAnswer(t.AppendTokens(tokens[:0]))
		t.ids, t.answerIDs = tokens[:t.Tokens], tokens[t.Tokens:]
		if err := s.add(&t.request); err != nil {
			return err
		}
		t.ids, t.answerIDs = nil, nil
	}
	return nil
}
