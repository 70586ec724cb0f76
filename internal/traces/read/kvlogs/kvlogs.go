// Package kvlogs reads what key-value stores log about their requests: the output of `redis-cli MONITOR` and of
// memcached's `watch`, the log of mcrouter, and published traces of such stores.
package kvlogs

import (
	"github.com/cachesim/cachesim/internal/traces/read/columns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of this package.
var Formats = []source.Format{redisFormat, memcachedFormat, mcrouterFormat, twitter.Format()}

const second = int64(1e9)

// memcachedWords are the commands of memcached's protocol that name a key.
var memcachedWords = []columns.Word{
	{Text: "get", Op: stream.OpRead}, {Text: "gets", Op: stream.OpRead}, {Text: "set", Op: stream.OpWrite},
	{Text: "add", Op: stream.OpWrite}, {Text: "replace", Op: stream.OpWrite}, {Text: "cas", Op: stream.OpWrite},
	{Text: "append", Op: stream.OpUpdate}, {Text: "prepend", Op: stream.OpUpdate},
	{Text: "delete", Op: stream.OpDelete}, {Text: "incr", Op: stream.OpUpdate}, {Text: "decr", Op: stream.OpUpdate},
}

// twitter is described in the README of the traces, github.com/twitter/cache-trace.
var twitter = columns.Table{
	Name: "twitter",
	Summary: "traces of Twitter's caches as CSV without a header: time, key, size of the key, size of the value, " +
		"client, operation, TTL (Yang et al., OSDI 2020)",
	Example:   "0,zDQ4,4,1123,2,get,0\n1,zDQ4,4,1123,7,set,86400",
	Detection: "seven columns, the sixth of them an operation of memcached",
	Delimiter: ',',
	Columns: []columns.Column{
		columns.Time("time", second), columns.Key("key"), columns.KeySize("key size"),
		columns.SizeIfHit("value size"), columns.Number("client"), columns.Op("operation", memcachedWords),
		columns.TTL("TTL", second),
	},
	Writes: stream.WritesFill,
}
