package llm

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// families are the keys of published configurations, what their layers keep, and the bytes of a token in layers without
// a window and of a prefix in states. They follow from what is cited.
var families = []struct {
	name, text, groups string
	full, state        float64
}{
	{"Step-3: 1.02e9 bytes for 32,768 tokens in 8 bits (arXiv 2507.19427, table 1)", `{"architectures":
		["Step3VLForConditionalGeneration"], "text_config": {"model_type": "step3_text", "num_hidden_layers": 61,
		"num_attention_heads": 64, "num_attention_groups": 1, "head_dim": 256, "share_q_dim": 2048}}`,
		"61 x gqa(1,256)", 2 * 1.02e9 / 32768, 0},
	{"DeepSeek V3: 1.15e9 bytes for 32,768 tokens in 8 bits (same table); 70.272 KB (arXiv 2505.09343, table 1)",
		`{"architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 61, "kv_lora_rank": 512,
		"qk_rope_head_dim": 64}`, "61 x mla(576)", 70272, 0},
	{"Qwen2.5 72B: 327.680 KB (same table)", `{"architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 80,
		"num_attention_heads": 64, "num_key_value_heads": 8, "hidden_size": 8192, "use_sliding_window": false,
		"sliding_window": 131072}`, "80 x gqa(8,128)", 327680, 0},
	{"Llama 3.1 405B: 516.096 KB (same table)", `{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 126,
		"num_attention_heads": 128, "num_key_value_heads": 8, "hidden_size": 16384, "torch_dtype": "float32"}`,
		"126 x gqa(8,128)", 516096, 0},
	{"DeepSeek V3.2 (vLLM: fp8 keys of an index with scales)", `{"architectures": ["DeepseekV32ForCausalLM"],
		"num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": 128}`,
		"61 x mla(576,656,132)", 61 * (1152 + 132), 0},
	{"GLM-5.2: 21 of 78 layers have an index", `{"architectures": ["GlmMoeDsaForCausalLM"], "num_hidden_layers": 78,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": 128, "index_topk_freq": 4,
		"index_skip_topk_offset": 3}`, "21 x mla(576,656,132) + 57 x mla(576,656)", 78*1152 + 21*132, 0},
	{"DeepSeek V4: 584 bytes of an entry, 132 of an index (vLLM)", `{"architectures": ["DeepseekV4ForCausalLM"],
		"num_hidden_layers": 4, "compress_ratios": [0, 4, 128, 4, 0], "sliding_window": 128, "head_dim": 512,
		"qk_rope_head_dim": 64, "index_head_dim": 128}`, "4 x mla-window(128,512,584) + 2 x mla(512,584,132)/4 + " +
		"1 x mla(512,584)/128 + 2 x bytes(10240,8) + 1 x bytes(4096,128)", 2*(584+132)/4. + 584/128., 0},
	{"LongCat Flash: two attentions in a layer", `{"architectures": ["LongcatFlashForCausalLM"], "num_layers": 28,
		"kv_lora_rank": 512, "qk_rope_head_dim": 64}`, "56 x mla(576)", 56 * 1152, 0},
	{"Step-3.5: layer_types go on to layers that predict several tokens", `{"architectures": ["Step3p5ForCausalLM"],
		"num_hidden_layers": 3, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128,
		"sliding_window": 512, "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
		"sliding_attention"]}`, "1 x gqa(8,128) + 2 x window(512,8,128)", 4096, 0},
	{"MiniMax-M1: one in eight layers has attention (arXiv 2506.13585)", `{"architectures": ["MiniMaxM1ForCausalLM"],
		"num_hidden_layers": 8, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
		"attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1]}`, "1 x gqa(8,128) + 7 x linear(64,128,64,128,1)", 4096,
		7 * 64 * 128 * 128 * 2},
	{"Ring-mini-linear: one in five", `{"architectures": ["BailingMoeLinearV2ForCausalLM"], "num_hidden_layers": 20,
		"num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "layer_group_size": 5}`,
		"4 x gqa(4,128) + 16 x linear(16,128,16,128,1)", 4 * 2048, 16 * 16 * 128 * 128 * 4},
	{"Ling 2.5: latent attention", `{"architectures": ["BailingMoeV2_5ForCausalLM"], "num_hidden_layers": 8,
		"num_attention_heads": 64, "head_dim": 128, "layer_group_size": 8, "kv_lora_rank": 512, "qk_rope_head_dim": 64}`,
		"1 x mla(576) + 7 x linear(64,128,64,128,1)", 1152, 7 * 64 * 128 * 128 * 4},
	{"Hunyuan Large: two layers share keys and values (arXiv 2411.02265, table 1)", `{"architectures":
		["HunYuanForCausalLM"], "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
		"hidden_size": 6400, "head_dim": 128, "use_cla": true, "cla_share_factor": 2}`, "32 x gqa(8,128)", 131072, 0},
	{"Kimi K3: attention in one of four layers", `{"architectures": ["KimiK3ForConditionalGeneration"], "text_config":
		{"architectures": ["KimiLinearForCausalLM"], "num_hidden_layers": 4, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
		"linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 96, "head_dim": 128,
		"short_conv_kernel_size": 4}}}`, "1 x mla(576) + 3 x linear(96,128,96,128,4)", 1152,
		3 * (96*128*128*4 + 3*3*96*128*2)},
	{"MiniMax M3: an index of 16 bits (vLLM)", `{"architectures": ["MiniMaxM3ForCausalLM"], "num_hidden_layers": 3,
		"num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "sparse_attention_config":
		{"sparse_index_dim": 128, "sparse_attention_freq": [0, 1, 1]}}`,
		"1 x gqa(4,128) + 2 x gqa(4,128,128,256)", 3*2048 + 2*256, 0},
	{"MiMo V2 Flash: keys of 192, values of 128", `{"architectures": ["MiMoV2FlashForCausalLM"], "num_hidden_layers": 3,
		"num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "sliding_window": 128,
		"swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "hybrid_layer_pattern": [0, 1, 1]}`,
		"1 x gqa(4,192,128) + 2 x window(128,8,192,128)", 4 * 320 * 2, 0},
	{"Nemotron Super 49B: 49 of 80 layers have attention", `{"architectures": ["DeciLMForCausalLM"],
		"num_attention_heads": 64, "hidden_size": 8192, "block_configs": [{"attention": {"n_heads_in_group": 8}},
		{"attention": {"no_op": true}}]}`, "1 x gqa(8,128)", 4096, 0},
	{"EXAONE 4: the pattern is letters", `{"architectures": ["Exaone4ForCausalLM"], "num_hidden_layers": 8,
		"num_attention_heads": 40, "num_key_value_heads": 8, "hidden_size": 5120, "sliding_window": 4096,
		"sliding_window_pattern": "LLLG"}`, "2 x gqa(8,128) + 6 x window(4096,8,128)", 8192, 0},
	{"InternVL: llm_config", `{"architectures": ["InternVLChatModel"], "model_type": "internvl_chat", "llm_config":
		{"architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 2, "num_attention_heads": 16,
		"num_key_value_heads": 8, "hidden_size": 2048}}`, "2 x gqa(8,128)", 8192, 0},
	{"Falcon 40B", `{"architectures": ["FalconForCausalLM"], "num_hidden_layers": 60, "num_attention_heads": 128,
		"num_kv_heads": 8, "hidden_size": 8192, "new_decoder_architecture": true}`, "60 x gqa(8,64)", 60 * 2048, 0},
	{"Falcon 7B", `{"architectures": ["FalconForCausalLM"], "num_hidden_layers": 32, "num_attention_heads": 71,
		"hidden_size": 4544, "multi_query": true}`, "32 x gqa(1,64)", 32 * 256, 0},
	{"GPT-2", `{"architectures": ["GPT2LMHeadModel"], "n_layer": 12, "n_head": 12, "n_embd": 768}`, "12 x gqa(12,64)",
		36864, 0},
	{"StarCoder", `{"architectures": ["GPTBigCodeForCausalLM"], "n_layer": 40, "n_head": 48, "n_embd": 6144,
		"multi_query": true}`, "40 x gqa(1,128)", 20480, 0},
	{"ChatGLM3", `{"architectures": ["ChatGLMModel"], "num_layers": 28, "num_attention_heads": 32, "kv_channels": 128,
		"multi_query_attention": true, "multi_query_group_num": 2}`, "28 x gqa(2,128)", 28672, 0},
	{"Granite 4: Mamba 2 in most layers", `{"architectures": ["GraniteMoeHybridForCausalLM"], "num_hidden_layers": 2,
		"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "layer_types": ["mamba", "attention"],
		"mamba_n_groups": 1, "mamba_d_state": 128, "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_conv": 4}`,
		"1 x gqa(8,128) + 1 x linear(1,128,128,64,4)", 4096, 128*64*128*4 + 3*(256+8192)*2},
	{"Falcon-H1: both in every layer", `{"architectures": ["FalconH1ForCausalLM"], "num_hidden_layers": 2,
		"num_attention_heads": 12, "num_key_value_heads": 2, "head_dim": 128, "mamba_n_groups": 1, "mamba_d_state": 256,
		"mamba_n_heads": 24, "mamba_d_head": 128, "mamba_d_conv": 4}`,
		"2 x gqa(2,128) + 2 x linear(1,256,24,128,4)", 2048, 2 * (24*128*256*4 + 3*(512+3072)*2)},
	{"a default of the class: 8 heads", `{"architectures": ["MistralForCausalLM"], "num_hidden_layers": 1,
		"num_attention_heads": 32, "hidden_size": 4096}`, "1 x gqa(8,128)", 4096, 0},
	{"a default of the class: 128 numbers", `{"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 1,
		"num_attention_heads": 16, "num_key_value_heads": 8, "hidden_size": 1024}`, "1 x gqa(8,128)", 4096, 0},
	{"FP8 keys and values that ModelOpt states", `{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1,
		"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "quantization_config": {"quant_method":
		"modelopt", "kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"}}}`, "1 x gqa(8,128)", 2048, 0},
	{"likewise as a name", `{"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1,
		"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "quantization_config":
		{"kv_cache_scheme": "FP8"}}`, "1 x gqa(8,128)", 2048, 0},
}

func TestFamilies(t *testing.T) {
	for _, f := range families {
		s, err := ParseConfig([]byte(f.text))
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		for i := range s.States {
			if s.States[i].Type == "" {
				s.States[i].Type = "fp32"
			}
		}
		k, err := s.KeyValues("", 1)
		if err != nil || s.Groups() != f.groups || math.Abs(k.Full/f.full-1) > 0.005 || k.State != f.state {
			t.Errorf("%s: %v: %s with %v bytes, %v in states; want %s with %v, %v", f.name, err, s.Groups(), k.Full, k.State,
				f.groups, f.full, f.state)
		}
		// The form that a refusal asks for says the same.
		again := must.Get(ParseGroups(s.Groups()))(t)
		for i := range again.States {
			again.States[i].Type = s.States[i].Type
		}
		if same := must.Get(again.KeyValues(s.Type, 1))(t); same.Full != k.Full || again.Groups() != s.Groups() {
			t.Errorf("%s: %s has %v bytes, want %v", f.name, s.Groups(), same.Full, k.Full)
		}
	}
}

// published are parameters in 10^9, all and active, that the publishers state.
var published = map[string][2]float64{"deepseek-ai--DeepSeek-V3": {671, 37}, "Qwen--Qwen3-235B-A22B": {235, 22},
	"Qwen--Qwen3-30B-A3B": {30.5, 3.3}, "openai--gpt-oss-20b": {20.9, 4.2}, "deepseek-ai--DeepSeek-V4-Flash": {284, 13},
	"deepseek-ai--DeepSeek-V4-Pro": {1600, 49}, "moonshotai--Kimi-K2-Instruct": {1000, 32}, "zai-org--GLM-5": {744, 40},
	"XiaomiMiMo--MiMo-V2-Flash": {309, 15}, "meta-llama--Meta-Llama-3.1-70B": {70.6, 70.6},
	"meta-llama--Llama-4-Maverick-17B-128E-Instruct": {400, 17}, "mistralai--Mixtral-8x7B-v0.1": {46.7, 12.9},
	"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8": {120, 12}, "nvidia--Llama-3_3-Nemotron-Super-49B-v1": {49.9, 49.9},
	"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": {550, 55}, "Qwen--Qwen3.5-397B-A17B": {397, 17}}

// Every file is read, presets say the same as the file of their repository, and parameters are those that publishers
// state.
func TestPublishedConfigs(t *testing.T) {
	folder := os.Getenv("CACHESIM_MODEL_CONFIGS")
	if folder == "" {
		t.Skip("set CACHESIM_MODEL_CONFIGS to the folder model_configs of PyPI's aiconfigurator-core")
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "*_config.json")))(t)
	read, presets := 0, 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), "_config.json")
		if strings.HasSuffix(name, "_hf_quant") {
			continue
		}
		s, err := ReadConfig(file)
		if err != nil || !s.Known() {
			t.Errorf("%v: %+v", err, s.Compute)
			continue
		}
		read++
		if want, ok := published[name]; ok && (math.Abs(s.Parameters/want[0]/1e9-1) > 0.04 ||
			math.Abs(s.Active/want[1]/1e9-1) > 0.08) {
			t.Errorf("%s: %.4g and %.4g parameters, want %v", name, s.Parameters, s.Active, want)
		}
		source := strings.Replace(name, "--", "/", 1) + " config.json"
		at := slices.IndexFunc(Models(), func(m Model) bool { return m.Source == source })
		if at < 0 {
			continue
		}
		presets++
		m := Models()[at].Shape
		operations := fmt.Sprint(m.Attention)
		if m.Groups() != s.Groups() || operations != fmt.Sprint(s.Attention) ||
			math.Abs(m.Parameters/s.Parameters-1) > 0.001 || math.Abs(m.Active/s.Active-1) > 0.001 {
			t.Errorf("%s: %s, %+v; the preset has %s, %+v", name, s.Groups(), s.Compute, m.Groups(), m.Compute)
		}
	}
	if read < 89 || presets < 50 {
		t.Errorf("%d files and %d presets of them, want 89 and 50", read, presets)
	}
}

func TestNamesOfModels(t *testing.T) {
	for name, want := range map[string]string{
		"meta-llama/Llama-3.1-70B-Instruct":         "llama-3.1-70b",
		"meta-llama/Meta-Llama-3.1-8B-Instruct":     "llama-3.1-8b",
		"Meta-Llama-3-70B-Instruct":                 "llama-3-70b",
		"llama3.1:70b":                              "llama-3.1-70b",
		"Qwen/Qwen2.5-32B-Instruct-AWQ":             "qwen2.5-32b",
		"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8":    "qwen3-235b-a22b",
		"deepseek-ai/DeepSeek-R1-0528":              "deepseek-r1",
		"moonshotai/Kimi-K2-Instruct-0905":          "kimi-k2",
		"nvidia/DeepSeek-V3.2-NVFP4":                "deepseek-v3.2",
		"openai/gpt-oss-120b":                       "gpt-oss-120b",
		"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16":       "nemotron-3-nano",
		"mistralai/Mistral-Small-24B-Instruct-2501": "mistral-small-2501",
		"/models/Qwen3-8B":                          "qwen3-8b",
		"KIMI-K3":                                   "kimi-k3",
	} {
		if m, err := Find(name); err != nil || m.Name != want {
			t.Errorf("%s: %q, %v; want %s", name, m.Name, err, want)
		}
	}
	for _, name := range []string{"", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "instruct", "llama", "gpt-4o", "a/"} {
		must.NotGet(Find(name))(t, "unknown model", name)
	}
	if m := must.Get(Find("Qwen/Qwen2.5-32B-Instruct-AWQ"))(t); m.Shape.Bits != 4.5 {
		t.Errorf("%v bits", m.Shape.Bits)
	}
}
