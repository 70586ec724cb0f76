package promptlogs

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var conversationsFormat = source.Format{
	Name:    "conversations",
	Options: ConversationOptions(source.TimeUnitOption()),
	JSON:    true,
	Whole:   true,
	Detect:  source.CertainIf(looksLikeConversations),
	Open:    openConversations,
}

// ConversationOptions are the options of files of conversations, in JSON or in Parquet.
func ConversationOptions(more ...params.Param) []params.Param {
	return messageOptions(append([]params.Param{{Name: concurrentOption, Default: 1, Min: 1, Max: 1_000_000,
		Doc: "conversations that take turns, if messages have no times; 1: one after another"}}, more...)...)
}

const concurrentOption = "concurrent"

func looksLikeConversations(head source.Head) bool {
	names, found := map[string]bool{}, false
	eachInHead(head, &found, func(s *source.JSONScanner, key []byte) error {
		if name := string(key); name != "conversations" && name != "conversation" {
			return s.Skip()
		}
		return eachElement(s, func() error {
			return s.Object(func(key []byte) error {
				names[string(key)] = true
				found = found || names["from"] && names["value"] || names["role"] && names["content"]
				return s.Skip()
			})
		})
	})
	return found
}

// eachInHead calls field with the fields of the objects at the beginning of a file, one after another or in an array,
// until found is true.
func eachInHead(head source.Head, found *bool, field func(s *source.JSONScanner, key []byte) error) {
	s := &source.JSONScanner{Text: head.Bytes}
	s.Take('[')
	// It fails where the head ends.
	for !*found && s.Object(func(key []byte) error { return field(s, key) }) == nil {
		s.Take(',')
	}
}

// Turn is a message of a conversation.
type Turn struct {
	Role, Text []byte
	When       []byte // its time, a date or a number of units; nil without
	Time       int64  // likewise in nanoseconds, if Timed
	Timed      bool
	Model      []byte // that answers, of a conversation; nil if the data set does not say
}

// Conversations makes prompts of conversations.
type Conversations struct {
	collector  *collector
	request    request
	timed      bool // the first answer has a time
	begun      bool
	concurrent int
}

// NewConversations returns an empty collection for a file, with the values of ConversationOptions.
func NewConversations(src *source.Source, opts params.Values) (*Conversations, error) {
	c, err := newCollector(src, opts, "conversations in JSON, an object on a line or in an array, "+
		"with conversation or conversations, an array of messages")
	if err != nil {
		return nil, err
	}
	c.whole = true
	return &Conversations{collector: c, concurrent: opts.Int(concurrentOption)}, nil
}

// Add makes a prompt for each answer of the model: everything before it. Its time is that of the answer, which data
// sets state, or else that of the conversation. Turns are valid during the call.
func (c *Conversations) Add(turns []Turn, conversation Turn) error {
	q := &c.request
	q.reset()
	session := c.collector.threads.Begun
	c.collector.threads.Begun++
	answered := 0
	for i, turn := range turns {
		role := chattemplate.RoleOf(turn.Role)
		if role == chattemplate.Assistant && len(q.messages) == 0 {
			c.collector.leaveOut("answers before the first message")
		} else if role == chattemplate.Assistant {
			if !c.begun {
				c.begun, c.timed = true, turn.When != nil || turn.Timed
			}
			if !c.timed {
				turn.When, turn.Time, turn.Timed = conversation.When, conversation.Time, conversation.Timed
			}
			q.session, q.hasSession = session, true
			q.when, q.at, q.timed = turn.When, turn.Time, turn.Timed
			q.answer, q.output, q.served.model = slices.Clip(turn.Text), -1, conversation.Model
			if turn.Text == nil {
				q.answer = []byte{}
			}
			if err := c.collector.add(q); err != nil {
				return err
			}
			answered = i + 1
		}
		q.messages = append(q.messages, message{Role: role, Text: turn.Text})
	}
	if answered < len(turns) {
		c.collector.leaveOut("messages without an answer, at the end of a conversation")
	}
	return nil
}

// Open returns the reader of all prompts, and states how they were read.
func (c *Conversations) Open() (stream.Reader, stream.Fields, error) {
	if c.concurrent > 1 {
		if c.collector.timed {
			return nil, stream.Fields{}, c.collector.src.Errorf("the option concurrent=%d has no effect: the messages have "+
				"times; remove it", c.concurrent)
		}
		c.collector.takeTurns(c.concurrent)
	}
	return c.collector.open()
}

func openConversations(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	c, err := NewConversations(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	var turns []Turn
	err = c.collector.eachObject("list of conversations", func(s *source.JSONScanner) error {
		turns = turns[:0]
		var whole Turn
		found := false
		err := s.Object(func(key []byte) (err error) {
			switch string(key) {
			case "conversations", "conversation":
				if found = true; s.Null() {
					return nil
				}
				return s.Array(func() error {
					turn, err := readTurn(s)
					turns = append(turns, turn)
					return err
				})
			case "timestamp":
				whole.When, err = timeText(s)
				return err
			case "model":
				return readText(s, &whole.Model)
			}
			return s.Skip()
		})
		switch {
		case err != nil:
			return err
		case !found:
			return errors.New("no conversations or conversation")
		}
		return c.Add(turns, whole)
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	return c.Open()
}

// readTurn reads a message of a data set.
func readTurn(s *source.JSONScanner) (turn Turn, err error) {
	err = s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "from", "role":
			return readText(s, &turn.Role)
		case "value", "content":
			return readText(s, &turn.Text)
		case "timestamp":
			turn.When, err = timeText(s)
			return err
		}
		return s.Skip()
	})
	if err == nil && len(bytes.TrimSpace(turn.Role)) == 0 {
		err = errors.New("a message without from or role")
	}
	return turn, err
}
