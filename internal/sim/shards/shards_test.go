package shards_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/shards"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// life is what a node serves from when it is added until it is lost.
type life struct {
	node   int
	trace  *traces.Trace
	number map[uint32]uint32 // of the objects in trace
	warmup int
}

func (l *life) request(t *traces.Trace, pos int, warm bool) {
	o := t.Objects[pos]
	if _, known := l.number[o]; !known {
		l.number[o] = uint32(len(l.number))
		l.trace.ObjectSizes = append(l.trace.ObjectSizes, t.ObjectSizes[o])
		l.trace.Keys = append(l.trace.Keys, t.Key(int(o)))
		l.trace.NumObjects++
	}
	l.trace.Objects = append(l.trace.Objects, l.number[o])
	l.trace.Times = append(l.trace.Times, t.Times[pos])
	if t.Ops != nil {
		l.trace.Ops = append(l.trace.Ops, t.Ops[pos])
	}
	if warm {
		l.warmup++
	}
}

func (l *life) remove(o uint32, why traces.Cause) {
	if number, known := l.number[o]; known {
		l.trace.Removals = append(l.trace.Removals, traces.Removal{Before: uint32(len(l.trace.Objects)), Object: number,
			Why: why})
	}
}

// naive divides a trace request by request, with maps.
func naive(t must.TB, trace *traces.Trace, router route.Spec, seed uint64, warmup int) (lives []*life) {
	key := func(o uint32) string { return trace.Key(int(o)).String() }
	placement := must.Get(route.NewPlacement(router, trace.NumObjects, key, seed))(t)
	epochs := route.EpochsOf(router)
	current := map[uint16]*life{}
	for pos, o := range trace.Objects {
		for len(epochs) > 0 && (epochs[0].Counted && epochs[0].Requests <= pos ||
			!epochs[0].Counted && trace.Times[pos]-trace.Times[0] >= int64(epochs[0].Time)) {
			for node := range current {
				if !slices.Contains(epochs[0].Nodes, node) {
					delete(current, node)
				}
			}
			for _, node := range epochs[0].Nodes {
				if current[node] == nil {
					current[node] = &life{node: int(node), number: map[uint32]uint32{}, trace: &traces.Trace{
						Name: trace.Name, SampleRate: 1, Written: trace.Written, ObjectSizes: []int64{}}}
					lives = append(lives, current[node])
				}
			}
			placement.Use(epochs[0].Nodes)
			epochs = epochs[1:]
		}
		for _, r := range trace.Removals {
			if int(r.Before) == pos {
				for _, node := range placement.Homes(r.Object) {
					current[node].remove(r.Object, r.Why)
				}
			}
		}
		homes := placement.Homes(o)
		node := placement.Pick(homes)
		current[node].request(trace, pos, pos < warmup)
		for _, other := range homes {
			if other != node && trace.IsWrite(pos) {
				current[other].remove(o, traces.Invalidated)
			}
		}
	}
	for _, l := range lives { // nothing is removed after the last request
		l.trace.Removals = slices.DeleteFunc(l.trace.Removals, func(r traces.Removal) bool {
			return int(r.Before) == len(l.trace.Objects)
		})
	}
	return lives
}

// apart returns what separate replays of the requests of each node count together, and the requests of each node.
func apart(t simtest.TB, trace *traces.Trace, c sim.Cell, warmup int) (sum metric.Values, requests map[int]int64) {
	requests = map[int]int64{}
	for _, l := range naive(t, trace, *c.Router, c.Seed, warmup) {
		if len(l.trace.Objects) == 0 {
			continue
		}
		of := c
		of.Router = nil
		of.Seed ^= uint64(l.node) * random.Golden
		if l.warmup == len(l.trace.Objects) {
			continue // nothing counts
		}
		result := must.Get(sim.NewReplayer(l.trace, sim.ReplayerOptions{Warmup: l.warmup}).Replay(t.Context(), of))(t)
		for _, m := range counted {
			if result.Has(m) {
				sum.SetInt(m, sum.Int(m)+result.Int(m))
			}
		}
		requests[l.node] += result.Int(metric.Requests)
	}
	return sum, requests
}

// counted are the metrics that nodes have together.
var counted = []metric.Metric{metric.Requests, metric.Hits, metric.Evictions, metric.Oversized, metric.RequestedBytes,
	metric.HitBytes, metric.Removals, metric.Reads, metric.ReadHits, metric.Writes, metric.WriteHits}

// Every policy that works alone works on nodes, and hits what separate replays of the requests of each node hit
// together: of objects and of bytes, for every router, with nodes that are lost and come back.
func TestEveryPolicyOnNodes(t *testing.T) {
	trace := policytest.Trace(3, 1500, 150)
	for o := range trace.NumObjects {
		trace.Keys = append(trace.Keys, stream.Key{Num: uint64(o)})
	}
	routers := []string{"hash(nodes=3)", "round-robin(nodes=2)", "replicas(nodes=4)",
		"ring(nodes=3,lose=1@500,back=1@1000)", "slots(nodes=2@0s+3@700s)", "random(nodes=3,lose=2@700s)"}
	const warmup = 200
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{Warmup: warmup})
	tried, done := 0, 0
	for _, e := range policytest.Ready() {
		for _, size := range []capacity.Capacity{capacity.Of(12, false), capacity.Of(150, true)} {
			if e.Kind == policies.Bound || e.ShortFor != nil || size.Bytes && e.Units == policies.UnitsObjects ||
				!size.Bytes && e.Units == policies.UnitsBytes {
				continue
			}
			tried++
			c := simtest.Cell(t, e.Name, size, "router="+routers[tried%len(routers)])
			c.Seed = 7
			if replayer.Check(simtest.Cell(t, e.Name, size)) != nil {
				continue // needs another kind of trace
			}
			done++
			got := simtest.Replay(t, replayer, c)
			want, requests := apart(t, trace, c, warmup)
			for _, m := range counted {
				if want.Has(m) && got.Int(m) != want.Int(m) {
					t.Errorf("%s with %s at %s: %s %d, apart %d", e.Name, c.Router, size, m.Name, got.Int(m), want.Int(m))
				}
			}
			largest, all := int64(0), int64(0)
			for node, n := range requests {
				if served, _ := got.GetInt(replicas.NodeRequests.Of(strconv.Itoa(node))); served != n {
					t.Errorf("%s with %s: node %d serves %d requests, want %d", e.Name, c.Router, node, served, n)
				}
				largest, all = max(largest, n), all+n
			}
			nodes := got.Int(replicas.NodeCount)
			if imbalance := float64(largest) * float64(nodes) / float64(all); got.Float(replicas.Imbalance) != imbalance {
				t.Errorf("%s with %s: imbalance %v, want %v", e.Name, c.Router, got.Float(replicas.Imbalance), imbalance)
			}
		}
	}
	if done < 90 {
		t.Errorf("%d of %d cells were replayed: this test misses most", done, tried)
	}
}

// drawn is a random trace with writes, deletions and times that now and then go back.
func drawn(t *rapid.T) *traces.Trace {
	n := rapid.IntRange(2, 120).Draw(t, "requests")
	trace := &traces.Trace{Name: "drawn", SampleRate: 1, Ops: []stream.Op{}}
	trace.Written.Mode = rapid.SampledFrom([]stream.Writes{stream.WritesCount, stream.WritesFill}).Draw(t, "mode")
	number := map[int]uint32{}
	for pos := range n {
		key := rapid.IntRange(0, 25).Draw(t, "key")
		if _, known := number[key]; !known {
			number[key] = uint32(len(number))
			trace.ObjectSizes = append(trace.ObjectSizes, int64(rapid.IntRange(1, 9).Draw(t, "size")))
			trace.Keys = append(trace.Keys, stream.Key{Num: uint64(key)})
		} else if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
			trace.Removals = append(trace.Removals, traces.Removal{Before: uint32(pos), Object: number[key]})
		}
		op := stream.OpRead
		if rapid.IntRange(0, 4).Draw(t, "write") == 0 {
			op = stream.OpWrite
			trace.Written.Writes++
		}
		trace.Objects, trace.Ops = append(trace.Objects, number[key]), append(trace.Ops, op)
		trace.Times = append(trace.Times, int64(pos+rapid.IntRange(-2, 2).Draw(t, "jitter"))*1e9)
	}
	trace.Written.Rows, trace.NumObjects = n, len(number)
	return trace
}

// Writes and deletions reach the nodes that may have the object, whatever the router and its changes.
func TestWritesOnNodesAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawn(t)
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		name := rapid.SampledFrom([]string{"hash", "modulo", "ring", "slots", "round-robin", "random",
			"replicas(copies=2)"}).Draw(t, "router")
		call := must.Get(route.WithNodes(name, strconv.Itoa(n)))(t)
		if n > 1 && rapid.Bool().Draw(t, "loses") {
			lost, at := rapid.IntRange(0, n-1).Draw(t, "lost"), rapid.IntRange(0, len(trace.Objects)-1).Draw(t, "at")
			call = fmt.Sprintf("%s,lose=%d@%d)", strings.TrimSuffix(call, ")"), lost, at)
			if back := at + rapid.IntRange(0, 20).Draw(t, "back"); back < len(trace.Objects) && back > at {
				call = fmt.Sprintf("%s,back=%d@%d)", strings.TrimSuffix(call, ")"), lost, back)
			}
		}
		policy := rapid.SampledFrom([]string{"lru", "fifo", "gdsf", "s3fifo", "arc"}).Draw(t, "policy")
		size := rapid.SampledFrom([]capacity.Capacity{capacity.Of(3, false), capacity.Of(20, true)}).Draw(t, "size")
		warmup := rapid.IntRange(0, len(trace.Objects)-1).Draw(t, "warmup")
		c := simtest.Cell(t, policy, size, "router="+call)
		c.Seed = uint64(rapid.IntRange(0, 3).Draw(t, "seed"))
		got := simtest.Replay(t, sim.NewReplayer(trace, sim.ReplayerOptions{Warmup: warmup}), c)
		want, _ := apart(t, trace, c, warmup)
		for _, m := range counted {
			if want.Has(m) && got.Int(m) != want.Int(m) {
				t.Fatalf("%s %s: %s %d, apart %d", policy, call, m.Name, got.Int(m), want.Int(m))
			}
		}
	})
}

// recent is a naive LRU of objects.
type recent struct {
	room    int
	objects []uint32 // the last used first
}

func (l *recent) drop(o uint32) (was bool) {
	i := slices.Index(l.objects, o)
	if i >= 0 {
		l.objects = slices.Delete(l.objects, i, i+1)
	}
	return i >= 0
}

func (l *recent) request(o uint32) (hit bool) {
	hit = l.drop(o)
	l.objects = slices.Insert(l.objects, 0, o)
	l.objects = l.objects[:min(len(l.objects), l.room)]
	return hit
}

// A second level gets what the nodes miss, in the order of the trace, and all writes.
func TestSecondLevelAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := drawn(t)
		n := rapid.IntRange(1, 4).Draw(t, "nodes")
		router := rapid.SampledFrom([]string{"hash", "round-robin", "replicas"}).Draw(t, "router")
		room, times := rapid.IntRange(1, 4).Draw(t, "room"), rapid.IntRange(1, 5).Draw(t, "behind")
		c := simtest.Cell(t, "lru", capacity.Of(int64(room), false),
			fmt.Sprintf("router=%s(nodes=%d,behind=%d)", router, n, times))
		warmup := rapid.IntRange(0, len(trace.Objects)-1).Draw(t, "warmup")
		got := simtest.Replay(t, sim.NewReplayer(trace, sim.ReplayerOptions{Warmup: warmup}), c)

		placement := must.Get(route.NewPlacement(*c.Router, trace.NumObjects,
			func(o uint32) string { return trace.Key(int(o)).String() }, c.Seed))(t)
		placement.Use(route.EpochsOf(*c.Router)[0].Nodes)
		nodes, behind := make([]recent, n), recent{room: room * times}
		for i := range nodes {
			nodes[i].room = room
		}
		hits, shared, asked := int64(0), int64(0), int64(0)
		for pos, o := range trace.Objects {
			for _, r := range trace.Removals {
				if int(r.Before) == pos {
					behind.drop(r.Object)
					for _, node := range placement.Homes(r.Object) {
						nodes[node].drop(r.Object)
					}
				}
			}
			homes := placement.Homes(o)
			node := placement.Pick(homes)
			counts := pos >= warmup && (trace.Written.Mode == stream.WritesCount || !trace.IsWrite(pos))
			for _, other := range homes {
				if other != node && trace.IsWrite(pos) {
					nodes[other].drop(o)
				}
			}
			hit := nodes[node].request(o)
			if !hit || trace.IsWrite(pos) {
				if pos >= warmup {
					asked++
				}
				if behind.request(o) && !hit && counts {
					shared++
				}
			}
			if hit && counts {
				hits++
			}
		}
		if got.Int(metric.Hits) != hits+shared || got.Int(replicas.SharedHits) != shared ||
			got.Int(replicas.SharedRequests) != asked {
			t.Fatalf("%s: %d hits, %d of %d requests on the second level; want %d, %d and %d", c.Router, got.Int(metric.Hits),
				got.Int(replicas.SharedHits), got.Int(replicas.SharedRequests), hits+shared, shared, asked)
		}
	})
}

// The bound of a row is the optimum of one cache, which no router and no policy exceeds, and what one cache would hit
// is what it hits.
func TestNodesAgainstOneCache(t *testing.T) {
	trace := policytest.Trace(5, 4000, 300)
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	one := simtest.Replay(t, replayer, simtest.Cell(t, "lru", capacity.Of(60, false)))
	optimum := simtest.Replay(t, replayer, simtest.Cell(t, "opt-bypass", capacity.Of(60, false)))
	for _, e := range route.Registry.All() {
		if e.Place == nil {
			continue
		}
		got := simtest.Replay(t, replayer, simtest.Cell(t, "lru", capacity.Of(20, false), "router="+e.Name+"(nodes=3)"))
		ratio, whole, bound := got.Float(metric.HitRatio), got.Float(replicas.OneCacheHitRatio),
			got.Float(replicas.HitRatioBound)
		if whole != one.Float(metric.HitRatio) || bound != optimum.Float(metric.HitRatio) {
			t.Errorf("%s: one cache %v and the bound %v, want %v and %v", e.Name, whole, bound, one.Float(metric.HitRatio),
				optimum.Float(metric.HitRatio))
		}
		if below := got.Float(replicas.BelowOneCache); math.Abs(below-(whole-ratio)) > 1e-12 || bound < ratio {
			t.Errorf("%s: hits %v, below one cache %v, bound %v", e.Name, ratio, below, bound)
		}
		opt := simtest.Replay(t, replayer, simtest.Cell(t, "opt", capacity.Of(20, false), "router="+e.Name+"(nodes=3)"))
		if opt.Int(metric.Hits) < got.Int(metric.Hits) {
			t.Errorf("%s: the optimum of each node hits %d, lru %d", e.Name, opt.Int(metric.Hits), got.Int(metric.Hits))
		}
	}
}

// One node is one cache, whatever the router.
func TestOneNodeIsOneCache(t *testing.T) {
	trace := policytest.Trace(6, 3000, 200)
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for _, kind := range []string{"exact", "sets(ways=4)"} {
		want := simtest.Replay(t, replayer, simtest.Cell(t, "lru", capacity.Of(40, false), "cache="+kind))
		for _, e := range route.Registry.All() {
			if e.Place == nil {
				continue
			}
			c := simtest.Cell(t, "lru", capacity.Of(40, false), "cache="+kind, "router="+e.Name+"(nodes=1)")
			if got := simtest.Replay(t, replayer, c); got.Int(metric.Hits) != want.Int(metric.Hits) {
				t.Errorf("%s in %s: %d hits, one cache %d", e.Name, kind, got.Int(metric.Hits), want.Int(metric.Hits))
			}
		}
	}
}

// Uniform keys spread as balls over bins: the imbalance of a hash is 1 and a few standard deviations of a node's share.
func TestImbalanceOfAHash(t *testing.T) {
	const nodes, objects = 8, 40_000
	trace := &traces.Trace{Name: "uniform", SampleRate: 1, NumObjects: objects}
	for o := range uint32(objects) {
		trace.Objects = append(trace.Objects, o)
	}
	got := simtest.Replay(t, sim.NewReplayer(trace, sim.ReplayerOptions{}), simtest.Cell(t, "lru", capacity.Of(10, false),
		"router=hash(nodes=8)"))
	deviation := math.Sqrt((nodes - 1.) / objects)
	if d := (got.Float(replicas.Imbalance) - 1) / deviation; d < 0.3 || d > 3.5 {
		t.Errorf("imbalance %v, %.2f standard deviations above 1", got.Float(replicas.Imbalance), d)
	}
}

// Nodes that are lost: the record says what moves, and what hits afterwards.
func TestLostNodesAreMeasured(t *testing.T) {
	trace := &traces.Trace{Name: "loops", SampleRate: 1, NumObjects: 100}
	for i := range 4000 {
		trace.Objects = append(trace.Objects, uint32(i%100))
	}
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for call, want := range map[string]float64{"modulo": 0.7, "hash": 0.2, "ring": 0.2} {
		c := simtest.Cell(t, "lru", capacity.Of(100, false), "router="+call+"(nodes=4,lose=3@2000)")
		got := simtest.Replay(t, replayer, c)
		moved := got.Float(replicas.ObjectsMoved)
		if math.Abs(moved-want) > 0.15 {
			t.Errorf("%s: %v of the objects move, want about %v", call, moved, want)
		}
		// All fits, so that each object misses once, and once more where it moves to a node that never had it.
		after := got.Float(replicas.ChangedHitRatio)
		if first := 1 - 100.*moved/2000; math.Abs(after-first) > 1e-9 {
			t.Errorf("%s: %v hit afterwards, want %v", call, after, first)
		}
		if got.Int(metric.Misses) != 100+int64(math.Round(100*moved)) {
			t.Errorf("%s: %d misses with %v moved", call, got.Int(metric.Misses), moved)
		}
	}
}

func TestWhatNodesRefuse(t *testing.T) {
	for policy, want := range map[string]string{"opt": "want another policy, such as lru", "lrux": "unknown policy",
		"laru": "want another policy", "redis": "want another policy"} {
		_, err := route.Registry.Parse("hash(nodes=3,behind=2,behind-policy=" + policy + ")")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("behind-policy=%s: %v, want %q", policy, err, want)
		}
	}
	trace := policytest.Trace(1, 300, 50)
	trace.Times = nil
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for call, want := range map[string]string{
		"hash(nodes=3,lose=1@5s)":  "has no times",
		"hash(nodes=3,lose=1@300)": "has only 300; choose an earlier moment",
		"llm-d(nodes=3)":           "routes prompts, which the cache exact does not serve",
		"hash(nodes=3,blocks=2)":   "blocks=2 is about prompts",
	} {
		err := replayer.Check(simtest.Cell(t, "lru", capacity.Of(10, false), "router="+call))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", call, err, want)
		}
	}
}

// BenchmarkNodes compares the processor time per request of nodes with that of one cache.
func BenchmarkNodes(b *testing.B) {
	trace := simtest.Generated(b, "zipf(alpha=1,objects=200000,requests=2000000)", traces.Needs{Keys: true})
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for _, policy := range []string{"lru", "s3fifo", "arc"} {
		for _, router := range []string{"", "hash(nodes=3)", "ring(nodes=16)", "round-robin(nodes=3)"} {
			parts, size := []string{}, int64(20_000)
			if router != "" {
				parts, size = append(parts, "router="+router), size/3
			}
			c := simtest.Cell(b, policy, capacity.Of(size, false), parts...)
			b.Run(policy+"/"+router, func(b *testing.B) {
				simtest.Replay(b, replayer, c) // which divides the trace
				before := processor.Time()
				for b.Loop() {
					simtest.Replay(b, replayer, c)
				}
				perRequest(b, before, trace)
			})
		}
	}
}

// The table on the page has the numbers of a replay.
func TestTableOfNodes(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../../docs/routers.md"))(t))
	_, after, _ := strings.Cut(page, "<!-- nodes -->")
	table, _, found := strings.Cut(after, "<!-- end -->")
	if !found {
		t.Fatal("docs/routers.md has no table of nodes")
	}
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES names no folder of real traces")
	}
	w := workload.Workload{Files: []string{filepath.Join(folder, "block", "arc-oltp.lis.gz")}}
	trace := must.Get(w.Load(t.Context(), nil, read.Options{Needs: traces.Needs{Keys: true}}))(t)
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	of := func(policy, router string, m metric.Metric, digits int) string {
		got := simtest.Replay(t, replayer, simtest.Cell(t, policy, capacity.Of(2000, false), "router="+router))
		if digits == 3 {
			return fmt.Sprintf("%.3f", got.Float(m))
		}
		return fmt.Sprintf("%.2f%%", 100*got.Float(m))
	}
	rows := strings.Split(strings.TrimSpace(table), "\n")[2:]
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		router := must.Get(route.WithNodes(cells[0], "4"))(t)
		want := []string{of("lru", router, metric.HitRatio, 2), of("s3fifo", router, metric.HitRatio, 2),
			of("opt", router, metric.HitRatio, 2), of("lru", router, replicas.Imbalance, 3)}
		if len(cells) > 5 && cells[5] != "" {
			losing := strings.TrimSuffix(router, ")") + ",lose=1@400000)"
			want = append(want, of("lru", losing, replicas.ObjectsMoved, 2), of("lru", losing, metric.HitRatio, 2),
				of("lru", losing, replicas.ChangedHitRatio, 2))
		}
		for i, text := range want {
			if cells[i+1] != text {
				t.Errorf("%s: column %d has %s, a replay %s", cells[0], i+1, cells[i+1], text)
			}
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
}

// BenchmarkDivide is what nodes cost once, before the first of the cells with one router.
func BenchmarkDivide(b *testing.B) {
	trace := simtest.Generated(b, "zipf(alpha=1,objects=200000,requests=2000000)", traces.Needs{Keys: true})
	for _, call := range []string{"hash(nodes=3)", "ring(nodes=16)", "round-robin(nodes=3)"} {
		router := must.Get(route.Registry.Parse(call))(b)
		b.Run(call, func(b *testing.B) {
			before := processor.Time()
			for b.Loop() {
				must.Get(shards.Divide(trace, router, 0, 0))(b)
			}
			perRequest(b, before, trace)
		})
	}
}

func perRequest(b *testing.B, before time.Duration, t *traces.Trace) {
	spent := processor.Time() - before
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(len(t.Objects)), "cpu-ns/req")
}
