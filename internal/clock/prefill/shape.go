package prefill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Shape contains the properties of a language model that determine the cost of a prompt.
type Shape struct {
	Active    float64 // parameters that a token passes through, embeddings included
	Weights   float64 // bytes of all parameters
	Attention float64 // floating-point operations of attention per token and preceding token, in all layers
	// Within are those of layers in which a token attends to some of the preceding ones only.
	Within []llm.Attention
	KV     float64 // bytes of keys and values per token, in all layers
	Decode float64 // seconds per output token after the first
	// Bits of the numbers that are multiplied, as far as hardware can: 16, 8 or 4.
	Bits int
}

// Hardware is the hardware that a model runs on.
type Hardware struct {
	Peak        float64 // floating-point operations per second, of all cards
	Bandwidth   float64 // bytes per second of their memories, of all cards
	Utilisation float64 // share of Peak that a prefill reaches
	Host        float64 // bytes per second from the memory of the host to all cards; 0 if it is not published
	Memory      float64 // bytes of all cards
}

// Shares of the peak that a prefill reaches, unless one is given. The whole is that of a prompt alone in a dense model:
// Pope et al., Efficiently Scaling Transformer Inference (MLSys 2023), table 2; the training of Llama 3 reaches 0.38 to
// 0.43 on H100 (arXiv 2407.21783, table 4). With experts it is much less: 73.7e3 tokens per second and node of eight
// H800, 56.3% of them cached, are 2.4e15 operations (DeepSeek-V3/R1 inference system overview, 2025).
const (
	denseUtilisation  = 0.43
	expertUtilisation = 0.15
)

// DecodeUtilisation is the share of the bandwidth at which decoding reads all weights, unless one is given: what
// DeepSeek's 20 to 22 tokens per second are of eight H800 (same overview).
const DecodeUtilisation = 0.5

// ShapeOf returns the shape of a model whose keys and values have so many bytes per token.
func ShapeOf(c llm.Compute, kv float64) Shape {
	s := Shape{Active: c.Active, Weights: c.WeightBytes(), KV: kv, Bits: c.Multiplies()}
	for _, a := range c.Attention {
		if a.Window == 0 {
			s.Attention += a.Operations
		} else {
			s.Within = append(s.Within, a)
		}
	}
	return s
}

// UtilisationOf returns the share of the peak that a prefill of a model reaches.
func UtilisationOf(c llm.Compute) float64 {
	if c.Active < c.Parameters {
		return expertUtilisation
	}
	return denseUtilisation
}

// pairs returns how many pairs of a token and one before it, or itself, there are for so many tokens after known ones,
// if a token attends to the last ones within a window; 0 for all.
func pairs(known, computed float64, window int) float64 {
	w := float64(window)
	switch {
	case window == 0 || known+computed <= w:
		return float64(computed*known) + float64(computed*(computed+1)/2)
	case known >= w:
		return computed * w
	}
	return pairs(known, w-known, 0) + float64((known+computed-w)*w)
}

// hostShare is the share of the bandwidth of PCI Express that copies reach, about that of HLEM (arXiv 2605.04450),
// section V-E: 25 of 31.5 GB/s.
const hostShare = 0.8

// Bandwidths of 16 lanes: 16 GT/s (PCI Express base specification 4.0) or 32 GT/s (5.0) with 128 of 130 bits; and of
// NVLink-C2C between a Grace and each of two Blackwell, in one direction.
const (
	pcie4 = 31.5e9
	pcie5 = 63.0e9
	c2c   = 225e9
)

// accelerator is a card, with operations per second in 16, 8 and 4 bits without sparsity and with sums in 32 bits, 0
// where it has no such numbers.
type accelerator struct {
	names                string // the first is its own
	peak16, peak8, peak4 float64
	memory, bandwidth    float64
	host                 float64 // of its link to the host
}

// accelerators are those that are known. docs/models.md has their sources and dates.
var accelerators = []accelerator{
	{"a100 a100-80gb", 312e12, 0, 0, 80e9, 2039e9, pcie4},
	{"h100 h100-sxm", 989.5e12, 1979e12, 0, 80e9, 3350e9, pcie5},
	{"h200", 989.5e12, 1979e12, 0, 141e9, 4800e9, pcie5},
	{"h800", 989.5e12, 1979e12, 0, 80e9, 3350e9, pcie5},
	{"b200", 2250e12, 4500e12, 9000e12, 180e9, 7700e9, pcie5},
	{"gb300", 2500e12, 5000e12, 15000e12, 279e9, 8000e9, c2c},
	{"l40s", 362e12, 733e12, 0, 48e9, 864e9, pcie4},
	{"a40", 149.7e12, 0, 0, 48e9, 696e9, pcie4},
	{"rtx4090 4090", 165.2e12, 330.3e12, 0, 24e9, 1008e9, pcie4},
	{"mi300x", 1307.4e12, 2614.9e12, 0, 192e9, 5300e9, pcie5},
	{"mi355x", 2516.6e12, 5033.2e12, 10066.3e12, 288e9, 8000e9, pcie5},
	{"tpu-v5e v5e", 197e12, 0, 0, 16e9, 819e9, 0},
	{"tpu-v6e v6e", 918e12, 0, 0, 32e9, 1640e9, 0},
}

// AcceleratorNames returns the names of the accelerators.
func AcceleratorNames() (names []string) {
	for _, a := range accelerators {
		name, _, _ := strings.Cut(a.names, " ")
		names = append(names, name)
	}
	return names
}

// mostCards is how many accelerators a replica may have.
const mostCards = 1 << 16

// ParseHardware reads so many accelerators, as 8xh100, on which numbers of so many bits are multiplied: 16, or 8 or 4
// where they can.
func ParseHardware(text string, bits int) (Hardware, error) {
	name, cards := strings.ToLower(strings.TrimSpace(text)), 1
	if first, rest, ok := strings.Cut(name, "x"); ok && strings.Trim(first, "0123456789") == "" && first != "" {
		n, err := strconv.Atoi(first)
		if err != nil || n < 1 || n > mostCards {
			return Hardware{}, fmt.Errorf("hardware=%s: want 1 to %d accelerators", text, mostCards)
		}
		name, cards = rest, n
	}
	at := slices.IndexFunc(accelerators, func(a accelerator) bool {
		return slices.Contains(strings.Fields(a.names), name)
	})
	if at < 0 {
		return Hardware{}, fmt.Errorf("hardware=%s: %w; want a number and an accelerator, as 8xh100, or give peak_tflops, "+
			"bandwidth_gbs and host_gbs of another beside one of these", text,
			suggest.Unknown("accelerator", name, AcceleratorNames()))
	}
	a, n := accelerators[at], float64(cards)
	h := Hardware{Peak: n * a.peak16, Bandwidth: n * a.bandwidth, Host: n * hostShare * a.host, Memory: n * a.memory}
	if bits <= 8 && a.peak8 > 0 {
		h.Peak = n * a.peak8
	}
	if bits <= 4 && a.peak4 > 0 {
		h.Peak = n * a.peak4
	}
	return h, nil
}
