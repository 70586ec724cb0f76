package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Kind is a server: what its cache, and the policy that stands for it, are made of.
type Kind struct {
	Name, Summary, Source string
	// Memory is the setting that is the capacity, and Unit reads its value.
	Memory string
	Unit   func(text string) (bytes int64, err error)
	Params []params.Param

	Check      func(params.Values) error                // nil: none
	CheckTrace func(params.Values, *traces.Trace) error // nil: none
	// CheckMemory refuses a memory that is written down, in bytes, where the program would not start with it; nil: none.
	CheckMemory func(v params.Values, bytes int64) error
	New         func(cache.Config) (program, error)
	Look        policies.Look
	// Tiers are the memory and what is below it, none where its settings add no level; nil: there never is one. Below are
	// the metrics of that.
	Tiers func(params.Values) ([]cache.Tier, error)
	Below []metric.Metric
	// Inside says that a policy may choose the victims in the place of the server, and CheckInside refuses settings with
	// which none may; nil: there are none.
	Inside      bool
	CheckInside func(params.Values) error
}

// Kinds are the servers, in the order of lists.
var Kinds = []Kind{
	redisKind("redis", "Redis: bytes of items, sampled eviction by a clock of seconds, lazy and active expiry",
		redisVersions, policies.Vermilion),
	redisKind("valkey", "Valkey: as redis, with keys inside objects and a table of buckets", valkeyVersions,
		policies.Blue),
	memcachedKind, varnishKind, nginxKind, squidKind, trafficserverKind, rocksdbKind, postgresqlKind, innodbKind,
}

// Caches are the kinds of caches of all servers.
var Caches = func() (all []cache.Entry) {
	for _, k := range Kinds {
		all = append(all, k.cache())
	}
	return all
}()

// Policies stand for the servers in lists of policies, so that they are compared with the policies of textbooks.
var Policies = func() (all []policies.Entry) {
	for _, k := range Kinds {
		all = append(all, k.short())
	}
	return all
}()

func (k Kind) cache() cache.Entry {
	return cache.Entry{
		Name: k.Name, Summary: k.Summary, Source: k.Source, Params: k.Params, Clock: true, Bypasses: true, Random: true,
		Metrics:     slices.Concat(metrics, k.Below),
		Types:       []any{(*Server)(nil)},
		CheckParams: k.Check,
		CheckTrace: func(v params.Values, t *traces.Trace) error {
			if !t.HasSizes() {
				return fmt.Errorf("server %s counts bytes, and the trace has no sizes: add --object-size, such as "+
					"--object-size 475B", k.Name)
			}
			if k.CheckTrace == nil {
				return nil
			}
			return k.CheckTrace(v, t)
		},
		Check: k.checkInside,
		Tiers: k.Tiers,
		New: func(c cache.Config) (cache.Cache, error) {
			if c.Unit {
				return nil, fmt.Errorf("server %s counts bytes; add --bytes, and write capacities such as 64MiB", k.Name)
			}
			p, err := k.New(c)
			if err != nil {
				return nil, err
			}
			return newServer(c, p), nil
		},
	}
}

// checkInside rejects a policy that cannot choose the victims of the server.
func (k Kind) checkInside(v params.Values, e policies.Entry) error {
	switch {
	case e.Name == own:
		return nil
	case !k.Inside:
		return fmt.Errorf("%s evicts by its own rule; remove --cache and write --policy %s", k.Name, k.Name)
	case e.Kind != policies.Online || e.Relates || e.Unbounded || policies.Can[policies.Admitter](e) ||
		policies.Can[policies.PredictorUser](e):
		return fmt.Errorf("%s cannot choose what %s evicts; want a policy of the kind online that stores what is missing, "+
			"such as lru, s3fifo or lfu-da", e.Name, k.Name)
	case k.CheckInside != nil:
		return k.CheckInside(v)
	}
	return nil
}

// short returns the policy that stands for the server with its own rule.
func (k Kind) short() policies.Entry {
	given := params.Param{Name: k.Memory, Default: "", Doc: "the memory, which is the capacity: --server states both"}
	inside := policies.Entry{Name: own, Kind: policies.Online, Units: policies.UnitsBytes, Bypass: true, Random: true}
	return policies.Entry{
		Name: k.Name, Summary: k.Summary, Source: k.Source, Params: append(slices.Clone(k.Params), given), Look: k.Look,
		Units: policies.UnitsBytes, Bypass: true, Random: true, ShortInside: true,
		Check: func(v params.Values) error {
			if text := v.Text(k.Memory); text != "" {
				return fmt.Errorf("%s=%s is a capacity: write --server '%s(%[1]s=%[2]s)' in the place of --policy and --capacity",
					k.Memory, text, k.Name)
			}
			return params.Check(k.Check, v)
		},
		Memory: policies.Memory{PerObject: 64},
		ShortFor: func(v policies.Values) (string, policies.Values, policies.Spec) {
			settings := maps.Clone(v)
			delete(settings, k.Memory)
			return k.Name, settings, params.Spec[policies.Entry]{Entry: inside, Params: policies.Values{}}
		},
	}
}

// Find returns the server of a name.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds {
		if strings.EqualFold(k.Name, name) {
			return k, true
		}
	}
	return Kind{}, false
}
