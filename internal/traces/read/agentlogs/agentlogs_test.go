package agentlogs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

var needs = traces.Needs{Times: true, Keys: true, Kind: true}

// loadAs loads a text in a format; "" recognises it.
func loadAs(t *testing.T, content, format string) *traces.Trace {
	t.Helper()
	return tracetest.MustLoadText(t, content, read.Options{Selection: read.Selection{Format: format}, Needs: needs})
}

func fileOf(t *testing.T, name string) string {
	return string(must.Get(os.ReadFile(filepath.Join("testdata", name)))(t))
}

// said reports whether a reading says something of its requests, or of the rows that it left out.
func said(tr *traces.Trace, what string) bool {
	r := tr.Readings[0]
	for _, tally := range slices.Concat(r.Notable, r.Reasons) {
		if strings.Contains(tally.Sort, what) {
			return true
		}
	}
	return false
}

// TestCutLastLine: a log whose last line is being written is read without it, and says so. What is wrong in a line of
// its own is an error, as is a line that is cut and goes on.
func TestCutLastLine(t *testing.T) {
	turn := claudeLine("a", "", "user", "", 0, 0) + claudeLine("b", "a", "assistant", "1", 20, 6)
	codex := fileOf(t, "codex-0.171.0-1.jsonl")
	for format, content := range map[string]string{
		"claude-code": turn + claudeLine("c", "b", "user", "", 0, 0), "codex": codex,
		"openai": strings.Repeat(`{"model":"m","prompt":"abcdefgh"}`+"\n", 3),
	} {
		end := strings.LastIndexByte(strings.TrimSuffix(content, "\n"), '\n') + 1
		for cut := end + 1; cut < len(content)-2; cut += 7 {
			tr := loadAs(t, content[:cut], format)
			whole := loadAs(t, content[:end], format)
			if !slices.Equal(tr.Objects, whole.Objects) || !said(tr, "without its end") {
				t.Fatalf("%s cut at %d of %d: %d blocks, want %d; %s", format, cut, len(content), len(tr.Objects),
					len(whole.Objects), tr.ReadAs())
			}
		}
		_, err := tracetest.ReadText(t, content[:end]+content[end:len(content)-4]+"\n"+content, format)
		must.Fail(t, err, ": line ", format)
	}
}

// TestCountsThatCannotBe: an answer of fewer than no tokens, or of more than any model gives, is unknown, and counted.
func TestCountsThatCannotBe(t *testing.T) {
	for format, content := range map[string]string{
		"claude-code": claudeLine("a", "", "user", "", 0, 0) + claudeLine("b", "a", "assistant", "1", 20, -6),
		"codex": strings.Replace(fileOf(t, "codex-0.171.0-1.jsonl"), `"output_tokens":25`, `"output_tokens":-25`,
			1),
		"otel": strings.ReplaceAll(fileOf(t, "openllmetry-0.62.json"), `"intValue":"9"`, `"intValue":"-9"`),
		"openai": `{"model":"m","prompt":"abcdefgh","usage":{"completion_tokens":1e300}}` + "\n" +
			`{"model":"m","prompt":"abcdefgh","usage":{"completion_tokens":1.5}}`,
		"litellm":  `{"startTime":5,"call_type":"x_completion","prompt":"abcd","messages":"abcdefgh","completion_tokens":-1}`,
		"mooncake": `{"timestamp":0,"input_length":512,"output_length":-3,"hash_ids":[1]}`,
		"agent":    `{"id":"a","block_size":64,"requests":[{"t":0.0,"in":64,"out":-53,"hash_ids":[1]}]}`,
		"lengths":  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,4808,-10\n",
		"aibrix":   `{"timestamp":5,"requests":[{"prompt":"abcdefgh","prompt_length":2,"output_length":-2}]}`,
		"sglang": "[2026-03-01 12:00:04] Finish: obj=GenerateReqInput(rid='1', text='abcdefgh'), out={'text': 'x', " +
			"'meta_info': {'id': '1', 'prompt_tokens': 2, 'completion_tokens': -3}}\n",
	} {
		options := read.Options{Selection: read.Selection{Format: format}, Needs: needs}
		options.Needs.Lengths = format == "lengths"
		tr, err := tracetest.LoadText(t, content, options)
		if err != nil {
			t.Errorf("%s: %v", format, err)
		} else if !said(tr, "tokens below 0 or above 2^31-1") {
			t.Errorf("%s: nothing is said: %s", format, tr.ReadAs())
		}
	}
	_, err := tracetest.ReadText(t, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,4808,x\n", "lengths")
	must.Fail(t, err, `GeneratedTokens: "x" tokens: want a whole number`)
}

// TestTenantsOfSessions: each prompt has the tenant of its own answer's line.
func TestTenantsOfSessions(t *testing.T) {
	content := claudeLine("a", "", "user", "", 0, 0) + claudeLine("b", "a", "assistant", "1", 20, 6) +
		strings.ReplaceAll(claudeLine("c", "", "user", "", 0, 0)+claudeLine("d", "c", "assistant", "2", 20, 6),
			`"sessionId":"s"`, `"sessionId":"z"`)
	tr := must.Get(tracetest.LoadText(t, content, read.Options{Needs: needs,
		Selection: read.Selection{Tenants: "column(name=sessionId)"}}))(t)
	if got := tr.Tenants; !slices.Equal(got.Names, []string{"s", "z"}) || !slices.Equal(got.OfPrompt, []uint32{0, 1}) {
		t.Errorf("tenants %+v", got)
	}
}

func tokensOf(tr *traces.Trace) []int32 { return prompts.Of(tr.Kind).InputTokens }

// FuzzAgents reads every format of this package.
func FuzzAgents(f *testing.F) {
	seeds := []string{claudeLine("a", "", "assistant", "1", 9, 3) + claudeLine("b", "a", "user", "", 0, 0) +
		claudeLine("c", "b", "assistant", "2", 5, 1)}
	for _, format := range []string{"claude-code", "codex", "otel"} {
		seeds = append(seeds, tracetest.ExampleOf(f, format))
	}
	for _, name := range []string{"codex-0.171.0-3.jsonl", "openllmetry-0.62.json", "openllmetry-0.40.json",
		"openai-v2-2.3b0-events.json"} {
		seeds = append(seeds, string(must.Get(os.ReadFile(filepath.Join("testdata", name)))(f)))
	}
	tracetest.FuzzAll(f, []string{"claude-code:block=2", "codex:block=2", "otel:block=2"}, seeds...)
}
