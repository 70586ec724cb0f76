package kvlogs_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/kvlogs"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// monitored writes commands as MONITOR does, one a second.
func monitored(commands [][]string) string {
	var text strings.Builder
	for i, words := range commands {
		fmt.Fprintf(&text, "%d.0 [0 x]", i+1)
		for _, word := range words {
			text.WriteString(" " + strconv.Quote(word))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// TestGrowth: what a value has after each command.
func TestGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		commands []string
		want     []int64 // of the last access of each command; -1 if it is unknown
	}{
		"a hash": {[]string{"hset h f abc g de", "hset h f a", "hget h f", "hdel h g",
			"hincrby h n 1", "hsetnx h x y"},
			[]int64{7, 5, -1, 2, 11, 13}},
		"a hash, at last": {[]string{"hset h f abc", "hdel h f", "hset h g a"}, []int64{4, -1, 2}},
		"a list": {[]string{"rpush l ab cd", "lpush l efgh", "lpop l", "ltrim l 0 0", "lrange l 0 -1"},
			[]int64{4, 8, 6, 3, -1}},
		"a list that moves": {[]string{"rpush l ab cd", "lmove l m LEFT RIGHT"}, []int64{4, 2}},
		"what was there":    {[]string{"lpop l", "rpush l ab", "lpushx m ab"}, []int64{-1, 2, -1}},
		"a set": {[]string{"sadd s ab cd", "sadd s ab e", "srem s ab", "smove s t cd", "spop t"},
			[]int64{4, 5, 3, 2, -1}},
		"a sorted set": {[]string{"zadd z 1 ab 2 cd", "zadd z NX 3 ab", "zincrby z 1 e", "zremrangebyrank z 0 0"},
			[]int64{20, 20, 29, 20}},
		"a geographic set": {[]string{"geoadd g XX 1.0 2.0 ab"}, []int64{10}},
		"a stream": {[]string{"xadd x * a b", "xadd x MAXLEN ~ 1 * a bcd", "xtrim x MAXLEN 0"},
			[]int64{18, 19, -1}},
		"a string": {[]string{"append s abc", "append s de", "setrange s 9 a",
			"setbit s 799 1", "getrange s 0 1"},
			[]int64{3, 5, 10, 100, -1}},
		"a string, set": {[]string{"set s abc", "append s d", "set s x", "append s y", "set s z NX"},
			[]int64{3, 4, 1, 2, -1}},
		"a counter":          {[]string{"incr c", "set c 12", "incrby c 3"}, []int64{8, 2, 2}},
		"after a deletion":   {[]string{"hset h f abc", "del h", "hset h g a"}, []int64{4, -1, 2}},
		"after its end":      {[]string{"hset h f abc", "expire h 1", "hset h g a"}, []int64{4, -1, 2}},
		"a value of its own": {[]string{"hset h f abc", "set h ab", "append h c"}, []int64{4, 2, 3}},
		"a copy":             {[]string{"hset h f abc", "copy h i", "hset i g a"}, []int64{4, 4, 6}},
		"a new name":         {[]string{"set s abc", "rename s t", "append t d"}, []int64{3, 3, 4}},
		"several":            {[]string{"mset a x b yz", "append b w"}, []int64{2, 3}},
		"all gone":           {[]string{"hset h f abc", "flushall", "hset h g a"}, []int64{4, -1, 2}},
		"a sketch":           {[]string{"pfadd p a b"}, []int64{22}},
		"a document": {[]string{`json.set j $ 12345`, `json.set j $.a 678`, `json.set j $.a 6`},
			[]int64{5, 8, 6}},
	} {
		var commands [][]string
		for _, text := range c.commands {
			commands = append(commands, strings.Fields(text))
		}
		s := must.Get(tracetest.OpenText(t, monitored(commands), "redis:size=value"))(t)
		last := make([]int64, len(commands))
		for _, rec := range must.Get(tracetest.Drain(s))(t) {
			at := rec.Time/second - 1
			if last[at] = rec.Size; rec.SizeUnknown {
				last[at] = -1
			}
		}
		if fmt.Sprint(last) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, last, c.want)
		}
	}
}

// TestGrowthAsMaps compares random commands with a plain model: maps and lists.
func TestGrowthAsMaps(t *testing.T) {
	tb, words := t, rapid.StringMatching("[a-c]{1,4}")
	rapid.Check(t, func(t *rapid.T) {
		var commands [][]string
		hash, set, list := map[string]string{}, map[string]bool{}, int64(0)
		var want []int64
		for range rapid.IntRange(1, 30).Draw(t, "commands") {
			a, b := words.Draw(t, "a"), words.Draw(t, "b")
			size := int64(0)
			switch kind := rapid.SampledFrom([]string{"hset", "hdel", "sadd", "srem", "rpush"}).Draw(t, "kind"); kind {
			case "hset", "hdel":
				if hash[a] = b; kind == "hdel" {
					delete(hash, a)
				}
				for field, value := range hash {
					size += int64(len(field) + len(value))
				}
				commands = append(commands, map[string][]string{"hset": {kind, "h", a, b}, "hdel": {kind, "h", a}}[kind])
			case "sadd", "srem":
				if set[a] = true; kind == "srem" {
					delete(set, a)
				}
				for member := range set {
					size += int64(len(member))
				}
				commands = append(commands, []string{kind, "s", a})
			default:
				list += int64(len(a) + len(b))
				size = list
				commands = append(commands, []string{kind, "l", a, b})
			}
			if size == 0 {
				size = -1 // the key is gone
			}
			want = append(want, size)
		}
		var got []int64
		records, err := tracetest.ReadText(tb, monitored(commands), "redis:size=value")
		for _, rec := range records {
			if got = append(got, rec.Size); rec.SizeUnknown {
				got[len(got)-1] = -1
			}
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %v, %v, want %v", commands, got, err, want)
		}
	})
}

// TestMemoryOfRedis compares key, value and overhead with what a real server uses for strings without times to live.
// The overhead is an average: each size is within a fifth, unless it is small.
func TestMemoryOfRedis(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no")
	must.Do(t, server.Start())
	defer func() { server.Process.Kill(); server.Wait() }()
	var conn net.Conn
	for range 200 {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	must.Do(t, err)
	defer conn.Close()
	buffer := make([]byte, 1<<16)
	ask := func(text string) string {
		must.Get(conn.Write([]byte(text + "\r\n")))(t)
		n := must.Get(conn.Read(buffer))(t)
		return string(buffer[:n])
	}
	used := func() (n float64) {
		_, after, _ := strings.Cut(ask("INFO memory"), "used_memory:")
		fmt.Sscan(after, &n)
		return n
	}
	const keys = 1 << 14
	total, estimated := 0.0, 0.0
	for _, size := range []struct{ key, value int }{{10, 12}, {20, 40}, {39, 12}, {39, 100}, {20, 475}, {20, 2000}} {
		ask("FLUSHALL")
		before := used()
		var batch strings.Builder
		for i := range keys {
			fmt.Fprintf(&batch, "SET %0*d %s\r\n", size.key, i, strings.Repeat("x", size.value))
		}
		go conn.Write([]byte(batch.String()))
		for left := keys * len("+OK\r\n"); left > 0; {
			left -= must.Get(conn.Read(buffer))(t)
		}
		each := (used() - before) / keys
		want := float64(size.key + size.value + kvlogs.RedisOverhead)
		t.Logf("key of %d, value of %d bytes: %.1f bytes, of which %.1f overhead", size.key, size.value, each,
			each-float64(size.key+size.value))
		if each < 0.8*want || each > 1.2*want {
			t.Errorf("key of %d, value of %d bytes: %.1f bytes, estimated %.0f", size.key, size.value, each, want)
		}
		total, estimated = total+each, estimated+want
	}
	if estimated < 0.93*total || estimated > 1.07*total {
		t.Errorf("together %.0f bytes, estimated %.0f", total, estimated)
	}
}

// TestMemoryOptions: what counts as the size of an object.
func TestMemoryOptions(t *testing.T) {
	for format, want := range map[string]int64{"redis": 2 + 3 + 76, "redis:size=key+value": 5, "redis:size=value": 3} {
		loaded := tracetest.MustLoadText(t, "1.0 [0 x] \"set\" \"ab\" \"xyz\"\n", read.Options{
			Selection: read.Selection{Format: format}, Needs: traces.Needs{Sizes: true}})
		if got := loaded.Size(0); got != want {
			t.Errorf("%s: %d, want %d", format, got, want)
		}
	}
}
