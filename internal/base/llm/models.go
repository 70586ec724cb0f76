package llm

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Model is a preset: a published model with the shape that its configuration states.
type Model struct {
	Name   string
	Shape  Shape
	Source string // the repository of the configuration, and its file
}

// Windows of Gemma 3 and 4, and of Llama 4 (chunks of tokens, which reach back at most so far).
const (
	gemma3Window = 1024
	llama4Chunk  = 8192
)

// indexBytes are those of a token and layer in the index of DeepSeek V3.2: a key of 128 numbers of 8 bits
// (index_head_dim) with a scale of 32 bits, as vLLM and SGLang keep it (aiconfigurator: indexer_cache_entry_bytes).
const indexBytes = 128 + 4

// latent is the latent vector of DeepSeek's models with the part of the keys that all heads share: kv_lora_rank 512 and
// qk_rope_head_dim 64.
const latent = 512 + 64

// models are the presets, in families, as their repositories on Hugging Face configure them in config.json. The numbers
// were read from copies of these files, and from programs that name the repository beside their numbers:
//
//	a  ai-dynamo/aiconfigurator, aic-core, model_configs: the files as they are
//	b  NVIDIA-NeMo/Megatron-Bridge 0.3.1, models: glm45_provider.py, deepseek_provider.py, mistral_provider.py
//	c  huggingface/candle, candle-transformers, models/yi.rs
//	f  foundation-model-stack/foundation-model-stack (IBM), fms/models/granite.py
//	l  Lightning-AI/litgpt 0.5.13, litgpt/config.py
//	m  mlc-ai/mlc-llm, python/mlc_llm/model/model_preset.py: the files as they are. OLMo 2 states fp32 there, which
//	   engines keep as 16 bits
//	n  NVIDIA/TensorRT-LLM, tests/unittest/_torch/modeling/test_modeling_phi3.py: the file as it is
//	s  huggingface/transformers 5.24.0, configuration_cohere.py: the defaults, which are those of Command R
//	t  kevinstephano/thunder_model_blocks, mistral/mistral_config.py: the file as it is
var models = []Model{
	heads("llama-2-7b", 32, 32, 128, "meta-llama/Llama-2-7b-hf"),                                        // l, m
	heads("llama-2-13b", 40, 40, 128, "meta-llama/Llama-2-13b-hf"),                                      // l, m
	heads("llama-2-70b", 80, 8, 128, "meta-llama/Llama-2-70b-hf"),                                       // l, m
	heads("codellama-7b", 32, 32, 128, "codellama/CodeLlama-7b-hf"),                                     // l, m
	heads("codellama-13b", 40, 40, 128, "codellama/CodeLlama-13b-hf"),                                   // l, m
	heads("codellama-34b", 48, 8, 128, "codellama/CodeLlama-34b-hf"),                                    // l, m
	heads("codellama-70b", 80, 8, 128, "codellama/CodeLlama-70b-hf"),                                    // l
	heads("llama-3-8b", 32, 8, 128, "meta-llama/Meta-Llama-3-8B"),                                       // l
	heads("llama-3-70b", 80, 8, 128, "meta-llama/Meta-Llama-3-70B"),                                     // l
	heads("llama-3.1-8b", 32, 8, 128, "meta-llama/Meta-Llama-3.1-8B"),                                   // a
	heads("llama-3.1-70b", 80, 8, 128, "meta-llama/Meta-Llama-3.1-70B"),                                 // a
	heads("llama-3.1-405b", 126, 8, 128, "meta-llama/Meta-Llama-3.1-405B"),                              // a
	heads("llama-3.2-1b", 16, 8, 64, "meta-llama/Llama-3.2-1B"),                                         // l
	heads("llama-3.2-3b", 28, 8, 128, "meta-llama/Llama-3.2-3B"),                                        // l
	heads("llama-3.3-70b", 80, 8, 128, "meta-llama/Llama-3.3-70B-Instruct"),                             // l
	windowed("llama-4-scout", 12, 36, 8, 128, llama4Chunk, "meta-llama/Llama-4-Scout-17B-16E-Instruct"), // a
	windowed("llama-4-maverick", 12, 36, 8, 128, llama4Chunk,
		"meta-llama/Llama-4-Maverick-17B-128E-Instruct"), // a
	heads("nemotron-70b", 80, 8, 128, "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF"),          // l
	mamba("nemotron-3-nano", 6, 23, 64, "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),       // a
	mamba("nemotron-3-super", 8, 40, 128, "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8"),   // a
	mamba("nemotron-3-ultra", 12, 48, 256, "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"), // a
	heads("qwen2.5-0.5b", 24, 2, 64, "Qwen/Qwen2.5-0.5B"),                                   // l
	heads("qwen2.5-1.5b", 28, 2, 128, "Qwen/Qwen2.5-1.5B"),                                  // l
	heads("qwen2.5-3b", 36, 2, 128, "Qwen/Qwen2.5-3B"),                                      // l, m
	heads("qwen2.5-7b", 28, 4, 128, "Qwen/Qwen2.5-7B"),                                      // l
	heads("qwen2.5-14b", 48, 8, 128, "Qwen/Qwen2.5-14B"),                                    // l
	heads("qwen2.5-32b", 64, 8, 128, "Qwen/Qwen2.5-32B"),                                    // l
	heads("qwen2.5-72b", 80, 8, 128, "Qwen/Qwen2.5-72B"),                                    // l
	heads("qwq-32b", 64, 8, 128, "Qwen/QwQ-32B"),                                            // l
	heads("qwen3-0.6b", 28, 8, 128, "Qwen/Qwen3-0.6B"),                                      // a
	heads("qwen3-1.7b", 28, 8, 128, "Qwen/Qwen3-1.7B"),                                      // a
	heads("qwen3-4b", 36, 8, 128, "Qwen/Qwen3-4B"),                                          // l
	heads("qwen3-8b", 36, 8, 128, "Qwen/Qwen3-8B"),                                          // a
	heads("qwen3-14b", 40, 8, 128, "Qwen/Qwen3-14B"),                                        // l
	heads("qwen3-32b", 64, 8, 128, "Qwen/Qwen3-32B"),                                        // a
	heads("qwen3-30b-a3b", 48, 4, 128, "Qwen/Qwen3-30B-A3B"),                                // a
	heads("qwen3-235b-a22b", 94, 4, 128, "Qwen/Qwen3-235B-A22B"),                            // a
	heads("qwen3-coder-480b-a35b", 62, 8, 128, "Qwen/Qwen3-Coder-480B-A35B-Instruct"),       // a
	linearLayers("qwen3.5-27b", 16, 48, 4, 48, "Qwen/Qwen3.5-27B"),                          // a
	linearLayers("qwen3.5-35b-a3b", 10, 30, 2, 32, "Qwen/Qwen3.5-35B-A3B"),                  // a
	linearLayers("qwen3.5-122b-a10b", 12, 36, 2, 64, "Qwen/Qwen3.5-122B-A10B"),              // a
	linearLayers("qwen3.5-397b-a17b", 15, 45, 2, 64, "Qwen/Qwen3.5-397B-A17B"),              // a
	windowed("mistral-7b-v0.1", 0, 32, 8, 128, 4096, "mistralai/Mistral-7B-v0.1"),           // l
	heads("mistral-7b-v0.3", 32, 8, 128, "mistralai/Mistral-7B-v0.3"),                       // l
	heads("mistral-nemo", 40, 8, 128, "mistralai/Mistral-Nemo-Base-2407"),                   // t
	heads("mistral-small-2501", 40, 8, 128, "mistralai/Mistral-Small-24B-Instruct-2501"),    // b
	heads("mistral-large-2407", 88, 8, 128, "mistralai/Mistral-Large-Instruct-2407"),        // l
	heads("mistral-large-2411", 88, 8, 128, "mistralai/Mistral-Large-Instruct-2411"),        // l
	heads("mixtral-8x7b", 32, 8, 128, "mistralai/Mixtral-8x7B-v0.1"),                        // a
	heads("mixtral-8x22b", 56, 8, 128, "mistralai/Mixtral-8x22B-v0.1"),                      // a
	heads("gemma-2b", 18, 1, 256, "google/gemma-2b"),                                        // l, m
	heads("gemma-7b", 28, 16, 256, "google/gemma-7b"),                                       // l
	windowed("gemma-2-2b", 13, 13, 4, 256, 4096, "google/gemma-2-2b"),                       // l, m
	windowed("gemma-2-9b", 21, 21, 8, 256, 4096, "google/gemma-2-9b"),                       // l
	windowed("gemma-2-27b", 23, 23, 16, 128, 4096, "google/gemma-2-27b"),                    // l
	windowed("gemma-3-1b", 4, 22, 1, 256, 512, "google/gemma-3-1b-it"),                      // l, m
	windowed("gemma-3-4b", 5, 29, 4, 256, gemma3Window, "google/gemma-3-4b-it"),             // l
	windowed("gemma-3-12b", 8, 40, 8, 256, gemma3Window, "google/gemma-3-12b-it"),           // l
	windowed("gemma-3-27b", 10, 52, 16, 128, gemma3Window, "google/gemma-3-27b-it"),         // l
	globals("gemma-4-26b-a4b", 5, 2, 25, 8, "google/gemma-4-26B-A4B"),                       // a
	globals("gemma-4-31b", 10, 4, 50, 16, "nvidia/Gemma-4-31B-IT-NVFP4"),                    // a
	heads("phi-2", 32, 32, 80, "microsoft/phi-2"),                                           // l
	windowed("phi-3-mini-4k", 0, 32, 32, 96, 2047, "microsoft/Phi-3-mini-4k-instruct"),      // n
	heads("phi-3-mini-128k", 32, 32, 96, "microsoft/Phi-3-mini-128k-instruct"),              // l
	heads("phi-3.5-mini", 32, 32, 96, "microsoft/Phi-3.5-mini-instruct"),                    // l, m
	heads("phi-4", 40, 10, 128, "microsoft/phi-4"),                                          // l
	heads("phi-4-mini", 32, 8, 128, "microsoft/Phi-4-mini-instruct"),                        // l, m
	latents("deepseek-v2-lite", 27, 0, "deepseek-ai/DeepSeek-V2-Lite"),                      // b, m
	latents("deepseek-v2", 60, 0, "deepseek-ai/DeepSeek-V2"),                                // b
	latents("deepseek-v3", 61, 0, "deepseek-ai/DeepSeek-V3"),                                // a
	latents("deepseek-r1", 61, 0, "deepseek-ai/DeepSeek-R1"),                                // a
	latents("deepseek-v3.2", 61, indexBytes, "deepseek-ai/DeepSeek-V3.2"),                   // a
	latents("kimi-k2", 61, 0, "moonshotai/Kimi-K2-Instruct"),                                // a
	latents("kimi-k2.5", 61, 0, "moonshotai/Kimi-K2.5"),                                     // a
	heads("glm-4.5", 92, 8, 128, "zai-org/GLM-4.5"),                                         // b
	heads("glm-4.5-air", 46, 8, 128, "zai-org/GLM-4.5-Air"),                                 // b
	heads("glm-4.7", 92, 8, 128, "zai-org/GLM-4.7-FP8"),                                     // a
	latents("glm-5", 78, indexBytes, "zai-org/GLM-5"),                                       // a
	latents("glm-5.1", 78, indexBytes, "zai-org/GLM-5.1"),                                   // a
	heads("minimax-m2.5", 62, 8, 128, "MiniMaxAI/MiniMax-M2.5"),                             // a
	windowed("gpt-oss-20b", 12, 12, 8, 64, 128, "openai/gpt-oss-20b"),                       // a
	windowed("gpt-oss-120b", 18, 18, 8, 64, 128, "openai/gpt-oss-120b"),                     // a
	heads("yi-6b", 32, 4, 128, "01-ai/Yi-6B"),                                               // c
	heads("yi-34b", 60, 8, 128, "01-ai/Yi-34B"),                                             // c
	heads("falcon-7b", 32, 1, 64, "tiiuae/falcon-7b"),                                       // l
	heads("falcon-40b", 60, 8, 64, "tiiuae/falcon-40b"),                                     // l
	heads("falcon-180b", 80, 8, 64, "tiiuae/falcon-180B"),                                   // l
	heads("falcon3-7b", 28, 4, 256, "tiiuae/Falcon3-7B-Base"),                               // l
	heads("falcon3-10b", 40, 4, 256, "tiiuae/Falcon3-10B-Base"),                             // l
	heads("command-r-v01", 40, 64, 128, "CohereForAI/c4ai-command-r-v01"),                   // s
	heads("aya-23-8b", 32, 8, 128, "CohereForAI/aya-23-8B"),                                 // m
	heads("granite-3.0-8b", 40, 8, 128, "ibm-granite/granite-3.0-8b-base"),                  // f
	heads("olmo-2-7b", 32, 32, 128, "allenai/OLMo-2-1124-7B"),                               // l, m
	heads("olmo-2-13b", 40, 40, 128, "allenai/OLMo-2-1124-13B"),                             // l, m
	heads("olmo-2-32b", 64, 8, 128, "allenai/OLMo-2-0325-32B"),                              // m
	heads("smollm2-135m", 30, 3, 64, "HuggingFaceTB/SmolLM2-135M"),                          // l, m
	heads("smollm2-360m", 32, 5, 64, "HuggingFaceTB/SmolLM2-360M"),                          // l, m
	heads("smollm2-1.7b", 24, 32, 64, "HuggingFaceTB/SmolLM2-1.7B"),                         // l
}

// heads is a model whose layers all attend to all tokens.
func heads(name string, layers, kvHeads, headSize int, repository string) Model {
	return windowed(name, layers, 0, kvHeads, headSize, 0, repository)
}

// windowed is a model with so many layers that attend to all tokens, and others that have a window.
func windowed(name string, full, withWindow, kvHeads, headSize, window int, repository string) Model {
	m := Model{Name: name, Shape: Shape{Type: "bf16"}, Source: repository + " config.json"}
	each := Layers{Heads: kvHeads, Key: headSize, Value: headSize}
	m.Shape.add(each, full, 0)
	m.Shape.add(each, withWindow, window)
	return m
}

// latents is a model with latent attention, as DeepSeek's, and with so many bytes per token in an index.
func latents(name string, layers, index int, repository string) Model {
	m := Model{Name: name, Shape: Shape{Type: "bf16"}, Source: repository + " config.json"}
	m.Shape.add(Layers{Heads: 1, Key: latent, Index: index}, layers, 0)
	return m
}

// globals is a model whose layers without a window have other heads than those with one, as Gemma 4.
func globals(name string, full, fullHeads, withWindow, kvHeads int, repository string) Model {
	m := windowed(name, 0, withWindow, kvHeads, 256, gemma3Window, repository)
	m.Shape.add(Layers{Heads: fullHeads, Key: gemma4GlobalSize, Value: gemma4GlobalSize}, full, 0)
	slices.Reverse(m.Shape.Layers) // those without a window come first, as in a configuration
	return m
}

// linearLayers is a model in which layers with linear attention are between those that keep keys and values, as
// Qwen3.5.
func linearLayers(name string, full, withState, kvHeads, valueHeads int, repository string) Model {
	m := heads(name, full, kvHeads, 256, repository)
	m.Shape.States = States{Count: withState, KeyHeads: 16, KeySize: 128, ValueHeads: valueHeads, ValueSize: 128,
		Convolution: 4, Type: "fp32"}
	return m
}

// mamba is a model in which layers of Mamba 2 are between those that keep keys and values, as Nemotron 3.
func mamba(name string, full, withState, stateHeads int, repository string) Model {
	m := heads(name, full, 2, 128, repository)
	m.Shape.States = States{Count: withState, KeyHeads: 8, KeySize: 128, ValueHeads: stateHeads, ValueSize: 64,
		Convolution: 4, Type: "fp32"}
	return m
}

// Models returns the presets, in families.
func Models() []Model { return slices.Clone(models) }

// Names returns the names of the presets.
func Names() (names []string) {
	for _, m := range models {
		names = append(names, m.Name)
	}
	return names
}

// Find returns a preset by its name; case does not matter.
func Find(name string) (Model, error) {
	at := slices.IndexFunc(models, func(m Model) bool { return strings.EqualFold(m.Name, name) })
	if at < 0 {
		return Model{}, suggest.Unknown("model", name, Names())
	}
	return models[at], nil
}
