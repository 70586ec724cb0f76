package learned

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// members is a set of objects that can be iterated. Memory: 4 bytes per object and 4 per member.
type members struct {
	list  []policies.Object
	place []uint32 // per object: 1 + its index in list; 0 if it is absent
}

func newMembers(objects int) members { return members{place: make([]uint32, objects)} }

// grow makes room for objects up to objects-1.
func (m *members) grow(objects int) { m.place = dense.Grown(m.place, objects) }

func (m *members) has(o policies.Object) bool { return m.place[o] != 0 }

func (m *members) add(o policies.Object) {
	m.list = append(m.list, o)
	m.place[o] = uint32(len(m.list))
}

func (m *members) remove(o policies.Object) {
	at, last := m.place[o], m.list[len(m.list)-1]
	m.list[at-1], m.place[last] = last, at
	m.list = m.list[:len(m.list)-1]
	m.place[o] = 0
}

func (m *members) clear() {
	for _, o := range m.list {
		m.place[o] = 0
	}
	m.list = m.list[:0]
}
