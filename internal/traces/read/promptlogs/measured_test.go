package promptlogs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// TestMeasuredTokensAreRead: what a server found of a prompt, wherever the fields of servers, APIs and proxies have it.
func TestMeasuredTokensAreRead(t *testing.T) {
	const entry = `{"model":"m","messages":[{"role":"user","content":"abcdabcdabcdabcd"}],`
	const spend = `{"startTime":"2026-01-01 00:00:00","call_type":"acompletion","spend":0,"messages":[{"role":"user",` +
		`"content":"abcdabcd"}],`
	const vllm = "INFO 10-02 09:14:11 Received request cmpl-1-0: prompt: 'abcdabcd', params: None, prompt_token_ids: " +
		"None, lora_request: None.\n"
	const sglang = `"rid": "a", "obj": {"text": "abcdabcd"}`
	known := func(cached, tokens int32) prompts.Measured {
		return prompts.Measured{Known: true, Cached: cached, Tokens: tokens}
	}
	for name, c := range map[string]struct {
		format, content string
		want            prompts.Measured
	}{
		"OpenAI": {"openai", entry + `"response":{"usage":{"prompt_tokens":303,"prompt_tokens_details":{"cached_tokens":` +
			`256}}}}`, known(256, 303)},
		"Responses": {"openai", entry + `"response":{"usage":{"input_tokens":303,"input_tokens_details":{"cached_tokens":` +
			`256}}}}`, known(256, 303)},
		"Anthropic": {"openai", entry + `"response":{"usage":{"input_tokens":4,"cache_read_input_tokens":100,` +
			`"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":30}}}}`, known(100, 134)},
		"Anthropic, nothing read": {"openai", entry + `"usage":{"input_tokens":4,"cache_read_input_tokens":0,` +
			`"cache_creation_input_tokens":30}}`, known(0, 34)},
		"DeepSeek": {"openai", entry + `"usage":{"prompt_tokens":90,"prompt_cache_hit_tokens":64,` +
			`"prompt_cache_miss_tokens":26}}`, known(64, 90)},
		"Gemini": {"openai", entry + `"response":{"usageMetadata":{"promptTokenCount":90,"cachedContentTokenCount":64}}}`,
			known(64, 90)},
		"vLLM":      {"openai", entry + `"num_cached_tokens":3,"metrics":{"x":1}}`, known(3, 0)},
		"llama.cpp": {"openai", entry + `"response":{"timings":{"cache_n":30,"prompt_n":2}}}`, known(30, 32)},
		"Bedrock": {"openai", entry + `"response":{"usage":{"inputTokens":4,"cacheReadInputTokens":6,` +
			`"cacheWriteInputTokens":1}}}`, known(6, 11)},
		"OpenTelemetry": {"openai", entry + `"attributes":{"gen_ai.usage.input_tokens":"90",` +
			`"gen_ai.usage.cache_read.input_tokens":"64"}}`, known(64, 90)},
		"unknown":        {"openai", entry + `"usage":{"prompt_tokens":303}}`, prompts.Measured{}},
		"null":           {"openai", entry + `"usage":{"prompt_tokens":303,"cached_tokens":null}}`, prompts.Measured{}},
		"more than all":  {"openai", entry + `"usage":{"prompt_tokens":303,"cached_tokens":304}}`, prompts.Measured{}},
		"less than none": {"openai", entry + `"usage":{"prompt_tokens":303,"cached_tokens":-1}}`, prompts.Measured{}},
		"huge": {"openai", entry + `"usage":{"prompt_tokens":1e300,"cached_tokens":1e300}}`,
			prompts.Measured{}},
		"more than the trace's": {"openai", entry + `"usage":{"cached_tokens":5}}`, prompts.Measured{}},
		"LiteLLM": {"litellm", spend + `"prompt_tokens":90,"metadata":{"usage_object":{"prompt_tokens_details":` +
			`{"cached_tokens":64},"cache_read_input_tokens":64,"cache_creation_input_tokens":9}}}`, known(64, 90)},
		"LiteLLM, within the answer": {"litellm", spend + `"prompt_tokens":90,"response":{"usage":{"prompt_tokens_details":` +
			`{"cached_tokens":64}}}}`, known(64, 90)},
		"LiteLLM, lengths": {"litellm", `{"startTime":"2026-01-01 00:00:00","call_type":"acompletion","spend":0,` +
			`"prompt_tokens":90,"metadata":{"usage_object":{"cached_tokens":64}}}`, known(64, 90)},
		"Mooncake": {"mooncake:block=16", `{"input_length":32,"hash_ids":[1,2],"cached_tokens":16}`, known(16, 0)},
		"Mooncake, its own count": {"mooncake:block=16", `{"input_length":32,"hash_ids":[1,2],"cached_tokens":16,` +
			`"prompt_tokens":40}`, known(16, 40)},
		"chats": {"chat", `{"timestamp":1,"session_id":1,"input":"a b c d","output":"e","usage":{"cached_tokens":2}}`,
			known(2, 0)},
		"agents": {"agent", `{"id":"a","block_size":4,"requests":[{"t":0,"in":8,"out":1,"hash_ids":[1,2],"usage":{` +
			`"cache_read_input_tokens":4,"input_tokens":4}}]}`, known(4, 8)},
		"SGLang, JSON": {"sglang", `{"timestamp": "2026-01-01T00:00:00", "event": "request.received", ` + sglang + "}\n" +
			`{"timestamp": "2026-01-01T00:00:01", "event": "request.finished", ` + sglang + `, "out": {"meta_info": ` +
			`{"prompt_tokens": 90, "completion_tokens": 1, "cached_tokens": 64}}}`, known(64, 90)},
		"SGLang, text": {"sglang", "[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(rid='a', text='abcdabcd')\n" +
			"[2026-01-01 00:00:01] Finish: obj=GenerateReqInput(rid='a', text='abcdabcd'), out={'meta_info': " +
			"{'prompt_tokens': 90, 'completion_tokens': 1, 'cached_tokens': 64}}", known(64, 90)},
		"LMCache": {"vllm", vllm + "LMCache INFO: Reqid: cmpl-1-0, Total tokens 900, LMCache hit tokens: 768, need to " +
			"load: 256 (vllm_v1_adapter.py:1201)", known(768, 900)},
		"LMCache, more in vLLM": {"vllm", vllm + "LMCache INFO: Reqid: cmpl-1-0, Total tokens 700, LMCache hit tokens: " +
			"512, need to load: -176 (vllm_v1_adapter.py:1201)", known(688, 700)},
		"LMCache, another request": {"vllm", vllm + "LMCache INFO: Reqid: cmpl-2-0, Total tokens 700, LMCache hit " +
			"tokens: 512, need to load: -176", prompts.Measured{}},
		"lengths": {"lengths", "ContextTokens,GeneratedTokens,cached_tokens\n90,1,64", known(64, 0)},
	} {
		tr := tracetest.MustLoadText(t, c.content+"\n", read.Options{Selection: read.Selection{Format: c.format},
			Needs: traces.Needs{Kind: true, Lengths: true}})
		p := prompts.Of(tr.Kind)
		if got := p.Measured(0); got != c.want || p.HasMeasured() != c.want.Known {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		odd := strings.Contains(tr.Readings[0].Line(""), "1 with cached tokens below 0 or above those of the prompt")
		if want := strings.Contains(name, "than") || name == "huge"; odd != want {
			t.Errorf("%s: %q, want it to say that the numbers cannot be: %t", name, tr.Readings[0].Line(""), want)
		}
	}
}

// TestMeasuredTokensAreKept: a prompt without the field is unknown, and not 0; slices, larger blocks, answers and files
// that convert writes keep all of them.
func TestMeasuredTokensAreKept(t *testing.T) {
	const log = `{"input_length":8,"hash_ids":[1,2]}` + "\n" +
		`{"input_length":8,"output_length":4,"hash_ids":[1,2],"cached_tokens":4}` + "\n" +
		`{"input_length":12,"output_length":4,"hash_ids":[1,2,3],"cached_tokens":0,"prompt_tokens":13}` + "\n"
	want := []prompts.Measured{{}, {Known: true, Cached: 4}, {Known: true, Tokens: 13}}
	content := strings.Replace(log, "8,", `8,"output_length":4,`, 1)
	tr := loadAs(t, content, "mooncake:block=4")
	check := func(name string, p *prompts.Columns, want ...prompts.Measured) {
		t.Helper()
		for i, m := range want {
			if got := p.Measured(i); got != m {
				t.Errorf("%s: prompt %d has %+v, want %+v", name, i, got, m)
			}
		}
	}
	check("read", prompts.Of(tr.Kind), want...)
	check("joined", prompts.Of(must.Get(tr.InBlocks(8))(t).Kind), want...)
	check("answered", prompts.Of(must.Get(tr.WithAnswers(prompts.AnswersKept))(t).Kind), want...)
	check("written", prompts.Of(loadAs(t, rewritten(t, content, "mooncake:block=4"), "mooncake").Kind), want...)
}

// rewritten returns a log as convert writes it.
func rewritten(t *testing.T, content, format string) string {
	in, out := filepath.Join(t.TempDir(), "in.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	must.Do(t, os.WriteFile(in, []byte(content), 0o600))
	var w *write.Writer
	begin := func(fields stream.Fields) (err error) {
		w, err = write.Create(t.Context(), out, write.Options{Format: "mooncake", Fields: fields})
		return err
	}
	must.Get(read.Scan(t.Context(), []string{in}, read.Options{Selection: read.Selection{Format: format}}, begin,
		func(rec *stream.Record) error { return w.Write(rec) }))(t)
	must.Do(t, w.Close())
	return string(must.Get(os.ReadFile(out))(t))
}
