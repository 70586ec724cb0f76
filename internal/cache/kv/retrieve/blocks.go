package retrieve

import "github.com/cachesim/cachesim/internal/base/params"

var blocksEntry = Entry{
	Name: "blocks",
	Summary: "the blocks of adjacent tokens with the greatest sum of probabilities over the group: k/size of them, " +
		"rounded, at least one",
	Source:  "cachesim; pages of 8 tokens as in RetroInfer (Chen et al., 2025)",
	Sums:    true,
	Divided: true,
	Params: []params.Param{
		{Name: "size", Default: 8, Min: 1, Max: 1 << 16, Doc: "tokens of a block; its first one is a multiple of that"},
	},
	New: func(v params.Values) Retriever { return &blocks{size: v.Int("size")} },
}

// blocks are those that consist of candidates only: the block with the last sink token is none of them.
type blocks struct {
	size    int
	from    int
	ranking ranking
	ranked  []uint32
}

func (b *blocks) Begin(h Head) { b.from = h.From }

func (b *blocks) Retrieve(dst []int32, s Step) []int32 {
	b.ranked = b.Rank(b.ranked[:0], s)
	return Tokens(dst, b, b.ranked)
}

func (b *blocks) Rank(dst []uint32, s Step) []uint32 {
	first := (b.from + b.size - 1) / b.size
	sums := b.ranking.reset(max(0, s.To/b.size-first))
	for i := range sums {
		var sum float32
		for _, p := range s.Sums[(first+i)*b.size:][:b.size] {
			sum += p
		}
		sums[i] = sum
	}
	for _, i := range b.ranking.ranked(max(1, (s.K+b.size/2)/b.size)) {
		dst = append(dst, uint32(first)+uint32(i))
	}
	return dst
}

func (b *blocks) Tokens(dst []int32, block uint32) []int32 {
	return consecutive(dst, int(block)*b.size, b.size)
}

func (b *blocks) Size() int { return b.size }

func (b *blocks) Sizes() []int { return nil }

// consecutive appends n tokens.
func consecutive(dst []int32, first, n int) []int32 {
	for token := range n {
		dst = append(dst, int32(first+token))
	}
	return dst
}
