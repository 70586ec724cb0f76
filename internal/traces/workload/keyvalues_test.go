package workload

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

const (
	twoPrompts = `{"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]}
{"timestamp": 1, "input_length": 1024, "output_length": 5, "hash_ids": [1, 3]}
`
	smallModel = `{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "num_attention_heads": 4,
		"hidden_size": 16}`
)

// TestKeysAndValues: the description is part of the workload, its file is looked for and summed like a trace, and a
// record gives it back.
func TestKeysAndValues(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte(twoPrompts), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(smallModel), 0o600))
	w := Workload{Name: "p", Files: []string{"prompts.jsonl"}, KV: "config=config.json,type=fp8"}
	w.SampleRate = 1
	if want := []string{"prompts.jsonl", "config.json"}; !slices.Equal(w.Paths(), want) {
		t.Errorf("paths %q, want %q", w.Paths(), want)
	}
	tr, summed, err := w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
	must.Do(t, err)
	if m := prompts.Of(tr.Kind).Memory; m.TokenBytes != 2*4*8 || m.BlockBytes != 512*64 {
		t.Errorf("%+v, want 64 bytes per token", m)
	}
	lines := strings.Join(tr.Lines(""), "; ")
	if !strings.Contains(lines, "keys and values: 64 bytes per token, 32.0 KiB per block of 512 tokens, on all GPUs") {
		t.Errorf("%q does not say what the keys and values take", lines)
	}
	rec := records.Record{Trace: "p", SampleRate: 1}
	must.Do(t, summed.Describe(&rec))
	if back := must.Get(FromRecord(&rec))(t); back.KV != w.KV || back.Key() != summed.Key() {
		t.Errorf("%+v becomes %+v", summed, back)
	}
	elsewhere := summed
	elsewhere.KV = "config=other/place.json,type=fp8"
	other := summed
	other.KV = "config=config.json,type=bf16"
	if elsewhere.Key() != summed.Key() || other.Key() == summed.Key() {
		t.Error("the path of a summed configuration matters, or its type does not")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(smallModel+" "), 0o600))
	if _, err := summed.Load(t.Context(), []string{dir}, traces.LoadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "has changed") {
		t.Errorf("another configuration: %v", err)
	}
}

// TestKeysAndValuesOfAGenerator: the configuration is all that a generated trace reads, and is summed as a file is.
func TestKeysAndValuesOfAGenerator(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	must.Do(t, os.WriteFile(path, []byte(smallModel), 0o600))
	w := must.Get(Generated("llm(conversations=5,prompts=20)", 1))(t)
	w.Name, w.KV, w.SampleRate = "p", "config=config.json", 1
	_, summed, err := w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
	must.Do(t, err)
	if sum := must.Get(w.ReadChecksum(t.Context(), []string{dir}))(t); summed.Checksum == "" || summed.Checksum != sum {
		t.Errorf("checksum %q, want %q", summed.Checksum, sum)
	}
	rec := records.Record{Trace: "p", SampleRate: 1}
	must.Do(t, summed.Describe(&rec))
	back := must.Get(FromRecord(&rec))(t)
	if back.Key() != summed.Key() {
		t.Errorf("%+v becomes %+v", summed, back)
	}
	_, err = back.Load(t.Context(), []string{dir}, traces.LoadOptions{})
	must.Do(t, err)
	must.Do(t, os.WriteFile(path, []byte(strings.Replace(smallModel, "4", "8", 1)), 0o600))
	if _, err := back.Load(t.Context(), []string{dir}, traces.LoadOptions{}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("another configuration: %v", err)
	}
}

func TestKeysAndValuesOfNoPrompts(t *testing.T) {
	if err := CheckKV(""); err != nil {
		t.Error(err)
	}
	if err := CheckKV("model=nothing"); err == nil {
		t.Error("an unknown model is accepted")
	}
	w := Workload{Generator: "zipf(objects=10,requests=20)", KV: "model=phi-4"}
	if _, err := w.Load(t.Context(), nil, traces.LoadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "has no prompts; remove --kv") {
		t.Errorf("of plain objects: %v", err)
	}
	llm := Workload{Generator: "llm(conversations=5,prompts=20)", KV: "model=phi-4"}
	if tr, err := llm.Load(t.Context(), nil, traces.LoadOptions{}); err != nil ||
		prompts.Of(tr.Kind).Memory.TokenBytes != 200<<10 {
		t.Errorf("of generated prompts: %v", err)
	}
}
