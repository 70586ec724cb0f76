package cache

import (
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// Members are the objects that a pool has seen, numbered from 0 in the order of their first appearance. A pool with
// members needs memory only for these, and so does its policy, which sees only their numbers.
type Members struct {
	objects   []policies.Object // by number
	partition *Partition        // nil: other pools may see the same objects
	grower    policies.Grower   // the policy of their pool
	places    []uint32          // open addressing by hash, 1 + number or 0; nil with a partition
}

// Partition stores the numbers of objects that each belong to one of many pools. Memory: 4 bytes per object, once.
type Partition struct{ numbers []uint32 }

func NewPartition(objects int) *Partition { return &Partition{make([]uint32, objects)} }

// fewestMembers is the number of members for which a pool initially has room.
const fewestMembers = 8

// NewMembers returns an empty set of members. With a partition, no other pool with that partition may see the same
// object; nil uses 8 to 16 bytes per member instead.
func NewMembers(partition *Partition) *Members {
	m := &Members{partition: partition}
	if partition == nil {
		m.places = make([]uint32, 2*fewestMembers)
	}
	return m
}

func (m *Members) Object(number uint32) policies.Object { return m.objects[number] }
func (m *Members) Len() int                             { return len(m.objects) }

// find returns the number of a member; ok is false if o is not a member.
func (m *Members) find(o policies.Object) (number uint32, ok bool) {
	if m.partition != nil {
		n := m.partition.numbers[o]
		return n, int(n) < len(m.objects) && m.objects[n] == o
	}
	place := m.place(o)
	return m.places[place] - 1, m.places[place] != 0
}

// place returns the slot of o's number, or the slot for inserting it.
func (m *Members) place(o policies.Object) int {
	mask := len(m.places) - 1
	// Fibonacci hashing: the high bits of the product, as many as the table needs.
	at := int(o * 0x9e3779b1 >> (32 - bits.Len(uint(mask))))
	for m.places[at] != 0 && m.objects[m.places[at]-1] != o {
		at = (at + 1) & mask
	}
	return at
}

// add makes o, which is not a member yet, a member.
func (m *Members) add(o policies.Object) (number uint32) {
	number = uint32(len(m.objects))
	m.objects = append(m.objects, o)
	if m.partition != nil {
		m.partition.numbers[o] = number
		return number
	}
	if 2*len(m.objects) > len(m.places) {
		m.places = make([]uint32, 2*len(m.places))
		for n, member := range m.objects[:number] {
			m.places[m.place(member)] = uint32(n) + 1
		}
	}
	m.places[m.place(o)] = number + 1
	return number
}

// NewMemberPool returns an empty pool that numbers its objects itself and builds its policy from c. There may be
// thousands of such pools.
//
// A policy that is offline, uses relations between objects, or cannot grow keeps the numbers of the trace. Its pool has
// no members and needs memory for all c.Objects.
func NewMemberPool(spec policies.Spec, c policies.Config, members *Members) (*Pool, error) {
	few := c
	few.Objects, few.Grows = fewestMembers, true
	if c.Key != nil {
		few.Key = func(o policies.Object) uint64 { return c.Key(members.Object(o)) }
	}
	if c.Predictor != nil {
		few.Predictor = predict.Renumber(c.Predictor, members.Object)
	}
	if spec.Entry.Kind == policies.Online && !spec.Entry.Relates {
		p, err := spec.Entry.New(few)
		if err != nil {
			return nil, err
		}
		if grower, ok := p.(policies.Grower); ok {
			members.grower = grower
			pool := NewPool(p, c.Capacity, few.Objects)
			pool.members = members
			return pool, nil
		}
	}
	p, err := spec.Entry.New(c)
	if err != nil {
		return nil, err
	}
	return NewPool(p, c.Capacity, c.Objects), nil
}

// number returns the number of o among the members, and adds it if necessary.
func (p *Pool) number(o policies.Object) policies.Object {
	n, ok := p.members.find(o)
	if ok {
		return n
	}
	n = p.members.add(o)
	if room := max(len(p.here), len(p.stored)); int(n) == room {
		p.here = slices.Concat(p.here, make([]bool, len(p.here)))
		p.stored = slices.Concat(p.stored, make([]int64, len(p.stored)))
		p.members.grower.Grow(2 * room)
	}
	return n
}

// name returns the number of an object in the trace.
func (p *Pool) name(o policies.Object) policies.Object {
	if p.members == nil {
		return o
	}
	return p.members.objects[o]
}
