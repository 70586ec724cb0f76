package promptlogs_test

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// cutSample is a small log of a format. Each of its lines has a prompt, or as many as the format says.
type cutSample struct{ format, content string }

func cutSamples() map[string]cutSample {
	ab := textWith("ab")
	chat := `{"model":"m","messages":[{"role":"user","content":"` + ab + `"}],"time":5}` + "\n"
	response := `{"request":{"model":"m","input":[{"role":"user","content":"` + ab + `"}]},"response":{"id":"resp_1",` +
		`"output":[{"type":"function_call","name":"f","arguments":"{}"}],"created_at":5}}` + "\n"
	conversation := `{"conversations":[{"from":"human","value":"` + ab + `"},{"from":"gpt","value":"x"}]}`
	moment := aibrixMoment("5", `"`+ab+`"`, `"`+ab+`"`)
	call := litellmCall(`"startTime":5,"messages":[{"content":"`+ab+`"}]`) + "\n"
	finished := sglangText("1", "text='"+ab+"'") + sglangText("2", "text=None, input_ids=[1, 2, 3]") +
		"[2026-03-01 12:00:04 TP0] Decode batch. #running-req: 1\n"
	return map[string]cutSample{
		"openai":         {"openai", chat + response},
		"openai array":   {"openai", "[" + strings.TrimSpace(chat) + ",\n" + strings.TrimSpace(response) + "]\n"},
		"litellm":        {"litellm", call + call},
		"litellm array":  {"litellm", "[" + call + "," + call + "]"},
		"conversations":  {"conversations", conversation + "\n" + conversation + "\n"},
		"ShareGPT":       {"conversations", "[" + conversation + "," + conversation + "]"},
		"aibrix":         {"aibrix", moment + moment},
		"oldest aibrix":  {"aibrix", `[[["` + ab + `", 9, 7, null]], [["` + ab + `", 9, 8, null]]]`},
		"sglang":         {"sglang", finished},
		"sglang's ends":  {"sglang", sglangFinish("5", "1", "text='"+ab+"', ") + sglangFinish("6", "2", "text='"+ab+"', ")},
		"sglang in JSON": {"sglang", sglangJSON("1", `"text": "`+ab+`"`) + sglangJSON("2", `"text": "`+ab+`"`)},
		"vllm": {"vllm", "INFO 12-06 14:09:27 Received request a: prompt: '" + ab + "', params: SamplingParams(n=1), " +
			"prompt_token_ids: [1, 2, 3].\nINFO 12-06 14:09:28 Received request b: prompt: '" + ab +
			"', params: None\nINFO x\n"},
		"lengths":             {"lengths", smallAzure},
		"lengths of BurstGPT": {"lengths", smallBurst},
	}
}

// TestCutTexts cuts a small log of each format behind every byte: what is left is read with all prompts of its whole
// lines, and a line that is cut is an error with its place, or the reading says that it was left out or may be cut.
func TestCutTexts(t *testing.T) {
	for name, sample := range cutSamples() {
		for _, badLines := range []float64{0, 0.9} {
			t.Run(name, func(t *testing.T) { cutEverywhere(t, sample, badLines) })
		}
	}
}

func cutEverywhere(t *testing.T, sample cutSample, badLines float64) {
	options := read.Options{Selection: read.Selection{Format: sample.format}, BadLines: badLines,
		Needs: traces.Needs{Kind: true, Lengths: sample.format == "lengths"}}
	wholeOf := func(content string) int {
		tr, err := tracetest.LoadText(t, content, options)
		if err != nil {
			return 0
		}
		return len(prompts.Of(tr.Kind).InputTokens)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for end := 1; end < len(sample.content); end += step {
		content := sample.content[:end]
		lines := strings.LastIndexByte(content, '\n') + 1
		tr, err := tracetest.LoadText(t, content, options)
		if err != nil {
			said := func(text string) bool { return strings.Contains(err.Error(), text) }
			if !slices.ContainsFunc([]string{"line ", "byte ", "the first line is", "no prompts", "no requests"}, said) {
				t.Fatalf("cut at %d: %v: want the place", end, err)
			}
			continue
		}
		got := len(prompts.Of(tr.Kind).InputTokens)
		if whole := wholeOf(content[:lines]); got < whole {
			t.Fatalf("cut at %d: %d prompts, the whole lines have %d", end, got, whole)
		}
		reading := tr.Readings[0]
		said := tr.BadLines() > 0
		for _, why := range slices.Concat(reading.Reasons, reading.Notable) {
			said = said || strings.Contains(why.Sort, "without its end")
		}
		if ended := lines == end || sample.content[end] == '\n'; !ended && !said {
			t.Fatalf("cut at %d within a line: %d prompts, and nothing is said", end, got)
		}
	}
}

// TestCutCompressed: a compressed log that is cut anywhere is an error, as is one whose end is garbage.
func TestCutCompressed(t *testing.T) {
	content := []byte(cutSamples()["openai"].content)
	var gz, zst bytes.Buffer
	w := gzip.NewWriter(&gz)
	must.Get(w.Write(content))(t)
	must.Do(t, w.Close())
	z := must.Get(zstd.NewWriter(&zst))(t)
	must.Get(z.Write(content))(t)
	must.Do(t, z.Close())
	for name, whole := range map[string][]byte{"log.gz": gz.Bytes(), "log.zst": zst.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		options := read.Options{Selection: read.Selection{Format: "openai"}, BadLines: 0.9}
		for end := 1; end < len(whole); end++ {
			tracetest.WriteFile(t, path, whole[:end])
			if tr, err := read.Load(t.Context(), []string{path}, options); err == nil {
				t.Fatalf("%s cut at %d of %d: %d requests and no error", name, end, len(whole), len(tr.Objects))
			}
		}
	}
}
