package retrieve

import "github.com/cachesim/cachesim/internal/base/params"

var blocksEntry = Entry{
	Name: "blocks",
	Summary: "the blocks of adjacent tokens with the greatest sum of probabilities over the group: k/size of them, " +
		"rounded, at least one",
	Source:  "cachesim; pages of 8 tokens as in RetroInfer (Chen et al., 2025)",
	Sums:    true,
	Divided: true,
	Params:  []params.Param{pageSize("size", 8)},
	New:     func(v params.Values) Retriever { return &blocks{pages{size: v.Int("size")}} },
}

type blocks struct{ pages }

func (b *blocks) Begin(h Head) { b.from = h.From }

func (b *blocks) Retrieve(dst []int32, s Step) []int32 {
	b.ranked = b.Rank(b.ranked[:0], s)
	return Tokens(dst, b, b.ranked)
}

func (b *blocks) Rank(dst []uint32, s Step) []uint32 {
	sums := b.scores(s.To)
	for i := range sums {
		var sum float32
		for _, p := range s.Sums[(b.first()+i)*b.size:][:b.size] {
			sum += p
		}
		sums[i] = sum
	}
	return b.rank(dst, s.K)
}
