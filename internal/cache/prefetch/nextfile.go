package prefetch

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

var nextFileEntry = Entry{
	Name:    "next-file",
	Summary: "the blocks of the n files that follow in the listing, when a file begins to be read",
	Source: "one-block lookahead with files for blocks, as the IGTCache paper (arXiv 2506.12370), section 2.2, sets up " +
		"JuiceFS to compare granularities",
	Memory:    "constant",
	Addresses: true,
	Layout:    true,
	Files:     true,
	Params: []params.Param{
		{Name: "n", Default: 4, Min: 1, Max: 1024, Doc: "files that are proposed"},
		{Name: "blocks", Default: 256, Min: 1, Max: 1 << 20, Doc: "most blocks of each that are proposed, from its first " +
			"one on"},
	},
	New: func(c Config) Prefetcher {
		layout := c.Layout
		if layout == nil {
			layout = streams.NewKeys(1)
		}
		return &nextFile{layout: layout, n: c.Params.Int("n"), blocks: uint64(c.Params.Int("blocks")), last: -1}
	},
}

// nextFile proposes the files after the requested one. Files are in the order of their paths.
type nextFile struct {
	layout *streams.Layout
	n      int
	blocks uint64
	last   streams.Place // the file of the previous request; -1: none
}

func (x *nextFile) Request(a Access, proposals []Proposal) []Proposal {
	file, _ := x.layout.Find(a.Key)
	if file == x.last {
		return proposals
	}
	x.last = file
	for range x.n {
		next, ok := x.layout.FileAfter(file)
		if !ok {
			break
		}
		file = next
		blocks := x.blocks
		if known := x.layout.Blocks(file); known >= 0 {
			blocks = min(blocks, uint64(known))
		}
		for block := range blocks {
			key := x.layout.Address(file, block)
			proposals = append(proposals, Proposal{Key: key, Size: x.layout.Charge(key)})
		}
	}
	return proposals
}
