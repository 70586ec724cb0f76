package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// values are what objects are worth if every miss costs the same: how often an object fits into the largest one seen.
type values struct {
	charges dense.Charges
	largest int64           // size of an object so far, but for the last one
	last    policies.Object // the object loaded last: if it is written before the next load, its last size counts
}

func newValues(c policies.Config) values {
	return values{charges: dense.NewCharges(c.Objects, c.Unit), largest: 1, last: policies.NoObject}
}

// of returns what o is worth, which may have grown since its last request.
func (v *values) of(o policies.Object) int64 {
	largest := v.largest
	if v.last != policies.NoObject {
		largest = max(largest, v.charges.Of(v.last))
	}
	return largest / v.charges.Of(o)
}

// load reports that o is loaded.
func (v *values) load(o policies.Object, size int64) {
	v.see()
	v.last = o
	v.charges.Set(o, size)
}

// see counts the size of the object that was loaded last among those seen.
func (v *values) see() {
	if v.last != policies.NoObject {
		v.largest = max(v.largest, v.charges.Of(v.last))
		v.last = policies.NoObject
	}
}

// remove reports that o is no longer resident.
func (v *values) remove(o policies.Object) {
	if o == v.last {
		v.see()
	}
}

// resized reports that a write has given o another size.
func (v *values) resized(o policies.Object, size int64) {
	v.charges.Set(o, size)
	if o != v.last {
		v.largest = max(v.largest, size)
	}
}
