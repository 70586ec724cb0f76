package prefix

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// quota is what a tenant may have of a store of chunks, as LMCache's L2EvictionController has it: chunks are stored
// whether they fit or not, and who has too many loses some at the next sweep.
type quota struct {
	allocate.Sweep
	limit int64 // chunks
	swept int64 // sweeps so far
}

// sweep makes up for the sweeps of a pool since the last prompt.
func (q *quota) sweep(pool *cache.Pool, now int64) {
	due := max(q.swept, now/q.Every)
	for ; q.swept < due; q.swept++ {
		used := pool.Used()
		if used == 0 || float64(used) < q.Watermark*float64(q.limit) {
			break // nothing changes until the next prompt
		}
		victims := used
		if q.limit > 0 {
			victims = max(1, int64(float64(used)*q.Ratio))
		}
		pool.MakeRoom(pool.Capacity() - used + victims)
	}
	q.swept = due
}

// loadReversed loads the missing ones of some blocks from the last to the first, so that the first stay longest.
func (s *chunks) loadReversed(blocks []policies.Object, r policies.Request) {
	for _, o := range slices.Backward(blocks) {
		if r.Object, r.Query = o, o; !s.pool.Has(o) {
			s.pool.Miss(r)
			s.policy.Release(o)
		}
		r.Pos++
	}
}
