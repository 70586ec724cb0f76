package promptlogs

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// claudeCodeFormat reads the sessions that Claude Code keeps (~/.claude/projects/*/*.jsonl). They have the messages, but
// neither the system prompt nor the definitions of tools, which are most of a prompt. So a prompt is as long as its usage
// says, and its tokens are known by where they come from: a prompt goes on where the one before it ended.
var claudeCodeFormat = source.Format{
	Name: "claude-code",
	Options: []params.Param{{Name: "block", Default: 16, Min: 1, Max: maxBlockTokens, Doc: "tokens in a block; a last, " +
		"partial block is left out"}, source.TimeUnitOption(), tenantParam(), shareParam()},
	JSON:   true,
	Whole:  true,
	Detect: detectClaudeCode,
	Open:   openClaudeCode,
}

func detectClaudeCode(head source.Head, _ string) source.Confidence {
	for i := range head.Lines {
		fields := fieldsOf(source.Head{Bytes: head.Lines[i], Lines: head.Lines[i : i+1]}, nil)
		if fields["parentUuid"] != 0 && fields["sessionId"] == '"' && fields["uuid"] == '"' {
			return source.Certain
		}
	}
	return source.No
}

func openClaudeCode(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := newCollector(src, opts, "a session of Claude Code, with answers that have a usage")
	if err != nil {
		return nil, stream.Fields{}, err
	}
	s := &codeSession{collector: c, turns: map[string]*turn{}, answers: map[string]*turn{}}
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
	turns   map[string]*turn // by the ids of lines: the last answer so far
	times   map[string][]byte
	answers map[string]*turn // by their ids
	order   []*turn
}

// turn is a prompt with its answer.
type turn struct {
	request
	before *turn  // that the prompt goes on from; nil for the first of a conversation
	tokens int64  // of the prompt
	output int64  // of the answer
	cached int64  // tokens of the prompt that the server had
	shared int64  // tokens that are those of the turn before, and of its answer; of a first one, of its model
	own    uint64 // makes its tokens different from all others
}

// line is what a line says of itself.
type line struct {
	uuid, parent, session, agent, id, kind string
	when                                   []byte
}

func (s *codeSession) read(scanner *source.JSONScanner) error {
	var l line
	s.body.reset()
	err := scanner.Object(func(key []byte) (err error) {
		switch string(key) {
		case "uuid":
			l.uuid, err = optionalName(scanner)
		case "parentUuid", "logicalParentUuid":
			if l.parent == "" {
				l.parent, err = optionalName(scanner)
				return err
			}
			return scanner.Skip()
		case "sessionId":
			l.session, err = optionalName(scanner)
		case "agentId":
			l.agent, err = optionalName(scanner)
		case "type":
			l.kind, err = optionalName(scanner)
		case "timestamp":
			l.when, err = timeText(scanner)
		case "message":
			return s.readMessage(scanner, &l)
		default:
			return scanner.Skip()
		}
		return err
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
	before := s.turns[l.parent]
	tokens, cached, counted := s.body.usage.Prompt()
	if l.kind != "assistant" || l.id == "" {
		s.turns[l.uuid] = before
		s.remember(l)
		return s.checkBudget(200)
	}
	t, known := s.answers[l.id]
	if !known {
		t = &turn{before: before, own: stream.HashText([]byte(l.id))}
		t.request.reset()
		if t.when = s.times[l.parent]; t.when == nil {
			t.when = slices.Clone(l.when)
		}
		t.session, t.hasSession = stream.HashText([]byte(l.session+" "+l.agent)), true
		s.answers[l.id], s.order = t, append(s.order, t)
	}
	s.turns[l.uuid] = t
	s.remember(l)
	if counted && tokens > 0 {
		t.tokens, t.cached, t.usage = tokens, cached, s.body.usage
		t.served.model = append(t.served.model[:0], s.body.served.model...)
		t.output = max(t.output, int64(s.body.output))
	}
	return s.checkBudget(400)
}

// remember keeps the time of a line: a prompt was sent when the message before its answer was written.
func (s *codeSession) remember(l *line) {
	if s.times == nil {
		s.times = map[string][]byte{}
	}
	if l.when != nil {
		s.times[l.uuid] = slices.Clone(l.when)
	}
}

// mostOfUsage is more tokens than any model takes: what a file claims does not decide how much memory it gets.
const mostOfUsage = 1 << 24

// addAll adds the prompts, now that all parts of their answers are known.
func (s *codeSession) addAll() error {
	for _, t := range s.order {
		if t.before != nil && (t.before.tokens > mostOfUsage || t.before.output > mostOfUsage) {
			t.before = nil
		}
		if t.tokens == 0 {
			s.leaveOut("without a usage")
			continue
		}
		if t.tokens > mostOfUsage || t.output > mostOfUsage {
			s.leaveOut("with a usage of more than 16 million tokens")
			continue
		}
		t.continues()
		t.ids = t.appendTokens(s.body.ids[:0])
		if t.output > 0 {
			t.answerIDs = make([]uint64, t.output)
			number(t.answerIDs, t.answerTokens(), 0)
		}
		if err := s.add(&t.request); err != nil {
			return err
		}
		s.body.ids, t.ids, t.answerIDs = t.ids, nil, nil
	}
	return nil
}

// continues finds out which tokens a prompt has from the turn before. If it is longer than that prompt and its answer,
// it goes on from there, and if it is longer than the prompt alone, the answer is not in it. After a compaction it is
// shorter: what the server had of it is what stayed. So it is with the first prompt of a conversation, whose beginning
// is what the server had of it: the system prompt and the tools.
func (t *turn) continues() {
	switch b := t.before; {
	case b != nil && b.tokens > 0 && t.tokens >= b.tokens+b.output:
		t.shared = b.tokens + b.output
	case b != nil && b.tokens > 0 && t.tokens >= b.tokens:
		t.shared = b.tokens
	default:
		t.shared = min(max(0, t.cached), t.tokens)
	}
}

// answerTokens is what makes the tokens of the answer different from all others.
func (t *turn) answerTokens() uint64 { return random.Scramble(t.own) }

// appendTokens appends the tokens of the prompt.
func (t *turn) appendTokens(to []uint64) []uint64 {
	n := len(to)
	to = append(to, make([]uint64, t.tokens)...)
	tokens := to[n:]
	for end := t.tokens; end > 0; t = t.before {
		if end > t.shared {
			number(tokens[t.shared:end], t.own, t.shared)
			end = t.shared
		}
		if t.before == nil {
			number(tokens[:end], stream.HashText(append([]byte("model "), t.served.model...)), 0)
			break
		}
		if from := t.before.tokens; end > from {
			number(tokens[from:end], t.before.answerTokens(), 0)
			end = from
		}
	}
	return to
}

// number numbers tokens of one origin by their places there.
func number(tokens []uint64, origin uint64, from int64) {
	for i := range tokens {
		tokens[i] = origin + uint64(from) + uint64(i)
	}
}
