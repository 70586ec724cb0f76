package igtcache

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/cache/streams"
)

// sampled returns files of one block and draws of them, by what draw returns.
func sampled(files, draws int, draw func(i int) int) (*dataset, []block) {
	d := &dataset{}
	for i := range files {
		d.add(1, "%05d.jpg", i)
	}
	var requests []block
	for i := range draws {
		requests = append(requests, block{draw(i), 0})
	}
	return d, requests
}

// preferring draws one of n, the first ones more often: nearly by Zipf's law with the exponent
// 1 - 1/power.
func preferring(random *rand.Rand, n int, power float64) int {
	return int(float64(n) * math.Pow(random.Float64(), power))
}

// A sampler that prefers some files, which lie anywhere in the listing, passes the test of distances.
func TestWeightedSamplersAreSkewed(t *testing.T) {
	const files, draws = 4000, 30_000
	random := rand.New(rand.NewPCG(3, 4))
	scatter := random.Perm(files)
	d, requests := sampled(files, draws, func(int) int { return scatter[preferring(random, files, 2.5)] })
	for _, share := range []float64{0.03, 0.1} {
		plain, weighed := hitRatio(t, d, requests, "igtcache", share), hitRatio(t, d, requests, "igtcache(weigh=true)", share)
		if weighed < 1.08*plain {
			t.Errorf("%v of the files: hit ratio %v with the rule for random orders, %v when it is weighed", share, plain,
				weighed)
		}
	}
}

// Random orders stay random whatever part of them is held: permutations, by one reader or several, and draws.
func TestRandomOrdersAreNotWeighted(t *testing.T) {
	const files, draws = 1000, 20_000
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(5, seed))
		orders := [3][]int{}
		for name, draw := range map[string]func(int) int{
			"drawn":        func(int) int { return random.IntN(files) },
			"permutations": func(i int) int { return permuted(random, &orders[0], files, i) },
			"three jobs":   func(i int) int { return permuted(random, &orders[i%3], files, i/3) },
		} {
			d, requests := sampled(files, draws, draw)
			for _, capacity := range []int64{30, 300} {
				c := configOf(t, d.trace(requests, 0), "igtcache(weigh=true,statistical=false)", capacity, true)
				served := build(t, c)
				serve(t, served, c, 0, len(requests))
				for _, u := range served.system.units {
					if u.stream != nil && u.stream.Weighted {
						t.Errorf("%s, seed %d, %d of %d files: weighted", name, seed, capacity, files)
					}
				}
			}
		}
	}
}

// permuted returns the next of permutations that are drawn one after the other.
func permuted(random *rand.Rand, order *[]int, n, i int) int {
	if i%n == 0 {
		*order = random.Perm(n)
	}
	return (*order)[i%n]
}

// What was weighted is random again once hits are fewer than those of a random order.
func TestWeightedStreamsBecomeRandomAgain(t *testing.T) {
	const files, draws = 1000, 40_000
	random := rand.New(rand.NewPCG(6, 7))
	scatter := random.Perm(files)
	var order []int
	d, requests := sampled(files, draws, func(i int) int {
		if i < draws/4 {
			return scatter[preferring(random, files, 3)]
		}
		return permuted(random, &order, files, i)
	})
	c := configOf(t, d.trace(requests, 0), "igtcache(weigh=true,guard=false,statistical=false)", files/4, true)
	served := build(t, c)
	of := func() *streams.Stream { return served.system.owner }
	serve(t, served, c, 0, draws/4)
	if s := of(); s.Pattern != streams.Skewed || !s.Weighted {
		t.Errorf("a weighted sampler is %s, weighted %v", s.Pattern, s.Weighted)
	}
	serve(t, served, c, draws/4, draws)
	if s := of(); s.Pattern != streams.Random || s.Weighted {
		t.Errorf("permutations after it are %s, weighted %v", s.Pattern, s.Weighted)
	}
}

// Ten jobs load the same model one after the other, into a cache that has two blocks for each.
func TestReadersShareTheRoomAhead(t *testing.T) {
	const files, blocks, jobs, apart = 12, 80, 10, 70
	d := &dataset{}
	for file := range files {
		d.add(blocks, "model-%02d.bin", file)
	}
	var requests []block
	for at := range files*blocks + (jobs-1)*apart {
		for job := range jobs {
			if i := at - job*apart; i >= 0 && i < files*blocks {
				requests = append(requests, block{i / blocks, i % blocks})
			}
		}
	}
	for _, text := range []string{"igtcache(floor=true%s)", "igtcache(mode=safe%s)"} {
		fits := ",fit=true"
		if text == "igtcache(mode=safe%s)" {
			fits = ""
		}
		if got := hitRatio(t, d, requests, fmt.Sprintf(text, fits), 0.021); got < 0.95 {
			t.Errorf("%s: hit ratio %v", text, got)
		}
	}
	if got := hitRatio(t, d, requests, "igtcache(floor=true)", 0.021); got > 0.9 {
		t.Errorf("hit ratio %v where each reader takes all of the room", got)
	}
}
