package libraries

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// punctual serves requests of a policy whose evictions may be late, and reports all evictions of each. It asks the
// policy which objects it admits.
type punctual struct{ *policytest.Driven }

func (d punctual) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	r := policies.Request{Object: o, Pos: now, Size: size}
	if a, ok := d.Policy.(policies.Admitter); ok && d.Stored[o] == 0 && !a.Admit(r) {
		return false, nil
	}
	hit, victims = d.Driven.Serve(o, size, now)
	return hit, append(victims, policytest.Without(d.expired(), o)...)
}

// expired drops what is evicted late, and returns it.
func (d punctual) expired() (objects []policies.Object) {
	p, ok := d.Policy.(policies.Expirer)
	if !ok {
		return nil
	}
	for o, due := p.Expired(0); due; o, due = p.Expired(0) {
		d.Drop(o)
		objects = append(objects, o)
	}
	return objects
}

// afterEachRequest replays w with occasional removals and, where sizes count, writes, and calls check after each.
func (d punctual) afterEachRequest(t *rapid.T, w policytest.Workload, check func()) {
	removeEvery := rapid.IntRange(5, 100).Draw(t, "removeEvery")
	writeEvery := rapid.IntRange(1, 10).Draw(t, "writeEvery")
	for i, o := range w.Trace {
		resident := d.Stored[o] != 0
		switch {
		case resident && i%removeEvery == 0:
			d.Policy.Remove(o)
			d.Drop(o)
		case resident && !w.Config.Unit && i%writeEvery == 0:
			d.Write(o, policytest.NewSize(t), i)
			d.expired()
		default:
			d.Serve(o, w.Sizes[o], i)
		}
		check()
	}
}

// sortedVictims reports the victims of a request in the order of their numbers: an object that is evicted for itself is
// reported before others that leave with it.
type sortedVictims struct{ policytest.Server }

func (s sortedVictims) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	hit, victims = s.Server.Serve(o, size, now)
	slices.Sort(victims)
	return hit, victims
}
