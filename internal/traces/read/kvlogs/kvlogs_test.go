package kvlogs_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const (
	second = int64(1e9)
	milli  = int64(1e6)
)

func get(key string, at int64) stream.Record {
	return stream.Record{Text: []byte(key), Op: stream.OpRead, Time: at}
}

// operand is a read for what the next row writes.
func operand(key string, at int64, condition stream.Op) stream.Record {
	rec := get(key, at)
	rec.Op |= stream.WithNext | condition
	return rec
}

// routed is a line that mcrouter's LoggingRoute writes.
func routed(at, key, response string) string {
	return at + "  4711 LoggingRoute.h:63] request key: " + key + " response: " + response + " user ip: ::1\n"
}

func TestFormats(t *testing.T) {
	const at = 7 * second
	monitor := func(command string) string { return "OK\n7.000000 [0 127.0.0.1:60866] " + command + "\n" }
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"redis, a read": {monitor(`"GET" "user:7"`), "", []stream.Record{get("user:7", at)}},
		"redis, many keys": {monitor(`"mget" "a" "7" "b"`), "", []stream.Record{
			get("a", at), {Num: 7, Op: stream.OpRead, Time: at}, get("b", at)}},
		"redis, values that are set": {monitor(`"mset" "a" "x\x00y" "b" "\"\\\n"`), "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpWrite, Time: at, Size: 3},
			{Text: []byte("b"), Op: stream.OpWrite, Time: at, Size: 3}}},
		"redis, times to live": {monitor(`"set" "a" "xy" "NX" "EX" "60"`) +
			"7.5 [0 lua] \"setex\" \"a\" \"9\" \"xyz\"\n7.5 [0 lua] \"psetex\" \"a\" \"9\" \"x\"\n" +
			"7.5 [0 lua] \"pexpire\" \"a\" \"1500\"\n7.5 [0 lua] \"set\" \"a\" \"\" \"exat\" \"17\"\n" +
			"7.5 [0 lua] \"getex\" \"a\" \"pxat\" \"8000\"\n7.5 [0 lua] \"expireat\" \"a\" \"7\"\n", "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpWrite | stream.IfAbsent, Time: at, Size: 2, TTL: 60 * second},
			{Text: []byte("a"), Op: stream.OpWrite, Time: at + 500*milli, Size: 3, TTL: 9 * second},
			{Text: []byte("a"), Op: stream.OpWrite, Time: at + 500*milli, Size: 1, TTL: 9 * milli},
			{Text: []byte("a"), Op: stream.OpExpire, Time: at + 500*milli, TTL: 1500 * milli},
			{Text: []byte("a"), Op: stream.OpWrite, Time: at + 500*milli, TTL: 9500 * milli},
			{Text: []byte("a"), Op: stream.OpRead, Time: at + 500*milli, TTL: 500 * milli},
			{Text: []byte("a"), Op: stream.OpDelete, Time: at + 500*milli}}},
		"redis, deletes": {monitor(`"del" "a" "b"`) + "8 [0 unix:/tmp/redis.sock] \"getdel\" \"a\"\n", "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpDelete, Time: at}, {Text: []byte("b"), Op: stream.OpDelete, Time: at},
			get("a", 8*second), {Text: []byte("a"), Op: stream.OpDelete, Time: 8 * second}}},
		"redis, commands with numbers of keys": {monitor(`"zunionstore" "to" "2" "a" "b" "WEIGHTS" "1" "2"`) +
			"7 [0 x] \"xread\" \"COUNT\" \"2\" \"STREAMS\" \"s\" \"t\" \"0-0\" \"0-0\"\n7 [0 x] \"copy\" \"s\" \"t\"\n", "",
			[]stream.Record{operand("a", at, 0), operand("b", at, 0), {Text: []byte("to"), Op: stream.OpWrite, Time: at},
				get("s", at), get("t", at), operand("s", at, stream.IfPresent),
				{Text: []byte("t"), Op: stream.OpTake | stream.IfAbsent, Time: at}}},
		"redis, another database, and a client of IPv6": {"7 [3 [::1]:52342] \"get\" \"a\"\n", "",
			[]stream.Record{get("3/a", at)}},
		"redis, escapes": {monitor(`"get" "\xc3\xa4\"\x01\\"`), "", []stream.Record{get("ä\"\\x01\\\\", at)}},
		"redis, no keys": {monitor(`"ping"`) + "7 [0 x] \"ttl\" \"a\"\n7 [0 x] \"evalsha\" \"ab\" \"1\" \"a\"\n" +
			"7 [0 lua] \"get\" \"a\"\n", "", []stream.Record{get("a", at)}},
		"redis, reads only": {monitor(`"zunionstore" "to" "1" "a"`) + "7 [0 x] \"del\" \"a\"\n", "redis:ops=reads",
			[]stream.Record{get("a", at)}},

		"memcached": {"OK\nts=7.5 gid=1 type=item_get key=a%3A1 status=not_found clsid=0\n[skipped: 12]\n" +
			"ts=7.6 gid=2 type=item_get key=a%3A1 status=found clsid=1 cfd=9 size=120\n" +
			"ts=7.7 gid=3 type=eviction key=b fetch=no ttl=-1 la=0 clsid=1 size=3\n" +
			"ts=7.8 gid=4 type=deleted key=a%3A1 cmd=delete clsid=1 cfd=9 size=120\n", "", []stream.Record{
			{Text: []byte("a:1"), Op: stream.OpRead, Time: 7*second + 5000, Served: stream.ServedMiss},
			{Text: []byte("a:1"), Op: stream.OpRead, Time: 7*second + 6000, Served: stream.ServedHit, Size: 120},
			{Text: []byte("a:1"), Op: stream.OpDelete, Time: 7*second + 8000, Size: 120}}},
		"memcached, a get that is part of a store": {"ts=1.0 gid=1 type=item_get key=a status=not_found clsid=0 cfd=9\n" +
			"ts=2.0 gid=2 type=item_get key=a status=not_found clsid=0 cfd=9\n" +
			"ts=2.1 gid=3 type=item_store key=a status=stored cmd=set ttl=60 clsid=1 cfd=9 size=5\n" +
			"ts=3.0 gid=4 type=item_get key=a status=expired clsid=0 cfd=8\n" +
			"ts=3.1 gid=5 type=item_store key=a status=stored cmd=set ttl=0 clsid=1 cfd=9 size=6\n", "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedMiss},
			{Text: []byte("a"), Op: stream.OpWrite, Time: 2*second + 1000, Size: 5, TTL: 60 * second},
			{Text: []byte("a"), Op: stream.OpRead, Time: 3 * second, Served: stream.ServedMiss},
			{Text: []byte("a"), Op: stream.OpWrite, Time: 3*second + 1000, Size: 6}}},
		"memcached, a store that fails has no get either": {"" +
			"ts=1.0 gid=1 type=item_get key=a status=found clsid=1 cfd=9 size=5\n" +
			"ts=1.0 gid=2 type=item_store key=a status=not_stored cmd=add ttl=0 clsid=1 cfd=9 size=5\n" +
			"ts=2.0 gid=3 type=item_get key=b status=found clsid=1 cfd=9 size=7\n", "", []stream.Record{
			{Text: []byte("b"), Op: stream.OpRead, Time: 2 * second, Size: 7, Served: stream.ServedHit}}},
		"memcached, stores that fail": {"" +
			"ts=1.0 gid=1 type=item_store key=a status=exists cmd=cas ttl=0 clsid=1 cfd=9 size=5\n" +
			"ts=1.0 gid=2 type=item_store key=a status=too_large cmd=set ttl=0 clsid=1 cfd=9 size=5\n", "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpDelete, Time: second, Size: 5}}},
		"memcached, what 1.6.18 writes of values that are too large, and of times that are over": {"" +
			"ts=1.0 gid=1 type=item_get key=a status=not_found clsid=0 cfd=25 size=0\n" +
			"ts=1.1 gid=2 type=item_store key=a status=too_large cmd=set ttl=0 clsid=25 cfd=1061268128 size=0\n" +
			"ts=1.1 gid=3 type=item_get key=a status=not_found clsid=0 cfd=25 size=0\n" +
			"ts=1.2 gid=4 type=item_store key=a status=too_large cmd=add ttl=0 clsid=25 cfd=1061268128 size=0\n" +
			"ts=1.3 gid=5 type=item_get key=a status=found clsid=1 cfd=25 size=1\n" +
			"ts=1.4 gid=6 type=item_get key=n status=not_found clsid=0 cfd=25 size=0\n" +
			"ts=1.4 gid=7 type=item_store key=n status=stored cmd=set ttl=4294967235 clsid=1 cfd=25 size=1\n", "",
			[]stream.Record{
				{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedMiss},
				{Text: []byte("a"), Op: stream.OpDelete, Time: second + 1000},
				{Text: []byte("a"), Op: stream.OpRead, Time: second + 3000, Size: 1, Served: stream.ServedHit},
				{Text: []byte("n"), Op: stream.OpWrite, Time: second + 4000, Size: 1, TTL: 1}}},
		"memcached, what 1.6.38 writes of a delete": {"" +
			"ts=1.0 gid=5 type=item_get key=a status=found clsid=1 cfd=29 size=1\n" +
			"ts=1.0 gid=6 type=item_get key=a status=found clsid=1 cfd=29 size=1\n" +
			"ts=1.0 gid=7 type=deleted key=a cmd=delete clsid=1 size=1\n" +
			"ts=1.0 gid=8 type=item_get key=a status=not_found clsid=0 cfd=29 size=0\n", "", []stream.Record{
			{Text: []byte("a"), Op: stream.OpRead, Time: second, Size: 1, Served: stream.ServedHit},
			{Text: []byte("a"), Op: stream.OpDelete, Time: second, Size: 1},
			{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedMiss}}},
		"memcached, its proxy": {"" +
			"ts=1.0 gid=1 type=proxy_req elapsed=9 type=105 code=17 status=0 be=h:1 detail=x req=get a\n" +
			"ts=1.0 gid=2 type=proxy_req elapsed=9 type=100 code=15 status=0 be=h:1 detail= req=get a\n" +
			"ts=1.0 gid=3 type=proxy_req elapsed=9 type=101 code=13 status=0 be=h:1 detail=x req=mg a v\n" +
			"ts=1.0 gid=4 type=proxy_req elapsed=9 type=104 code=8 status=0 be=h:1 detail=x req=set a 0 60 5\n" +
			"ts=1.0 gid=5 type=proxy_req elapsed=9 type=104 code=8 status=0 be=h:1 detail=x req=set a 0 2592010 5\n" +
			"ts=1.0 gid=6 type=proxy_req elapsed=9 type=104 code=8 status=0 be=h:1 detail=x req=delete a\n" +
			"ts=1.0 gid=7 type=proxy_req elapsed=9 type=104 code=8 status=0 be=h:1 detail=x req=mn\n" +
			"ts=1.0 gid=8 type=proxy_req elapsed=9 type=101 code=15 status=0 be=h:1 detail=x req=ms a 5 c T60\n", "",
			[]stream.Record{
				{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedMiss},
				{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedHit},
				{Text: []byte("a"), Op: stream.OpRead, Time: second, Served: stream.ServedMiss},
				{Text: []byte("a"), Op: stream.OpWrite, Time: second, Size: 5, TTL: 60 * second},
				{Text: []byte("a"), Op: stream.OpWrite, Time: second, Size: 5, TTL: 2592009 * second},
				{Text: []byte("a"), Op: stream.OpDelete, Time: second},
				{Text: []byte("a"), Op: stream.OpWrite, Time: second, Size: 5, TTL: 60 * second}}},
		"memcached, reads only": {"ts=1.0 gid=1 type=item_get key=b status=found clsid=0 cfd=9 size=1\n" +
			"ts=1.0 gid=1 type=item_store key=a status=stored cmd=set ttl=60 clsid=1 cfd=9 size=5\n", "memcached:ops=reads",
			[]stream.Record{{Text: []byte("b"), Op: stream.OpRead, Time: second, Served: stream.ServedHit, Size: 1}}},

		"mcrouter": {"I0102 00:00:01.500000  4711 main.cpp:7] mcrouter startup\n" +
			routed("I0102 00:00:01.500000", "a", "mc_res_found responseLength: 120") +
			routed("I0102 00:00:02.000001", "a", "mc_res_notfound responseLength: 0") +
			routed("I19700102 00:00:03.000000", "a", "mc_res_stored responseLength: 0") +
			routed("I0102 00:00:04.000000", "7", "mc_res_deleted responseLength: 0") +
			routed("I0102 00:00:05.000000", "a", "mc_res_tko responseLength: 0"),
			"", []stream.Record{
				{Text: []byte("a"), Op: stream.OpRead, Time: 86401500 * milli, Size: 120, Served: stream.ServedHit},
				{Text: []byte("a"), Op: stream.OpRead, Time: 86402000*milli + 1000, Served: stream.ServedMiss},
				{Text: []byte("a"), Op: stream.OpWrite, Time: 86403000 * milli},
				{Num: 7, Op: stream.OpDelete, Time: 86404000 * milli}}},

		"twitter": {"0,q:u:1,5,100,2,get,0\n1,q:u:2,5,0,2,gets,0\n2,q:u:2,5,9,3,set,3600\n3,4,1,0,3,delete,0\n", "",
			[]stream.Record{
				{Text: []byte("q:u:1"), Size: 100, Op: stream.OpRead, Served: stream.ServedHit},
				{Text: []byte("q:u:2"), Time: second, Op: stream.OpRead, Served: stream.ServedMiss},
				{Text: []byte("q:u:2"), Time: 2 * second, Size: 9, Op: stream.OpWrite, TTL: 3600 * second},
				{Num: 4, Time: 3 * second, Op: stream.OpDelete}}},
		"twitter, the value alone": {"0,q,5,100,2,get,0\n1,q,1,9,2,incr,0\n", "twitter:size=value,ops=reads",
			[]stream.Record{{Text: []byte("q"), Size: 100, Op: stream.OpRead, Served: stream.ServedHit}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			for i := range got { // sizes have tests of their own
				got[i].SizeUnknown, got[i].KeySize, got[i].Type = false, 0, stream.ValueUnknown
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestFormatsRefuse(t *testing.T) {
	monitor := func(line string) string {
		return "7 [0 x] \"get\" \"a\"\n7 [0 x] \"get\" \"a\"\n" + line + "\n"
	}
	for name, c := range map[string]struct{ content, format, want string }{
		"redis, no brackets": {monitor("7 get a"), "", `line 3: "7 get a": want TIME [DATABASE CLIENT] "COMMAND"`},
		"redis, a time":      {monitor(`x [0 y] "get" "a"`), "", `line 3: time "x"`},
		"redis, a database":  {monitor(`7 [x y] "get" "a"`), "", `line 3: "x y": want the number of a database and a client`},
		"redis, no argument": {monitor(`7 [0 x] "get"`), "", "line 3: get: 0 words after the command: want at least 1"},
		"redis, open quote": {monitor(`7 [0 x] "get" "a`), "",
			"line 3: word 2 of the command: a quote is opened but not closed"},
		"redis, no quote":  {monitor(`7 [0 x] "get" a`), "", `line 3: word 2 of the command: want one in quotes, got "a"`},
		"redis, empty key": {monitor(`7 [0 x] "get" ""`), "", "line 3: get: the key is empty"},
		"redis, TTL":       {monitor(`7 [0 x] "expire" "a" "x"`), "", `line 3: expire: time to live "x": want a number`},
		"redis, number": {monitor(`7 [0 x] "zunion" "9" "a"`), "",
			`line 3: zunion: "9" keys: want a number from 1 to 1`},
		"redis, streams": {monitor(`7 [0 x] "xread" "a"`), "", "line 3: xread: want the word STREAMS before the keys"},
		"memcached, ts": {"ts=1 gid=1 type=item_get key=a status=found\n", "memcached",
			"line 1: ts=1: want seconds, a point and"},
		"memcached, status": {"ts=1.0 gid=1 type=item_get key=a status=lost\n", "",
			"line 1: status=lost: want found, not_found"},
		"memcached, no key": {"ts=1.0 gid=1 type=item_get status=found\n", "",
			"line 1: no key= in an event of type item_get"},
		"memcached, a get before": {"ts=1.0 gid=1 type=item_get key=a status=found\n" +
			"ts=1.0 gid=1 type=item_get key=a size=x\n",
			"", `line 2: size "x"`},
		"memcached, words": {"ts=1.0 gid=1 typ=item_get key=a\n", "memcached",
			`line 1: "typ=item_get": want ts=, gid= and type=`},
		"memcached, cut": {"ts=1.0 gid=1\n", "memcached", "line 1: the line ends before type="},
		"memcached, req": {"ts=1.0 gid=1 type=proxy_req elapsed=1 type=100 code=15 detail= req=get\n", "",
			"line 1: req=get: want a key behind the command"},

		"mcrouter, another line": {routed("I0102 00:00:01.500000", "a", "mc_res_found responseLength: 1") +
			"hello\n", "mcrouter", `line 2: "hello": want a line of glog`},
		"mcrouter, time": {routed("I0102 00:00:61.500000", "a", "mc_res_found responseLength: 1"),
			"mcrouter", `line 1: time "I0102 00:00:61.500000  4711 Lo": want one of glog`},
		"mcrouter, cut": {"I0102 00:00:01.500000 1 L.h:6] request key: a response: mc_res_found\n", "mcrouter",
			"line 1: want request key: KEY response: RESULT"},
		"mcrouter, length": {routed("I0102 00:00:01.500000", "a", "mc_res_found responseLength: x"),
			"mcrouter", `line 1: size "x"`},
		"twitter, op": {"0,q,5,1,2,look,0\n", "twitter",
			`line 1: column 6, operation: operation "look": want get, gets, set`},
		"twitter, columns": {"0,q,5,1,2,get,0\n0,q,5\n", "twitter", "line 2: 3 columns: want 7, as time, key, key size"},
		"twitter, more":    {"0,q,5,1,2,get,0,1,2\n", "twitter", "line 1: 9 columns: want 7, as time"},
		"twitter, size": {"0,q,5,1,2,get,0\n0,q,5,-1,2,get,0\n1,q,5,1,2,get,0\n", "",
			`line 2: column 4, value size: size "-1"`},
		"twitter, empty key": {"0,,5,1,2,get,0\n", "twitter", "line 1: column 2, key: the key is empty"},
		"twitter, binary":    {"0,a\x01,5,1,2,get,0\n", "twitter", `line 1: control characters in the key "a\x01"`},
		"twitter, TTL":       {"0,a,5,1,2,get,x\n", "twitter", `line 1: column 7, TTL: time to live "x": want a number`},
		"twitter, which tenant": {"0,a,5,1,2,get,0\n", "twitter:tenant=clint",
			`unknown column "clint"; did you mean "client"?`},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

func optionsOf(format string) (o read.Options) {
	o.Format = format
	return o
}

// TestUnknownTenants: what --tenant names is checked when a file is opened.
func TestUnknownTenants(t *testing.T) {
	for content, want := range map[string]string{
		"7 [0 x] \"get\" \"a\"\n": `unknown column "clients"; did you mean "client"?`,
		"0,q,5,100,27,get,0\n":    `unknown column "clients"; did you mean "client"?`,
	} {
		options := read.Options{}
		options.Tenants = "column(name=clients)"
		_, err := tracetest.LoadText(t, content, options)
		must.Fail(t, err, want)
	}
}

// TestDamagedLinesAreLeftOut: a damaged line behind a get that waits for the next line loses nothing else.
func TestDamagedLinesAreLeftOut(t *testing.T) {
	const get = "ts=1.0 gid=1 type=item_get key=a status=found\n"
	loaded := tracetest.MustLoadText(t, get+"ts=1.0 gid=1 type=item_get key=a size=x\n"+get,
		read.Options{BadLines: 0.5})
	if len(loaded.Objects) != 2 || loaded.BadLines() != 1 {
		t.Errorf("%d requests and %d damaged lines, want 2 and 1", len(loaded.Objects), loaded.BadLines())
	}
}

func TestTenants(t *testing.T) {
	for _, c := range []struct{ content, format, want string }{
		{"7 [3 10.0.0.1:60866] \"get\" \"a\"\n", "redis:tenant=client", "10.0.0.1"},
		{"7 [3 lua] \"get\" \"a\"\n", "redis:tenant=client", "lua"},
		{"7 [3 10.0.0.1:60866] \"get\" \"a\"\n", "redis:tenant=db", "3"},
		{"0,q,5,100,27,get,0\n", "twitter:tenant=client", "27"},
		{routed("I0102 00:00:01.500000", "a", "mc_res_found responseLength: 1"),
			"mcrouter:tenant=ip", "::1"},
	} {
		records, err := tracetest.ReadText(t, c.content, c.format)
		if err != nil || len(records) != 1 || string(records[0].Tenant) != c.want {
			t.Errorf("%s: %+v, %v, want tenant %q", c.format, records, err, c.want)
		}
	}
}

// benchmark reads 300,000 lines per iteration.
func benchmark(b *testing.B, format string, line func(i int) string) {
	const lines = 300_000
	var content bytes.Buffer
	for i := range lines {
		content.WriteString(line(i))
	}
	tracetest.BenchmarkRead(b, content.Bytes(), format, lines)
}

func BenchmarkTwitter(b *testing.B) {
	benchmark(b, "twitter", func(i int) string {
		return fmt.Sprintf("%d,q:q:1:8WTfjZU14ee%04x,17,%d,%d,get,0\n", i/100, i%1000, i%5000, i%90)
	})
}

func BenchmarkRedis(b *testing.B) {
	benchmark(b, "redis", func(i int) string {
		return fmt.Sprintf("13395180%02d.107412 [0 127.0.0.1:60866] \"get\" \"user:profile:%d\"\n", i%100, i%1000)
	})
}

func BenchmarkMemcached(b *testing.B) {
	benchmark(b, "memcached", func(i int) string {
		return fmt.Sprintf("ts=13395180%02d.%d gid=%d type=item_get key=user:profile:%d status=found clsid=3 "+
			"cfd=%d size=%d\n",
			i%100, i%1000000, i, i%1000, i%7, i%900)
	})
}
