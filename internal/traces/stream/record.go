// Package stream describes the requests of a trace while they are read and written, one after another: a Record with a
// key, and what its Kind of workload knows about it.
package stream

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Op is what a request does.
type Op uint8

const (
	OpUnknown Op = iota
	OpRead       // get, read, pread
	OpWrite      // set, write, put
	OpDelete
)

// String returns the word for o in text formats, "" for OpUnknown.
func (o Op) String() string {
	switch o {
	case OpRead:
		return "read"
	case OpWrite:
		return "write"
	case OpDelete:
		return "delete"
	}
	return ""
}

// Served says what the server that wrote a log found in its own cache.
type Served uint8

const (
	ServedUnknown Served = iota
	ServedHit            // its cache answered
	ServedMiss           // it asked the origin
)

// String returns the word for s in text formats, "" for ServedUnknown.
func (s Served) String() string {
	switch s {
	case ServedHit:
		return "hit"
	case ServedMiss:
		return "miss"
	}
	return ""
}

// Writes says what a write does to a cache.
type Writes uint8

const (
	WritesCount      Writes = iota // it is a request like a read
	WritesFill                     // it puts the object into the cache, and is counted apart from reads
	WritesInvalidate               // it takes the object out of the cache
	WritesIgnore                   // nothing
)

var writesNames = []string{"count", "fill", "invalidate", "ignore"}

// WritesNames returns the words for what a write does, as ParseWrites reads them.
func WritesNames() []string { return slices.Clone(writesNames) }

func (w Writes) String() string { return writesNames[w] }

// ParseWrites is the inverse of String.
func ParseWrites(text string) (Writes, error) {
	i := slices.Index(writesNames, text)
	if i < 0 {
		return 0, suggest.Unknown("treatment of writes", text, writesNames)
	}
	return Writes(i), nil
}

// Requests reports whether rows with an operation are requests: those that write are not if they take objects out of
// the cache or do nothing, and those that delete never are.
func (w Writes) Requests(op Op) bool {
	switch op {
	case OpWrite:
		return w == WritesCount || w == WritesFill
	case OpDelete:
		return false
	}
	return true
}

// Counts reports whether requests with an operation belong to the hits and misses of a replay: those that write do not
// if they fill the cache.
func (w Writes) Counts(op Op) bool { return w.Requests(op) && !(w == WritesFill && op == OpWrite) }

// Key is the name of an object in a trace file: a number, or text that is not a canonical decimal number.
// "7" and "7.0" are the number 7; "007" and "+7" are text, so that different spellings stay different objects.
type Key struct {
	Num  uint64
	Text string // "" for a number
}

// String returns the key as a text file writes it.
func (k Key) String() string {
	if k.Text != "" {
		return k.Text
	}
	return strconv.FormatUint(k.Num, 10)
}

// Record is one request as a file states it.
type Record struct {
	Time int64 // nanoseconds, never negative; 0 if the format has none
	Size int64 // bytes, never negative; 0 if the format has none
	// SizeUnknown says that the log does not state the size, as of a read that missed in a store; Size is 0 then.
	SizeUnknown bool
	KeySize     int64     // bytes of the key that count beside Size; 0 where keys do not count
	Type        ValueType // of the object, if the log says it
	Num         uint64
	Text        []byte // key text, nil for a numeric key; valid until the next call of Read
	Op          Op

	// TTL is how long the object stays valid after this request, in nanoseconds; 0: for ever, or the log does not say.
	TTL    int64
	Served Served

	Tenant []byte // only with Fields.Tenant, and valid until the next call of Read

	Begins bool  // the request begins a group: see Trace.Groups
	Extra  Extra // what Fields.Kind knows about it; nil for a plain object. Valid until the next call of Read
}

// Reader streams the records of one trace. Read fills rec and returns io.EOF after the last record. Every other error
// names file, line or byte offset and what was expected, and ends the stream.
type Reader interface {
	Read(rec *Record) error
}

// Fields says what the records of a reader carry.
type Fields struct {
	Time, Size, Op bool
	TTL, Served    bool

	Tenant bool // requests name their tenants
	Groups bool // requests come in groups, so that Record.Begins is set
	Kind   Kind // of the requests, described by Record.Extra; nil: plain objects

	// SizeMayLack says that records may have Record.SizeUnknown.
	SizeMayLack bool

	// Counted says that the file has no clock and that time counts requests: Scan and Load set Record.Time to the
	// number of the request among all that are read, from 0, in seconds.
	Counted bool
}

// SetKey sets the key of rec to the number that text is, or to text itself, which must stay valid until the next Read.
// A whole number may be written as ParseFloatNumber reads it.
func (rec *Record) SetKey(text []byte) {
	var ok bool
	if rec.Num, ok = ParseNumber(text); !ok {
		rec.Num, ok = ParseFloatNumber(text)
	}
	if ok {
		rec.Text = nil
	} else {
		rec.Text = text
	}
}

// ParseNumber reads a canonical decimal number: only digits, no leading zero, below 2^64.
func ParseNumber(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 20 || (text[0] == '0' && len(text) > 1) {
		return 0, false
	}
	if len(text) == 20 {
		return parseLongNumber(text)
	}
	var n uint64
	for _, c := range text {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + uint64(digit)
	}
	return n, true
}

// parseLongNumber reads a number of 20 digits, which may be 2^64 or more.
func parseLongNumber(text []byte) (uint64, bool) {
	n, ok := ParseNumber(text[:19])
	digit := uint64(text[19] - '0')
	const limit = 1<<64 - 1
	if !ok || digit > 9 || n > (limit-digit)/10 {
		return 0, false
	}
	return n*10 + digit, true
}

// ParseFloatNumber reads a whole number that was written as a float. It may have a fraction of zeros, which pandas
// writes for all integers of a column if some are missing; or an exponent, as in 1.2e3 and 1e+3, if it is below 2^53.
// 1e3 is none: it may be hexadecimal.
func ParseFloatNumber(text []byte) (uint64, bool) {
	if n, ok := ParseNumber(WithoutZeroFraction(text)); ok {
		return n, ok
	}
	const longest = 24 // characters of a float64 in decimal
	if len(text) < 4 || len(text) > longest || text[0] < '0' || text[0] > '9' || !bytes.ContainsAny(text, "eE") ||
		!bytes.ContainsAny(text, ".+") {
		return 0, false
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	const exact = 1 << 53 // from here on float64 cannot represent every whole number
	if err != nil || f != math.Trunc(f) || f >= exact {
		return 0, false
	}
	return uint64(f), true
}

// WithoutZeroFraction returns "5" for "5.0", and any other text as it is.
func WithoutZeroFraction(text []byte) []byte {
	end := len(text)
	for end > 0 && text[end-1] == '0' {
		end--
	}
	if end > 1 && end < len(text) && text[end-1] == '.' {
		return text[:end-1]
	}
	return text
}
