package weblogs

import "github.com/cachesim/cachesim/internal/traces/stream"

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
