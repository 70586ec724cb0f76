// Package decode models the time of a decoding step of a language model. All keys and values (KV) are in the memory of
// the host, and a part of them is on the GPU: the setting of LiteCache (arXiv 2511.14510), sections 2.3 and 7.
//
// A layer takes, for all sequences of a batch,
//
//	max(computation + attention + retrieval, launches) + lookup + transfer + merge + update
//
// Sets that are loaded ahead hide their transfer behind the previous layer. Lists of blocks hide their update behind
// the transfer and the attention. Config.Layer has the formulas.
package decode

// Management is how a GPU's part of keys and values is managed.
type Management int

const (
	// Whole means that all keys and values are on the GPU.
	Whole Management = iota
	// Sets have one set of tokens per head. A kernel on the GPU compares queries; only heads that miss retrieve.
	Sets
	// Predicted sets are retrieved and loaded in every step, and nothing is looked up.
	Predicted
	// Blocks are in lists that the CPU looks up and updates, and every head retrieves in every step. The GPU copies hits
	// and loaded blocks to one place (merge).
	Blocks
)

// Model is the shape of a language model with grouped queries and a gated feed-forward network.
type Model struct {
	Layers, QueryHeads, KVHeads int
	Dim                         int // numbers in a key, a value or a query of a head
	Hidden, FeedForward         int
	Vocabulary                  int
}

// bytesOfNumber is the size of a weight, and of a number of a key or a value.
const bytesOfNumber = 2

// layerParameters returns the parameters of a layer: projections of queries and outputs, of keys and values, and three
// matrices of the feed-forward network.
func (m Model) layerParameters() float64 {
	queries, rows := 2*m.QueryHeads*m.Dim, 2*m.KVHeads*m.Dim
	return float64(float64(m.Hidden) * float64(queries+rows+3*m.FeedForward))
}

// outputParameters returns the parameters that turn the last layer's output into the probabilities of tokens.
func (m Model) outputParameters() float64 { return float64(float64(m.Hidden) * float64(m.Vocabulary)) }

// Weights returns the bytes of all weights; the embeddings of tokens have matrices of their own.
func (m Model) Weights() float64 {
	return bytesOfNumber * (float64(float64(m.Layers)*m.layerParameters()) + float64(2*m.outputParameters()))
}

// TokenBytes returns the bytes of a token's key and value in one head.
func (m Model) TokenBytes() float64 { return float64(2 * bytesOfNumber * m.Dim) }

// Machine is a GPU and its host.
type Machine struct {
	Bandwidth float64 // bytes per second of the GPU's memory
	Peak      float64 // operations per second in 16 bits
	Memory    float64 // bytes on the GPU
	PCIe      float64 // bytes per second from the host, as measured
	Threads   int     // of the CPU
	Costs
}

// Costs are times in seconds.
type Costs struct {
	Launch float64 // of the CPU, to launch the kernels of a layer
	Kernel float64 // of the smallest kernel
	// Lookup and Update are what a thread of the CPU needs for one head of one sequence in a layer, whatever the number of
	// blocks; Block is what it needs besides per block that is looked up, or list operation.
	Lookup, Update, Block float64
}

// Config says what is served, and by what.
type Config struct {
	Model
	Machine
	Management Management
	Tokens     int     // of the context of each sequence, before the first step
	Batch      int     // sequences
	Metadata   float64 // bytes per token and head that a retrieval reads
	Ahead      bool    // rows of a layer are transferred while the previous one computes
	Graph      bool    // launches cost nothing, as in a CUDA graph
}

// Work is what one layer does in one step, summed over the sequences of a batch and their KV heads. It is scaled from
// counts, so that nothing need be a whole number.
type Work struct {
	Managed   float64 // heads that are not on the GPU as a whole
	Attended  float64 // tokens that attention reads
	Retrieved float64 // tokens whose metadata a retrieval reads
	Wanted    float64 // tokens that retrievals found or would have found: k for each of the managed heads
	Loaded    float64 // tokens that are transferred
	Lookups   float64 // blocks
	Updates   float64 // list operations on blocks: they are inserted, moved or evicted
}

// Part is a part of the time of a layer.
type Part int

// The parts of a layer. The last four are what its cache costs.
const (
	Computation Part = iota // projections and the feed-forward network
	Attention
	Retrieval
	Launches // the time for which the GPU waits for them
	Lookup
	Transfer
	Update
	Merge
	Parts // how many there are
)

// OfCache reports whether the part is a cost of the cache.
func (p Part) OfCache() bool { return p >= Lookup }

// String returns the name of a part.
func (p Part) String() string {
	return [Parts]string{"computation", "attention", "retrieval", "launches", "lookup", "transfer", "update", "merge"}[p]
}

// Times are the seconds of the parts of a layer.
type Times [Parts]float64

// Sum returns the seconds of all parts.
func (t *Times) Sum() (sum float64) {
	for _, x := range t {
		sum += x
	}
	return sum
}

// add adds the times of another layer.
func (t *Times) add(other *Times) {
	for p, x := range other {
		t[p] += x
	}
}

// Layer is how long a layer takes.
type Layer struct {
	Exposed Times // what delays the step: their sum is the time of the layer
	Busy    Times // the same with the parts of transfers and updates that are hidden
}

// multiply returns the seconds of multiplying a batch with a matrix: the slower of reading its weights and computing.
func (c *Config) multiply(parameters float64) float64 {
	return max(bytesOfNumber*parameters/c.Bandwidth, 2*parameters*float64(c.Batch)/c.Peak)
}

// Layer returns the time of a layer after another one: the zero Layer for the first.
func (c *Config) Layer(w Work, previous *Layer) (l Layer) {
	t := &l.Busy
	t[Computation] = c.multiply(c.layerParameters())
	t[Attention] = w.Attended * c.TokenBytes() / c.Bandwidth
	if w.Managed > 0 {
		t[Retrieval] = c.Kernel + w.Retrieved*c.Metadata/c.Bandwidth
		t[Transfer] = w.Loaded * c.TokenBytes() / c.PCIe
	}
	switch {
	case w.Managed == 0:
	case c.Management == Sets:
		t[Lookup] = c.Kernel
	case c.Management == Blocks:
		t[Lookup] = c.onThreads(w, c.Costs.Lookup, w.Lookups)
		t[Update] = c.onThreads(w, c.Costs.Update, w.Updates)
		t[Merge] = c.Kernel + 2*(w.Wanted+w.Loaded)*c.TokenBytes()/c.Bandwidth
	}
	if !c.Graph {
		kernels := t[Computation] + t[Attention] + t[Retrieval]
		if c.Management == Sets {
			kernels += t[Lookup]
		}
		t[Launches] = max(0, c.Launch-kernels)
	}
	l.Exposed = l.Busy
	if c.Ahead {
		before := &previous.Exposed
		l.Exposed[Transfer] = max(0, t[Transfer]-before[Computation]-before[Attention]-before[Launches])
	}
	l.Exposed[Update] = max(0, t[Update]-l.Exposed[Transfer]-t[Attention])
	return l
}

// onThreads returns the seconds of work that the CPU's threads share, a head of a sequence at a time.
func (c *Config) onThreads(w Work, perHead, blocks float64) float64 {
	heads := max(1, w.Managed/float64(c.Threads))
	return float64(heads*perHead) + blocks*c.Block/min(w.Managed, float64(c.Threads))
}

// Step returns the time of a step, from what its layers do: of all layers together, and of the matrix behind them,
// which the step needs besides.
func (c *Config) Step(layers []Work) (sum Layer, output float64) {
	var l Layer
	for i := range layers {
		l = c.Layer(layers[i], &l)
		sum.Exposed.add(&l.Exposed)
		sum.Busy.add(&l.Busy)
	}
	return sum, c.multiply(c.outputParameters())
}
