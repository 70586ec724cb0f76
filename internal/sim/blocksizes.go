package sim

import (
	"fmt"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// blockTokens returns the tokens in the blocks of the cache of a cell; 0 for those of the trace.
func (r *Replayer) blockTokens(c Cell) int {
	p := prompts.Of(r.trace.Kind)
	if p == nil || c.Cache.Entry.BlockTokens == nil {
		return 0
	}
	if tokens := c.Cache.Entry.BlockTokens(c.Cache.Params); tokens != p.BlockTokens {
		return tokens
	}
	return 0
}

// checkBlocks rejects blocks of the cache that the trace's cannot be joined to, and capacities without room for one.
func (r *Replayer) checkBlocks(c Cell) error {
	tokens := r.blockTokens(c)
	if tokens == 0 {
		return nil
	}
	if err := prompts.Of(r.trace.Kind).CheckJoin(tokens); err != nil {
		return fmt.Errorf("cache %s: %w", c.Cache, err)
	}
	_, joined, err := r.inBlocks(c)
	if err == nil && joined.Capacity.Simulated < 1 {
		err = fmt.Errorf("cache %s: capacity %s has less room than a block of %d tokens", c.Cache, c.Capacity, tokens)
	}
	return err
}

// inBlocks returns the replayer and the cell for a cache with larger blocks than the trace. The cell's capacity has the
// same bytes or, if these are unknown, at most as many tokens. For other cells, both are unchanged.
func (r *Replayer) inBlocks(c Cell) (*Replayer, Cell, error) {
	tokens := r.blockTokens(c)
	if tokens == 0 {
		return r, c, nil
	}
	r.joining.Lock()
	defer r.joining.Unlock()
	other := r.joined[tokens]
	if other == nil {
		t, err := r.trace.InBlocks(tokens)
		if err != nil {
			return nil, c, fmt.Errorf("cache %s: %w", c.Cache, err)
		}
		other = NewReplayer(t, r.options)
		r.joined[tokens] = other
	}
	c.Capacity = c.Capacity.InJoinedBlocks(prompts.Of(other.trace.Kind), r.trace.SampleRate)
	return other.WithProgress(r.scaled(len(other.trace.Objects))), c, nil
}

// scaled returns the function that is notified of the progress of a replay of so many requests that stand for those of
// the trace.
func (r *Replayer) scaled(requests int) func(n int64) {
	if r.options.Progress == nil {
		return nil
	}
	var served, told atomic.Int64
	return func(n int64) {
		now := int64(float64(served.Add(n)) / float64(requests) * float64(len(r.trace.Objects)))
		r.options.Progress(now - told.Swap(now))
	}
}

// joinedJob is a job in the blocks of its cells' cache.
func (r *Replayer) joinedJob(job Job) (*Replayer, Job, error) {
	other, joined := r, Job{}
	for _, c := range job.cells {
		var err error
		if other, c, err = r.inBlocks(c); err != nil {
			return nil, job, err
		}
		joined.cells = append(joined.cells, c)
	}
	return other, joined, nil
}
