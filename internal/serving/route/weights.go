package route

import "github.com/cachesim/cachesim/internal/serving/hlem"

// Weights say what counts for how much in the score of a node.
type Weights struct{ KV, Embeddings, Load float64 }

// KappaWeights are the weights if a KV miss costs kappa times what missing the embeddings does, and the load counts as
// much as the embeddings.
func KappaWeights(kappa float64) Weights { return Weights{kappa, 1, 1}.normalised() }

// normalised returns weights with the sum 1; equal ones if all are 0.
func (w Weights) normalised() Weights {
	sum := w.KV + w.Embeddings + w.Load
	if !(sum > 0) {
		return Weights{1. / 3, 1. / 3, 1. / 3}
	}
	return Weights{w.KV / sum, w.Embeddings / sum, w.Load / sum}
}

// Profile describes the requests from which weights are computed.
type Profile struct {
	Tokens []int32 // of some requests
	Rows   float64 // of embeddings, the mean of a request
	Remote float64 // share of the rows that other hosts hold
	GPUs   int     // of a node
}

// halfLoad is the load from which the cost of a higher load is measured.
const halfLoad = 0.5

// ProfiledWeights are in proportion to costs in seconds: of missing KV, of missing all embeddings, and of the load
// Overload instead of 0.5. A request waits until fewer of the requests before it are left than the node has GPUs. Each
// takes a mean time, with half of the KV hits and of the embeddings.
func ProfiledWeights(p Profile, costs hlem.Costs, c RecommenderConfig) Weights {
	var w Weights
	var service float64
	transfer := costs.Transfer(p.Rows, p.Remote*p.Rows, costs.PCIe)
	for _, tokens := range p.Tokens {
		hit, miss := costs.Compute(float64(tokens), true), costs.Compute(float64(tokens), false)
		w.KV += (miss - hit) / float64(len(p.Tokens))
		service += (costs.Overhead() + float64((hit+miss+transfer)/2)) / float64(len(p.Tokens))
	}
	w.Embeddings = transfer
	wait := func(load float64) float64 {
		return float64(max(0, float64(load*float64(c.Capacity))-float64(p.GPUs)+1) * service / float64(p.GPUs))
	}
	w.Load = max(0, wait(c.Overload)-wait(halfLoad))
	return w.normalised()
}
