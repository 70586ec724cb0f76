package promptlogs_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestChatTemplateFile: a file is the model's own template, which gets messages, tools and calls as chat templates know
// them, from whichever API.
func TestChatTemplateFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "chat_template.jinja")
	tracetest.WriteFile(t, path, []byte("{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}"+
		"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"+
		"{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{{ 'think' if enable_thinking }}"))
	tracetest.WriteFile(t, filepath.Join(folder, "tokenizer_config.json"), []byte(`{"bos_token": "<s>"}`))
	const calls = `[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]` +
		`[system]S[user]U[assistant]f{"x": 1}[tool]R`
	for name, c := range map[string]struct{ content, want string }{
		"chat": {`{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],` +
			`"messages":[` +
			`{"role":"system","content":"S"},{"role":"user","content":"U"},{"role":"assistant","content":null,"tool_calls":[` +
			`{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"1",` +
			`"content":"R"}],"chat_template_kwargs":{"enable_thinking":true}}`, "<s>" + calls + "think"},
		"responses": {`{"model":"m","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],` +
			`"instructions":"S",` +
			`"input":[{"role":"user","content":"U"},{"type":"function_call","call_id":"1","name":"f","arguments":"{\"x\":1}"},` +
			`{"type":"function_call_output","call_id":"1","output":"R"}]}`, "<s>" + calls},
		"Anthropic's": {`{"model":"m","tools":[{"name":"f","input_schema":{"type":"object"}}],"system":"S",` +
			`"messages":[{"role":"user","content":"U"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f",` +
			`"input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"R"}]}]}`,
			"<s>" + calls},
		"LiteLLM": {litellmCall(`"startTime":5,"messages":[{"role":"user","content":"U"}]`), "<s>[user]U"},
		"ShareGPT": {`{"conversations":[{"from":"human","value":"U"},{"from":"gpt","value":"A"}]}`,
			"<s>[user]U"},
	} {
		t.Run(name, func(t *testing.T) {
			format := strings.Fields(loadAs(t, c.content, "").ReadAs())[0]
			got := loadAs(t, c.content, strings.Trim(format, ",;")+":block=1,template="+path)
			plain := loadAs(t, `{"model":"m","prompt":"`+strings.ReplaceAll(c.want, `"`, `\"`)+`"}`, "openai:block=1")
			if !reflect.DeepEqual(got.Keys, plain.Keys) {
				t.Errorf("%d tokens with other blocks than the %d of %q", len(got.Keys), len(plain.Keys), c.want)
			}
			if !strings.Contains(got.ReadAs(), "template chat_template.jinja") {
				t.Errorf("read as %q", got.ReadAs())
			}
		})
	}
}

// TestChatTemplateDates: a template that writes the date gets that of the request.
func TestChatTemplateDates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.jinja")
	tracetest.WriteFile(t, path, []byte("{{ strftime_now('%Y%m%d') }}{{ bos_token }}{% if messages[0].content == 'no' %}"+
		"{{ raise_exception('no') }}{% endif %}"))
	line := func(fields string) string { return `{"model":"m","messages":[{"content":"a"}]` + fields + "}\n" }
	for name, c := range map[string]struct{ content, want string }{
		"dates":   {line(`,"time":"2026-03-01T12:00:00Z"`), "20260301"},
		"numbers": {line(`,"time":1760587668`), "20251016"},
		"none":    {line(""), "20240726"},
		"offsets": {line(`,"time":5`), "20240726"},
	} {
		got := loadAs(t, c.content, "openai:block=1,template="+path)
		plain := loadAs(t, `{"model":"m","prompt":"`+c.want+`"}`, "openai:block=1")
		if !reflect.DeepEqual(got.Keys, plain.Keys) {
			t.Errorf("%s: other blocks than %s", name, c.want)
		}
		if !strings.Contains(got.ReadAs(), "without its first token, as there is no tokenizer_config.json beside it") {
			t.Errorf("read as %q", got.ReadAs())
		}
	}
	refused := loadAs(t, line("")+strings.Replace(line(""), `"a"`, `"no"`, 1), "openai:template="+path)
	if said := refused.Readings[0].LeftOutText(); len(prompts.Of(refused.Kind).InputTokens) != 1 ||
		said != "1 row left out (refused by the chat template)" {
		t.Errorf("%d prompts, %s", len(prompts.Of(refused.Kind).InputTokens), said)
	}
}

func TestChatTemplateErrors(t *testing.T) {
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong.jinja")
	tracetest.WriteFile(t, wrong, []byte("{% for"))
	other := filepath.Join(folder, "other.jinja")
	tracetest.WriteFile(t, other, []byte("{{ 1 | rot13 }}"))
	for template, want := range map[string]string{
		wrong:                              "wrong.jinja: the chat template: {% without its end",
		other:                              `line 1: the chat template: unknown filter "rot13"`,
		filepath.Join(folder, "none.json"): "no such file",
		"lama-3":                           "template=lama-3: want the path of a file, such as ./lama-3, or one of none",
	} {
		_, err := tracetest.LoadText(t, `{"model":"m","messages":[{"content":"a"}]}`, read.Options{
			Selection: read.Selection{Format: "openai:template=" + template}})
		must.Fail(t, err, want)
	}
}
