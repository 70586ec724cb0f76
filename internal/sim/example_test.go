package sim_test

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// A Replayer replays cells of one trace. Each is a policy in a cache at a capacity.
func ExampleReplayer() {
	trace := &traces.Trace{Name: "loop", Objects: []uint32{0, 1, 2, 0, 1, 2, 0, 1, 2}, NumObjects: 3, SampleRate: 1}
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for _, name := range []string{"lru", "mru", "opt"} {
		spec, err := policies.Registry.Parse(name)
		if err != nil {
			panic(err)
		}
		cell := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()}, Capacity: capacity.Of(2, false)}
		if err := replayer.Check(cell); err != nil {
			panic(err)
		}
		rec, err := replayer.Replay(context.Background(), cell)
		if err != nil {
			panic(err)
		}
		hits, _ := rec.Figure("hits")
		fmt.Println(name, hits)
	}
	// Output:
	// lru 0
	// mru 3
	// opt 3
}
