package kv

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// copied is a trace all of whose heads are copies of one.
type copied struct {
	made
	place int
}

func (c *copied) Next(h *attention.Head) error {
	h.Queries = append(h.Queries[:0], c.head.Queries...)
	h.Predicted = append(h.Predicted[:0], c.head.Predicted...)
	h.Keys = append(h.Keys[:0], c.head.Keys...)
	h.Values = append(h.Values[:0], c.head.Values...)
	h.Begin(c.shape, c.place)
	c.place++
	return nil
}

// TestReplaysTakeTheMemoryThatTheySay compares the estimate with what a replay has reachable at its steps.
func TestReplaysTakeTheMemoryThatTheySay(t *testing.T) {
	columns := columnsOf(t, "attention(layers=1,query-heads=16,kv-heads=4,head-dim=32,context=6000,steps=48,seed=1)")
	var one made
	one.shape = columns.Shape
	must.Do(t, must.Get(columns.Open(context.Background(), attention.Options{}))(t).Next(&one.head))
	columns.Open = func(context.Context, attention.Options) (attention.Trace, error) { return &copied{made: one}, nil }
	var many []Cell
	for _, rule := range strings.Split(manyRules+";bound;infinigen", ";") {
		many = append(many, cellOf(t, nil, 0.1, rule))
	}
	for _, share := range []float64{0.05, 0.3, 0.9} { // sets of different sizes are computed apart
		many = append(many, cellOf(t, params.Values{"append": appendSince}, share, "qsac"))
	}
	for name, cells := range map[string][]Cell{
		"one cell":         {cellOf(t, nil, 0.1, "qsac")},
		"many cells":       many,
		"stores of blocks": {storeOf(t, nil, 0.3, "lru", "blocks(size=8)"), storeOf(t, nil, 0.1, "fifo", "clusters")},
		"pqcache":          {storeOf(t, nil, 0.3, "pqcache", "")},
	} {
		for _, jobs := range []int{1, 2} {
			var measuring sync.Mutex
			before, taken, calls := policytest.ReachableBytes(), int64(0), 0
			must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: jobs, Progress: func(int) {
				measuring.Lock()
				defer measuring.Unlock()
				if calls++; calls%23 == 0 {
					taken = max(taken, policytest.ReachableBytes()-before)
				}
			}}))(t)
			said := Bytes(columns.Shape, cells, jobs, 1, false)
			t.Logf("%s on %d goroutines: takes %d bytes and says %d", name, jobs, taken, said)
			if taken > said || said > 3*taken {
				t.Errorf("%s on %d goroutines takes %d bytes and says %d; want at least that, and at most three times",
					name, jobs, taken, said)
			}
		}
	}
	runtime.KeepAlive(one)
}
