package decode

// Models that LiteCache serves (section 7.1).
var Models = map[string]Model{
	// config.json of gradientai/Llama-3-8B-Instruct-Gradient-1048k.
	"llama3-8b": {Layers: 32, QueryHeads: 32, KVHeads: 8, Dim: 128, Hidden: 4096, FeedForward: 14336, Vocabulary: 128256},
	// config.json of Qwen/Qwen2.5-14B-Instruct-1M.
	"qwen2.5-14b": {Layers: 48, QueryHeads: 40, KVHeads: 8, Dim: 128, Hidden: 5120, FeedForward: 13824,
		Vocabulary: 152064},
}

const (
	microsecond = 1e-6
	nanosecond  = 1e-9
)

// costs are those of the machine with the H100. docs/models.md says how they were found.
var costs = Costs{Launch: 244 * microsecond, Kernel: 5 * microsecond, Lookup: 13 * microsecond,
	Update: 42 * microsecond, Block: 1.9 * nanosecond}

// slower is how much longer the CPU beside an A40 needs (LiteCache, section 2.3.2).
const slower = 1.29

// Machines of LiteCache (section 7.1).
var Machines = map[string]Machine{
	// NVIDIA H100 datasheet, SXM: 3350 GB/s, 989.4 TFLOPS in 16 bits without sparsity; nvidia-smi shows 81,559 MiB. PCIe
	// 5.0 x16 and 90 cores.
	"h100": {Bandwidth: 3350e9, Peak: 989.4e12, Memory: 81559 << 20, PCIe: 55e9, Threads: 90, Costs: costs},
	// NVIDIA A40 datasheet: 696 GB/s, 149.7 TFLOPS; 46,068 MiB. PCIe 4.0 x16 and 96 cores.
	"a40": {Bandwidth: 696e9, Peak: 149.7e12, Memory: 46068 << 20, PCIe: 25e9, Threads: 96,
		Costs: Costs{Launch: slower * costs.Launch, Kernel: costs.Kernel, Lookup: slower * costs.Lookup,
			Update: slower * costs.Update, Block: slower * costs.Block}},
}
