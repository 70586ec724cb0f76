package replicas

import (
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// Metrics of nodes with a router.
var (
	NodeCount = metric.Metric{Name: "node_count", Unit: metric.Count, Merge: metric.Max,
		Doc: "nodes that prompts, or requests for objects, are routed to, at most"}
	Imbalance = metric.Metric{Name: "imbalance", Unit: metric.Ratio, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 34, Weight: 75,
			Note: "each node has the capacity of its row; imbalance: requests (of prompts: tokens computed) on the node with " +
				"the most / their mean"},
		Figure: metric.Figure{Title: "Imbalance of nodes", Axis: "imbalance (largest / mean)", Base: 1},
		Doc: "tokens computed of prompts, or requests for objects, on the node with the most / their mean over the nodes; " +
			"1 if all have as many, the number of nodes if one has all"}
	HitRatioBound = metric.Metric{Name: "hit_ratio_bound", Title: "bound", Unit: metric.Share, Digits: 2,
		Merge: metric.Apart, Column: metric.Column{At: 35, Head: "bound", Weight: 72,
			Note: "bound: what no routing can exceed, the hit ratio (of prompts: of blocks) of the optimum in one cache as " +
				"large as all nodes together"},
		Doc: "upper bound on the hit ratio, of prompts that of blocks, for any router and policy: Belady's optimum with " +
			"bypassing, or a bound on it, in one cache as large as those of all nodes together, with all their tiers, the " +
			"prompts in the order in which they began"}
	BelowBound = metric.Metric{Name: "below_bound", Title: "below bound", Unit: metric.Share, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 36, Weight: 55},
		Doc: "hit_ratio_bound less the hit ratio, of prompts that of blocks: the most that another router and another " +
			"policy could gain"}
	PromptsRerouted = metric.Metric{Name: "prompts_rerouted", Unit: metric.Count,
		Doc: "times that a prompt was routed again, because its node was removed before it began"}
	BlocksLost = metric.Metric{Name: "blocks_lost", Unit: metric.Count,
		Doc: "blocks that were resident on nodes when these were removed, in each tier of their own"}

	NodePrompts = metric.Metric{Name: "node_prompts", Unit: metric.Count, Labels: "node",
		Doc: "prompts that a node served; the first 64 nodes are reported one by one"}
	NodeTokens = metric.Metric{Name: "node_tokens", Unit: metric.Count, Labels: "node",
		Doc: "tokens of a node's prompts"}
	NodeHitTokens = metric.Metric{Name: "node_hit_tokens", Unit: metric.Count, Labels: "node", Better: metric.Higher,
		Doc: "tokens of a node's prompts that hit"}
	NodeTokenHitRatio = metric.Metric{Name: "node_token_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "node",
		Better: metric.Higher, Merge: metric.Quotient(NodeHitTokens, NodeTokens), Doc: "node_hit_tokens / node_tokens"}

	// Metrics are all of them.
	Metrics = []metric.Metric{NodeCount, Imbalance, HitRatioBound, BelowBound, PromptsRerouted, BlocksLost, NodePrompts,
		NodeTokens, NodeHitTokens, NodeTokenHitRatio}
)

// MostReported is the number of nodes that are reported one by one.
const MostReported = 64

// tally is what a node served.
type tally struct{ requests, hits, prompts, tokens, hitTokens int64 }

func (t *tally) add(n cache.Counts) {
	t.requests += n.Requests
	t.hits += n.Hits
	t.prompts += n.Prompts
	t.tokens += n.Tokens
	t.hitTokens += n.HitTokens
}

// Counters implements cache.Reporting: those of all nodes, each by the rule of its metric, and what is known of each
// node.
func (k *Cluster) Counters() []policies.Counter {
	merged := k.gone
	for i := range k.lives {
		if l := &k.lives[i]; l.cache != nil {
			merged = policies.MergeCounters(merged, l.cache.Counters())
		}
	}
	if k.Together != nil {
		merged = policies.MergeCounters(merged, k.Together.Counters())
	}
	all := policies.CountAll(merged)
	var sum tally
	largest := int64(0)
	for _, t := range k.tallies {
		largest = max(largest, t.tokens-t.hitTokens)
		sum.requests += t.requests
		sum.hits += t.hits
		sum.tokens += t.tokens
		sum.hitTokens += t.hitTokens
	}
	all = append(all, policies.Count(NodeCount, float64(k.most)))
	if computed := sum.tokens - sum.hitTokens; computed > 0 {
		all = append(all, policies.Count(Imbalance, float64(largest)*float64(k.most)/float64(computed)))
	}
	if sum.requests > 0 {
		bound := float64(k.mostHits()) / float64(sum.requests)
		all = append(all, policies.Count(HitRatioBound, bound),
			policies.Count(BelowBound, bound-float64(sum.hits)/float64(sum.requests)))
	}
	all = append(all, policies.Count(PromptsRerouted, float64(k.rerouted)), policies.Count(BlocksLost, float64(k.lost)))
	for node := range min(k.most, MostReported) {
		all = append(all, k.tallies[node].counters(strconv.Itoa(node))...)
	}
	return append(all, k.Sharing.Counters()...)
}

func (t tally) counters(node string) []policies.Counter {
	all := []policies.Counter{policies.CountOf(NodePrompts, node, float64(t.prompts)),
		policies.CountOf(NodeTokens, node, float64(t.tokens)),
		policies.CountOf(NodeHitTokens, node, float64(t.hitTokens))}
	if t.tokens > 0 {
		all = append(all, policies.CountOf(NodeTokenHitRatio, node, float64(t.hitTokens)/float64(t.tokens)))
	}
	return all
}
