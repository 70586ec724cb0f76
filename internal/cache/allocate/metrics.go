package allocate

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
)

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
