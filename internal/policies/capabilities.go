package policies

// What a policy can do, other than to choose victims, is what its type implements: Holder, PromptHolder, PromptStore,
// Swapper, and the interfaces below. Entry.Type names the type, so that this is known before a policy is made.

// Can reports whether what an entry makes has a capability, an interface: Can[Holder](e).
func Can[Capability any](e Entry) bool {
	_, can := e.Type.(Capability)
	return can
}

// PredictorUser is implemented by policies that ask a predictor of next requests, Config.Predictor. They report each
// request to it, after the eviction that the request caused.
type PredictorUser interface{ Predicts() }

// ByPredictions makes the type that embeds it a PredictorUser.
type ByPredictions struct{}

func (ByPredictions) Predicts() {}

// OptimumFollower is implemented by policies that follow what the optimum of the exact cache evicts: one must know
// that.
type OptimumFollower interface{ FollowsOptimum() }

// PriorityFollower is implemented by policies that need a trace of prompts with priorities.
type PriorityFollower interface{ FollowsPriorities() }

// Outsider is implemented by policies that decide outside of this program, and so may fail while they are used.
type Outsider interface{ Outside() }

// HeadServer is implemented by ways to serve the heads of a language model. They are no policies of a pool, and work
// only in the cache that serves heads, which knows them by their types.
type HeadServer interface{ ServesHeads() }

// Reuser is implemented by a HeadServer that replaces what a head has as a whole, when a reuse rule says so.
type Reuser interface {
	HeadServer
	Reuses()
}
