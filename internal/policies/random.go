package policies

import (
	"math/bits"
	"math/rand/v2"
)

var randomEntry = Entry{
	Name:    "random",
	Summary: "evicts an object drawn at random, every resident one alike",
	Source:  "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	New:     func(c Config) (Policy, error) { return newRandom(c), nil },
}

type random struct {
	set      objectSet
	rng      *rand.PCG
	capacity int // objects, batch path only
}

func newRandom(c Config) *random {
	return &random{set: newObjectSet(c.Objects), rng: rand.NewPCG(c.Seed, 0), capacity: int(c.Capacity)}
}

func (p *random) Hit(Request)  {}
func (p *random) Miss(Request) {}

func (p *random) Victim(Request) Object { return p.evict() }

func (p *random) evict() Object {
	v := p.set.members[draw(p.rng, len(p.set.members))]
	p.set.remove(v)
	return v
}

func (p *random) Insert(r Request) { p.set.add(r.Object) }

func (p *random) Remove(o Object) { p.set.remove(o) }

func (p *random) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.set.has(o) {
			hits++
			continue
		}
		if len(p.set.members) == p.capacity {
			p.evict()
			evictions++
		}
		p.set.add(o)
	}
	return hits, evictions
}

// draw returns a number from 0 to n-1, every one alike (within n/2^64).
func draw(rng *rand.PCG, n int) int {
	high, _ := bits.Mul64(rng.Uint64(), uint64(n))
	return int(high)
}

// objectSet is a set of objects from which a random member can be drawn. Memory: 4 bytes per object and 4 per member.
type objectSet struct {
	members []Object
	slot    []uint32 // per object: 1 + its index in members; 0 where it is no member
}

func newObjectSet(n int) objectSet { return objectSet{slot: make([]uint32, n)} }

func (s *objectSet) has(o Object) bool { return s.slot[o] != 0 }

func (s *objectSet) add(o Object) {
	s.members = append(s.members, o)
	s.slot[o] = uint32(len(s.members))
}

// remove takes o out; the last member moves to its place.
func (s *objectSet) remove(o Object) {
	at := s.slot[o]
	last := s.members[len(s.members)-1]
	s.members[at-1], s.slot[last] = last, at
	s.slot[o] = 0
	s.members = s.members[:len(s.members)-1]
}

// swap exchanges the places i and j.
func (s *objectSet) swap(i, j int) {
	a, b := s.members[i], s.members[j]
	s.members[i], s.members[j] = b, a
	s.slot[b], s.slot[a] = uint32(i)+1, uint32(j)+1
}
