package allocate

import (
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
)

// Sweep says how tenants are cut back to their capacities, which they exceed in between.
type Sweep struct {
	Every     int64   // nanoseconds of the trace's clock
	Watermark float64 // the part of its capacity from which on a tenant loses objects
	Ratio     float64 // the part of its objects that it loses, at least one; without a capacity all of them
}

var isolatedEntry = Entry{
	Name: "isolated",
	Summary: "of prompts in chunks: quotas, which tenants exceed until the next sweep, when each that is above its " +
		"watermark loses a ratio of its own chunks, as under LMCache's IsolatedLRU",
	Source: "LMCache 0.5.6 (PyPI), v1/distributed/eviction_policy/isolated_lru.py, quota_manager.py and " +
		"storage_controllers/eviction_controller.py",
	Fixed: true,
	Sweeps: func(v Values) Sweep {
		return Sweep{Every: int64(v.Float("every") * float64(time.Second)), Watermark: v.Float("watermark"),
			Ratio: v.Float("ratio")}
	},
	Metrics: divisionMetrics,
	Params: []params.Param{
		shareParams[0],
		{Name: "rest", Default: 0.0, Doc: "the share of each tenant that is not in shares; 0: it keeps nothing at a sweep, " +
			"as a salt without a quota"},
		{Name: "watermark", Default: 0.8, Min: 0, Max: 1, Doc: "the part of its share from which on a tenant loses chunks"},
		{Name: "ratio", Default: 0.2, Min: 1e-6, Max: 1, Doc: "the part of its chunks that it loses then, at least one"},
		{Name: "every", Default: 1.0, Min: 1e-3, Max: 86400, Doc: "seconds between two sweeps"},
	},
	Check:  guaranteeEntry.Check,
	Remark: whoHasWhich,
	New:    func(c Config) (Allocator, error) { return weighted(c, true) },
}
