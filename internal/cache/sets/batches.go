package sets

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// batches says where the batches of a trace end: with its groups or, if it has none, after every size requests.
type batches struct {
	groups []int // positions at which the batches still to come begin
	size   int
	length int // of the trace
}

// end returns the end of the batch that contains the request at pos. Positions must not decrease from call to call.
func (b *batches) end(pos int) int {
	if b.groups == nil {
		return min((pos/b.size+1)*b.size, b.length)
	}
	for len(b.groups) > 0 && b.groups[0] <= pos {
		b.groups = b.groups[1:]
	}
	if len(b.groups) == 0 {
		return b.length
	}
	return b.groups[0]
}

// starts returns the positions at which the batches begin. It is called before end.
func (b *batches) starts() []int {
	if b.groups != nil {
		return b.groups
	}
	var starts []int
	for at := 0; at < b.length; at += b.size {
		starts = append(starts, at)
	}
	return starts
}

func countBatches(t *traces.Trace, v params.Values) (count int) {
	b := batches{groups: t.Groups, size: v.Int("batch"), length: len(t.Objects)}
	if b.groups == nil {
		return (b.length + b.size - 1) / b.size
	}
	for pos := 0; pos < b.length; pos = b.end(pos) {
		count++
	}
	return count
}

// firstLookups returns the positions at which each batch looks up an object for the first time, and per batch where its
// positions end among them.
func (b batches) firstLookups(objects []policies.Object, count int) (firsts []uint32, ends []int) {
	lastBatch := make([]uint32, count) // per object: 1 + the last batch that looked it up
	for pos, end := 0, 0; pos < len(objects); {
		end = b.end(pos)
		for ; pos < end; pos++ {
			if o := objects[pos]; lastBatch[o] != uint32(len(ends)+1) {
				lastBatch[o] = uint32(len(ends) + 1)
				firsts = append(firsts, uint32(pos))
			}
		}
		ends = append(ends, len(firsts))
	}
	return firsts, ends
}
