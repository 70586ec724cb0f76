package lrb

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// tracked are the objects with a history: the residents, and those that were requested within the memory window. A
// random one of either is found in constant time. Memory: 4 bytes per object, and 4 per tracked object.
type tracked struct {
	all       []policies.Object // residents first
	residents int
	at        []uint32 // per object: its index in all + 1, 0 if it is not tracked
}

func newTracked(objects int) tracked { return tracked{at: make([]uint32, objects)} }

func (t *tracked) has(o policies.Object) bool { return t.at[o] != 0 }

// add tracks o, which is not resident.
func (t *tracked) add(o policies.Object) {
	t.all = append(t.all, o)
	t.at[o] = uint32(len(t.all))
}

// promote makes o, which is tracked and not resident, a resident.
func (t *tracked) promote(o policies.Object) {
	t.swap(int(t.at[o])-1, t.residents)
	t.residents++
}

// demote is the opposite of promote.
func (t *tracked) demote(o policies.Object) {
	t.residents--
	t.swap(int(t.at[o])-1, t.residents)
}

// remove ends the tracking of o, which is not resident.
func (t *tracked) remove(o policies.Object) {
	last := len(t.all) - 1
	t.swap(int(t.at[o])-1, last)
	t.all = t.all[:last]
	t.at[o] = 0
}

func (t *tracked) swap(i, j int) {
	t.all[i], t.all[j] = t.all[j], t.all[i]
	t.at[t.all[i]], t.at[t.all[j]] = uint32(i+1), uint32(j+1)
}

func (t *tracked) grow(objects int) { t.at = dense.Grown(t.at, objects) }
