package prefix

import "github.com/cachesim/cachesim/internal/policies"

// runs finds the ends of runs of resident blocks without stepping along them. In a run, each block but the last has
// exactly one resident block behind it. A run may be kept as several that follow each other, until somebody who walks
// along it joins them; never as one that forks.
//
// They are a forest with path compression, of 4 bytes per block. to[o] is a block further along the run of o, or ^first
// if o is the last one. A block that has left was the last of its run, and leads back to the one ahead of it, for those
// that lead to it. None lead through it once a run ends at a fork there, so that it may come again as a run of its own.
type runs struct {
	to      []int32
	parents []int32
}

func newRuns(parents []int32) runs {
	r := runs{to: make([]int32, len(parents)), parents: parents}
	for o := range r.to {
		r.to[o] = ^int32(o)
	}
	return r
}

// of returns the ends of the run of a block.
func (r *runs) of(o policies.Object) (first, last policies.Object) {
	to := r.to
	for at := int32(o); ; {
		next := to[at]
		if next < 0 {
			return policies.Object(^next), policies.Object(at)
		}
		if after := to[next]; after >= 0 {
			to[at] = after
			next = after
		}
		at = next
	}
}

// add makes o part of the run that the block ahead of it ends, or a run of its own if others follow that block already.
// One of these is child; it is nothing if there is none.
func (r *runs) add(o policies.Object, child int) {
	r.to[o] = ^int32(o)
	ahead := r.parents[o]
	switch {
	case ahead < 0:
	case child == nothing && r.to[ahead] < 0:
		r.to[o], r.to[ahead] = r.to[ahead], int32(o)
	case r.to[ahead] >= 0:
		r.fork(ahead, child)
	}
}

// addAll adds blocks that follow each other. child is one behind the same block as the first of them, or nothing.
func (r *runs) addAll(blocks []policies.Object, child int) {
	r.add(blocks[0], child)
	first, last := r.to[blocks[0]], blocks[len(blocks)-1]
	for _, o := range blocks {
		r.to[o] = int32(last)
	}
	r.to[last] = first
}

// fork ends a run with a block, for another follows it. The rest of the run begins with child. This takes as long as
// the run up to there, all of which is in the prompt that forks.
func (r *runs) fork(at int32, child int) {
	first, last := r.of(policies.Object(at))
	if int32(last) != at {
		r.to[last] = ^int32(child)
	}
	for o := at; o != int32(first); {
		o = r.parents[o]
		r.to[o] = at
	}
	r.to[at] = ^int32(first)
}

// remove takes the last block of a run from it.
func (r *runs) remove(o policies.Object) {
	first := ^r.to[o]
	if first == int32(o) {
		return
	}
	ahead := r.parents[o]
	r.to[ahead], r.to[o] = r.to[o], ahead
}

// join makes one run of two that follow each other: a block that ends one, and the only block behind it.
func (r *runs) join(last, behind policies.Object) {
	_, end := r.of(behind)
	r.to[end], r.to[last] = r.to[last], int32(behind)
}
