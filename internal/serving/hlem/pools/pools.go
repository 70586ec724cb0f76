// Package pools is the memory of nodes that serve recommendations, after HLEM (arXiv 2605.04450, section IV-B): each
// node has a pool of embedding shards (EMB) and one of the keys and values of users' histories (KV), and an allocator
// moves the border between them. A page is the unit of both: a shard needs one, a user as many as its history does.
package pools

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Where the rows of the embedding tables are.
const (
	partitioned = "partitioned"
	replicated  = "replicated"
)

var entry = cache.Entry{
	Name: "pools",
	Summary: "the GPU memory of nodes that serve recommendations: on each, a pool of embedding shards and one of the " +
		"keys and values of users, whose border an allocator moves by pages",
	Source: "HLEM (arXiv 2605.04450), section IV-B; docs/caches.md",
	Params: []params.Param{
		{Name: "nodes", Default: 4, Min: 1, Max: mostNodes, Doc: "serving nodes"},
		{Name: "gpus", Default: 8, Min: 1, Max: 1 << 16, Doc: "GPUs of a node, which share its pools"},
		{Name: "memory", Default: "80GB", Doc: "memory of a GPU"},
		{Name: "r", Default: hlem.StartRatio, Min: 0, Max: 1, Doc: "share of the pages that belong to the embeddings, " +
			"until an allocator decides"},
		{Name: "rmin", Default: hlem.LeastRatio, Min: 0, Max: 1, Doc: "least share of the embeddings"},
		{Name: "rmax", Default: hlem.MostRatio, Min: 0, Max: 1, Doc: "largest share of the embeddings"},
		{Name: "embeddings", Default: "", Doc: "policy of the embeddings; none: as in --policy"},
		{Name: "kv", Default: "", Doc: "policy of the users; none: as in --policy"},
		{Name: "strict", Default: false, Doc: "the embeddings grow into free pages only, as the paper words it; a full " +
			"pool of users then never shrinks"},
		{Name: "tables", Default: partitioned, Choices: []string{partitioned, replicated}, Doc: "which rows the host of a " +
			"node has; partitioned: every nodes-th shard, other hosts send the rest; replicated: all"},
	},
	Metrics: []metric.Metric{ShardEvictions, Unpinned, BorderMoved, Untrained},
	Pools:   poolNames,
	Capacity: func(v params.Values) (capacity.Capacity, bool) {
		memory, _ := memoryOf(v) // already checked
		return capacity.OfBytes(int64(v.Int("nodes")) * int64(v.Int("gpus")) * memory), true
	},
	CheckParams:    checkParams,
	CheckTrace:     checkTrace,
	Remark:         remark,
	Check:          check,
	CheckAllocator: checkAllocator,
	Policies: func(v params.Values, cell policies.Spec) []policies.Spec {
		emb, kv, _ := policiesOf(v, cell) // already checked
		return []policies.Spec{emb, kv}
	},
	Bytes: estimate,
	New:   func(c cache.Config) (cache.Cache, error) { return build(c) },
	Types: []any{(*Cache)(nil)},
}

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

// Metrics of the pools.
var (
	ShardEvictions = metric.Metric{Name: "emb_evictions", Unit: metric.Count,
		Doc: "embedding shards that were evicted; evictions counts users"}
	Unpinned = metric.Metric{Name: "kv_bypassed", Unit: metric.Count, Better: metric.Lower,
		Doc: "requests whose user was not loaded: too little memory was left besides the running requests"}
	BorderMoved = metric.Metric{Name: "border_moved", Unit: metric.Ratio, Digits: 2,
		Doc: "pages that moved between embeddings and users, as a multiple of the pages of all nodes"}
	Untrained = metric.Metric{Name: "untrained", Unit: metric.Count, Column: metric.Column{At: 46, Head: "untrained",
		Weight: 31, IfAny: true}, Doc: "decisions on nodes unlike those that the allocator was trained on, which it left " +
		"to a model (outside=model); absent without training"}
)

// mostMemory and mostOfAll limit the memory of a GPU, and of all nodes, so that sums do not overflow.
const (
	mostMemory = 1 << 44
	mostOfAll  = 1 << 60
)

// memoryOf returns the memory of a GPU in bytes.
func memoryOf(v params.Values) (int64, error) {
	text := v.Text("memory")
	bytes, err := capacity.ParseBytes(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("memory=%w", err)
	case bytes < 1 || bytes > mostMemory:
		return 0, fmt.Errorf("memory=%s: want 1B to 16TiB, the memory of a GPU", text)
	}
	return bytes, nil
}

// policiesOf returns the policies of the pools, given the cell's.
func policiesOf(v params.Values, cell policies.Spec) (emb, kv policies.Spec, err error) {
	parse := func(name string) (policies.Spec, error) {
		if v.Text(name) == "" {
			return cell, nil
		}
		spec, err := policies.Registry.Parse(v.Text(name))
		if err != nil {
			return spec, fmt.Errorf("%s: %w", name, err)
		}
		return spec, nil
	}
	if emb, err = parse("embeddings"); err != nil {
		return emb, kv, err
	}
	kv, err = parse("kv")
	return emb, kv, err
}

// checkParams rejects values that exclude each other or cannot be read.
func checkParams(v params.Values) error {
	memory, err := memoryOf(v)
	if err != nil {
		return err
	}
	if gpus := int64(v.Int("nodes")) * int64(v.Int("gpus")); memory > mostOfAll/gpus {
		return fmt.Errorf("nodes=%d, gpus=%d and memory=%s are more than 1EiB of memory; want less of one of them",
			v.Int("nodes"), v.Int("gpus"), v.Text("memory"))
	}
	r, least, most := v.Float("r"), v.Float("rmin"), v.Float("rmax")
	if !(0 < least && least <= r && r <= most && most < 1) {
		return fmt.Errorf("r=%v with rmin=%v and rmax=%v: want 0 < rmin <= r <= rmax < 1", r, least, most)
	}
	_, _, err = policiesOf(v, policies.Spec{})
	return err
}

// check rejects policies that do not work here.
func check(v params.Values, policy policies.Entry) error {
	emb, kv, _ := policiesOf(v, policies.Spec{Entry: policy}) // already checked
	for _, own := range []struct {
		name string
		spec policies.Spec
	}{{"embeddings", emb}, {"kv", kv}} {
		if policies.Can[policies.PredictorUser](own.spec.Entry) && !policies.Can[policies.PredictorUser](policy) {
			return fmt.Errorf("cache pools: %s=%s needs a predictor, which only --policy gets; write --policy %[2]s, and the "+
				"policy of the other pool here", own.name, v.Text(own.name))
		}
	}
	if err := checkPolicy("embeddings", emb.Entry, false); err != nil {
		return err
	}
	return checkPolicy("kv", kv.Entry, true)
}

// checkPolicy rejects a policy that does not work in a pool.
func checkPolicy(pool string, e policies.Entry, bytes bool) error {
	why := ""
	switch {
	case e.Kind != policies.Online:
		why = "it knows the requests of the trace, but the order in which they are served depends on the cache; use one " +
			"that knows only the past (see: cachesim policies)"
	case e.Unbounded:
		why = "it ignores capacities, but the memory of a node is limited"
	case e.New == nil:
		why = "it stands for what a whole cache does"
	case e.Relates:
		why = "it uses relations between objects, which users and shards do not have"
	case bytes && e.Units == policies.UnitsObjects:
		why = "it works only where all objects have the same size, but users have different numbers of pages"
	case !bytes && e.Units == policies.UnitsBytes:
		why = "it works only where sizes count, but every shard has the same size"
	default:
		return nil
	}
	return fmt.Errorf("cache pools: policy %s does not work in the pool %s: %s; %[2]s=POLICY chooses another one for "+
		"this pool", e.Name, pool, why)
}

// checkAllocator rejects an allocator that makes no sense here, or begins outside the bounds.
func checkAllocator(v params.Values, spec allocate.Spec) error {
	e := spec.Entry
	refuse := func(why string) error {
		return fmt.Errorf("cache pools: allocator %s %s; use one that divides between two pools, such as static(r=0.4) "+
			"(see: cachesim allocators)", spec.Name(), why)
	}
	switch {
	case e.Shared:
		return refuse("divides nothing, but shards and users cannot share a pool")
	case e.Future && !e.Serving:
		return refuse("knows the requests of the trace, but when they are served depends on the cache")
	}
	a, err := allocate.New(spec, poolNames)
	if err != nil {
		return fmt.Errorf("cache pools: %w", err)
	}
	needs := a.Needs()
	_, pooling := a.(allocate.Pooling)
	switch {
	case pooling || needs.Data:
		return refuse("divides by the data sets of tenants, which shards and users are not")
	case needs.Streams:
		return refuse("divides by the order in which files are read, which shards and users do not have")
	case e.Serving && e.Future: // it begins with what the first epoch needs
		return nil
	}
	ratio := firstRatio(a)
	if least, most := v.Float("rmin"), v.Float("rmax"); ratio < least-1e-6 || ratio > most+1e-6 {
		return fmt.Errorf("cache pools: allocator %s begins with a ratio of %v, outside rmin=%v to rmax=%v; choose "+
			"another ratio, or other bounds", spec, ratio, least, most)
	}
	return nil
}

// firstRatio returns the ratio with which an allocator begins if nothing bounds it.
func firstRatio(a allocate.Allocator) float64 {
	const whole = 1_000_000
	capacities := make([]int64, len(poolNames))
	hlem.Divide(a, &allocate.State{Capacity: whole, Pools: make([]allocate.Pool, len(poolNames))},
		&hlem.Window{Least: 0, Most: 1, Objective: hlem.DefaultObjective()}, capacities)
	return float64(capacities[embeddings]) / whole
}

// checkTrace rejects a trace that the nodes cannot serve.
func checkTrace(v params.Values, t *traces.Trace) error {
	c := recommender.Of(t.Kind)
	switch {
	case c == nil:
		return fmt.Errorf("cache pools serves recommender requests, but %s has none; use --input-format interactions for a "+
			"log of ratings, or cachesim gen recommender", t.Name)
	case t.SampleRate > 0 && t.SampleRate < 1:
		return fmt.Errorf("cache pools: a sample of %v of the users of %s needs less memory than all; use --limit instead "+
			"of --sample", t.SampleRate, t.Name)
	case len(t.Starts) > 0:
		return fmt.Errorf("cache pools: %s is replayed file by file; remove --per-file", t.Name)
	}
	memory, _ := memoryOf(v) // already checked
	return checkMemory(int64(v.Int("gpus"))*memory, pageOf(c), v.Float("rmin"), v.Float("rmax"))
}

// remark returns what to say about a trace that was generated for another number of nodes.
func remark(v params.Values, t *traces.Trace) string {
	c, nodes := recommender.Of(t.Kind), v.Int("nodes")
	if c == nil || c.Population == nil || c.Population.Nodes == nodes {
		return ""
	}
	meant := c.Population.Nodes
	return fmt.Sprintf("its load is meant for nodes=%d, and pools(nodes=%d) divides it over its nodes: each has %.3g "+
		"times the load that it should have; give both the same nodes, unless that is intended", meant, nodes,
		float64(meant)/float64(nodes))
}

// estimate returns the memory that the cache needs. If a model computes what is served, the pools hold nothing.
func estimate(v params.Values, t *traces.Trace, predicted bool) cache.Estimate {
	c := recommender.Of(t.Kind)
	if c == nil {
		return cache.Estimate{} // which is rejected
	}
	nodes, shards, count := int64(v.Int("nodes")), int64(c.Shards), int64(t.NumObjects)
	if predicted {
		shards, count = 1, 1
	}
	memory, _ := memoryOf(v) // already checked
	emb, kv, _ := policiesOf(v, policies.Spec{})
	pages := int64(v.Int("gpus")) * memory / pageOf(c)
	bitsPerNode := func(objects int64) int64 { return nodes * 2 * objects / 8 }
	return cache.Estimate{
		Bytes: nodes*nodeBytes + shards*(8+nodes) + bitsPerNode(shards) + bitsPerNode(count) + nodes*memberBytes*count,
		Policies: []cache.PoolEstimate{{Policy: emb.Entry, Objects: shards, Slots: min(pages, shards), Pools: nodes},
			{Policy: kv.Entry, Objects: count, Slots: min(pages, count), Sized: true, Pools: nodes}},
	}
}

// Estimates of the memory in bytes: of a node, and of a user that a node has met.
const (
	nodeBytes   = 1 << 20
	memberBytes = 30
)

func build(c cache.Config) (*Cache, error) {
	v := c.Params
	memory, err := memoryOf(v)
	if err != nil {
		return nil, err
	}
	config := Config{
		Nodes: v.Int("nodes"), GPUs: v.Int("gpus"), Memory: memory, Start: v.Float("r"), Least: v.Float("rmin"),
		Most: v.Float("rmax"), Strict: v.Bool("strict"), Partitioned: v.Text("tables") == partitioned, Seed: c.Seed,
		Life: c.Life, Allocator: c.Allocator, Predictor: c.NewPredictor, Served: c.Served,
		Requests: recommender.Of(c.Trace.Kind), Warmup: c.Warmup, Count: c.Trace.NumObjects,
		Predicted: c.Predicted,
	}
	if config.Embeddings, config.Users, err = policiesOf(v, c.Policy); err != nil {
		return nil, err
	}
	return New(config)
}
