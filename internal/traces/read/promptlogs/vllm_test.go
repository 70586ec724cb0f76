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

const vllmRest = `, params: SamplingParams(n=1, stop=['prompt_token_ids: 9'], max_tokens=16), prompt_token_ids: `

func TestVLLMForms(t *testing.T) {
	text := textWith("ab")
	for name, c := range map[string]struct {
		content string
		input   int32
		times   bool
	}{
		"0.2": {`INFO 11-06 14:09:27 async_llm_engine.py:371] Received request cmpl-1: prompt: '` + text + `', ` +
			`sampling params: ` +
			`SamplingParams(n=1), prompt token ids: None.`, 8, true},
		"0.3": {`INFO 02-20 21:36:30 async_llm_engine.py:433] Received request cmpl-0a84-1: prompt: None, prefix_pos: ` +
			`None,sampling_params: SamplingParams(n=1), prompt_token_ids: [1, 2, 3, 4, 5], lora_request: None.`, 5, true},
		"0.6": {`INFO 12-06 14:09:27 logger.py:37] Received request chatcmpl-1: prompt: "` + text + `"` +
			strings.Replace(vllmRest, "prompt_token_ids: 9", "x", 1) + `None, lora_request: None, ` +
			`prompt_adapter_request: None.`, 8, true},
		"0.10": {`INFO 09-03 03:00:37 [logger.py:43] Received request cmpl-2f-0: prompt: 'x'` +
			strings.Replace(vllmRest, "prompt_token_ids: 9", "x", 1) + `[7, 8, 9, 10], prompt_embeds shape: None, ` +
			`lora_request: None.`, 4, true},
		"0.11": {`(APIServer pid=7) DEBUG 11-20 10:00:00 [entrypoints/logger.py:49] Request chatcmpl-3 details: prompt: '` +
			text + `', prompt_token_ids: None, prompt_embeds shape: None.` + "\n(APIServer pid=7) INFO 11-20 10:00:00 " +
			`[entrypoints/logger.py:58] Received request chatcmpl-3: params: SamplingParams(n=1), lora_request: None.`, 8, true},
		"container": {`2026-03-01T12:00:00.5Z Received request a: prompt: '` + text + `', params: None, ` +
			`prompt_token_ids: None`, 8,
			true},
		"without times": {`Received request a: prompt: '` + text + `', params: None, prompt_token_ids: None`, 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			content := "INFO 01-01 00:00:00 api_server.py:1] vLLM API server version 0\n" + c.content + "\n"
			if !c.times {
				content = "vLLM\n" + c.content + "\n"
			}
			tr := loadAs(t, content, "vllm:block=4")
			p := prompts.Of(tr.Kind)
			if !slices.Equal(p.InputTokens, []int32{c.input}) || (p.Arrivals != nil) != c.times || tr.LeftOut() == 0 {
				t.Errorf("prompts %+v, %d lines left out", p, tr.LeftOut())
			}
			if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "vllm") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

// TestVLLMTexts: what Python escapes is what the model saw.
func TestVLLMTexts(t *testing.T) {
	logged := loadAs(t, `Received request a: prompt: 'it\'s \\ "so"\n\té\x1b\u2028\U0001f642', params: None`,
		"vllm:block=1")
	plain := loadAs(t, `{"model":"m","prompt":"it's \\ \"so\"\n\té\u001b\u2028🙂"}`, "openai:block=1")
	if !slices.Equal(logged.Keys, plain.Keys) {
		t.Errorf("blocks %v, want those of the same text, %v", logged.Keys, plain.Keys)
	}
}

func TestVLLMAnswersAndYears(t *testing.T) {
	line := func(day, id, ids string) string {
		return "INFO " + day + " 00:00:00 logger.py:37] Received request " + id + ": prompt: None, params: None, " +
			"prompt_token_ids: " + ids + "\n"
	}
	content := line("12-31", "cmpl-1-0", "[1, 2]") + line("01-01", "b", "[1, 2]") + line("01-01", "c", "[3]") +
		"INFO 01-01 00:00:01 logger.py:88] Generated response cmpl-1: output: 'x', output_token_ids: [5, 6, 7], " +
		"finish_reason: " +
		"stop\nINFO 01-01 00:00:01 logger.py:88] Generated response b (streaming delta): output: 'x', " +
		"output_token_ids: [5]\n" +
		"INFO 01-01 00:00:01 logger.py:88] Generated response b (streaming complete): output: 'abcdefgh', " +
		"output_token_ids: " +
		"None, finish_reason: streaming_complete\n"
	tr := loadAs(t, content, "")
	p := prompts.Of(tr.Kind)
	if !slices.Equal(p.OutputTokens, []int32{3, 2}) || p.Arrivals[1]-p.Arrivals[0] != 24*3600*1e9 {
		t.Errorf("outputs %v at %v: want 3 and 2, a day apart", p.OutputTokens, p.Arrivals)
	}
	if said := tr.Readings[0].LeftOutText(); !strings.Contains(said, "1 not finished within the log") {
		t.Errorf("said %q", said)
	}
}

func TestVLLMErrors(t *testing.T) {
	const good = "Received request a: prompt: 'abcd', params: None, prompt_token_ids: None\n"
	for name, c := range map[string]struct{ content, want string }{
		"cut off": {good + "Received request b: prompt: 'abc\n", "line 2: column 33: want the quote that ends a " +
			"text, got the end"},
		"wrong escape": {good + `Received request b: prompt: 'a\q'`, "line 2: column 31: want an escape of Python"},
		"wrong ids": {good + "Received request b: prompt: None, prompt_token_ids: [1; 2]", "line 2: column 55: " +
			"want a comma or"},
		"huge id": {good + "Received request b: prompt: None, prompt_token_ids: [99999999999999]", "want the id " +
			"of a token"},
		"no prompt": {good + "Received request b: prompt: 17, params: None", "line 2: column 29: want a text in quotes"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{})
		must.Fail(t, err, c.want, name)
	}
	_, err := tracetest.LoadText(t, "INFO Received request a: params: None\n",
		read.Options{Selection: read.Selection{
			Format: "vllm"}})
	must.Fail(t, err, "no line has a prompt; the first line is \"INFO")
}

func TestVLLMCutPrompts(t *testing.T) {
	content := strings.Repeat("Received request a: prompt: 'abcd', params: None, prompt_token_ids: None\n", 3)
	if said := loadAs(t, content, "").Readings[0].Line(""); !strings.Contains(said, "3 of the greatest length, 4, "+
		"which may "+
		"be that of --max-log-len") {
		t.Errorf("said %q", said)
	}
}
