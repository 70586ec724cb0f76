package prompts

import (
	"bytes"
	"strings"
)

// message is a turn of a conversation.
type message struct {
	role string
	text []byte
	raw  []byte // as chat templates know it, in JSON; nil if that is its role and its text
}

// template lays the messages of a prompt out as one text, as the chat template of a family of models does. Its zero
// value puts one content after another.
type template struct {
	name  string
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

const plainTemplate = "none"

// templates are the chat templates of common models, without what they make up: dates, default system messages and
// instructions on how to call tools.
var templates = []template{
	{name: plainTemplate, doc: "one content after another"},
	{name: "chatml", doc: "Qwen 2 and 3, Yi, Hermes, SmolLM2",
		turns: map[string]around{"": {"<|im_start|>ROLE\n", "<|im_end|>\n"}}, answer: "<|im_start|>assistant\n"},
	{name: "llama-2", doc: "Llama 2",
		turns:  map[string]around{"": {"<s>[INST] ", " [/INST]"}, "assistant": {" ", " </s>"}},
		system: &around{"<<SYS>>\n", "\n<</SYS>>\n\n"}, trim: true},
	{name: "llama-3", doc: "Llama 3, without the dates of 3.1", begin: "<|begin_of_text|>",
		turns:  map[string]around{"": {"<|start_header_id|>ROLE<|end_header_id|>\n\n", "<|eot_id|>"}},
		answer: "<|start_header_id|>assistant<|end_header_id|>\n\n", trim: true},
	{name: "llama-4", doc: "Llama 4", begin: "<|begin_of_text|>",
		turns:  map[string]around{"": {"<|header_start|>ROLE<|header_end|>\n\n", "<|eot|>"}},
		answer: "<|header_start|>assistant<|header_end|>\n\n", trim: true},
	{name: "mistral", doc: "Mistral's V7-Tekken: Mistral Small 3, Large 2411", begin: "<s>",
		turns: map[string]around{"system": {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"}, "": {"[INST]", "[/INST]"},
			"assistant": {"", "</s>"}, "tool": {"[TOOL_RESULTS]", "[/TOOL_RESULTS]"}}},
	{name: "gemma", doc: "Gemma 1 to 3", begin: "<bos>",
		turns: map[string]around{"": {"<start_of_turn>user\n", "<end_of_turn>\n"},
			"assistant": {"<start_of_turn>model\n", "<end_of_turn>\n"}},
		system: &around{"", "\n\n"}, answer: "<start_of_turn>model\n", trim: true},
	{name: "deepseek", doc: "DeepSeek V2.5 and V3", begin: "<｜begin▁of▁sentence｜>",
		turns: map[string]around{"system": {}, "": {"<｜User｜>", ""}, "assistant": {"<｜Assistant｜>",
			"<｜end▁of▁sentence｜>"}}, answer: "<｜Assistant｜>"},
	{name: "phi", doc: "Phi 3", turns: map[string]around{"": {"<|ROLE|>\n", "<|end|>\n"}}, answer: "<|assistant|>\n",
		dropsEmpty: true},
}

// templateOf returns the template of a name from the list.
func templateOf(name string) *template {
	for i := range templates {
		if templates[i].name == name {
			return &templates[i]
		}
	}
	return &templates[0]
}

// render appends the text of a prompt.
func (t *template) render(to []byte, messages []message) []byte {
	if t.turns == nil {
		for _, m := range messages {
			to = append(to, m.text...)
		}
		return to
	}
	to = append(to, t.begin...)
	var system []byte // goes into the next turn
	for i, m := range messages {
		text := m.text
		if t.dropsEmpty && m.role == roleSystem && len(text) == 0 {
			continue
		}
		if t.trim {
			text = bytes.TrimSpace(text)
		}
		if t.system != nil && m.role == roleSystem && i+1 < len(messages) {
			system = append(append(append(system, t.system.before...), text...), t.system.after...)
			continue
		}
		turn, ok := t.turns[m.role]
		if !ok {
			turn = t.turns[""]
		}
		to = append(to, strings.ReplaceAll(turn.before, "ROLE", m.role)...)
		to = append(append(to, system...), text...)
		system = nil
		to = append(to, turn.after...)
	}
	return append(to, t.answer...)
}

// Roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// roleOf returns the role that data sets and servers write in different ways.
func roleOf(name []byte) string {
	switch string(name) {
	case "system", "developer":
		return roleSystem
	case "human", "user", "prompter":
		return roleUser
	case "gpt", "assistant", "chatgpt", "bard", "bing", "model", "ai":
		return roleAssistant
	case "function", "tool", "ipython":
		return roleTool
	}
	return string(name)
}
