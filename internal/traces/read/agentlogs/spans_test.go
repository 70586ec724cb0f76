package agentlogs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestSpans compares the spans and events that four libraries wrote of the same three requests with these.
func TestSpans(t *testing.T) {
	requests := fileOf(t, "requests.jsonl")
	withoutTools := strings.ReplaceAll(requests, `"tools":`, `"unread":`)
	for name, want := range map[string]string{"openllmetry-0.62.json": requests, "openllmetry-0.40.json": requests,
		"openinference-0.1.66.json": requests, "openai-v2-2.3b0-events.json": withoutTools} {
		t.Run(name, func(t *testing.T) {
			got := loadAs(t, fileOf(t, name), "otel:block=1")
			of := loadAs(t, want, "openai:block=1")
			if !reflect.DeepEqual(got.Keys, of.Keys) || !slices.Equal(got.Objects, of.Objects) {
				t.Errorf("%d tokens, want the %d of the requests", len(got.Objects), len(of.Objects))
			}
			p, q := prompts.Of(got.Kind), prompts.Of(of.Kind)
			events := strings.Contains(name, "events")
			for i := range q.InputTokens {
				if !events && p.Measured(i) != q.Measured(i) {
					t.Errorf("prompt %d: the server found %+v, want %+v", i, p.Measured(i), q.Measured(i))
				}
			}
			if recognised := loadAs(t, fileOf(t, name), ""); !strings.HasPrefix(recognised.ReadAs(), "otel") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
			if got.Times == nil {
				t.Error("no times")
			}
		})
	}
}

// TestFormsOfSpans: what is in attributes, whatever the form.
func TestFormsOfSpans(t *testing.T) {
	const messages = `[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"abcdefgh\"}]}]`
	const content = `{"key":"gen_ai.prompt.0.content","value":{"stringValue":"abcdefgh"}}`
	const event = `{"spanId":"a","eventName":"gen_ai.user.message","body":{"kvlistValue":{"values":[{"key":"content",` +
		`"value":{"stringValue":"abcdefgh"}}]}}}`
	for name, c := range map[string]struct {
		content string
		input   []int32 // tokens
		says    string
	}{
		"a span by itself": {`{"name":"chat","context":{},"start_time":"2026-01-01T00:00:00Z","attributes":{` +
			`"gen_ai.input.messages":"` + messages + `","gen_ai.request.model":"m"}}`, []int32{2}, ""},
		"an object instead of a text": {`{"name":"chat","spanId":"a","attributes":{"gen_ai.input.messages":` +
			strings.ReplaceAll(messages, `\"`, `"`) + `}}`, []int32{2}, ""},
		"instructions": {`{"spanId":"a","attributes":{"gen_ai.system_instructions":"[{\"type\":\"text\",\"content\":` +
			`\"wxyz\"}]","gen_ai.input.messages":"` + messages + `"}}`, []int32{3}, ""},
		"in an event of a span": {`{"spanId":"a","attributes":{"gen_ai.system":"m"},"events":[{"attributes":{` +
			`"gen_ai.prompt":"[{\"role\":\"user\",\"content\":\"abcdefgh\"}]"}}]}`, []int32{2}, ""},
		"images": {`{"spanId":"a","attributes":{"gen_ai.prompt.0.role":"user","gen_ai.prompt.0.content":"[{\"type\":` +
			`\"text\",\"text\":\"abcdefgh\"},{\"type\":\"image_url\"}]"}}`, []int32{2}, "with images left out"},
		"lengths among texts": {spansOf(`[`+content+`]`, `[{"key":"gen_ai.usage.input_tokens","value":{"intValue":7}}]`),
			[]int32{2}, "without text"},
		"other spans": {spansOf(`[`+content+`]`, `[]`, `[{"key":"gen_ai.operation.name","value":{"stringValue":`+
			`"invoke_agent"}},`+content+`]`), []int32{2}, "of other calls"},
		"a span that failed": {`{"spanId":"a","attributes":{"gen_ai.prompt.0.content":"abcdefgh"}}` + "\n" +
			`{"spanId":"b","attributes":{"gen_ai.prompt.0.content":"abcdefgh"},"status":{"code":2}}`, []int32{2}, "failed"},
		"an event without its answer": {`{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + event + `]}]}]}`, []int32{2}, ""},
		"an event of another body": {`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"spanId":"a","eventName":` +
			`"gen_ai.user.message","body":{"stringValue":"x"}},` + event + `]}]}]}`, []int32{2}, "another body"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := loadAs(t, c.content, "otel:block=1")
			if got := tokensOf(tr); !slices.Equal(got, c.input) || c.says != "" && !said(tr, c.says) {
				t.Errorf("prompts of %d tokens, want %d and %q: %s", got, c.input, c.says, tr.ReadAs())
			}
			if recognised := loadAs(t, c.content, ""); !strings.HasPrefix(recognised.ReadAs(), "otel") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
	tools := must.Get(tracetest.LoadText(t, `{"spanId":"a","attributes":{"gen_ai.prompt.0.content":"abcdefgh",`+
		`"gen_ai.conversation.id":"c"}}`, read.Options{Needs: needs}))(t)
	if len(prompts.Of(tools.Kind).Sessions) != 1 {
		t.Error("no conversation")
	}
}

// spansOf returns spans with lists of attributes.
func spansOf(attributes ...string) string {
	for i, of := range attributes {
		attributes[i] = `{"attributes":` + of + `}`
	}
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(attributes, ",") + `]}]}]}`
}

// TestToolsAsWritten: what a definition of a tool says is not escaped.
func TestToolsAsWritten(t *testing.T) {
	const begin = `{"spanId":"a","attributes":{"gen_ai.prompt.0.content":"abcdefgh","gen_ai.tool.definitions":` +
		`[{"type":"function","name":"f","description":"`
	short, long := loadAs(t, begin+`<&>"}]}}`, "otel:block=1"), loadAs(t, begin+`abc"}]}}`, "otel:block=1")
	if a, b := tokensOf(short), tokensOf(long); !slices.Equal(a, b) {
		t.Errorf("prompts of %d tokens, and %d", a, b)
	}
}
