package prefetch

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

var igtEntry = Entry{
	Name: "igt",
	Summary: "of streams that are read in order, the next blocks, files or directories, and in these what is read of " +
		"their siblings; all of streams that are read at random and nearly fit into the cache",
	Source: "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads (IGTCache), arXiv 2506.12370, " +
		"sections 3.1 to 3.3",
	Memory: "about 110 bytes per node of its tree, 16 per child of a node in its window, 4 per file and directory, and " +
		"about 60 per file and directory once per trace",
	Addresses: true,
	Layout:    true,
	Params:    append(TreeParams(), StreamsParams()...),
	New: func(c Config) Prefetcher {
		s := NewStreams(NewTree(c.Layout, c.Params), c)
		s.Quota = func(*streams.Stream) int64 { return c.Capacity }
		return s
	},
}

// TreeParams are the parameters of the recognition of patterns, for all parts that have a tree.
func TreeParams() []params.Param {
	o := streams.Defaults()
	return []params.Param{
		{Name: "window", Default: o.Window, Min: 2, Max: 1 << 20, Doc: "W: a file or directory with more children is a " +
			"stream, and this many of its last transitions are tested"},
		{Name: "alpha", Default: o.Alpha, Min: 1e-9, Max: 0.5, Doc: "significance level of the Kolmogorov-Smirnov test"},
		{Name: "ks", Default: "integer", Choices: []string{"integer", "scipy"}, Doc: "form of its statistic: right for " +
			"integers, or as in scipy, which the paper used"},
		{Name: "guard", Default: o.RepeatGuard, Doc: "a stream whose children repeat too often for a random order is " +
			"skewed, whatever the test says; not in the paper"},
		{Name: "order", Default: "found", Choices: []string{"found", "names", "numbers"}, Doc: "order of the listings: by " +
			"name (names), with the numbers in names compared by value (numbers), or whichever makes a stream sequential"},
		{Name: "steps", Default: o.Share, Min: 0, Max: 1, Doc: "least share of steps to the next child in a sequential " +
			"stream"},
		{Name: "readers", Default: o.Readers, Min: 0, Max: 64, Doc: "interleaved sequential readers of a stream that are " +
			"told apart; 0: as many as are found"},
		{Name: "interleaved", Default: o.Interleaved, Doc: "a reader that goes on in a file or directory has not left it " +
			"while others had their turns; not in the paper"},
		{Name: "retest", Default: o.Retest, Doc: "test a stream again after every window of transitions, not only when its " +
			"quota changes; not in the paper"},
		{Name: "verdicts", Default: o.Verdicts, Min: 1, Max: 100, Doc: "equal verdicts in a row that change a pattern"},
		{Name: "nodes", Default: o.Nodes, Min: streams.MinNodes, Max: 1 << 26, Doc: "largest number of nodes; beyond it " +
			"the least recently accessed ones are removed"},
		{Name: "compress", Default: o.Compress, Doc: "a chain of directories in which nothing branches is one node"},
		{Name: "prune", Default: o.Prune, Doc: "a stream keeps only the children in its window"},
		{Name: "gaps", Default: o.Gaps, Min: 0, Max: 1000, Doc: "bins of the histogram of gaps in the record; 0: none"},
	}
}

// NewTree returns an empty tree with the values of TreeParams.
func NewTree(l *streams.Layout, v params.Values) *streams.Tree {
	o := streams.Options{Window: v.Int("window"), Alpha: v.Float("alpha"), RepeatGuard: v.Bool("guard"),
		Share: v.Float("steps"), Readers: v.Int("readers"), Interleaved: v.Bool("interleaved"),
		Retest: v.Bool("retest"), Verdicts: v.Int("verdicts"), Nodes: v.Int("nodes"),
		Compress: v.Bool("compress"), Prune: v.Bool("prune"), Gaps: v.Int("gaps")}
	if v.Text("ks") == "scipy" {
		o.Form = streams.Scipy
	}
	switch v.Text("order") {
	case "numbers":
		l = l.Natural()
	case "found":
		o.Order = streams.Found
	}
	return streams.New(l, o)
}

// StreamsParams are the parameters of the proposals, for all parts that prefetch by streams.
func StreamsParams() []params.Param {
	return []params.Param{
		{Name: "depth", Default: 4, Min: 0, Max: 64, Doc: "N: children that are proposed ahead of a sequential reader; 0: " +
			"none"},
		{Name: "hierarchical", Default: true, Doc: "of a file or directory propose only what is read of its siblings"},
		{Name: "threshold", Default: 0.8, Min: 0.01, Max: 1, Doc: "f_p: least share of the siblings in which a position " +
			"is read"},
		{Name: "under", Default: under, Choices: []string{under, "none"}, Doc: "what prefetches in files that are no " +
			"streams: the paper's system runs on top of JuiceFS, whose readahead stays beneath it"},
		{Name: "beside", Default: beside, Choices: []string{beside, "none"}, Doc: "what prefetches besides: sandbox " +
			"loads addresses ahead while trials without loading show that they are requested; not in the paper"},
		{Name: "accuracy", Default: accuracy, Min: 0, Max: 1, Doc: "least share of its trials that must be requested; 0: " +
			"0.8 where transfers take time, and 0.2 where they do not"},
		{Name: "statistical", Default: true, Doc: "propose all of a random stream in the background"},
		{Name: "expected", Default: 0.8, Min: 0, Max: 1, Doc: "least expected hit ratio for that: the cache's size as a " +
			"share of the data's"},
	}
}

// Ahead returns how many blocks are loaded ahead of a reader at most, with the values of StreamsParams.
func Ahead(v params.Values) int {
	if v.Text("under") == under {
		return max(v.Int("depth"), params.Defaults(readaheadEntry.Params).Int("max"))
	}
	return v.Int("depth")
}

// under is the readahead of the file system beneath, and beside what tries proposals before it makes them.
const under, beside = "readahead", "sandbox"

const (
	// atOnce is how many blocks are proposed after one access at most; what is beyond is left for More.
	atOnce = 64
	// waiting is how many files and directories can wait for More.
	waiting = 64
)

// Streams is the prefetcher of IGTCache: it proposes by the patterns of the streams of a tree.
type Streams struct {
	tree   *streams.Tree
	layout *streams.Layout
	unit   bool       // capacities count objects
	below  Prefetcher // of the file system beneath; nil for none
	beside Prefetcher // likewise

	depth                     int
	hierarchical, statistical bool
	threshold, expected       float64

	// Quota returns the room of a stream: bytes, or objects if these are counted. It decides which random streams are
	// loaded as a whole. It must be set.
	Quota func(*streams.Stream) int64
	// Readers returns how many readers of a stream share its room: none has more loaded ahead than its part. Nil: half of
	// the room is for what is loaded ahead after an access, and only the readers that tests have found share it.
	Readers func(*streams.Stream) int64

	recent   [waiting]streams.Place // children that were queued as a whole last, plus 1
	turn     int
	children []waitingChild // of sequential streams, that are to be loaded as a whole
	datasets []*dataset     // random streams that are being loaded
	buffer   []uint64
}

// waitingChild is the walk through a child of a sequential stream, and what may still be loaded of it.
type waitingChild struct {
	walk streams.Walk
	room int64
}

// dataset is the walk through a random stream. The stream refers to it.
type dataset struct {
	stream   *streams.Stream
	walk     streams.Walk
	proposed int64 // bytes or objects so far
	next     int64 // what the next block of the walk is charged, if it was held back
	address  uint64
	held     bool
	queued   bool
	done     bool
}

// NewStreams returns a prefetcher on a tree with the values of StreamsParams. Its Quota must be set.
func NewStreams(t *streams.Tree, c Config) *Streams {
	v := c.Params
	s := &Streams{tree: t, layout: t.Layout(), unit: c.Unit, depth: v.Int("depth"),
		hierarchical: v.Bool("hierarchical"), statistical: v.Bool("statistical"), threshold: v.Float("threshold"),
		expected: v.Float("expected")}
	if v.Text("under") == under {
		s.below = readaheadEntry.New(Config{Trace: c.Trace, Params: params.Defaults(readaheadEntry.Params)})
	}
	if v.Text("beside") == beside {
		trials := params.Defaults(sandboxEntry.Params)
		if trials["accuracy"] = v.Float("accuracy"); v.Float("accuracy") == 0 {
			trials["accuracy"] = accuracy
			if c.Asynchronous {
				trials["accuracy"] = accuracyInTime
			}
		}
		s.beside = sandboxEntry.New(Config{Params: trials})
	}
	return s
}

// Request implements Prefetcher. It records the access in the tree.
func (s *Streams) Request(a Access, proposals []Proposal) []Proposal {
	return s.After(a, s.tree.Access(a.Key, a.Time), proposals)
}

// After appends the proposals after the access that the tree has recorded last; owner is its stream, nil for none.
func (s *Streams) After(a Access, owner *streams.Stream, proposals []Proposal) []Proposal {
	most := len(proposals) + atOnce
	// The pattern of a file that is a stream says what to prefetch in it.
	if s.below != nil && (owner == nil || !s.layout.IsFile(owner.Place)) {
		proposals = s.below.Request(a, proposals)
	}
	if s.beside != nil {
		proposals = s.beside.Request(a, proposals)
	}
	if s.Readers != nil {
		proposals = s.fit(a, owner, proposals, most-atOnce)
	} else {
		proposals = s.cut(a, owner, proposals, most-atOnce)
	}
	for _, m := range s.tree.Moves() {
		switch m.Stream.Pattern {
		case streams.Sequential:
			proposals = s.ahead(m, proposals, most)
		case streams.Random:
			s.consider(m.Stream)
		}
	}
	return proposals
}

// cut limits the proposals from a position on to half of the room: the other half is for what is being read.
func (s *Streams) cut(a Access, owner *streams.Stream, proposals []Proposal, from int) []Proposal {
	room := (s.Quota(owner) - s.charge(a.Key)) / 2
	for i := from; i < len(proposals); i++ {
		if room -= s.charge(proposals[i].Key); room < 0 {
			return proposals[:i]
		}
	}
	return proposals
}

// fit limits the proposals from a position on to a reader's part of the room, without the block that it reads; one is
// always left. What is proposed twice takes its room once.
func (s *Streams) fit(a Access, owner *streams.Stream, proposals []Proposal, from int) []Proposal {
	room := s.Quota(owner)/max(1, s.Readers(owner)) - s.charge(a.Key)
	kept := proposals[:from]
	for _, p := range proposals[from:] {
		if slices.Contains(kept[from:], p) {
			continue
		}
		if room -= s.charge(p.Key); room < 0 && len(kept) > from {
			break
		}
		kept = append(kept, p)
	}
	return kept
}

// ahead proposes the next children of a sequential stream.
func (s *Streams) ahead(m streams.Move, proposals []Proposal, most int) []Proposal {
	l, place := s.layout, m.Stream.Place
	entries := uint64(math.MaxUint64)
	if n := l.Entries(place); n >= 0 {
		entries = uint64(n)
	}
	if entries == 0 { // entries-1 would wrap
		return proposals
	}
	at, room := m.Stream.Position(m.Index), s.room(m.Stream)
	for found, empty := 0, 0; found < s.depth && empty < atOnce && len(proposals) < most && at < entries-1 && room > 0; {
		at++
		if l.IsFile(place) {
			proposals = s.propose(l.Address(place, at), proposals, &room)
			found++
			continue
		}
		child := l.Entry(place, int64(m.Stream.At(at)))
		if l.Blocks(child) == 0 {
			empty++
			continue
		}
		proposals = s.child(m.Stream, child, proposals, most, &room)
		found++
	}
	return proposals
}

// room returns how much may be loaded ahead of a reader of a sequential stream: its part of the stream's quota.
func (s *Streams) room(of *streams.Stream) int64 {
	readers := int64(of.Readers)
	if s.Readers != nil {
		readers = s.Readers(of)
	}
	return max(1, s.Quota(of)/max(1, readers))
}

// propose proposes a block if there is room left, which it takes: the last block may need more.
func (s *Streams) propose(address uint64, proposals []Proposal, room *int64) []Proposal {
	if *room <= 0 {
		return proposals
	}
	*room -= s.charge(address)
	return append(proposals, s.proposal(address))
}

// charge returns the bytes of a block, or 1 if capacities count objects.
func (s *Streams) charge(address uint64) int64 {
	if s.unit {
		return 1
	}
	return s.layout.Bytes(address)
}

// child proposes what to read of a child of a sequential stream, as far as there is room for it.
func (s *Streams) child(of *streams.Stream, child streams.Place, proposals []Proposal, most int,
	room *int64) []Proposal {
	l := s.layout
	if l.IsFile(child) && l.Blocks(child) == 1 {
		return s.propose(l.Address(child, 0), proposals, room)
	}
	whole := true
	s.buffer = s.buffer[:0]
	if s.hierarchical {
		s.buffer, whole = of.Select(child, s.threshold, s.buffer)
	}
	for _, address := range s.buffer {
		if len(proposals) < most {
			proposals = s.propose(address, proposals, room)
		}
	}
	if !whole {
		return proposals
	}
	// Half of what is shared is for the next blocks of the child that is being read.
	if s.Readers != nil && *room < s.room(of)/2 {
		return proposals
	}
	walk := l.Walk(child)
	if blocks := l.Blocks(child); blocks < 0 || int64(len(proposals))+blocks > int64(most) {
		s.queue(child, walk, *room)
		*room -= max(0, s.sizeOf(child))
		return proposals
	}
	for address, ok := walk.Next(); ok && *room > 0; address, ok = walk.Next() {
		proposals = s.propose(address, proposals, room)
	}
	return proposals
}

// queue keeps a child for More, unless it was queued a short time ago. If too many wait, the oldest is dropped.
func (s *Streams) queue(child streams.Place, walk streams.Walk, room int64) {
	if slices.Contains(s.recent[:], child+1) {
		return
	}
	s.recent[s.turn] = child + 1
	s.turn = (s.turn + 1) % waiting
	if len(s.children) == waiting {
		s.children = slices.Delete(s.children, 0, 1)
	}
	s.children = append(s.children, waitingChild{walk, room})
}

// consider queues a random stream whose data would mostly fit into its room.
func (s *Streams) consider(of *streams.Stream) {
	if !s.statistical {
		return
	}
	d, _ := of.Prefetch.(*dataset)
	if d != nil && (d.queued || d.done) {
		return
	}
	quota, size := s.Quota(of), s.sizeOf(of.Place)
	if size <= 0 || float64(quota) < s.expected*float64(size) || d != nil && d.held && d.proposed+d.next > quota {
		return
	}
	if d == nil {
		d = &dataset{stream: of, walk: s.layout.Walk(of.Place)}
		of.Prefetch = d
	}
	d.queued = true
	s.datasets = append(s.datasets, d)
}

// sizeOf returns the bytes of a place, or its blocks; -1 if they are not known.
func (s *Streams) sizeOf(p streams.Place) int64 {
	if s.unit {
		return s.layout.Blocks(p)
	}
	return s.layout.Size(p)
}

// Restart forgets what has been proposed of a stream, as after all of it was evicted.
func (s *Streams) Restart(of *streams.Stream) {
	if d, _ := of.Prefetch.(*dataset); d != nil {
		d.walk, d.proposed, d.held, d.done = s.layout.Walk(of.Place), 0, false, false
	}
}

// More implements Backlog: first the rest of what sequential streams read next, then random streams as a whole, in the
// order of their listings, until their quotas are full.
func (s *Streams) More(n int, proposals []Proposal) []Proposal {
	for n > 0 && len(s.children) > 0 {
		next := &s.children[0]
		address, ok := next.walk.Next()
		if ok {
			next.room -= s.charge(address)
		}
		if !ok || next.room < 0 {
			s.children = slices.Delete(s.children, 0, 1)
			continue
		}
		proposals = append(proposals, s.proposal(address))
		n--
	}
	for n > 0 && len(s.datasets) > 0 {
		address, ok := s.nextOf(s.datasets[0])
		if !ok {
			s.datasets[0].queued = false
			s.datasets = slices.Delete(s.datasets, 0, 1)
			continue
		}
		proposals = append(proposals, s.proposal(address))
		n--
	}
	return proposals
}

// nextOf returns the next block of a random stream; false if there is none, or no room for it.
func (s *Streams) nextOf(d *dataset) (address uint64, ok bool) {
	if !d.stream.Open() || d.stream.Pattern != streams.Random {
		return 0, false
	}
	if !d.held {
		if d.address, ok = d.walk.Next(); !ok {
			d.done = true
			return 0, false
		}
		d.next = s.charge(d.address)
	}
	if d.held = d.proposed+d.next > s.Quota(d.stream); d.held {
		return 0, false
	}
	d.proposed += d.next
	return d.address, true
}

func (s *Streams) proposal(address uint64) Proposal {
	return Proposal{Key: address, Size: s.layout.Charge(address)}
}

// Measure implements Measured: the size of the tree and the patterns of its streams.
func (s *Streams) Measure() metric.Values { return s.tree.Measure() }
