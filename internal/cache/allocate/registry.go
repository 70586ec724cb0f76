package allocate

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
)

// Values are the parameters of an allocator.
type Values = params.Values

// Entry describes one allocator for the registry. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: how it divides
	Source  string // the paper or page that defines it
	Future  bool   // knows the trace beyond the current request
	// Shared says that nothing is divided: all tenants share one pool, the only one that the allocator sees.
	Shared bool
	// Fixed says that it divides once, and needs to know nothing but the tenants.
	Fixed bool
	// Lends says that the capacities of an allocator that is Fixed are guaranteed, and that tenants lend each other what
	// they do not use: one pool has them all.
	Lends bool
	// Sweeps returns when tenants that have exceeded the capacities of an allocator that is Fixed are cut back; nil: they
	// never exceed them.
	Sweeps func(Values) Sweep
	// Patterns says that it needs the patterns of the requests: it uses the times and addresses that a trace has.
	Patterns bool
	// Varying says that pools may be added and removed between calls, each with an ID of its own.
	Varying bool
	// Serving says that it divides the memory of a serving node, and nothing else: New makes a serving.Controller.
	Serving bool
	Random  bool // makes random choices, so that its divisions depend on the seed
	Params  []params.Param
	// Metrics are about the tenants and the allocator.
	Metrics []metric.Metric
	// Check rejects values of Params that exclude each other, or a text that cannot be read; nil if all are accepted.
	Check func(Values) error
	// Remark returns what a user should know about a division among these tenants, "" for nothing; nil if there never is
	// anything.
	Remark func(v Values, tenants []string) string
	New    func(Config) (Allocator, error)
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source}.
		With(e.Future, "offline: knows the whole trace").
		With(e.Random, "depends on the seed").
		With(e.Serving, "divides the memory of a node that serves recommendations")
}

func (e Entry) CheckValues(v Values) error { return params.Check(e.Check, v) }

// Spec is an allocator with its parameters: what a user writes as `ucp(ways=64)`.
type Spec = params.Spec[Entry]

// Registry has every allocator in the order of `cachesim allocators`; package sim/all registers some.
var Registry = params.NewRegistry("allocator", "equal,'static(shares=3;1)'",
	sharedEntry,
	equalEntry,
	staticEntry,
	guaranteeEntry,
	isolatedEntry,
	proportionalEntry,
	ucpEntry,
	marginalEntry,
	optimalEntry,
	quiverEntry,
	batchSizesEntry,
)

func New(s Spec, tenants []string) (Allocator, error) { return NewNumbered(s, tenants, 0, 0) }

// NewNumbered returns an allocator of a cache that has several, all with the same tenants and seed; see Config.Number.
func NewNumbered(s Spec, tenants []string, seed uint64, number int) (Allocator, error) {
	a, err := s.Entry.New(Config{Tenants: tenants, Params: s.Params, Seed: seed, Number: number})
	if err != nil {
		return nil, fmt.Errorf("allocator %s: %w", s, err)
	}
	return a, nil
}

// Shares returns what an allocator that is Fixed gives each tenant of a capacity in blocks.
func Shares(s Spec, tenants []string, capacity int64) ([]int64, error) {
	a, err := New(s, tenants)
	if err != nil {
		return nil, err
	}
	shares := make([]int64, len(tenants))
	a.Allocate(&State{Capacity: capacity, Unit: true, Pools: make([]Pool, len(tenants))}, shares)
	return shares, nil
}

// Metrics of tenants and allocators.
var (
	TenantCount = metric.Metric{Name: "tenant_count", Unit: metric.Count, Merge: metric.Max,
		Doc: "tenants of the trace"}
	SharedKeys = metric.Metric{Name: "tenant_shared_keys", Unit: metric.Count, Merge: metric.Max,
		Doc: "keys that several tenants request, each of which is an object for each of them"}
	TenantRequests = metric.Metric{Name: "tenant_requests", Unit: metric.Count, Labels: "tenant",
		Doc: "requests of a tenant; the tenants with the most requests, 20 at most, are reported one by one"}
	TenantHits = metric.Metric{Name: "tenant_hits", Unit: metric.Count, Labels: "tenant", Better: metric.Higher,
		Doc: "hits of a tenant"}
	TenantHitRatio = metric.Metric{Name: "tenant_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "tenant",
		Better: metric.Higher, Merge: metric.Quotient(TenantHits, TenantRequests), Doc: "hits / requests of a tenant"}
	TenantBytes = metric.Metric{Name: "tenant_bytes", Unit: metric.Bytes, Labels: "tenant",
		Doc: "sum of the sizes of a tenant's requests"}
	TenantHitBytes = metric.Metric{Name: "tenant_hit_bytes", Unit: metric.Bytes, Labels: "tenant", Better: metric.Higher,
		Doc: "sum of the sizes of a tenant's hits"}
	TenantByteHitRatio = metric.Metric{Name: "tenant_byte_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "tenant",
		Better: metric.Higher, Merge: metric.Quotient(TenantHitBytes, TenantBytes),
		Doc: "tenant_hit_bytes / tenant_bytes"}
	TenantPrompts = metric.Metric{Name: "tenant_prompts", Unit: metric.Count, Labels: "tenant",
		Doc: "prompts of a tenant"}
	TenantTokens = metric.Metric{Name: "tenant_tokens", Unit: metric.Count, Labels: "tenant",
		Doc: "tokens of a tenant's prompts"}
	TenantHitTokens = metric.Metric{Name: "tenant_hit_tokens", Unit: metric.Count, Labels: "tenant",
		Better: metric.Higher, Doc: "tokens of a tenant's prompts that hit, whoever computed them"}
	TenantTokenHitRatio = metric.Metric{Name: "tenant_token_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "tenant",
		Better: metric.Higher, Merge: metric.Quotient(TenantHitTokens, TenantTokens),
		Doc: "tenant_hit_tokens / tenant_tokens"}
	TenantCapacity = metric.Metric{Name: "tenant_capacity", Unit: metric.Share, Digits: 1, Labels: "tenant",
		Merge: metric.MeanBy(metric.Requests), Doc: "a tenant's share of the capacity, the mean over all requests"}
	LeastTenantHitRatio = metric.Metric{Name: "tenant_hit_ratio_min", Title: "least tenant", Unit: metric.Share,
		Digits: 2, Better: metric.Higher, Merge: metric.Apart,
		Doc: "the lowest hit ratio of a tenant, a measure of fairness"}
	MeanTenantHitRatio = metric.Metric{Name: "tenant_hit_ratio_mean", Title: "mean of tenants", Unit: metric.Share,
		Digits: 2, Better: metric.Higher, Merge: metric.MeanBy(metric.Requests),
		Doc: "the mean of the tenants' hit ratios, not weighted by requests"}
	Divisions = metric.Metric{Name: "divisions", Unit: metric.Count,
		Doc: "how often the allocator divided the capacity"}
	CapacityMoved = metric.Metric{Name: "capacity_moved", Unit: metric.Ratio, Digits: 2,
		Doc: "capacity moved between tenants after the first division, as a multiple of the whole capacity"}
)

// tenantMetrics are reported with every allocator.
var tenantMetrics = []metric.Metric{TenantCount, SharedKeys, TenantRequests, TenantHits, TenantHitRatio, TenantBytes,
	TenantHitBytes, TenantByteHitRatio, TenantPrompts, TenantTokens, TenantHitTokens, TenantTokenHitRatio,
	LeastTenantHitRatio, MeanTenantHitRatio}

// divisionMetrics are reported with allocators that divide.
var divisionMetrics = append(slices.Clone(tenantMetrics), TenantCapacity, Divisions, CapacityMoved)
