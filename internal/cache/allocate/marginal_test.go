package allocate

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cache/streams"
)

const minute = 60e9

// The worked examples of the specification: a random stream with an access every 0.1 s to one of 1000 blocks gains
// 0.01 hits per second from a further block, a skewed one with 50 requests per second of which 4% hit the last 100
// evicted blocks gains 0.02.
func TestMarginalBenefit(t *testing.T) {
	uniform := Pool{Pattern: streams.Random, Requests: 600, Data: 1000, Capacity: 400, Used: 400, Objects: 400}
	skewed := Pool{ID: 1, Pattern: streams.Skewed, Requests: 3000, GhostHits: 120, Capacity: 600, Used: 600, Objects: 600}
	for _, c := range []struct {
		pool Pool
		want float64
	}{
		{uniform, 0.01},
		{skewed, 0.02},
		{Pool{Pattern: streams.Sequential, Requests: 1000, GhostHits: 7}, 0},
		{Pool{Pattern: streams.Random, Data: 1000}, 0},
		{Pool{Requests: 3000, GhostHits: 120, Used: 800, Objects: 200}, 0.005}, // bytes, 4 per object
	} {
		if got := c.pool.benefit(60, 100); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: benefit %v, want %v", c.pool, got, c.want)
		}
	}
	a := build(t, "marginal(shift_mb=209.7152,least_mb=0)", names(2)) // 50 blocks of 4 MiB
	s := &State{Capacity: 1000, Unit: true, Epoch: 1, Elapsed: minute, Pools: []Pool{uniform, skewed}}
	if got, want := ask(t, a, s), []int64{350, 650}; !slices.Equal(got, want) {
		t.Errorf("the skewed one receives: %v, want %v", got, want)
	}
}

// Who gives, who receives, and how much.
func TestMarginalMoves(t *testing.T) {
	random := func(id int, capacity, requests, data int64) Pool {
		return Pool{ID: id, Pattern: streams.Random, Capacity: capacity, Used: capacity, Objects: capacity,
			Requests: requests, Data: data}
	}
	skewed := func(id int, capacity, ghostHits int64) Pool {
		return Pool{ID: id, Pattern: streams.Skewed, Capacity: capacity, Used: capacity, Objects: capacity, Requests: 5000,
			GhostHits: ghostHits}
	}
	sequential := Pool{ID: 1, Pattern: streams.Sequential, Capacity: 500, Requests: 9000}
	for _, c := range []struct {
		name  string
		text  string
		pools []Pool
		want  []int64
	}{
		{"a sequential stream gives", "marginal(shift_mb=419.4304)", []Pool{random(0, 500, 600, 5000), sequential},
			[]int64{600, 400}},
		{"no further than to the least share", "marginal(shift_mb=419.4304,least_mb=4194.304,least_share=1)",
			[]Pool{random(0, 720, 600, 5000), {ID: 1, Pattern: streams.Sequential, Capacity: 280}}, []int64{750, 250}},
		{"no more than the data set", "marginal(shift_mb=419.4304)", []Pool{random(0, 500, 600, 530), sequential},
			[]int64{530, 470}},
		{"a whole data set needs nothing", "marginal(shift_mb=419.4304)", []Pool{random(0, 500, 600, 500), sequential},
			[]int64{500, 500}},
		{"no ghost hits, no gain", "marginal(shift_mb=419.4304)", []Pool{skewed(0, 500, 0), sequential},
			[]int64{500, 500}},
		{"equal benefits", "marginal(shift_mb=419.4304,hysteresis=1)", []Pool{skewed(0, 500, 10), skewed(1, 500, 10)},
			[]int64{500, 500}},
		{"a tenth more is within the hysteresis", "marginal(shift_mb=419.4304)",
			[]Pool{skewed(0, 500, 110), skewed(1, 500, 100)}, []int64{500, 500}},
		{"without hysteresis", "marginal(shift_mb=419.4304,hysteresis=1)",
			[]Pool{skewed(0, 500, 110), skewed(1, 500, 100)}, []int64{600, 400}},
		{"ties of donors go to the lower number", "marginal(shift_mb=41.94304,hysteresis=1)",
			[]Pool{skewed(0, 300, 100), skewed(1, 300, 100), skewed(2, 400, 200)}, []int64{290, 300, 410}},
	} {
		s := &State{Capacity: 1000, Unit: true, Epoch: 1, Elapsed: minute, Pools: c.pools}
		if got := ask(t, build(t, c.text, names(len(c.pools))), s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The benefit is an average over the rounds, which follows pools that come and go by their IDs.
func TestMarginalAverages(t *testing.T) {
	a := build(t, "marginal", names(2)).(*marginal)
	ask(t, a, &State{Capacity: 1000, Unit: true, Epoch: 1, Elapsed: minute, Pools: []Pool{
		{ID: 3, GhostHits: 600}, {ID: 5, GhostHits: 1200}, {ID: 6, GhostHits: 6}}})
	ask(t, a, &State{Capacity: 1000, Unit: true, Epoch: 2, Elapsed: minute, Pools: []Pool{
		{ID: 5, GhostHits: 600}, {ID: 6}, {ID: 9, GhostHits: 60}}})
	want := []standing{{5, 0.15}, {6, 0.0005}, {9, 0.01}}
	for i, w := range want {
		if got := a.known[i]; got.id != w.id || math.Abs(got.benefit-w.benefit) > 1e-12 {
			t.Errorf("pool %d: %+v, want %+v", i, got, w)
		}
	}
	// Without a clock a round lasts as many seconds as it has requests.
	if got := (&State{Pools: []Pool{{Requests: 30}, {Requests: 12}}}).elapsed(); got != 42 {
		t.Errorf("a round of %v, want 42", got)
	}
}
