// Package kvlogs reads what key-value stores log about their requests: the output of `redis-cli MONITOR` and of
// memcached's `watch`, the log of mcrouter, and published traces of such stores.
package kvlogs

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// Formats are the formats of this package.
var Formats = []source.Format{redisFormat, memcachedFormat, mcrouterFormat}

const second = int64(1e9)

// checkTenant refuses a column of tenants that the log does not have.
func checkTenant(src *source.Source, opts params.Values, has ...string) error {
	if tenant := opts.Text("tenant"); tenant != "" && !slices.Contains(has, tenant) {
		return src.Errorf("%w", suggest.Unknown("column", tenant, has))
	}
	return nil
}
