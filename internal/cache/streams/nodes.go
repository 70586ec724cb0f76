package streams

// insert adds the node of a block, and one where its path branches off. It returns 0 if every node is pinned.
func (t *Tree) insert(file Place, block uint64) int32 {
	needed := 2
	if !t.o.Compress {
		for p := file; p != Root; p = t.layout.tree[p].parent {
			needed++
		}
	}
	if !t.makeRoom(needed) { // first, since it may remove what would be the parent
		return 0
	}
	bottom := file
	if t.o.Compress && t.layout.single(file) {
		bottom = t.layout.tree[file].parent // nothing can branch in the file
	}
	p := bottom
	for p != Root && t.at[p] == 0 {
		p = t.layout.tree[p].parent
	}
	parent := t.at[p]
	if p != Root && !t.isAt(parent, p) {
		parent = t.split(p)
	}
	leaf := t.newNode(node{place: file, block: block, isBlock: true, bottom: bottom, parent: parent, window: -1,
		created: t.now})
	t.addHash(leaf)
	for q := bottom; q != p; q = t.layout.tree[q].parent {
		t.at[q] = leaf
	}
	if parent != 0 && t.nodes[parent].children.n == 0 {
		t.unlink(amongLeaves, &t.leaves, parent)
	}
	t.nodes[parent].seen++
	t.push(amongSiblings, &t.nodes[parent].children, leaf)
	t.push(amongLeaves, &t.leaves, leaf)
	if !t.o.Compress {
		for q := file; q != p; q = t.layout.tree[q].parent {
			t.split(q)
		}
	}
	return leaf
}

// split gives a place that has been part of the node below it a node of its own.
func (t *Tree) split(p Place) int32 {
	below := t.at[p]
	b := t.nodes[below] // a copy, since newNode may move the nodes
	m := t.newNode(node{place: p, bottom: p, parent: b.parent, window: -1, created: b.created, seen: 1,
		streams: b.streams})
	t.replace(amongSiblings, &t.nodes[b.parent].children, below, m)
	index := b.block
	if !b.isBlock || b.place != p {
		q := b.place
		for t.layout.tree[q].parent != p {
			q = t.layout.tree[q].parent
		}
		index = uint64(t.layout.tree[q].index)
	}
	for q := p; q != Root && t.at[q] == below; q = t.layout.tree[q].parent {
		t.at[q] = m
	}
	v := &t.nodes[below]
	v.parent, v.links[amongSiblings] = m, link{}
	t.nodes[m].children = chain{below, below, 1}
	// The node has had one transition: to the only child, when that was first accessed.
	last := t.latest(below)
	t.record(m, transition{index, b.created, last.block, last.place})
	return m
}

// latest returns the block that was accessed last at or below a node, as long as it is in the tree.
func (t *Tree) latest(n int32) *node {
	for t.nodes[n].children.newest != 0 {
		n = t.nodes[n].children.newest
	}
	return &t.nodes[n]
}

// makeRoom removes the least recently accessed leaves until a number of nodes can be added. A pinned leaf counts as
// just accessed, so that it is not met again soon. False if nothing can be removed.
func (t *Tree) makeRoom(nodes int) bool {
	for pinned := int32(0); t.count+nodes > t.o.Nodes; {
		n := t.leaves.oldest
		if n == 0 || pinned > t.leaves.n {
			return false
		}
		if t.pinned(n) {
			t.unlink(amongLeaves, &t.leaves, n)
			t.push(amongLeaves, &t.leaves, n)
			pinned++
			continue
		}
		t.remove(n)
	}
	return true
}

func (t *Tree) remove(n int32) {
	for t.nodes[n].children.n > 0 {
		t.remove(t.nodes[n].children.oldest)
	}
	v := &t.nodes[n]
	if s := v.stream; s != nil {
		t.closeStream(s)
	}
	t.unlink(amongLeaves, &t.leaves, n)
	parent := v.parent
	t.unlink(amongSiblings, &t.nodes[parent].children, n)
	for p := v.bottom; p != Root && t.at[p] == n; p = t.layout.tree[p].parent {
		t.at[p] = 0
	}
	if v.isBlock {
		t.dropHash(n)
	}
	if v.window >= 0 {
		t.windows[v.window] = window{entries: t.windows[v.window].entries[:0]}
		t.unused = append(t.unused, v.window)
	}
	*v = node{parent: t.free}
	t.free = n
	t.count--
	if parent != 0 && t.nodes[parent].children.n == 0 {
		// It was last accessed with the last of its children, the oldest of all.
		t.pushOldest(amongLeaves, &t.leaves, parent)
	}
}

func (t *Tree) newNode(v node) int32 {
	t.count++
	if n := t.free; n != 0 {
		t.free = t.nodes[n].parent
		t.nodes[n] = v
		return n
	}
	t.nodes = append(t.nodes, v)
	return int32(len(t.nodes) - 1)
}

// touch makes a child the most recent one of its parent.
func (t *Tree) touch(parent, child int32) {
	if c := &t.nodes[parent].children; c.newest != child {
		t.unlink(amongSiblings, c, child)
		t.push(amongSiblings, c, child)
	}
}

// push makes a node the newest of a list.
func (t *Tree) push(list int, c *chain, n int32) {
	t.place(list, c, 0, n, c.newest)
	c.n++
}

func (t *Tree) pushOldest(list int, c *chain, n int32) {
	t.place(list, c, c.oldest, n, 0)
	c.n++
}

// replace gives a node the place of another one in a list.
func (t *Tree) replace(list int, c *chain, old, n int32) {
	v := t.nodes[old].links[list]
	t.place(list, c, v.newer, n, v.older)
}

// place puts a node between two of a list.
func (t *Tree) place(list int, c *chain, newer, n, older int32) {
	t.join(list, c, newer, n)
	t.join(list, c, n, older)
}

// unlink takes a node out of a list. Its links stay as they were.
func (t *Tree) unlink(list int, c *chain, n int32) {
	v := t.nodes[n].links[list]
	t.join(list, c, v.newer, v.older)
	c.n--
}

// join makes two nodes of a list neighbours; 0 is beyond its ends.
func (t *Tree) join(list int, c *chain, newer, older int32) {
	if newer != 0 {
		t.nodes[newer].links[list].older = older
	} else {
		c.newest = older
	}
	if older != 0 {
		t.nodes[older].links[list].newer = newer
	} else {
		c.oldest = newer
	}
}

// head returns the list of the blocks with the hash of a block.
func (t *Tree) head(file Place, block uint64) *int32 {
	hash := (block ^ uint64(file)*0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15
	return &t.heads[hash>>32&uint64(len(t.heads)-1)]
}

func (t *Tree) find(file Place, block uint64) int32 {
	n := *t.head(file, block)
	for n != 0 && (t.nodes[n].block != block || t.nodes[n].place != file) {
		n = t.nodes[n].next
	}
	return n
}

func (t *Tree) addHash(n int32) {
	if t.count > len(t.heads) {
		t.rehash()
	}
	head := t.head(t.nodes[n].place, t.nodes[n].block)
	t.nodes[n].next, *head = *head, n
}

func (t *Tree) dropHash(n int32) {
	at := t.head(t.nodes[n].place, t.nodes[n].block)
	for *at != n {
		at = &t.nodes[*at].next
	}
	*at = t.nodes[n].next
}

func (t *Tree) rehash() {
	old := t.heads
	t.heads = make([]int32, 2*len(old))
	for _, n := range old {
		for n != 0 {
			next := t.nodes[n].next
			head := t.head(t.nodes[n].place, t.nodes[n].block)
			t.nodes[n].next, *head = *head, n
			n = next
		}
	}
}
