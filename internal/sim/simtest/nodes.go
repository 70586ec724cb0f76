package simtest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	nodes "github.com/cachesim/cachesim/internal/serving/hlem/recommender"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Recommended returns so many recommender requests of users who read shards, three each.
func Recommended(t testing.TB, requests, users, shards int) *traces.Trace {
	t.Helper()
	trace := &traces.Trace{Name: "recommended", SampleRate: 1}
	builder := recommender.Kind{}.NewColumns(stream.Fields{Time: true})
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := map[int]uint32{}
	for i := range requests {
		key := int(float64(users) * rng.Float64() * rng.Float64())
		user, ok := numbers[key]
		if !ok {
			user = uint32(len(numbers))
			numbers[key] = user
		}
		head := &recommender.Head{Tokens: int64(1000 + key%5*3000), ShardRows: 512, Hot: recommender.Unknown}
		for k := range 3 {
			shard := uint32(float64(shards/3)*rng.Float64()*rng.Float64()) + uint32(k*(shards/3))
			head.List = append(head.List, recommender.Lookup{Shard: shard, Rows: 100})
		}
		now := int64(i) * int64(100*time.Millisecond)
		must.Do(t, builder.Add(&stream.Record{Time: now, Extra: head}, user))
		trace.Objects, trace.Times = append(trace.Objects, user), append(trace.Times, now)
	}
	trace.NumObjects, trace.Kind = len(numbers), builder.Finish()
	return trace
}

// TakingTurns is a model in which nodes serve requests in turn, two at a time, and epochs are 50 requests.
var TakingTurns = models.Spec{Params: params.Values{}, Entry: models.Entry{
	Name: "turns", Cache: "pools", Drives: true,
	Run: func(_ context.Context, c models.Config) (v metric.Values, err error) {
		memory := c.Cache.(nodes.Cache)
		memory.UseCosts(hlem.DefaultCosts())
		for i := range c.Trace.Objects {
			if i == c.Warmup {
				c.EndWarmup()
			}
			node, now := i%memory.Nodes(), time.Duration(c.Trace.Times[i])
			if i%50 == 0 {
				for n := range memory.Nodes() {
					memory.Epoch(n, &hlem.Window{Objective: hlem.DefaultObjective()})
				}
			}
			memory.Start(node, i, now)
			memory.Refill(node, 4<<20)
			if last := i - 2*memory.Nodes(); last >= 0 {
				memory.Finish(node, last)
			}
			if i%100 == 99 && c.Windows.End != nil {
				if err := c.Windows.End(models.Window{Asked: int64(i + 1), Ends: now}); err != nil {
					return v, err
				}
			}
		}
		return v, nil
	},
}}

// OnNodes is Cell in a cache of nodes, with the model TakingTurns.
func OnNodes(t must.TB, policy, pools string, parts ...string) sim.Cell {
	t.Helper()
	c := Cell(t, policy, capacity.Capacity{}, append(parts, "cache="+pools)...)
	c.Model, c.Seed = &TakingTurns, 1
	return c
}
