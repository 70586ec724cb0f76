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

// match splits the segment in which the leading run of a prompt ends, and creates a new one for the blocks that will be
// loaded.
func (s *segments) match(blocks []policies.Object, hits, held int) {
	if hits > 0 {
		s.behind[blocks[hits-1]] = -1
	}
	for i := hits; i < held; i++ {
		s.behind[blocks[i]] = -1
		if i+1 < held {
			s.behind[blocks[i]] = int32(blocks[i+1])
		}
	}
}

// cut removes o, the last block of its segment, from it, and returns the previous block in the segment if there is one.
func (s *segments) cut(o policies.Object, parent int32) (before policies.Object, ok bool) {
	if parent < 0 || s.behind[parent] != int32(o) {
		return 0, false
	}
	s.behind[parent] = -1
	return policies.Object(parent), true
}
