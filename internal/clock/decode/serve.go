package decode

import "context"

// Counts is what a cache did for one layer of one sequence in one step, summed over the layer's KV heads.
type Counts struct {
	Heads, Whole     int64 // heads of which a part is on the GPU, and heads that are there as a whole
	Retrievals       int64 // heads that searched for the tokens of most probability
	Wanted, Loaded   int64 // tokens of what Heads attend to, and of these those that were transferred
	Lookups, Updates int64 // blocks that were looked up, and list operations
}

// Replay is what a cache did for a recorded sequence. Other models, contexts and batches are served in proportion.
type Replay struct {
	Layers, Heads, Steps int      // Heads: KV heads of a layer
	Counts               []Counts // of layer l in step s at l*Steps+s
	Prompt               int      // tokens before the first step
	// Always is the number of tokens that every head has beside its set or its blocks: the first and the recent ones.
	// With Generated it has those that were generated, too.
	Always    int
	Generated bool
	Share     float64 // of the other tokens of the prompt, which the GPU has room for per head
}

// Served is how long decoding took, and what the GPU needs for it.
type Served struct {
	Steps  []float64 // seconds per step
	Layer  Layer     // mean over layers and steps
	Memory Memory
}

// Memory is what the GPU holds in the last step, in bytes.
type Memory struct {
	Weights float64
	Cache   float64 // keys and values of sets or blocks, and of heads that are there as a whole
	Always  float64 // keys and values of tokens that every other head has
	Search  float64 // metadata that retrievals read
	Full    float64 // keys and values if all heads were there as a whole
}

// Sum returns the bytes of everything.
func (m Memory) Sum() float64 { return m.Weights + m.PerBatch() }

// PerBatch returns the bytes that grow with the batch.
func (m Memory) PerBatch() float64 { return m.Cache + m.Always + m.Search }

// server serves a replay.
type server struct {
	*Config
	*Replay
	heads float64 // KV heads of a layer per head of the replay
	// copies is the number of heads of a sequence that a head of the replay stands for, at least 1.
	copies int
	rest   float64 // tokens outside Always per such token of the replay
}

// Serve returns the times of all steps of a replay. A layer of the replay stands for equally many layers of the model,
// its heads for all heads of theirs, and its sequence for those of the batch. The heads and sequences that one stands
// for are at different steps of the replay, evenly apart, so that they do not miss at the same time. It stops early
// with ctx's error.
func (c *Config) Serve(ctx context.Context, r *Replay) (Served, error) {
	s := &server{Config: c, Replay: r, heads: float64(c.KVHeads) / float64(r.Heads),
		copies: (c.KVHeads + r.Heads - 1) / r.Heads, rest: float64(c.Tokens-r.Always) / float64(r.Prompt-r.Always)}
	served := Served{Memory: s.memory()}
	layers, recorded := make([]Work, c.Model.Layers), make([]Work, r.Layers)
	for step := range r.Steps {
		if err := ctx.Err(); err != nil {
			return Served{}, err
		}
		for l := range recorded {
			recorded[l] = s.work(l, step)
		}
		for l := range layers {
			layers[l] = recorded[s.recorded(l)]
		}
		sum, output := c.Step(layers)
		served.Steps = append(served.Steps, sum.Exposed.Sum()+output)
		served.Layer.Exposed.add(&sum.Exposed)
		served.Layer.Busy.add(&sum.Busy)
	}
	n := float64(r.Steps * c.Model.Layers)
	for p := range Parts {
		served.Layer.Exposed[p] /= n
		served.Layer.Busy[p] /= n
	}
	return served, nil
}

// recorded returns the layer of the replay that stands for a layer of the model.
func (s *server) recorded(layer int) int { return layer * s.Replay.Layers / s.Model.Layers }

// work returns what a layer of the replay does for a batch when its first sequence is at a step.
func (s *server) work(layer, step int) Work {
	var n Counts
	var generated, generatedWhole int64 // tokens, times the heads that read them
	served := s.Batch * s.copies
	for b := range served {
		at := (step + b*s.Replay.Steps/served) % s.Replay.Steps
		c := s.Counts[layer*s.Replay.Steps+at]
		n.Heads, n.Whole, n.Retrievals = n.Heads+c.Heads, n.Whole+c.Whole, n.Retrievals+c.Retrievals
		n.Wanted, n.Loaded = n.Wanted+c.Wanted, n.Loaded+c.Loaded
		n.Lookups, n.Updates = n.Lookups+c.Lookups, n.Updates+c.Updates
		generatedWhole += c.Whole * int64(at)
		if s.Generated {
			generated += c.Heads * int64(at)
		}
	}
	always := n.Heads*int64(s.Always) + generated
	whole := n.Whole*int64(s.Tokens) + generatedWhole
	heads := s.heads / float64(s.copies)
	scaled := func(count int64) float64 { return float64(float64(count) * heads * s.rest) }
	return Work{
		Managed:   float64(n.Heads) * heads,
		Attended:  scaled(n.Wanted) + float64(float64(always+whole)*heads),
		Retrieved: float64(n.Retrievals) * heads * float64(s.Tokens-s.Always),
		Wanted:    scaled(n.Wanted), Loaded: scaled(n.Loaded), Lookups: scaled(n.Lookups), Updates: scaled(n.Updates),
	}
}

// memory returns what the GPU holds in the last step.
func (s *server) memory() (m Memory) {
	last := s.Replay.Steps - 1
	var managed, whole float64 // heads
	for l := range s.Model.Layers {
		c := s.Counts[s.recorded(l)*s.Replay.Steps+last]
		managed, whole = managed+float64(float64(c.Heads)*s.heads), whole+float64(float64(c.Whole)*s.heads)
	}
	managed, whole = float64(managed*float64(s.Batch)), float64(whole*float64(s.Batch))
	context, always, held := float64(s.Tokens+last), float64(s.Always), s.Share*float64(s.Tokens-s.Always)
	if s.Generated {
		always += float64(last)
	}
	return Memory{
		Weights: s.Weights(),
		Cache:   (float64(managed*held) + float64(whole*context)) * s.TokenBytes(),
		Always:  managed * always * s.TokenBytes(),
		Search:  managed * context * s.Metadata,
		Full:    (managed + whole) * context * s.TokenBytes(),
	}
}
