package prompts

import (
	"encoding/json"
	"slices"

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
	uses    []toolUse // of Anthropic: calls of tools
	results []message // of Anthropic: what tools returned
	others  bool      // there are parts that chat templates do not know by these names
}

// toolUse is a call of a tool.
type toolUse struct{ id, name, arguments, raw []byte }

// readMessage reads a message: its role, its text or the parts of its content, and its calls of tools as their JSON. It
// also reads the items of the Responses API.
func (b *body) readMessage(s *source.JSONScanner) error {
	if s.Peek() == '"' {
		text, err := s.String()
		b.messages = append(b.messages, message{role: roleUser, text: text})
		return err
	}
	start := s.Pos
	var m item
	err := s.Object(func(key []byte) error { return b.readItemField(&m, string(key), s) })
	if err != nil {
		return err
	}
	b.addItem(&m, s.Text[start:s.Pos])
	return nil
}

func (b *body) readItemField(m *item, key string, s *source.JSONScanner) (err error) {
	switch key {
	case "role":
		var role []byte
		role, err = optional(s)
		m.role = roleOf(role)
	case "type":
		var kind []byte
		kind, err = optional(s)
		m.kind = string(kind)
	case "content":
		m.text, err = b.readContent(s, &m.blocks)
	case "tool_calls", "function_call":
		m.calls, err = rawValue(s)
	case "call_id":
		m.id, err = optional(s)
	case "name":
		m.name, err = optional(s)
	case "arguments", "input":
		m.arguments, err = optional(s)
	case "output":
		m.output, err = b.readContent(s, &blocks{})
	default:
		err = s.Skip()
	}
	return err
}

// addItem adds what a message or an item is in a chat. raw is how it is written.
func (b *body) addItem(m *item, raw []byte) {
	switch m.kind {
	case "function_call", "custom_tool_call":
		b.messages = append(b.messages, message{roleAssistant, raw, chatJSON(roleAssistant, nil, []toolUse{{m.id, m.name,
			m.arguments, raw}}, nil)})
		return
	case "function_call_output", "custom_tool_call_output":
		b.messages = append(b.messages, message{roleTool, m.output, chatJSON(roleTool, m.output, nil, m.id)})
		return
	case "", "message":
	default:
		if m.role == "" {
			b.parts = append(b.parts, itemName(m.kind))
			return
		}
	}
	m.raw = raw
	if len(m.uses)+len(m.results) > 0 || m.others || m.role == "" {
		m.raw = chatJSON(m.role, m.text, m.uses, nil)
	}
	for _, use := range m.uses {
		m.text = append(slices.Clip(m.text), use.raw...)
	}
	m.text = append(slices.Clip(m.text), m.calls...)
	b.messages = append(b.messages, m.results...)
	if len(m.results) == 0 || len(m.text) > 0 {
		b.messages = append(b.messages, m.message)
	}
}

// itemName returns what items of a type are called that are left out.
func itemName(kind string) string {
	switch kind {
	case "reasoning":
		return "reasoning"
	case "item_reference":
		return "references to items"
	}
	return "calls of built-in tools"
}

// readContent reads a text, null, or an array of parts, of which those that have a text are joined.
func (b *body) readContent(s *source.JSONScanner, found *blocks) (text []byte, err error) {
	switch s.Peek() {
	case '"':
		return s.String()
	case '[':
		err = s.Array(func() error {
			part, err := b.readPart(s, found)
			text = append(slices.Clip(text), part...)
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
	err := s.Object(func(key []byte) error { return b.readPartField(&p, string(key), s, found != nil) })
	if err != nil {
		return nil, err
	}
	switch {
	case found != nil && p.kind == "tool_use":
		found.uses = append(found.uses, toolUse{p.id, p.name, p.input, s.Text[start:s.Pos]})
		return nil, nil
	case found != nil && p.kind == "tool_result":
		found.results = append(found.results, message{roleTool, p.content, chatJSON(roleTool, p.content, nil, p.id)})
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

func (b *body) readPartField(p *part, key string, s *source.JSONScanner, mayNest bool) (err error) {
	switch key {
	case "type":
		var name []byte
		name, err = optional(s)
		p.kind = string(name)
	case "text", "refusal":
		if s.Peek() != '"' {
			return s.Skip()
		}
		p.hasText = true
		p.text, err = s.String()
	case "id", "tool_use_id":
		p.id, err = optional(s)
	case "name":
		p.name, err = optional(s)
	case "input":
		p.input, err = rawValue(s)
	case "content":
		if !mayNest {
			return s.Skip()
		}
		p.content, err = b.readContent(s, nil)
	default:
		err = s.Skip()
	}
	return err
}

// chatJSON returns a message as chat templates know it.
func chatJSON(role string, text []byte, calls []toolUse, answers []byte) []byte {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	m := struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Calls   []call `json:"tool_calls,omitempty"`
		Answers string `json:"tool_call_id,omitempty"`
	}{Role: role, Content: string(text), Answers: string(answers)}
	for _, c := range calls {
		m.Calls = append(m.Calls, call{string(c.id), "function", function{string(c.name), string(c.arguments)}})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts can always be written
	}
	return raw
}

// chatTools returns definitions of tools as chat templates know them: those of the Responses API and of Anthropic have
// the fields of a function in the tool itself.
func chatTools(raw []byte) []byte {
	var tools []map[string]json.RawMessage
	if json.Unmarshal(raw, &tools) != nil {
		return raw
	}
	type function struct {
		Name        json.RawMessage `json:"name,omitempty"`
		Description json.RawMessage `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	all := make([]tool, 0, len(tools))
	for _, t := range tools {
		if t["function"] != nil || t["name"] == nil {
			return raw
		}
		parameters := t["parameters"]
		if parameters == nil {
			parameters = t["input_schema"]
		}
		all = append(all, tool{"function", function{t["name"], t["description"], parameters}})
	}
	written, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return written
}
