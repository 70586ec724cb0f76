package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// arch is a family of models whose configuration says what they keep by the same rule.
type arch struct {
	names string // of the classes (architectures) and the model_types, with a space around each
	read  func(c *config, a *arch) (Shape, error)
	// windows returns the window of each layer if the file has no layer_types: 0 for none, linear for a state. nil: a
	// window is an error.
	windows func(c *config, layers []int) error
	kvHeads int    // of the class in transformers if the file has none; 0: as many as heads of queries
	size    int    // likewise, of a key; 0: hidden_size / num_attention_heads
	matrix  string // the type of the matrices in states if the file states none; "" if engines differ
}

// archs are the families that are known: the rules are those of the classes in transformers 5.24, vLLM 0.33 (0.12 for
// Hunyuan and MiniMax M1) and SGLang 0.5.23. A model of another family is refused, since nothing in its file says what
// its class does with it.
var archs = []arch{
	{names: " LlamaForCausalLM LLaMAForCausalLM llama AquilaForCausalLM aquila InternLM3ForCausalLM internlm3 " +
		"SmolLM3ForCausalLM smollm3 ArceeForCausalLM arcee SeedOssForCausalLM seed_oss GraniteForCausalLM granite " +
		"GraniteMoeForCausalLM granitemoe GraniteMoeSharedForCausalLM granitemoeshared NemotronForCausalLM nemotron " +
		"OlmoForCausalLM olmo Olmo2ForCausalLM olmo2 Olmo3ForCausalLM olmo3 OlmoeForCausalLM olmoe " +
		"StableLmForCausalLM stablelm InternLM2ForCausalLM internlm2 CohereForCausalLM cohere " +
		"MiniMaxM2ForCausalLM minimax_m2 MiMoForCausalLM mimo ApertusForCausalLM apertus " +
		"Dots1ForCausalLM dots1 BailingMoeForCausalLM BailingMoeV2ForCausalLM bailing_moe bailing_moe_v2 " +
		"Qwen2VLForConditionalGeneration qwen2_vl qwen2_vl_text Qwen2_5_VLForConditionalGeneration qwen2_5_vl " +
		"qwen2_5_vl_text Qwen3VLForConditionalGeneration qwen3_vl Qwen3VLMoeForConditionalGeneration qwen3_vl_moe " +
		"qwen3_vl_moe_text qwen3_omni_moe_text qwen2_5_omni_text Ernie4_5_MoeForCausalLM ernie4_5_moe " +
		"PhiForCausalLM phi BloomForCausalLM OPTForCausalLM opt BaiChuanForCausalLM BaichuanForCausalLM baichuan " +
		"GPTNeoXForCausalLM gpt_neox MolmoForCausalLM PersimmonForCausalLM persimmon HyperCLOVAXForCausalLM " +
		"hyperclovax XverseForCausalLM xverse OrionForCausalLM orion SolarOpenForCausalLM solar_open " +
		"HYV3ForCausalLM hy_v3 GiddForCausalLM OuroForCausalLM ", read: plain},
	{names: " Glm4MoeForCausalLM glm4_moe Glm4vMoeForConditionalGeneration glm4v_moe_text ", read: plain, kvHeads: 8},
	{names: " GlmForCausalLM glm Glm4ForCausalLM glm4 glm4v_text Ernie4_5ForCausalLM ernie4_5 ", read: plain, kvHeads: 2,
		size: 128},
	{names: " Qwen3ForCausalLM qwen3 qwen3_vl_text ", read: plain, kvHeads: 32, size: 128, windows: qwenWindows},
	{names: " Qwen2ForCausalLM qwen2 ", read: plain, kvHeads: 32, windows: qwenWindows},
	{names: " Qwen2MoeForCausalLM qwen2_moe ", read: plain, kvHeads: 16, windows: qwenWindows},
	{names: " Qwen3MoeForCausalLM qwen3_moe ", read: plain, kvHeads: 4, windows: qwenWindows},
	{names: " MistralForCausalLM mistral MixtralForCausalLM mixtral Ministral3ForCausalLM ministral3 ministral " +
		"MinistralForCausalLM PhiMoEForCausalLM phimoe Phi4MMForCausalLM phi4mm ", read: plain, kvHeads: 8,
		windows: everyWindow},
	{names: " Phi3ForCausalLM phi3 Starcoder2ForCausalLM starcoder2 ", read: plain, windows: everyWindow},
	{names: " GemmaForCausalLM gemma ", read: plain, kvHeads: 16, size: 256},
	{names: " Gemma2ForCausalLM gemma2 ", read: plain, kvHeads: 4, size: 256, windows: evenWindows},
	{names: " Gemma3ForCausalLM Gemma3ForConditionalGeneration gemma3_text ", read: plain, kvHeads: 4, size: 256,
		windows: lastGlobal(6)},
	{names: " Gemma3nForCausalLM Gemma3nForConditionalGeneration gemma3n_text ", read: plain, kvHeads: 2, size: 256},
	{names: " Gemma4ForCausalLM Gemma4ForConditionalGeneration gemma4_text ", read: gemma4, kvHeads: 4, size: 256},
	{names: " GptOssForCausalLM gpt_oss ", read: plain, kvHeads: 8, size: 64, windows: evenWindows},
	{names: " Cohere2ForCausalLM cohere2 ", read: plain, windows: lastGlobal(4)},
	{names: " Llama4ForConditionalGeneration Llama4ForCausalLM llama4_text ", read: plain, kvHeads: 8, size: 128,
		windows: chunks},
	{names: " Exaone4ForCausalLM exaone4 ExaoneMoeForCausalLM ExaoneMoEForCausalLM exaone_moe ", read: plain,
		kvHeads: 32, windows: patternWindows},
	{names: " FalconForCausalLM RWForCausalLM falcon RefinedWeb RefinedWebModel ", read: falcon},
	{names: " GPT2LMHeadModel gpt2 GPTBigCodeForCausalLM gpt_bigcode GPTJForCausalLM gptj ", read: gpt2},
	{names: " ChatGLMModel ChatGLMForConditionalGeneration chatglm ", read: chatGLM},
	{names: " HunYuanMoEV1ForCausalLM HunYuanDenseV1ForCausalLM HunYuanForCausalLM hunyuan hunyuan_v1_moe " +
		"hunyuan_v1_dense ", read: crossLayer},
	{names: " DeciLMForCausalLM nemotron-nas ", read: blockConfigs},
	{names: " MiMoV2FlashForCausalLM MiMoV2ForCausalLM mimo_v2_flash mimo_v2 ", read: mimo},
	{names: " Step3TextForCausalLM Step3VLForConditionalGeneration step3_text step3_vl ", read: stepFirst},
	{names: " Step3p5ForCausalLM step3p5 Step3p7ForConditionalGeneration Step3p7FlashForCausalLM step3p7 ",
		read: stepGroups},
	{names: " MiniMaxM3ForCausalLM MiniMaxM3SparseForCausalLM minimax_m3 MiniMaxM3SparseForConditionalGeneration ",
		read: blockSparse},
	{names: " DeepseekV2ForCausalLM deepseek_v2 DeepseekV3ForCausalLM deepseek_v3 kimi_k2 Glm4MoeLiteForCausalLM " +
		"glm4_moe_lite MistralLarge3ForCausalLM ", read: latents},
	{names: " DeepseekV32ForCausalLM deepseek_v32 GlmMoeDsaForCausalLM glm_moe_dsa ", read: sparseLatents},
	{names: " LongcatFlashForCausalLM longcat_flash ", read: doubleLatents},
	{names: " DeepseekV4ForCausalLM deepseek_v4 ", read: compressed},
	{names: " Qwen3NextForCausalLM qwen3_next ", read: deltaNet, kvHeads: 2, size: 256},
	{names: " Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration qwen3_5_text ", read: deltaNet, kvHeads: 4, size: 256},
	{names: " Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration qwen3_5_moe_text ", read: deltaNet, kvHeads: 2,
		size: 256},
	{names: " NemotronHForCausalLM nemotron_h ", read: nemotronH, matrix: "fp32"},
	{names: " GraniteMoeHybridForCausalLM granitemoehybrid ", read: mambaLayers},
	{names: " FalconH1ForCausalLM falcon_h1 ", read: mambaBeside},
	{names: " KimiLinearForCausalLM kimi_linear KimiK3ForConditionalGeneration ", read: kimiLinear, matrix: "fp32"},
	{names: " MiniMaxM1ForCausalLM MiniMaxText01ForCausalLM MiniMaxForCausalLM minimax_m1 minimax_text_01 minimax ",
		read: lightning, matrix: "bf16"},
	{names: " BailingMoeLinearV2ForCausalLM BailingMoeLinearForCausalLM bailing_moe_linear BailingMoeV2_5ForCausalLM " +
		"bailing_hybrid ", read: lightningGroups},
}

// byGroups says how to describe the layers of a model by hand.
const byGroups = `describe what its layers keep: groups="` + GroupsExample + `" (docs/language-models.md), or name a ` +
	"preset of the same shape (see: cachesim kv)"

// find returns the family of a configuration, of which top is the outer one of a model that sees images.
func (c *config) find(top *config) (*arch, error) {
	names := slices.Concat(c.names(), top.names())
	for _, name := range names {
		at := slices.IndexFunc(archs, func(a arch) bool {
			return !strings.ContainsRune(name, ' ') && strings.Contains(a.names, " "+name+" ")
		})
		if at >= 0 {
			return &archs[at], nil
		}
		if !strings.HasSuffix(name, "ForConditionalGeneration") {
			break // what its class does is unknown, whatever the model_type says
		}
	}
	if len(names) == 0 {
		return nil, errors.New("architectures and model_type are missing; want a config.json of Hugging Face, or " +
			byGroups)
	}
	return nil, fmt.Errorf("architectures, model_type: the family of models %.60q is not known; %s", names[0], byGroups)
}

// names returns the classes of a configuration or, if it states none, its model_type.
func (c *config) names() []string {
	if len(c.Architectures) > 0 {
		return c.Architectures[:1]
	}
	if c.ModelType != "" {
		return []string{c.ModelType}
	}
	return nil
}

// unsupported maps a key of config.json to the feature that it implies, which plain models have not.
var unsupported = []struct{ key, what string }{
	{"compress_ratios", "compressed keys and values"},
	{"sparse_attention_config", "an index of the keys for sparse attention"},
	{"index_head_dim", "an index of the keys for sparse attention"},
	{"hybrid_layer_pattern", "layers with different heads"},
	{"global_head_dim", "layers with different heads"},
	{"attention_k_eq_v", "layers with different heads"},
	{"block_configs", "a different shape in each layer"},
	{"layers_block_type", "layers with a state"},
	{"hybrid_override_pattern", "layers with a state"},
	{"linear_attn_config", "layers with a state"},
	{"mamba_d_state", "layers with a state"},
	{"ssm_cfg", "layers with a state"},
	{"cross_attention_layers", "layers that attend to images"},
	{"kv_lora_rank", "latent attention"},
	{"use_cla", "keys and values that layers share"},
}

// plain reads models with one kind of heads, and windows in some layers.
func plain(c *config, a *arch) (s Shape, err error) {
	for _, other := range unsupported {
		if c.has(other.key) && string(c.keys[other.key]) != "false" {
			return s, fmt.Errorf("%s (%s) is not expected in a model of the family %s; %s", other.key, other.what,
				strings.Fields(a.names)[0], byGroups)
		}
	}
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	windows, err := c.layers(a)
	if err != nil {
		return s, err
	}
	if slices.Contains(windows, linear) {
		return s, fmt.Errorf("layer_types: linear_attention is not expected in a model of the family %s; %s",
			strings.Fields(a.names)[0], byGroups)
	}
	return s, s.addWindows(windows, each, each)
}

// addWindows adds layers with these windows, 0 for none.
func (s *Shape) addWindows(windows []int, full, windowed Layers) error {
	windows = slices.Clone(windows)
	slices.Sort(windows)
	for len(windows) > 0 {
		window, layer := windows[0], windowed
		if window == 0 {
			layer = full
		}
		count := len(windows)
		if at := slices.IndexFunc(windows, func(w int) bool { return w != window }); at >= 0 {
			count = at
		}
		if window != linear {
			s.add(layer, count, window)
		}
		windows = windows[count:]
	}
	if len(s.Layers) == 0 {
		return errors.New("layer_types: no layer keeps keys and values of tokens; a prefix cache of states alone is not " +
			"supported")
	}
	return nil
}

// gemma4 reads Gemma 4: layers without a window have other heads. Their values are made of the keys, but differ from
// them, so that engines keep both.
func gemma4(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	global := each
	if global.Key, err = c.number("global_head_dim", gemma4GlobalSize, 1, mostNumbers); err != nil {
		return s, err
	}
	global.Value = global.Key
	if c.ValuesAreKeys {
		if global.Heads, err = c.number("num_global_key_value_heads", each.Heads, 1, mostNumbers); err != nil {
			return s, err
		}
	}
	windows, err := c.layers(a)
	if err != nil {
		return s, err
	}
	return s, s.addWindows(windows, global, each)
}

// gemma4GlobalSize is the size of heads without a window (configuration_gemma4.py of transformers).
const gemma4GlobalSize = 512

// falcon reads Falcon, whose heads have names of their own.
func falcon(c *config, _ *arch) (s Shape, err error) {
	heads, err := c.either(mostNumbers, "num_attention_heads", "n_head")
	if err != nil {
		return s, err
	}
	layers, err := c.either(mostLayers, "num_hidden_layers", "n_layer")
	if err != nil {
		return s, err
	}
	hidden, err := c.need("hidden_size", mostNumbers)
	if err != nil {
		return s, err
	}
	kv := heads
	switch {
	case c.flag("new_decoder_architecture", false):
		kv, err = c.either(mostNumbers, "num_kv_heads", "n_head_kv")
	case c.flag("multi_query", true):
		kv = 1
	}
	s.add(Layers{Heads: kv, Key: hidden / heads, Value: hidden / heads}, layers, 0)
	return s, err
}

// gpt2 reads GPT-2, GPT-J and StarCoder.
func gpt2(c *config, _ *arch) (s Shape, err error) {
	heads, err := c.either(mostNumbers, "n_head", "num_attention_heads")
	if err != nil {
		return s, err
	}
	layers, err := c.either(mostLayers, "n_layer", "num_hidden_layers")
	if err != nil {
		return s, err
	}
	hidden, err := c.either(mostNumbers, "n_embd", "hidden_size")
	size := hidden / heads
	if c.flag("multi_query", false) {
		heads = 1
	}
	s.add(Layers{Heads: heads, Key: size, Value: size}, layers, 0)
	return s, err
}

// chatGLM reads ChatGLM2 to GLM-4 9B.
func chatGLM(c *config, _ *arch) (s Shape, err error) {
	layers, err := c.either(mostLayers, "num_layers", "num_hidden_layers")
	if err != nil {
		return s, err
	}
	heads, err := c.need("num_attention_heads", mostNumbers)
	if err == nil && c.flag("multi_query_attention", false) {
		heads, err = c.need("multi_query_group_num", mostNumbers)
	}
	if err != nil {
		return s, err
	}
	size, err := c.need("kv_channels", mostNumbers)
	s.add(Layers{Heads: heads, Key: size, Value: size}, layers, 0)
	return s, err
}

// crossLayer reads Hunyuan: of so many layers in sequence, the first keeps keys and values for all.
func crossLayer(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	share := 1
	if c.flag("use_cla", false) {
		if share, err = c.number("cla_share_factor", 1, 1, mostLayers); err != nil {
			return s, err
		}
	}
	s.add(each, (layers+share-1)/share, 0)
	return s, nil
}

// blockConfigs reads the models that NVIDIA's Puzzle made of Llama: every layer has heads of its own, or none.
func blockConfigs(c *config, _ *arch) (s Shape, err error) {
	var blocks []struct {
		Attention struct {
			Group  *int `json:"n_heads_in_group"`
			None   bool `json:"no_op"`
			Linear bool `json:"replace_with_linear"`
			Window *int `json:"window_length"`
			Sinks  *int `json:"num_sink_tokens"`
		} `json:"attention"`
	}
	if err := jsonlines.Parse(c.keys["block_configs"], &blocks, "a list of layers"); err != nil {
		return s, fmt.Errorf("block_configs: %w", err)
	}
	heads, err := c.need("num_attention_heads", mostNumbers)
	if err != nil {
		return s, err
	}
	hidden, err := c.need("hidden_size", mostNumbers)
	if err != nil {
		return s, err
	}
	count := map[int]int{}
	for i, b := range blocks {
		switch g := b.Attention.Group; {
		case b.Attention.None || b.Attention.Linear:
		case g == nil || *g < 1 || heads%*g != 0 || b.Attention.Window != nil || b.Attention.Sinks != nil:
			return s, fmt.Errorf("block_configs: layer %d: want n_heads_in_group that divides %d, or no_op, and neither a "+
				"window nor sinks; %s", i, heads, byGroups)
		default:
			count[heads / *g]++
		}
	}
	for kv := 1; kv <= heads; kv++ {
		s.add(Layers{Heads: kv, Key: hidden / heads, Value: hidden / heads}, count[kv], 0)
	}
	if len(s.Layers) == 0 {
		return s, errors.New("block_configs: no layer has attention")
	}
	return s, nil
}

// mimo reads MiMo V2, whose layers with a window (1 in hybrid_layer_pattern) have heads of their own.
func mimo(c *config, a *arch) (s Shape, err error) {
	var pattern []int
	if err := jsonlines.Parse(c.keys["hybrid_layer_pattern"], &pattern, "a list of 0 and 1"); err != nil {
		return s, fmt.Errorf("hybrid_layer_pattern: %w", err)
	}
	full, err := c.heads(a)
	if err != nil {
		return s, err
	}
	windowed := full
	for _, key := range []struct {
		name  string
		to    *int
		else_ int
	}{{"v_head_dim", &full.Value, full.Key}, {"swa_num_key_value_heads", &windowed.Heads, full.Heads},
		{"swa_head_dim", &windowed.Key, full.Key}, {"swa_v_head_dim", &windowed.Value, full.Key}} {
		if *key.to, err = c.number(key.name, key.else_, 1, mostNumbers); err != nil {
			return s, err
		}
	}
	window, err := c.either(mostTokens, "sliding_window", "sliding_window_size")
	if err != nil {
		return s, err
	}
	windows := make([]int, len(pattern))
	for i, is := range pattern {
		windows[i] = is * window
	}
	return s, s.addWindows(windows, full, windowed)
}

// stepFirst reads Step-3, in which all heads of queries share one key and value (multi-matrix factorisation).
func stepFirst(c *config, _ *arch) (s Shape, err error) {
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	size, err := c.need("head_dim", mostNumbers)
	s.add(Layers{Heads: 1, Key: size, Value: size}, layers, 0)
	return s, err
}

// stepGroups reads Step-3.5 and 3.7, whose heads of keys and values are called groups, and whose layer_types go on to
// the layers of multi-token prediction.
func stepGroups(c *config, a *arch) (s Shape, err error) {
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	groups, err := c.either(mostNumbers, "num_attention_groups", "num_key_value_heads")
	if err != nil {
		return s, err
	}
	size, err := c.need("head_dim", mostNumbers)
	if err != nil {
		return s, err
	}
	if len(c.LayerTypes) > layers {
		c.LayerTypes = c.LayerTypes[:layers]
	}
	windows, err := c.layers(a)
	if err != nil {
		return s, err
	}
	each := Layers{Heads: groups, Key: size, Value: size}
	return s, s.addWindows(windows, each, each)
}

// blockSparse reads MiniMax M3: most layers have an index besides, a key of 16 bits for each token.
func blockSparse(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	var index struct {
		Use    *bool `json:"use_sparse_attention"`
		Size   int   `json:"sparse_index_dim"`
		Layers []int `json:"sparse_attention_freq"`
	}
	if c.has("sparse_attention_config") {
		if err := jsonlines.Parse(c.keys["sparse_attention_config"], &index, "an object"); err != nil {
			return s, fmt.Errorf("sparse_attention_config: %w", err)
		}
	}
	sparse := 0
	for _, is := range index.Layers {
		if is != 0 && (index.Use == nil || *index.Use) {
			sparse++
		}
	}
	if sparse > layers || sparse > 0 && (index.Size < 1 || index.Size > mostNumbers) {
		return s, errors.New("sparse_attention_config: want sparse_index_dim, and at most num_hidden_layers in " +
			"sparse_attention_freq")
	}
	s.add(each, layers-sparse, 0)
	each.Bytes = 2 * index.Size
	s.add(each, sparse, 0)
	return s, nil
}

// latents reads DeepSeek V2 and V3 and those like them: a latent vector for all heads.
func latents(c *config, _ *arch) (s Shape, err error) {
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	each, err := c.latent()
	s.add(each, layers, 0)
	return s, err
}

// doubleLatents reads LongCat Flash, whose layers have two attentions each.
func doubleLatents(c *config, _ *arch) (s Shape, err error) {
	layers, err := c.either(mostLayers, "num_layers", "num_hidden_layers")
	if err != nil {
		return s, err
	}
	each, err := c.latent()
	s.add(each, 2*layers, 0)
	return s, err
}

// Sizes in the layout fp8_ds_mla: numbers that share a scale of 32 bits, and numbers of the rotary part of 16 bits.
const numbersOfScale = 128

// latent returns a layer with a latent vector.
func (c *config) latent() (l Layers, err error) {
	rank, err := c.need("kv_lora_rank", mostNumbers)
	if err != nil {
		return l, err
	}
	rope, err := c.need("qk_rope_head_dim", mostNumbers)
	return Layers{Heads: 1, Key: rank + rope}, err
}

// sparseLatents reads DeepSeek V3.2 and GLM-5: beside the latent vector, layers have an index with a key of 8 bits for
// each token, which may serve the layers behind it, too (indexer_types: shared).
func sparseLatents(c *config, _ *arch) (s Shape, err error) {
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	each, err := c.latent()
	if err != nil {
		return s, err
	}
	rope, err := c.need("qk_rope_head_dim", mostNumbers)
	if err != nil {
		return s, err
	}
	each.Packed = each.Key - rope + (each.Key-rope+numbersOfScale-1)/numbersOfScale*4 + 2*rope
	shared := 0
	for _, typ := range c.IndexTypes {
		switch typ {
		case "full":
		case "shared":
			shared++
		default:
			return s, fmt.Errorf("indexer_types: %.40q: want full or shared; %s", typ, byGroups)
		}
	}
	if c.IndexTypes == nil {
		if shared, err = c.skippedIndexes(layers); err != nil {
			return s, err
		}
	} else if shared > 0 && len(c.IndexTypes) != layers {
		return s, fmt.Errorf("indexer_types has %d entries for %d layers (num_hidden_layers)", len(c.IndexTypes), layers)
	}
	index, err := c.indexBytes()
	if err != nil {
		return s, err
	}
	without := each
	each.Bytes = index
	s.add(each, layers-shared, 0)
	s.add(without, shared, 0)
	return s, nil
}

// skippedIndexes returns how many layers have no index in a file without indexer_types: all but one in index_topk_freq,
// from a layer on.
func (c *config) skippedIndexes(layers int) (skipped int, err error) {
	interval, err := c.number("index_topk_freq", 1, 1, mostLayers)
	if err != nil {
		return 0, err
	}
	first, err := c.number("index_skip_topk_offset", 2, 0, mostLayers)
	for layer := range layers {
		if max(layer-first+1, 0)%interval != 0 {
			skipped++
		}
	}
	return skipped, err
}

// indexBytes returns the bytes of a key of 8 bits in an index, with its scales.
func (c *config) indexBytes() (int, error) {
	size, err := c.need("index_head_dim", mostNumbers)
	return size + (size+numbersOfScale-1)/numbersOfScale*4, err
}

// compressed reads DeepSeek V4. Every layer keeps latent vectors within a window; most keep besides one for every 4 or
// 128 tokens (compress_ratios), with 4 also an index. A compression keeps what it has not finished as numbers of 32
// bits: twice as many tokens with 4, whose groups overlap, and half of the numbers are scores.
func compressed(c *config, _ *arch) (s Shape, err error) {
	var ratios []int
	if err := jsonlines.Parse(c.keys["compress_ratios"], &ratios, "a list of numbers"); err != nil {
		return s, fmt.Errorf("compress_ratios: %w", err)
	}
	var layers, window, size, rope, indexed int
	for _, key := range []struct {
		name string
		to   *int
		most int
	}{{"num_hidden_layers", &layers, mostLayers}, {"sliding_window", &window, mostTokens},
		{"head_dim", &size, mostNumbers}, {"qk_rope_head_dim", &rope, mostNumbers},
		{"index_head_dim", &indexed, mostNumbers}} {
		if *key.to, err = c.need(key.name, key.most); err != nil {
			return s, err
		}
	}
	if len(ratios) < layers || rope >= size {
		return s, fmt.Errorf("compress_ratios has %d entries for %d layers (num_hidden_layers), or head_dim %d is not more "+
			"than qk_rope_head_dim %d", len(ratios), layers, size, rope)
	}
	// A scale of 8 bits for 64 numbers, rounded up to 8 bytes.
	packed := size - rope + 2*rope + ((size-rope+63)/64+7)/8*8
	each := Layers{Heads: 1, Key: size, Packed: packed}
	s.Type = packedType
	s.add(each, layers, window)
	count := map[int]int{}
	for _, ratio := range ratios[:layers] { // those behind are of multi-token prediction
		if ratio != 0 && ratio != 4 && ratio != 128 {
			return s, fmt.Errorf("compress_ratios: %d: want 0, 4 or 128; %s", ratio, byGroups)
		}
		count[ratio]++
	}
	index, err := c.indexBytes()
	each.Every, each.Bytes = 4, index
	s.add(each, count[4], 0)
	each.Every, each.Bytes = 128, 0
	s.add(each, count[128], 0)
	s.add(Layers{Bytes: 2 * 2 * 4 * (size + indexed)}, count[4], 2*4)
	s.add(Layers{Bytes: 2 * 4 * size}, count[128], 128)
	return s, err
}

// deltaNet reads Qwen3-Next and Qwen3.5: all but one in four layers, or in another number, are a Gated DeltaNet.
func deltaNet(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	withInterval := *a
	withInterval.windows = func(c *config, layers []int) error {
		interval, err := c.number("full_attention_interval", 4, 1, mostLayers)
		return fill(layers, linear, err, func(layer int) bool { return (layer+1)%interval != 0 })
	}
	layers, err := c.layers(&withInterval)
	if err != nil {
		return s, err
	}
	if err := s.addWindows(layers, each, each); err != nil {
		return s, err
	}
	return s, s.addStates(c, layers, c.StateType, "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
		"linear_value_head_dim", "linear_conv_kernel_dim")
}

// addStates adds the states of layers, whose heads of keys, size of a key, heads of values, size of a value, and
// convolution have these names.
func (s *Shape) addStates(c *config, layers []int, typ string, keys ...string) (err error) {
	states := States{}
	for _, window := range layers {
		if window == linear {
			states.Count++
		}
	}
	if states.Count == 0 {
		return nil
	}
	for i, to := range []*int{&states.KeyHeads, &states.KeySize, &states.ValueHeads, &states.ValueSize,
		&states.Convolution} {
		if *to, err = c.need(keys[i], mostStateNumbers); err != nil {
			return err
		}
	}
	if typ != "" {
		states.Type, err = parseType(typ)
	}
	s.States = append(s.States, states)
	return err
}

// nemotronH reads NVIDIA's models whose blocks are Mamba 2, attention or neither. In Mamba 2, the groups of B and C are
// the heads of the keys, and their size is that of the state.
func nemotronH(c *config, a *arch) (s Shape, err error) {
	if !c.has("head_dim") {
		c.keys["head_dim"] = c.keys["attention_head_dim"]
	}
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	blocks, err := c.blocks()
	if err != nil {
		return s, err
	}
	if err := s.addWindows(blocks, each, each); err != nil {
		return s, err
	}
	return s, s.addStates(c, blocks, cmp.Or(c.MambaType, a.matrix), "n_groups", "ssm_state_size", "mamba_num_heads",
		"mamba_head_dim", "conv_kernel")
}

// mambaLayers reads Granite 4, some of whose layers are Mamba 2.
func mambaLayers(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	var layers []int
	for _, typ := range c.LayerTypes {
		switch typ {
		case "attention", "full_attention":
			layers = append(layers, 0)
		case "mamba", "linear_attention":
			layers = append(layers, linear)
		default:
			return s, fmt.Errorf("layer_types: %.40q: want attention or mamba; %s", typ, byGroups)
		}
	}
	if err := s.addWindows(layers, each, each); err != nil {
		return s, err
	}
	return s, s.addStates(c, layers, c.MambaType, "mamba_n_groups", "mamba_d_state", "mamba_n_heads", "mamba_d_head",
		"mamba_d_conv")
}

// mambaBeside reads Falcon-H1, whose layers have attention and Mamba 2 side by side.
func mambaBeside(c *config, a *arch) (s Shape, err error) {
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	s.add(each, layers, 0)
	return s, s.addStates(c, slices.Repeat([]int{linear}, layers), c.MambaType, "mamba_n_groups", "mamba_d_state",
		"mamba_n_heads", "mamba_d_head", "mamba_d_conv")
}

// kimiLinear reads Kimi Linear and Kimi K3: latent attention in some layers, Kimi Delta Attention in the others.
func kimiLinear(c *config, a *arch) (s Shape, err error) {
	var attention struct {
		Full  []int `json:"full_attn_layers"`
		Delta []int `json:"kda_layers"`
	}
	const key = "linear_attn_config"
	if err := jsonlines.Parse(c.keys[key], &attention, "an object"); err != nil {
		return s, fmt.Errorf("%s: %w", key, err)
	}
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	if len(attention.Full)+len(attention.Delta) != layers || len(attention.Full) == 0 {
		return s, fmt.Errorf("%s: full_attn_layers and kda_layers are %d and %d of %d layers (num_hidden_layers)", key,
			len(attention.Full), len(attention.Delta), layers)
	}
	each, err := c.latent()
	if err != nil {
		return s, err
	}
	s.add(each, len(attention.Full), 0)
	delta, err := decode(c.keys[key])
	if err != nil {
		return s, err
	}
	return s, s.addStates(&delta, slices.Repeat([]int{linear}, len(attention.Delta)), cmp.Or(c.StateType, a.matrix),
		"num_heads", "head_dim", "num_heads", "head_dim", "short_conv_kernel_size")
}

// lightning reads MiniMax M1 and Text-01, most of whose layers are Lightning Attention: a matrix per head of queries.
func lightning(c *config, a *arch) (s Shape, err error) {
	layers := make([]int, len(c.LayerTypes))
	for i, typ := range c.LayerTypes {
		if typ == "linear_attention" {
			layers[i] = linear
		}
	}
	if c.has("attn_type_list") {
		var types []int
		if err := jsonlines.Parse(c.keys["attn_type_list"], &types, "a list of 0 (linear) and 1"); err != nil {
			return s, fmt.Errorf("attn_type_list: %w", err)
		}
		layers = make([]int, len(types))
		for i, is := range types {
			if is == 0 {
				layers[i] = linear
			}
		}
	}
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	return s, s.addLightning(c, a, layers, each)
}

// lightningGroups reads Ring-linear and Ling 2.5: the last layer of each group has attention.
func lightningGroups(c *config, a *arch) (s Shape, err error) {
	count, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return s, err
	}
	group, err := c.number("layer_group_size", 1, 1, mostLayers)
	layers := make([]int, count)
	if err = fill(layers, linear, err, func(layer int) bool { return (layer+1)%group != 0 }); err != nil {
		return s, err
	}
	if c.has("kv_lora_rank") {
		each, err := c.latent()
		if err != nil {
			return s, err
		}
		return s, s.addLightning(c, a, layers, each)
	}
	each, err := c.heads(a)
	if err != nil {
		return s, err
	}
	return s, s.addLightning(c, a, layers, each)
}

// addLightning adds layers with heads, and others with a matrix for each head of queries and no convolution.
func (s *Shape) addLightning(c *config, a *arch, layers []int, each Layers) error {
	if err := s.addWindows(layers, each, each); err != nil {
		return err
	}
	heads, err := c.need("num_attention_heads", mostStateNumbers)
	if err != nil {
		return err
	}
	size, err := c.number("head_dim", 0, 1, mostStateNumbers)
	if err != nil {
		return err
	}
	if size == 0 {
		hidden, err := c.need("hidden_size", mostNumbers)
		if err != nil {
			return err
		}
		size = hidden / heads
	}
	states := States{KeyHeads: heads, KeySize: size, ValueHeads: heads, ValueSize: size, Convolution: 1,
		Type: a.matrix}
	for _, window := range layers {
		if window == linear {
			states.Count++
		}
	}
	if states.Count > 0 {
		s.States = append(s.States, states)
	}
	return nil
}

// flag returns a truth value, or another one if the key is absent.
func (c *config) flag(key string, otherwise bool) (is bool) {
	if !c.has(key) || json.Unmarshal(c.keys[key], &is) != nil {
		return otherwise
	}
	return is
}

// either returns the whole number of the first of some keys that is there.
func (c *config) either(most int, keys ...string) (int, error) {
	for _, key := range keys {
		if c.has(key) {
			return c.need(key, most)
		}
	}
	return 0, fmt.Errorf("%s is missing; want a config.json of Hugging Face that has it, or %s",
		strings.Join(keys, " or "), byGroups)
}
