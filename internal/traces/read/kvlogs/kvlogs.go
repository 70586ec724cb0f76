// Package kvlogs reads what key-value stores log about their requests: the output of `redis-cli MONITOR` and of
// memcached's `watch`, the log of mcrouter, and published traces of such stores.
package kvlogs

import (
	"fmt"
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

// What servers keep for an object beside its key and value, in bytes.
const (
	// redisOverhead is measured on Redis 7.0.15. Beside key and value, its memory grows by 66 to 86 bytes for each string
	// of up to 100 bytes, and by 99 to 118 for longer ones: for an entry of the dictionary and its place there, the
	// value's object, and rounding by jemalloc. A time to live needs some 42 more.
	redisOverhead = 76
	// memcachedOverhead is the header of an item with its CAS, 48 and 8 bytes; slabs round up beyond that.
	memcachedOverhead = 56
)

// sizeOption is the option of stores whose logs state sizes of values.
func sizeOption(overhead int64) params.Param {
	return params.Param{Name: "size", Default: "memory", Choices: []string{"memory", "key+value", "value"},
		Doc: fmt.Sprintf("what counts as the size of an object: its memory, which is the key, the value and %d bytes that "+
			"the server keeps beside them (--object-overhead replaces these); key and value; or the value alone", overhead)}
}

// stateSize says in the reading which sizes count, and returns whether keys do. values says how values are known.
func stateSize(src *source.Source, opts params.Values, values string, overhead int64) (withKeys bool) {
	r := src.Reading
	switch opts.Text("size") {
	case "memory":
		r.Overhead = overhead
		fallthrough
	case "key+value":
		r.Size = "size of keys and " + values
		return true
	}
	r.Size = "size of " + values
	return false
}
