package agentlogs

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// message is one of OpenAI's API.
type message struct {
	Role      string `json:"role"`
	Content   any    `json:"content"` // a text, or parts
	Reasoning string `json:"reasoning_content,omitempty"`
	Calls     []call `json:"tool_calls,omitempty"`
	CallID    string `json:"tool_call_id,omitempty"`
}

// call is a call of a tool.
type call struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func callOf(id, name string, arguments json.RawMessage) call {
	c := call{ID: id, Type: "function"}
	c.Function.Name, c.Function.Arguments = name, plain(arguments)
	return c
}

// plain returns a text, or any other value as short JSON.
func plain(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

// parts is a message as the conventions of OpenTelemetry have it since 2025.
type parts struct {
	Role  string
	Parts []part
}

type part struct {
	Type, Name, ID                       string
	Content, Arguments, Response, Result json.RawMessage
}

// UnmarshalJSON also takes a content that is a text, instead of parts.
func (m *parts) UnmarshalJSON(text []byte) error {
	var fields struct {
		Role    string
		Parts   []part
		Content json.RawMessage
	}
	err := json.Unmarshal(text, &fields)
	if m.Role, m.Parts = fields.Role, fields.Parts; m.Parts == nil && len(fields.Content) > 0 {
		m.Parts = []part{{Type: "text", Content: fields.Content}}
	}
	return err
}

// contentPart is a part of a content: a text, or something of another type.
type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
}

// contentOf returns the content of a message with these parts: a single text is no list.
func contentOf(parts []contentPart) any {
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) == 1 && parts[0].Type == "text":
		return parts[0].Text
	}
	return parts
}

// messages returns the message, and before it the results of tools that are among its parts.
func (m parts) messages() (all []*message) {
	own := &message{Role: m.Role}
	var content []contentPart
	for _, p := range m.Parts {
		switch p.Type {
		case "text", "":
			content = append(content, contentPart{"text", plain(p.Content)})
		case "tool_call":
			own.Calls = append(own.Calls, callOf(p.ID, p.Name, p.Arguments))
		case "tool_call_response":
			result := p.Response
			if result == nil {
				result = p.Result
			}
			all = append(all, &message{Role: "tool", CallID: p.ID, Content: plain(result)})
		case "reasoning":
			own.Reasoning += plain(p.Content)
		default: // images, files
			content = append(content, contentPart{Type: p.Type})
		}
	}
	if own.Content = contentOf(content); own.Content != nil || len(own.Calls) > 0 || len(all) == 0 {
		all = append(all, own)
	}
	return all
}

// unquoted returns the JSON in an attribute, which may be a text that is JSON.
func unquoted(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return json.RawMessage(text)
	}
	return value
}

// listed returns the messages of an attribute.
func (a attributes) listed(name string) (all []*message) {
	var of []parts
	if json.Unmarshal(unquoted(a[name]), &of) != nil {
		return nil
	}
	for _, m := range of {
		all = append(all, m.messages()...)
	}
	return all
}

// input returns the messages of a prompt: of the conventions of OpenTelemetry since 2025, then those of OpenLLMetry, of
// OpenInference, and of OpenTelemetry before.
func (a attributes) input() []*message {
	if all := a.listed("gen_ai.input.messages"); len(all) > 0 {
		var system []part
		if json.Unmarshal(unquoted(a["gen_ai.system_instructions"]), &system) == nil && len(system) > 0 {
			all = slices.Concat(parts{"system", system}.messages(), all)
		}
		return all
	}
	for _, of := range []string{"gen_ai.prompt.", "llm.input_messages."} {
		if all := a.numbered(of); len(all) > 0 {
			return all
		}
	}
	return a.listed("gen_ai.prompt")
}

// output returns the messages of an answer.
func (a attributes) output() []*message {
	if all := a.listed("gen_ai.output.messages"); len(all) > 0 {
		return all
	}
	for _, of := range []string{"gen_ai.completion.", "llm.output_messages."} {
		if all := a.numbered(of); len(all) > 0 {
			return all
		}
	}
	return a.listed("gen_ai.completion")
}

// mostNumbered is how many messages, calls or parts attributes may number.
const mostNumbered = 1 << 20

// grouped returns the attributes whose names begin so, by the number that follows, with the rest of their names.
func (a attributes) grouped(begin string) map[int]attributes {
	groups := map[int]attributes{}
	for name, value := range a {
		rest, ok := strings.CutPrefix(name, begin)
		number, rest, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n < mostNumbered {
			if groups[n] == nil {
				groups[n] = attributes{}
			}
			groups[n][rest] = value
		}
	}
	return groups
}

// inOrder calls visit with groups in the order of their numbers.
func inOrder(groups map[int]attributes, visit func(attributes)) {
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		visit(groups[n])
	}
}

// numbered returns messages whose parts are attributes: gen_ai.prompt.0.content, or
// llm.input_messages.0.message.content.
func (a attributes) numbered(begin string) (all []*message) {
	inOrder(a.grouped(begin), func(of attributes) {
		plainly := attributes{}
		for name, value := range of {
			for _, word := range []string{"message.", "tool_call.", "function.", "message_content."} {
				name = strings.Replace(name, word, "", 1)
			}
			plainly[name] = value
		}
		m := &message{Role: plainly.text("role"), CallID: plainly.text("tool_call_id")}
		var content []contentPart
		inOrder(plainly.grouped("contents."), func(p attributes) {
			content = append(content, contentPart{p.text("type"), p.text("text")})
		})
		if m.Content = contentOf(content); m.Content == nil {
			m.Content = contentIn(plainly["content"])
		}
		inOrder(plainly.grouped("tool_calls."), func(c attributes) {
			m.Calls = append(m.Calls, callOf(c.text("id"), c.text("name"), c["arguments"]))
		})
		if m.Content != nil || len(m.Calls) > 0 || m.Role != "" {
			all = append(all, m)
		}
	})
	return all
}

// contentIn returns a content that is a text, or a text that is a list of parts.
func contentIn(value json.RawMessage) any {
	if value == nil {
		return nil
	}
	text := plain(value)
	var list []contentPart
	if strings.HasPrefix(text, "[{") && json.Unmarshal([]byte(text), &list) == nil &&
		!slices.ContainsFunc(list, func(p contentPart) bool { return p.Type == "" }) {
		return contentOf(list)
	}
	return text
}

// tools returns the definitions of tools, as JSON.
func (a attributes) tools() json.RawMessage {
	var all []any
	var list []map[string]json.RawMessage
	if json.Unmarshal(unquoted(a["gen_ai.tool.definitions"]), &list) == nil {
		for _, t := range list {
			all = append(all, toolOf(t))
		}
	}
	inOrder(a.grouped("llm.tools."), func(t attributes) {
		if schema := unquoted(t["tool.json_schema"]); json.Valid(schema) {
			all = append(all, schema)
		}
	})
	inOrder(a.grouped("llm.request.functions."), func(f attributes) {
		all = append(all, toolOf(map[string]json.RawMessage{"name": f["name"], "description": f["description"],
			"parameters": unquoted(f["parameters"])}))
	})
	if all == nil {
		return nil
	}
	text, err := jsonlines.Marshal(all)
	if err != nil {
		return nil
	}
	return text
}

// function is what a tool does.
type function struct {
	Name        json.RawMessage `json:"name,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// toolOf returns the definition of a tool as OpenAI's API has it: the conventions have what it does beside its type.
func toolOf(fields map[string]json.RawMessage) any {
	if fields["function"] != nil || fields["name"] == nil {
		return fields
	}
	if !json.Valid(fields["parameters"]) {
		delete(fields, "parameters")
	}
	return struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{fields["name"], fields["description"], fields["parameters"]}}
}
