package traces

import "github.com/cachesim/cachesim/internal/traces/stream"

// Needs says what a run needs from its trace, so that nothing else is loaded. The needs of several runs combine with
// Union.
type Needs struct {
	Sizes bool
	Times bool
	// Clock asks for times, too, but only of a clock, and only where requests are not blocks of something larger, such as
	// a prompt.
	Clock bool
	Ops   bool // the operation of each request; the trace then has all rows of its files as they are
	Keys  bool // the keys of the files, per object
	// Kind is what requests carry beyond a key, for queries. For prompts it is always loaded, since limits and warm-ups
	// count them.
	Kind bool
	// Embeddings requests all data of queries. Their embeddings are in the trace or beside it, or package workload
	// computed them from the texts.
	Embeddings bool
	// Attention asks for the attention of a language model, which has nothing else: requests are the lookups of its heads.
	Attention bool
	// Lengths says that lengths of prompts are enough, where a trace has no contents: nothing will ask for hits.
	Lengths bool
}

// WantTimes reports whether the times of requests with these fields are needed.
func (n Needs) WantTimes(fields stream.Fields) bool {
	return n.Times || n.Clock && !fields.Groups && !fields.Counted
}

// Union returns what satisfies both.
func (n Needs) Union(other Needs) Needs {
	return Needs{
		Sizes: n.Sizes || other.Sizes, Times: n.Times || other.Times, Clock: n.Clock || other.Clock,
		Ops: n.Ops || other.Ops, Keys: n.Keys || other.Keys,
		Kind: n.Kind || other.Kind, Embeddings: n.Embeddings || other.Embeddings,
		Attention: n.Attention || other.Attention, Lengths: n.Lengths && other.Lengths,
	}
}
