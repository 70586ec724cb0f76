package all_test

import (
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/policies/suite"
)

// bytesOfMany is what a policy may take in a pool of a hundred members, ten of which fit, after a thousand requests.
// Most take 0.4 to 5 KB; those that simulate other policies take the most.
const bytesOfMany = 24 << 10

// TestManyPoliciesAreCheap: with thousands of pools, each pool's policy takes memory only for the members that the pool
// has met.
func TestManyPoliciesAreCheap(t *testing.T) {
	const members, fit = 100, 10
	pools := brief.Of(50, 10)
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		switch {
		case e.Kind == policies.Offline || e.Relates || e.Unbounded:
			t.Skip("works with the objects of the whole trace")
		case e.Memory.Fixed > 0:
			t.Skip("its entry states what it takes whatever it holds")
		}
		c := policies.Config{
			Capacity: fit, Unit: true, Objects: 8, Grows: true, Requests: 100_000_000, Params: params.Defaults(e.Params),
		}
		c.Key = func(o policies.Object) uint64 { return uint64(o) }
		tr := policytest.Trace(1, 1000, members)
		if policies.Can[policies.PredictorUser](e) {
			c.Predictor = policytest.Noisy(t, tr, fit)
		}
		all := make([]policies.Policy, pools)
		before := policytest.ReachableBytes()
		for i := range all {
			p := must.Get(e.New(c))(t)
			all[i] = p
			for objects := 16; objects/2 < members; objects *= 2 {
				p.(policies.Grower).Grow(objects)
			}
			d := suite.NewDriver(p, fit)
			for _, o := range tr.Objects {
				must.Do(t, d.Do(suite.Step{Kind: suite.Request, Object: o, Size: 1}))
			}
		}
		if each := (policytest.ReachableBytes() - before) / int64(pools); each > bytesOfMany {
			t.Errorf("%d bytes for each of %d pools, want at most %d", each, pools, bytesOfMany)
		} else {
			t.Logf("%d bytes for each pool", each)
		}
		runtime.KeepAlive(all)
	})
}
