package boosted

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// worthOf replays the first requests of a trace, and returns what its hits are worth in bytes, and the window at the
// end.
func worthOf(t *testing.T, spec string, tr policytest.Workload, requests int) (worth int64, window int32) {
	d := policytest.Drive(t, spec, tr.Config)
	for pos, o := range tr.Trace[:requests] {
		if hit, _ := d.Serve(o, tr.Sizes[o], pos); hit {
			worth += tr.Sizes[o]
		}
	}
	return worth, d.Policy.(*lrb).window
}

// After the first fifth window=auto has the window that would have served it best, and serves as with reach until then.
func TestAutoChoosesTheBestWindow(t *testing.T) {
	chosen := map[float64]bool{}
	for seed := range brief.Of[uint64](6, 3) {
		tr := policytest.Trace(seed, 6000, 400)
		w := policytest.Workload{Trace: tr.Objects, Sizes: make([]int64, tr.NumObjects)}
		for o := range w.Sizes {
			w.Sizes[o] = 1 + int64(o)%5
		}
		w.Config = policies.Config{Capacity: 100, Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: 3}
		if w.Config.Unit = seed%2 == 0; w.Config.Unit {
			w.Config.Capacity = 30
			for o := range w.Sizes {
				w.Sizes[o] = 1
			}
		}
		const small = "first-batch=100,trees=4"
		fifth := len(w.Trace) / 5
		most, window := worthOf(t, "lrb("+small+")", w, fifth)
		until, _ := worthOf(t, "lrb(window=auto,"+small+")", w, fifth)
		if until != most {
			t.Errorf("seed %d: hits worth %d bytes before the choice, want %d, as without it", seed, until, most)
		}
		best := 16.0
		for _, reach := range []float64{4, 8, 32, 64} {
			if worth, at := worthOf(t, fmt.Sprintf("lrb(reach=%v,%s)", reach, small), w, fifth); worth > most {
				best, most, window = reach, worth, at
			}
		}
		d := policytest.Drive(t, "lrb(window=auto,"+small+")", w.Config)
		p := d.Policy.(*lrb)
		for pos, o := range w.Trace[:fifth] {
			d.Serve(o, w.Sizes[o], pos)
		}
		trials, model := p.trials, p.learner.model
		if chosen := trials.best(); chosen != nil {
			model = chosen.learner.model
		}
		if d.Serve(w.Trace[fifth], w.Sizes[w.Trace[fifth]], fifth); p.learner.model != model {
			t.Errorf("seed %d: it does not continue with the model of the best window", seed)
		}
		if p.chosen != best || p.reach != best || p.window != window || p.trials != nil {
			t.Errorf("seed %d: window %d, reach %v (recorded as %v); want %d, %v", seed, p.window, p.reach, p.chosen, window,
				best)
		}
		chosen[best] = true
	}
	if len(chosen) < 2 {
		t.Errorf("the best is always %v; the test needs several", chosen)
	}
}

// Trials follow what happens to the cache besides requests, and nothing of it makes them exceed their capacity.
func TestTrialsFollowTheirCache(t *testing.T) {
	tr := policytest.Trace(1, 4000, 300)
	p := policytest.Drive(t, "lrb(window=auto,first-batch=100,trees=2)", policies.Config{Capacity: 40, Unit: true,
		Objects: tr.NumObjects, Requests: 5 * len(tr.Objects), Seed: 1}).Policy.(*lrb)
	held := func(o policies.Object) (n int) {
		for _, other := range p.trials.each {
			if other.policy.flags[o]&resident != 0 {
				n++
			}
		}
		return n
	}
	p.serve(tr.Objects)
	o := p.tracked.All[0]
	if held(o) == 0 {
		t.Fatal("no trial has the object; the test needs one that has")
	}
	if p.Remove(o); held(o) != 0 {
		t.Errorf("%d trials have an object that was removed", held(o))
	}
	p.Resize(7)
	p.Grow(tr.NumObjects + 1)
	load := policies.Request{Object: policies.Object(tr.NumObjects), Size: 1, Reason: policies.Prefetch}
	if p.Miss(load); held(load.Object) != len(p.trials.each) {
		t.Errorf("%d trials have an object that was loaded without a request, want all %d", held(load.Object),
			len(p.trials.each))
	}
	for _, other := range p.trials.each {
		if other.used != 7 || other.policy.tracked.Front != 7 || other.policy.capacity != 7 {
			t.Errorf("a trial uses %d of %d, and has %d objects; want 7", other.used, other.policy.capacity,
				other.policy.tracked.Front)
		}
	}
}

func TestParametersThatCannotBe(t *testing.T) {
	for spec, want := range map[string]string{
		"lrb(window=soon)":               "window=soon: want a whole number from 0 to 1073741824, or auto",
		"lrb(window=-1)":                 "window=-1: want a whole number",
		"lrb(window=1073741825)":         "want a whole number from 0 to 1073741824",
		"lrb(window=100,reach=4)":        "reach=4 has no effect with window=100",
		"lrb(batch=100,first-batch=200)": "first-batch=200: want at most batch, which is 100",
	} {
		if _, err := policies.Registry.Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
	for _, spec := range []string{"lrb(batch=100)", "lrb(window=auto,reach=4)", "lrb(window=1073741824)"} {
		must.Get(policies.Registry.Parse(spec))(t)
	}
}

// Requests, loads, drops and changes of the capacity in any order leave each trial with the sizes of what it has, and
// within the capacity.
func TestTrialsKeepTheirCapacity(t *testing.T) {
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		const objects = 20
		c := policies.Config{Capacity: 30, Objects: objects, Requests: 1000, Seed: 1}
		p := policytest.Drive(t, "lrb(window=auto,first-batch=5,batch=5,min-leaf=1,trees=1)", c).Policy.(*lrb)
		pool := cache.NewPool(p, c.Capacity, objects)
		for pos := range rapid.IntRange(50, 250).Draw(t, "steps") {
			o := rapid.Uint32Range(0, objects-1).Draw(t, "object")
			r := policies.Request{Object: o, Query: o, Pos: pos, Size: 1 + int64(o)%9}
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				pool.Drop(o)
			case 1:
				pool.Resize(rapid.Int64Range(0, 60).Draw(t, "capacity"))
			case 2:
				r.Reason = policies.Prefetch
				pool.Load(r)
			default:
				pool.Request(r)
			}
			if p.trials == nil {
				continue
			}
			for i, other := range p.trials.each {
				has := int64(0)
				for o := range policies.Object(objects) {
					if other.policy.flags[o]&resident != 0 {
						has += other.policy.sizes.Of(o)
					}
				}
				if has != other.used || has > max(pool.Capacity(), 1) {
					t.Fatalf("step %d: trial %d has objects of %d, and says %d, with room for %d", pos, i, has, other.used,
						pool.Capacity())
				}
				if has > 0 {
					tried++
				}
			}
		}
	})
	seeded.Covers(t, tried > 0, "no trial ever has an object")
}
