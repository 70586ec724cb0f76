package kvlogs

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// memcachedFormat is described in memcached's doc/protocol.txt ("Watchers") and, word by word, in its logger.c.
var memcachedFormat = source.Format{
	Name:    "memcached",
	Options: []params.Param{source.OpsOption(), sizeOption(memcachedOverhead)},
	Writes:  stream.WritesFill,
	Detect: source.CertainIf(func(head source.Head) bool {
		var w watched
		return source.MostLines(head.Lines, func(line []byte) error {
			if isNotice(line) {
				return source.ErrLeftOut
			}
			_, _, err := w.begin(line)
			return err
		})
	}),
	Open: openMemcached,
}

// isNotice reports whether a line is the answer to watch, or says that lines were skipped.
func isNotice(line []byte) bool { return string(line) == "OK" || len(line) > 0 && line[0] == '[' }

// watched is a line of the log that is a request. It keeps its texts.
type watched struct {
	stream.Record
	key, connection []byte
	stores          bool // it stores an item, or tries to
	fails           bool // and stores none
	refused         bool // the item is too large
	sized           bool // its size is stated
}

// isPartOf reports whether a get belongs to another request, which memcached logged after it, or before it if the item
// is too large: memcached then looks for an old one to drop, and states a wrong connection. A delete states none.
func (w *watched) isPartOf(other *watched) bool {
	if w.Op != stream.OpRead || !bytes.Equal(w.key, other.key) {
		return false
	}
	if other.Op == stream.OpDelete && len(other.connection) == 0 {
		return len(w.connection) > 0 // those of the proxy have none
	}
	return other.refused && !other.fails || other.stores && bytes.Equal(w.connection, other.connection)
}

// memcachedReader implements stream.Reader. To store an item memcached first looks whether there is one, and logs that
// as a get of the same connection in the line before: it is part of the store, and no request.
type memcachedReader struct {
	lines      stream.Reader
	src        *source.Source
	ops        source.OpFilter
	withKeys   bool // keys count as bytes
	now, ahead watched
	into       *watched // where parse writes
	looked     bool     // ahead holds the next request
	err        error    // that follows what is in now
}

func openMemcached(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &memcachedReader{src: src, ops: source.NewOpFilter(opts.Text("ops"))}
	r.lines = source.ReadLines(src, func(line []byte, _ *stream.Record) error { return r.into.parse(line) })
	r.withKeys = stateSize(src, opts, "values", memcachedOverhead)
	src.Reading.Time, src.Reading.TTL = "time ts in s", "ttl"
	src.Reading.Served = "served status"
	src.Reading.Why = why("evictions and other events, stores that failed, and gets that are part of a store", opts)
	return r, stream.Fields{Time: true, Size: true, Op: true, TTL: true, Served: true, SizeMayLack: true}, nil
}

func (r *memcachedReader) Read(rec *stream.Record) error {
	for {
		if err := r.next(); err != nil {
			return err
		}
		if !r.now.fails && r.ops.Has(r.now.Op) {
			*rec = r.now.Record
			missed := rec.Op == stream.OpRead && rec.Served != stream.ServedHit
			rec.SizeUnknown = !r.now.sized || missed && rec.Size == 0
			if r.withKeys {
				rec.KeySize = int64(len(r.now.key))
			}
			rec.SetKey(r.now.key)
			return nil
		}
		r.src.Reading.LeftOut++
	}
}

// next sets now to the next request. Behind a get, and an item that is too large, it looks one request ahead.
func (r *memcachedReader) next() error {
	switch {
	case r.err != nil:
		err := r.err
		r.err = nil // the next line may be fine
		return err
	case r.looked:
		r.now, r.ahead = r.ahead, r.now
		r.looked = false
	default:
		if err := r.read(&r.now); err != nil {
			return err
		}
	}
	if r.now.Op != stream.OpRead && !r.now.refused {
		return nil
	}
	if r.err = r.read(&r.ahead); r.err != nil {
		return nil // after this request
	}
	switch {
	case r.now.refused && r.ahead.isPartOf(&r.now):
		r.src.Reading.LeftOut++
	case !r.ahead.refused && r.now.isPartOf(&r.ahead):
		r.src.Reading.LeftOut++
		r.now, r.ahead = r.ahead, r.now
	default:
		r.looked = true // the get is no part of it
	}
	return nil
}

func (r *memcachedReader) read(into *watched) error {
	r.into = into
	return r.lines.Read(&into.Record)
}

func (w *watched) parse(line []byte) error {
	if isNotice(line) {
		return source.ErrLeftOut
	}
	*w = watched{key: w.key[:0], connection: w.connection[:0]}
	kind, line, err := w.begin(line)
	if err != nil {
		return err
	}
	switch string(kind) {
	case "item_get", "item_store", "deleted":
		err = w.item(string(kind) == "item_get", line)
	case "proxy_req":
		err = w.proxied(line)
	default:
		return source.ErrLeftOut
	}
	if err == nil && len(w.key) == 0 {
		err = fmt.Errorf("no key= in an event of type %s", kind)
	}
	return err
}

// begin reads the words that each line begins with, and returns the type and what follows it.
func (w *watched) begin(line []byte) (kind, rest []byte, err error) {
	for len(line) > 0 {
		var word []byte
		word, line, _ = bytes.Cut(line, []byte(" "))
		name, value, ok := bytes.Cut(word, []byte("="))
		switch {
		case !ok:
			return nil, nil, source.ErrLeftOut // a text, such as a command that `watch rawcmds` prints
		case string(name) == "ts":
			if w.Time, err = parseTS(value); err != nil {
				return nil, nil, err
			}
		case string(name) == "type":
			return value, line, nil
		case string(name) != "gid":
			return nil, nil, fmt.Errorf("%.40q: want ts=, gid= and type=", word)
		}
	}
	return nil, nil, errors.New("the line ends before type=")
}

// parseTS reads seconds and microseconds with a point between, which memcached prints without leading zeros: 7.5 are
// 7 s and 5 us.
func parseTS(text []byte) (int64, error) {
	whole, micro, _ := bytes.Cut(text, []byte("."))
	s, ok := source.ParseDigits(whole)
	us, ok2 := source.ParseDigits(micro)
	if !ok || !ok2 || us >= 1e6 || s > math.MaxInt64/uint64(second)-1 {
		return 0, fmt.Errorf("ts=%.40s: want seconds, a point and microseconds", text)
	}
	return int64(s)*second + int64(us)*1000, nil
}

// longestTTL is the longest time to live that memcached knows.
const longestTTL = math.MaxInt32 * second

// item reads the words of an event of an item.
func (w *watched) item(gets bool, line []byte) (err error) {
	if w.Op = stream.OpDelete; gets {
		w.Op = stream.OpRead
	}
	for len(line) > 0 && err == nil {
		var word []byte
		word, line, _ = bytes.Cut(line, []byte(" "))
		name, value, _ := bytes.Cut(word, []byte("="))
		switch string(name) {
		case "key":
			w.key = appendURI(w.key, value)
		case "cfd":
			w.connection = append(w.connection, value...)
		case "size":
			w.Size, err = source.ParseSize(value)
			w.sized = true
		case "ttl":
			if w.TTL, err = parseTTL(value, second); w.TTL > longestTTL {
				w.TTL = 1 // below 0, which memcached prints as a number of 32 bits without a sign: it has expired
			}
		case "status":
			err = w.status(value)
		case "cmd":
			w.fails = w.fails || w.refused && string(value) != "set" // only set drops the old item
		}
	}
	return err
}

// status reads what became of a get or a store. A set of a value that is too large removes the old one, as memcached
// does.
func (w *watched) status(word []byte) error {
	switch string(word) {
	case "found":
		w.Served = stream.ServedHit
	case "not_found":
		if w.Op != stream.OpRead { // incr and others of nothing
			w.stores, w.fails = true, true
			break
		}
		w.Served = stream.ServedMiss
	case "flushed", "expired":
		w.Served = stream.ServedMiss
	case "stored":
		w.Op, w.stores = stream.OpWrite, true
	case "too_large":
		w.refused = true
	case "not_stored", "exists", "no_memory":
		w.stores, w.fails = true, true
	default:
		return fmt.Errorf("status=%.40s: want found, not_found, stored or another status of memcached", word)
	}
	return nil
}

// appendURI appends a key in which memcached wrote bytes as %2F. Those of blanks and control characters stay like that.
func appendURI(to, key []byte) []byte {
	for len(key) > 0 {
		i := bytes.IndexByte(key, '%')
		if i < 0 {
			break
		}
		to = append(to, key[:i]...)
		key = key[i:]
		if len(key) >= 3 && source.FromHex(key[1], key[2]) > ' ' {
			to, key = append(to, byte(source.FromHex(key[1], key[2]))), key[3:]
			continue
		}
		to, key = append(to, '%'), key[1:]
	}
	return append(to, key...)
}

// Responses of a server behind the proxy, by the numbers of memcached's vendor/mcmc/mcmc.h.
const (
	answeredValue = "type=100"
	answeredMeta  = "type=101"
	answeredEnd   = "type=105"
	metaOK        = "code=15"
)

// proxied reads a request that the proxy passed on: the words of the event, and behind req= the request itself.
func (w *watched) proxied(line []byte) error {
	event, request, ok := bytes.Cut(line, []byte(" req="))
	if !ok {
		return errors.New("no req= in an event of type proxy_req")
	}
	has := func(word string) bool { return bytes.Contains(event, []byte(" "+word+" ")) }
	if err := w.request(request); err != nil || w.Op != stream.OpRead {
		return err
	}
	switch {
	case has(answeredValue), has(answeredMeta) && has(metaOK):
		w.Served = stream.ServedHit
	case has(answeredEnd), has(answeredMeta):
		w.Served = stream.ServedMiss
	}
	return nil
}

// requests are the commands of memcached's text protocol: which of their words is what; 0: none.
var requests = byName(map[string]struct {
	op             stream.Op
	key, ttl, size int
	isMeta         bool // the time to live is among its flags
}{
	"get gets":            {op: get, key: 1},
	"mg":                  {op: get, key: 1, isMeta: true},
	"gat gats":            {op: get, key: 2, ttl: 1},
	"append prepend":      {op: update, key: 1, size: 4},
	"set add replace cas": {op: put, key: 1, ttl: 3, size: 4},
	"ms":                  {op: put, key: 1, size: 2, isMeta: true},
	"incr decr ma":        {op: update, key: 1},
	"touch":               {op: stream.OpExpire, key: 1, ttl: 2},
	"delete md":           {op: remove, key: 1},
})

func (w *watched) request(text []byte) (err error) {
	var words [5][]byte
	rest := text
	for i := range words {
		words[i], rest, _ = bytes.Cut(rest, []byte(" "))
	}
	request, known := requests[string(words[0])]
	if !known {
		return source.ErrLeftOut
	}
	w.Op = request.op
	if request.isMeta {
		w.TTL, err = metaTTL(text)
	} else if request.ttl > 0 {
		w.TTL, err = expiryOf(words[request.ttl], w.Time)
	}
	if err == nil && request.size > 0 {
		w.Size, err = source.ParseSize(words[request.size])
		w.sized = w.Op == put
	}
	key := words[request.key]
	if len(key) == 0 {
		return fmt.Errorf("req=%.40s: want a key behind the command", words[0])
	}
	w.key = append(w.key, key...)
	return err
}

// metaTTL finds the time to live among the flags of a meta command, behind its name and key: T and seconds.
func metaTTL(command []byte) (int64, error) {
	for i := 0; len(command) > 0; i++ {
		var word []byte
		word, command, _ = bytes.Cut(command, []byte(" "))
		if i > 1 && len(word) > 1 && word[0] == 'T' {
			return parseTTL(word[1:], second)
		}
	}
	return 0, nil
}

// expiryOf reads an expiry of memcached: seconds from now, or above 30 days the time since 1970.
func expiryOf(word []byte, now int64) (int64, error) {
	ttl, err := parseTTL(word, second)
	if ttl > 30*24*3600*second {
		ttl = max(ttl-now, 0)
	}
	return ttl, err
}
