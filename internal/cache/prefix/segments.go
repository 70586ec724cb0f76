package prefix

import "github.com/cachesim/cachesim/internal/policies"

// segments are the nodes of a radix tree: runs of blocks that were loaded together, within which no prompt has forked
// or ended since (SGLang, radix_cache.py). All blocks of a segment were requested by the same prompts, so what a policy
// knows about one it knows about all: a split copies nothing.
type segments struct {
	behind []int32 // per block: the block behind it in its segment, -1 for the last
}

func newSegments(objects int) *segments {
	s := &segments{behind: make([]int32, objects)}
	for o := range s.behind {
		s.behind[o] = -1
	}
	return s
}

// split ends a segment with o, if o is inside one, and returns the last block of what follows. ok is false if a segment
// ends with o already.
func (s *segments) split(o policies.Object) (last policies.Object, ok bool) {
	behind := s.behind[o]
	if behind < 0 {
		return 0, false
	}
	s.behind[o] = -1
	for {
		last = policies.Object(behind)
		if behind = s.behind[last]; behind < 0 {
			return last, true
		}
	}
}

// add makes a segment of blocks that will be loaded.
func (s *segments) add(blocks []policies.Object) {
	for i, o := range blocks {
		s.behind[o] = -1
		if i > 0 {
			s.behind[blocks[i-1]] = int32(o)
		}
	}
}

// before returns the block before o in its segment, if there is one; parent is the one before o in its prompts.
func (s *segments) before(o policies.Object, parent int32) (before policies.Object, ok bool) {
	if parent < 0 || s.behind[parent] != int32(o) {
		return 0, false
	}
	return policies.Object(parent), true
}

// cut removes o, the last block of its segment, from it, and returns the previous block in the segment if there is one.
func (s *segments) cut(o policies.Object, parent int32) (before policies.Object, ok bool) {
	if before, ok = s.before(o, parent); ok {
		s.behind[parent] = -1
	}
	return before, ok
}
