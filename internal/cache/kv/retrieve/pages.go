package retrieve

import "github.com/cachesim/cachesim/internal/base/params"

// pages are blocks of adjacent tokens, all of one size. The first token of a block is a multiple of the size. Blocks
// with a sink token, and a last one that is not full yet, are no candidates.
type pages struct {
	size    int
	from    int // the first candidate
	ranking ranking
	ranked  []uint32
}

func pageSize(name string, tokens int) params.Param {
	return params.Param{Name: name, Default: tokens, Min: 1, Max: 1 << 16,
		Doc: "tokens of a block; its first one is a multiple of that"}
}

// first returns the number of the first block.
func (p *pages) first() int { return (p.from + p.size - 1) / p.size }

// scores makes room for a score of each block whose tokens are before to, and returns it.
func (p *pages) scores(to int) []float32 { return p.ranking.reset(max(0, to/p.size-p.first())) }

// rank appends the blocks with the greatest scores: k/size of them, rounded, at least one.
func (p *pages) rank(dst []uint32, k int) []uint32 {
	for _, i := range p.ranking.ranked(max(1, (k+p.size/2)/p.size)) {
		dst = append(dst, uint32(p.first())+uint32(i))
	}
	return dst
}

func (p *pages) Tokens(dst []int32, block uint32) []int32 {
	return consecutive(dst, int(block)*p.size, p.size)
}

func (p *pages) Size() int { return p.size }

func (p *pages) Sizes() []int { return nil }

// consecutive appends n tokens.
func consecutive(dst []int32, first, n int) []int32 {
	for token := range n {
		dst = append(dst, int32(first+token))
	}
	return dst
}
