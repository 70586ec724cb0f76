package promptlogs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// byteTokenizer writes a tokenizer.json whose tokens are the bytes "!" to "~", with their own numbers, the pair "ab",
// 300, and <|im_end|>, 301.
func byteTokenizer(t *testing.T) (path string) {
	t.Helper()
	vocabulary := map[string]int{"ab": 300}
	letter := 256
	for c := range 256 {
		if c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae {
			vocabulary[string(rune(c))] = c
		} else {
			vocabulary[string(rune(letter))] = c
			letter++
		}
	}
	words := must.Get(json.Marshal(vocabulary))(t)
	path = filepath.Join(t.TempDir(), "tokenizer.json")
	tracetest.WriteFile(t, path, fmt.Appendf(nil, `{"added_tokens": [{"id": 301, "content": "<|im_end|>"}], `+
		`"pre_tokenizer": `+
		`{"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE", "vocab": %s, "merges": ["a b"]}}`, words))
	return path
}

func TestTokenizerOption(t *testing.T) {
	path := byteTokenizer(t)
	content := `{"model":"m","prompt":"abc<|im_end|>"}` + "\n" + `{"model":"m","prompt":[300,99,301,5]}` + "\n"
	tr := loadAs(t, content, "openai:block=1,tokenizer="+path)
	if want := []uint32{0, 1, 2, 0, 1, 2, 3}; !slices.Equal(tr.Objects, want) {
		t.Errorf("blocks %v, want %v: those of the same ids", tr.Objects, want)
	}
	const want = "token ids of 1 prompts, tokens by tokenizer.json of 1, conversations by prefix"
	if !strings.HasSuffix(tr.ReadAs(), want) {
		t.Errorf("read as %q, want ... %q", tr.ReadAs(), want)
	}
	if !strings.Contains(tr.InputFormat(), path) {
		t.Errorf("read again as %q", tr.InputFormat())
	}
	chat := `{"model":"m","messages":[{"role":"user","content":"ab"}],"choices":[{"text":"abab"}]}`
	p := prompts.Of(loadAs(t, chat, "openai:block=1,template=chatml,tokenizer="+path).Kind)
	if input := int32(len("<|im_start|>user\n") + 1 + 1 + len("\n<|im_start|>assistant\n")); p.InputTokens[0] != input ||
		p.OutputTokens[0] != 2 {
		t.Errorf("%d and %d tokens, want %d and 2", p.InputTokens[0], p.OutputTokens[0], input)
	}
	log := "Received request a: prompt: 'abc<|im_end|>', params: None\n"
	if got := prompts.Of(loadAs(t, log, "vllm:block=1,tokenizer="+path).Kind).InputTokens[0]; got != 3 {
		t.Errorf("%d tokens, want 3", got)
	}
}

func TestTokenizerOptionErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bert.json")
	tracetest.WriteFile(t, path, []byte(`{"model": {"type": "WordLevel"}}`))
	for _, c := range []struct{ path, want string }{
		{path, "bert.json: the model \"WordLevel\" is not supported"},
		{filepath.Join(t.TempDir(), "none.json"), "no such file"},
	} {
		_, err := tracetest.LoadText(t, `{"model":"m","prompt":"a"}`, read.Options{Selection: read.Selection{
			Format: "openai:tokenizer=" + c.path}})
		must.Fail(t, err, c.want)
	}
}

// TestInterruptedTokenizer: a long word takes seconds, and the user need not wait for it.
func TestInterruptedTokenizer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	tracetest.WriteFile(t, path, fmt.Appendf(nil, `{"model":"m","prompt":"%s"}`+"\n", strings.Repeat("ab", 2<<20)))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := read.Load(ctx, []string{path}, read.Options{
		Selection: read.Selection{Format: "openai:tokenizer=" + byteTokenizer(t)}})
	deadline, _ := ctx.Deadline()
	if late := time.Since(deadline); !errors.Is(err, context.DeadlineExceeded) || late > time.Second {
		t.Errorf("error %v, %v after the end", err, late)
	}
}
