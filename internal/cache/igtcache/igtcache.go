// Package igtcache contains IGTCache, a cache for jobs of different kinds that read files: it recognises how each
// directory and file is read. Each such stream gets a share of the capacity, with prefetching and eviction that suit
// its pattern.
//
// Source: "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads", arXiv 2506.12370. Package streams
// recognises the patterns, package prefetch proposes what to load ahead, and package allocate divides the capacity.
// This package has the shares, what they evict, and how long they are kept.
package igtcache

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// Values of parameters.
const (
	own      = "igt"
	off      = "off"
	adaptive = "adaptive"
	pattern  = "pattern"
	always   = "policy"
	shared   = "shared"
	paper    = "paper"
	freeIdle = "free"
	keepIdle = "keep"
	lendIdle = "lend"
	safe     = "safe"
)

const (
	name    = "igtcache"
	summary = "recognises how each directory and file is read, and gives each such stream a share of the capacity with " +
		"its own prefetching and eviction"
	source = "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads (IGTCache), arXiv 2506.12370"
)

var entry = cache.Entry{
	Name: name,
	// Beside the tree, which has at most 10 000 nodes by default.
	Memory:   policies.Memory{Fixed: 2 << 20, PerObject: 58},
	Summary:  summary + "; where the order of reading does not say what to evict, the policy chooses",
	Source:   source,
	Bypasses: true,
	Random:   true,
	OneByOne: true,
	Params:   parameters,
	Metrics:  metrics,
	CheckParams: func(v params.Values) error {
		_, err := optionsOf(v)
		return err
	},
	Resolve: func(e *cache.Entry, v params.Values) {
		if o, err := optionsOf(v); err == nil && o.outer && !o.shared { // beside the two that it simulates
			e.Memory.Fixed, e.Memory.PerObject = 3*e.Memory.Fixed, 3*e.Memory.PerObject
		}
	},
	Check: func(_ params.Values, policy policies.Entry) error {
		if err := checkInside(policy); err != nil {
			return fmt.Errorf("cache %s: policy %w", name, err)
		}
		return nil
	},
	Admits: admits,
	New:    func(c cache.Config) (cache.Cache, error) { return New(c) },
	Types:  []any{(*Cache)(nil)},
}

// admits says which admissions work: with outer, what is loaded follows the caches that are simulated.
func admits(v params.Values, a admit.Entry) error {
	o, err := optionsOf(v)
	switch {
	case err != nil:
		return err
	case o.outer && !o.shared:
		return errors.New("with outer=true this cache loads what one of two simulated caches would, and simulates both " +
			"without an admission; write outer=false")
	}
	return cache.AdmitsWithoutContest(v, a)
}

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

var parameters = slices.Concat([]policies.Param{
	{Name: "mode", Default: "default", Choices: []string{"default", paper, safe}, Doc: "with paper, what is not in the " +
		"paper is off: guard=false, ks=scipy, order=names, readers=4, interleaved=false, retest=false, verdicts=1, " +
		"trailing=false, " +
		"idle=keep, eager=true, beside=none, passing=0 and allocate=marginal(weight=1,hysteresis=1); with safe, what keeps " +
		"small caches from losing to simple policies is on: floor=true, idle=lend, steps=0.8, weigh=true, fit=true, " +
		"outer=true and accuracy=0"},
	{Name: "prefetch", Default: own, Doc: "what is loaded ahead: igt (by the pattern of each stream), off, or any " +
		"prefetcher; --prefetch replaces it"},
	{Name: "evict", Default: pattern, Choices: []string{pattern, always}, Doc: "what is evicted: pattern (what " +
		"sequential streams have read, nothing of random ones; the policy chooses in skewed streams, and among objects " +
		"that belong to no stream), or policy (it chooses in all streams)"},
	{Name: "allocate", Default: "marginal", Doc: "how quotas change: marginal or equal, with parameters; off (streams " +
		"keep what they got), or shared (one pool for all)"},
	{Name: "ttl", Default: adaptive, Doc: "how long a random stream is kept that nobody reads: adaptive, off, or a " +
		"number of seconds"},
	{Name: "base_ttl_s", Default: 60.0, Min: 0, Max: 1e9, Doc: "seconds that an adaptive time to live has in addition " +
		"to the gaps between accesses"},
	{Name: "ttl_alpha", Default: 0.01, Min: 1e-9, Max: 0.5, Doc: "share of the gaps that may be longer than it, were " +
		"they normally distributed"},
	{Name: "idle", Default: freeIdle, Choices: []string{freeIdle, keepIdle, lendIdle}, Doc: "the least share of a " +
		"sequential stream that has been read to its end, or that nobody has read for its time to live: free, or keep; the " +
		"paper does not say. With lend, units that are neither sequential nor random also give others the room that they " +
		"need when nobody has read them for long, the longest first"},
	{Name: "floor", Default: false, Doc: "a unit keeps room for its readers, not only the least share: for each of them " +
		"the blocks that are loaded ahead and one, and one more, but no more than an equal share of the units that are read"},
	{Name: "weigh", Default: false, Doc: "a stream that passes for random is skewed if it hits more often than a random " +
		"order could with what it holds"},
	{Name: "fit", Default: false, Doc: "what is loaded ahead of a reader is at most its part of what all readers of a " +
		"unit share"},
	{Name: "outer", Default: false, Doc: "units and one pool for all (allocate=shared) are simulated, and what the " +
		"better of them would hold is held; the other one is followed once it is ahead by more misses than the change " +
		"costs, as in the policy best. Three times the memory, and up to four times the time. With a predictor, units"},
	{Name: "eager", Default: false, Doc: "what a sequential stream has read is evicted at once, as in the paper; " +
		"otherwise when something else needs the room"},
	{Name: "passing", Default: 0.9, Min: 0, Max: 1, Doc: "largest share of the objects of a full random stream that may " +
		"be prefetched ones, which leave again once they have been read; 0: what is prefetched bypasses it; not in the " +
		"paper"},
	{Name: "trailing", Default: true, Doc: "a sequential stream keeps a block while another reader is behind it; not in " +
		"the paper"},
}, prefetch.TreeParams(), prefetch.StreamsParams())

// options are the parameters of a cache.
type options struct {
	values     params.Values  // all of them; the tree and its prefetcher read theirs
	prefetcher *prefetch.Spec // nil: its own, or none
	own        bool           // its own prefetcher
	always     bool           // the policy evicts in all streams
	shared     bool
	allocator  *allocate.Spec // nil: quotas stay
	keeps      bool           // nothing expires
	ttl        int64          // nanoseconds; 0: adaptive
	base       int64          // nanoseconds
	quantile   float64
	trailing   bool
	passing    float64
	eager      bool // what has been read of sequential streams is evicted at once
	outer      bool // units or one pool, whichever does better
	floor      bool // units keep room for their readers
	weigh      bool // hits say whether a stream is random
	fit        bool // readers share the room for what is loaded ahead
	ahead      int  // blocks that are loaded ahead of a reader
	lends      bool // units that nobody reads give room to others
	keepsIdle  bool // sequential streams that are read no more keep their least share
}

// presets are the parameters that a mode sets.
var presets = map[string]params.Values{
	safe: {"floor": true, "idle": lendIdle, "steps": 0.8, "weigh": true, "fit": true, "outer": true,
		"accuracy": 0.0},
	paper: {"floor": false, "guard": false, "ks": "scipy", "order": "names", "readers": 4, "interleaved": false,
		"retest": false, "verdicts": 1, "trailing": false, "idle": keepIdle, "eager": true, "beside": "none",
		"passing": 0.0, "allocate": "marginal(weight=1,hysteresis=1)"},
}

func optionsOf(v params.Values) (o options, err error) {
	if v, err = inMode(v.Text("mode"), v); err != nil {
		return o, err
	}
	o = options{values: v, always: v.Text("evict") == always, trailing: v.Bool("trailing"),
		keepsIdle: v.Text("idle") == keepIdle, passing: v.Float("passing"),
		eager: v.Bool("eager"), floor: v.Bool("floor"), weigh: v.Bool("weigh"), outer: v.Bool("outer"), fit: v.Bool("fit"),
		ahead: prefetch.Ahead(v), lends: v.Text("idle") == lendIdle,
		base: int64(v.Float("base_ttl_s") * float64(time.Second)), quantile: quantile(v.Float("ttl_alpha"))}
	if err := o.readPrefetch(v.Text("prefetch")); err != nil {
		return o, err
	}
	if err := o.readAllocate(v.Text("allocate")); err != nil {
		return o, err
	}
	return o, o.readTTL(v.Text("ttl"))
}

// inMode sets the parameters that a mode determines. One that has neither its default nor the mode's value was chosen,
// and is an error.
func inMode(mode string, v params.Values) (params.Values, error) {
	set := params.Defaults(parameters)
	for name, value := range v {
		preset, ok := presets[mode][name]
		if ok && value != set[name] && value != preset {
			return nil, fmt.Errorf("%s=%v: mode=%s has %s=%v; remove one of them", name, value, mode, name, preset)
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

// checkInside rejects a policy that cannot choose what to evict from the share of a stream.
func checkInside(e policies.Entry) error {
	switch {
	case e.Kind != policies.Online:
		return fmt.Errorf("%s knows the whole trace, but not what is in each stream's share; want a policy of the kind "+
			"online", e.Name)
	case e.ShortFor != nil || e.Relates || e.Unbounded:
		return fmt.Errorf("%s cannot choose what to evict from the share of a stream; want one that evicts, such as lru",
			e.Name)
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
			text, spec.Name(), strings.Join(allocate.Registry.NamesOf(func(e *allocate.Entry) bool { return e.Varying }), ", "))
	}
	o.allocator = &spec
	return nil
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
	// Half of what int64 holds, since it is added to times; and not seconds <= 0, which is false for NaN.
	if err != nil || !(seconds > 0) || seconds > math.MaxInt64/2/float64(time.Second) {
		return fmt.Errorf("ttl=%s: want adaptive, off, or a number of seconds above 0", text)
	}
	o.ttl = max(1, int64(seconds*float64(time.Second)))
	return nil
}

// Cache is IGTCache. It implements cache.Streaming and cache.Warming.
type Cache struct {
	cache.Prefetching
	system *system // with units; only simulated if outer is set
	outer  *outer  // nil unless it follows the better of units and one pool
}

func New(c cache.Config) (*Cache, error) {
	o, err := optionsOf(c.Params)
	if err != nil {
		return nil, err
	}
	if c.Prefetcher != nil { // --prefetch replaces the parameter
		o.own, o.prefetcher = false, nil
	} else {
		c.Prefetcher = o.prefetcher
	}
	if o.outer && !o.shared && c.Predictor == nil {
		x, err := newOuter(c, o)
		if err != nil {
			return nil, err
		}
		return &Cache{Prefetching: cache.NewPrefetching(c, x, leading{x}), system: x.race.Members()[0].system, outer: x}, nil
	}
	s, prefetcher, err := newParts(c, o)
	if err != nil {
		return nil, err
	}
	return &Cache{Prefetching: cache.NewPrefetching(c, s, prefetcher), system: s}, nil
}

// newParts returns what loads and evicts, and what proposes.
func newParts(c cache.Config, o options) (*system, prefetch.Prefetcher, error) {
	s, err := newSystem(c, o, c.Room())
	if err != nil {
		return nil, nil, err
	}
	var prefetcher prefetch.Prefetcher = prefetch.None{}
	switch {
	case o.own:
		p := prefetch.NewStreams(s.tree, prefetch.Config{Params: o.values, Trace: c.Trace, Unit: c.Unit,
			Asynchronous: c.Asynchronous})
		p.Quota, s.restart = s.quota, p.Restart
		if o.fit {
			p.Readers = s.readersOf
		}
		prefetcher = proposer{p, s}
	case c.Prefetcher != nil:
		prefetcher = c.NewPrefetcher(c.Capacity)
	}
	return s, prefetcher, nil
}

func (c *Cache) BeginCounting() {
	c.Prefetching.BeginCounting()
	c.system.BeginCounting()
}

func (c *Cache) Tenants() []cache.Tenant { return c.system.Tenants() }

// quota is the room of a stream for its prefetcher. It includes free capacity, which a full unit takes as it needs, and
// what has been read of sequential streams.
func (s *system) quota(of *streams.Stream) int64 {
	return min(s.unitOf(of).pool.Capacity()+s.free+s.done.total, s.config.Capacity)
}

// proposer is the prefetcher of the streams of a tree in which the cache has already recorded the access.
type proposer struct {
	streams *prefetch.Streams
	system  *system
}

func (p proposer) Request(a prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {
	return p.streams.After(a, p.system.owner, proposals)
}

func (p proposer) More(n int, proposals []prefetch.Proposal) []prefetch.Proposal {
	return p.streams.More(n, proposals)
}

// Shorthand stands for the cache in a list of policies, so that it can be compared with policies of the exact cache.
var Shorthand = policies.Entry{
	Name:    name,
	Look:    policies.Look{Color: policies.Magenta, Mark: policies.Triangle},
	Summary: summary,
	Source:  source,
	Bypass:  true,
	Random:  true,
	Params:  shorthandParameters,
	Check: func(v policies.Values) error {
		in, _, err := inside(v)
		if err != nil {
			return err
		}
		_, err = optionsOf(in)
		return err
	},
	Resolve: func(e *policies.Entry, v policies.Values) {
		if _, policy, err := inside(v); err == nil {
			e.Type, e.Units = policy.Entry.Type, policy.Entry.Units
		}
	},
	ShortFor: func(v policies.Values) (string, policies.Values, policies.Spec) {
		in, policy, _ := inside(v) // already checked
		return name, in, policy
	},
}

// The policy of skewed streams: whichever of several does best, and those of the modes.
const skewedDefault = "duel"

var skewedIn = map[string]string{paper: "lru", safe: "duel(among=arc/s3fifo/lru/w-tinylfu)"}

// shorthandParameters are the cache's parameters, but evict may name the policy inside, and so does skewed.
var shorthandParameters = func() []params.Param {
	at := slices.IndexFunc(parameters, func(p params.Param) bool { return p.Name == "evict" })
	all := slices.Insert(slices.Clone(parameters), at+1, params.Param{Name: "skewed", Default: skewedDefault,
		Doc: "the policy of skewed streams, and of objects that belong to no stream; lru with mode=paper, and " +
			"duel(among=arc/s3fifo/lru/w-tinylfu) with mode=safe"})
	all[at] = params.Param{Name: "evict", Default: pattern, Doc: "what is evicted: pattern (what sequential streams " +
		"have read, nothing of random ones, skewed as below), or a policy for all streams"}
	return all
}()

// inside returns what the parameters of Shorthand stand for: the cache's, and the policy inside.
func inside(v policies.Values) (in params.Values, policy policies.Spec, err error) {
	in, text, from := maps.Clone(v), v.Text("skewed"), "skewed"
	delete(in, "skewed")
	if preset, ok := skewedIn[v.Text("mode")]; ok && text == skewedDefault {
		text = preset
	}
	if v.Text("evict") != pattern {
		in["evict"], text, from = always, v.Text("evict"), "evict"
	}
	if policy, err = policies.Registry.Parse(text); err == nil {
		err = checkInside(policy.Entry)
	}
	if err != nil {
		err = fmt.Errorf("%s=%s: %w", from, text, err)
	}
	return in, policy, err
}
