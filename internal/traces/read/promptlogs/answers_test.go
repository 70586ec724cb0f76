package promptlogs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// TestModelsShareNothing: the same prompt to another model, adapter or salt has other blocks, unless share=models.
func TestModelsShareNothing(t *testing.T) {
	const ids = `"input_length":8,"hash_ids":[1,2]`
	text := `"prompt":"` + strings.Repeat("abcd", 8) + `"`
	for name, c := range map[string]struct{ format, first, second string }{
		"models":   {"openai:block=4", `{"model":"a",` + text + `}`, `{"model":"b",` + text + `}`},
		"salts":    {"openai:block=4", `{"model":"a",` + text + `}`, `{"model":"a","cache_salt":"x",` + text + `}`},
		"mooncake": {"mooncake:block=4", `{"model":"a",` + ids + `}`, `{"model":"b",` + ids + `}`},
		"adapters": {"vllm:block=4", `Received request a: prompt: '` + strings.Repeat("abcd", 8) + `', params: None, ` +
			`prompt_token_ids: None, lora_request: LoRARequest(lora_name='x', lora_int_id=1).`,
			`Received request b: prompt: '` + strings.Repeat("abcd", 8) + `', params: None, prompt_token_ids: None, ` +
				`lora_request: None.`},
	} {
		apart := loadAs(t, c.first+"\n"+c.second+"\n"+c.first+"\n", c.format)
		if n := len(apart.Objects) / 3; !slices.Equal(apart.Objects[:n], apart.Objects[2*n:]) ||
			slices.Equal(apart.Objects[:n], apart.Objects[n:2*n]) {
			t.Errorf("%s: objects %v, want other ones in the second prompt alone", name, apart.Objects)
		}
		if lines := prompts.Of(apart.Kind).Lines(); len(lines) != 1 || !strings.Contains(lines[0], "2 models") {
			t.Errorf("%s: %q, want 2 models", name, lines)
		}
		shared := loadAs(t, c.first+"\n"+c.second+"\n", c.format+",share=models")
		if n := len(shared.Objects) / 2; !slices.Equal(shared.Objects[:n], shared.Objects[n:]) {
			t.Errorf("%s, share=models: objects %v, want the same twice", name, shared.Objects)
		}
	}
}

// TestAnswersOfTheLog: the blocks that an answer fills are those that the next turn has, and one that thinking would
// fill is lost, which is said.
func TestAnswersOfTheLog(t *testing.T) {
	question, answer := strings.Repeat("q", 32), strings.Repeat("a", 32)
	next := `{"model":"m","messages":[{"role":"user","content":"` + question + `"},{"role":"assistant","content":"` +
		answer + `"},{"role":"user","content":"` + question + `"}]}`
	first := `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"` + question + `"}],"response":{` +
		`"choices":[{"message":{"content":"` + answer + `"}}],"usage":{"completion_tokens":8}}}`
	thinking := strings.Replace(first, `"message":{`, `"message":{"reasoning_content":"`+answer+`",`, 1)
	for content, want := range map[string]string{
		first + "\n" + next: "answers: 1 of 2 kept, as the log has them, 1 unknown",
		thinking + "\n" + next: "answers: 1 of 2 kept, as the log has them, 1 unknown; next turns repeat 0% of their full " +
			"blocks, the others cannot hit",
	} {
		tr := must.Get(loadAs(t, content+"\n", "openai:block=4").WithAnswers(prompts.AnswersKept))(t)
		p := prompts.Of(tr.Kind)
		if got := p.Lines(); len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
		blocks, _ := tr.Group(0)
		later, _ := tr.Group(1)
		kept := blocks[:p.Full(0, blocks)+p.AnswerBlocks(0)]
		if same := slices.Equal(kept, later[:min(len(later), len(kept))]); same == strings.Contains(want, "0%") {
			t.Errorf("%s: blocks %v, then %v", want, kept, later)
		}
		if !strings.Contains(strings.Join(tr.Lines(""), " "), "more than max_tokens") {
			t.Errorf("%q says nothing of an answer longer than max_tokens", tr.Lines(""))
		}
	}
}
