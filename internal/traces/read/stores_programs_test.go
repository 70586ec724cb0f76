package read_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// storeRecords is a log of a store, with the records that it should have.
type storeRecords struct {
	want   []stream.Record
	values map[string]int64     // sizes of values, by key
	ends   map[string]time.Time // of times to live
}

// add adds a record. A size below 0 is unknown.
func (s *storeRecords) add(op stream.Op, key string, size int64, ttl time.Duration, served stream.Served) {
	rec := stream.Record{Op: op, Size: max(size, 0), SizeUnknown: size < 0, TTL: int64(ttl), Served: served}
	rec.SetKey([]byte(key))
	s.want = append(s.want, rec)
}

// sizeOf returns the size of the value of a key, -1 for none.
func (s *storeRecords) sizeOf(key string) int64 {
	if size, ok := s.values[key]; ok {
		return size
	}
	return -1
}

// compare reads a log without saying what it is, and compares its records.
func (s *storeRecords) compare(t *testing.T, path string, from time.Time) {
	log := string(must.Get(os.ReadFile(path))(t))
	if strings.Contains(log, "[skipped: ") {
		t.Skip("the server skipped lines of its log")
	}
	records := must.Get(tracetest.ReadText(t, log, ""))(t)
	wrong := 0
	for i := range min(len(records), len(s.want)) {
		got, want := &records[i], &s.want[i]
		inTime := got.Time >= from.UnixNano()-int64(time.Second) && got.Time <= time.Now().UnixNano()
		off := time.Duration(got.TTL - want.TTL).Abs()
		if storeText(got) != storeText(want) || off > 2*time.Second || (got.TTL > 0) != (want.TTL > 0) || !inTime {
			t.Errorf("record %d: got %s, ttl %v, want %s, ttl %v", i, storeText(got), time.Duration(got.TTL), storeText(want),
				time.Duration(want.TTL))
			if wrong++; wrong > 10 {
				t.FailNow()
			}
		}
	}
	if len(records) != len(s.want) {
		t.Errorf("%d records, want %d", len(records), len(s.want))
	}
	t.Logf("%d records", len(records))
}

func storeText(rec *stream.Record) string {
	return fmt.Sprintf("%s %s size %d %v %v", rec.Op.Kind(), stream.Key{Num: rec.Num, Text: string(rec.Text)}, rec.Size,
		!rec.SizeUnknown, rec.Served)
}

// storeKey draws a key, of which some are strange.
func storeKey(r *rand.Rand, strange ...string) string {
	if n := r.IntN(100); n < len(strange) {
		return strange[n]
	}
	return fmt.Sprintf("user:%d:profile", r.IntN(r.IntN(60)+1))
}

func storeValue(r *rand.Rand) string {
	return strings.Repeat([]string{"x", "\"", "\x00", "\xc3\xa9", "\\", "\n"}[r.IntN(6)], r.IntN(2+r.IntN(2000)))
}

func TestMonitorOfRedis(t *testing.T) {
	programs.Wanted(t)
	dial := startRedis(t)
	c, path, from := dial(), filepath.Join(t.TempDir(), "monitor.log"), time.Now()
	end := dial().Monitor(path)
	r := rand.New(rand.NewPCG(7, 3))
	s := &storeRecords{values: map[string]int64{}, ends: map[string]time.Time{}}
	for range programs.Requests() {
		s.redis(r, c)
	}
	end()
	s.compare(t, path, from)
}

// redis sends a command, and adds the records that it is.
func (s *storeRecords) redis(r *rand.Rand, c redisClient) {
	key, value := storeKey(r, "a\"b", "\xd0\xba", "with blank", "12", "'q'"), storeValue(r)
	size, seconds := int64(len(value)), 1000+r.IntN(100000)
	ttl, text := time.Duration(seconds)*time.Second, strconv.Itoa(seconds)
	store := func(op stream.Op, ttl time.Duration) {
		s.values[key] = size
		s.add(op, key, size, ttl, 0)
	}
	other := func(op stream.Op, key string, ttl time.Duration) { s.add(op, key, -1, ttl, 0) } // MONITOR has no answers
	switch n := r.IntN(40); {
	case n < 14:
		c.do("GET", key)
		other(stream.OpRead, key, 0)
	case n < 20:
		c.do("SET", key, value)
		store(stream.OpWrite, 0)
	case n < 22:
		c.do("set", key, value, "EX", text)
		store(stream.OpWrite, ttl)
	case n == 22:
		c.do("SET", key, value, "PX", text+"000")
		store(stream.OpWrite, ttl)
	case n == 23:
		c.do("SETEX", key, text, value)
		store(stream.OpWrite, ttl)
	case n == 24:
		c.do("SET", key, value, "EXAT", strconv.FormatInt(time.Now().Unix()+int64(seconds), 10))
		store(stream.OpWrite, ttl)
	case n < 28:
		keys := []string{key, storeKey(r), storeKey(r)}
		c.do(append([]string{"MGET"}, keys...)...)
		for _, k := range keys {
			other(stream.OpRead, k, 0)
		}
	case n < 31:
		c.do([]string{"DEL", "UNLINK", "GETDEL"}[n-28], key)
		if n == 30 {
			other(stream.OpRead, key, 0)
		}
		delete(s.values, key)
		other(stream.OpDelete, key, 0)
	case n < 33:
		c.do("EXPIRE", key, text)
		other(stream.OpExpire, key, ttl)
	case n == 33:
		c.do("PERSIST", key)
		other(stream.OpExpire, key, 0)
	case n == 34:
		c.do("EXISTS", key)
		other(stream.OpRead, key, 0)
	case n == 35:
		c.do("APPEND", key, value)
		size += max(s.sizeOf(key), 0)
		store(stream.OpUpdate, 0)
	case n == 36:
		c.do("TTL", key)
		c.do("PING")
	case n == 37:
		c.do("SELECT", "3")
		c.do("SET", key, value)
		c.do("SELECT", "0")
		key = "3/" + key
		store(stream.OpWrite, 0)
	case n == 38:
		c.do("GET") // is refused
	case n == 39:
		c.do("MSET", key, value, "other", "1234")
		store(stream.OpWrite, 0)
		s.values["other"] = 4
		s.add(stream.OpWrite, "other", 4, 0, 0)
	}
}

func TestWatchOfMemcached(t *testing.T) {
	programs.Wanted(t)
	const buffers = "watcher_logbuf_size=8192,worker_logbuf_size=8192" // else it may skip lines
	p := programs.Memcached(t, "-m", "256", "-o", buffers)
	c, watcher := programs.Dial(t, p.Port), programs.Dial(t, p.Port)
	path := filepath.Join(t.TempDir(), "watch.log")
	watcher.Say("watch fetchers mutations deletions\r\n")
	deletions := watcher.Line() == "OK"
	if !deletions { // as of 1.6.18
		watcher.Say("watch fetchers mutations\r\n")
		if line := watcher.Line(); line != "OK" {
			t.Fatalf("watch: %s", line)
		}
	}
	end := watcher.CopyTo(path)
	from := time.Now()
	r := rand.New(rand.NewPCG(2, 9))
	s := &storeRecords{values: map[string]int64{}, ends: map[string]time.Time{}}
	for range programs.Requests() {
		s.memcached(r, c, deletions)
	}
	end()
	s.compare(t, path, from)
}

// memcached sends a command, and adds the records that it is. deletions says that the log has deletions.
func (s *storeRecords) memcached(r *rand.Rand, c *programs.Client, deletions bool) {
	key := storeKey(r, "a%2Fb", "a/b?c=d&e", "\xd0\xba", "12", strings.Repeat("k", 250), "a+b")
	value := strings.Repeat("v", r.IntN(2+r.IntN(2000)))
	size := int64(len(value))
	get := func(key string) {
		if known := s.sizeOf(key); known < 0 {
			s.add(stream.OpRead, key, -1, 0, stream.ServedMiss)
		} else {
			s.add(stream.OpRead, key, known, 0, stream.ServedHit)
		}
	}
	until := func(last string) {
		for line := c.Line(); line != last; line = c.Line() {
		}
	}
	send := func(command string) string {
		c.Say(fmt.Sprintf(command+"\r\n%s\r\n", key, len(value), value))
		return c.Line()
	}
	stored := func(ttl time.Duration) {
		if s.values[key] = size; ttl > 0 {
			s.ends[key] = time.Now().Add(ttl)
		} else {
			delete(s.ends, key)
		}
		s.add(stream.OpWrite, key, size, ttl, 0)
	}
	seconds := 60 + r.IntN(1000)
	switch n := r.IntN(40); {
	case n < 14:
		c.Say([]string{"get ", "gets "}[n%2] + key + "\r\n")
		until("END")
		get(key)
	case n < 17:
		other := storeKey(r)
		c.Say("get " + key + " " + other + "\r\n")
		until("END")
		get(key)
		get(other)
	case n < 21:
		send("set %s 0 0 %d")
		stored(0)
	case n < 24:
		send("set %s 0 " + strconv.Itoa(seconds) + " %d")
		stored(time.Duration(seconds) * time.Second)
	case n == 24: // above 30 days it is a time
		send("set %s 0 " + strconv.FormatInt(time.Now().Unix()+int64(seconds), 10) + " %d")
		stored(time.Duration(seconds) * time.Second)
	case n == 25:
		send("set %s 0 -1 %d")
		stored(1)
		delete(s.values, key)
	case n < 28:
		if send("add %s 0 0 %d") == "STORED" {
			stored(0)
		}
	case n < 30:
		if send("replace %s 0 0 %d") == "STORED" {
			stored(0)
		}
	case n == 30:
		if send("append %s 0 0 %d") == "STORED" {
			size += s.values[key]
			s.values[key] = size
			ttl := time.Until(s.ends[key])
			s.add(stream.OpWrite, key, size, max(ttl, 0), 0)
		}
	case n == 31:
		send("ms %s %d T" + strconv.Itoa(seconds))
		stored(time.Duration(seconds) * time.Second)
	case n < 34:
		c.Say("delete " + key + "\r\n")
		if c.Line() == "DELETED" && deletions {
			s.add(stream.OpDelete, key, s.sizeOf(key), 0, 0)
		} else {
			get(key)
		}
		delete(s.values, key)
	case n == 34:
		c.Say("touch " + key + " 3000\r\n")
		c.Line()
		get(key)
		s.ends[key] = time.Now().Add(3000 * time.Second)
	case n == 35:
		c.Say("gat 3000 " + key + "\r\n")
		until("END")
		get(key)
		s.ends[key] = time.Now().Add(3000 * time.Second)
	case n == 36:
		c.Say("mg " + key + " s\r\n")
		c.Line()
		get(key)
	case n == 37:
		value = strings.Repeat("v", 1<<20)
		send("set %s 0 0 %d") // is refused, and drops the old value
		s.add(stream.OpDelete, key, 0, 0, 0)
		delete(s.values, key)
	}
}
