package chattemplate

import (
	"encoding/json"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// ToolUse is a call of a tool: its arguments as JSON, and the call as the log writes it.
type ToolUse struct{ ID, Name, Arguments, Raw []byte }

// MessageJSON returns a message as chat templates know it.
func MessageJSON(role string, text []byte, calls []ToolUse, answers []byte) []byte {
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
		m.Calls = append(m.Calls, call{string(c.ID), "function", function{string(c.Name), string(c.Arguments)}})
	}
	raw, err := jsonlines.Marshal(m)
	if err != nil {
		panic(err) // texts can always be written
	}
	return raw
}

// ToolsJSON returns definitions of tools as chat templates know them: those of the Responses API and of Anthropic have
// the fields of a function in the tool itself.
func ToolsJSON(raw []byte) []byte {
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
	written, err := jsonlines.Marshal(all)
	if err != nil {
		return raw
	}
	return written
}

// CallOf returns a message of the model that calls a tool. Its text is the call as the log writes it.
func CallOf(use ToolUse) Message {
	return Message{Role: Assistant, Text: use.Raw, Raw: MessageJSON(Assistant, nil, []ToolUse{use}, nil)}
}

// ResultOf returns the message of a tool that answers the call of a name.
func ResultOf(call, text []byte) Message {
	return Message{Role: Tool, Text: text, Raw: MessageJSON(Tool, text, nil, call)}
}

// Add adds messages to a conversation.
func (c *Conversation) Add(messages []Message) {
	for _, m := range messages {
		if m.Raw == nil {
			m.Raw = MessageJSON(m.Role, m.Text, nil, nil)
		}
		c.Messages = append(c.Messages, m.Raw)
	}
}
