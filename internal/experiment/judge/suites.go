package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Suite is the traces over which policies are judged, in two halves: a search sees how a policy does on the first, and
// learns at its end how it does on the second.
type Suite struct {
	Name  string
	Bytes bool // capacities are shares of the bytes of all objects, not of their number
	// Search and HeldOut are generators, or files.
	Search, HeldOut []string
	files           bool
}

// built are the suites of the program: short traces of a kind, by generators. The two halves differ in seeds and in
// numbers. The popularity, sizes and phases are in the ranges that are published for each kind of log.
var built = map[string]Suite{
	"block": {
		Search: []string{
			"zipf-scan(requests=20000,objects=6000,alpha=0.8,scan-share=0.3,scan-length=800,seed=1)",
			"zipf-scan(requests=20000,objects=4000,alpha=0.9,scan-share=0.4,scan-length=3000,scan-objects=9000,seed=2)",
			"mixed(phases=zipf(objects=3000,alpha=1):8000;loop(objects=900):6000,requests=20000,seed=3)",
			"zipf-drift(requests=20000,objects=5000,alpha=0.9,period=3000,shift=150,seed=4)",
		},
		HeldOut: []string{
			"zipf-scan(requests=20000,objects=9000,alpha=0.7,scan-share=0.2,scan-length=2000,seed=11)",
			"zipf-scan(requests=20000,objects=3000,alpha=1,scan-share=0.5,scan-length=1500,scan-objects=4000,seed=12)",
			"mixed(phases=zipf(objects=5000,alpha=0.8):5000;loop(objects=1500):7000;scan:2000,requests=20000,seed=13)",
			"zipf-drift(requests=20000,objects=8000,alpha=0.8,period=5000,shift=600,seed=14)",
		},
	},
	"web": {
		Bytes: true,
		Search: []string{
			"zipf-scan(requests=20000,objects=8000,alpha=0.9,scan-share=0.25,scan-length=1," +
				"size=lognormal(mean=20000,sigma=1.5),seed=1)",
			"zipf(requests=20000,objects=15000,alpha=0.7,size=lognormal(mean=40000,sigma=2),seed=2)",
			"zipf-drift(requests=20000,objects=6000,alpha=1,period=2000,shift=60,size=lognormal(mean=10000,sigma=1.2),seed=3)",
			"zipf(requests=20000,objects=5000,alpha=1.1,size=lognormal(mean=100000,sigma=1),seed=4)",
		},
		HeldOut: []string{
			"zipf-scan(requests=20000,objects=5000,alpha=0.8,scan-share=0.4,scan-length=1," +
				"size=lognormal(mean=30000,sigma=1.8),seed=11)",
			"zipf(requests=20000,objects=10000,alpha=0.9,size=lognormal(mean=15000,sigma=1.3),seed=12)",
			"zipf-drift(requests=20000,objects=9000,alpha=0.8,period=4000,shift=200," +
				"size=lognormal(mean=60000,sigma=2),seed=13)",
			"zipf(requests=20000,objects=20000,alpha=0.6,size=lognormal(mean=25000,sigma=1.5),seed=14)",
		},
	},
	"kv": {
		Search: []string{
			"zipf(requests=20000,objects=8000,alpha=1,seed=1)",
			"zipf-drift(requests=20000,objects=6000,alpha=1.1,period=1500,shift=40,seed=2)",
			"zipf-scan(requests=20000,objects=4000,alpha=1,scan-share=0.3,scan-length=1,seed=3)",
			"mixed(phases=zipf(objects=4000,alpha=1.2):4000;zipf(objects=6000,alpha=0.9):4000,requests=20000,seed=4)",
		},
		HeldOut: []string{
			"zipf(requests=20000,objects=15000,alpha=0.9,seed=11)",
			"zipf-drift(requests=20000,objects=9000,alpha=1,period=800,shift=90,seed=12)",
			"zipf-scan(requests=20000,objects=7000,alpha=1.1,scan-share=0.45,scan-length=2,seed=13)",
			"mixed(phases=zipf(objects=9000,alpha=1):6000;zipf(objects=2000,alpha=0.8):3000,requests=20000,seed=14)",
		},
	},
	"llm": {
		Search: []string{
			"llm(prompts=500,seed=1)", "llm(prompts=400,shape=aibrix,seed=2)",
		},
		HeldOut: []string{
			"llm(prompts=500,gap-mean=90,seed=11)", "llm(prompts=300,shape=aibrix,systems=6,seed=12)",
		},
	},
}

// Names returns the names of the suites of the program.
func Names() []string { return slices.Sorted(maps.Keys(built)) }

// Named returns a suite of the program.
func Named(name string) (Suite, bool) {
	s, ok := built[name]
	s.Name = name
	return s, ok
}

// OfFiles returns a suite of traces in files: the first, third and so on for the search, the others held out.
func OfFiles(name string, paths []string, bytes bool) Suite {
	s := Suite{Name: name, Bytes: bytes, files: true}
	for i, path := range paths {
		if i%2 == 0 {
			s.Search = append(s.Search, path)
		} else {
			s.HeldOut = append(s.HeldOut, path)
		}
	}
	return s
}

// shares are the capacities at which traces are replayed, of the number of their objects or of their bytes.
var shares = []string{"1%", "10%"}

// point is a trace at one capacity.
type point struct {
	replayer *sim.Replayer
	name     string
	requests int
	distinct int64    // objects that are requested and can be loaded
	cell     sim.Cell // without a policy
}

// load loads the traces of half a suite.
func (s Suite) load(ctx context.Context, half []string) (points []*point, err error) {
	mode := capacity.AsWritten
	if s.Bytes {
		mode = capacity.Bytes
	}
	for _, text := range half {
		t, err := s.trace(ctx, text)
		if err != nil {
			return nil, err
		}
		if len(t.Objects) == 0 {
			return nil, fmt.Errorf("%s: there are no requests to judge a policy by", text)
		}
		in := cache.ExactSpec()
		if prompts.Of(t.Kind) != nil {
			if in, err = cache.Registry.Parse("prefix"); err != nil {
				return nil, err
			}
		}
		replayer, distinct := sim.NewReplayer(t, sim.ReplayerOptions{}), loadable(t, s.Bytes)
		for _, share := range shares {
			spec, err := capacity.Parse(share)
			if err != nil {
				return nil, err
			}
			p := &point{replayer: replayer, name: t.Name, requests: len(t.Objects), distinct: distinct}
			p.cell.Cache = in
			if p.cell.Capacity, err = spec.On(t, mode); err != nil {
				return nil, err
			}
			points = append(points, p)
		}
	}
	return points, nil
}

// loadable returns how many objects are requested: where bytes count, only those that have some.
func loadable(t *traces.Trace, bytes bool) (n int64) {
	if bytes {
		t, _ = t.WithoutZeroSizes()
	}
	seen := make([]bool, t.NumObjects)
	for _, o := range t.Objects {
		if !seen[o] {
			seen[o] = true
			n++
		}
	}
	return n
}

func (s Suite) trace(ctx context.Context, text string) (*traces.Trace, error) {
	w := workload.Workload{Files: []string{text}}
	if !s.files {
		var err error
		if w, err = workload.Generated(text, 0); err != nil {
			return nil, err
		}
	}
	return w.Load(ctx, nil, read.Options{Needs: traces.Needs{Sizes: s.Bytes, Times: true}})
}

// baselines are the policies that a candidate is compared with: the first is what its score is relative to.
func (s Suite) baselines() []policies.Spec {
	names := []string{"lru", "fifo", "s3fifo", "sieve", "arc", "lirs", "w-tinylfu", "lfu"}
	if s.Bytes {
		names = []string{"lru", "fifo", "s3fifo", "sieve", "lfu", "gdsf", "lhd"}
	}
	all := make([]policies.Spec, len(names))
	for i, name := range names {
		all[i] = policies.Known(name)
	}
	return all
}
