// Package attention is the workload of caches of keys and values: the queries, keys and values of every decode step of
// a language model. It is no list of requests. A trace is read head by head; a head is a KV head of a layer with the
// query heads that read it. The trace is never held as a whole: 32 layers of 8 heads over 33 000 tokens have 4.4 GB of
// float16.
package attention

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Shape says what a trace holds. A token is a position in the text, from 0. Step s reads the token Prompt+s and attends
// to the tokens 0 to Prompt+s, its own included.
type Shape struct {
	Model      string `json:"model,omitempty"` // "" if unknown
	Layers     []int  `json:"layers"`          // numbers in the model of the layers that are stored, in ascending order
	QueryHeads int    `json:"query_heads"`     // of a layer
	// KVHeads divides QueryHeads: query head j reads KV head j / Group().
	KVHeads   int     `json:"kv_heads"`
	Dim       int     `json:"head_dim"` // numbers in a query, a key and a value
	Prompt    int     `json:"context"`  // tokens before the first step, at least 1
	Steps     int     `json:"steps"`
	Predicted bool    `json:"predicted"` // the queries as predicted one layer earlier are stored, too
	Scale     float64 `json:"scale"`     // of the product of a query and a key, before the softmax
}

// String describes the trace in a line.
func (s *Shape) String() string {
	text := fmt.Sprintf("%d layers, %d query heads on %d KV heads of %d numbers, %d tokens of prompt and %d steps",
		len(s.Layers), s.QueryHeads, s.KVHeads, s.Dim, s.Prompt, s.Steps)
	if s.Predicted {
		text += ", predicted queries"
	}
	return text
}

// Group returns the number of query heads that read one KV head.
func (s *Shape) Group() int { return s.QueryHeads / s.KVHeads }

// Tokens returns the number of tokens after the last step.
func (s *Shape) Tokens() int { return s.Prompt + s.Steps }

// Visible returns the number of keys that step attends to, its own included.
func (s *Shape) Visible(step int) int { return s.Prompt + step + 1 }

// Heads returns the number of heads of the trace: KV heads of all layers.
func (s *Shape) Heads() int { return len(s.Layers) * s.KVHeads }

// Parts are what a caller reads of a head besides its queries.
type Parts struct{ Predicted, Keys, Values bool }

func (s *Shape) HeadBytes(parts Parts) int64 {
	queries, rows := s.Steps*s.Group(), s.Steps*s.Group()
	if parts.Predicted && s.Predicted {
		rows += queries
	}
	for _, wanted := range []bool{parts.Keys, parts.Values} {
		if wanted {
			rows += s.Tokens()
		}
	}
	return 4 * int64(rows) * int64(s.Dim)
}

// Bounds on the numbers in a trace.
const (
	maxLayers = 1 << 12
	maxHeads  = 1 << 14 // query heads of a layer
	maxDim    = 1 << 13
	maxTokens = 1 << 27
)

// check refuses a shape that no trace has. The error says what is wrong with it.
func (s *Shape) check() error {
	for _, n := range []struct {
		name      string
		got, most int
	}{
		{"layers", len(s.Layers), maxLayers}, {"query heads", s.QueryHeads, maxHeads}, {"KV heads", s.KVHeads, maxHeads},
		{"numbers in a head", s.Dim, maxDim}, {"tokens before the first step", s.Prompt, maxTokens},
		{"steps", s.Steps, maxTokens},
	} {
		if n.got < 1 || n.got > n.most {
			return fmt.Errorf("%d %s: want 1 to %d", n.got, n.name, n.most)
		}
	}
	if s.QueryHeads%s.KVHeads != 0 {
		return fmt.Errorf("%d query heads for %d KV heads: want the same number for each", s.QueryHeads, s.KVHeads)
	}
	for i, layer := range s.Layers {
		if layer < 0 || layer > math.MaxInt32 || i > 0 && layer <= s.Layers[i-1] {
			return fmt.Errorf("layers %.80v: want numbers from 0 in ascending order, each once", fmt.Sprint(s.Layers))
		}
	}
	if !(s.Scale > 0 && s.Scale < math.MaxFloat32) {
		return fmt.Errorf("scale %v of the products: want a number above 0, such as 1/sqrt(head_dim)", s.Scale)
	}
	return nil
}

// Head is what a trace holds of one KV head and its query heads, as rows of Dim numbers. All numbers are finite, and no
// query or key has only zeros. Its slices are reused by the next read into it; those of parts that are not read are
// empty.
type Head struct {
	Layer int // number in the model
	KV    int // in the layer
	Place int // among all heads of the trace, from 0: layer by layer, then by KV head

	Queries   []float32 // after RoPE: row step*Group() + query head in the group
	Predicted []float32 // in the same order; those of layer 0 are the queries themselves
	Keys      []float32 // after RoPE: row token
	Values    []float32 // row token

	group, dim int
}

// Begin sets the number of the head before it is filled.
func (h *Head) Begin(s *Shape, place int) {
	h.Layer, h.KV, h.Place = s.Layers[place/s.KVHeads], place%s.KVHeads, place
	h.group, h.dim = s.Group(), s.Dim
}

func (h *Head) Query(step, j int) []float32 { return row(h.Queries, step*h.group+j, h.dim) }
func (h *Head) Key(token int) []float32     { return row(h.Keys, token, h.dim) }
func (h *Head) Value(token int) []float32   { return row(h.Values, token, h.dim) }

func row(rows []float32, i, dim int) []float32 { return rows[i*dim:][:dim:dim] }

// Trace is read once, head by head in the order of Head.Place.
type Trace interface {
	Shape() *Shape
	// Next fills h with the next head. There must be one: a trace has Shape().Heads() of them. Errors say which file is
	// wrong, where and how.
	Next(h *Head) error
	// End makes sure, after the last head, that nothing follows it and that no file has changed meanwhile.
	End() error
	Close() error
}

// Maker is a Trace that makes any head by itself, such as that of a generator. Several goroutines may call Make.
type Maker interface {
	Trace
	Make(place int, h *Head) error
}

// Options say what is read of a trace.
type Options struct {
	Parts Parts
	// Steps bounds the steps that are read, and the tokens with them; 0: all.
	Steps  int
	Memory *memory.Budget
}

// need refuses a trace if not even one head fits into the budget.
func (o Options) need(name string, s *Shape) error {
	return o.Memory.Need(s.HeadBytes(o.Parts), name+": a head of "+memory.Count(float64(s.Tokens()))+" tokens", "fewer "+
		"steps")
}

// Each calls work for every head, on up to jobs goroutines, numbered from 0, each with a Head of its own. There are
// fewer if their heads would need more than half the budget. The first error ends it.
func Each(ctx context.Context, t Trace, jobs int, options Options, work func(worker int, h *Head) error) error {
	shape := t.Shape()
	if bytes := shape.HeadBytes(options.Parts); bytes > 0 {
		jobs = max(1, int(min(int64(jobs), options.Memory.Part(0.5, math.MaxInt64)/bytes)))
	}
	heads := make([]Head, jobs)
	var reading sync.Mutex
	read := func(_ int, h *Head) error {
		reading.Lock()
		defer reading.Unlock()
		return t.Next(h)
	}
	if m, ok := t.(Maker); ok {
		read = m.Make
	}
	err := parallel.For(ctx, jobs, shape.Heads(), func(_ context.Context, worker, place int) error {
		if err := read(place, &heads[worker]); err != nil {
			return err
		}
		return work(worker, &heads[worker])
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	return t.End()
}

// limited returns a shape with the steps that the options leave.
func (o Options) limited(s Shape) Shape {
	if o.Steps > 0 {
		s.Steps = min(s.Steps, o.Steps)
	}
	s.Layers = slices.Clone(s.Layers)
	return s
}
