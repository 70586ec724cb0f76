package challenge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/adversary"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Kind is a kind of workloads, with the cache that serves them and the others that a variant is compared with.
type Kind struct {
	Name     string
	What     string // workloads, and whose kind it is, in lines of help
	Against  string // by default
	Prefetch string // what the others are combined with by default
	Capacity int    // by default; 0: the cache has one of its own
	Requests int    // by default, for each object that fits; in all if the cache has a capacity of its own
	Cache    string
	Model    string // of time; "": none

	draw func(g draws) Workload
	// whole says that workloads end by themselves: they have any length up to the limit.
	whole bool
	// timed says that the P99 of the latency counts, and not hits.
	timed bool
	// fits reports whether a policy belongs to the kind; nil: none does.
	fits func(policies.Entry) bool
}

// Text describes the kind in lines of help.
func (k *Kind) Text() string {
	s := k.What + "\n" + "against " + k.Against
	if k.Prefetch != "none" && !k.timed {
		s += ",\neach with " + k.Prefetch
	}
	if k.Capacity > 0 {
		return s + fmt.Sprintf(";\n%d objects, up to %d requests for each", k.Capacity, k.Requests)
	}
	return s + fmt.Sprintf(";\nup to %s requests", show.Count(int64(k.Requests)))
}

const usualPolicies = "lru,s3fifo,arc,lirs,w-tinylfu"

// Kinds are the kinds of workloads. A policy belongs to the last one that it fits.
var Kinds = []*Kind{
	{Name: "phases", What: "up to five phases: Zipf's law, also with ranks that move or with scans between,\n" +
		"loops, zigzags, new objects; of all policies but those below",
		Against: usualPolicies, Prefetch: "none", Capacity: 100, Requests: 200, Cache: "exact",
		draw: drawPhases, fits: func(policies.Entry) bool { return true }},
	{Name: "readers", What: "up to four streams of reads of files: in order, backwards, strided, shuffled,\n" +
		"by Zipf's law; epochs, copies, readers that take turns; of igtcache",
		Against: usualPolicies + ",uniform", Prefetch: "none,next(n=4),stride(n=4),readahead,igt",
		Capacity: 500, Requests: 40, Cache: "exact", draw: readers.draw, fits: dividesAmongStreams},
	{Name: "topics", What: "dialogues in a semantic cache: topics that return, their popularity, and how it\n" +
		"moves; of policies that look at topics",
		Against: usualPolicies, Prefetch: "none", Capacity: 200, Requests: 25, Cache: "semantic",
		draw: topics.draw, fits: func(e policies.Entry) bool { return e.Relates }},
	{Name: "nodes", What: "recommendations by a node (--model fluid): tables, users, layers, utilisation,\n" +
		"shares that move, models that take turns; of allocators of serving nodes",
		Against: "static(r=0.1..0.9+0.1)", Requests: 400_000, Cache: "pools(nodes=1)", Model: "fluid",
		draw: nodes.draw, whole: true, timed: true},
}

// dividesAmongStreams reports whether a policy comes with a cache that divides its capacity among streams.
func dividesAmongStreams(e policies.Entry) bool {
	if e.ShortFor == nil {
		return false
	}
	name, _, _ := e.ShortFor(params.Defaults(e.Params))
	of, _ := cache.Registry.Find(name)
	return cache.Can[cache.Streaming](of)
}

// Contest is a variant and what it is compared with.
type Contest struct {
	Kind  *Kind
	Parts []sim.Parts // the variant first
}

// Names are the parts of a contest as users write them; "" for the defaults of the kind.
type Names struct{ Variant, Kind, Against, Prefetch, Predictor string }

// NewContest parses the parts of a contest. The kind follows from the variant unless it is named.
func NewContest(n Names) (*Contest, error) {
	kind, err := kindOf(n)
	if err != nil {
		return nil, err
	}
	c := &Contest{Kind: kind}
	own := []*prefetch.Spec{nil}
	variant, err := kind.entrants(n.Variant, n.Predictor, own)
	if err != nil {
		return nil, err
	}
	if len(variant) != 1 {
		return nil, fmt.Errorf("%s: want one variant", n.Variant)
	}
	beside := own
	if kind.timed {
		if n.Prefetch != "" {
			return nil, errors.New("--prefetch: nodes prefetch nothing; remove it")
		}
	} else if beside, err = prefetchers(cmp.Or(n.Prefetch, kind.Prefetch)); err != nil {
		return nil, fmt.Errorf("--prefetch: %w", err)
	}
	rivals, err := kind.entrants(cmp.Or(n.Against, kind.Against), n.Predictor, beside)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	rivals = slices.DeleteFunc(rivals, func(p sim.Parts) bool { return full(p) == full(variant[0]) })
	if len(rivals) == 0 {
		return nil, fmt.Errorf("--against %s: want another than %s", n.Against, n.Variant)
	}
	c.Parts = append(variant, rivals...)
	return c, nil
}

// kindOf returns the kind that a user named, or that of the variant.
func kindOf(n Names) (kind *Kind, err error) {
	name, _, err := params.SplitCall(n.Variant)
	if err != nil {
		return nil, err
	}
	policy, isPolicy := policies.Registry.Find(name)
	allocator, isAllocator := allocate.Registry.Find(name)
	if n.Kind != "" {
		i := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == n.Kind })
		if i < 0 {
			return nil, suggest.Unknown("kind of workloads", n.Kind, KindNames())
		}
		if kind = Kinds[i]; isPolicy && kind.timed || isAllocator && !isPolicy && !kind.timed {
			return nil, fmt.Errorf("--workloads %s: %s is none of those that serve them; remove --workloads", n.Kind, name)
		}
		return kind, nil
	}
	for _, k := range Kinds {
		if isPolicy && k.fits != nil && k.fits(policy) || !isPolicy && isAllocator && allocator.Serving && k.timed {
			kind = k
		}
	}
	if kind == nil {
		return nil, suggest.Unknown("policy", name, policies.Registry.Names())
	}
	return kind, nil
}

// KindNames returns the names of all kinds.
func KindNames() (names []string) {
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return names
}

// entrants returns what a list of policies, or of allocators of nodes, stands for, each with each prefetcher.
func (k *Kind) entrants(list, predictor string, beside []*prefetch.Spec) (all []sim.Parts, err error) {
	served, err := cache.Registry.Parse(k.Cache)
	if err != nil {
		return nil, err
	}
	if k.timed {
		model, err := models.Registry.Parse(k.Model)
		if err != nil {
			return nil, err
		}
		allocators, err := allocate.Registry.ParseList(list)
		for i := range allocators {
			all = append(all, sim.Parts{Policy: policies.Known("lru"), Cache: served, Model: &model, Allocator: &allocators[i]})
		}
		return all, err
	}
	specs, err := policies.Registry.ParseList(list)
	if err != nil {
		return nil, err
	}
	for _, prefetcher := range beside {
		for _, spec := range specs {
			if spec.Entry.ShortFor == nil { // else a replay tells whether it serves requests for keys
				if err := adversary.Check(spec.Entry); err != nil {
					return nil, err
				}
			}
			parts := sim.Parts{Policy: spec, Cache: served, Prefetcher: prefetcher}
			if policies.Can[policies.PredictorUser](spec.Entry) {
				predictions, err := predict.Registry.Parse(predictor)
				if err != nil {
					return nil, fmt.Errorf("--predictor: %w", err)
				}
				parts.Predictor = &predictions
			}
			all = append(all, parts)
		}
	}
	return all, nil
}

// prefetchers parses a list of prefetchers, of which one that proposes nothing is nil.
func prefetchers(list string) (all []*prefetch.Spec, err error) {
	specs, err := prefetch.Registry.ParseList(list)
	for i := range specs {
		if all = append(all, &specs[i]); specs[i].Entry.Idle {
			all[i] = nil
		}
	}
	return all, err
}

// entrant names what the kind compares: a policy, with its prefetcher, or an allocator.
func entrant(p sim.Parts) string {
	switch {
	case p.Allocator != nil:
		return p.Allocator.String()
	case p.Prefetcher != nil:
		return p.Policy.String() + " + " + p.Prefetcher.String()
	}
	return p.Policy.String()
}

func full(p sim.Parts) string {
	if p.Allocator != nil {
		return p.Allocator.Full()
	}
	return p.Policy.Full()
}

// measured replays a trace with all parts, and returns their hit ratios or, on nodes, the P99 in milliseconds.
func (c *Contest) measured(ctx context.Context, t *traces.Trace, o Options) (values []float64, err error) {
	replayer := sim.NewReplayer(t, sim.ReplayerOptions{Jobs: 1})
	for _, parts := range c.Parts {
		cell := sim.Cell{Parts: parts, Capacity: capacity.Of(int64(o.Capacity), false), Seed: o.Seed}
		if own, ok := sim.OwnCapacity(parts.Cache); ok {
			cell.Capacity = own
		}
		if err := replayer.Check(cell); err != nil {
			return nil, err
		}
		result, err := replayer.Replay(ctx, cell)
		if err != nil {
			return nil, err
		}
		value := float64(result.Int(metric.Hits)) / float64(len(t.Objects))
		if c.Kind.timed {
			value = result.Float(models.LatencyP99)
		}
		values = append(values, value)
	}
	return values, nil
}

// best returns which of the others is the best one, and by how much the variant is behind it: the difference of the hit
// ratios, or the share by which the P99 is longer; 0 if it is not behind. Of hits it is not a share: scans would make
// any share large, since they leave few hits to all.
func (c *Contest) best(values []float64) (of int, behind float64) {
	others := values[1:]
	if c.Kind.timed {
		of = slices.Index(others, slices.Min(others))
		return of, max(0, values[0]/others[of]-1)
	}
	of = slices.Index(others, slices.Max(others))
	return of, max(0, others[of]-values[0])
}

// load returns the requests of a workload.
func (c *Contest) load(ctx context.Context, w workload.Workload) (*traces.Trace, error) {
	return w.Load(ctx, nil, read.Options{Needs: sim.Needs(c.Parts, false)})
}

// command returns the command that replays a workload with the variant and one of the others.
func (c *Contest) command(text string, of int, o Options) string {
	variant, other := c.Parts[0], c.Parts[1+of]
	var s strings.Builder
	fmt.Fprintf(&s, "cachesim run '%s'", text)
	if c.Kind.Cache != "exact" {
		fmt.Fprintf(&s, " --cache '%s'", c.Kind.Cache)
	}
	if c.Kind.timed {
		fmt.Fprintf(&s, " --model %s --allocate '%s,%s' --seed %d", c.Kind.Model, variant.Allocator, other.Allocator, o.Seed)
		return s.String()
	}
	fmt.Fprintf(&s, " --policy '%s,%s' --capacity %d", variant.Policy, other.Policy, o.Capacity)
	if other.Prefetcher != nil {
		fmt.Fprintf(&s, " --prefetch 'none,%s'", other.Prefetcher)
	}
	fmt.Fprintf(&s, " --seed %d", o.Seed)
	return s.String()
}
