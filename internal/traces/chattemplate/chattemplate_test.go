package chattemplate

import (
	_ "embed" // of the program in Python
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// conversationOf reads messages, one on a line.
func conversationOf(messages string) (c Conversation) {
	for line := range strings.Lines(messages) {
		c.Messages = append(c.Messages, []byte(line))
	}
	return c
}

const hello = `{"role": "system", "content": "S"}
{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
` + `{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", ` +
	`"arguments": "{\"y\": 1.0, \"x\": null}"}}]}`

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ template, want string }{
		"roles": {"{% for m in messages %}\n<{{ m.role }}>\n{% endfor %}\nA\n",
			"<system>\n<user>\n<assistant>\nA"},
		"dashes":           {"a \n{{- 'b' -}} \n c {%- if true %} d {%- endif %}", "abc d"},
		"line of a tag":    {"a\n   {% if true %}   \n  b\n {%+ endif %}c", "a\n   \n  b\n c"},
		"comment":          {"a\n  {# it's #}\nb{#- x -#} c", "a\nbc"},
		"raw":              {"{% raw %}{{ x }}{% endraw %}", "{{ x }}"},
		"braces in a text": {"{{ '}}' ~ \"{%\" }}{{ {'a': {'b': 1}} }}", "}}{%{'a': {'b': 1}}"},
		"escapes":          {`{{ 'a\n\u00e9\x41\\"' }}`, "a\néA\\\""},
		"parts of a text":  {"{{ messages[1].content }}", "a\nb"},
		"parts":            {"{% for p in messages[1].content %}{{ p.text }}{% endfor %}", "ab"},
		"no content":       {"[{{ messages[2].content }}]", "[]"},
		"arguments":        {"{{ messages[2].tool_calls[0].function.arguments | tojson }}", `{"y": 1.0, "x": null}`},
		"repr": {"{{ messages[2].tool_calls[0].function.arguments }}{{ none }}{{ ['it\\'s'] }}",
			`{'y': 1.0, 'x': None}None["it's"]`},
		"indented": {"{{ {'b': [1], 'a': []} | tojson(indent=2) }}", "{\n  \"b\": [\n    1\n  ],\n  \"a\": []\n}"},
		"sorted": {"{{ {'b': 'é<', 'a': 2} | tojson(sort_keys=true, ensure_ascii=true) }}",
			`{"a": 2, "b": "\u00e9<"}`},
		"tools": {"{{ tools is none }}{{ 'x' if documents }}", "True"},
		"names in a loop": {"{% set x = 0 %}{% for m in messages %}{% if loop.first %}{% set x = 1 %}" +
			"{% endif %}{{ x }}{% endfor %}", "100"},
		"unset in a loop": {"{% for m in messages %}{% if loop.first %}{% set x = 1 %}" +
			"{% endif %}{{ x is defined }}{% endfor %}", "TrueFalseFalse"},
		"loop over pairs": {"{% for k, v in {'a': 1, 'b': none, 'c': 3}.items() if v is not none %}" +
			"{{ k }}{{ '' if loop.last else ',' }}{% endfor %}", "a,c"},
		"factors": {"{{ '-' * 3 }}{{ 2 * 3 + 1 }}{{ 2 * (1 + 2)*2 }}{{ 'a' * [2][0] ~ 'b' }}" +
			"{{ 'ab' * 'xyz'|length }}{{ 2**3 }}{{ -2 * (3 * 1000000 + 1) }}",
			"---712aabababab8-6000002"},
		"replaced": {"{{ 'aXbXc'.replace('X', '-').replace('-', '+', 1)|replace('b', 'B') ~ ('x' ~ 'y').replace('x', 'z') " +
			"~ ['pq'][0].replace('p', '') }}{{ 2 * 'ab'.replace('b', 'c')|length }}", "a+B-czyq4"},
		"joined": {"{{ [1, 'a', none]|join(', ') }}{{ messages|join('/', attribute='role') }}",
			"1, a, Nonesystem/user/assistant"},
		"indented lines": {"{{ 'a\n\nb'|indent(2) }}{{ 'a\nb'|indent(width='> ', first=true) }}", "a\n\n  b> a\n> b"},
		"formatted":      {"{{ '{} {{}} {}'.format('{}', 2) }}{{ '{1}{0}{x}'.format(1, 2, x='{0}') }}", "{} {} 2" + "21{0}"},
		"lists and objects": {"{% set x = [1] %}{% set ns = namespace(l=[]) %}{% set _ = ns.l.append(x) %}" +
			"{% set _ = x.insert(0, 2) %}{% set d = {'a': 1} %}{% set _ = d.update({'b': x}) %}" +
			"{% set ns.d = d %}{{ ns.l }}{{ ns.d }}",
			"[[2, 1]]{'a': 1, 'b': [2, 1]}"},
		"slices": {"{{ 'abcdef'[1:100000000000000000:2] }}{{ 'a'[0:10**17:2] }}{{ 'abc'[::-1] }}" +
			"{{ [1, 2, 3][-100000000000000000:2] }}{{ [1, 2][0:100000000000000000:2] }}" +
			"{{ 'abc'[5:-100000000000000000:-1] }}",
			"bdfacba[1, 2][1]cba"},
		"macro":             {"{% macro f(x) %}\n<{{ x }}>\n{% endmacro %}{{ f(1) }}{{ f('a') }}", "<1>\n<a>\n"},
		"default":           {"{% macro f(x='<|a(') %}{{ x }}{% endmacro %}{{ f() }}", "<|a("},
		"date":              {"{{ strftime_now('%d %b %Y, %-d.%-m.') }}", "26 Jul 2024, 26.7."},
		"white space":       {"[{{ ' \u3000a\u3000 '.rstrip() }}]", "[ \u3000a]"},
		"safe":              {"{{ '<' ~ ('<b>'|safe + '<' + \"'\") }}{{ '<' + 'b>'|safe }}", "<<b>&lt;&#39;&lt;b>"},
		"long sums":         {"{{ 1" + strings.Repeat(" + 1", 2000) + " }}", "2001"},
		"long path":         {"{{ x" + strings.Repeat("[0]", 5000) + " }}", ""},
		"defaults":          {"{% macro f(x, y=x|upper) %}{{ x ~ y }}{% endmacro %}{{ f('a') }}{{ f(y=1, x=2) }}", "aA21"},
		"marks of training": {"{% generation %}x{% endgeneration %}", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			tm := must.Get(New(Config{Template: c.template}))(t)
			if got, err := tm.Render(conversationOf(hello)); err != nil || got != c.want {
				t.Errorf("%q and error %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	tm := must.Get(Parse([]byte(`{"bos_token": {"content": "<s>"}, "eos_token": "</s>",
			"chat_template": [{"name": "tool_use", ` +
		`"template": "T"}, {"name": "default", "template": "{{ bos_token }}{{ tools[0].name }}{{ think }}{{ eos_token }}` +
		`{{ strftime_now('%Y') }}{{ add_generation_prompt }}"}]}`)))(t)
	got, err := tm.Render(Conversation{Tools: []byte(`[{"name": "n"}]`), Options: []byte(`{"think": true}`),
		When: time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)})
	if want := "<s>nTrue</s>2026True"; err != nil || got != want {
		t.Errorf("%q and error %v, want %q", got, err, want)
	}
	if !tm.WritesDate() || tm.LacksBegin() {
		t.Error("the date and the first token are not noticed")
	}
	other := must.Get(Parse([]byte("{{ bos_token }}")))(t)
	lacks := other.LacksBegin()
	other.SetTokens("<b>", "")
	if got, err := other.Render(Conversation{}); !lacks || err != nil || got != "<b>" {
		t.Errorf("%q and error %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	const (
		million = "{% set x = 'a' * 1000 %}{% set x = x * 1000 %}"
		often   = "{% for i in range(99999) %}"
	)
	for name, c := range map[string]struct{ template, want string }{
		"no end":    {"a{{ x", "{{ without its end"},
		"no endfor": {"{% for m in messages %}", "for without its end"},
		"endfor":    {"{% endfor %}", "endfor without its beginning"},
		"empty":     {"{{ }}", "an empty expression"},
		"raw":       {"{% raw %}", "raw without endraw"},
		"quote":     {"{% if 'a %}", "without its end"},
		"brackets":  {"{{ " + strings.Repeat("(", 9999) + strings.Repeat(")", 9999) + " }}", "more than 500 expressions"},
		"config":    {`{"bos_token": "x"}`, "no chat_template"},
		"long":      {strings.Repeat("a", 300<<10), "want at most 262144"},
		"refused":   {"{{ raise_exception('no system') }}", "no system"},
		"recursive": {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "more than 100 calls"},
		"endless": {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
			"bytes of work"},
		"doubled": {"{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
			"bytes of text"},
		"doubled list": {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
			"bytes of text"},
		"lists in a list": {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}" +
			"{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
			"bytes of text"},
		"doubled parameter": {"{% macro f(n, x=',') %}{% if n > 0 %}{{ f(n - 1, x ~ x) }}{% endif %}{% endmacro %}" +
			"{{ f(60, 'ab') }}",
			"bytes of text"},
		"doubled block": {"{% set x = 'ab' %}{% set ns = namespace(x='ab') %}{% for i in range(60) %}" +
			"{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}", "bytes of text"},
		"long output":        {"{% for i in range(90000) %}" + strings.Repeat("a", 9999) + "{% endfor %}", "bytes of text"},
		"repeated":           {"{{ 'abc' * 1000000000000 }}", "bytes of text"},
		"repeated more":      {"{{ 'abc' * (3 * 300)|abs * [100][0] * 100 }}", "bytes of text"},
		"list of itself":     {"{% set x = [1] %}{{ x.append(x) }}{{ x }}", "lists or objects within"},
		"list in itself":     {"{% set x = [1] %}{{ x.insert(0, [x]) }}{{ x == x }}", "lists or objects within"},
		"object of itself":   {"{% set x = {} %}{% set _ = x.update({'a': [x]}) %}{{ x == x }}", "lists or objects within"},
		"space in itself":    {"{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns == ns }}", "lists or objects within"},
		"replaced again":     {"{{ 'aa'" + strings.Repeat(".replace('a', 'aaaaaaaaaa')", 20) + " }}", "bytes of text"},
		"filtered again":     {"{{ 'aa'" + strings.Repeat("|replace('a', 'aaaaaaaaaa')", 20) + " }}", "bytes of text"},
		"joined":             {"{{ range(99999)|join(range(99999)|join) }}", "bytes of text"},
		"indented":           {"{{ 'a\nb'|indent(1000000000000) }}", "bytes of text"},
		"indented by a text": {"{{ ('a\n' * 1000)|indent('b' * 1000 * 100) }}", "bytes of text"},
		"formatted": {"{{ '{0}{0}'.format(" + strings.Repeat("'{0}{0}{0}{0}'.format(", 30) + "'abcd'" +
			strings.Repeat(")", 31) + " }}", "bytes of text"},
		"replaced by nothing": {million + "{{ x|replace('', x) }}", "bytes of text"},
		"joined by much":      {million + "{{ range(10000)|join(x) }}", "bytes of text"},
		"summed":              {million + "{{ " + strings.Repeat("x ~ ", 400) + "x }}", "bytes of text"},
		"summed lists":        {"{% set x = range(99999) %}{{ " + strings.Repeat("x + ", 400) + "x }}", "bytes of text"},
		"JSON on lines":       {million + "{{ range(9999)|tojson(indent=x) }}", "bytes of text"},
		"searched often":      {million + often + "{% if 'b' in x %}{% endif %}{% endfor %}", "bytes of work"},
		"compared often":      {million + often + "{% if x ~ '' == x %}{% endif %}{% endfor %}", "bytes of work"},
		"split often":         {million + often + "{% if x.split('a') %}{% endif %}{% endfor %}", "bytes of work"},
		"characters often":    {million + often + "{% for c in x %}{% break %}{% endfor %}{% endfor %}", "bytes of work"},
		"filtered often":      {million + often + "{% if x|upper %}{% endif %}{% endfor %}", "bytes of work"},
		"kept": {million + "{% set l = [] %}" + often + "{% set _ = l.append(x ~ '') %}{% endfor %}",
			"bytes of work"},
		"sorted often":       {often + "{% if range(99999)|sort %}{% endif %}{% endfor %}", "bytes of work"},
		"no round":           {often + "{% for b in range(99999) if false %}{% endfor %}{% endfor %}", "bytes of work"},
		"no round of a test": {often + "{% for b in range(99999) if b is none %}{% endfor %}{% endfor %}", "bytes of work"},
		"default":            {"{% macro f(x=f()) %}{% endmacro %}{{ f() }}", "more than 100 calls"},
		"words":              {"{{ " + strings.Repeat("not ", 50000) + "x }}", "more than 500 expressions"},
		"deep": {"{% set ns = namespace(x=[1]) %}{% for i in range(2000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
			"lists or objects within"},
		"no such field": {"{{ '{:>9}'.format(1) }}", "want {}, {0} or {name}"},
		"large range":   {"{{ range(10000000000) }}", "more than 100000 numbers"},
	} {
		tm, err := Parse([]byte(c.template))
		if err == nil {
			_, err = tm.Render(conversationOf(hello))
		}
		must.Fail(t, err, c.want, name)
	}
}

func TestDeepArguments(t *testing.T) {
	tm := must.Get(Parse([]byte("{{ messages }}")))(t)
	for _, arguments := range []string{strings.Repeat("[", 3_000_000), strings.Repeat(`{\"a\":`, 1_000_000)} {
		call := `{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "` + arguments + `"}}]}`
		_, err := tm.Render(conversationOf(call))
		must.Fail(t, err, "more than 1000 lists or objects within each other", arguments[:9])
	}
}

// original has templates that use what chat templates of models do, and prints what Jinja makes of them with the
// settings of transformers, for random conversations.
//
//go:embed testdata/original.py
var original string

// TestAsJinja compares the texts of 100 conversations with those of Jinja. It needs Python with that package: pip
// install jinja2. CACHESIM_TEMPLATES is a folder with further templates, such as models/templates of llama.cpp.
func TestAsJinja(t *testing.T) {
	python := interpreter.Python(t, "jinja2")
	command := exec.Command(python, "-c", original)
	command.Env = append(command.Environ(), "PYTHONIOENCODING=utf-8")
	var said struct {
		Conversations []struct {
			Messages []json.RawMessage
			Tools    json.RawMessage
		}
		Templates []struct {
			Name, Source string
			Texts        []*string // null where Jinja fails
		}
	}
	must.Do(t, json.Unmarshal(must.Get(command.Output())(t), &said))
	if len(said.Conversations) != 100 || len(said.Templates) < 8 {
		t.Fatalf("%d conversations, %d templates", len(said.Conversations), len(said.Templates))
	}
	equal := 0
	for _, theirs := range said.Templates {
		tm, err := New(Config{Template: theirs.Source, Begin: "<s>", End: "</s>"})
		if err != nil {
			t.Errorf("%s: %v", theirs.Name, err)
			continue
		}
		different := 0
		for i, want := range theirs.Texts {
			if want == nil {
				continue
			}
			c := Conversation{Tools: said.Conversations[i].Tools}
			for _, m := range said.Conversations[i].Messages {
				c.Messages = append(c.Messages, m)
			}
			if got, err := tm.Render(c); err == nil && got == *want {
				equal++
			} else if different++; different == 1 {
				t.Errorf("%s: %q and error %v, want %q", theirs.Name, got, err, *want)
			}
		}
		if different > 0 {
			t.Errorf("%s: %d of %d texts differ", theirs.Name, different, len(theirs.Texts))
		}
	}
	t.Logf("%d texts of %d templates are equal", equal, len(said.Templates))
}

func FuzzTemplate(f *testing.F) {
	f.Add("{% for m in messages %}{% set x = m %}{{ x.content | trim }}{% endfor %}", hello)
	f.Add("{% macro f(a) -%} {{ a|tojson }} {%- endmacro %}{{ f(tools) }}", `{"role": 5}`)
	f.Fuzz(func(t *testing.T, source, messages string) {
		tm, err := Parse([]byte(source))
		if err != nil {
			return
		}
		_, _ = tm.Render(conversationOf(messages))
	})
}
