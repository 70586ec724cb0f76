package pools

// Predict notes what a model predicts that a node has served since its last epoch, without any request being served:
// requests and their hits, lookups of shards and their hits, and the time since the first request. Allocators that
// count requests see them.
func (p *Cache) Predict(at int, requests, hits, lookups, lookupHits, now int64) {
	n := &p.nodes[at]
	n.requests += requests
	n.lookups += lookups
	n.now = now
	n.counts.Requests += requests
	n.counts.Hits += hits
	for pool, served := range [][2]int64{embeddings: {lookups, lookupHits}, users: {requests, hits}} {
		n.decider.state.Pools[pool].Requests += served[0]
		n.decider.state.Pools[pool].Hits += served[1]
	}
}

func (p *Cache) Hosts() int {
	if p.config.Partitioned {
		return p.config.Nodes
	}
	return 1
}
