package boosted

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// A row has the times between the requests before its own, the latest first, of what is remembered of an object.
func TestLHRFollowsTheNaiveVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		d := policytest.Drive(t, "lhr(deltas=4,min-leaf=2,trees=3,leaves=4)", w.Config)
		p := d.Policy.(*lhr)
		p.limit = int32(rapid.IntRange(5, 60).Draw(t, "limit"))
		p.longest = p.limit
		times := map[policies.Object][]int{}
		began, horizon := 0, math.MaxInt32
		var rowsOf []policies.Object
		for i, o := range w.Trace {
			if w.Sizes[o] > w.Config.Capacity {
				continue
			}
			windows, before := p.windows, maps.Clone(d.Stored)
			d.Serve(o, w.Sizes[o], i)
			now := int(p.now)
			if rowsOf = append(rowsOf, o); windows != p.windows {
				if len(rowsOf) != int(p.longest) {
					t.Fatalf("request %d: the window ends after %d requests, want %d", i, len(rowsOf), p.longest)
				}
				times[o] = append([]int{now}, times[o]...)
				horizon, began, rowsOf = 2*(now-began), now, nil
				for o, at := range times {
					if now-at[0] > horizon && before[o] == 0 {
						delete(times, o)
					}
				}
				continue
			}
			want := make([]float64, 6)
			at := append([]int{now}, times[o]...)
			for k := range 4 {
				want[k] = math.NaN()
				if k+1 < len(at) {
					want[k] = float64(at[k] - at[k+1])
				}
			}
			want[5] = float64(w.Sizes[o])
			got := slices.Clone(p.rows[len(p.rows)-len(p.row):])
			got[4] = 0 // the number of deltas within the horizon, as of lrb
			if !slices.Equal(p.rowsOf, rowsOf) || slices.CompareFunc(got, want, cmp.Compare[float64]) != 0 {
				t.Fatalf("request %d to object %d: rows of %v, the last one %v; want %v, %v", i, o, p.rowsOf, got, rowsOf, want)
			}
			times[o] = at
		}
	})
}

func TestLHRBoundHasTheMostRequestedByByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.IntRange(1, 30).Draw(t, "objects")
		p := policytest.Drive(t, "lhr", policies.Config{Capacity: 40, Objects: objects}).Policy.(*lhr)
		for o := range policies.Object(objects) {
			p.sizes.Set(o, rapid.Int64Range(1, 20).Draw(t, "size"))
			p.counts[o] = rapid.Uint32Range(1, 9).Draw(t, "count")
			p.seen = append(p.seen, o)
		}
		p.rank()
		p.fillBound()
		left := int64(40)
		for range objects {
			best := -1
			for o := range objects {
				if p.counts[o] == 0 {
					continue // looked at before
				}
				worth := func(o int) float64 { return float64(p.counts[o]) / float64(p.sizes[o]) }
				if best < 0 || worth(o) > worth(best) || worth(o) == worth(best) && p.counts[o] > p.counts[best] {
					best = o
				}
			}
			fits := p.sizes[best] <= left
			if fits {
				left -= p.sizes[best]
			}
			if p.bound[best] != fits {
				t.Fatalf("object %d of %d bytes, with %d left: in the bound %v", best, p.sizes[best], left, p.bound[best])
			}
			p.counts[best] = 0
		}
	})
}

// Popular objects, and between them others that are requested once. The trees learn to keep the latter out.
func TestLHRKeepsScansOut(t *testing.T) {
	const requests = 20_000
	hits := func(spec string) (n int) {
		d := policytest.Drive(t, spec, policies.Config{Capacity: 40, Unit: true, Objects: requests, Requests: requests})
		for i := range requests {
			o := policies.Object(i)
			if i%2 == 0 {
				o = policies.Object(i / 2 * 7 % 30)
			}
			if hit, _ := d.Serve(o, 1, i); hit {
				n++
			}
		}
		return n
	}
	if got, lru := hits("lhr"), hits("lru"); got < 7*requests/20 || lru > requests/20 {
		t.Errorf("%d hits of lhr, %d of lru, of %d requests; want at least %d, and few", got, lru, requests, 7*requests/20)
	}
}

// The threshold is one by which as few requests as possible are decided otherwise than by the bound.
func TestLHRTunesTheThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		d := policytest.Drive(t, "lhr(min-leaf=2,trees=3,leaves=4)", w.Config)
		p := d.Policy.(*lhr)
		for i, o := range w.Trace {
			d.Serve(o, 1, i)
		}
		p.rank()
		p.fillBound()
		p.train()
		wrong := func(threshold float64) (n int) {
			for i, o := range p.rowsOf {
				if (p.model.Predict(p.rows[i*len(p.row):][:len(p.row)]) >= threshold) != p.bound[o] {
					n++
				}
			}
			return n
		}
		for i := range p.rowsOf {
			other := p.model.Predict(p.rows[i*len(p.row):][:len(p.row)])
			if wrong(other) < wrong(p.threshold) {
				t.Fatalf("threshold %v: %d wrong; %v: %d", p.threshold, wrong(p.threshold), other, wrong(other))
			}
		}
	})
}
