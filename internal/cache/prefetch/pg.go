package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

var pgEntry = Entry{
	Name: "pg",
	Summary: "objects that were requested soon after this one in a large enough share of cases: a graph of " +
		"probabilities",
	Source: "Griffioen and Appleton, Reducing file system latency using a predictive approach, USENIX Summer 1994; " +
		"defaults of libCacheSim",
	Memory: "in bytes: 4 lookahead, and 80 to 120 for each object with edges and for each edge: entries of these, and " +
		"at most lookahead more",
	Params: []params.Param{
		{Name: "lookahead", Default: 20, Min: 1, Max: 100, Doc: "requests after an object whose objects get an edge from " +
			"it"},
		{Name: "threshold", Default: 0.05, Min: 0.001, Max: 1, Doc: "share of an object's counts from which the object at " +
			"the other end of an edge is proposed"},
		{Name: "entries", Default: 1 << 16, Min: 1, Max: 1 << 26, Doc: "objects with edges, and edges; then there are no " +
			"new ones, and the counts of the others go on"},
		{Name: "rule", Default: "all", Choices: []string{"all", "libcachesim"}, Doc: "all: every edge above the threshold " +
			"counts; libcachesim: as in that program, which loses edges below it, and looks no further behind one of them"},
	},
	New: func(c Config) Prefetcher {
		return &pg{
			past:        make([]Object, c.Params.Int("lookahead")),
			threshold:   c.Params.Float("threshold"),
			most:        c.Params.Int("entries"),
			libCacheSim: c.Params.Text("rule") == "libcachesim",
			nodes:       map[Object]int32{},
			edges:       map[pgPair]int32{},
		}
	},
}

// pg has a node for each object, with an edge to each object that was among the next requests: the counts of these say
// how probable they are. A node counts once its next requests are complete.
type pg struct {
	past        []Object // the last requests, as a ring, each 1 + the object; 0: none yet
	next        int      // place in past of the next request
	threshold   float64
	most        int
	full        bool
	libCacheSim bool

	nodes map[Object]int32
	all   []pgNode
	edges map[pgPair]int32
	ends  []pgEdge
	taken []int32
}

// pgPair is an edge from a node to an object.
type pgPair struct {
	node   int32
	object Object
}

// pgNode has its edges in a heap, the most frequent first, from place 1 on. Behind the heap are edges that it has lost,
// as in libCacheSim, which still looks at their places.
type pgNode struct {
	total uint64
	heap  []int32
	size  int
}

type pgEdge struct {
	object Object
	count  uint32
	place  int32 // in the heap
}

func (p *pg) Request(a Access, proposals []Proposal) []Proposal {
	p.count(a.Object)
	node, ok := p.nodes[a.Object]
	if !ok {
		return proposals
	}
	return p.propose(&p.all[node], a.Object, proposals)
}

// count lets the request that leaves the ring count the others as those that follow it.
func (p *pg) count(o Object) {
	leaving := p.past[p.next]
	p.past[p.next] = o + 1
	if p.next++; p.next == len(p.past) {
		p.next = 0
	}
	if leaving == 0 {
		return
	}
	node, ok := p.nodes[leaving-1]
	if !ok {
		if p.full {
			return
		}
		node = int32(len(p.all))
		p.nodes[leaving-1] = node
		p.all = append(p.all, pgNode{heap: make([]int32, 1, 4)})
	}
	n := &p.all[node]
	for _, follows := range p.past {
		n.total++
		pair := pgPair{node, follows - 1}
		if e, known := p.edges[pair]; known {
			p.ends[e].count++
			p.raised(n, int(p.ends[e].place))
			continue
		}
		if p.full {
			return
		}
		p.edges[pair] = int32(len(p.ends))
		p.ends = append(p.ends, pgEdge{object: follows - 1, count: 1})
		p.insert(n, int32(len(p.ends)-1))
	}
	p.full = len(p.all)+len(p.ends) >= p.most
}

// propose takes the edges above the threshold off the heap, and puts them back. The least probable comes first. One to
// the requested object itself is no proposal.
func (p *pg) propose(n *pgNode, requested Object, proposals []Proposal) []Proposal {
	p.taken = p.taken[:0]
	for n.size > 0 {
		e := p.pop(n)
		if float64(p.ends[e].count)/float64(n.total) <= p.threshold {
			if !p.libCacheSim {
				p.insert(n, e)
			}
			break
		}
		p.taken = append(p.taken, e)
	}
	for i := len(p.taken) - 1; i >= 0; i-- {
		e := p.taken[i]
		p.insert(n, e)
		if o := p.ends[e].object; o != requested {
			proposals = append(proposals, Proposal{Object: o})
		}
	}
	return proposals
}

func (p *pg) insert(n *pgNode, e int32) {
	n.size++
	if n.size == len(n.heap) {
		n.heap = append(n.heap, e)
	}
	p.put(n, n.size, e)
	p.rise(n, n.size)
}

func (p *pg) put(n *pgNode, place int, e int32) {
	n.heap[place] = e
	p.ends[e].place = int32(place)
}

// rise moves what is at a place up to where it belongs.
func (p *pg) rise(n *pgNode, place int) {
	e := n.heap[place]
	for ; place > 1 && p.ends[n.heap[place/2]].count < p.ends[e].count; place /= 2 {
		p.put(n, place, n.heap[place/2])
	}
	p.put(n, place, e)
}

// sink moves what is at a place down to where it belongs.
func (p *pg) sink(n *pgNode, place int) {
	e := n.heap[place]
	for child := 2 * place; child <= n.size; child = 2 * place {
		if child < n.size && p.ends[n.heap[child]].count < p.ends[n.heap[child+1]].count {
			child++
		}
		if p.ends[e].count >= p.ends[n.heap[child]].count {
			break
		}
		p.put(n, place, n.heap[child])
		place = child
	}
	p.put(n, place, e)
}

// raised follows a count that has grown. libCacheSim compares the count with itself, so that it looks for a place
// further down only, also where the edge is no longer in the heap.
func (p *pg) raised(n *pgNode, place int) {
	if p.libCacheSim {
		p.sink(n, place)
		return
	}
	p.rise(n, place)
}

// pop removes the edge at the top.
func (p *pg) pop(n *pgNode) int32 {
	first := n.heap[1]
	n.heap[1] = n.heap[n.size]
	n.size--
	p.sink(n, 1)
	return first
}
