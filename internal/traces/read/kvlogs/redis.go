package kvlogs

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var redisFormat = source.Format{
	Name: "redis",
	Options: []params.Param{source.OpsOption(), sizeOption(redisOverhead), {
		Name: "tenant", Default: "", Choices: []string{"", "client", "db", "command"},
		Doc: "the tenant, for dividing a cache among tenants, or the label of --by: the client's address without its port, " +
			"the number of the database, or the name of the command; by default none",
	}},
	Writes: stream.WritesStore,
	Detect: source.CertainIf(func(head source.Head) bool {
		return source.MostLines(head.Lines, func(line []byte) error {
			if string(line) == monitorOK {
				return source.ErrLeftOut
			}
			_, err := parseEvent(line)
			return err
		})
	}),
	Open: openRedis,
}

// monitorOK is the answer to MONITOR, the first line.
const monitorOK = "OK"

// event is a line of MONITOR.
type event struct {
	time       int64
	db, client []byte
	command    []byte // the words in their quotes
}

// parseEvent reads a line without the words of its command.
func parseEvent(line []byte) (e event, err error) {
	at := bytes.IndexByte(line, ' ')
	open := bytes.Index(line, []byte(" ["))
	end := bytes.Index(line, []byte(`] "`)) // an address of IPv6 has brackets, too
	if at <= 0 || open != at || end < open {
		return e, fmt.Errorf(`%.60q: want TIME [DATABASE CLIENT] "COMMAND" and its arguments in quotes`, line)
	}
	if e.time, err = source.ParseTime(line[:at], second); err != nil {
		return e, err
	}
	var ok bool
	if e.db, e.client, ok = bytes.Cut(line[open+2:end], []byte(" ")); !ok || !source.IsDigits(e.db) {
		return e, fmt.Errorf("%.60q: want the number of a database and a client", line[open+2:end])
	}
	e.command = line[end+2:]
	return e, nil
}

// access is a key that a command uses. A command may use several.
type access struct {
	key       []byte
	op        stream.Op
	size, ttl int64
	stated    bool // the size, or an estimate
	of        stream.ValueType
}

// redisReader reads commands, and gives one request per key that each uses. It implements stream.Reader.
type redisReader struct {
	lines    stream.Reader
	reading  *stream.Reading
	ops      source.OpFilter
	tenant   string
	strange  int     // commands that are not followed, or not known
	growth   *growth // nil if nothing uses sizes
	withKeys bool    // keys count as bytes
	event
	words    [][]byte // of the command, without quotes, with their escapes
	accesses []access // of the command
	next     int      // the first of them that was not given yet
	text     []byte   // of the keys
	err      error    // the first in the words of the command
}

func openRedis(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &redisReader{reading: src.Reading, ops: source.NewOpFilter(opts.Text("ops")), tenant: opts.Text("tenant")}
	if err := checkTenant(src, opts, "client", "db", "command"); err != nil {
		return nil, stream.Fields{}, err
	}
	if !src.In.NoSizes {
		r.growth = newGrowth(src)
	}
	r.withKeys = stateSize(src, opts, "values as far as commands state them", redisOverhead)
	r.lines = source.ReadLines(src, r.parse)
	src.Reading.Time, src.Reading.TTL = "time in s", "times to live"
	src.Reading.Why = why("commands that use no key", opts)
	if r.tenant != "" {
		src.Reading.Tenant = "tenant " + r.tenant
	}
	return r, stream.Fields{Time: true, Size: true, Op: true, TTL: true, Tenant: r.tenant != "", SizeMayLack: true}, nil
}

// why says why lines are left out.
func why(reason string, opts params.Values) string {
	if ops := opts.Text("ops"); ops != "all" {
		return reason + ", or not " + ops
	}
	return reason
}

func (r *redisReader) Read(rec *stream.Record) error {
	if r.next == len(r.accesses) {
		if err := r.lines.Read(rec); err != nil {
			return err
		}
	}
	a := &r.accesses[r.next]
	r.next++
	*rec = stream.Record{Time: r.time, Size: a.size, SizeUnknown: !a.stated, Type: a.of, Op: a.op, TTL: a.ttl,
		Tenant: r.tenantOf()}
	if r.withKeys {
		rec.KeySize = int64(len(a.key))
	}
	rec.SetKey(a.key)
	return nil
}

func (r *redisReader) tenantOf() []byte {
	switch r.tenant {
	case "client":
		if port := bytes.LastIndexByte(r.client, ':'); port > 0 {
			return r.client[:port]
		}
		return r.client
	case "db":
		return r.db
	case "command":
		return r.words[0]
	}
	return nil
}

// parse implements source.LineParser: it finds the keys of a command, at least one.
func (r *redisReader) parse(line []byte, _ *stream.Record) (err error) {
	r.accesses, r.next, r.text, r.err = r.accesses[:0], 0, r.text[:0], nil
	if string(line) == monitorOK {
		return source.ErrLeftOut
	}
	if r.event, err = parseEvent(line); err != nil {
		return err
	}
	if r.words, err = cutQuoted(r.words[:0], r.command); err != nil {
		return err
	}
	name := lower(r.words[0])
	keys := commands[string(name)]
	if keys == nil {
		r.leaveOut(name)
		return source.ErrLeftOut
	}
	if keys(r, r.words[1:]); r.err != nil {
		r.accesses = r.accesses[:0] // where the line is left out, so are the keys before the error
		return fmt.Errorf("%.30s: %w", r.words[0], r.err)
	}
	if r.growth != nil {
		r.growth.follow(string(r.words[0]), r.words[1:], r.accesses, r.time)
	}
	r.accesses = slices.DeleteFunc(r.accesses, func(a access) bool { return !r.ops.Has(a.op) })
	if len(r.accesses) == 0 {
		return source.ErrLeftOut
	}
	r.accesses[len(r.accesses)-1].op &^= stream.WithNext
	return nil
}

// mostStrange is how many commands are named that are not followed.
const mostStrange = 8

// leaveOut notes a command without a request, if it may have changed a key all the same.
func (r *redisReader) leaveOut(name []byte) {
	why, known := leftOut[string(name)]
	if known && why == "" {
		return
	}
	if !known {
		why = "unknown"
	}
	text := fmt.Sprintf(", and %.30q, which is %s", name, why)
	if r.strange > mostStrange || strings.Contains(r.reading.Why, text) {
		return
	}
	if r.strange++; r.strange > mostStrange {
		text = ", and others"
	}
	r.reading.Why += text
}

// lower returns a word in lower case, in place.
func lower(word []byte) []byte {
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			word[i] = c | ' '
		}
	}
	return word
}

// cutQuoted appends the words of a command, which are in quotes with a blank between.
func cutQuoted(words [][]byte, text []byte) ([][]byte, error) {
	for {
		if len(text) == 0 || text[0] != '"' {
			return words, fmt.Errorf("word %d of the command: want one in quotes, got %.40q", len(words)+1, text)
		}
		end := closingQuote(text)
		if end < 0 {
			return words, fmt.Errorf("word %d of the command: a quote is opened but not closed", len(words)+1)
		}
		words = append(words, text[1:end])
		if text = text[end+1:]; len(text) == 0 {
			return words, nil
		}
		if text[0] == ' ' {
			text = text[1:]
		}
	}
}

// closingQuote returns the index of the quote that ends a word; -1 for none. A backslash escapes the next byte.
func closingQuote(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// length returns how many bytes a word has without its escapes.
func length(word []byte) int64 {
	n := int64(0)
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+1 < len(word) {
			i++
			if word[i] == 'x' {
				i += 2
			}
		}
		n++
	}
	return n
}

// fail notes what is wrong with a command.
func (r *redisReader) fail(format string, args ...any) {
	r.err = cmp.Or(r.err, fmt.Errorf(format, args...))
}

func (r *redisReader) add(op stream.Op, word []byte) { r.addTo(r.db, word, access{op: op}) }

func (r *redisReader) store(op stream.Op, word, value []byte, ttl int64) {
	r.addTo(r.db, word, access{op: op, size: length(value), ttl: ttl})
}

// addTo adds a key of a database. That of a database other than 0 begins with its number.
func (r *redisReader) addTo(db, word []byte, a access) {
	if len(word) == 0 {
		r.fail("the key is empty")
	}
	if r.err != nil {
		return
	}
	start := len(r.text)
	if string(db) != "0" {
		r.text = append(append(r.text, db...), '/')
	}
	r.text = source.AppendUnquoted(r.text, word)
	a.key = r.text[start:]
	r.accesses = append(r.accesses, a)
}

// ttlOf reads the expiry of a command in units of nanoseconds from now, or from 1970 if at is set. An object that
// expires at once is deleted.
func (r *redisReader) ttlOf(word []byte, unit int64, at bool) (ttl int64, gone bool) {
	if len(word) > 1 && word[0] == '-' && source.IsDigits(word[1:]) {
		return 0, true
	}
	ttl, err := parseTTL(word, unit)
	switch {
	case err != nil:
		r.fail("%w", err)
	case at && ttl > 0:
		ttl -= r.time
		return max(ttl, 0), ttl <= 0
	}
	return ttl, string(word) == "0"
}

// parseTTL reads a time to live that a client sent, in units of nanoseconds. Clients send times that do not fit 292
// years to say: for ever, which is 0.
func parseTTL(text []byte, unit int64) (int64, error) {
	if n, ok := source.ParseDigits(text); ok && n > uint64(math.MaxInt64/unit) {
		return 0, nil
	}
	return source.ParseTTL(text, unit)
}
