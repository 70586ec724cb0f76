// Package igtcache contains IGTCache, a cache for jobs of different kinds that read files: it recognises how each
// directory and file is read, and gives each such stream a share of the capacity with prefetching and eviction that
// suit its pattern.
//
// Source: "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads", arXiv 2506.12370. Package streams
// recognises the patterns, package prefetch proposes what to load ahead, and package allocate divides the capacity.
// This package has the shares, what they evict, and how long they are kept.
package igtcache

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// Values of parameters that name a part.
const (
	own      = "igt"
	off      = "off"
	adaptive = "adaptive"
	pattern  = "pattern"
	shared   = "shared"
	paper    = "paper"
)

var entry = policies.Entry{
	Name: "igtcache",
	Look: policies.Look{Color: policies.Magenta, Mark: policies.Triangle},
	// Beside the tree, which has at most 10 000 nodes by default.
	Memory: policies.Memory{Fixed: 2 << 20, PerObject: 57},
	Summary: "recognises how each directory and file is read, and gives each such stream a share of the capacity with " +
		"its own prefetching and eviction",
	Source:  "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads (IGTCache), arXiv 2506.12370",
	Bypass:  true,
	Random:  true,
	Manages: true,
	Params:  parameters,
	Metrics: metrics,
	Check: func(v policies.Values) error {
		_, err := optionsOf(v)
		return err
	},
	Resolve: resolve,
}

var parameters = slices.Concat([]policies.Param{
	{Name: "mode", Default: "default", Choices: []string{"default", paper}, Doc: "with paper, what is not in the " +
		"paper is off: guard=false, ks=scipy, verdicts=1, trailing=false and " +
		"allocate=marginal(weight=1,hysteresis=1)"},
	{Name: "prefetch", Default: own, Doc: "what is loaded ahead: igt (by the pattern of each stream), off, or any " +
		"prefetcher; --prefetch replaces it"},
	{Name: "evict", Default: pattern, Doc: "what leaves: pattern (what sequential streams have read, nothing of random " +
		"ones, skewed as below), or a policy for all streams"},
	{Name: "skewed", Default: "lru", Doc: "the policy of skewed streams, and of objects that belong to no stream"},
	{Name: "allocate", Default: "marginal", Doc: "how quotas change: marginal or equal, with parameters; off (streams " +
		"keep what they got), or shared (one pool for all)"},
	{Name: "ttl", Default: adaptive, Doc: "how long a random stream is kept that nobody reads: adaptive, off, or a " +
		"number of seconds"},
	{Name: "base_ttl_s", Default: 60.0, Min: 0, Max: 1e9, Doc: "seconds that an adaptive time to live has in addition " +
		"to the gaps between accesses"},
	{Name: "ttl_alpha", Default: 0.01, Min: 1e-9, Max: 0.5, Doc: "share of the gaps that may be longer than it, were " +
		"they normally distributed"},
	{Name: "trailing", Default: true, Doc: "a sequential stream keeps a block while another reader is behind it; not in " +
		"the paper"},
}, prefetch.TreeParams(), prefetch.StreamsParams())

// Entries are the policies of this package: each manages a whole cache, which New makes.
var Entries = []policies.Entry{entry}

// options are the parameters of a cache.
type options struct {
	values     policies.Values // those of the tree and of its prefetcher
	prefetcher *prefetch.Spec  // nil: its own, or none
	own        bool            // its own prefetcher
	policy     policies.Spec   // of skewed streams, or of all
	always     bool            // policy is that of all streams
	other      func(policies.Config) (policies.Policy, error)
	shared     bool
	allocator  *allocate.Spec // nil: quotas stay
	keeps      bool           // nothing expires
	ttl        int64          // nanoseconds; 0: adaptive
	base       int64          // nanoseconds
	quantile   float64
	trailing   bool
}

// presets are the parameters that mode=paper sets.
var presets = policies.Values{"guard": false, "ks": "scipy", "verdicts": 1, "trailing": false,
	"allocate": "marginal(weight=1,hysteresis=1)"}

// optionsOf reads the parameters.
func optionsOf(v policies.Values) (o options, err error) {
	if v.Text("mode") == paper {
		if v, err = asInPaper(v); err != nil {
			return o, err
		}
	}
	o = options{values: v, trailing: v.Bool("trailing"), base: int64(v.Float("base_ttl_s") * float64(time.Second)),
		quantile: quantile(v.Float("ttl_alpha"))}
	if err := o.readPrefetch(v.Text("prefetch")); err != nil {
		return o, err
	}
	if err := o.readEviction(v.Text("evict"), v.Text("skewed")); err != nil {
		return o, err
	}
	if err := o.readAllocate(v.Text("allocate")); err != nil {
		return o, err
	}
	return o, o.readTTL(v.Text("ttl"))
}

// asInPaper sets the parameters that mode=paper determines; those that were changed are an error.
func asInPaper(v policies.Values) (policies.Values, error) {
	set := params.Defaults(parameters)
	for name, value := range v {
		preset, ok := presets[name]
		if ok && value != set[name] && value != preset {
			return nil, fmt.Errorf("%s=%v: mode=paper has %s=%v; remove one of them", name, value, name, preset)
		}
		if set[name] = value; ok {
			set[name] = preset
		}
	}
	return set, nil
}

func (o *options) readPrefetch(text string) error {
	switch text {
	case own:
		o.own = true
		return nil
	case off:
		return nil
	}
	spec, err := prefetch.Registry.Parse(text)
	if err != nil {
		return fmt.Errorf("prefetch=%s: %w; or write igt or off", text, err)
	}
	o.prefetcher = &spec
	return nil
}

func (o *options) readEviction(evict, skewed string) error {
	name, text := "skewed", skewed
	if evict != pattern {
		name, text, o.always = "evict", evict, true
	}
	spec, err := policies.Registry.Parse(text)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", name, text, err)
	}
	switch e := spec.Entry; {
	case e.Kind != policies.Online:
		return fmt.Errorf("%s=%s: %s knows the whole trace, but not what is in each stream's share; want a policy of the "+
			"kind online", name, text, e.Name)
	case e.Manages || e.Relates || e.Unbounded:
		return fmt.Errorf("%s=%s: %s cannot choose what leaves the share of a stream", name, text, e.Name)
	}
	o.policy = spec
	if spec.Entry.OnePass { // the order that each share has anyway
		return nil
	}
	o.other = func(c policies.Config) (policies.Policy, error) {
		c.Params = spec.Params
		p, err := spec.Entry.New(c)
		if err != nil {
			return nil, err
		}
		if _, ok := p.(policies.Grower); !ok {
			return nil, fmt.Errorf("policy %s cannot serve a share whose objects are not known in advance", spec.Name())
		}
		return p, nil
	}
	return nil
}

func (o *options) readAllocate(text string) error {
	switch text {
	case shared:
		o.shared = true
		return nil
	case off:
		return nil
	}
	spec, err := allocate.Registry.Parse(text)
	if err != nil {
		return fmt.Errorf("allocate=%s: %w; or write off or shared", text, err)
	}
	if !spec.Entry.Varying {
		return fmt.Errorf("allocate=%s: %s divides among tenants that stay, but streams come and go; want %s, off or shared",
			text, spec.Name(), strings.Join(varying(), ", "))
	}
	o.allocator = &spec
	return nil
}

// varying returns the names of the allocators that can divide among streams.
func varying() (names []string) {
	for _, e := range allocate.Registry.All() {
		if e.Varying {
			names = append(names, e.Name)
		}
	}
	return names
}

func (o *options) readTTL(text string) error {
	switch text {
	case adaptive:
		return nil
	case off:
		o.keeps = true
		return nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) || seconds > math.MaxInt64/2/float64(time.Second) {
		return fmt.Errorf("ttl=%s: want adaptive, off, or a number of seconds above 0", text)
	}
	o.ttl = max(1, int64(seconds*float64(time.Second)))
	return nil
}

// resolve sets what depends on the policy of skewed streams.
func resolve(e *policies.Entry, v policies.Values) {
	o, err := optionsOf(v)
	if err != nil {
		return // Check has reported it
	}
	inner := o.policy.Entry
	e.Predicts = inner.Predicts
	if inner.Units != policies.UnitsBoth {
		e.Units = inner.Units
	}
	if inner.NeedsTime != nil {
		needs := inner.NeedsTime(o.policy.Params)
		e.NeedsTime = func(policies.Values) bool { return needs }
	}
	if inner.Keys != nil {
		compares := inner.Keys(o.policy.Params)
		e.Keys = func(policies.Values) bool { return compares }
	}
}

// Cache is IGTCache.
type Cache struct {
	cache.Prefetching
	system *system
}

// New returns an empty cache.
func New(c cache.Config) (cache.Cache, error) {
	o, err := optionsOf(c.Policy.Params)
	if err != nil {
		return nil, err
	}
	if c.Prefetcher != nil {
		o.own, o.prefetcher = false, nil
	} else {
		c.Prefetcher = o.prefetcher
	}
	s, err := newSystem(c, o, c.Room())
	if err != nil {
		return nil, err
	}
	var prefetcher prefetch.Prefetcher = idle{}
	switch {
	case o.own:
		p := prefetch.NewStreams(s.tree, o.values)
		if c.Unit {
			p.CountObjects()
		}
		p.Quota, s.restart = s.quota, p.Restart
		prefetcher = proposer{p}
	case c.Prefetcher != nil:
		prefetcher = prefetch.New(*c.Prefetcher, prefetch.Config{Trace: c.Trace, Layout: c.Layout, Capacity: c.Capacity,
			Unit: c.Unit})
	}
	return &Cache{Prefetching: cache.NewPrefetching(c, s, prefetcher), system: s}, nil
}

// BeginCounting implements cache.Warming.
func (c *Cache) BeginCounting() {
	c.Prefetching.BeginCounting()
	c.system.BeginCounting()
}

// Tenants returns the state of every stream.
func (c *Cache) Tenants() []cache.Tenant { return c.system.Tenants() }

// quota is the room that a stream has, for its prefetcher: also what is free.
func (s *system) quota(of *streams.Stream) int64 { return s.unitOf(of).pool.Capacity() + s.free }

// idle is a prefetcher that proposes nothing.
type idle struct{}

// Request implements prefetch.Prefetcher.
func (idle) Request(_ prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {
	return proposals
}

// proposer is the prefetcher of the streams of a tree in which the cache has already recorded the access.
type proposer struct{ streams *prefetch.Streams }

// Request implements prefetch.Prefetcher.
func (p proposer) Request(_ prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {
	return p.streams.After(proposals)
}

// More implements prefetch.Backlog.
func (p proposer) More(n int, proposals []prefetch.Proposal) []prefetch.Proposal {
	return p.streams.More(n, proposals)
}
