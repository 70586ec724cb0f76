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

// Op is what a request does: a kind, and for requests to stores a condition under which they do it.
type Op uint8

const (
	OpUnknown Op = iota
	OpRead       // get, read, pread
	OpWrite      // set, write, put: replaces the object, and so ends its time to live
	OpDelete
	OpUpdate // incr, append, hset: changes an object, or creates one; its time to live goes on
	OpExpire // sets the time to live of an object, if there is one: Record.TTL, 0 for none
	OpTake   // the object of the row before becomes this one with its time to live, as a copy or under a new name
	OpFlush  // deletes all objects: see FlushAll

	opKind = 1<<3 - 1
)

// Conditions of operations on stores. One that fails leaves the object as it is.
const (
	IfAbsent   Op = (iota + 1) << 3 // if there is no such object
	IfPresent                       // if there is one; of a read: see Lookup, and WithNext
	IfLasting                       // if it has no time to live
	IfExpiring                      // if it has one
	IfLater                         // if its time to live becomes longer
	IfSooner                        // if it becomes shorter, or there is none
	IfCut                           // if there is one, and it becomes shorter

	opCondition = 7 << 3
)

// WithNext says that a row and the next one are of one command. Reads, deletions and updates before the last row are
// its sources: nothing is stored if all of them are missing, or one with IfPresent. Of writes, either all are stored or
// none.
const WithNext Op = 1 << 6

// Lookup is a read that only looks: it hits if the object is there, and where it misses nothing is loaded.
const Lookup = OpRead | IfPresent

// IsLookup reports whether an operation is a Lookup, and no part of a command.
func (o Op) IsLookup() bool { return o == Lookup }

// FlushAll is the key of OpFlush for all objects. "3/*" stands for keys that begin with 3/, "0/*" for keys without a
// number and a slash at the beginning.
const FlushAll = "*"

// Kind returns the operation without its condition.
func (o Op) Kind() Op { return o & opKind }

// Condition returns the condition alone, 0 for none.
func (o Op) Condition() Op { return o & opCondition }

// Writes reports whether an operation writes: it may store something, or change what is stored or how long.
func (o Op) Writes() bool {
	switch o.Kind() {
	case OpWrite, OpUpdate, OpExpire, OpTake:
		return true
	}
	return false
}

var (
	opNames        = []string{"", "read", "write", "delete", "update", "expire", "take", "flush"}
	conditionNames = []string{"", "-nx", "-xx", "-lasting", "-expiring", "-later", "-sooner", "-cut"}
)

// String returns the word for o in text formats, "" for OpUnknown: "write", or with a condition "write-nx", and with
// WithNext "write-nx&".
func (o Op) String() string {
	name := opNames[o.Kind()] + conditionNames[o.Condition()>>3]
	if o&WithNext != 0 {
		name += "&"
	}
	return name
}

// ParseOpSuffix separates the condition from a word that String wrote: "write-nx&" is "write" and the rest.
func ParseOpSuffix(word []byte) (kind []byte, suffix Op) {
	if text, ok := bytes.CutSuffix(word, []byte("&")); ok {
		word, suffix = text, WithNext
	}
	if dash := bytes.LastIndexByte(word, '-'); dash > 0 {
		if i := slices.Index(conditionNames, string(word[dash:])); i > 0 {
			return word[:dash], suffix | Op(i)<<3
		}
	}
	return word, suffix
}

// Served says what the server that wrote a log found in its own cache.
type Served uint8

const (
	ServedUnknown Served = iota
	ServedHit            // its cache answered
	ServedMiss           // it asked the origin
	ServedPass           // it asked the origin, and kept no copy: the request went past its cache
)

// String returns the word for s in text formats, "" for ServedUnknown.
func (s Served) String() string {
	switch s {
	case ServedHit:
		return "hit"
	case ServedMiss:
		return "miss"
	case ServedPass:
		return "pass"
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
	WritesStore                    // as WritesFill, and what the log deleted is missing until it is written again
)

var writesNames = []string{"count", "fill", "invalidate", "ignore", "store"}

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

// Requests reports whether rows with an operation are requests. Deletions are not, nor are writes that remove objects
// from the cache or do nothing.
func (w Writes) Requests(op Op) bool {
	switch {
	case op.Writes():
		return w == WritesCount || w.Fills()
	case op.Kind() == OpDelete, op.Kind() == OpFlush:
		return false
	}
	return true
}

// Fills reports whether writes put objects into the cache, and are counted apart from reads.
func (w Writes) Fills() bool { return w == WritesFill || w == WritesStore }

// Counts reports whether requests with an operation belong to the hits and misses of a replay: those that write do not
// if they fill the cache.
func (w Writes) Counts(op Op) bool { return w.Requests(op) && !(w.Fills() && op.Writes()) }

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

// KeyRanks numbers the keys in their order as signed integers of 64 bits, as other programs do. ok is false if a key is
// no integer.
func KeyRanks(keys []Key) (ranks []uint64, ok bool) {
	const sign = 1 << 63 // flipped, it puts negative numbers first
	ranks = make([]uint64, len(keys))
	for i, key := range keys {
		ranks[i] = key.Num ^ sign
		if key.Text != "" {
			n, err := strconv.ParseInt(key.Text, 10, 64)
			if err != nil || n >= 0 { // "007" is another key than 7
				return nil, false
			}
			ranks[i] = uint64(n) ^ sign
		}
	}
	return ranks, true
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

	// TTL is how long the object stays valid after this request, in nanoseconds; 0: for ever, as before for OpUpdate, or
	// the log does not say.
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

// ReaderFunc is a Reader that is a function.
type ReaderFunc func(rec *Record) error

func (read ReaderFunc) Read(rec *Record) error { return read(rec) }

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
	rec.Num, rec.Text = 0, text
	if len(text) == 0 || text[0]-'0' > 9 { // as most texts begin
		return
	}
	n, ok := ParseNumber(text)
	if !ok {
		n, ok = ParseFloatNumber(text)
	}
	if ok {
		rec.Num, rec.Text = n, nil
	}
}

// ParseNumber reads a canonical decimal number: only digits, no leading zero, below 2^64.
func ParseNumber(text []byte) (uint64, bool) {
	if len(text) == 0 || len(text) > 20 || (text[0] == '0' && len(text) > 1) {
		return 0, false
	}
	if len(text) == 20 { // it may be 2^64 or more
		n, err := strconv.ParseUint(string(text), 10, 64)
		return n, err == nil
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
