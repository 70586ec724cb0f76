package setreplay

import (
	"context"
	_ "embed"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

//go:embed selftest.txt
var sums string

// SelfTest replays a short trace in batches and without, with all that the kernels distinguish: LRU at one and at
// several numbers of ways, predictions, and both kinds of marks.
var SelfTest = &cuda.SelfTest{Name: cuda.SetReplay.Name, Sums: sums, Run: func(d cuda.Device) error {
	const objects, requests = 60, 300
	t := Trace{Objects: make([]uint32, requests), Count: objects, Hashes: make([]uint32, objects),
		Keys: make([]uint64, objects), Batch: 1, Warmup: 20}
	for i := range t.Objects {
		x := uint32(i) * 0x9e3779b9 // its upper bits are spread evenly
		t.Objects[i] = x >> 20 * (x & 0xff) % objects
	}
	for o := range t.Hashes {
		t.Hashes[o], t.Keys[o] = uint32(o)*0x9e3779b9>>3, uint64(o)*0x9e3779b97f4a7c15>>7
	}
	t.Predict = []func(int, []uint64){func(from int, next []uint64) {
		for i := range next {
			next[i] = Order(float64((from + i) * 37 % 101))
		}
	}}
	cell := func(ways int, candidates ...int) Cell {
		return Cell{Sets: 3, Ways: ways, Slabs: 2, Lanes: ways / 2, Replacement: slabs.Replacement{Candidates: candidates}}
	}
	confident := func(bits bool) Cell {
		c := cell(8, 8, 4, 1)
		c.Confidence = &slabs.Confidence{Fallbacks: 1, Bits: bits, Base: 1.5}
		return c
	}
	predicted := []Cell{cell(6, 3), confident(false), confident(true)}
	if _, err := Replay(context.Background(), d, t, append(predicted, cell(2), cell(4)), Options{}); err != nil {
		return err
	}
	t.Batch = 8
	_, err := Replay(context.Background(), d, t, append(predicted, cell(10)), Options{})
	return err
}}
