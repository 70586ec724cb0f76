package llm

import (
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// Compute is what a token costs in a model. The zero value says that it is not known.
type Compute struct {
	Parameters float64 // all, with those of embeddings
	Active     float64 // those that a token passes through
	Bits       float64 // of a parameter
	Float4     bool    // parameters are numbers of 4 bits that hardware multiplies (NVFP4, MXFP4), if it can
	Attention  []Attention
}

// Attention is what layers multiply to attend.
type Attention struct {
	// Operations per token and preceding token: a multiplication and an addition are two.
	Operations float64
	// Window is how many of the preceding tokens a token attends to: those of a window, or those that an index selects; 0
	// for all.
	Window int
}

// Known reports whether anything is known.
func (c Compute) Known() bool { return c.Active > 0 }

// WeightBytes returns the bytes of all parameters.
func (c Compute) WeightBytes() float64 { return float64(c.Parameters*c.Bits) / 8 }

// Multiplies returns the bits of the numbers that are multiplied: 16, unless the parameters have 8 bits or are floating
// numbers of 4. Parameters of 4 bits that stand for integers (AWQ, GPTQ) are expanded first.
func (c Compute) Multiplies() int {
	switch {
	case c.Float4:
		return 4
	case c.Bits == 8:
		return 8
	}
	return 16
}

// weightTypes are the types of parameters with their bits, scales included.
var weightTypes = []struct {
	name   string
	bits   float64
	float4 bool
}{{"bf16", 16, false}, {"fp16", 16, false}, {"fp8", 8, false}, {"int8", 8, false}, {"w8a8", 8, false},
	{"8bit", 8, false}, {"nvfp4", 4.5, true}, {"mxfp4", 4.25, true}, {"awq", 4.5, false}, {"gptq", 4.5, false},
	{"int4", 4.5, false}, {"4bit", 4.5, false}, {"w4a16", 4.5, false}}

// WeightTypes returns the names of the types of parameters.
func WeightTypes() (names []string) {
	for _, t := range weightTypes {
		names = append(names, t.name)
	}
	return names
}

// As returns c with another type of the parameters, one of WeightTypes.
func (c Compute) As(typ string) (_ Compute, ok bool) {
	for _, t := range weightTypes {
		if t.name == typ {
			c.Bits, c.Float4 = t.bits, t.float4
			return c, true
		}
	}
	return c, false
}

// costs collects the numbers of a configuration that say what a token costs.
type costs struct {
	*config
	shape   Shape
	hidden  float64
	missing bool // a number that is needed
}

// get returns the number of the first of some keys that is there, or 0.
func (c *costs) get(keys ...string) float64 {
	for _, key := range keys {
		if n, err := c.number(key, 0, 1, math.MaxInt32); err == nil && n > 0 {
			return float64(n)
		}
	}
	return 0
}

// must is get for a number without which nothing can be said.
func (c *costs) must(keys ...string) float64 {
	n := c.get(keys...)
	c.missing = c.missing || n == 0
	return n
}

// compute returns what a token costs; the zero value if the configuration does not say it.
func (c *config) compute(s Shape) Compute {
	k := &costs{config: c, shape: s}
	k.hidden = k.must("hidden_size", "n_embd")
	var all Compute
	for _, l := range s.Layers {
		parameters := k.attention(l, &all)
		all.Parameters += parameters
		all.Active += parameters
	}
	for _, t := range s.States {
		// Projections of queries and keys, of values, a gate and the output.
		parameters := float64(t.Count) * k.hidden *
			float64(2*t.KeyHeads*t.KeySize+3*t.ValueHeads*t.ValueSize)
		all.Parameters += parameters
		all.Active += parameters
	}
	for _, f := range k.networks() {
		all.Parameters += f.layers * f.all
		all.Active += f.layers * f.active
	}
	vocabulary := k.must("vocab_size", "padded_vocab_size") * k.hidden
	tied := strings.HasPrefix(c.ModelType, "gemma") || strings.HasPrefix(c.ModelType, "cohere")
	if !c.flag("tie_word_embeddings", tied) {
		vocabulary *= 2
	}
	all.Parameters += vocabulary
	all.Active += vocabulary
	if k.missing {
		return Compute{}
	}
	return c.Quantization.weights(all)
}

// attention returns the parameters of layers with attention, and adds what they multiply.
func (c *costs) attention(l Layers, all *Compute) float64 {
	count, queries := float64(l.Count), c.must("num_attention_heads", "n_head")
	switch {
	case l.Heads == 0: // a compression's rest
		return 0
	case l.Value == 0 && c.has("compress_ratios"):
		return c.compressedAttention(l, all)
	case l.Value == 0:
		return count * c.latentAttention(l, all)
	}
	if other := c.windowedQueries(); l.Window > 0 && other > 0 {
		queries = other
	}
	width := float64(l.Key + l.Value)
	c.sparse(l, float64(2*count*queries*width), all)
	parameters := queries*width + float64(l.Heads)*width
	if c.flag("attn_output_gate", c.ModelType == "qwen3_next") {
		parameters += queries * float64(l.Key)
	}
	return count * c.hidden * parameters
}

// windowedQueries returns the heads of queries in layers with a window, if they have other ones.
func (c *costs) windowedQueries() float64 {
	var other struct {
		Heads int `json:"num_attention_heads"`
	}
	if c.has("attention_other_setting") {
		_ = jsonlines.Parse(c.keys["attention_other_setting"], &other, "an object")
		return float64(other.Heads)
	}
	return c.get("swa_num_attention_heads", "num_sliding_attention_heads")
}

// sparse adds what layers multiply to attend: to the tokens that an index selects, if there is one.
func (c *costs) sparse(l Layers, operations float64, all *Compute) {
	selected := c.get("index_topk")
	if selected > 0 && c.get("index_n_heads") > 0 {
		if l.Bytes > 0 { // this layer has the index itself
			all.add(2*float64(l.Count)*c.get("index_n_heads")*c.get("index_head_dim"), 0)
		}
		all.add(operations, int(selected))
		return
	}
	var blocks struct { // of MiniMax M3
		Top   int `json:"sparse_topk_blocks"`
		Size  int `json:"sparse_block_size"`
		Heads int `json:"sparse_num_index_heads"`
		Width int `json:"sparse_index_dim"`
	}
	const key = "sparse_attention_config"
	if l.Bytes > 0 && c.has(key) && jsonlines.Parse(c.keys[key], &blocks, "an object") == nil {
		all.add(2*float64(l.Count)*float64(blocks.Heads*blocks.Width), 0)
		all.add(operations, blocks.Top*blocks.Size)
		return
	}
	all.add(operations, l.Window)
}

// add adds operations per pair of tokens.
func (c *Compute) add(operations float64, window int) {
	for i := range c.Attention {
		if c.Attention[i].Window == window {
			c.Attention[i].Operations += operations
			return
		}
	}
	c.Attention = append(c.Attention, Attention{operations, window})
}

// latentAttention returns the parameters of one layer of latent attention, as DeepSeek V3 has it.
func (c *costs) latentAttention(l Layers, all *Compute) float64 {
	heads, rope := c.must("num_attention_heads"), c.must("qk_rope_head_dim")
	key, value := c.must("qk_nope_head_dim")+rope, c.must("v_head_dim")
	rank := float64(l.Key) - rope
	c.sparse(l, 2*float64(l.Count)*heads*(key+value), all)
	queries := c.hidden * heads * key
	if low := c.get("q_lora_rank"); low > 0 {
		queries = c.hidden*low + low*heads*key
	}
	index := 0.0
	if n := c.get("index_n_heads"); n > 0 && l.Bytes > 0 {
		index = c.get("q_lora_rank")*n*c.get("index_head_dim") + c.hidden*(c.get("index_head_dim")+n)
	}
	return queries + c.hidden*float64(l.Key) + rank*heads*(key-rope+value) + heads*value*c.hidden + index
}

// compressedAttention returns the parameters of layers of DeepSeek V4: those of the window that all layers have, and of
// the compressions. A compressed layer attends to one entry for several tokens.
func (c *costs) compressedAttention(l Layers, all *Compute) float64 {
	count, heads, size := float64(l.Count), c.must("num_attention_heads"), float64(l.Key)
	operations := 2 * count * heads * 2 * size
	if l.Every <= 1 {
		all.add(operations, l.Window)
		low, output, groups := c.must("q_lora_rank"), c.must("o_lora_rank"), c.must("o_groups")
		return count * (c.hidden*low + low*heads*size + c.hidden*size + heads*size*output + groups*output*c.hidden)
	}
	overlap := 1.0
	if l.Bytes > 0 { // with an index, which selects entries
		indexed := c.must("index_n_heads") * c.must("index_head_dim")
		all.add(2*count*indexed/float64(l.Every), 0)
		all.add(operations/float64(l.Every), int(c.must("index_topk"))*l.Every)
		overlap = 2
		return count * (c.hidden*2*overlap*(size+c.must("index_head_dim")) + c.must("q_lora_rank")*indexed)
	}
	all.add(operations/float64(l.Every), 0)
	return count * c.hidden * 2 * overlap * size
}

// network is the feed-forward network of some layers: its parameters, and those that a token passes through.
type network struct{ layers, all, active float64 }

// networks returns the feed-forward networks.
func (c *costs) networks() []network {
	experts := c.get("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
	switch {
	case c.ModelType == "nemotron_h":
		return c.blockNetworks(experts)
	case c.has("block_configs"):
		return c.puzzleNetworks()
	}
	layers := c.must("num_hidden_layers", "n_layer", "num_layers")
	wide := c.get("intermediate_size_mlp", "dense_intermediate_size", "intermediate_size", "ffn_hidden_size", "ffn_dim")
	factor := 3.0
	if plainNetworks[c.ModelType] {
		factor = 2
		if wide == 0 {
			wide = 4 * c.hidden
		}
	}
	dense := network{layers, factor * c.hidden * wide, factor * c.hidden * wide}
	if experts <= 1 {
		c.missing = c.missing || wide == 0
		return []network{dense}
	}
	sparse := c.experts(experts, 3)
	sparse.layers = c.sparseLayers(layers)
	dense.layers -= sparse.layers
	if c.flag("enable_moe_block", false) { // Gemma 4 has both in every layer
		dense.layers = layers
	}
	return []network{dense, sparse}
}

// plainNetworks are models whose networks have two matrices instead of three.
var plainNetworks = map[string]bool{"opt": true, "gpt2": true, "gpt_bigcode": true, "gptj": true, "falcon": true,
	"phi": true, "gpt_neox": true, "bloom": true, "starcoder2": true, "nemotron": true}

// experts returns the network of a layer with experts, each with so many matrices.
func (c *costs) experts(experts, matrices float64) network {
	wide := c.must("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
	chosen := c.must("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "top_k_experts", "moe_topk", "moe_k")
	width, around := c.hidden, 0.0
	if low := c.get("moe_latent_size", "routed_expert_hidden_size"); low > 0 {
		width, around = low, 2*low*c.hidden // experts work on fewer numbers
	}
	shared := c.get("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "share_expert_dim",
		"shared_intermediate_size")
	if n := c.get("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"); shared == 0 {
		shared = n * wide
	}
	if c.ModelType == "llama4_text" {
		shared = wide
	}
	always := around + matrices*c.hidden*shared + c.hidden*experts
	return network{0, always + experts*matrices*width*wide, always + chosen*matrices*width*wide}
}

// sparseLayers returns how many layers have experts.
func (c *costs) sparseLayers(layers float64) float64 {
	var each []int
	if c.has("moe_layer_freq") && jsonlines.Parse(c.keys["moe_layer_freq"], &each, "") == nil {
		n := 0
		for _, is := range each {
			n += min(1, is)
		}
		return float64(n)
	}
	if step := c.get("interleave_moe_layer_step"); step > 1 {
		return math.Floor(layers / step)
	}
	if step := c.get("decoder_sparse_step"); step > 1 {
		return math.Floor(layers / step)
	}
	return layers - c.get("first_k_dense_replace", "moe_layer_start_index")
}

// blockNetworks returns the networks of Nemotron-H, of two matrices each: a block is one, or something else.
func (c *costs) blockNetworks(experts float64) (all []network) {
	types := c.BlockTypes
	if types == nil {
		types = strings.Split(c.BlockPattern, "")
	}
	for _, typ := range types {
		switch typ {
		case "E", "moe":
			n := c.experts(experts, 2)
			n.layers = 1
			all = append(all, n)
		case "-", "mlp":
			parameters := 2 * c.hidden * c.must("intermediate_size")
			all = append(all, network{1, parameters, parameters})
		}
	}
	return all
}

// puzzleNetworks returns the networks of models that NVIDIA's Puzzle made: each has a width of its own.
func (c *costs) puzzleNetworks() (all []network) {
	var blocks []struct {
		Network struct {
			Width float64 `json:"ffn_mult"`
			None  bool    `json:"no_op"`
		} `json:"ffn"`
	}
	c.missing = c.missing || jsonlines.Parse(c.keys["block_configs"], &blocks, "a list of layers") != nil
	for _, b := range blocks {
		if !b.Network.None {
			// Two thirds of four times the width of the model, in units of 256.
			wide := math.Ceil(math.Floor(2*b.Network.Width*c.hidden/3)/256) * 256
			all = append(all, network{1, 3 * c.hidden * wide, 3 * c.hidden * wide})
		}
	}
	return all
}

// weights returns c with the type of the parameters that is stated: 16 bits if none is.
func (q quantization) weights(c Compute) Compute {
	c.Bits = 16
	if q.Inner != nil {
		c = q.Inner.weights(c)
	}
	name := strings.ToLower(q.Method + " " + q.Weights)
	if strings.Contains(name, "mixed_precision") { // ModelOpt's, of which most is NVFP4
		name = "nvfp4"
	}
	for _, t := range weightTypes[2:] {
		if strings.Contains(name, t.name) {
			c, _ = c.As(t.name)
			if q.Bits > 0 && c.Bits == 4.5 && !c.Float4 {
				c.Bits = q.Bits + 0.5
			}
		}
	}
	return c
}
