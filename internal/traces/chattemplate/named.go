package chattemplate

import (
	"bytes"
	"strings"
)

// Message is a turn of a conversation.
type Message struct {
	Role string
	Text []byte
	Raw  []byte // as chat templates know it, in JSON; nil if that is its role and its text
}

// Named lays the messages of a prompt out as one text, as the chat template of a family of models does. Its zero
// value puts one content after another.
type Named struct {
	Name  string
	doc   string            // whose template it is
	begin string            // before everything
	turns map[string]around // by role; "" are all others. ROLE is replaced by the role
	// system is what is around the system's text within the user's first turn, for templates without a turn for it.
	system *around
	answer string // after the last message, from where the model continues
	trim   bool   // white space around contents is left out
	// dropsEmpty says that an empty system message is left out.
	dropsEmpty bool
}

type around struct{ before, after string }

// Plain is the template that puts one content after another.
const Plain = "none"

// Templates are the chat templates of common models, without what they make up: dates, default system messages and
// instructions on how to call tools.
var Templates = []Named{
	{Name: Plain, doc: "one content after another"},
	{Name: "chatml", doc: "Qwen 2 and 3, Yi, Hermes, SmolLM2",
		turns: map[string]around{"": {"<|im_start|>ROLE\n", "<|im_end|>\n"}}, answer: "<|im_start|>assistant\n"},
	{Name: "llama-2", doc: "Llama 2",
		turns:  map[string]around{"": {"<s>[INST] ", " [/INST]"}, "assistant": {" ", " </s>"}},
		system: &around{"<<SYS>>\n", "\n<</SYS>>\n\n"}, trim: true},
	{Name: "llama-3", doc: "Llama 3, without the dates of 3.1", begin: "<|begin_of_text|>",
		turns:  map[string]around{"": {"<|start_header_id|>ROLE<|end_header_id|>\n\n", "<|eot_id|>"}},
		answer: "<|start_header_id|>assistant<|end_header_id|>\n\n", trim: true},
	{Name: "llama-4", doc: "Llama 4", begin: "<|begin_of_text|>",
		turns:  map[string]around{"": {"<|header_start|>ROLE<|header_end|>\n\n", "<|eot|>"}},
		answer: "<|header_start|>assistant<|header_end|>\n\n", trim: true},
	{Name: "mistral", doc: "Mistral's V7-Tekken: Mistral Small 3, Large 2411", begin: "<s>",
		turns: map[string]around{"system": {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"}, "": {"[INST]", "[/INST]"},
			"assistant": {"", "</s>"}, "tool": {"[TOOL_RESULTS]", "[/TOOL_RESULTS]"}}},
	{Name: "gemma", doc: "Gemma 1 to 3", begin: "<bos>",
		turns: map[string]around{"": {"<start_of_turn>user\n", "<end_of_turn>\n"},
			"assistant": {"<start_of_turn>model\n", "<end_of_turn>\n"}},
		system: &around{"", "\n\n"}, answer: "<start_of_turn>model\n", trim: true},
	{Name: "deepseek", doc: "DeepSeek V2.5 and V3", begin: "<｜begin▁of▁sentence｜>",
		turns: map[string]around{"system": {}, "": {"<｜User｜>", ""}, "assistant": {"<｜Assistant｜>",
			"<｜end▁of▁sentence｜>"}}, answer: "<｜Assistant｜>"},
	{Name: "phi", doc: "Phi 3", turns: map[string]around{"": {"<|ROLE|>\n", "<|end|>\n"}}, answer: "<|assistant|>\n",
		dropsEmpty: true},
}

// NamedOf returns the template of a name; nil if there is none.
func NamedOf(name string) *Named {
	for i := range Templates {
		if Templates[i].Name == name {
			return &Templates[i]
		}
	}
	return nil
}

// IsPlain reports whether a template puts one content after another.
func (t *Named) IsPlain() bool { return t.turns == nil }

// Render appends the text of a prompt.
func (t *Named) Render(to []byte, messages []Message) []byte {
	if t.turns == nil {
		for _, m := range messages {
			to = append(to, m.Text...)
		}
		return to
	}
	to = append(to, t.begin...)
	var system []byte // goes into the next turn
	for i, m := range messages {
		text := m.Text
		if t.dropsEmpty && m.Role == System && len(text) == 0 {
			continue
		}
		if t.trim {
			text = bytes.TrimSpace(text)
		}
		if t.system != nil && m.Role == System && i+1 < len(messages) {
			system = append(append(append(system, t.system.before...), text...), t.system.after...)
			continue
		}
		turn, ok := t.turns[m.Role]
		if !ok {
			turn = t.turns[""]
		}
		to = append(to, strings.ReplaceAll(turn.before, "ROLE", m.Role)...)
		to = append(append(to, system...), text...)
		system = nil
		to = append(to, turn.after...)
	}
	return append(to, t.answer...)
}

// Roles of messages.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// RoleOf returns the role that data sets and servers write in different ways.
func RoleOf(name []byte) string {
	switch string(name) {
	case "system", "developer":
		return System
	case "human", "user", "prompter":
		return User
	case "gpt", "assistant", "chatgpt", "bard", "bing", "model", "ai":
		return Assistant
	case "function", "tool", "ipython":
		return Tool
	}
	return string(name)
}
