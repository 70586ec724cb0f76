package formats

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestProgramForJQ: what an error proposes makes requests with messages, and with what the server found.
func TestProgramForJQ(t *testing.T) {
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	const messages = `"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi\"}]}]"`
	const want = `"messages":[{"role":"user","content":"Hi"}],"response":{"usage":{"prompt_tokens":PROMPT,` +
		`"cached_tokens":CACHED}}}`
	for name, c := range map[string]struct{ log, want string }{
		"spans": {`{"name":"chat","start_time":7,"attributes":{"gen_ai.input.messages":` + messages +
			`,"gen_ai.request.model":"m","gen_ai.usage.input_tokens":90,"gen_ai.usage.cache_read.input_tokens":64}}`,
			strings.NewReplacer("PROMPT", "90", "CACHED", "64").Replace(want)},
		"OTLP": {`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"7000000000",` +
			`"attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":` + messages + `}},` +
			`{"key":"gen_ai.usage.input_tokens","value":{"intValue":"90"}}]}]}]}]}`,
			strings.NewReplacer("PROMPT", `"90"`, "CACHED", "null").Replace(want)},
	} {
		cmd := exec.CommandContext(t.Context(), jq, "-c", promptsOfSpans)
		cmd.Stdin = strings.NewReader(c.log)
		if got := string(must.Get(cmd.Output())(t)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
