package libraries

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveRistretto is the policy as the library writes it down, on maps and slices: a sketch of four rows that differ in
// a random number, and a doorkeeper with the sizes of its formula. It draws what the policy draws.
type naiveRistretto struct {
	capacity, used int64
	sizes          map[policies.Object]int64
	order          []policies.Object
	draws          random.Draws
	key            func(policies.Object) uint64

	seeds   [4]uint64
	rows    [4]map[uint64]int
	mask    uint64
	door    map[uint64]bool
	bits    float64
	added   int64
	period  int64
	buffer  int
	pending []policies.Object
}

func newNaiveRistretto(c policies.Config, counters int64, buffer int) *naiveRistretto {
	n := &naiveRistretto{capacity: c.Capacity, sizes: map[policies.Object]int64{}, draws: random.NewDraws(c.Seed),
		key: c.Key, door: map[uint64]bool{}, period: counters, buffer: buffer}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n.rows {
		n.seeds[i], n.rows[i] = rng.Uint64(), map[uint64]int{}
	}
	for n.mask = 1; n.mask < uint64(counters); n.mask *= 2 {
	}
	n.mask--
	n.bits = max(math.Ceil(math.Log2(-float64(counters)*math.Log(0.01)/(math.Ln2*math.Ln2)-1)), 9)
	return n
}

func (n *naiveRistretto) hash(o policies.Object) uint64 { return n.key(o) ^ 1<<63 }

func (n *naiveRistretto) doorBits(hash uint64) (all []uint64) {
	shift := 64 - uint64(n.bits)
	for i := range uint64(7) {
		all = append(all, (hash>>shift+i*(hash<<shift>>shift))&(1<<uint64(n.bits)-1))
	}
	return all
}

func (n *naiveRistretto) open(hash uint64) bool {
	return !slices.ContainsFunc(n.doorBits(hash), func(bit uint64) bool { return !n.door[bit] })
}

func (n *naiveRistretto) count(hash uint64) {
	if n.open(hash) {
		for i, row := range n.rows {
			at := (hash ^ n.seeds[i]) & n.mask
			row[at] = min(row[at]+1, 15)
		}
	}
	for _, bit := range n.doorBits(hash) {
		n.door[bit] = true
	}
	if n.added++; n.added >= n.period {
		n.added = 0
		clear(n.door)
		for _, row := range n.rows {
			for at := range row {
				row[at] /= 2
			}
		}
	}
}

func (n *naiveRistretto) estimate(o policies.Object) int {
	hash, least := n.hash(o), 15
	for i, row := range n.rows {
		least = min(least, row[(hash^n.seeds[i])&n.mask])
	}
	if n.open(hash) {
		least++
	}
	return least
}

func (n *naiveRistretto) Serve(o policies.Object, size int64, _ int) (hit bool, victims []policies.Object) {
	if n.sizes[o] == 0 && size > n.capacity {
		return false, nil
	}
	if n.pending = append(n.pending, o); len(n.pending) == n.buffer {
		for _, o := range n.pending {
			n.count(n.hash(o))
		}
		n.pending = nil
	}
	if n.sizes[o] != 0 {
		return true, nil
	}
	var sample []policies.Object
	for n.used+size > n.capacity {
		from := len(sample)
		for len(sample) < min(5, from+len(n.order)) {
			if v := n.order[n.draws.Below(uint64(len(n.order)))]; !slices.Contains(sample[from:], v) {
				sample = append(sample, v)
			}
		}
		at := 0
		for i := range sample {
			if n.estimate(sample[i]) < n.estimate(sample[at]) {
				at = i
			}
		}
		v := sample[at]
		if n.estimate(o) < n.estimate(v) {
			return false, victims
		}
		sample[at] = sample[len(sample)-1]
		sample = sample[:len(sample)-1]
		if i := slices.Index(n.order, v); i >= 0 {
			n.order[i] = n.order[len(n.order)-1]
			n.order = n.order[:len(n.order)-1]
			n.used -= n.sizes[v]
			delete(n.sizes, v)
			victims = append(victims, v)
		}
	}
	n.order = append(n.order, o)
	n.sizes[o] = size
	n.used += size
	return false, victims
}

func TestRistrettoEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		counters := rapid.Int64Range(2, 300).Draw(t, "counters")
		buffer := rapid.IntRange(1, 5).Draw(t, "buffer")
		spread := rapid.SampledFrom([]uint64{1, 1 << 20, 0x9e3779b97f4a7c15}).Draw(t, "spread")
		w.Config.Key = func(o policies.Object) uint64 { return uint64(o) * spread }
		spec := fmt.Sprintf("ristretto(counters=%d,buffer=%d)", counters, buffer)
		w.SameVictims(t, policytest.Drive(t, spec, w.Config), newNaiveRistretto(w.Config, counters, buffer))
	})
}

// The cache holds one object, so that every sample is that one: an object with fewer requests is refused, and one with
// as many is admitted.
func TestRistrettoExample(t *testing.T) {
	d := policytest.Drive(t, "ristretto(buffer=1,counters=64)",
		policies.Config{Capacity: 1, Unit: true, Objects: 10, Requests: 20})
	for i, step := range []struct {
		request policies.Object
		hit     bool
	}{
		{1, false}, {1, true}, {2, false}, {1, true}, {2, false}, {2, false}, {1, false}, {1, true},
	} {
		if hit, _ := d.Serve(step.request, 1, i); hit != step.hit {
			t.Fatalf("request %d, to object %d: hit %v", i, step.request, hit)
		}
	}
}

// As many counters as the library's user would ask for, whose memory has a limit.
func TestRistrettoCounters(t *testing.T) {
	for _, test := range []struct {
		c      policies.Config
		period int64
		table  uint64
	}{
		{policies.Config{Capacity: 100, Unit: true, Objects: 1000}, 1000, 1024},
		{policies.Config{Capacity: 1 << 20, Objects: 100_000}, 10240, 16384},
		{policies.Config{Capacity: 100, Objects: 1000}, 10, 16},
		{policies.Config{Capacity: 1 << 40, Objects: 100}, 10 << 30, 8192},
	} {
		p := policytest.Drive(t, "ristretto", test.c).Policy.(*ristretto)
		if p.period != test.period || p.counts.mask+1 != test.table {
			t.Errorf("%+v: halved after %d requests, %d counters; want %d and %d", test.c, p.period, p.counts.mask+1,
				test.period, test.table)
		}
	}
}
