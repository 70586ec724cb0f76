package weblogs

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// longestFresh is in seconds, a century: longer is for ever.
const longestFresh = 100 * 365 * 24 * 60 * 60

// SetCacheControl takes the header Cache-Control of a response: how long it stays fresh in a shared cache, and whether
// such a cache may store it at all. What it must validate before each use (no-cache, max-age=0) is stale at once, with
// a time to live of a nanosecond. RFC 9111 sections 3, 4.2.1 and 5.2.2.
func (e *Entry) SetCacheControl(header []byte) {
	e.TTL, e.NoStore = 0, false
	shared := false // s-maxage counts more than max-age
	for len(header) > 0 {
		var directive []byte
		directive, header, _ = bytes.Cut(header, []byte(","))
		name, value, _ := bytes.Cut(source.TrimBlanks(directive), []byte("="))
		is := func(other string) bool { return bytes.EqualFold(name, []byte(other)) }
		switch {
		case is("no-store"), is("private"):
			e.NoStore = true
		case is("no-cache"):
			e.TTL, shared = 1, true
		case is("s-maxage") && !shared:
			e.TTL, shared = freshFor(value), true
		case is("max-age") && !shared:
			e.TTL = freshFor(value)
		}
	}
}

// freshFor returns the time to live for the value of s-maxage or max-age, 0 for one that says nothing.
func freshFor(value []byte) (ttl int64) {
	n, ok := source.ParseDigits(bytes.Trim(value, `"`))
	if !ok || n > longestFresh {
		return 0
	}
	return max(int64(n)*1e9, 1)
}
