package promptlogs_test

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// loadAs loads a text in a format; "" recognises it.
func loadAs(t *testing.T, content, format string) *traces.Trace {
	t.Helper()
	return tracetest.MustLoadText(t, content, read.Options{Selection: read.Selection{Format: format},
		Needs: traces.Needs{Times: true, Keys: true, Kind: true}})
}

// textWith has 16 bytes, the same for the same letter, which are a block of 4 tokens.
func textWith(letters string) string {
	var s strings.Builder
	for _, letter := range letters {
		s.WriteString(strings.Repeat(string(letter), 16))
	}
	return s.String()
}

func TestOpenAIFormsOfRequests(t *testing.T) {
	ab, abc := textWith("ab"), textWith("abc")
	for name, c := range map[string]struct {
		content         string
		blocks          []uint32 // objects
		input, output   []int32
		times, sessions bool
		reading         string
	}{
		"chat": {`{"model":"m","messages":[{"role":"system","content":"` + textWith("a") + `"},{"role":"user","content":"` +
			textWith("b") + `"}]}` + "\n" + `{"model":"m","messages":[{"role":"user","content":"` + abc + `"}]}`,
			[]uint32{0, 1, 0, 1, 2}, []int32{8, 12}, nil, false, false,
			"openai; prompts in blocks of 4 tokens, 4 bytes as a token, messages one after another (no template), " +
				"conversations by prefix"},
		"parts and null": {`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"` + textWith("a") +
			`"},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"` + textWith("b") +
			`"}]},{"role":"assistant","content":null,"tool_calls":[]}]}`, []uint32{0, 1}, []int32{8}, nil, false, false, ""},
		"calls of tools": {`{"model":"m","messages":[{"role":"assistant","content":"` + textWith("a") +
			`","tool_calls":[{"name":"b"}]}],"tools":[{"n":12345678}]}`, []uint32{0, 1, 2}, []int32{12}, nil, false, false, ""},
		"texts": {`{"model":"m","prompt":["` + ab + `","` + abc + `"],"created":7}`, []uint32{0, 1, 0, 1, 2}, []int32{8, 12},
			nil, true, false, "openai, sorted by time; prompts in blocks of 4 tokens, 4 bytes as a token, conversations by " +
				"prefix, time in s"},
		"ids": {`{"model":"m","prompt":[1,2,3,4,5],"usage":{"completion_tokens":9}}`, []uint32{0}, []int32{5}, []int32{9},
			false, false, "openai; prompts in blocks of 4 tokens, token ids of the log, conversations by prefix"},
		"lists of ids": {`{"model":"m","prompt":[[1,2,3,4],[1,2,3,4,5,6,7,8]]}`, []uint32{0, 0, 1}, []int32{4, 8}, nil, false,
			false, ""},
		"ids beside a text": {`{"model":"m","prompt":"x","response":{"prompt_token_ids":[1,2,3,4]}}`, []uint32{0},
			[]int32{4}, nil, false, false, ""},
		"batch": {`{"custom_id":"r1","method":"POST","body":{"model":"m","messages":[{"role":"user","content":"` + ab +
			`"}]}}`, []uint32{0, 1}, []int32{8}, nil, false, false, ""},
		"array": {"[\n" + `{"model":"m","prompt":"` + ab + `"},` + "\n" + `{"model":"m","prompt":"` + abc + `"}]`,
			[]uint32{0, 1, 0, 1, 2}, []int32{8, 12}, nil, false, false, ""},
		"answer": {`{"timestamp":"2026-03-01T12:00:00Z","request":{"model":"m","prompt":"` + ab +
			`"},"response":{"choices":[{"message":{"content":"12345"}}]}}`, []uint32{0, 1}, []int32{8}, []int32{2}, true, false,
			""},
		"responses": {`{"model":"m","instructions":"` + textWith("a") + `","input":"` + textWith("b") +
			`","max_output_tokens":9}` + "\n" + `{"model":"m","instructions":"` + textWith("a") +
			`","input":[{"role":"user","content":[` +
			`{"type":"input_text",` +
			`"text":"` + textWith("b") + `"},{"type":"input_image"}]},{"type":"message","role":"assistant","content":[{"type":` +
			`"output_text","text":"` + textWith("c") + `"}]}]}`, []uint32{0, 1, 0, 1, 2}, []int32{8, 12}, nil, false, false, ""},
		"batch of responses": {`{"custom_id":"r1","method":"POST","url":"/v1/responses","body":{"model":"m","input":"` + ab +
			`"}}`, []uint32{0, 1}, []int32{8}, nil, false, false, ""},
		"continued responses": {`[{"request":{"model":"m","instructions":"` + textWith("a") + `","input":"` + textWith("b") +
			`"},"response":{"id":"resp_1","created_at":5,"output":[{"type":"reasoning","summary":[]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + textWith("c") +
			`"}]}],"usage":{"output_tokens":3}}},` +
			`{"request":{"model":"m","instructions":"` + textWith("a") + `","previous_response_id":"resp_1","input":"` +
			textWith("d") + `"},"response":{"id":"resp_2","created_at":6,"output":[],"usage":{"output_tokens":2}}}]`,
			[]uint32{0, 1, 0, 1, 2, 3}, []int32{8, 16}, []int32{3, 2}, true, false, ""},
		"items": {`{"model":"m","store":true,"input":[{"role":"user","content":"` + textWith("a") + `"},{"type":` +
			`"function_call_output","call_id":"1","output":"` + textWith("b") + `"},{"type":"item_reference","id":"x"}]}`,
			[]uint32{0, 1}, []int32{8}, nil, false, false, ""},
		"Anthropic's": {`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",` +
			`"content":` +
			`[{"type":"text","text":"` + textWith("b") + `"}]}]}],"system":[{"type":"text","text":"` + textWith("a") +
			`"}],"response":{"content":[{"type":"text","text":"12345"}],"usage":{"output_tokens":2}}}`, []uint32{0, 1},
			[]int32{8}, []int32{2}, false, false, ""},
		"messages twice": {`{"model":"m","messages":[{"role":"user","content":"` + ab + `"}],"request":{"model":"m",` +
			`"messages":[{"role":"user","content":"` + ab + `"}]},"input":"` + ab + `"}`, []uint32{0, 1}, []int32{8}, nil, false,
			false, ""},
		"a prompt twice": {`{"model":"m","prompt":"` + ab + `","body":{"prompt":"` + ab + `"}}`, []uint32{0, 1}, []int32{8},
			nil, false, false, ""},
		"empty repetitions": {`{"request":{"model":"m","instructions":"` + textWith("a") + `","input":"` + textWith("b") +
			`","tools":[{"n":12345678}]},"response":{"id":"resp_1","instructions":null,"tools":[],"output":[]}}` + "\n" +
			`{"request":{"model":"m","input":"` + textWith("c") + `","previous_response_id":"resp_1"},` +
			`"response":{"id":"resp_2","previous_response_id":null,"output":[]}}`, []uint32{0, 1, 2, 3, 4}, []int32{12, 8}, nil,
			false, true, ""},
		"kept by the server": {`{"model":"m","store":true,"conversation":"conv_1","input":"` + ab + `"}` + "\n" +
			`{"model":"m","store":true,"conversation":{"id":"conv_1"},"prompt":{"id":"pmpt_1"},"input":"` + abc + `"}`,
			[]uint32{0, 1, 0, 1, 2}, []int32{8, 12}, nil, false, true, "openai; prompts in blocks of 4 tokens, 4 bytes as a " +
				"token, messages one after another (no template), conversations as named"},
		"named conversations": {strings.Repeat(`{"model":"m","session_id":"1e5","prompt":"`+ab+`"}`+"\n", 2),
			[]uint32{0, 1, 0, 1}, []int32{8, 8}, nil, false, true, "openai; prompts in blocks of 4 tokens, 4 bytes as a " +
				"token, conversations as named"},
	} {
		t.Run(name, func(t *testing.T) {
			format := "openai:block=4"
			got := loadAs(t, c.content, format)
			p := prompts.Of(got.Kind)
			if !slices.Equal(got.Objects, c.blocks) || !slices.Equal(p.InputTokens, c.input) ||
				!slices.Equal(p.OutputTokens, c.output) || (p.Arrivals != nil) != c.times {
				t.Errorf("blocks %v, inputs %v, outputs %v, times %v; want %+v", got.Objects, p.InputTokens, p.OutputTokens,
					p.Arrivals, c)
			}
			if c.reading != "" && got.ReadAs() != c.reading {
				t.Errorf("read as %q, want %q", got.ReadAs(), c.reading)
			}
			if recognised := loadAs(t, c.content, ""); !strings.HasPrefix(recognised.ReadAs(), "openai") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

// TestKeptByServer: what the server keeps, and the log lacks, is said.
func TestKeptByServer(t *testing.T) {
	tr := loadAs(t, `{"model":"m","conversation":{"id":"conv_1"},"prompt":{"id":"pmpt_1"},"input":"abcdefgh"}`, "openai")
	const want = "among them 1 with stored conversations left out, 1 with stored prompts left out"
	if said := tr.Readings[0].Line(""); !strings.Contains(said, want) {
		t.Errorf("%q, want %q in it", said, want)
	}
}

// TestConversationsByPrefix: a prompt that begins with an earlier one continues its conversation, however its last
// token goes on; an equal one begins another, and so does one that only shares the system message.
func TestConversationsByPrefix(t *testing.T) {
	line := func(text string) string { return `{"model":"m","prompt":"` + text + `"}` + "\n" }
	a, b, c, d := textWith("a"), textWith("b"), textWith("c"), textWith("d")
	content := line(a+b+"x") + line(a+c) + line(a+b+"xyz"+c) + line(a+b+"x") + line(a+c+d) + line(a+b+"xyz"+c+d) +
		line("a") +
		line("ab")
	want := []int32{0, 1, 0, 2, 1, 0, 3, 4}
	if got := prompts.Of(loadAs(t, content, "openai:block=4").Kind).Sessions; !slices.Equal(got, want) {
		t.Errorf("conversations %v, want %v", got, want)
	}
}

// TestTemplates compares what templates write with prompts as their families' documentation shows them.
func TestTemplates(t *testing.T) {
	const chat = `{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"U "},` +
		`{"role":"assistant","content":"A"},{"role":"user","content":"V"}]}`
	for name, want := range map[string]string{
		"none": "SU AV",
		"chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU <|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n" +
			"<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
		"llama-2": "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]",
		"llama-3": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user" +
			"<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>" +
			"<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
		"llama-4": "<|begin_of_text|><|header_start|>system<|header_end|>\n\nS<|eot|><|header_start|>user<|header_end|>\n\n" +
			"U<|eot|><|header_start|>assistant<|header_end|>\n\nA<|eot|><|header_start|>user<|header_end|>\n\nV<|eot|>" +
			"<|header_start|>assistant<|header_end|>\n\n",
		"mistral": "<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U [/INST]A</s>[INST]V[/INST]",
		"gemma": "<bos><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n" +
			"<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n",
		"deepseek": "<｜begin▁of▁sentence｜>S<｜User｜>U <｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>",
		"phi":      "<|system|>\nS<|end|>\n<|user|>\nU <|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|assistant|>\n",
	} {
		got := loadAs(t, chat, "openai:block=1,template="+name)
		plain := loadAs(t, `{"model":"m","prompt":"`+strings.ReplaceAll(want, "\n", `\n`)+`"}`, "openai:block=1")
		if !reflect.DeepEqual(got.Keys, plain.Keys) {
			t.Errorf("%s: %d tokens with other blocks than the %d of %q", name, len(got.Keys), len(plain.Keys), want)
		}
		if want := "template " + name; name != "none" && !strings.Contains(got.ReadAs(), want) {
			t.Errorf("read as %q, want %q", got.ReadAs(), want)
		}
	}
}

// TestEmptySystemMessages: Phi 3 leaves them out, and Qwen 2 does not.
func TestEmptySystemMessages(t *testing.T) {
	for name, want := range map[string]string{"phi": "<|user|>\\nU<|end|>\\n<|assistant|>\\n",
		"chatml": "<|im_start|>system\\n<|im_end|>\\n<|im_start|>user\\nU<|im_end|>\\n<|im_start|>assistant\\n"} {
		got := loadAs(t, `{"messages":[{"role":"system","content":""},{"role":"user","content":"U"}]}`,
			"openai:block=1,template="+name)
		plain := loadAs(t, `{"model":"m","prompt":"`+want+`"}`, "openai:block=1")
		if !reflect.DeepEqual(got.Keys, plain.Keys) {
			t.Errorf("%s: %d tokens, want those of %s", name, len(got.Keys), want)
		}
	}
}

// TestGarbage: each reader of texts says what it found and what it expects.
func TestGarbage(t *testing.T) {
	for _, c := range []struct{ format, content, want string }{
		{"openai", "hello\n", `line 1: column 1: want an object in braces, got "hello"`},
		{"openai", `{"a": 1}` + "\n", "line 1: neither messages, prompt nor input"},
		{"openai", "[]", "holds no prompts: want requests of OpenAI's or Anthropic's API in JSON"},
		{"litellm", `{"a": 1, "b": 2}`, `holds no prompts: 1 row left out (without text); want calls of LiteLLM in JSON, ` +
			`an object on a line or in an array, with startTime, and with messages or prompt_tokens; the first ` +
			`object has "a", "b"`},
		{"conversations", "[]", "holds no prompts: want conversations in JSON"},
		{"aibrix", `{"a": 1}`, `want moments in JSON, an object on a line or in an array, with timestamp and requests; the ` +
			`first object has "a"`},
		{"sglang", "hello\n", `no requests; the first line is "hello": start SGLang with --log-requests`},
		{"vllm", "hello\n", `no line has a prompt; the first line is "hello": start vLLM with --enable-log-requests`},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{Selection: read.Selection{Format: c.format}})
		must.Fail(t, err, c.want, c.format)
	}
	// Lines that may be bad are skipped, and the first is named where nothing else is left.
	_, err := tracetest.LoadText(t, "hello\nworld\n", read.Options{Selection: read.Selection{Format: "openai"},
		BadLines: 0.5})
	must.Fail(t, err, `holds no prompts: line 1: column 1: want an object in braces, got "hello"; want requests`)
}

func TestOpenAIErrors(t *testing.T) {
	const good = `{"model":"m","prompt":"abcdefgh","time":5}` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"garbage":    {good + "hello\n", "line 2: column 1: want an object in braces"},
		"cut off":    {good + `{"model":"m","pro` + "\n", "line 2: column 18: want the double quote that ends a string"},
		"no time":    {good + `{"model":"m","prompt":"a"}`, "line 2: no time, which the first prompt has"},
		"wrong time": {good + `{"model":"m","prompt":"a","time":"now"}`, `line 2: time "now"`},
		"output of batch": {good + `{"custom_id":"1","response":{"body":{"choices":[]}}}`, "line 2: neither messages, " +
			"prompt nor input"},
		"unknown response": {strings.Repeat(`{"model":"m","input":"a","previous_response_id":"resp_0"}`+"\n", 2),
			"holds no prompts: 2 rows left out (continue a response that the log lacks)"},
		"embeddings": {`{"custom_id":"1","url":"/v1/embeddings","body":{"model":"m","input":"a"}}`,
			"1 row left out (of other calls, such as embeddings)"},
		"wrong id":       {good + `{"model":"m","prompt":[-1]}`, "line 2: column 24: want the id of a token"},
		"wrong role":     {good + `{"messages":[5]}`, "line 2: column 14: want an object in braces"},
		"deep":           {good + `{"messages":` + strings.Repeat("[", 200), "line 2: column 14: want an object in braces"},
		"deep elsewhere": {good + `{"x":` + strings.Repeat("[", 200), "want at most 100 nested arrays"},
		"array": {`[{"model":"m","prompt":"a"}, {"model":"m","prompt":3} x`, "byte 54: want a comma or a closing " +
			"bracket"},
		"nothing": {strings.Repeat(`{"model":"m","prompt":"","error":"x"}`+"\n", 3), "holds no prompts: 3 rows left out " +
			"(failed)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracetest.LoadText(t, c.content, read.Options{})
			must.Fail(t, err, c.want)
		})
	}
}

// TestDeepEntries: objects within each other without end are an error, and no endless recursion.
func TestDeepEntries(t *testing.T) {
	for format, name := range map[string]string{"openai": "body", "litellm": "kwargs"} {
		_, err := tracetest.LoadText(t, strings.Repeat(`{"`+name+`":`, 1<<20), read.Options{Selection: read.Selection{
			Format: format}})
		must.Fail(t, err, "line 1: column ", format)
		must.Fail(t, err, "want at most 100 nested arrays and objects", format)
	}
}

func TestLongPromptsAndBounds(t *testing.T) {
	long := `{"model":"m","prompt":"` + strings.Repeat("x", 3<<20) + `"}` + "\n"
	if got := prompts.Of(loadAs(t, long, "").Kind).InputTokens[0]; got != 3<<18 {
		t.Errorf("%d tokens, want %d", got, 3<<18)
	}
	_, err := tracetest.LoadText(t, `{"model":"m","prompt":"`+strings.Repeat("x", 9<<20)+`"}`,
		read.Options{Memory: memory.Fixed(64<<20, 0)})
	must.Fail(t, err, "line 1: a line of more than 8.0 MiB")
}

// TestManyParts: what many parts take grows with their number, and not with its square.
func TestManyParts(t *testing.T) {
	many := func(part string) string { return strings.Repeat(part+",", 19_999) + part }
	for name, content := range map[string]string{
		"content": `{"model":"m","messages":[{"role":"user","content":[` + many(`{"type":"text","text":"abcd"}`) + `]}]}`,
		"calls":   `{"model":"m","messages":[{"role":"assistant","content":[` + many(`{"type":"tool_use"}`) + `]}]}`,
		"answers": `{"model":"m","prompt":"abcd","choices":[` + many(`{"text":"abcd"}`) + `]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		loadAs(t, content, "openai")
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
			t.Errorf("%s: %d MiB for %d KiB", name, took>>20, len(content)>>10)
		}
	}
}
