package read_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// redisClient is a connection to a Redis.
type redisClient struct{ *programs.Client }

func (c redisClient) do(words ...string) any { return c.Redis(words...) }

// startRedis starts a Redis of its own.
func startRedis(t testing.TB) (dial func() redisClient) {
	t.Helper()
	program := programs.Find(t, os.Getenv("CACHESIM_REDIS"), "redis-server", "valkey-server")
	p := programs.Redis(t, program)
	return func() redisClient { return redisClient{programs.Dial(t, p.Port)} }
}

// number returns a reply that is one, 0 for any other.
func (c redisClient) number(words ...string) int {
	n, _ := c.do(words...).(int)
	return n
}

// snapshot returns the keys of the first two databases, with the time in ms at which each expires, 0 for never.
func (c redisClient) snapshot() map[string]int64 {
	all := map[string]int64{}
	for db, prefix := range []string{"", "1/"} {
		c.do("SELECT", strconv.Itoa(db))
		for _, key := range c.do("KEYS", "*").([]any) {
			if end := int64(c.number("PEXPIRETIME", key.(string))); end != -2 {
				all[prefix+key.(string)] = max(end, 0)
			}
		}
	}
	return all
}

// randomRedis draws commands on a few keys of each type. What only the values decide is left out: collections never
// become empty, nor do results that are stored.
type randomRedis struct {
	*rand.Rand
	redisClient // which is asked for values
	db          string
}

func (r *randomRedis) of(words string) string {
	all := strings.Fields(words)
	return all[r.IntN(len(all))]
}

func (r *randomRedis) key(kind string) string { return kind + strconv.Itoa(r.IntN(3)) }

func (r *randomRedis) word() string { return strconv.Itoa(r.IntN(1000)) }

// life draws options of SET that say how long.
func (r *randomRedis) life() []string {
	now := time.Now()
	switch r.IntN(9) {
	case 0:
		return []string{"PX", strconv.Itoa(8 + r.IntN(8))}
	case 1:
		return []string{"EX", strconv.Itoa(1000 + r.IntN(100000))}
	case 2:
		return []string{"PX", strconv.Itoa(1000000 + r.IntN(100000))}
	case 3:
		return []string{"EXAT", strconv.FormatInt(now.Unix()+1000+r.Int64N(100000), 10)}
	case 4:
		return []string{"PXAT", strconv.FormatInt(now.UnixMilli()+1000000+r.Int64N(100000), 10)}
	case 5:
		return []string{r.of("EXAT PXAT"), "1000"}
	case 6:
		return []string{r.of("EX PX EXAT PXAT"), r.of("0 -1")}
	}
	return nil
}

// optional returns words or nothing.
func (r *randomRedis) optional(words string) []string {
	if r.IntN(2) == 0 {
		return nil
	}
	return []string{r.of(words)}
}

func (r *randomRedis) set() []string {
	words := append([]string{"SET", r.key("s"), r.word()}, r.optional("NX XX GET")...)
	if r.IntN(4) == 0 {
		return append(words, "KEEPTTL")
	}
	return append(words, r.life()...)
}

func (r *randomRedis) expire() []string {
	key := r.key(r.of("s h l t z x p"))
	words := []string{"PERSIST", key}
	switch r.IntN(6) {
	case 0:
		return words
	case 1:
		words = []string{"PEXPIRE", key, strconv.Itoa(8 + r.IntN(8))}
	case 2:
		words = []string{"PEXPIREAT", key, strconv.FormatInt(time.Now().UnixMilli()+1000000+r.Int64N(100000), 10)}
	case 3:
		words = []string{r.of("EXPIRE PEXPIRE EXPIREAT PEXPIREAT"), key, r.of("-1 0 5")}
		if words[0] == "EXPIRE" || words[0] == "PEXPIRE" {
			words[2] = r.of("-1 0")
		}
	default:
		words = []string{"EXPIRE", key, strconv.Itoa(1000 + r.IntN(100000))}
	}
	switch r.IntN(6) {
	case 0:
		return append(words, r.of("NX XX GT LT"))
	case 1:
		return append(words, "XX", r.of("GT LT"))
	}
	return words
}

// typed draws a command of a type, nil if it would empty a collection or its result.
func (r *randomRedis) typed() []string {
	s, h, l, t, z, x, p := r.key("s"), r.key("h"), r.key("l"), r.key("t"), r.key("z"), r.key("x"), r.key("p")
	w := r.word()
	many := []string{w, "m", r.word(), r.word(), r.word(), r.word()}
	with := func(words ...string) []string { return append(words, many...) }
	all := [][]string{
		{"GET", s}, {"STRLEN", s}, {"GETRANGE", s, "0", "1"}, {"MGET", s, r.key("s")}, {"EXISTS", s, h}, {"TOUCH", s},
		{"INCR", s}, {"DECR", s}, {"INCRBY", s, w}, {"DECRBY", s, w}, {"INCRBYFLOAT", s, "0.5"}, {"APPEND", s, w},
		{"SETRANGE", s, "2", "ab"}, {"SETRANGE", s, "2", ""}, {"SETBIT", s, "7", "1"}, {"BITFIELD", s, "GET", "u8", "0"},
		{"BITFIELD", s, "SET", "u8", "0", "1"}, {"GETSET", s, w}, {"SETNX", s, w}, {"SETEX", s, "5000", w},
		{"SETEX", s, "0", w}, {"PSETEX", s, "9", w}, {"MSET", s, w, r.key("s"), w}, {"MSETNX", s, w, r.key("s"), w},
		{"GETDEL", s}, {"DEL", s, r.key("h")}, {"UNLINK", r.key("l"), t}, {"BITOP", "AND", s, r.key("s"), r.key("s")},
		append([]string{"GETEX", s}, r.life()...), {"GETEX", s, "PERSIST"}, {"LCS", s, r.key("s")},

		{"HSET", h, w, w, "a", w, "b", w, "c", w, "d", w, "e", w}, {"HMSET", h, w, w}, {"HSETNX", h, w, w},
		{"HINCRBY", h, "n", "2"}, {"HINCRBYFLOAT", h, "f", "2"}, {"HDEL", h, w}, {"HGETALL", h}, {"HGET", h, w},
		{"HRANDFIELD", h}, {"HSCAN", h, "0"},

		with("LPUSH", l), with("RPUSH", l), {"LPUSHX", l, w}, {"RPUSHX", l, w}, {"LPOP", l}, {"RPOP", l, "2"},
		{"LSET", l, "0", w}, {"LINSERT", l, "BEFORE", "m", w}, {"LREM", l, "1", w}, {"LTRIM", l, "0", "40"},
		{"LRANGE", l, "0", "-1"}, {"LMOVE", l, r.key("l"), "LEFT", "RIGHT"}, {"RPOPLPUSH", l, r.key("l")},
		{"LMPOP", "2", l, r.key("l"), "LEFT"}, {"BLMOVE", l, r.key("l"), "LEFT", "LEFT", "0.001"}, {"BLPOP", l, "0.001"},
		{"SORT", l, "ALPHA", "STORE", r.key("l")}, {"SORT", l, "ALPHA"},

		with("SADD", t), {"SREM", t, w}, {"SPOP", t}, {"SMOVE", t, r.key("t"), "m"}, {"SMEMBERS", t}, {"SCARD", t},
		{"SUNIONSTORE", t, r.key("t"), r.key("t")}, {"SINTERSTORE", t, r.key("t"), r.key("t")},
		{"SDIFFSTORE", t, r.key("t"), r.key("t")},

		{"ZADD", z, w, w, "1", "m", "2", "a", "3", "b", "4", "c"}, {"ZADD", z, "XX", w, w}, {"ZADD", z, "NX", w, w},
		{"ZINCRBY", z, w, w}, {"ZREM", z, w}, {"ZPOPMIN", z}, {"ZPOPMAX", z}, {"ZREMRANGEBYRANK", z, "0", "0"},
		{"ZRANGE", z, "0", "-1"}, {"ZMPOP", "1", z, "MIN"}, {"ZRANGESTORE", z, r.key("z"), "0", "-1"},
		{"ZUNIONSTORE", z, "2", r.key("z"), r.key("z")}, {"ZINTERSTORE", z, "2", r.key("z"), r.key("z")},
		{"ZDIFFSTORE", z, "2", r.key("z"), r.key("z")}, {"GEOADD", "g0", "13", "38", "m"},
		{"GEOADD", "g0", "XX", "13", "38", w},
		{"GEOSEARCHSTORE", "g1", "g0", "FROMLONLAT", "13", "38", "BYRADIUS", "9", "km"},

		{"XADD", x, "*", "f", w}, {"XADD", x, "NOMKSTREAM", "*", "f", w}, {"XTRIM", x, "MAXLEN", "3"},
		{"XGROUP", "CREATE", x, w, "$"}, {"XGROUP", "CREATE", x, w, "$", "MKSTREAM"}, {"XRANGE", x, "-", "+"},
		{"PFADD", p, w}, {"PFMERGE", p, r.key("p")}, {"PFCOUNT", p},

		{"COPY", l, r.key("l")}, {"COPY", s, r.key("s"), "REPLACE"}, {"COPY", h, r.key("h"), "DB", r.of("0 1"), "REPLACE"},
		{"COPY", t, r.key("t"), "DB", r.of("0 1")}, {"RENAME", s, r.key("s")}, {"RENAME", l, r.key("l")},
		{"RENAMENX", h, r.key("h")}, {"MOVE", s, r.of("0 1")}, {"MOVE", z, r.of("0 1")},
		{"EVAL", "redis.call('INCRBY', KEYS[1], 1); return redis.call('EXPIRE', KEYS[1], 2000)", "1", s},
		{"EVAL", "return redis.call('HSET', KEYS[1], 'a', 1)", "1", h}, {"PING"}, {"TYPE", s}, {"DBSIZE"},
	}
	words := all[r.IntN(len(all))]
	if r.empties(words) {
		return nil
	}
	return words
}

// empties reports whether a command may leave a collection, or what it stores, empty.
func (r *randomRedis) empties(words []string) bool {
	size := func(key string) int {
		count := map[byte]string{'l': "LLEN", 't': "SCARD", 'z': "ZCARD", 'h': "HLEN"}[key[0]]
		return r.number(count, key)
	}
	small := func(key string) bool { n := size(key); return n > 0 && n < 5 }
	switch key := words[1%len(words)]; words[0] {
	case "LPOP", "RPOP", "LREM", "LTRIM", "LMOVE", "RPOPLPUSH", "BLMOVE", "SREM", "SPOP", "ZREM", "ZPOPMIN", "ZPOPMAX",
		"ZREMRANGEBYRANK", "HDEL":
		return small(key)
	case "BLPOP":
		return size(key) < 5
	case "LMPOP":
		return small(words[2]) || small(words[3])
	case "ZMPOP":
		return small(words[2])
	case "SMOVE":
		return size(key) > 0 && (small(key) || r.number("SISMEMBER", key, "m") == 0)
	case "SINTERSTORE", "SDIFFSTORE":
		result, _ := r.do(append([]string{strings.TrimSuffix(words[0], "STORE")}, words[2:]...)...).([]any)
		return len(result) == 0 && size(words[2]) > 0 && (words[0] == "SDIFFSTORE" || size(words[3]) > 0)
	case "ZINTERSTORE", "ZDIFFSTORE":
		result, _ := r.do(append([]string{strings.TrimSuffix(words[0], "STORE")}, words[2:]...)...).([]any)
		return len(result) == 0 && size(words[3]) > 0 && (words[0] == "ZDIFFSTORE" || size(words[4]) > 0)
	}
	return false
}

// draw returns commands that are sent together, mostly one.
func (r *randomRedis) draw() [][]string {
	switch n := r.IntN(100); {
	case n < 12:
		return [][]string{r.set()}
	case n < 24:
		return [][]string{r.expire()}
	case n == 24 && r.IntN(5) == 0:
		return [][]string{{r.of("FLUSHDB FLUSHALL")}}
	case n == 25:
		return [][]string{{"MULTI"}, r.set(), {"EXPIRE", r.key("s"), "3000"}, {"INCR", r.key("s")}, {"EXEC"}}
	case n == 26:
		if payload, ok := r.do("DUMP", r.key("s")).(string); ok {
			return [][]string{append([]string{"RESTORE", r.key("s"), r.of("0 70000"), payload}, r.optional("REPLACE")...)}
		}
	}
	if words := r.typed(); words != nil {
		return [][]string{words}
	}
	return nil
}

// margin is how near to the end of a time to live nothing is sent or compared: clocks are read at different moments.
const margin = 4 * time.Millisecond

// endsWithin reports whether a key ends, or nearly ends, between two moments.
func endsWithin(ends map[string]int64, from, to time.Time) bool {
	for _, end := range ends {
		if at := time.UnixMilli(end); end > 0 && at.After(from.Add(-margin)) && at.Before(to.Add(margin)) {
			return true
		}
	}
	return false
}

// TestKeyspaceOfARealServer sends random commands to a server, and follows what its MONITOR prints: after each command
// the same keys exist, and the same have times to live with the same ends.
func TestKeyspaceOfARealServer(t *testing.T) {
	dial := startRedis(t)
	client, asking, monitor := dial(), dial(), dial()
	client.do("FLUSHALL")
	if monitor.do("MONITOR") != "OK" {
		t.Fatal("no MONITOR")
	}
	r := &randomRedis{Rand: rand.New(rand.NewPCG(8, 15)), redisClient: asking, db: "0"}
	client.do("FLUSHALL")
	type moment struct {
		words    string
		from, at time.Time
		snapshot map[string]int64
	}
	var moments []moment
	var log strings.Builder
	commands := brief.Of(10000, 1000)
	for len(moments) < commands {
		asking.do("SELECT", r.db)
		calls := r.draw()
		if calls == nil {
			continue
		}
		from, before := time.Now(), asking.snapshot()
		for endsWithin(before, from, time.Now()) {
			time.Sleep(time.Millisecond)
			from, before = time.Now(), asking.snapshot()
		}
		if r.IntN(50) == 0 {
			r.db = r.of("0 1")
			client.do("SELECT", r.db)
		}
		called := time.Now()
		for _, words := range calls {
			client.do(words...)
		}
		// The machine was busy: nobody knows what the commands found, or how long after them MONITOR read the clock.
		if time.Since(called) > margin || endsWithin(before, from, time.Now()) {
			client.do("FLUSHALL")
			continue
		}
		moments = append(moments, moment{words: fmt.Sprint(calls), from: from, snapshot: asking.snapshot(), at: time.Now()})
		asking.do("ECHO", "moment")
		for { // the log up to this moment
			line := monitor.Line()
			log.WriteString(strings.TrimPrefix(line, "+") + "\n")
			if strings.HasSuffix(line, `"ECHO" "moment"`) {
				break
			}
		}
	}
	var ends []int64 // of each moment in the log
	for line := range strings.Lines(log.String()) {
		if strings.HasSuffix(line, "\"ECHO\" \"moment\"\n") {
			stamp, _, _ := strings.Cut(line, " ")
			seconds, micros, _ := strings.Cut(stamp, ".")
			ends = append(ends, (must.Get(strconv.ParseInt(seconds+micros, 10, 64))(t))*1000)
		}
	}
	records := must.Get(tracetest.ReadText(t, log.String(), "redis"))(t)
	states := make([]read.Stored, len(records)+1)
	read.Follow(records, func(rows int, stored read.Stored) { states[rows] = stored })
	row, last, wrong := 0, read.Stored{}, 0
	for i, m := range moments {
		for row < len(records) && records[row].Time <= ends[i] {
			if row++; states[row] != nil {
				last = states[row]
			}
		}
		for key, end := range last {
			now := m.at.UnixNano()
			is, exists := m.snapshot[key]
			over := end > 0 && end <= now-int64(margin)
			switch {
			case end > m.from.UnixNano()-int64(margin) && end < now+int64(margin):
			case exists == over:
				t.Errorf("after %d, %s: %s exists: %v, followed: %v until %d", i, m.words, key, exists, !over, end)
				wrong++
			case exists && (is > 0) != (end > 0):
				t.Errorf("after %d, %s: %s expires at %d, followed: %d", i, m.words, key, is, end/1e6)
				wrong++
			case exists && time.Duration(is*1e6-end).Abs() > margin:
				t.Errorf("after %d, %s: %s expires at %d, followed: %d", i, m.words, key, is, end/1e6)
				wrong++
			}
		}
		for key := range m.snapshot {
			if _, ok := last[key]; !ok {
				t.Errorf("after %d, %s: %s exists, but was not followed", i, m.words, key)
				wrong++
			}
		}
		if wrong > 10 {
			t.Fatal("and so on")
		}
	}
	t.Logf("%d commands, %d rows", len(moments), len(records))
}
