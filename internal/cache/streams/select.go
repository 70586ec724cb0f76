package streams

import (
	"cmp"
	"slices"
)

// selection is the positions at which most children of a stream are read.
type selection struct {
	share     float64
	at        int64 // transitions when it was computed
	every     int64 // transitions after which it is computed again
	positions []position
	whole     bool // most children are read as a whole
}

// position is a block below a child: a number in a file, or a path and a number.
type position struct {
	hash  uint64
	child Place // an example: a child of the stream,
	file  Place // and a file at or below it
	block uint64
}

// Select appends the addresses to read of a child of the stream, a file or a directory. They are the positions at which
// at least the given share of its recently accessed siblings were read. A position is a path relative to the child and
// the number of a block; positions that the child lacks are left out. whole says that at least that share of the
// siblings was read as a whole. Then all blocks of the child are to be read, and nothing is appended.
//
// Siblings are at most Options.Window children in the tree, without the one that is being accessed. If a sibling is a
// stream itself, only its recent blocks count, unless as many were read as it has. The appended addresses ascend. The
// selection is computed again after a tenth of the siblings are new.
func (s *Stream) Select(child Place, share float64, to []uint64) (addresses []uint64, whole bool) {
	if s.tree == nil || s.tree.layout.IsFile(s.Place) {
		return to, false
	}
	c := &s.selection
	if c.every == 0 || c.share != share || s.moved-c.at >= c.every {
		s.selectPositions(share)
	}
	if c.whole {
		return to, true
	}
	l, from := s.tree.layout, len(to)
	for _, p := range c.positions {
		file, ok := l.counterpart(p.file, p.child, child)
		if ok && l.IsFile(file) && (l.blocks[file] < 0 || int64(p.block) < l.blocks[file]) {
			to = append(to, l.Address(file, p.block))
		}
	}
	slices.Sort(to[from:])
	return to, false
}

// counterpart returns the place at or below p that has the relative path of q at or below an example.
func (l *Layout) counterpart(q, example, p Place) (Place, bool) {
	if q == example {
		return p, true
	}
	directory, ok := l.counterpart(l.tree[q].parent, example, p)
	if !ok || l.IsFile(directory) {
		return 0, false
	}
	return l.child(directory, l.names[q], l.IsFile(q))
}

func (s *Stream) selectPositions(share float64) {
	t, c := s.tree, &s.selection
	read := t.scratch.read[:0]
	siblings, complete := 0, 0
	v := &t.nodes[s.node]
	current := v.children.newest
	n := t.nodes[current].links[amongSiblings].older
	for ; n != 0 && siblings < t.o.Window; n = t.nodes[n].links[amongSiblings].older {
		siblings++
		child := t.childOf(n, s.Place)
		if t.complete(n, child) {
			complete++
		}
		read = t.readBelow(n, child, read)
	}
	t.scratch.read = read
	c.share, c.at, c.every = share, s.moved, int64(max(1, siblings/10))
	c.positions, c.whole = c.positions[:0], siblings > 0 && float64(complete) >= share*float64(siblings)
	if c.whole || siblings == 0 {
		return
	}
	slices.SortFunc(read, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.child, b.child))
	})
	for i := 0; i < len(read); {
		j := i + 1
		for j < len(read) && read[j].hash == read[i].hash {
			j++
		}
		if float64(j-i) >= share*float64(siblings) {
			c.positions = append(c.positions, read[i])
		}
		i = j
	}
}

func (t *Tree) childOf(n int32, directory Place) Place {
	p := t.nodes[n].place
	for t.layout.tree[p].parent != directory {
		p = t.layout.tree[p].parent
	}
	return p
}

// complete reports whether all blocks of a place p with the node n have been read.
func (t *Tree) complete(n int32, p Place) bool {
	l, v := t.layout, &t.nodes[n]
	for q := v.place; q != p; q = l.tree[q].parent { // nothing has branched here
		if l.Entries(l.tree[q].parent) != 1 {
			return false
		}
	}
	if v.isBlock {
		return l.blocks[v.place] == 1
	}
	if entries := l.Entries(v.place); entries < 0 || v.seen < entries {
		return false
	}
	if l.IsFile(v.place) {
		return true
	}
	for child := v.children.newest; child != 0; child = t.nodes[child].links[amongSiblings].older {
		if !t.complete(child, t.childOf(child, v.place)) {
			return false
		}
	}
	return true
}

// readBelow appends the positions of the blocks at or below a node, relative to a child of a stream.
func (t *Tree) readBelow(n int32, child Place, read []position) []position {
	v := &t.nodes[n]
	if v.isBlock {
		hash := mix(v.block + 1)
		for p := v.place; p != child; p = t.layout.tree[p].parent {
			hash = mix(hash ^ hashName(t.layout.names[p]))
		}
		return append(read, position{hash, child, v.place, v.block})
	}
	for below := v.children.newest; below != 0; below = t.nodes[below].links[amongSiblings].older {
		read = t.readBelow(below, child, read)
	}
	return read
}

// hashName is FNV-1a.
func hashName(name string) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 0x100000001b3
	}
	return hash
}

// mix is the finaliser of SplitMix64: a bijection.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
