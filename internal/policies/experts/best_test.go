package experts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// Among equal policies there is nothing to choose: best is that policy, victim by victim.
func TestBestOfEqualsIsThatPolicy(t *testing.T) {
	for _, spec := range []string{"lru", "arc", "lirs"} {
		rapid.Check(t, func(t *rapid.T) {
			w := policytest.DrawUnitWorkload(t)
			got := policytest.Drive(t, fmt.Sprintf("best(among=%s/%s)", spec, spec), w.Config)
			w.SameVictims(t, got, policytest.Drive(t, spec, w.Config))
		})
	}
}

// What is proven of best: it misses at most as often as each of its policies alone, and so many times more as it has
// paid for changes, and as the next change would cost.
func TestBestMissesNoMoreThanItPays(t *testing.T) {
	const among = "lru/mru/lirs/arc/s3fifo"
	spec, err := policies.Registry.Parse("best(among=" + among + ",one-in=1)")
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	rapid.Check(t, func(t *rapid.T) {
		const objects = 400
		capacity := rapid.IntRange(5, 60).Draw(t, "capacity")
		config := policies.Config{Capacity: int64(capacity), Unit: true, Objects: objects, Params: spec.Params}
		requests := phases(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), objects)
		requests = requests[:rapid.IntRange(1, 80_000).Draw(t, "requests")]
		missesOf := func(d *policytest.Driven) (n int) {
			for i, o := range requests {
				if hit, _ := d.Serve(o, 1, i); !hit {
					n++
				}
			}
			return n
		}
		var p *best
		got := missesOf(policytest.Built(func(c policies.Config) policies.Policy {
			if p, err = newBest(c); err != nil {
				t.Fatal(err)
			}
			return p
		}, config))
		changes += p.race.Changes
		for policy := range strings.SplitSeq(among, "/") {
			alone := missesOf(policytest.Drive(t, policy, config))
			if most := alone + p.race.Paid + max(capacity, 10); got > most {
				t.Fatalf("%d misses, of %s alone %d; %d changes, for which %d were paid: want at most %d", got, policy, alone,
					p.race.Changes, p.race.Paid, most)
			}
		}
	})
	if changes == 0 {
		t.Error("the leader never changed")
	}
}

// Best is at most 2% behind the better of its policies where each suits half of the phases, and little more where it
// simulates them on a sample, here in directories of 25 objects.
func TestBestKeepsUpWithItsPolicies(t *testing.T) {
	const objects = 3000
	requests := phases(rand.New(rand.NewPCG(1, 2)), objects)
	fewest := min(misses(t, "lru", requests, objects), misses(t, "mru", requests, objects))
	for oneIn, most := range map[int]float64{1: 1.02, 4: 1.08} {
		best := misses(t, fmt.Sprintf("best(among=lru/mru,one-in=%d)", oneIn), requests, objects)
		if float64(best) > most*float64(fewest) {
			t.Errorf("one in %d: best misses %d times, the better of its policies %d", oneIn, best, fewest)
		}
	}
}

// By default the policies are simulated in directories of 1,024 to 2,047 objects, and by bytes on all.
func TestBestSamplesLargeCaches(t *testing.T) {
	spec, err := policies.Registry.Parse("best")
	if err != nil {
		t.Fatal(err)
	}
	for capacity, want := range map[int64]int64{1: 1, 2047: 1, 2048: 2, 1 << 20: 1024} {
		c := policies.Config{Capacity: capacity, Unit: true, Objects: 10, Params: spec.Params}
		if s := newSample(c); s.oneIn != want || s.capacity(capacity) != capacity/want {
			t.Errorf("capacity %d: one in %d, %d objects, want %d, %d", capacity, s.oneIn, s.capacity(capacity), want,
				capacity/want)
		}
		if c.Unit = false; newSample(c).oneIn != 1 {
			t.Errorf("%d bytes: one in %d, want all", capacity, newSample(c).oneIn)
		}
	}
}
