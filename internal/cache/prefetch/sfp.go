package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

var sfpEntry = Entry{
	Name:      "sfp",
	Summary:   "the blocks of the file that was most often read after this one: a Markov chain of files",
	Source:    "SFP as the IGTCache paper (arXiv 2506.12370), section 5.2, compares with it; its code is not public",
	Memory:    "48 bytes per file of the trace",
	Addresses: true,
	Files:     true,
	Params: []params.Param{
		{Name: "probability", Default: 0.5, Min: 0, Max: 1, Doc: "least share of the reads after this file that went to " +
			"the successor"},
		{Name: "count", Default: 2, Min: 1, Max: 1 << 30, Doc: "least number of times that the successor followed"},
		{Name: "blocks", Default: 256, Min: 1, Max: 1 << 20, Doc: "most blocks of the successor that are proposed, from " +
			"its first one on"},
		{Name: "per", Default: "trace", Choices: []string{"trace", "job"}, Doc: "whose reads follow each other: the whole " +
			"trace's, as a cache sees them, or each job's"},
	},
	New: func(c Config) Prefetcher { return newSFP(readsOf(c.Trace), c.Params) },
}

// sfp counts which file is read after which. When a file begins to be read, it proposes the likely successor.
type sfp struct {
	reads
	probability float64
	count       uint32
	blocks      int64
	perJob      bool
	last        []int32 // per job, the unknown one first, or for the whole trace: the file that was read last; -1: none
	rows        []successors
}

// successors are the files that were read after one, and how often. Of more than four the most frequent are known.
type successors struct {
	base   uint64 // address of the file's first block
	total  uint32 // how often another file was read after it
	files  [4]int32
	counts [4]uint32
}

func newSFP(r reads, v params.Values) *sfp {
	s := &sfp{
		reads: r, probability: v.Float("probability"), count: uint32(v.Int("count")), blocks: int64(v.Int("blocks")),
		perJob: v.Text("per") == "job", last: make([]int32, r.jobs()+1), rows: make([]successors, len(r.files.Paths)),
	}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

func (s *sfp) Request(a Access, proposals []Proposal) []Proposal {
	file := s.files.Files[a.Object]
	last := &s.last[0]
	if s.perJob {
		last = &s.last[s.job(s.at(a.At))+1]
	}
	if *last == file {
		return proposals
	}
	row := &s.rows[file]
	row.base = a.Key - uint64(s.files.Numbers[a.Object])
	if *last >= 0 {
		s.rows[*last].add(file)
	}
	*last = file
	next, count := row.best()
	if count < s.count || float64(count) < s.probability*float64(row.total) {
		return proposals
	}
	blocks := (s.files.Sizes[next]-1)/s.files.Block + 1
	for i := range min(blocks, s.blocks) {
		proposals = append(proposals, Proposal{Key: s.rows[next].base + uint64(i)})
	}
	return proposals
}

// add counts a file that was read next. A new one replaces the one that followed least often.
func (x *successors) add(file int32) {
	x.total++
	least := 0
	for i, count := range x.counts {
		if count > 0 && x.files[i] == file {
			x.counts[i]++
			return
		}
		if count < x.counts[least] {
			least = i
		}
	}
	x.files[least], x.counts[least] = file, 1
}

// best returns the file that followed most often, and how often: 0 if none did. Ties go to the one counted first.
func (x *successors) best() (file int32, count uint32) {
	for i, n := range x.counts {
		if n > count {
			file, count = x.files[i], n
		}
	}
	return file, count
}
