package ofprompts

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// servers are those that answer the prompts of a log.
type servers struct {
	setup   Setup
	columns *prompts.Columns
	nodes   []node
	counts  cache.Counts // which nobody reads
}

// node is one of the servers.
type node struct {
	cache  cache.Replica
	atOnce int
	begun  []int // prompts that run
	// Of each block, the last arrival of a prompt that has it, and that of the prompt which computed it; nil without a
	// time to live, and without a delay.
	used, computed []int64
}

// open empties the caches of all servers. It returns the trace as they see it.
func (v *servers) open(ctx context.Context, r *sim.Replayer) (t *traces.Trace, err error) {
	newCache := func(int) (cache.Replica, error) {
		var opened cache.Cache
		if t, opened, err = r.Open(ctx, v.setup.Cell, nil); err != nil {
			return nil, err
		}
		serving, ok := opened.(cache.Replica)
		if !ok {
			return nil, fmt.Errorf("cache %s serves no prompts one by one", v.setup.Cell.Replayed().Cache.Name())
		}
		return serving, nil
	}
	if v.setup.divides() {
		if err := checkFuture(v.setup.Cell); err != nil {
			return nil, err
		}
		if t, newCache, err = r.OpenNodes(ctx, v.setup.Cell); err != nil {
			return nil, err
		}
	}
	for i := range v.nodes {
		n := node{}
		if n.cache, err = newCache(i); err != nil {
			return nil, err
		}
		n.atOnce = n.cache.AtOnce()
		if v.setup.ttl > 0 {
			n.used = make([]int64, t.NumObjects)
		}
		if v.setup.delay > 0 {
			n.computed = make([]int64, t.NumObjects)
		}
		v.nodes[i] = n
	}
	return t, nil
}

// divides reports whether a cache serves only a part of the prompts, so that their positions there are others than in
// the trace.
func (s Setup) divides() bool { return s.nodes > 1 || len(s.restarts) > 0 }

// checkFuture refuses parts that know the future of the trace, and not of a part of it.
func checkFuture(c sim.Cell) error {
	switch {
	case c.Policy.Entry.Kind != policies.Online:
		return fmt.Errorf("%s knows when a block is requested again, but not on which server", c.Policy.Name())
	case c.Predictor != nil && c.Predictor.Entry.Future:
		return fmt.Errorf("predictor %s knows when a block is requested again, but not on which server", c.Predictor.Name())
	}
	return nil
}

// serve serves a prompt, whose blocks are a group, and returns how many of its tokens hit.
func (v *servers) serve(prompt int, group []uint32) int64 {
	at := prompt
	if v.setup.sticky && v.columns.Sessions != nil {
		at = int(v.columns.Sessions[prompt])
	}
	n := &v.nodes[at%len(v.nodes)]
	if len(n.begun) == n.atOnce {
		n.cache.Finish(n.begun[0])
		n.begun = append(n.begun[:0], n.begun[1:]...)
	}
	hit := n.cache.Begin(prompt, &v.counts)
	n.begun = append(n.begun, prompt)
	if n.used != nil || n.computed != nil {
		hit = v.inTime(n, prompt, group, hit)
	}
	if hit < v.setup.least {
		return 0
	}
	return hit
}

// inTime returns how many tokens of a prompt hit if blocks have a time to live, or are not found while they are
// computed.
func (v *servers) inTime(n *node, prompt int, group []uint32, hit int64) int64 {
	block, now := int64(v.columns.BlockTokens), v.columns.Arrivals[prompt]
	found := int((hit + block - 1) / block)
	inTime := found
	for k, o := range group[:found] {
		expired := n.used != nil && now-n.used[o] > int64(v.setup.ttl)
		running := n.computed != nil && now-n.computed[o] < int64(v.setup.delay)
		if expired || running {
			inTime = k
			break
		}
	}
	for k, o := range group {
		if n.used != nil {
			n.used[o] = now
		}
		if n.computed != nil && k >= found {
			n.computed[o] = now
		}
	}
	return min(hit, int64(inTime)*block)
}
