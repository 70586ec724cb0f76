package prefill

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/llm"
)

// Shape contains the properties of a language model that determine the cost of a prompt.
type Shape struct {
	Active    float64 // parameters that a token passes through, embeddings included
	Weights   float64 // bytes of all parameters
	Attention float64 // floating-point operations of attention per token and preceding token, in all layers
	KV        float64 // bytes of keys and values per token, in all layers
	Decode    float64 // seconds per output token after the first
}

// Hardware is the hardware that a model runs on.
type Hardware struct {
	Peak        float64 // floating-point operations per second, of all cards
	Bandwidth   float64 // bytes per second of their memories, of all cards
	Utilisation float64 // share of Peak that a prefill reaches
	Host        float64 // bytes per second from the memory of the host to all cards
}

// shape returns the shape of one of llm.Models on one GPU with keys and values of 16 bits: its query heads, and the
// numbers of a key and of a value that attention multiplies with.
func shape(model string, heads, key, value int) Shape {
	m, err := llm.Find(model)
	if err != nil {
		panic(err)
	}
	kv, err := m.Shape.KeyValues("bf16", 1)
	if err != nil || len(kv.Windowed) > 0 {
		panic(fmt.Sprintf("prefill: %s has no plain attention: %v", model, err))
	}
	return Shape{Attention: attention(m.Shape.Layers[0].Count, heads, key, value), KV: kv.Full}
}

// attention returns the operations per token and preceding token. In each layer every head multiplies a query with a
// key, and a weight with a value. A multiplication and an addition are two operations.
func attention(layers, heads, key, value int) float64 {
	return float64(2 * layers * heads * (key + value))
}

// with returns s with what package llm does not know.
func (s Shape) with(active, weights, decode float64) Shape {
	s.Active, s.Weights, s.Decode = active, weights, decode
	return s
}

// Shapes of the models in LCR, section 5.1. Layers, and the bytes of keys and values, are those of package llm.
var Shapes = map[string]Shape{
	// Qwen2.5 technical report (arXiv 2412.15115), table 1, and the configuration of Qwen2.5-32B-Instruct-AWQ: 32.5e9
	// parameters, hidden size 5120, 40 heads of 128; files of 19.3 GB. Decoding: four times what reading the weights once
	// takes on 4xrtx4090, our choice.
	"qwen2.5-32b-awq": shape("qwen2.5-32b", 40, 128, 128).with(32.5e9, 19.3e9, 0.020),
	// DeepSeek-V3 technical report (arXiv 2412.19437), section 4.2: 671e9 parameters of 8 bits, 37e9 of them active,
	// hidden size 7168, 128 heads, keys of 128+64 and values of 128, which are kept as latent vectors. Decoding: 20 to 22
	// tokens per second (DeepSeek, DeepSeek-V3/R1 inference system overview, 2025).
	"deepseek-r1": shape("deepseek-r1", 128, 128+64, 128).with(37e9, 671e9, 0.048),
}

// hostShare is the share of the bandwidth of PCI Express that copies reach, about that of HLEM (arXiv 2605.04450),
// section V-E: 25 of 31.5 GB/s. Each card has 16 lanes: 16 GT/s
// (PCI Express base specification 4.0) or 32 GT/s (5.0) with 128 of 130 bits are 31.5 and 63.0 GB/s.
const hostShare = 0.8

// Machines of LCR, section 5.1.
var Machines = map[string]Hardware{
	// NVIDIA Ada GPU architecture whitepaper, appendix A: 165.2 TFLOPS in 16 bits with sums in 32, without sparsity; 1008
	// GB/s. Utilisation: a prompt that is alone (Pope et al., Efficiently Scaling Transformer Inference, MLSys 2023, table
	// 2).
	"4xrtx4090": {Peak: 4 * 165.2e12, Bandwidth: 4 * 1008e9, Utilisation: 0.43,
		Host: 4 * hostShare * 31.5e9},
	// NVIDIA H100 datasheet; the H800 has the same tensor cores and memory: 1979 TFLOPS in 8 bits without sparsity, 3350
	// GB/s. Utilisation: 73.7e3 tokens per second and node, 56.3% of them cached (DeepSeek, DeepSeek-V3/R1 inference
	// system overview, 2025), are 2.4e15 operations.
	"8xh800": {Peak: 8 * 1979e12, Bandwidth: 8 * 3350e9, Utilisation: 0.15,
		Host: 8 * hostShare * 63.0e9},
}
