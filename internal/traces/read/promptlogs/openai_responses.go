package promptlogs

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// responses follows requests of OpenAI's Responses API that continue an earlier response. The server knows its
// messages; the request lacks them.
type responses struct {
	known map[string]*response
}

// response is a request with its answer.
type response struct {
	before   *response
	messages []message // of the request and of the answer
	session  uint64    // the hash of the name of the first response
}

// mostNamed is the longest name of a response.
const mostNamed = 200

// complete puts the messages of earlier responses before those of a request, and remembers the request if its response
// has a name. It returns how many bytes it keeps.
func (r *responses) complete(b *body) (kept int64) {
	var before *response
	if b.previous != "" {
		if before = r.known[b.previous]; before == nil {
			b.leaveOutAs("continue a response that the log lacks")
			return 0
		}
	}
	own := b.messages
	if before != nil {
		b.messages = append(before.all(), own...)
		b.hasInput = true
	}
	if b.responseID == "" || b.leftOut != "" {
		if before != nil && !b.hasSession {
			b.session, b.hasSession = before.session, true
		}
		return 0
	}
	made := &response{before: before, session: stream.HashText([]byte(b.responseID))}
	if before != nil {
		made.session = before.session
	}
	for _, m := range slices.Concat(own, b.reply) {
		m.Text, m.Raw = bytes.Clone(m.Text), bytes.Clone(m.Raw)
		kept += int64(len(m.Text)+len(m.Raw)) + 64
		made.messages = append(made.messages, m)
	}
	if r.known == nil {
		r.known = map[string]*response{}
	}
	r.known[b.responseID] = made
	if !b.hasSession {
		b.session, b.hasSession = made.session, true
	}
	return kept + 200
}

// all returns the messages up to a response and with it.
func (r *response) all() []message {
	var chain []*response
	n := 0
	for ; r != nil; r = r.before {
		chain = append(chain, r)
		n += len(r.messages)
	}
	messages := make([]message, 0, n+8)
	for _, r := range slices.Backward(chain) {
		messages = append(messages, r.messages...)
	}
	return messages
}

// leaveOutAs says why a request is no prompt, if nothing else has been said.
func (b *body) leaveOutAs(why string) {
	if b.leftOut == "" {
		b.leftOut = why
	}
}

// readSystem reads instructions; answers repeat them, or have null.
func (b *body) readSystem(s *source.JSONScanner) error {
	system, err := b.readContent(s, nil)
	if len(system) > 0 {
		b.system = system
	}
	return err
}

func (b *body) readPrevious(s *source.JSONScanner) error {
	name, err := optionalName(s)
	b.previous = cmp.Or(name, b.previous)
	return err
}

func (b *body) readResponseID(s *source.JSONScanner) error {
	name, err := optionalName(s)
	if strings.HasPrefix(name, "resp_") {
		b.responseID = name
	}
	return err
}

// readModel reads the name of a model. That of the request counts, rather than that of the answer.
func (b *body) readModel(s *source.JSONScanner) error {
	name, err := optionalName(s)
	b.notOfEmbeddings(name)
	if name != "" && (!b.answering || len(b.served.model) == 0) {
		b.served.model = append(b.served.model[:0], name...)
	}
	return err
}

// readURL reads the name of a part of the API.
func (b *body) readURL(s *source.JSONScanner) error {
	name, err := optionalName(s)
	b.notOfEmbeddings(name)
	return err
}

func (b *body) notOfEmbeddings(name string) {
	if strings.Contains(name, "embed") || strings.Contains(name, "moderation") {
		b.leaveOutAs(otherCalls)
	}
}

const otherCalls = "of other calls, such as embeddings"

// optionalName reads a name; nothing for any other value.
func optionalName(s *source.JSONScanner) (string, error) {
	name, err := optional(s)
	return string(name[:min(len(name), mostNamed)]), err
}

// readConversation reads the name of a conversation whose messages the server keeps. The log lacks them.
func (b *body) readConversation(s *source.JSONScanner) (err error) {
	var name []byte
	if s.Peek() == '{' {
		err = s.Object(func(key []byte) error {
			if string(key) != "id" {
				return s.Skip()
			}
			return readText(s, &name)
		})
	} else {
		name, err = optional(s)
	}
	if err == nil && strings.HasPrefix(string(name), "conv_") {
		b.parts = append(b.parts, "stored conversations")
		if !b.hasSession {
			b.session, b.hasSession = stream.HashText(name), true
		}
	}
	return err
}

// readReplies reads the items of an answer of the Responses API.
func (b *body) readReplies(s *source.JSONScanner) error {
	if s.Peek() != '[' {
		return s.Skip()
	}
	own, parts := b.messages, len(b.parts)
	b.messages = nil
	err := s.Array(func() error { return b.readMessage(s) })
	b.reply, b.messages, b.parts = b.messages, own, b.parts[:parts]
	for _, m := range b.reply {
		b.addAnswer(m.Text)
		b.calls = b.calls || m.Role != chattemplate.Assistant || bytes.Contains(m.Raw, []byte("call"))
	}
	return err
}

// readAnthropicAnswer reads the blocks of an answer of Anthropic's API.
func (b *body) readAnthropicAnswer(s *source.JSONScanner) error {
	if s.Peek() != '[' {
		return s.Skip()
	}
	parts := len(b.parts)
	var found blocks
	text, err := b.readContent(s, &found)
	b.parts = b.parts[:parts]
	b.addAnswer(text)
	for _, use := range found.uses {
		b.addAnswer(use.Raw)
		b.calls = true
	}
	return err
}
