package route

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// This file contains the routers that send prompts with something in common to one node, whatever is cached there.

const bySession = "session"

var hashEntry = Entry{
	Name: string(Hash), Recommends: true,
	Summary: "a fixed node for each key, or beginning of a prompt, or conversation or user, by a hash; if the number " +
		"of nodes changes, only those move that must",
	Source: "Thaler and Ravishankar, Using name-based mappings to increase hit rates, IEEE/ACM Transactions on " +
		"Networking 1998 (rendezvous hashing)",
	OfPrompts: []params.Param{
		{Name: "by", Default: "blocks", Choices: []string{"blocks", bySession}, Doc: "what is hashed: the first blocks of " +
			"a prompt, or its conversation"},
		{Name: "blocks", Default: 1, Min: 1, Max: 1e6, Doc: "how many blocks, with by=blocks; all of a shorter prompt"},
	},
	Sessions: func(v params.Values) bool { return v.Text("by") == bySession },
	New: func(c Config) Router {
		return &byHash{session: c.Params.Text("by") == bySession, blocks: c.Params.Int("blocks")}
	},
	Place: placeByRendezvous,
}

type byHash struct {
	session bool
	blocks  int
}

func (r *byHash) Route(p Prompt, n int) (node int) {
	// A block stands for all before it.
	key := uint64(p.Blocks[min(r.blocks, len(p.Blocks))-1])
	if r.session {
		key = uint64(p.Session)
	}
	return rendezvous(key, n)
}

func (r *byHash) Keep(int) {}

// rendezvous returns the node, one of the first n, with the largest hash together with key.
func rendezvous(key uint64, n int) (node int) {
	var largest uint64
	key = random.Scramble(key)
	for k := range n {
		if h := weight(key, k); h > largest {
			node, largest = k, h
		}
	}
	return node
}

// weight is the hash of a key, itself a hash, together with a node.
func weight(key uint64, node int) uint64 {
	return random.Scramble(key ^ random.Scramble(^uint64(node)))
}

var sessionEntry = Entry{
	Name: "session", Summary: "the node that served the conversation last; for a new one, the node with the least load",
	Source: "sticky sessions of load balancers",
	Params: []params.Param{loadParam,
		{Name: "remember", Default: 1 << 20, Min: 1, Max: 1 << 30, Doc: "conversations that it remembers, those routed last"},
	},
	Sessions: func(params.Values) bool { return true },
	New: func(c Config) Router {
		return &sticky{node: make([]int32, c.Sessions), recent: dense.NewLists(c.Sessions, 1),
			room: int(c.onSample(int64(c.Params.Int("remember")))), load: loadOf(c)}
	},
}

type sticky struct {
	node   []int32     // per conversation: 1 + its node; 0 if it is not remembered
	recent dense.Lists // conversations that are remembered, the one routed last first
	room   int         // for further ones
	load   func(node int) int64
}

func (r *sticky) Route(p Prompt, n int) int {
	s := dense.Object(p.Session)
	switch known := r.node[s] != 0; {
	case known:
		r.recent.MoveToFront(0, s)
	case r.room == 0:
		r.node[r.recent.PopBack(0)] = 0
		r.recent.PushFront(0, s)
	default:
		r.room--
		r.recent.PushFront(0, s)
	}
	node := int(r.node[s]) - 1
	if node < 0 || node >= n {
		node = leastLoaded(n, r.load)
		r.node[s] = int32(node) + 1
	}
	return node
}

// Keep forgets the conversations of nodes that are gone, so that they do not return to a node of the same number.
func (r *sticky) Keep(n int) {
	for s, node := range r.node {
		if int(node) > n {
			r.node[s] = 0
			r.recent.Unlink(dense.Object(s))
			r.room++
		}
	}
}
