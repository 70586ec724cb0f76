// Package kvlogs reads what key-value stores log about their requests: the output of `redis-cli MONITOR` and of
// memcached's `watch`, the log of mcrouter, and published traces of such stores.
package kvlogs

import (
	"github.com/cachesim/cachesim/internal/traces/source"
)

// Formats are the formats of this package.
var Formats = []source.Format{redisFormat, memcachedFormat, mcrouterFormat}

const second = int64(1e9)
