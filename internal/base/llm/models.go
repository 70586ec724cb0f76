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

// Windows of Gemma 3 and of Llama 4 (chunks of tokens, which reach back at most so far).
const (
	gemma3Window = 1024
	llama4Chunk  = 8192
)

// latent is the latent vector of DeepSeek's models with the part of the keys that all heads share: kv_lora_rank 512 and
// qk_rope_head_dim 64.
const latent = 512 + 64

// models are the presets, in families, as their repositories on Hugging Face configure them in config.json. The numbers
// were read from copies of these files: those marked a in ai-dynamo/aiconfigurator (aic-core, model_configs), those
// marked l in Lightning-AI/litgpt (litgpt/config.py, which names the file of each).
var models = []Model{
	heads("llama-3.1-8b", 32, 8, 128, "meta-llama/Meta-Llama-3.1-8B"),                                   // a
	heads("llama-3.1-70b", 80, 8, 128, "meta-llama/Meta-Llama-3.1-70B"),                                 // a
	heads("llama-3.1-405b", 126, 8, 128, "meta-llama/Meta-Llama-3.1-405B"),                              // a
	heads("llama-3.2-1b", 16, 8, 64, "meta-llama/Llama-3.2-1B"),                                         // l
	heads("llama-3.2-3b", 28, 8, 128, "meta-llama/Llama-3.2-3B"),                                        // l
	heads("llama-3.3-70b", 80, 8, 128, "meta-llama/Llama-3.3-70B-Instruct"),                             // l
	windowed("llama-4-scout", 12, 36, 8, 128, llama4Chunk, "meta-llama/Llama-4-Scout-17B-16E-Instruct"), // a
	windowed("llama-4-maverick", 12, 36, 8, 128, llama4Chunk,
		"meta-llama/Llama-4-Maverick-17B-128E-Instruct"), // a
	heads("qwen2.5-7b", 28, 4, 128, "Qwen/Qwen2.5-7B"),                                // l
	heads("qwen2.5-14b", 48, 8, 128, "Qwen/Qwen2.5-14B"),                              // l
	heads("qwen2.5-32b", 64, 8, 128, "Qwen/Qwen2.5-32B"),                              // l
	heads("qwen2.5-72b", 80, 8, 128, "Qwen/Qwen2.5-72B"),                              // l
	heads("qwen3-8b", 36, 8, 128, "Qwen/Qwen3-8B"),                                    // a
	heads("qwen3-14b", 40, 8, 128, "Qwen/Qwen3-14B"),                                  // l
	heads("qwen3-32b", 64, 8, 128, "Qwen/Qwen3-32B"),                                  // a
	heads("qwen3-30b-a3b", 48, 4, 128, "Qwen/Qwen3-30B-A3B"),                          // a
	heads("qwen3-235b-a22b", 94, 4, 128, "Qwen/Qwen3-235B-A22B"),                      // a
	heads("qwen3-coder-480b-a35b", 62, 8, 128, "Qwen/Qwen3-Coder-480B-A35B-Instruct"), // a
	windowed("mistral-7b-v0.1", 0, 32, 8, 128, 4096, "mistralai/Mistral-7B-v0.1"),     // l
	heads("mistral-7b-v0.3", 32, 8, 128, "mistralai/Mistral-7B-v0.3"),                 // l
	heads("mistral-large-2411", 88, 8, 128, "mistralai/Mistral-Large-Instruct-2411"),  // l
	heads("mixtral-8x7b", 32, 8, 128, "mistralai/Mixtral-8x7B-v0.1"),                  // a
	heads("mixtral-8x22b", 56, 8, 128, "mistralai/Mixtral-8x22B-v0.1"),                // a
	windowed("gemma-2-9b", 21, 21, 8, 256, 4096, "google/gemma-2-9b"),                 // l
	windowed("gemma-2-27b", 23, 23, 16, 128, 4096, "google/gemma-2-27b"),              // l
	windowed("gemma-3-4b", 5, 29, 4, 256, gemma3Window, "google/gemma-3-4b-it"),       // l
	windowed("gemma-3-12b", 8, 40, 8, 256, gemma3Window, "google/gemma-3-12b-it"),     // l
	windowed("gemma-3-27b", 10, 52, 16, 128, gemma3Window, "google/gemma-3-27b-it"),   // l
	heads("phi-4", 40, 10, 128, "microsoft/phi-4"),                                    // l
	latents("deepseek-v3", 61, "deepseek-ai/DeepSeek-V3"),                             // a
	latents("deepseek-r1", 61, "deepseek-ai/DeepSeek-R1"),                             // a
	latents("kimi-k2", 61, "moonshotai/Kimi-K2-Instruct"),                             // a
	heads("minimax-m2.5", 62, 8, 128, "MiniMaxAI/MiniMax-M2.5"),                       // a
	windowed("gpt-oss-20b", 12, 12, 8, 64, 128, "openai/gpt-oss-20b"),                 // a
	windowed("gpt-oss-120b", 18, 18, 8, 64, 128, "openai/gpt-oss-120b"),               // a
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

// latents is a model with latent attention, as DeepSeek's.
func latents(name string, layers int, repository string) Model {
	m := Model{Name: name, Shape: Shape{Type: "bf16"}, Source: repository + " config.json"}
	m.Shape.add(Layers{Heads: 1, Key: latent}, layers, 0)
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
