package weblogs

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Entry is what an access log says of one request. Its texts are parts of the line; nil and "-" say nothing.
type Entry struct {
	Method []byte // "GET"; without one the request is a read
	Host   []byte // with or without a port
	Target []byte // the path with its query, or a whole URL
	Query  []byte // of a log that has it apart from the path: with or without its question mark
	Client []byte // the address of the client
	Status int    // of the response; 0: unknown

	Bytes      int64 // of the response's body; Unknown if the log does not say
	ObjectSize int64 // of the object, whatever was sent of it; Unknown likewise

	Time int64 // nanoseconds since 1970
	TTL  int64 // nanoseconds that the response stays fresh; 0: unknown
	// NoStore says that no shared cache may store the response.
	NoStore bool
	Served  stream.Served
}

// Unknown is a number of bytes that a log does not state.
const Unknown = -1

// Reset makes e an entry that says nothing.
func (e *Entry) Reset() { *e = Entry{Bytes: Unknown, ObjectSize: Unknown} }

// Columns says what the entries of a log have, beside a target.
type Columns struct {
	Method, Host, Client, Status, Size, Time, TTL, Served bool
}

func (e *Entry) hasURL() bool {
	host, _ := splitURL(e.Target)
	return host != nil
}

// IsKnown reports whether a field has a value: servers write "-" without one.
func IsKnown(text []byte) bool { return len(text) > 1 || len(text) == 1 && text[0] != '-' }

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
