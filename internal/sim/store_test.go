package sim_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// monitored writes lines of MONITOR: each is a time, @ and the database if it is not 0, and a command.
func monitored(lines ...string) string {
	text := "OK\n"
	for _, line := range lines {
		when, command, _ := strings.Cut(line, " ")
		at, db, _ := strings.Cut(when, "@")
		text += at + " [" + cmp.Or(db, "0") + ` 127.0.0.1:5000] "` + strings.Join(strings.Fields(command), `" "`) + "\"\n"
	}
	return text
}

// sessions is a log of three sessions of a minute: a hash that expires, and is written at each visit.
func sessions() string {
	var lines []string
	at := func(ms int) string {
		return strconv.Itoa(1700000000+ms/1000) + "." + strconv.Itoa(1000 + ms%1000)[1:] + "000"
	}
	for s := 0; s < 150; s += 5 {
		for id := range 3 {
			ms, name := 1000*(s+id), "sess:"+strconv.Itoa(id)
			lines = append(lines, at(ms)+" HGETALL "+name)
			if s%65 == 0 {
				lines = append(lines, at(ms+1)+" HSET "+name+" user 1", at(ms+2)+" EXPIRE "+name+" 60")
			}
			lines = append(lines, at(ms+3)+" HSET "+name+" last 1")
		}
	}
	return monitored(lines...)
}

// What a cache that holds everything hits, of reads, in what Redis' MONITOR prints.
func TestStoresOfRedis(t *testing.T) {
	for name, test := range map[string]struct {
		log         string
		hits, reads int64
	}{
		"hashes that expire": {sessions(), 81, 90},
		"what changes nothing if there is nothing": {monitored("0 EXPIRE s 50", "1 GET s", "2 SADD t x", "3 EXPIRE t 5",
			"4 SADD t y", "10 SMEMBERS t", "11 PERSIST v", "12 GET v", "13 LPOP q", "14 LRANGE q 0 -1"), 0, 4},
		"reads of what was deleted": {monitored("1 SET a 1", "2 GET a",
			"3 DEL a", "4 GET a", "5 GET a"), 1, 3},
		"reads of what expired":                    {monitored("1 SET a 1 EX 5", "2 GET a", "7 GET a", "8 GET a"), 1, 3},
		"reads of what the log does not write":     {monitored("1 GET a", "2 GET a"), 1, 2},
		"an expiry of what the log does not write": {monitored("1 EXPIRE a 5", "2 GET a", "3 GET a", "9 GET a"), 1, 3},
		"INCR keeps":                 {monitored("1 SETEX a 5 1", "3 INCR a", "7 GET a"), 0, 1},
		"SET ends":                   {monitored("1 SETEX a 5 1", "3 SET a 2", "7 GET a"), 1, 1},
		"KEEPTTL keeps":              {monitored("1 SETEX a 5 1", "3 SET a 2 KEEPTTL", "7 GET a"), 0, 1},
		"GETEX shortens":             {monitored("1 SETEX a 50 1", "2 GETEX a EX 3", "7 GET a"), 1, 2},
		"GETEX persists":             {monitored("1 SETEX a 5 1", "2 GETEX a PERSIST", "7 GET a"), 2, 2},
		"NX changes nothing":         {monitored("1 SETEX a 5 1", "2 SET a 1 EX 50 NX", "7 GET a"), 0, 1},
		"EXPIRE GT changes nothing":  {monitored("1 SETEX a 5 1", "2 EXPIRE a 1 GT", "4 GET a", "7 GET a"), 1, 2},
		"a new name keeps the time":  {monitored("1 SETEX a 5 1", "2 RENAME a b", "3 GET a", "4 GET b", "7 GET b"), 1, 3},
		"a copy keeps the time":      {monitored("1 SETEX a 5 1", "2 COPY a b", "3 GET a", "4 GET b", "7 GET b"), 3, 4},
		"a union of nothing deletes": {monitored("1 SADD a 1", "2 DEL b", "3 SUNIONSTORE a b", "4 SMEMBERS a"), 0, 2},
		"the millisecond of the end": {monitored("1 SETEX a 5 1", "6.000999 GET a", "6.001 GET a",
			"6.001001 GET a"), 2, 3},
		"a flush": {monitored("1 SET a 1", "2 GET b", "3 FLUSHALL", "4 GET a", "5 GET b",
			"6 GET c", "7 GET c"), 0, 5},
		"a flush of database 0 before others are seen": {monitored("1 SET a 1", "2 COPY a b DB 1", "3 FLUSHDB", "4 GET a",
			"5@1 GET b", "6@1 GET c", "7@1 GET c"), 3, 5},
		"flushes of databases": {monitored("1 SET a 1", "2@1 SET a 1", "3@1 FLUSHDB", "4@1 GET a", "5 GET a", "6@1 SET a 1",
			"7@1 GET a", "8@1 FLUSHDB", "9@1 GET a", "10 FLUSHDB", "11 GET a", "12 SET a 1", "13 GET a"), 3, 6},
	} {
		tr := tracetest.MustLoadText(t, test.log, read.Options{})
		rec := simtest.ByPolicy(t, tr, "lru", simtest.Objects(100)[0], 0)["lru"]
		reads := rec.Int(metric.Requests)
		if hits := rec.Int(metric.Hits); hits != test.hits || reads != test.reads {
			t.Errorf("%s: %d of %d reads hit, want %d of %d", name, hits, reads, test.hits, test.reads)
		}
	}
}

// storeRow is a row of a store for the naive model.
func drawStoreRows(t *rapid.T) rows {
	var now int64
	count := rapid.IntRange(1, 60).Draw(t, "count")
	ops := []stream.Op{stream.OpRead, stream.OpRead, stream.OpRead, stream.OpWrite, stream.OpDelete, stream.OpUpdate,
		stream.OpUpdate | stream.IfPresent, stream.OpExpire, stream.OpWrite | stream.IfAbsent,
		stream.OpWrite | stream.IfPresent, stream.OpFlush}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream.Record {
		now += 1e9 * rapid.Int64Range(0, 3).Draw(t, "step")
		rec := stream.Record{Time: now, Num: rapid.Uint64Range(0, 4).Draw(t, "key"), Size: 1,
			Op:  rapid.SampledFrom(ops).Draw(t, "op"),
			TTL: 1e9 * rapid.SampledFrom([]int64{0, 0, 2, 5, 12}).Draw(t, "ttl")}
		switch rec.Op {
		case stream.OpRead, stream.OpUpdate, stream.OpUpdate | stream.IfPresent, stream.OpDelete:
			rec.TTL = 0
		case stream.OpFlush:
			rec = stream.Record{Time: now, Text: []byte(stream.FlushAll), Op: stream.OpFlush}
		}
		return rec
	}), count, count).Draw(t, "rows")
}

// naiveStore is an LRU cache before what is known of a store: which keys were written or deleted, and until when.
type naiveStore struct {
	naiveLRU
	stored, gone map[uint64]bool
	flushed      bool
}

func (c *naiveStore) missing(key uint64) bool { return c.gone[key] || c.flushed && !c.stored[key] }

func (c *naiveStore) delete(key uint64) {
	c.drop(key)
	delete(c.stored, key)
	c.gone[key] = true
}

// touch uses an object that is in the cache, and loads nothing.
func (c *naiveStore) touch(key uint64) bool {
	i := slices.Index(c.held, key)
	if i >= 0 {
		c.held = slices.Insert(slices.Delete(c.held, i, i+1), 0, key)
	}
	return i >= 0
}

func (c *naiveStore) serve(row stream.Record) {
	for key, end := range c.ends {
		if end < row.Time { // an object is there until the millisecond of its end is over
			c.delete(key)
		}
	}
	key, hit := row.Num, false
	store := func() {
		c.stored[key] = true
		delete(c.gone, key)
		if row.Op.Kind() == stream.OpWrite {
			delete(c.ends, key)
		}
		hit = c.request(row)
	}
	switch row.Op {
	case stream.OpFlush:
		for _, key := range slices.Clone(c.held) {
			c.drop(key)
		}
		c.ends, c.stored, c.gone, c.flushed = map[uint64]int64{}, map[uint64]bool{}, map[uint64]bool{}, true
		return
	case stream.OpDelete:
		c.delete(key)
		return
	case stream.OpRead:
		if c.reads++; c.missing(key) {
			return
		}
		if c.request(row) {
			c.readHits++
		}
		return
	case stream.OpWrite, stream.OpUpdate:
		store()
	case stream.OpWrite | stream.IfAbsent:
		if c.stored[key] {
			hit = c.touch(key)
		} else {
			store()
		}
	case stream.OpWrite | stream.IfPresent:
		if c.missing(key) {
			hit = c.touch(key)
		} else {
			store()
		}
	case stream.OpUpdate | stream.IfPresent:
		hit = c.touch(key)
	case stream.OpExpire:
		hit = c.touch(key)
		if !c.missing(key) {
			if delete(c.ends, key); row.TTL > 0 {
				c.ends[key] = row.Time + row.TTL
			}
		}
	}
	if c.writes++; hit {
		c.writeHits++
	}
}

func newNaiveStore(capacity int) *naiveStore {
	c := &naiveStore{stored: map[uint64]bool{}, gone: map[uint64]bool{}}
	c.ends, c.capacity, c.mode = map[uint64]int64{}, capacity, stream.WritesFill
	return c
}

// LRU counts what a list and maps count, for each kind of write and condition of a store.
func TestStoreEqualsMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := append(rows{{Num: 99, Size: 1, Op: stream.OpRead}}, drawStoreRows(t)...)
		r = append(r, stream.Record{Num: 99, Time: r[len(r)-1].Time, Size: 1})
		size := rapid.IntRange(1, 6).Draw(t, "capacity")
		want := newNaiveStore(size)
		for _, row := range r {
			if row.Op == stream.OpUnknown {
				row.Op = stream.OpRead
			}
			want.serve(row)
		}
		tr := must.Get(r.load(t.Context(), stream.WritesStore))(t)
		rec := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru",
			Capacities: simtest.Objects(int64(size))}))(t)[0]
		for name, n := range map[string]int64{"requests": want.reads, "hits": want.readHits, "evictions": want.evicted} {
			if got, _ := rec.GetInt(name); got != n {
				t.Fatalf("%s is %d, want %d", name, got, n)
			}
		}
		if got, _ := rec.GetInt("write_hits"); got != want.writeHits {
			t.Fatalf("write_hits is %d, want %d", got, want.writeHits)
		}
	})
}

// fewestStoreMisses tries every set of residents after every row of a store.
func fewestStoreMisses(r rows, keys, capacity int, bypass bool) int {
	best := map[int]int{0: 0}
	for i := range r {
		// The rows so far, through an infinite cache: what is missing does not depend on the capacity.
		before := newNaiveStore(1000)
		for _, row := range r[:i] {
			before.serve(row)
		}
		held := func(c *naiveStore) (set int) {
			for _, key := range c.held {
				set |= 1 << key
			}
			return set
		}
		row, own := r[i], 1<<r[i].Num
		for key, end := range before.ends {
			if end < row.Time { // an object is there until the millisecond of its end is over
				before.delete(key)
			}
		}
		alive, reads := held(before), before.reads
		after := *before
		after.held = slices.Clone(before.held)
		after.serve(row)
		loads := held(&after)&own != 0 && row.Op != stream.OpFlush && row.Op.Kind() != stream.OpExpire &&
			row.Op != stream.OpUpdate|stream.IfPresent
		counts := after.reads > reads
		next := map[int]int{}
		for set, misses := range best {
			set &= alive & held(&after)
			may, missed := set, set&own == 0
			if row.Op == stream.OpFlush {
				missed = false
			}
			if loads {
				may |= own
			}
			if missed && counts {
				misses++
			}
			for stay := 0; stay < 1<<keys; stay++ {
				size := 0
				for key := range keys {
					size += stay >> key & 1
				}
				if stay&^may != 0 || size > capacity || missed && loads && !bypass && stay&own == 0 {
					continue
				}
				if n, ok := next[stay]; !ok || misses < n {
					next[stay] = misses
				}
			}
		}
		best = next
	}
	fewest := len(r)
	for _, n := range best {
		fewest = min(fewest, n)
	}
	return fewest
}

// The optimum of a store is exact.
func TestOptimumOfAStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawStoreRows(t)
		r = slices.DeleteFunc(r, func(rec stream.Record) bool { return rec.Op == stream.OpWrite|stream.IfAbsent })
		r = r[:min(len(r), 24)]
		size := rapid.IntRange(1, 3).Draw(t, "capacity")
		tr, err := r.load(t.Context(), stream.WritesStore)
		if err != nil {
			t.Skip("no requests")
		}
		for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "opt,opt-bypass",
			Capacities: simtest.Objects(int64(size))}))(t) {
			fewest := fewestStoreMisses(r, 5, size, rec.Policy == "opt-bypass")
			if got := int(rec.Int(metric.Misses)); got != fewest {
				t.Fatalf("%s: %d misses, but %d are possible, of %+v", rec.Policy, got, fewest, r)
			}
		}
	})
}
