package prefetch

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

var nextEntry = Entry{
	Name:      "next",
	Summary:   "the n addresses after the requested one: one-block lookahead",
	Source:    "Smith, Cache Memories, ACM Computing Surveys 14(3), 1982, section 2.1",
	Memory:    "constant",
	Addresses: true,
	Params: []params.Param{
		{Name: "n", Default: 1, Min: 1, Max: 1024, Doc: "addresses that are proposed"},
		{Name: "step", Default: 1, Min: 1, Max: 1 << 40, Doc: "distance of two neighbours, in addresses"},
		{Name: "when", Default: "always", Choices: []string{"always", "miss", "tagged"}, Doc: "after which requests: " +
			"always, after a miss, or (tagged) after a miss and after the first request to a prefetched object"},
		{Name: "after", Default: 0, Min: 0, Max: 1 << 20, Doc: "number of requests right before this one that must have " +
			"been to the addresses ahead of it, in order; libCacheSim's OBL has 4"},
		{Name: "size", Default: 0, Min: 0, Max: 1 << 40, Doc: "bytes charged for a proposal if sizes count; " +
			"0: the object's size in the trace"},
	},
	New: func(c Config) Prefetcher {
		return &next{
			n:     c.Params.Int("n"),
			step:  uint64(c.Params.Int("step")),
			when:  c.Params.Text("when"),
			after: c.Params.Int("after"),
			size:  int64(c.Params.Int("size")),
		}
	},
}

// next proposes the addresses after the requested one.
type next struct {
	n     int
	step  uint64
	when  string
	after int
	size  int64

	started bool
	last    uint64 // address of the previous request
	run     int    // requests in a row that were each one step after the previous one
}

func (x *next) Request(a Access, proposals []Proposal) []Proposal {
	if x.started && a.Key > x.last && a.Key-x.last == x.step {
		x.run++
	} else {
		x.run = 0
	}
	x.started, x.last = true, a.Key
	if x.run < x.after || !x.triggers(a) {
		return proposals
	}
	return proposeAhead(proposals, a.Key, int64(x.step), x.n, x.size)
}

func (x *next) triggers(a Access) bool {
	switch x.when {
	case "miss":
		return !a.Hit
	case "tagged":
		return !a.Hit || a.Prefetched
	}
	return true
}

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
		return &nextFile{layout: c.Layout, n: c.Params.Int("n"), blocks: uint64(c.Params.Int("blocks")), last: -1}
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
