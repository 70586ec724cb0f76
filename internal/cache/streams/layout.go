// Package streams recognises how the files of a data set are read. It keeps recent accesses in a tree of directories,
// files and blocks, the AccessStreamTree of IGTCache, and sorts each node with many children into one of three
// patterns: sequential, random or skewed.
//
// Source: "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads", arXiv 2506.12370, sections 3.1, 3.2
// and 4. Where the paper is silent the comments say what was chosen.
package streams

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Place is a directory or a file of a Layout, dense from 0. The root is 0, and the entries of a directory have
// consecutive numbers, in the order of its listing.
type Place = int32

// Root is the directory that contains everything.
const Root Place = 0

// File is a file of a data set.
type File struct {
	Path  string
	Bytes int64 // -1 if its size is unknown
}

// Layout is a directory tree with its listings. It is read-only, made once per trace and shared by all replays. Memory:
// about 60 bytes per file or directory, besides the paths.
type Layout struct {
	tree    []place
	names   []string
	bytes   []int64 // per place: of all its files; -1 if the size of one is unknown
	blocks  []int64 // likewise
	ranks   []int32 // per file: position in the order of the paths, the upper part of its addresses
	ofRank  []Place
	block   int64 // bytes in a full block
	shift   int   // bits of an address that number the block; 64: there is one file, and they all do
	numbers bool  // names are in natural order

	paths   []File // in the order of the ranks
	natural func() *Layout
}

// place is what the tree of accesses needs of a directory or a file: one line of the processor's cache.
type place struct {
	parent  Place
	index   int32 // position in the listing of the parent
	first   Place // of a directory: its first entry; of a file: 1 if it has a single block
	entries int32 // of a directory: how many; -1 for a file
}

// NewLayout returns the layout of files in blocks of the given bytes. The address of a block is rank<<shift | number,
// where rank is the position of its file in the order of the paths, compared as strings. Directories list their entries
// in lexicographic order; see Natural.
func NewLayout(files []File, block int64, shift int) *Layout {
	inOrder := slices.Clone(files)
	slices.SortFunc(inOrder, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return newLayout(inOrder, block, shift, false)
}

// NewKeys returns the layout of a trace without files: one file of unknown size whose blocks are the keys. Each block
// is charged the given bytes.
func NewKeys(block int64) *Layout {
	return newLayout([]File{{Path: "keys", Bytes: -1}}, block, 64, false)
}

func newLayout(inOrder []File, block int64, shift int, natural bool) *Layout {
	l := &Layout{block: block, shift: shift, paths: inOrder, ofRank: make([]Place, len(inOrder)), numbers: natural}
	l.build()
	l.sum()
	l.natural = func() *Layout { return l }
	if !natural {
		l.natural = sync.OnceValue(func() *Layout { return newLayout(inOrder, block, shift, true) })
	}
	return l
}

// Natural returns the same addresses with listings in natural order: numbers in names are compared by their values, so
// that 9 comes before 10. It is made when it is first needed.
func (l *Layout) Natural() *Layout { return l.natural() }

// group is the files at or below one entry of a directory: a range of the order of build.
type group struct {
	name      string
	from, end int
	directory bool
}

// build numbers the places, directory by directory, so that the entries of each have consecutive numbers.
func (l *Layout) build() {
	// ranks in the order of the components of their paths, in which the files of a directory are adjacent
	byParts := make([]int32, len(l.paths))
	for rank := range byParts {
		byParts[rank] = int32(rank)
	}
	slices.SortStableFunc(byParts, func(a, b int32) int { return compareParts(l.paths[a].Path, l.paths[b].Path) })
	type open struct {
		place     Place
		from, end int
		prefix    int // bytes of the paths that name the directory, with the slash
	}
	l.add(Root, 0, "", true)
	var groups []group
	for queue := []open{{Root, 0, len(byParts), 0}}; len(queue) > 0; queue = queue[1:] {
		d := queue[0]
		groups = groups[:0]
		for i := d.from; i < d.end; i++ {
			name, _, directory := strings.Cut(l.paths[byParts[i]].Path[d.prefix:], "/")
			if n := len(groups); directory && n > 0 && groups[n-1].directory && groups[n-1].name == name {
				groups[n-1].end = i + 1
				continue
			}
			groups = append(groups, group{name, i, i + 1, directory})
		}
		if l.numbers {
			slices.SortStableFunc(groups, func(a, b group) int { return compareNatural(a.name, b.name) })
		}
		l.tree[d.place].first, l.tree[d.place].entries = Place(len(l.tree)), int32(len(groups))
		for index, g := range groups {
			place := l.add(d.place, int32(index), g.name, g.directory)
			if g.directory {
				queue = append(queue, open{place, g.from, g.end, d.prefix + len(g.name) + 1})
				continue
			}
			rank := byParts[g.from]
			l.ranks[place], l.ofRank[rank] = rank, place
		}
	}
}

func (l *Layout) add(parent Place, index int32, name string, directory bool) Place {
	entries := int32(-1)
	if directory {
		entries = 0
	}
	l.tree = append(l.tree, place{parent, index, 0, entries})
	l.names, l.ranks = append(l.names, name), append(l.ranks, -1)
	return Place(len(l.tree) - 1)
}

// sum adds up the sizes of files: children have higher numbers than their parents.
func (l *Layout) sum() {
	l.bytes, l.blocks = make([]int64, len(l.tree)), make([]int64, len(l.tree))
	for p := Place(len(l.tree)) - 1; p >= 0; p-- {
		if l.IsFile(p) {
			l.bytes[p], l.blocks[p] = -1, -1
			if bytes := l.paths[l.ranks[p]].Bytes; bytes >= 0 {
				l.bytes[p], l.blocks[p] = bytes, (bytes+l.block-1)/l.block
				if l.blocks[p] == 1 {
					l.tree[p].first = 1
				}
			}
		}
		if p == Root {
			return
		}
		parent := l.tree[p].parent
		if l.bytes[p] < 0 || l.bytes[parent] < 0 {
			l.bytes[parent], l.blocks[parent] = -1, -1
			continue
		}
		l.bytes[parent] += l.bytes[p]
		l.blocks[parent] += l.blocks[p]
	}
}

// compareParts orders paths component by component: the slash is below every other byte.
func compareParts(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNatural orders names by the values of the numbers in them, which may have any number of digits.
func compareNatural(a, b string) int {
	for i, j := 0, 0; ; {
		if i == len(a) || j == len(b) {
			if c := cmp.Compare(len(a)-i, len(b)-j); c != 0 {
				return c
			}
			return strings.Compare(a, b) // 1 and 01, say
		}
		x, y := digits(a[i:]), digits(b[j:])
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[i:i+x], "0"), strings.TrimLeft(b[j:j+y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			i, j = i+x, j+y
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i, j = i+1, j+1
	}
}

func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

func (l *Layout) Len() int { return len(l.tree) }

// Find returns the file and the number of the block at an address of the layout.
func (l *Layout) Find(address uint64) (file Place, block uint64) {
	return l.ofRank[address>>l.shift], address & (1<<l.shift - 1) // with a shift of 64, file 0 and all bits
}

// FileAfter returns the file with the next addresses: files are in the order of their paths. ok is false for the last.
func (l *Layout) FileAfter(file Place) (next Place, ok bool) {
	rank := l.ranks[file] + 1
	if int(rank) == len(l.ofRank) {
		return 0, false
	}
	return l.ofRank[rank], true
}

func (l *Layout) Address(file Place, block uint64) uint64 {
	return uint64(l.ranks[file])<<l.shift | block
}

// Bytes returns the size of the block at an address: a full block, or what is left of the file. It is 0 behind the end
// of the file, and a full block if the size of the file is unknown.
func (l *Layout) Bytes(address uint64) int64 {
	file, block := l.Find(address)
	size := l.bytes[file]
	switch {
	case size < 0:
		return l.block
	case int64(block) >= l.blocks[file]:
		return 0
	}
	return min(l.block, size-int64(block)*l.block)
}

// Charge returns Bytes, or 0 for a layout of keys.
func (l *Layout) Charge(address uint64) int64 {
	if l.shift == 64 {
		return 0
	}
	return l.Bytes(address)
}

func (l *Layout) single(file Place) bool { return l.tree[file].first == 1 }

// follows reports whether a block comes after another one in a file, or begins the next file of the directory.
func (l *Layout) follows(file Place, block uint64, next Place, nextBlock uint64) bool {
	if file == next {
		return nextBlock == block+1
	}
	a, b := &l.tree[file], &l.tree[next]
	return nextBlock == 0 && a.parent == b.parent && b.index == a.index+1
}
func (l *Layout) IsFile(p Place) bool { return l.tree[p].entries < 0 }

// Entries returns how many children a place can have, entries or blocks; -1 for a file of unknown size.
func (l *Layout) Entries(p Place) int64 {
	if l.IsFile(p) {
		return l.blocks[p]
	}
	return int64(l.tree[p].entries)
}

// Entry returns an entry of a directory by its position in the listing, from 0.
func (l *Layout) Entry(directory Place, index int64) Place {
	return l.tree[directory].first + Place(index)
}

func (l *Layout) Index(p Place) int64 { return int64(l.tree[p].index) }

// Parent returns the directory of a place; the root is its own.
func (l *Layout) Parent(p Place) Place { return l.tree[p].parent }
func (l *Layout) Name(p Place) string  { return l.names[p] }

// Path returns the path of a place, which is never empty. The root's is "/"; if paths are absolute, "/" is the
// directory that they have in common, and the root above it is ".".
func (l *Layout) Path(p Place) string {
	slash := Root
	if first, ok := l.child(Root, "", false); ok {
		slash = first
	}
	switch p {
	case slash:
		return "/"
	case Root:
		return "."
	}
	var parts []string
	for ; p != Root; p = l.tree[p].parent {
		parts = append(parts, l.names[p])
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/")
}

// Size returns the bytes of a file, or of all files below a directory; -1 if the size of one is unknown.
func (l *Layout) Size(p Place) int64 { return l.bytes[p] }

// Blocks returns the blocks of a file, or of all files below a directory; -1 if the size of one is unknown.
func (l *Layout) Blocks(p Place) int64 { return l.blocks[p] }

// Within reports whether a place is below another one, or is the same.
func (l *Layout) Within(p, directory Place) bool {
	for p > directory { // parents have lower numbers
		p = l.tree[p].parent
	}
	return p == directory
}

func (l *Layout) child(directory Place, name string, file bool) (Place, bool) {
	first, n := l.tree[directory].first, l.tree[directory].entries
	compare := strings.Compare
	if l.numbers {
		compare = compareNatural
	}
	i, _ := slices.BinarySearchFunc(l.names[first:first+n], name, compare)
	for p := first + Place(i); p < first+n && l.names[p] == name; p++ { // a file and a directory may have the same name
		if l.IsFile(p) == file {
			return p, true
		}
	}
	return 0, false
}

// Walk goes through all blocks of a file, or of the files below a directory, in the order of the listings.
type Walk struct {
	layout *Layout
	top    Place
	file   Place
	block  int64
	done   bool
}

// Walk returns a walk from the first block of a place. Files of unknown size have no blocks.
func (l *Layout) Walk(top Place) Walk {
	w := Walk{layout: l, top: top}
	w.descend(top)
	return w
}

// Next returns the address of the next block; false after the last one.
func (w *Walk) Next() (address uint64, ok bool) {
	for !w.done {
		if w.block < w.layout.blocks[w.file] {
			w.block++
			return w.layout.Address(w.file, uint64(w.block-1)), true
		}
		w.advance(w.file)
	}
	return 0, false
}

// descend goes to the first file at or below a place.
func (w *Walk) descend(p Place) {
	for !w.layout.IsFile(p) {
		if w.layout.tree[p].entries == 0 {
			w.advance(p)
			return
		}
		p = w.layout.tree[p].first
	}
	w.file, w.block = p, 0
}

// advance goes to the first file after a place and all that is below it.
func (w *Walk) advance(p Place) {
	for ; p != w.top; p = w.layout.tree[p].parent {
		if parent := w.layout.tree[p].parent; w.layout.tree[p].index+1 < w.layout.tree[parent].entries {
			w.descend(p + 1)
			return
		}
	}
	w.done = true
}
