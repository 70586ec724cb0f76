package streams

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive is a node of the tree without compression: a map of children, and a window in a slice.
type naive struct {
	place    Place
	children map[uint64]*naive
	access   int // number of the last access
	window   []transition
	turns    int
	stream   bool
}

// find adds what is missing of a path and returns the nodes of its directories and its file, from the root on, and the
// index of the next one in each.
func (n *naive) path(l *Layout, file Place, block uint64) (nodes []*naive, indexes []uint64) {
	var places []Place
	for p := file; p != Root; p = l.Parent(p) {
		places = append(places, p)
	}
	slices.Reverse(places)
	nodes = append(nodes, n)
	for _, p := range places {
		index := uint64(l.Index(p))
		child := n.children[index]
		if child == nil {
			child = &naive{place: p, children: map[uint64]*naive{}}
			n.children[index] = child
		}
		n = child
		nodes, indexes = append(nodes, n), append(indexes, index)
	}
	if n.children[block] == nil {
		n.children[block] = &naive{place: -1}
	}
	return nodes, append(indexes, block)
}

// access does what Tree.Access does, and returns the place of the owner, -1 for none, and the moves.
func (n *naive) record(l *Layout, o Options, address uint64, at int) (owner Place, moves []string) {
	file, block := l.Find(address)
	nodes, indexes := n.path(l, file, block)
	owner = -1
	for i := len(nodes) - 1; i >= 0; i-- {
		v, index := nodes[i], indexes[i]
		v.access, v.children[index].access = at, at
		if !v.goesOn(l, o, index, file, block) {
			v.window = append(v.window, transition{index, int64(at), block, file})
			v.window = v.window[max(0, len(v.window)-o.Window):]
			v.stream = v.stream || len(v.children) > o.Window
			if v.stream {
				moves = append(moves, fmt.Sprint(v.place, index))
			}
		}
		for v.stream && o.Prune && len(v.children) > o.Window {
			oldest := index
			for i, child := range v.children {
				if child.access < v.children[oldest].access {
					oldest = i
				}
			}
			delete(v.children, oldest)
		}
		if owner < 0 && v.stream {
			owner = v.place
		}
	}
	return owner, moves
}

// goesOn reports whether an access is in the child of the last transition, or goes on in the one of an earlier one.
func (n *naive) goesOn(l *Layout, o Options, index uint64, file Place, block uint64) bool {
	for back := 0; back < len(n.window) && back < maxReaders; back++ {
		w := &n.window[len(n.window)-1-back]
		if w.index != index {
			continue
		}
		next := w.file == file && w.block+1 == block ||
			w.file != file && block == 0 && l.Parent(w.file) == l.Parent(file) && l.Index(w.file)+1 == l.Index(file)
		again := w.file == file && w.block == block && l.Blocks(file) > 1 && back <= n.turns
		if back > 0 && (!o.Interleaved || n.place == file || !next && !again) {
			return false
		}
		if back > 0 && next {
			n.turns = back
		}
		w.file, w.block = file, block
		return true
	}
	return false
}

// drawLayout draws a small data set.
func drawLayout(r *rapid.T) *Layout {
	seen := map[string]bool{}
	var all []File
	name := rapid.StringMatching(`[a-c0-9]{1,2}`)
	for range rapid.IntRange(1, 40).Draw(r, "files") {
		path := ""
		for range rapid.IntRange(0, 3).Draw(r, "depth") {
			path += name.Draw(r, "directory") + "/"
		}
		path += name.Draw(r, "file")
		if !seen[path] {
			seen[path] = true
			all = append(all, File{path, int64(rapid.IntRange(1, 12).Draw(r, "blocks")) * 10})
		}
	}
	l := NewLayout(all, 10, 16)
	if rapid.Bool().Draw(r, "numbers") {
		return l.Natural()
	}
	return l
}

// drawAccess draws an address: near the previous one, or anywhere.
func drawAccess(r *rapid.T, l *Layout, previous uint64) uint64 {
	file, block := l.Find(previous)
	if block+1 < uint64(l.Blocks(file)) && rapid.Bool().Draw(r, "next") {
		return previous + 1
	}
	for {
		p := Place(rapid.IntRange(1, l.Len()-1).Draw(r, "place"))
		if l.IsFile(p) {
			return l.Address(p, uint64(rapid.IntRange(0, int(l.Blocks(p))-1).Draw(r, "block")))
		}
	}
}

func TestTreeEqualsANaiveOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := drawLayout(r)
		o := Defaults()
		o.Window, o.Nodes = rapid.IntRange(2, 6).Draw(r, "window"), 1<<20
		o.Prune, o.Compress = rapid.Bool().Draw(r, "prune"), rapid.Bool().Draw(r, "compress")
		o.Interleaved = rapid.Bool().Draw(r, "interleaved")
		tree, root := New(l, o), &naive{children: map[uint64]*naive{}}
		address := l.Address(l.ofRank[0], 0)
		for at := 1; at < 200; at++ {
			address = drawAccess(r, l, address)
			s := tree.Access(address, int64(at))
			owner := Place(-1)
			if s != nil {
				owner = s.Place
			}
			var moves []string
			for _, m := range tree.Moves() {
				moves = append(moves, fmt.Sprint(m.Stream.Place, m.Index))
			}
			wantOwner, wantMoves := root.record(l, o, address, at)
			if owner != wantOwner || !slices.Equal(moves, wantMoves) || tree.Owner(address) != s {
				r.Fatalf("access %d to %s: owner %d and moves %v, want %d and %v", at, l.Path(l.ofRank[address>>16]), owner,
					moves, wantOwner, wantMoves)
			}
			for _, m := range tree.Moves() {
				v := root
				for q := m.Stream.Place; v.place != q; {
					p := q
					for l.Parent(p) != v.place {
						p = l.Parent(p)
					}
					v = v.children[uint64(l.Index(p))]
				}
				if got := tree.transitions(m.Stream.node); !slices.Equal(got, v.window) {
					r.Fatalf("access %d: window %v of place %d, want %v", at, got, v.place, v.window)
				}
			}
			checkTree(r, tree)
		}
	})
}

// checkTree checks the lists of a tree against each other.
func checkTree(r *rapid.T, t *Tree) {
	nodes, leaves, streams := 0, 0, 0
	var walk func(n int32) (below int32)
	walk = func(n int32) (below int32) {
		v := &t.nodes[n]
		nodes++
		if v.stream != nil {
			below++
			streams++
			if v.stream.node != n || !v.stream.Open() {
				r.Fatalf("the stream of node %d does not know it", n)
			}
		}
		if v.children.n == 0 && n != 0 {
			leaves++
		}
		for _, child := range listed(r, t, amongSiblings, v.children) {
			if t.nodes[child].parent != n {
				r.Fatalf("node %d is no child of %d", child, n)
			}
			below += walk(child)
		}
		if below != v.streams {
			r.Fatalf("node %d has %d streams, want %d", n, below, v.streams)
		}
		if v.isBlock && t.find(v.place, v.block) != n {
			r.Fatalf("block %d of %d is not found", v.block, v.place)
		}
		return below
	}
	walk(0)
	if nodes != t.count || leaves != len(listed(r, t, amongLeaves, t.leaves)) || streams != t.Streams(Unknown) {
		r.Fatalf("%d nodes, %d leaves and %d streams, want %d, %d and %d", nodes, leaves, streams, t.count, t.leaves.n,
			t.Streams(Unknown))
	}
	for p, n := range t.at {
		if n != 0 && !t.layout.Within(t.nodes[n].place, Place(p)) {
			r.Fatalf("place %d belongs to the node of %d", p, t.nodes[n].place)
		}
	}
}

// listed returns the nodes of a list, the newest first, whose links agree in both directions.
func listed(r *rapid.T, t *Tree, list int, c chain) (nodes []int32) {
	newer := int32(0)
	for n := c.newest; n != 0; n = t.nodes[n].links[list].older {
		if t.nodes[n].links[list].newer != newer {
			r.Fatalf("list %d: node %d is after %d, but says %d", list, n, newer, t.nodes[n].links[list].newer)
		}
		nodes, newer = append(nodes, n), n
	}
	if c.oldest != newer || int(c.n) != len(nodes) {
		r.Fatalf("list %d ends at %d with %d nodes, want %d and %d", list, newer, len(nodes), c.oldest, c.n)
	}
	return nodes
}

// Whatever is accessed and pinned, the number of nodes stays below its limit, a pinned stream stays open, and two trees
// do the same.
func TestNodesAreLimited(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := drawLayout(r)
		o := Defaults()
		o.Window, o.Nodes = rapid.IntRange(2, 4).Draw(r, "window"), rapid.IntRange(MinNodes, 24).Draw(r, "nodes")
		o.Compress, o.Prune = rapid.Bool().Draw(r, "compress"), rapid.Bool().Draw(r, "prune")
		every := rapid.IntRange(1, 3).Draw(r, "pinned")
		var log [2][]string
		var trees [2]*Tree
		for i := range trees {
			trees[i] = New(l, o)
			trees[i].Pinned = func(s *Stream) bool { return s.ID%every == 0 }
			trees[i].Closed = func(s *Stream) {
				if s.ID%every == 0 {
					r.Fatalf("stream %d is closed although it is pinned", s.ID)
				}
				log[i] = append(log[i], fmt.Sprint("closed ", s.ID))
			}
			trees[i].Opened = func(s *Stream) { log[i] = append(log[i], fmt.Sprint("opened ", s.ID, s.Pattern)) }
			trees[i].Changed = func(s *Stream, before Pattern) {
				log[i] = append(log[i], fmt.Sprint("changed ", s.ID, before, s.Pattern))
			}
		}
		address := l.Address(l.ofRank[0], 0)
		for at := range 300 {
			address = drawAccess(r, l, address)
			for _, tree := range trees {
				tree.Access(address, int64(at))
				if tree.Nodes() > o.Nodes {
					r.Fatalf("%d nodes, at most %d", tree.Nodes(), o.Nodes)
				}
			}
			checkTree(r, trees[0])
		}
		if !slices.Equal(log[0], log[1]) {
			r.Fatalf("two trees differ: %v, %v", log[0], log[1])
		}
	})
}
