package llm

import "testing"

// The blocks of vLLM: 784 tokens for Qwen3.5 27B (issues 40696, 45702 and 51250 of vllm-project/vllm), 16 for windows.
func TestPools(t *testing.T) {
	for text, want := range map[string]struct {
		in, tokens int
		bytes      float64
		about      string
	}{
		"model=qwen3.5-27b": {16, 784, 16 * 784 * 4096, "3 groups with a state, 1 group that attends to all"},
		"model=qwen3.5-27b,tensor-parallel=4": {16, 784, 16 * 784 * 4096, "3 groups with a state, 1 group that attends to " +
			"all"},
		"model=qwen3.5-27b,type=fp8": {512, 2048, 16 * 2048 * 2048, "3 groups with a state, 1 group that attends to all"},
		"model=nemotron-3-nano":      {16, 2096, 6 * 2096 * 1024, "4 groups with a state, 1 group that attends to all"},
		"model=gpt-oss-120b":         {16, 16, 18 * 16 * 2048, "1 group with a window of 128, 1 group that attends to all"},
		"model=gemma-3-27b":          {16, 16, 10 * 16 * 8192, "6 groups with a window of 1024, 1 group that attends to all"},
		// 13 and 15 layers: two groups of 15
		"groups=13 x gqa(1,64) + 15 x window(32,1,64)": {16, 16, 15 * 16 * 256, "1 group with a window of 32, 1 group that " +
			"attends to all"},
		"model=kimi-k3": {16, 5760, 0, "3 groups with a state, 1 group that attends to all"},
	} {
		p, ok := keyValues(t, text).Pool(want.in)
		if !ok || p.Tokens != want.tokens || want.bytes > 0 && p.Bytes != want.bytes || p.About() != want.about {
			t.Errorf("%s: %+v %v %s, want %+v", text, p, ok, p.About(), want)
		}
	}
	for _, text := range []string{"model=llama-3.1-8b", "model=mistral-7b-v0.1", "model=deepseek-v3.2",
		"model=gemma-4-31b", "model=mimo-v2-flash", "model=deepseek-v4-pro"} {
		if p, ok := keyValues(t, text).Pool(16); ok {
			t.Errorf("%s: %+v, want none", text, p)
		}
	}
}
