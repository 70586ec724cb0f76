// Package chattemplate writes the messages of a conversation as one text, as the chat template of a model says: a
// program in Jinja, which Hugging Face has beside a model's weights. It gives templates what vLLM and SGLang give them.
package chattemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/jinja"
)

// Template is a parsed chat template. It is not safe for several goroutines.
type Template struct {
	parsed     *jinja.Template
	begin, end string // the first and the last token of a text: bos_token and eos_token
	// listsParts says that the template goes over the parts of a content, and gets them. Others get their text.
	listsParts  bool
	writesBegin bool // it has bos_token
	writesDate  bool // it has strftime_now
}

// Conversation is what a request asks to be answered.
type Conversation struct {
	Messages [][]byte  // objects in JSON, as of OpenAI's API
	Tools    []byte    // an array in JSON; nil without
	Options  []byte    // an object in JSON with further values for the template; nil without
	When     time.Time // what templates that write a date take as today
}

func (c *Conversation) bytes() int64 {
	n := len(c.Tools) + len(c.Options)
	for _, message := range c.Messages {
		n += len(message)
	}
	return int64(n)
}

// DefaultDate is today for conversations without a time. It is what Llama 3.1 writes where it knows no date.
var DefaultDate = time.Date(2024, 7, 26, 0, 0, 0, 0, time.UTC)

const (
	longestSource = 256 << 10 // bytes; the longest of common models has 25 000

	// A text may have leastBytes, and mostGrowth times the bytes of its conversation. A template may read and make
	// mostWork times as much.
	leastBytes = 1 << 20
	mostGrowth = 16
	mostWork   = 256
)

// Parse reads a chat template: one in Jinja, or a tokenizer_config.json, which may have one.
func Parse(content []byte) (*Template, error) {
	config := Config{Template: string(content)}
	if blank := bytes.TrimSpace(content); len(blank) > 0 && blank[0] == '{' && json.Valid(blank) {
		var err error
		if config, err = ParseConfig(blank); err != nil {
			return nil, err
		}
		if config.Template == "" {
			return nil, errors.New("no chat_template: want a chat template, or a tokenizer_config.json with one; newer models " +
				"have it in chat_template.jinja")
		}
	}
	return New(config)
}

// Config is the part of a tokenizer_config.json about texts.
type Config struct {
	Template   string
	Begin, End string // bos_token, eos_token
}

// ParseConfig reads a tokenizer_config.json.
func ParseConfig(content []byte) (Config, error) {
	var file struct {
		Template json.RawMessage `json:"chat_template"`
		Begin    json.RawMessage `json:"bos_token"`
		End      json.RawMessage `json:"eos_token"`
	}
	if err := jsonlines.Parse(content, &file, "a tokenizer_config.json of Hugging Face"); err != nil {
		return Config{}, err
	}
	return Config{templateOf(file.Template), tokenOf(file.Begin), tokenOf(file.End)}, nil
}

// templateOf returns the template that is the value, or the one named default in a list.
func templateOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct{ Name, Template string }
	if json.Unmarshal(raw, &list) == nil {
		for _, named := range list {
			if text == "" || named.Name == "default" {
				text = named.Template
			}
		}
	}
	return text
}

// tokenOf returns a token, a text or an object with its content.
func tokenOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct{ Content string }
	_ = json.Unmarshal(raw, &object)
	return object.Content
}

var (
	contentOf = `(?:\w+(?:\[[^\]]*\])?(?:\.content|\[['"]content['"]\]|\.get\(['"]content['"][^)]*\)))`
	// overContent finds a loop over the content of a message, and overName one over a name; setContent finds the names of
	// contents.
	overContent = regexp.MustCompile(`\bfor\s+\w+\s+in\s+\(?(?:` + contentOf + `|content\b)`)
	overName    = regexp.MustCompile(`\bfor\s+\w+\s+in\s+(\w+)`)
	setContent  = regexp.MustCompile(`\bset\s+(\w+)\s*=\s*` + contentOf)
)

// goesOverParts reports whether a template goes over the parts of contents.
func goesOverParts(source string) bool {
	if overContent.MatchString(source) {
		return true
	}
	named := map[string]bool{}
	for _, found := range setContent.FindAllStringSubmatch(source, -1) {
		named[found[1]] = true
	}
	for _, found := range overName.FindAllStringSubmatch(source, -1) {
		if named[found[1]] {
			return true
		}
	}
	return false
}

// New compiles a template.
func New(config Config) (*Template, error) {
	if len(config.Template) > longestSource {
		return nil, fmt.Errorf("a chat template of %d bytes: want at most %d", len(config.Template), longestSource)
	}
	parsed, err := jinja.Parse(config.Template)
	if err != nil {
		return nil, fmt.Errorf("the chat template: %w", err)
	}
	return &Template{parsed: parsed, begin: config.Begin, end: config.End, listsParts: goesOverParts(config.Template),
		writesBegin: strings.Contains(config.Template, "bos_token"),
		writesDate:  strings.Contains(config.Template, "strftime_now")}, nil
}

// LacksBegin reports whether a template writes the first token of texts, and does not know it.
func (t *Template) LacksBegin() bool { return t.begin == "" && t.writesBegin }

// SetTokens sets the first and the last token of texts.
func (t *Template) SetTokens(begin, end string) { t.begin, t.end = begin, end }

// WritesDate reports whether a template writes the date of a conversation.
func (t *Template) WritesDate() bool { return t.writesDate }

// ErrRefused says that the template refuses a conversation (raise_exception), as a server would.
var ErrRefused = errors.New("the chat template refuses the messages")

// Render returns the text of a conversation, with the beginning of the answer at its end.
func (t *Template) Render(c Conversation) (text string, err error) {
	values, err := t.valuesOf(c)
	if err != nil {
		return "", err
	}
	when := c.When
	if when.IsZero() {
		when = DefaultDate
	}
	most := leastBytes + mostGrowth*c.bytes()
	text, err = t.parsed.Render(values, jinja.Limits{Text: most, Work: mostWork * most}, when)
	switch {
	case errors.Is(err, jinja.ErrRaised):
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return "", fmt.Errorf("the chat template: %w", err)
	}
	return text, nil
}

func (t *Template) valuesOf(c Conversation) (map[string]any, error) {
	values := map[string]any{"bos_token": t.begin, "eos_token": t.end, "tools": nil, "documents": nil,
		"add_generation_prompt": true}
	if len(c.Options) > 0 {
		options, err := jinja.Decode(c.Options)
		if err != nil {
			return nil, err
		}
		if options, ok := options.(*jinja.Dict); ok {
			for _, key := range options.Keys {
				values[key.(string)] = options.Data[key]
			}
		}
	}
	if len(c.Tools) > 0 {
		tools, err := jinja.Decode(c.Tools)
		if err != nil {
			return nil, err
		}
		values["tools"] = tools
	}
	messages := &jinja.List{}
	for _, raw := range c.Messages {
		message, err := jinja.Decode(raw)
		if err != nil {
			return nil, err
		}
		if message, ok := message.(*jinja.Dict); ok {
			if err := t.prepare(message); err != nil {
				return nil, err
			}
		}
		messages.Items = append(messages.Items, message)
	}
	values["messages"] = messages
	return values, nil
}

// prepare changes a message as servers do: no content is an empty one, and arguments of calls are read as JSON.
func (t *Template) prepare(message *jinja.Dict) error {
	switch content := message.Data["content"].(type) {
	case nil:
		message.Set("content", "")
	case *jinja.List:
		if !t.listsParts {
			message.Set("content", textOf(content))
		}
	}
	calls, ok := message.Data["tool_calls"].(*jinja.List)
	if !ok || len(calls.Items) == 0 {
		message.Delete("tool_calls")
		return nil
	}
	for _, call := range calls.Items {
		call, ok := call.(*jinja.Dict)
		if !ok {
			continue
		}
		function, ok := call.Data["function"].(*jinja.Dict)
		if !ok {
			continue
		}
		if arguments, ok := function.Data["arguments"].(string); ok {
			read, err := jinja.Decode([]byte(arguments))
			if errors.Is(err, jinja.ErrDeep) {
				return err
			}
			if read, ok := read.(*jinja.Dict); ok && err == nil {
				function.Set("arguments", read)
			}
		}
	}
	return nil
}

// textOf joins the texts of the parts of a content, one on a line.
func textOf(parts *jinja.List) string {
	var texts []string
	for _, part := range parts.Items {
		if object, ok := part.(*jinja.Dict); ok {
			part = object.Data["text"]
		}
		if text, ok := part.(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
