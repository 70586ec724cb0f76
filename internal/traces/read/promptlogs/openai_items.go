package promptlogs

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// item is a message of a request while it is read, or an item of OpenAI's Responses API: a call of a tool, its output,
// or a message.
type item struct {
	message
	kind      string
	id, name  []byte
	arguments []byte // of a call
	calls     []byte // of a message, as they are written
	output    []byte // of a call
	blocks
}

// blocks are parts of a content that other APIs have as fields or messages.
type blocks struct {
	uses    []chattemplate.ToolUse // of Anthropic: calls of tools
	results []message              // of Anthropic: what tools returned
	others  bool                   // there are parts that chat templates do not know by these names
}

// readMessage reads a message: its role, its text or the parts of its content, and its calls of tools as their JSON. It
// also reads the items of the Responses API.
func (b *body) readMessage(s *source.JSONScanner) error {
	if s.Peek() == '"' {
		text, err := s.String()
		b.messages = append(b.messages, message{Role: chattemplate.User, Text: text})
		return err
	}
	start := s.Pos
	var m item
	err := s.Object(func(key []byte) error { return b.readItemField(&m, key, s) })
	if err != nil {
		return err
	}
	b.addItem(&m, s.Text[start:s.Pos])
	return nil
}

func (b *body) readItemField(m *item, key []byte, s *source.JSONScanner) (err error) {
	switch string(key) {
	case "role":
		role, err := optional(s)
		m.Role = chattemplate.RoleOf(role)
		return err
	case "type":
		return readText(s, &m.kind)
	case "content":
		m.Text, err = b.readContent(s, &m.blocks)
	case "tool_calls", "function_call":
		m.calls, err = rawValue(s)
	case "call_id":
		return readText(s, &m.id)
	case "name":
		return readText(s, &m.name)
	case "arguments", "input":
		return readText(s, &m.arguments)
	case "output":
		m.output, err = b.readContent(s, &blocks{})
	default:
		return s.Skip()
	}
	return err
}

// addItem adds what a message or an item is in a chat. raw is how it is written.
func (b *body) addItem(m *item, raw []byte) {
	switch m.kind {
	case "function_call", "custom_tool_call":
		use := chattemplate.ToolUse{ID: m.id, Name: m.name, Arguments: m.arguments, Raw: raw}
		b.messages = append(b.messages, chattemplate.CallOf(use))
		return
	case "function_call_output", "custom_tool_call_output":
		b.messages = append(b.messages, chattemplate.ResultOf(m.id, m.output))
		return
	case "", "message":
	default:
		if m.Role == "" {
			b.parts = append(b.parts, itemName(m.kind))
			return
		}
	}
	m.Raw = raw
	if len(m.uses)+len(m.results) > 0 || m.others || m.Role == "" {
		m.Raw = chattemplate.MessageJSON(m.Role, m.Text, m.uses, nil)
	}
	m.Text = slices.Clip(m.Text) // what follows it in the line stays
	for _, use := range m.uses {
		m.Text = append(m.Text, use.Raw...)
	}
	m.Text = append(m.Text, m.calls...)
	b.messages = append(b.messages, m.results...)
	if len(m.results) == 0 || len(m.Text) > 0 {
		b.messages = append(b.messages, m.message)
	}
}

// itemName returns what items of a type are called that are left out.
func itemName(kind string) string {
	if name, ok := map[string]string{"reasoning": "reasoning", "item_reference": "references to items"}[kind]; ok {
		return name
	}
	return "calls of built-in tools"
}

// readContent reads a text, null, or an array of parts, and joins the parts with a text.
func (b *body) readContent(s *source.JSONScanner, found *blocks) (text []byte, err error) {
	switch s.Peek() {
	case '"':
		return s.String()
	case '[':
		err = s.Array(func() error {
			part, err := b.readPart(s, found)
			text = append(text, part...)
			return err
		})
		return text, err
	case '{':
		return b.readPart(s, found)
	}
	return nil, s.Skip()
}

// part is a part of a content.
type part struct {
	kind     string
	text     []byte
	hasText  bool
	id, name []byte
	input    []byte // of a call, as it is written
	content  []byte // of a result
}

// readPart reads a part of a content and returns its text. Calls of tools and their results go to found; nil means that
// none are expected.
func (b *body) readPart(s *source.JSONScanner, found *blocks) ([]byte, error) {
	switch s.Peek() {
	case '"':
		return s.String()
	case '{':
	default:
		return nil, s.Skip()
	}
	start := s.Pos
	var p part
	err := s.Object(func(key []byte) error { return b.readPartField(&p, key, s, found != nil) })
	if err != nil {
		return nil, err
	}
	switch {
	case found != nil && p.kind == "tool_use":
		found.uses = append(found.uses, chattemplate.ToolUse{ID: p.id, Name: p.name, Arguments: p.input,
			Raw: s.Text[start:s.Pos]})
		return nil, nil
	case found != nil && p.kind == "tool_result":
		found.results = append(found.results, chattemplate.ResultOf(p.id, p.content))
		return nil, nil
	}
	if found != nil {
		found.others = found.others || p.kind == "input_text" || p.kind == "output_text" || p.kind == "input_image"
	}
	if !p.hasText {
		b.parts = append(b.parts, partName(p.kind))
	}
	return p.text, nil
}

func (b *body) readPartField(p *part, key []byte, s *source.JSONScanner, mayNest bool) (err error) {
	switch string(key) {
	case "type":
		return readText(s, &p.kind)
	case "text", "refusal":
		if s.Peek() == '"' {
			p.hasText = true
			return readText(s, &p.text)
		}
	case "id", "tool_use_id":
		return readText(s, &p.id)
	case "name":
		return readText(s, &p.name)
	case "input":
		p.input, err = rawValue(s)
		return err
	case "content":
		if mayNest {
			p.content, err = b.readContent(s, nil)
			return err
		}
	}
	return s.Skip()
}
