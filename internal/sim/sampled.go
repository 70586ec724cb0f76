package sim

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// What a sample of conversations needs for its hits to be about those of all; docs/language-models.md has figures.
const (
	timesShared  = 10 // the cache, as often as the blocks that conversations share
	timesLongest = 3  // the cache, as often as the longest prompt
)

// noteSample notes that the smallest cache is too small for a sample of conversations: the cache is scaled down, but
// the sample has all shared blocks, and prompts as long as all others.
func (r *Replayer) noteSample(cells []Cell) {
	if r.options.Note == nil || !isSample(r.trace) || prompts.Of(r.trace.Kind) == nil {
		return
	}
	smallest, at := int64(math.MaxInt64), Cell{}
	for _, c := range cells {
		if c.Cache.Entry.ServesPrompts(r.trace) && !c.Policy.Entry.Unbounded && c.Capacity.Simulated < smallest {
			smallest, at = c.Capacity.Simulated, c
		}
	}
	shared, longest := prompts.Of(r.trace.Kind).SharedBlocks(r.trace.Objects, r.trace.Groups)
	need := max(timesShared*shared, timesLongest*longest)
	if smallest >= int64(need) {
		return
	}
	r.options.Note(fmt.Sprintf("%s: at %s the cache of the sample has %d blocks, but prompts are as long as before, up "+
		"to %d blocks, and %d are shared by conversations, all of which a sample has: its hits may be too few; want %.2g "+
		"times the --sample or the capacity", r.trace.Name, at.Capacity, smallest, longest, shared,
		float64(need)/float64(smallest)))
}
