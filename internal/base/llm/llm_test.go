package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func keyValues(t testing.TB, text string) KeyValues {
	t.Helper()
	return must.Get(must.Get(Parse(text))(t).KeyValues())(t)
}

// Worked examples: layers x heads x (key + value) x bytes.
func TestBytesPerToken(t *testing.T) {
	for text, want := range map[string]float64{
		"model=llama-3.1-8b":                                            32 * 8 * 256 * 2,
		"model=llama-3.1-70b":                                           327_680, // 320 KiB
		"model=Llama-3.1-70B,type=fp8":                                  163_840,
		"model=llama-3.1-70b,tensor-parallel=4":                         327_680, // each GPU has two of the eight heads
		"model=llama-3.1-70b,tensor-parallel=16":                        655_360, // each head is on two GPUs
		"model=deepseek-r1":                                             61 * (512 + 64) * 2,
		"model=deepseek-r1,tensor-parallel=8":                           8 * 61 * (512 + 64) * 2, // each has the vector
		"model=deepseek-v3,type=float8_e4m3fn":                          61 * (512 + 64),
		"model=llama-3.1-70b,type=nvfp4":                                163_840 * 9 / 16, // 4 bits, and a scale of 8 for 16
		"layers=80,kv-heads=8,head-size=128,type=fp8":                   163_840,
		"layers=61,latent=576":                                          61 * 576 * 2,
		"layers=1,kv-heads=1,head-size=1,type=int4":                     1,
		"layers=1,kv-heads=1,head-size=1,type=torch.float32":            8,
		"model=deepseek-v3.2":                                           61 * ((512+64)*2 + 132),
		"model=deepseek-v3.2,type=fp8,tensor-parallel=8":                8 * 61 * (512 + 64 + 132), // the index stays
		"model=gemma-4-26b-a4b":                                         (25*8*2*256 + 5*2*2*512) * 2,
		"model=qwen3.5-27b":                                             16 * 4 * 2 * 256 * 2,
		"model=gpt-oss-20b":                                             24 * 8 * 128 * 2,
		"layers=80,kv-heads=8,head-size=128,type=fp8,tensor-parallel=4": 163_840,
	} {
		if k := keyValues(t, text); k.PerToken() != want {
			t.Errorf("%s: %v bytes per token, want %v", text, k.PerToken(), want)
		}
	}
}

// A prompt needs all its tokens in full layers, and the last ones in layers with a window.
func TestBytesOfPrompts(t *testing.T) {
	k := keyValues(t, "model=gemma-3-27b")
	const full, windowed = 10 * 16 * 256 * 2, 52 * 16 * 256 * 2
	for tokens, want := range map[int]float64{0: 0, 1: full + windowed, 1024: 1024 * (full + windowed),
		5000: 5000*full + 1024*windowed} {
		if got := k.Of(tokens); got != want {
			t.Errorf("%d tokens have %v bytes, want %v", tokens, got, want)
		}
	}
	// Qwen3.5 27B: 48 matrices of 128 x 128 in 32 bits, and 3 tokens of 2 x 16 keys and 48 values of 128 in 16 bits, in
	// each of 48 layers.
	const state = 48 * (48*128*128*4 + 3*(2*16+48)*128*2)
	q := keyValues(t, "model=qwen3.5-27b")
	four := keyValues(t, "model=qwen3.5-27b,tensor-parallel=4")
	if q.State != state || q.Of(10) != state+10*65536 || four.State != state {
		t.Errorf("%v bytes for a prefix, want %d; 10 tokens have %v", q.State, state, q.Of(10))
	}
	// Nemotron 3 Nano: 64 matrices of 128 x 64 in 32 bits, and 3 tokens of 2 x 8 x 128 and 64 x 64 numbers in 16 bits.
	if n := keyValues(t, "model=nemotron-3-nano"); n.State != 23*(64*128*64*4+3*(2*8*128+64*64)*2) {
		t.Errorf("%v bytes for a prefix", n.State)
	}
	if half := keyValues(t, "model=qwen3.5-27b,state-type=bf16"); half.State != 48*(48*128*128*2+3*(2*16+48)*128*2) {
		t.Errorf("%v bytes for a prefix in 16 bits", half.State)
	}
	if k := keyValues(t, "layers=4,kv-heads=2,head-size=8,window=100,windowed-layers=3"); k.Of(150) != 150*64+100*192 {
		t.Errorf("150 tokens have %v bytes", k.Of(150))
	}
}

func TestPresets(t *testing.T) {
	if len(Models()) < 120 {
		t.Errorf("%d presets, want 120", len(Models()))
	}
	seen := map[string]bool{}
	for _, m := range Models() {
		if seen[m.Name] || m.Name != strings.ToLower(m.Name) || !strings.Contains(m.Source, "/") {
			t.Errorf("preset %q of %q", m.Name, m.Source)
		}
		seen[m.Name] = true
		if k := keyValues(t, "model="+m.Name); k.PerToken() < 1000 || k.PerToken() > 2e6 || k.Source != m.Source ||
			k.Model != m.Name || !m.Shape.Known() || m.Shape.Active > m.Shape.Parameters || m.Shape.WeightBytes() < 1e8 {
			t.Errorf("%s: %+v", m.Name, k)
		}
	}
}

func TestSpecIsWrittenAsRead(t *testing.T) {
	for _, text := range []string{"model=llama-3.1-70b", "model=gemma-3-4b,type=fp8,tensor-parallel=4,windows=all",
		"config=dir/config.json", "groups=2 x gqa(8,128) + bytes(4)/2,type=fp8",
		"layers=80,kv-heads=8,head-size=128,type=fp8,tensor-parallel=4"} {
		if s := must.Get(Parse(text))(t); s.String() != text {
			t.Errorf("%q is written %q", text, s)
		}
	}
	s := must.Get(Parse("config=a.json,type=fp8"))(t)
	if s.File() != "a.json" || s.WithFile("b.json").String() != "config=b.json,type=fp8" {
		t.Errorf("%q, with another file %q", s.File(), s.WithFile("b.json"))
	}
}

func TestSpecsThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "want one of model=NAME",
		"model=llama-3.1-70":            `did you mean "llama-3.1-70b"?`,
		"model=x":                       "more",
		"model=llama-3.1-8b,config=x":   "want one of",
		"model=llama-3.1-8b,kv-heads=8": "remove them",
		"layers=-5":                     "want a number from 0",
		"layers=80":                     "want kv-heads and head-size",
		"layers=80,kv-heads=8":          "want kv-heads and head-size",
		"layers=80,kv-heads=8,latent=9": "or latent",
		"layers=4,latent=9,window=4":    "give both",
		"layers=4,latent=9,window=4,windowed-layers=5": "only 4 layers",
		"model=llama-3.1-8b,type=fp7":                  "unknown type of keys and values",
		"model=llama-3.1-8b,tensor-parallel=0":         "from 1",
		"model=llama-3.1-8b,gpus=4":                    "unknown parameter",
		"model=qwen3.5-27b,state-type=fp7":             "unknown type of keys and values",
		"groups=2 x gqa(8)":                            "1 number for gqa(HEADS,SIZE",
		"groups=2 x gqa(8,0)":                          "from 1 to",
		"groups=2 x mha(8,128)":                        "no kind of layers; want for example 40 x gqa(8,128)",
		"groups=0 x gqa(8,128)":                        "the number of layers",
		"groups=2 x gqa(8,128) +":                      "no kind of layers",
		"groups=2 x gqa(8,128)/0":                      "tokens behind /",
		"groups=2 x state(5)":                          "no layer keeps keys and values",
		"groups=gqa(1,1) + state(5)/4":                 "no tokens that share it",
		"groups=gqa(99999999999999999999,1)":           "not a whole number",
		"groups=gqa(1,1),layers=3":                     "want one of",
		"groups=gqa(1,1),latent=3":                     "remove them",
		"llama-3.1-8b":                                 "want name=value",
		"layers=99999999999999999999,latent=1":         "whole number",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"model=llama-3.1-8b,tensor-parallel=3":  "a divisor or a multiple of 8",
		"model=llama-3.1-8b,tensor-parallel=12": "a divisor or a multiple of 8",
		"model=qwen3.5-27b,tensor-parallel=32":  "a divisor of 16",
		"model=llama-3.1-8b,state-type=fp32":    "no layers with a state",
		"model=llama-3.1-8b,type=fp8_ds_mla":    "a layout of the latent vectors",
		"groups=gqa(1,1) + linear(1,1,1,1,1)":   "state-type",
		"config=nowhere.json":                   "nowhere.json",
	} {
		if _, err := must.Get(Parse(text))(t).KeyValues(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

// configs are the keys of published configurations that matter, and the shapes that they mean.
var configs = []struct{ text, want string }{
	{`{"model_type": "llama", "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
		"hidden_size": 8192, "torch_dtype": "bfloat16", "rope_scaling": {"factor": 8.0}}`,
		"80 layers with 8 heads of 128, bf16"},
	{`{"model_type": "opt", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "dtype": "float32"}`,
		"2 layers with 4 heads of 16, bf16"}, // which engines serve in 16 bits
	{`{"model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
		"hidden_size": 7168, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128}`,
		"61 layers with a latent vector of 576, bf16"},
	{`{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 34,
		"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_size": 2560, "sliding_window": 1024},
		"torch_dtype": "bfloat16"}`, "5 layers with 4 heads of 256, 29 layers with 4 heads of 256 and a window of 1024 " +
		"tokens, bf16"},
	{`{"model_type": "gemma2", "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
		"sliding_window": 4096, "torch_dtype": "float16"}`, "1 layer with 2 heads of 8, 2 layers with 2 heads of 8 and a " +
		"window of 4096 tokens, fp16"},
	{`{"model_type": "gpt_oss", "num_hidden_layers": 2, "num_attention_heads": 64, "num_key_value_heads": 8,
		"head_dim": 64, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]}`,
		"1 layer with 8 heads of 64, 1 layer with 8 heads of 64 and a window of 128 tokens, bf16"},
	{`{"model_type": "llama4", "text_config": {"model_type": "llama4_text", "num_hidden_layers": 8,
		"num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "attention_chunk_size": 8192}}`,
		"2 layers with 8 heads of 128, 6 layers with 8 heads of 128 and a window of 8192 tokens, bf16"},
	{`{"model_type": "llama4_text", "num_hidden_layers": 2, "num_attention_heads": 40, "num_key_value_heads": 8,
		"head_dim": 128, "attention_chunk_size": 8192, "no_rope_layers": [0, 1]}`,
		"1 layer with 8 heads of 128, 1 layer with 8 heads of 128 and a window of 8192 tokens, bf16"},
	{`{"model_type": "qwen2", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"hidden_size": 64, "use_sliding_window": false, "sliding_window": 32768, "max_window_layers": 2}`,
		"4 layers with 2 heads of 16, bf16"},
	{`{"model_type": "qwen2", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"hidden_size": 64, "use_sliding_window": true, "sliding_window": 100, "max_window_layers": 3}`,
		"3 layers with 2 heads of 16, 1 layer with 2 heads of 16 and a window of 100 tokens, bf16"},
	{`{"model_type": "mistral", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"hidden_size": 64, "sliding_window": null}`, "4 layers with 2 heads of 16, bf16"},
	{`{"model_type": "mistral", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"hidden_size": 64, "sliding_window": 4096}`, "4 layers with 2 heads of 16 and a window of 4096 tokens, bf16"},
	{`{"model_type": "gemma3n_text", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"head_dim": 8, "num_kv_shared_layers": 2, "layer_types": ["sliding_attention", "full_attention",
		"sliding_attention", "full_attention"], "sliding_window": 512}`,
		"1 layer with 2 heads of 8, 1 layer with 2 heads of 8 and a window of 512 tokens, bf16"},
	{`{"model_type": "deepseek_v32", "num_hidden_layers": 61, "num_attention_heads": 128, "hidden_size": 7168,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": 129}`,
		"61 layers with a latent vector of 576 and an index of 137 bytes, bf16"},
	{`{"model_type": "gemma4_text", "num_hidden_layers": 3, "num_attention_heads": 16, "num_key_value_heads": 8,
		"head_dim": 256, "global_head_dim": 512, "num_global_key_value_heads": 2, "attention_k_eq_v": true,
		"sliding_window": 1024, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}`,
		"1 layer with 2 heads of 512, 2 layers with 8 heads of 256 and a window of 1024 tokens, bf16"},
	{`{"model_type": "gemma4_text", "num_hidden_layers": 1, "num_attention_heads": 16, "num_key_value_heads": 8,
		"head_dim": 256, "num_global_key_value_heads": 2, "layer_types": ["full_attention"]}`, // as its class says
		"1 layer with 8 heads of 512, bf16"},
	{`{"model_type": "qwen3_5_text", "num_hidden_layers": 2, "num_attention_heads": 24, "num_key_value_heads": 4,
		"head_dim": 256, "layer_types": ["linear_attention", "full_attention"], "linear_conv_kernel_dim": 4,
		"linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
		"linear_value_head_dim": 128, "mamba_ssm_dtype": "float32"}`,
		"1 layer with 4 heads of 256, 1 layer with a state of 3.1 MiB for a prefix, bf16"},
	{`{"model_type": "nemotron_h", "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 2,
		"attention_head_dim": 128, "hybrid_override_pattern": "ME-M*", "mamba_num_heads": 64, "mamba_head_dim": 64,
		"ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "mamba_ssm_cache_dtype": "float32"}`,
		"1 layer with 2 heads of 128, 2 layers with a state of 4.1 MiB for a prefix, bf16"},
	{`{"model_type": "nemotron_h", "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 64,
		"layers_block_type": ["attention", "moe", "mlp"]}`, "1 layer with 2 heads of 64, bf16"},
	{`{"model_type": "qwen3_next", "num_hidden_layers": 6, "num_attention_heads": 24, "num_key_value_heads": 2,
		"head_dim": 256, "full_attention_interval": 3, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
		"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
		"mamba_ssm_dtype": "bfloat16"}`,
		"2 layers with 2 heads of 256, 4 layers with a state of 4.2 MiB for a prefix, bf16"},
	{`{"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 4,
		"routed_scaling": Infinity, "other": [NaN, -Infinity], "text": "NaN \" Infinity"}`,
		"1 layer with 2 heads of 2, bf16"},
}

func TestConfigs(t *testing.T) {
	for _, c := range configs {
		s, err := ParseConfig([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if k := must.Get(s.KeyValues("", 1))(t); k.About != c.want {
			t.Errorf("%s: %s; want %s", c.text, k.About, c.want)
		}
	}
}

func TestConfigsThatMakeNoSense(t *testing.T) {
	const rest = `"architectures": ["LlamaForCausalLM"], "num_attention_heads": 4, "hidden_size": 64`
	for _, c := range []struct{ text, want string }{
		{``, "want a config.json"},
		{`null`, "want a config.json"},
		{`[1, 2]`, "want a config.json"},
		{`{"a": `, "want a config.json"},
		{"\x00\xff", "want a config.json"},
		{`{}`, "architectures and model_type are missing"},
		{`{"model_type": "llama", "num_hidden_layers": 4}`, "num_attention_heads is missing"},
		{`{` + rest + `}`, "num_hidden_layers is missing"},
		{`{"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 4}`, "hidden_size is missing"},
		{`{"architectures": ["NewForCausalLM"], "model_type": "llama"}`,
			"\"NewForCausalLM\" is not known; describe what"},
		{`{"model_type": "mllama", "text_config": {"model_type": "mllama_text_model"}}`,
			"\"mllama_text_model\" is not"},
		{`{"num_hidden_layers": -4, ` + rest + `}`, "from 1 to 10000"},
		{`{"num_hidden_layers": 1e9, ` + rest + `}`, "num_hidden_layers"},
		{`{"num_hidden_layers": "80", ` + rest + `}`, "num_hidden_layers"},
		{`{"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 3, "hidden_size": 64}`,
			"not a multiple"},
		{`{"num_hidden_layers": 4, "num_key_value_heads": 8, ` + rest + `}`, "from 1 to 4"},
		{`{"num_hidden_layers": 4, "kv_lora_rank": 512, ` + rest + `}`, "latent attention"},
		{`{"model_type": "deepseek_v3", "num_hidden_layers": 4, "kv_lora_rank": 512}`, "qk_rope_head_dim is missing"},
		{`{"num_hidden_layers": 4, "torch_dtype": "float7", ` + rest + `}`, "unknown type"},
		{`{"num_hidden_layers": 4, "layer_types": ["full_attention"], ` + rest + `}`, "1 entries for 4 layers"},
		{`{"num_hidden_layers": 1, "layer_types": ["linear_attention"], ` + rest + `}`, "linear_attention"},
		{`{"num_hidden_layers": 1, "layer_types": ["sliding_attention"], ` + rest + `}`, "sliding_window is missing"},
		{`{"num_hidden_layers": 4, "sliding_window": 5, ` + rest + `}`, "layer_types is missing"},
		{`{"num_hidden_layers": 4, "index_head_dim": 128, ` + rest + `}`, "index of the keys"},
		{`{"num_hidden_layers": 4, "num_kv_shared_layers": 4, ` + rest + `}`, "from 0 to 3"},
		{`{"num_hidden_layers": 2, "kv_lora_rank": 9, "qk_rope_head_dim": 1, "index_head_dim": 128,
			"model_type": "glm_moe_dsa", "indexer_types": ["full", "other"]}`, "want full or shared"},
		{`{"num_hidden_layers": 3, "kv_lora_rank": 9, "qk_rope_head_dim": 1, "index_head_dim": 128,
			"model_type": "glm_moe_dsa", "indexer_types": ["full", "shared"]}`, "2 entries for 3 layers"},
		{`{"model_type": "deepseek_v4", "compress_ratios": [3], "num_hidden_layers": 1, "sliding_window": 1,
			"head_dim": 9, "qk_rope_head_dim": 1, "index_head_dim": 1}`, "want 0, 4 or 128"},
		{`{"model_type": "deepseek_v4"}`, "compress_ratios"},
		{`{"model_type": "exaone4", "num_hidden_layers": 4, "sliding_window": 5, "sliding_window_pattern": "LX",
			"num_attention_heads": 4, "num_key_value_heads": 4, "hidden_size": 64}`, "want letters L and G"},
		{`{"model_type": "nemotron-nas", "num_attention_heads": 4, "hidden_size": 64,
			"block_configs": [{"attention": {"n_heads_in_group": 3}}]}`, "n_heads_in_group that divides 4"},
		{`{"model_type": "kimi_linear", "num_hidden_layers": 4, "linear_attn_config": {"full_attn_layers": [1]}}`,
			"1 and 0 of"},
		{`{"num_hidden_layers": 4, "sparse_attention_config": {"a": 1}, ` + rest + `}`, "sparse_attention_config"},
		{`{"num_hidden_layers": 4, "global_head_dim": 512, ` + rest + `}`, "layers with different heads"},
		{`{"num_hidden_layers": 4, "attention_k_eq_v": true, ` + rest + `}`, "layers with different heads"},
		{`{"model_type": "qwen3_next", "num_hidden_layers": 4, "num_attention_heads": 4}`,
			"linear_num_key_heads is missing"},
		{`{"model_type": "qwen3_next", "num_hidden_layers": 1, "layer_types": ["linear_attention"],
			"num_attention_heads": 4}`, "no layer keeps"},
		{`{"model_type": "nemotron_h", "hybrid_override_pattern": "M?", "num_attention_heads": 4, "head_dim": 4}`,
			"blocks of \"?\""},
		{`{"model_type": "nemotron_h", "hybrid_override_pattern": "M", "num_attention_heads": 4, "head_dim": 4}`,
			"no layer keeps"},
		{`{"model_type": "jamba", "layers_block_type": ["attention"]}`, "\"jamba\" is not known"},
		{`{"text_config": 5}`, "text_config"},
	} {
		if _, err := ParseConfig([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.text, err, c.want)
		}
	}
}

func TestConfigFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	must.Do(t, os.WriteFile(path, []byte(configs[0].text), 0o600))
	if k := keyValues(t, "config="+path); k.PerToken() != 327_680 || k.Source != "config.json" {
		t.Errorf("%+v", k)
	}
	// A sparse file of 2 GiB: it is not read whole.
	big := filepath.Join(dir, "big.json")
	must.Do(t, os.WriteFile(big, nil, 0o600))
	must.Do(t, os.Truncate(big, 2<<30))
	must.NotGet(ReadConfig(big))(t, "more than 8 MiB", "a file of 2 GiB")
	must.NotGet(ReadConfig(dir))(t, dir, "a folder")
}

// The bytes grow with everything that they depend on.
func TestBytesGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, heads, size := rapid.IntRange(1, 200).Draw(t, "layers"), rapid.IntRange(1, 64).Draw(t, "heads"),
			rapid.IntRange(1, 512).Draw(t, "size")
		gpus := heads * rapid.IntRange(1, 4).Draw(t, "GPUs per head")
		text := fmt.Sprintf("layers=%d,kv-heads=%d,head-size=%d,type=fp8", layers, heads, size)
		spec, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := spec.KeyValues()
		if err != nil || k.PerToken() != float64(2*layers*heads*size) || math.Abs(k.Of(7)-7*k.PerToken()) > 1e-6 {
			t.Fatalf("%s: %+v, %v", text, k, err)
		}
		more, err := Parse(text + fmt.Sprintf(",tensor-parallel=%d", gpus))
		if err != nil {
			t.Fatal(err)
		}
		if wide, err := more.KeyValues(); err != nil || wide.PerToken() != float64(2*layers*gpus*size) {
			t.Fatalf("%s on %d GPUs: %+v, %v", text, gpus, wide, err)
		}
	})
}

// FuzzConfig: any text is a shape or an error, and a shape has bytes.
func FuzzConfig(f *testing.F) {
	for _, c := range configs {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 1, "layer_types": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseConfig(text)
		if err != nil {
			return
		}
		for i := range s.States {
			s.States[i].Type = cmp.Or(s.States[i].Type, "fp32") // many state none
		}
		k, err := s.KeyValues("", 1)
		if err != nil || !(k.PerToken() > 0) || math.IsInf(k.PerToken(), 0) {
			t.Fatalf("%s: %+v, %v", text, k, err)
		}
		if !json.Valid([]byte(`"` + strings.ReplaceAll(k.About, `"`, "") + `"`)) {
			t.Fatalf("%q", k.About)
		}
	})
}

// A model may be named alone.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"llama-3.1-8b": "model=llama-3.1-8b", " llama-3.1-8b,type=fp8": "model=llama-3.1-8b,type=fp8", "": "", " ": " ",
		"model=llama-3.1-8b": "model=llama-3.1-8b", "layers=2,latent=9": "layers=2,latent=9", ",": ",",
		"groups='2 x gqa(8,128)'": "groups='2 x gqa(8,128)'",
	} {
		if got := Named(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
