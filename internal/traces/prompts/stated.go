package prompts

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/random"
)

// answerBuilder collects the blocks of answers whose tokens the log has, while a trace loads. A block is known by the
// one before it and its id, as in chains, and here by its own ids as the file has them.
type answerBuilder struct {
	ids    memory.Chunks[uint64] // per object, as the file has them
	own    []uint64              // those of the prompt that is being read
	at     int                   // its next block
	scope  uint64                // of the prompt
	salt   uint64                // likewise
	scopes scopes
	full   []int                 // per prompt: how many full blocks it has
	last   []int32               // per prompt: the last of them, -1 without
	wants  memory.Chunks[uint64] // ids of the blocks of answers
	stated
}

// begin takes the head of the next prompt.
func (b *answerBuilder) begin(head *Head, blockTokens int) {
	b.own, b.at, b.scope = head.IDs, 0, b.scopes.of(head)
	b.salt = head.Salt
	full := min(int(head.InputTokens)/blockTokens, head.Blocks)
	if full > 0 && head.Open && full*blockTokens == int(head.InputTokens) {
		full-- // the answer writes it again
	}
	b.full = append(b.full, full)
	b.last = append(b.last, -1)
	if head.Answer != nil {
		b.known.Set(len(b.full) - 1)
	}
	for k, id := range head.Answer {
		if k == 0 && b.full[len(b.full)-1] == 0 {
			id = b.first(id)
		}
		b.wants.Append(id)
	}
	b.ends = append(b.ends, b.wants.Len())
}

// first returns the id of a block that begins a prompt of the current scope.
func (b *answerBuilder) first(id uint64) uint64 {
	if b.salt != 0 {
		id = random.Scramble(id ^ b.salt)
	}
	return scoped(id, b.scope)
}

// add takes the next block of the prompt. A file of another format may lack its own ids; then the key counts.
func (b *answerBuilder) add(key uint64, object uint32) {
	if int(object) == b.ids.Len() {
		id := key
		if b.at < len(b.own) {
			id = b.own[b.at]
		}
		if b.at == 0 && b.at < len(b.own) {
			id = b.first(id)
		}
		b.ids.Append(id)
	}
	if b.at++; b.at == b.full[len(b.full)-1] {
		b.last[len(b.last)-1] = int32(object)
	}
}

// finish finds the blocks of answers among those of prompts, and numbers the others.
func (b *answerBuilder) finish(parents []int32) *stated {
	wanted := map[uint64]struct{}{}
	for i := range b.wants.Len() {
		wanted[b.wants.At(i)] = struct{}{}
	}
	behind := map[link]uint32{}
	for o, parent := range parents {
		if id := b.ids.At(o); len(wanted) > 0 {
			if _, ok := wanted[id]; ok {
				behind[link{uint64(int64(parent)), id}] = uint32(o)
			}
		}
	}
	s := b.stated
	s.blocks = make([]uint32, b.wants.Len())
	count, at := len(parents), 0
	for prompt, end := range s.ends {
		parent := b.last[prompt]
		for ; at < end; at++ {
			of := link{uint64(int64(parent)), b.wants.At(at)}
			o, known := behind[of]
			if !known {
				o = uint32(count)
				count++
				behind[of] = o
				s.parents = append(s.parents, parent)
			}
			s.blocks[at], parent = o, int32(o)
		}
	}
	return &s
}

// joined returns the answers to prompts in blocks of n of these, where numbers has the number plus 1 of the joined
// block that a block ends, and count joined blocks have numbers.
func (s *stated) joined(p *Columns, n int, numbers []uint32, count int, group func(int) []uint32) *stated {
	if s == nil {
		return nil
	}
	j := &stated{known: s.known, ends: make([]int, len(s.ends))}
	numbers = append(numbers, make([]uint32, len(s.parents))...)
	for i := range s.ends {
		blocks := group(i)
		full := p.fixed(i, blocks)
		chain := slices.Concat(blocks[:full], s.of(i))
		parent := int32(-1)
		for end := n; end <= len(chain); end += n {
			last := chain[end-1]
			if numbers[last] == 0 {
				j.parents = append(j.parents, parent)
				count++
				numbers[last] = uint32(count)
			}
			parent = int32(numbers[last] - 1)
			if end > full-full%n {
				j.blocks = append(j.blocks, uint32(parent))
			}
		}
		j.ends[i] = len(j.blocks)
	}
	return j
}
