package experts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/policies/shadow"
)

// Between two equal policies there is nothing to choose: the duel is that policy, victim by victim.
func TestDuelOfEqualsIsThatPolicy(t *testing.T) {
	for _, spec := range []string{"lru", "arc", "s3fifo"} {
		rapid.Check(t, func(t *rapid.T) {
			w := policytest.DrawWorkload(t)
			if !w.Config.Unit {
				t.Skip("by bytes other residents may make room first")
			}
			got := policytest.Drive(t, fmt.Sprintf("duel(among=%s/%s)", spec, spec), w.Config)
			w.SameVictims(t, got, policytest.Drive(t, spec, w.Config))
		})
	}
}

// phases are requests that suit one policy after the other: loops larger than the cache, which LRU always misses, and
// then a popularity that moves.
func phases(random *rand.Rand, objects int) (requests []policies.Object) {
	for phase := range 6 {
		for i := range 20_000 {
			if phase%2 == 0 {
				requests = append(requests, policies.Object(i%150))
				continue
			}
			recent := i/20 + int(random.ExpFloat64()*30)
			requests = append(requests, policies.Object(200+recent%(objects-200)))
		}
	}
	return requests
}

func misses(t *testing.T, policy string, requests []policies.Object, objects int) (n int) {
	d := policytest.Drive(t, policy, policies.Config{Capacity: 100, Unit: true, Objects: objects, Requests: len(requests)})
	for i, o := range requests {
		if hit, _ := d.Serve(o, 1, i); !hit {
			n++
		}
	}
	return n
}

// A duel loses little against the best of its policies, also where each of them is the best one for a while.
func TestDuelFollowsTheBest(t *testing.T) {
	const objects = 3000
	requests := phases(rand.New(rand.NewPCG(1, 2)), objects)
	duel := misses(t, "duel(among=lru/mru)", requests, objects)
	for _, policy := range []string{"lru", "mru"} {
		if n := misses(t, policy, requests, objects); duel > n*85/100 {
			t.Errorf("duel misses %d times, %s alone %d: each suits half of the phases", duel, policy, n)
		}
	}
}

// What is proposed is loaded into each directory that lacks it, also where the cache has it: mru has let 2 go.
func TestProposalsAreForAllPolicies(t *testing.T) {
	for _, spec := range []string{"duel(among=lru/mru)", "best(among=lru/mru)"} {
		d := policytest.Drive(t, spec, policies.Config{Capacity: 3, Unit: true, Objects: 4, Requests: 4})
		d.ServeAll(0, 1, 2, 3)
		all := directoriesOf(d.Policy)
		if d.Stored[2] == 0 || !all[0].Has(2) || all[1].Has(2) {
			t.Fatalf("%s: want 2 in the cache, with lru and not with mru", spec)
		}
		d.Policy.(policies.ProposalFollower).Proposed(policies.Request{Object: 2, Query: 2, Pos: 3, Size: 1,
			Reason: policies.Prefetch})
		for i, directory := range all {
			if !directory.Has(2) {
				t.Errorf("%s: policy %d lacks what was proposed", spec, i)
			}
		}
	}
}

func directoriesOf(p policies.Policy) []*shadow.Directory {
	if d, ok := p.(*duel); ok {
		return d.all
	}
	return p.(*best).race.Members()
}

// What a policy with a timer holds no longer makes room first, though it was requested last.
func TestDuelLetsObjectsExpire(t *testing.T) {
	const ttl = "ttl(ttl=5,unit=requests)"
	d := policytest.Drive(t, "duel(among="+ttl+"/"+ttl+")", policies.Config{Capacity: 3, Unit: true, Objects: 4,
		Requests: 7})
	for i, o := range []policies.Object{0, 1, 2, 2, 0, 2} {
		d.Serve(o, 1, i)
	}
	if _, victims := d.Serve(3, 1, 5); !slices.Equal(victims, []policies.Object{0}) {
		t.Errorf("evicted %v, want 0, which has expired", victims)
	}
}

func TestDuelRefusesWhatItCannotSimulate(t *testing.T) {
	for text, want := range map[string]string{
		"duel(among=lru)": "two policies", "duel(among=lru/opt)": "opt", "duel(among=lru/duel)": "duel",
		"duel(among=lru/lrru)": "lrru", "duel(among=lru/laru)": "laru",
	} {
		if _, err := policies.Registry.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
