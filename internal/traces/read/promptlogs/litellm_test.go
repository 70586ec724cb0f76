package promptlogs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// litellmCall is an entry of a log with these fields at its end.
func litellmCall(fields string) string {
	return `{"id":"c","call_type":"acompletion","status":"success","model":"m","prompt_tokens":99,"completion_tokens":7,` +
		fields + "}"
}

func TestLiteLLMForms(t *testing.T) {
	messages := `[{"role":"user","content":"` + textWith("ab") + `"}]`
	quoted := strings.ReplaceAll(messages, `"`, `\"`)
	for name, content := range map[string]string{
		"callback": litellmCall(`"startTime":1760587668.5,"messages":` + messages),
		"kwargs": `{"kwargs":{"standard_logging_object":` + litellmCall(`"startTime":5,"messages":`+
			``+messages) + `}}`,
		"spend logs": "[" + litellmCall(`"startTime":"2026-03-01T12:00:00.5Z","spend":0.1,"messages":`+
			``+messages) + "]",
		"newer spend logs": litellmCall(`"startTime":5,"messages":{},"proxy_server_request":{"model":"m",` +
			`"messages":` + messages + `}`),
		"export of spend log": litellmCall(`"startTime":5,"messages":"` + quoted + `"`),
		"text completion":     litellmCall(`"startTime":5,"messages":"` + textWith("ab") + `"`),
	} {
		t.Run(name, func(t *testing.T) {
			tr := loadAs(t, content, "litellm:block=4")
			p := prompts.Of(tr.Kind)
			if !slices.Equal(tr.Objects, []uint32{0, 1}) || p.InputTokens[0] != 8 || p.OutputTokens[0] != 7 ||
				p.Arrivals == nil {
				t.Errorf("blocks %v, prompts %+v", tr.Objects, p)
			}
			if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "litellm") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

// TestLiteLLMIdsAreNames: ids in hexadecimal digits name conversations, also those that look like numbers, and count
// only if any comes twice: LiteLLM makes up a new one for each call of which it knows none.
func TestLiteLLMIdsAreNames(t *testing.T) {
	call := func(session, text string) string {
		return litellmCall(`"startTime":5,"session_id":"`+session+`","messages":[{"content":"`+textWith(text)+`"}]`) + "\n"
	}
	for name, c := range map[string]struct {
		content string
		want    []int32
		reading string
	}{
		"named": {call("10", "ab") + call("1e1", "cd") + call("010", "de") + call("1e1", "e") + call("10", "a") +
			call("010", "f"), []int32{0, 1, 2, 1, 0, 2}, "conversations as named, time"},
		"by prefix": {call("1", "ab") + call("2", "abc") + call("3", "b"), []int32{0, 0, 1}, "conversations by prefix"},
		"some named": {call("1", "ab") + call("2", "abc") + call("f", "g") + call("f", "h"), []int32{0, 0, 1, 1},
			"conversations as named, or by prefix"},
	} {
		tr := loadAs(t, c.content, "litellm:block=4")
		if got := prompts.Of(tr.Kind).Sessions; !slices.Equal(got, c.want) || !strings.Contains(tr.ReadAs(), c.reading) {
			t.Errorf("%s: conversations %v, want %v; read as %q", name, got, c.want, tr.ReadAs())
		}
	}
}

func TestLiteLLMLeavesOut(t *testing.T) {
	good := litellmCall(`"startTime":5,"messages":[{"content":"`+textWith("a")+`"}]`) + "\n"
	content := good + strings.Replace(good, "success", "failure", 1) + strings.Replace(good, "acompletion",
		"aembedding", 1) +
		strings.Replace(good, `"model"`, `"cache_hit":"True","model"`, 1) + litellmCall(`"startTime":6,"messages":{}`) + "\n"
	tr := loadAs(t, content, "")
	said := tr.Readings[0].LeftOutText()
	for _, want := range []string{"4 rows left out (", "1 failed", "1 of other calls, such as embeddings",
		"1 answered by LiteLLM's cache", "1 without text"} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
	if len(tr.Groups) != 1 {
		t.Errorf("%d prompts, want 1", len(tr.Groups))
	}
}

// TestLiteLLMWithoutTexts: spend logs without prompts have their lengths and times.
func TestLiteLLMWithoutTexts(t *testing.T) {
	content := litellmCall(`"startTime":9,"messages":{},"spend":1`) + "\n" + litellmCall(`"startTime":5,"spend":1`) + "\n"
	tr, p := lengthsOf(t, content)
	if !p.LengthsOnly || !slices.Equal(p.InputTokens, []int32{99, 99}) || !slices.Equal(p.Arrivals, []int64{5e9, 9e9}) {
		t.Errorf("prompts %+v; read as %s", p, tr.ReadAs())
	}
	_, err := tracetest.LoadText(t, content, read.Options{})
	must.Fail(t, err, "so hits are unknown")
}
