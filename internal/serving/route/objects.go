package route

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Placement chooses nodes for objects that are requested one by one. It sees keys and the order of the requests, never
// a cache, so that the requests of each node are known before a replay.
type Placement interface {
	// Use says which nodes exist from now on: at least one, in ascending order.
	Use(nodes []uint16)
	// Homes returns the nodes that may be asked for an object, until the next call of Use.
	Homes(o dense.Object) []uint16
	// Pick returns which of the homes serves the next request, in their order. A choice of one changes nothing, so it
	// may be left out.
	Pick(homes []uint16) uint16
}

// PlaceConfig is what a Placement is built from.
type PlaceConfig struct {
	Params  params.Values
	Objects int                         // of the trace, which have the numbers below
	Key     func(o dense.Object) string // as a client writes it
	Nodes   int                         // at most, at any time
	Seed    uint64
}

// byKey gives each object one node.
type byKey struct {
	home  []uint16                            // per object
	place func(nodes []uint16, home []uint16) // fills home
}

func newByKey(c PlaceConfig, place func(nodes []uint16, home []uint16)) *byKey {
	return &byKey{make([]uint16, c.Objects), place}
}

func (p *byKey) Use(nodes []uint16)            { p.place(nodes, p.home) }
func (p *byKey) Homes(o dense.Object) []uint16 { return p.home[o : o+1] }
func (p *byKey) Pick(homes []uint16) uint16    { return homes[0] }

// hashes returns a hash of each object's key.
func hashes[H uint32 | uint64](c PlaceConfig, of func(key string) H) []H {
	all := make([]H, c.Objects)
	for o := range all {
		all[o] = of(c.Key(dense.Object(o)))
	}
	return all
}

// mixed is a hash of 64 bits: FNV-1a, whose high bits hardly depend on the last letters, and a finalizer.
func mixed(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return random.Scramble(h.Sum64())
}

// placeByRendezvous places each key on the node with the largest hash together with it, so that only the keys of nodes
// that are lost or added move.
func placeByRendezvous(c PlaceConfig) (Placement, error) {
	keys := hashes(c, mixed)
	return newByKey(c, func(nodes []uint16, home []uint16) {
		for o, key := range keys {
			home[o] = highest(key, nodes)
		}
	}), nil
}

// highest returns the node with the largest weight of a key.
func highest(key uint64, nodes []uint16) (node uint16) {
	node = nodes[0]
	largest := weight(key, int(node))
	for _, k := range nodes[1:] {
		if w := weight(key, int(k)); w > largest {
			node, largest = k, w
		}
	}
	return node
}

var moduloEntry = Entry{
	Name: "modulo", Summary: "a hash of the key modulo the number of nodes, as clients of memcached did first; if that " +
		"number changes, nearly all keys move",
	Source: "hash without consistent of nginx 1.26, ngx_http_upstream_hash_module.c, as in Cache::Memcached: bits 16 to " +
		"30 of the CRC-32 of the key",
	Place: func(c PlaceConfig) (Placement, error) {
		keys := hashes(c, func(key string) uint32 { return crc32.ChecksumIEEE([]byte(key)) >> 16 & 0x7fff })
		return newByKey(c, func(nodes []uint16, home []uint16) {
			for o, key := range keys {
				home[o] = nodes[int(key)%len(nodes)]
			}
		}), nil
	},
}

// anywhere has every object on all nodes.
type anywhere struct {
	nodes []uint16
	next  func(n int) int
}

func (p *anywhere) Use(nodes []uint16)          { p.nodes = nodes }
func (p *anywhere) Homes(dense.Object) []uint16 { return p.nodes }
func (p *anywhere) Pick(homes []uint16) uint16 {
	if len(homes) == 1 {
		return homes[0]
	}
	return homes[p.next(len(homes))]
}

func everywhere(params.Values) int { return MostNodes }

func placeInTurn(PlaceConfig) (Placement, error) {
	turn := &roundRobin{}
	return &anywhere{next: func(n int) int { return turn.Route(Prompt{}, n) }}, nil
}

func placeAtRandom(c PlaceConfig) (Placement, error) {
	draws := random.NewDraws(c.Seed)
	return &anywhere{next: func(n int) int { return int(draws.Below(uint64(n))) }}, nil
}

var replicasEntry = Entry{
	Name: "replicas", Summary: "one of several fixed nodes for each key, at random: each loads what it misses, so that " +
		"hot keys are served by several",
	Source: "rendezvous hashing as in hash; the nodes with the largest hashes have the copies",
	Params: []params.Param{{Name: "copies", Default: 2, Min: 1, Max: MostNodes, Doc: "nodes of each key; all, if there " +
		"are fewer"}},
	Random: true,
	Homes:  func(v params.Values) int { return v.Int("copies") },
	Place: func(c PlaceConfig) (Placement, error) {
		return &copies{keys: hashes(c, mixed), wanted: c.Params.Int("copies"), draws: random.NewDraws(c.Seed)}, nil
	},
}

// copies has every object on some nodes.
type copies struct {
	keys   []uint64
	wanted int
	each   int      // copies of a key now
	homes  []uint16 // per object, in the order of their weights
	draws  random.Draws
}

func (p *copies) Use(nodes []uint16) {
	p.each = min(p.wanted, len(nodes))
	p.homes = p.homes[:0]
	left := make([]uint16, 0, len(nodes))
	for _, key := range p.keys {
		left = append(left[:0], nodes...)
		for range p.each {
			node := highest(key, left)
			p.homes = append(p.homes, node)
			left = slices.DeleteFunc(left, func(n uint16) bool { return n == node })
		}
	}
}

func (p *copies) Homes(o dense.Object) []uint16 { return p.homes[int(o)*p.each:][:p.each] }
func (p *copies) Pick(homes []uint16) uint16 {
	if len(homes) == 1 {
		return homes[0]
	}
	return homes[p.draws.Below(uint64(len(homes)))]
}

// NewPlacement returns the placement of a router of objects.
func NewPlacement(s Spec, objects int, key func(dense.Object) string, seed uint64) (Placement, error) {
	p, err := s.Entry.Place(PlaceConfig{Params: s.Params, Objects: objects, Key: key, Seed: seed,
		Nodes: Most(ChangesOf(s))})
	if err != nil {
		return nil, fmt.Errorf("router %s: %w", s, err)
	}
	return p, nil
}
