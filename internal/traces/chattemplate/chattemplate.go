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

	"github.com/ardanlabs/jinja"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// Template is a compiled chat template. It is not safe for several goroutines.
type Template struct {
	compiled   *jinja.Template
	begin, end string // the first and the last token of a text: bos_token and eos_token
	// listsParts says that the template goes over the parts of a content, and gets them. Others get their text.
	listsParts  bool
	writesBegin bool // it has bos_token
	writesDate  bool // it has strftime_now
	refused     bool // it has called raise_exception
	steps       int
	depth       int
	written     int64   // bytes that were printed, at most most
	most        int64   // also of a single value
	repeats     int64   // of texts in an expression
	sum         int64   // bytes that an expression appends
	repeated    int64   // bytes of the longest of those texts
	lefts       []int64 // for each product that is being computed, the bytes of the text on its left side
	work        int64   // bytes that were read and made
	when        time.Time
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
	mostSteps     = 1 << 20   // of one conversation
	deepest       = 100       // calls of macros within each other, and brackets in an expression
	deepestValue  = 1000      // lists and objects within each other
	mostOperators = 1000      // in a tag
	mostRepeats   = 1000      // of a text in an expression

	// A text may have leastBytes, and mostGrowth times the bytes of its conversation.
	leastBytes = 1 << 20
	mostGrowth = 16
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

// Config is what a tokenizer_config.json says of texts.
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
	source, err := rewrite(config.Template)
	if err != nil {
		return nil, err
	}
	t := &Template{begin: config.Begin, end: config.End, listsParts: goesOverParts(config.Template),
		writesBegin: strings.Contains(config.Template, "bos_token"),
		writesDate:  strings.Contains(config.Template, "strftime_now")}
	if err := recovered(func() (err error) {
		t.compiled, err = jinja.Compile(source)
		return err
	}); err != nil {
		return nil, fmt.Errorf("the chat template: %w", err)
	}
	return t, nil
}

// LacksBegin reports whether a template writes the first token of texts, and does not know it.
func (t *Template) LacksBegin() bool { return t.begin == "" && t.writesBegin }

// SetTokens sets the first and the last token of texts.
func (t *Template) SetTokens(begin, end string) { t.begin, t.end = begin, end }

// WritesDate reports whether a template writes the date of a conversation.
func (t *Template) WritesDate() bool { return t.writesDate }

// ErrRefused says that the template refuses a conversation (raise_exception), as a server would.
var ErrRefused = errors.New("the chat template refuses the messages")

// recovered turns a panic of the library into an error.
func recovered(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the library of templates fails: %v", r)
		}
	}()
	return call()
}

// Render returns the text of a conversation, with the beginning of the answer at its end.
func (t *Template) Render(c Conversation) (text string, err error) {
	values, err := t.valuesOf(c)
	if err != nil {
		return "", err
	}
	t.steps, t.depth, t.refused = 0, 0, false
	t.written, t.work, t.lefts = 0, 0, t.lefts[:0]
	t.endExpression()
	t.most = leastBytes + mostGrowth*c.bytes()
	if t.when = c.When; t.when.IsZero() {
		t.when = DefaultDate
	}
	err = recovered(func() (err error) {
		text, err = t.compiled.RenderValues(values)
		return err
	})
	switch {
	case t.refused:
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return "", fmt.Errorf("the chat template: %w", err)
	}
	return text, nil
}

func (t *Template) valuesOf(c Conversation) (map[string]jinja.Value, error) {
	values := map[string]jinja.Value{"bos_token": jinja.NewString(t.begin), "eos_token": jinja.NewString(t.end),
		"tools": jinja.None(), "documents": jinja.None(), "add_generation_prompt": jinja.NewBool(true)}
	if len(c.Options) > 0 {
		options, err := decode(c.Options)
		if err != nil {
			return nil, err
		}
		if options.IsDict() {
			for key, value := range options.AsDict().Data {
				values[key] = value
			}
		}
	}
	for _, functions := range []map[string]function{t.functions(), t.growing()} {
		for name, fn := range functions {
			values[name] = jinja.NewCallable(name, fn)
		}
	}
	if len(c.Tools) > 0 {
		tools, err := decode(c.Tools)
		if err != nil {
			return nil, err
		}
		values["tools"] = tools
	}
	messages := make([]jinja.Value, len(c.Messages))
	for i, raw := range c.Messages {
		message, err := decode(raw)
		if err != nil {
			return nil, err
		}
		if messages[i] = message; message.IsDict() {
			if err := t.prepare(message.AsDict()); err != nil {
				return nil, err
			}
		}
	}
	values["messages"] = jinja.NewList(messages)
	return values, nil
}

// prepare changes a message as servers do: no content is an empty one, and arguments of calls are read as JSON.
func (t *Template) prepare(message *jinja.Dict) error {
	content, ok := message.Get("content")
	switch {
	case !ok || content.IsNone():
		message.Set("content", jinja.NewString(""))
	case content.IsList() && !t.listsParts:
		message.Set("content", jinja.NewString(textOf(content.AsList())))
	}
	calls, ok := message.Get("tool_calls")
	if !ok || !calls.IsList() || calls.AsList().Len() == 0 {
		if ok {
			remove(message, "tool_calls")
		}
		return nil
	}
	for _, call := range calls.AsList().Items {
		if !call.IsDict() {
			continue
		}
		function, ok := call.AsDict().Get("function")
		if !ok || !function.IsDict() {
			continue
		}
		arguments, ok := function.AsDict().Get("arguments")
		if ok && arguments.IsString() {
			read, err := decode([]byte(arguments.AsString()))
			if errors.Is(err, errDeep) {
				return err
			}
			if err == nil && read.IsDict() {
				function.AsDict().Set("arguments", read)
			}
		}
	}
	return nil
}

func remove(d *jinja.Dict, key string) {
	delete(d.Data, key)
	for i, other := range d.Keys {
		if other == key {
			d.Keys = append(d.Keys[:i:i], d.Keys[i+1:]...)
			return
		}
	}
}

// textOf joins the texts of the parts of a content, one on a line.
func textOf(parts *jinja.List) string {
	var texts []string
	for _, part := range parts.Items {
		if part.IsString() {
			texts = append(texts, part.AsString())
		} else if part.IsDict() {
			if text, ok := part.AsDict().Get("text"); ok && text.IsString() {
				texts = append(texts, text.AsString())
			}
		}
	}
	return strings.Join(texts, "\n")
}

// decode reads JSON and keeps the order of fields.
func decode(raw []byte) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeNext(d, 0)
	if err == nil && d.More() {
		err = errors.New("want one value of JSON")
	}
	return value, err
}

func decodeNext(d *json.Decoder, depth int) (jinja.Value, error) {
	if depth > deepestValue {
		return jinja.None(), errDeep
	}
	token, err := d.Token()
	if err != nil {
		return jinja.None(), err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return jinja.FromGoValue(token), nil
	}
	if delim == '[' {
		list := []jinja.Value{}
		for d.More() {
			item, err := decodeNext(d, depth+1)
			if err != nil {
				return item, err
			}
			list = append(list, item)
		}
		_, err = d.Token()
		return jinja.NewList(list), err
	}
	object := jinja.NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return object, err
		}
		value, err := decodeNext(d, depth+1)
		if err != nil {
			return object, err
		}
		object.AsDict().Set(key.(string), value)
	}
	_, err = d.Token()
	return object, err
}
