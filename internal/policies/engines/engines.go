// Package engines has the policies of the engines that serve language models, by the names of the engines: vLLM,
// SGLang, TensorRT-LLM and LMCache. Those in Entries are short for the cache of prompts, set as the engine works, with
// the engine's rule inside.
package engines

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Stores are the policies of memories to which engines offload blocks. They stand for themselves, in every cache.
var Stores = []policies.Entry{vllmARC}

// Entries are the policies of this package that are short for a cache.
var Entries = []policies.Entry{
	vllmEntry, sglangLRU, sglangLFU, sglangFIFO, sglangSLRU, sglangPriority, sglangMRU, sglangFILO, sglangTLRU,
	tensorRTLLM, lmcacheLRU, lmcacheLFU, lmcacheFIFO, lmcacheMRU, lengthAwareEntry,
}

// What lengthAwareEntry does with the later ones of equally frequent blocks.
const (
	laterEvicted = "evicted"
	laterKept    = "kept"
)

var lengthAwareEntry = shortFor(nil, policies.Entry{
	Name: "length-aware",
	Look: policies.Look{Color: policies.Magenta, Mark: policies.Cross},
	Summary: "evicts the block requested least often since it was loaded, the one farthest from the beginning of its " +
		"prompt on a tie, after Mooncake's LengthAwareCache",
	Source: "Qin et al., Mooncake, arXiv 2407.00079, section 4.2",
	Type:   (*lengthAware)(nil),
	Memory: policies.Memory{PerObject: 16, PerSlot: 24},
	Params: []policies.Param{{Name: "later", Default: laterEvicted, Choices: []string{laterEvicted, laterKept}, Doc: "" +
		"the later ones of equally frequent blocks are evicted first, or kept; the paper's words can mean both"}},
	New: func(c policies.Config) (policies.Policy, error) { return newLengthAware(c), nil },
})

// The cache that the policies are short for, and its parameters, see package prefix.
const cacheName = "prefix"

var (
	// Blocks that are full are kept, and at least one token of a prompt is computed.
	ofBlocks = policies.Values{"evict": "leaf", "last": "computed"}
	ofNodes  = policies.Values{"evict": "node", "last": "computed"}
	// Blocks that are not full are kept, too.
	ofAllBlocks = policies.Values{"evict": "leaf", "last": "kept"}
	// The store keeps full chunks, and all of them can hit.
	ofChunks = policies.Values{"evict": "chunk", "last": "full"}
)

const (
	vllmSource   = "vLLM 0.33.0 (PyPI), vllm/v1/core/block_pool.py and kv_cache_utils.py; Kwon et al., SOSP 2023"
	sglangSource = "SGLang 0.5.23 (PyPI), srt/mem_cache/unified_cache/unified_tree_core.py and evict_policy.py; Zheng " +
		"et al., NeurIPS 2024"
	tensorRTLLMSource = "TensorRT-LLM (github.com/NVIDIA/TensorRT-LLM), cpp/tensorrt_llm/batch_manager/" +
		"evictionPolicy.cpp and kvCacheManager.cpp, executor/kvCacheRetentionConfig.cpp, as of 2026"
	lmcacheSource = "LMCache 0.5.6 (PyPI), v1/storage_backend/cache_policy and local_cpu_backend.py"
)

var vllmEntry = shortFor(ofBlocks, followerOf(policies.Entry{
	Name: "vllm",
	Look: policies.Look{Color: policies.Blue, Mark: policies.Triangle},
	Summary: "evicts the block that running prompts released longest ago, of one prompt the last block first; a model " +
		"with windows or states is kept in groups of layers",
	Source:   vllmSource,
	InGroups: true,
}, byRelease))

var vllmARC = policies.Entry{
	Name: "vllm-arc",
	Look: policies.Look{Color: policies.Orange, Mark: policies.Square},
	Summary: "splits the host's memory between blocks used since they were written and others, as vLLM's offloading " +
		"does; writing evicted blocks again moves the split",
	Source: "vLLM 0.33.0 (PyPI), vllm/v1/kv_offload/cpu/policies/arc.py and manager.py",
	Units:  policies.UnitsObjects,
	Type:   (*offloadARC)(nil),
	Memory: policies.Memory{PerObject: 13},
	New:    func(c policies.Config) (policies.Policy, error) { return newOffloadARC(c), nil },
}

var sglangLRU = sglang("lru", policies.Look{Color: policies.Blue, Mark: policies.Square}, byRecency,
	"evicts the leaf of the radix tree that was matched longest ago, with all of its blocks")

var sglangLFU = sglang("lfu", policies.Look{Color: policies.Vermilion, Mark: policies.Circle}, byFrequency,
	"evicts the leaf of the radix tree that the fewest prompts have had, the one matched longest ago on a tie")

var sglangFIFO = sglang("fifo", policies.Look{Color: policies.Vermilion, Mark: policies.Cross}, byCreation,
	"evicts the oldest leaf of the radix tree; both parts of a node that is split are as old as it was")

var sglangSLRU = sglang("slru", policies.Look{Color: policies.Vermilion, Mark: policies.Ring}, bySegment,
	"evicts leaves of the radix tree that one prompt has had before others, the one matched longest ago first")

var sglangPriority = sglang("priority", policies.Look{Color: policies.Vermilion, Mark: policies.Square}, byPriority,
	"evicts the leaf of the radix tree with the lowest priority of a prompt that had it, the one matched "+
		"longest ago on a tie")

var sglangMRU = sglang("mru", policies.Look{Color: policies.Blue, Mark: policies.Ring}, mostRecent,
	"evicts the leaf of the radix tree that was matched last")

var sglangFILO = sglang("filo", policies.Look{Color: policies.Magenta, Mark: policies.Square}, lastCreation,
	"evicts the youngest leaf of the radix tree; both parts of a node that is split are as old as it was")

// sglang is a policy of the radix tree of SGLang.
func sglang(name string, look policies.Look, r rule, summary string) policies.Entry {
	return shortFor(ofNodes, followerOf(policies.Entry{Name: "sglang-" + name, Look: look, Summary: summary,
		Source: sglangSource, InStates: true}, r))
}

var sglangTLRU = shortFor(ofNodes, followerOf(policies.Entry{
	Name: "sglang-tlru",
	Look: policies.Look{Color: policies.Violet, Mark: policies.Plus},
	Summary: "evicts leaves of the radix tree without which the next prompt of a conversation has few enough tokens to " +
		"compute before others, the one matched longest ago first",
	Source:   sglangSource + "; Zhang et al., Tail-Optimized Caching for LLM Inference, arXiv 2510.15152",
	InStates: true,
	Params: []policies.Param{
		{Name: "threshold", Default: 2048, Min: 1, Max: 1 << 30, Doc: "tokens that a prompt may have to compute; more " +
			"than next-prompt-estimate"},
		{Name: "next-prompt-estimate", Default: 0, Min: 0, Max: 1 << 30, Doc: "of these, new tokens of the next prompt, " +
			"which the cache has not had"},
	},
	Check: func(v policies.Values) error {
		if most, new := v.Int("threshold"), v.Int("next-prompt-estimate"); most <= new {
			return fmt.Errorf("threshold=%d is not above next-prompt-estimate=%d, which makes it sglang-lru; raise threshold",
				most, new)
		}
		return nil
	},
}, byTail))

var tensorRTLLM = shortFor(ofAllBlocks, policies.Entry{
	Name:    "tensorrt-llm",
	Look:    policies.Look{Color: policies.Indigo, Mark: policies.Triangle},
	Summary: "evicts the block of lowest priority, the one that running prompts released longest ago on a tie",
	Source:  tensorRTLLMSource,
	Type:    (*retention)(nil),
	Memory:  policies.Memory{PerObject: 17, PerSlot: 48},
	Params: []policies.Param{{Name: "ranges", Default: "", Doc: "ranges of the tokens of every prompt, with slashes " +
		"between them: 0-2048:90/2048-4096:50@30s gives blocks that begin in the second the priority 50 until 30 s after " +
		"their release; 35 otherwise (KvCacheRetentionConfig, token_range_retention_configs)"}},
	NeedsTime: func(v policies.Values) bool {
		ranges, _ := parseRanges(v.Text("ranges")) // Check reports the error
		return slices.ContainsFunc(ranges, func(r tokenRange) bool { return r.lasting() > 0 })
	},
	Check: func(v policies.Values) error {
		_, err := parseRanges(v.Text("ranges"))
		return err
	},
	New: func(c policies.Config) (policies.Policy, error) { return newRetention(c), nil },
})

var lmcacheLRU = lmcache("lru", policies.Look{Color: policies.Cyan, Mark: policies.Cross},
	"evicts the chunk that was looked up or stored longest ago; of one prompt the last chunk that hit first, and of its "+
		"new ones the first")

var lmcacheLFU = lmcache("lfu", policies.Look{Color: policies.Cyan, Mark: policies.Ring},
	"evicts the chunk that was found least often since it was stored, the one found longest ago on a tie")

var lmcacheFIFO = lmcache("fifo", policies.Look{Color: policies.Violet, Mark: policies.Ring},
	"evicts the chunk that was stored longest ago")

var lmcacheMRU = shortFor(ofChunks, policies.Entry{
	Name:    "lmcache-mru",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Plus},
	Summary: "evicts the chunk that was looked up or stored last",
	Source:  lmcacheSource,
	Type:    (*recentChunks)(nil),
	Memory:  policies.Memory{PerObject: 4}, // and 4 bytes per request
	New:     func(c policies.Config) (policies.Policy, error) { return newRecentChunks(c), nil },
})

// lmcache is a policy of the exact cache in the store of LMCache.
func lmcache(policy string, look policies.Look, summary string) policies.Entry {
	return policies.Entry{
		Name: "lmcache-" + policy, Look: look, Summary: summary, Source: lmcacheSource, ShortInside: true,
		Units: policies.UnitsObjects,
		ShortFor: func(policies.Values) (string, policies.Values, policies.Spec) {
			return cacheName, ofChunks, policies.Known(policy)
		},
	}
}

// shortFor returns an entry that stands for the cache with some parameters, and with the policy e inside.
func shortFor(in policies.Values, e policies.Entry) policies.Entry {
	short := e
	short.New, short.Type, short.ShortInside = nil, nil, true
	short.Units = policies.UnitsObjects
	short.ShortFor = func(v policies.Values) (string, policies.Values, policies.Spec) {
		return cacheName, in, params.Spec[policies.Entry]{Entry: e, Params: v}
	}
	return short
}
