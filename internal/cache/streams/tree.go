package streams

import (
	"slices"
	"unsafe"
)

// Tree holds recent accesses: the AccessStreamTree. A node is a block, a file or a directory; a chain of directories in
// which nothing has branched is part of the node below it. A node with more than Options.Window distinct children is a
// Stream.
//
// An access takes time in proportion to the depth of its path. Memory: 4 bytes per place of the layout, about 110 bytes
// per node, and up to 32 bytes per child in the window of each node with several children (Bytes).
type Tree struct {
	layout *Layout
	o      Options

	// Opened is called when a node has become a stream, after its first classification. Changed is called when a stream
	// has another pattern. Closed is called when a stream's node is being removed. All may be nil, and none may call
	// Access.
	Opened  func(*Stream)
	Changed func(s *Stream, before Pattern)
	Closed  func(*Stream)
	// Pinned reports whether the node of a stream must stay: its unit holds bytes. Nil: none must.
	Pinned func(*Stream) bool

	nodes   []node
	free    int32   // a list by parent
	count   int     // nodes in use
	at      []int32 // per place: its node; 0 for none, as the root belongs to no node
	heads   []int32 // blocks by hash of file and number
	windows []window
	unused  []int32         // windows without a node
	leaves  chain           // nodes without children, the most recent first
	open    [Skewed + 1]int // streams by pattern; all of them under Unknown
	opened  int             // so far
	tests   [Skewed + 1]int // by verdict; all of them under Unknown
	gaps    []int64         // of the tests, by length as a share of the items
	moves   []Move
	now     int64
	scratch scratch
}

// Move is a transition of a stream from one child to another one.
type Move struct {
	Stream *Stream
	Index  uint64 // of the child that is accessed now: the position in the listing, or the number of the block
}

// node is a node of the tree. The numbers of others are 0 for none: the root is nobody's child.
type node struct {
	block    uint64 // of a block: its number in the file
	created  int64  // when it was first accessed
	seen     int64  // children that were added
	stream   *Stream
	place    Place // of a block: its file
	bottom   Place // the lowest place that refers to the node: its own, or the directory of a file of one block
	parent   int32
	window   int32   // -1 for none
	streams  int32   // at or below the node
	links    [2]link // in the lists that it may be in
	children chain
	next     int32 // with the same hash
	isBlock  bool
}

// The lists that a node may be in, both by access.
const (
	amongSiblings = iota // the children of its parent
	amongLeaves          // all nodes without children
)

// link is where a node is in a list.
type link struct{ newer, older int32 }

// chain is a list of nodes by access.
type chain struct{ newest, oldest, n int32 }

// window is the ring of the last transitions of a node.
type window struct {
	entries []transition
	first   int // the oldest entry, once the ring is full
	turns   int // transitions since the last access to the child, when a reader last went on in one
}

// transition is an access to another child than before.
type transition struct {
	index uint64
	time  int64
	block uint64 // where the last access below the child was
	file  Place
}

func New(l *Layout, o Options) *Tree {
	o.Nodes = max(o.Nodes, MinNodes)
	t := &Tree{layout: l, o: o, at: make([]int32, l.Len()), heads: make([]int32, 64), gaps: make([]int64, o.Gaps)}
	t.nodes = append(t.nodes, node{place: Root, window: -1})
	t.count = 1
	return t
}

func (t *Tree) Layout() *Layout  { return t.layout }
func (t *Tree) Options() Options { return t.o }
func (t *Tree) Nodes() int       { return t.count }

// Streams returns how many streams of a pattern the tree has; of any pattern for Unknown.
func (t *Tree) Streams(p Pattern) int { return t.open[p] }

func (t *Tree) Bytes() int64 {
	bytes := int64(cap(t.nodes))*int64(unsafe.Sizeof(node{})) + 4*int64(cap(t.at)+cap(t.heads)+cap(t.unused)) +
		int64(cap(t.windows))*int64(unsafe.Sizeof(window{})) + t.scratch.bytes()
	for _, w := range t.windows {
		bytes += int64(cap(w.entries)) * int64(unsafe.Sizeof(transition{}))
	}
	return bytes + int64(t.open[Unknown])*t.streamBytes()
}

// Access records an access, and returns the stream that owns the block: its deepest ancestor that is one, or nil.
func (t *Tree) Access(address uint64, now int64) *Stream {
	t.moves = t.moves[:0]
	t.now = now
	file, block := t.layout.Find(address)
	leaf := t.find(file, block)
	if leaf != 0 {
		t.unlink(amongLeaves, &t.leaves, leaf)
		t.push(amongLeaves, &t.leaves, leaf)
	} else if leaf = t.insert(file, block); leaf == 0 {
		return t.owner(file) // every node is pinned
	}
	var owner *Stream
	below := file // goes up the path to the entry of each parent, whose position in the listing is the index
	for child := leaf; child != 0; {
		parent := t.nodes[child].parent
		index := block
		if p := t.nodes[parent].place; p != file {
			for t.layout.tree[below].parent != p {
				below = t.layout.tree[below].parent
			}
			index = uint64(t.layout.tree[below].index)
		}
		t.observe(parent, child, transition{index, now, block, file})
		if s := t.nodes[parent].stream; owner == nil && s != nil {
			owner = s
		}
		child = parent
	}
	return owner
}

// Moves returns the streams that the last access moved to another child, the deepest first, until the next access.
func (t *Tree) Moves() []Move { return t.moves }

// Owner returns the stream that owns a block, without recording an access.
func (t *Tree) Owner(address uint64) *Stream {
	file, _ := t.layout.Find(address)
	return t.owner(file)
}

func (t *Tree) owner(p Place) *Stream {
	for ; p != Root; p = t.layout.tree[p].parent {
		if n := t.at[p]; n != 0 && t.isAt(n, p) && t.nodes[n].stream != nil {
			return t.nodes[n].stream
		}
	}
	return t.nodes[0].stream
}

// isAt reports whether a node is a place's own, not the node of something below it.
func (t *Tree) isAt(n int32, p Place) bool { return t.nodes[n].place == p && !t.nodes[n].isBlock }

func (t *Tree) observe(n, child int32, to transition) {
	t.touch(n, child)
	v := &t.nodes[n]
	if v.stream != nil {
		v.stream.access(t.now)
	}
	if t.record(n, to) { // not the same child again: recorded as a gap of 0 it would break the test of gaps
		t.move(n, to)
	}
	// A pruned child may come back where a reader goes on: that is no transition.
	if v.stream != nil && t.o.Prune && int(v.children.n) > t.o.Window {
		t.prune(n)
	}
}

// move notes that an access has moved a node to another child, which may make the node a stream.
func (t *Tree) move(n int32, to transition) {
	v := &t.nodes[n]
	if s := v.stream; s != nil {
		t.moves = append(t.moves, Move{s, to.index})
		s.moved++
		if s.sinceVerdict++; t.o.Retest && s.sinceVerdict >= t.o.Window {
			s.Reclassify()
		}
	} else if t.manyChildren(n) {
		t.openStream(n)
		t.moves = append(t.moves, Move{v.stream, to.index})
	}
}

// manyChildren reports whether a node has had more children than the window: in the tree, or in a window without
// repeats, because the limit of nodes may have removed some.
func (t *Tree) manyChildren(n int32) bool {
	v := &t.nodes[n]
	if int(v.children.n) > t.o.Window {
		return true
	}
	if v.seen <= int64(t.o.Window) || v.seen%checkEvery != 0 || len(t.windows[v.window].entries) < t.o.Window {
		return false
	}
	indexes := t.scratch.indexes[:0]
	for _, m := range t.windows[v.window].entries {
		indexes = append(indexes, m.index)
	}
	t.scratch.indexes = indexes
	slices.Sort(indexes)
	return len(slices.Compact(indexes)) == t.o.Window
}

// checkEvery is how many children are added between two looks at a window in which some may repeat.
const checkEvery = 8

// record records a transition of a node to a child. It returns false if there is none: the access is to the same child
// as before, or goes on in a child that an interleaved reader has not left.
func (t *Tree) record(n int32, to transition) bool {
	v := &t.nodes[n]
	if v.window < 0 {
		v.window = t.newWindow()
	}
	w := &t.windows[v.window]
	if t.goesOn(w, v.place, to) {
		return false
	}
	if size := len(w.entries); size > 0 && size == t.o.Window {
		w.entries[w.first] = to
		if w.first++; w.first == size {
			w.first = 0
		}
		return true
	}
	w.entries = append(w.entries, to)
	return true
}

// goesOn reports whether an access stays in a child that its reader has not left, and notes where it was.
func (t *Tree) goesOn(w *window, of Place, to transition) bool {
	size := len(w.entries)
	most := 1
	if t.o.Interleaved && of != to.file { // a block has nothing below it in which a reader could go on
		most = maxReaders
	}
	at := w.first
	for back := range min(size, most) {
		if at--; at < 0 {
			at = size - 1
		}
		e := &w.entries[at]
		if e.index != to.index {
			continue
		}
		if back > 0 {
			next := t.layout.follows(e.file, e.block, to.file, to.block)
			if !next && (back > w.turns || e.file != to.file || e.block != to.block || t.layout.single(e.file)) {
				return false
			}
			if next {
				w.turns = back
			}
		}
		e.file, e.block = to.file, to.block
		return true
	}
	return false
}

func (t *Tree) newWindow() int32 {
	if n := len(t.unused); n > 0 {
		w := t.unused[n-1]
		t.unused = t.unused[:n-1]
		return w
	}
	t.windows = append(t.windows, window{})
	return int32(len(t.windows) - 1)
}

// prune removes the least recent children of a stream, but no pinned stream, nor the one being accessed.
func (t *Tree) prune(n int32) {
	c := &t.nodes[n].children
	for child := c.oldest; child != c.newest && int(c.n) > t.o.Window; {
		newer := t.nodes[child].links[amongSiblings].newer
		if !t.pinned(child) {
			t.remove(child)
		}
		child = newer
	}
}

// pinned reports whether a node or one below it must stay.
func (t *Tree) pinned(n int32) bool {
	v := &t.nodes[n]
	if t.Pinned == nil || v.streams == 0 {
		return false
	}
	if v.stream != nil && t.Pinned(v.stream) {
		return true
	}
	for child := v.children.newest; child != 0; child = t.nodes[child].links[amongSiblings].older {
		if t.pinned(child) {
			return true
		}
	}
	return false
}

// Options say how a tree recognises patterns. Each part can be switched off.
type Options struct {
	Window      int     // W: a node with more children is a stream, and that many of its last transitions are tested
	Nodes       int     // largest number of nodes, at least MinNodes; the least recently accessed ones are removed
	Alpha       float64 // significance level of the Kolmogorov-Smirnov test
	Form        Form    // of its statistic
	RepeatGuard bool    // streams whose children repeat more often than in a random order are skewed, too
	Share       float64 // least share of steps to the next child in a sequential stream, from 0 to 1
	Order       Order   // of the entries of a directory
	// Readers is how many interleaved sequential readers are told apart, 1 to 64; 0: as many as are found, up to one for
	// every five transitions. Interleaved takes an access that goes on in a child for no transition although other readers
	// had their turns since.
	Readers     int
	Interleaved bool
	Retest      bool // a stream is tested again after every Window transitions, not only on Reclassify
	Verdicts    int  // equal verdicts in a row that change a pattern in force, at least 1
	Compress    bool // a chain of directories with one child each is one node, which changes nothing else
	Prune       bool // all but the Window most recent children of a stream are removed
	Gaps        int  // bins of the histogram of gaps that Measure returns; 0 for none
}

// Order is how the entries of directories are ordered.
type Order uint8

// Listed is the order of the listing; Found also recognises a stream that is read in the natural order of the names, in
// which 9 comes before 10. A natural listing (Layout.Natural) has that order alone.
const (
	Listed Order = iota
	Found
)

// MinNodes is the least limit of nodes.
const MinNodes = 16

// Defaults are the options of the paper, and our choices where it has none: Order, Readers, Interleaved, Share,
// Verdicts, RepeatGuard, Retest.
func Defaults() Options {
	return Options{Order: Found, Window: 100, Nodes: 10_000, Alpha: 0.01, RepeatGuard: true, Share: 0.9, Interleaved: true,
		Retest: true, Verdicts: 2, Compress: true, Prune: true}
}
