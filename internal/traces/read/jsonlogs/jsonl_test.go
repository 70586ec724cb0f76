package jsonlogs_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const second = int64(1e9)

func TestJSONLines(t *testing.T) {
	const nested = `{"a":{"h":"x.org","p":["/1",{"q":7}]},"at":1600000000123,"n":"10","m":"PUT"}` + "\n" +
		`{"a":{"h":"x.org","p":["\/2",{"q":8.0}]},"at":1600000001123,"n":2e1,"m":"get"}` + "\n"
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"known names": {`{"Time":1.5,"key":"a","size":10,"op":"get","ttl":60,"cache_status":"HIT"}` + "\n" +
			`{"x":[{}],"key":2,"size":20.0,"Time":2,"op":"SET","ttl":null,"cache_status":null}`, "", []stream.Record{
			{Text: []byte("a"), Time: 15e8, Size: 10, Op: stream.OpRead, TTL: 60 * second, Served: stream.ServedHit},
			{Num: 2, Time: 2e9, Size: 20, Op: stream.OpWrite}}},
		"earlier names first": {`{"id":1,"url":"/a"}` + "\n", "", []stream.Record{{Text: []byte("/a")}}},
		"paths": {nested, "jsonl:key=.a.p[0],time=.at,size=.n,op=.m", []stream.Record{
			{Text: []byte("/1"), Time: 1600000000123e6, Size: 10, Op: stream.OpWrite},
			{Text: []byte("/2"), Time: 1600000001123e6, Size: 20, Op: stream.OpRead}}},
		"without the first dot": {nested, "jsonl:key=a.p[1].q", []stream.Record{{Num: 7}, {Num: 8}}},
		"several parts": {nested, "jsonl:key=.a.h+.a.p[0]+.n", []stream.Record{
			{Text: []byte("x.org/1|10")}, {Text: []byte("x.org/2|2e1")}}},
		"odd names": {`{"a b":{"c.d":"x","e,f+":"y"},"":1}`, `jsonl:key='."a b"."e,f+"+["a b"]["c.d"]+.""'`,
			[]stream.Record{{Text: []byte("y|x|1")}}},
		"numbers": {`{"key":1e3}` + "\n" + `{"key":"1e3"}` + "\n" + `{"key":-7}` + "\n" + `{"key":1.5}` + "\n" +
			`{"key":"007"}` + "\n" + `{"key":18446744073709551615}`, "", []stream.Record{{Num: 1000}, {Text: []byte("1e3")},
			{Text: []byte("-7")}, {Text: []byte("1.5")}, {Text: []byte("007")}, {Num: 1<<64 - 1}}},
		"other lines are left out": {`{"key":"a"}` + "\n" + `{"msg":"started"}` + "\n" + `{"key":null}` + "\n" +
			`{"key":"b"}` + "\n\n", "", []stream.Record{{Text: []byte("a")}, {Text: []byte("b")}}},
		"reads only": {`{"key":"a","op":"get"}` + "\n" + `{"key":"b","op":"put"}`, "jsonl:ops=reads",
			[]stream.Record{{Text: []byte("a"), Op: stream.OpRead}}},
		"methods of HTTP": {`{"key":"a","m":"OPTIONS"}` + "\n" + `{"key":"a","m":"PURGE"}` + "\n" +
			`{"key":"a","m":"PATCH"}`, "jsonl:op=.m", []stream.Record{{Text: []byte("a")},
			{Text: []byte("a"), Op: stream.OpDelete}, {Text: []byte("a"), Op: stream.OpWrite}}},
		"the last of equal names": {`{"key":"a","key":"b"}`, "", []stream.Record{{Text: []byte("b")}}},
		"truth": {`{"key":"a","hit":true}` + "\n" + `{"key":"b","hit":false}`, "", []stream.Record{
			{Text: []byte("a"), Served: stream.ServedHit}, {Text: []byte("b"), Served: stream.ServedMiss}}},
		"escapes": {`{"key":"\u0061\/\u00e9\ud83d\ude00\n"}`, "", []stream.Record{{Text: []byte("a/é\U0001f600\n")}}},
		"dates": {`{"key":1,"date":"10/Oct/2000:13:55:36 -0700"}` + "\n" + `{"key":2,"date":"2000-10-10T20:55:37Z"}`, "",
			[]stream.Record{{Num: 1, Time: 971211336e9}, {Num: 2, Time: 971211337e9}}},
		"tenants": {`{"key":1,"u":{"n":"x"}}`, "jsonl:tenant=.u.n", []stream.Record{{Num: 1, Tenant: []byte("x")}}},
		"without a size": {`{"key":1,"size":5}` + "\n" + `{"key":2}`, "", []stream.Record{{Num: 1, Size: 5},
			{Num: 2, SizeUnknown: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestJSONLinesRefuse(t *testing.T) {
	request := func(i int) string {
		return fmt.Sprintf(`{"t":%d,"req":{"path":"/%d","addr":"10.0.0.%d"},"n":%d,"id":"r%d"}`+"\n", 1600000000+i, i%3,
			i%5, i, i)
	}
	requests := request(0) + request(1) + request(2) + request(3) + request(4) + request(5)
	for name, c := range map[string]struct{ content, format, want string }{
		"fields that repeat are suggested": {strings.ReplaceAll(requests, `"id"`, `"no"`), "",
			`judging by the first lines: --input-format 'jsonl:key=.req.path' (or .req.addr)`},
		"no field":        {`{"a":[],"b":{}}`, "", "want JSON objects, one on a line, with fields that have values"},
		"only odd fields": {`{"a":1.5}`, "", "name it with --input-format jsonl:key=PATH (fields .a)"},
		"a log within JSON": {`{"@timestamp":1,"message":"10.0.0.1 - - [x] \"GET / HTTP/1.1\" 200 5"}`, "",
			".message has lines of another log: jq -r .message FILE | cachesim run -"},
		"JSON within JSON": {`{"kubernetes":{"pod.name":"{\"a\":1}"}}`, "",
			`jq -r '.kubernetes."pod.name"' FILE | cachesim run -`},
		"unknown path": {requests, "jsonl:key=.req.pat", `key: unknown path ".req.pat"; did you mean ".req.path"?`},
		"an object": {requests, "jsonl:key=.req",
			`path ".req" has an object or an array, want a text or a number: .req.path`},
		"wrong path":     {requests, "jsonl:key=.a..b", `key path ".a..b": want names after dots`},
		"wrong brackets": {requests, "jsonl:key=.a[x]", `key path ".a[x]": want`},
		"wrong quotes":   {requests, `jsonl:key=."a`, `key path`},
		"key is truth": {`{"k":"x"}` + "\n" + `{"k":true}`, "jsonl:key=.k",
			"line 2: .k: true or false, want a text or a number"},
		"key is nested": {`{"k":"x"}` + "\n" + `{"k":[1]}`, "jsonl:key=.k", "line 2: .k: an object or an array, want"},
		"empty key":     {`{"k":""}`, "jsonl:key=.k", "line 1: .k: the key is empty"},
		"size":          {`{"key":1,"size":1}` + "\n" + `{"key":1,"size":-1}`, "", `line 2: .size: size "-1"`},
		"time":          {`{"key":1,"time":1}` + "\n" + `{"key":1}`, "", `line 2: .time: time ""`},
		"operation":     {`{"key":1,"op":"fly"}`, "", `line 1: .op: operation "fly"`},
		"time to live":  {`{"key":1,"ttl":"long"}`, "", `line 1: .ttl: time to live "long"`},
		"cut off":       {`{"key":1}` + "\n" + `{"key":2,"x":"ab`, "", "line 2: column 17: want the double quote"},
		"no JSON":       {`{"key":1}` + "\n" + `key=2`, "", "line 2: column 1: want an object in braces"},
		"two on a line": {`{"key":1}` + "\n" + `{"key":1}{"key":2}`, "", "line 2: column 10: want nothing after"},
		"only others": {strings.Repeat(`{"k":null,"m":"x"}`+"\n", 3) + `{"k":1}` + strings.Repeat("\n", 2),
			"jsonl:key=.k,ops=reads", "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if c.want == "EOF" {
				if err != nil || len(got) > 0 {
					t.Errorf("got %v, %v, want nothing", got, err)
				}
				return
			}
			must.Fail(t, err, c.want, name)
		})
	}
}

// TestOtherFormatsKeepTheirFiles: JSON lines of other formats are recognised as before.
func TestOtherFormatsKeepTheirFiles(t *testing.T) {
	for _, format := range []string{"mooncake", "bailian", "agent", "chat", "queries"} {
		trace := tracetest.MustLoadText(t, tracetest.ExampleOf(t, format)+"\n", read.Options{})
		if got := trace.Readings[0].Format; got != format {
			t.Errorf("the example of %s is read as %s", format, got)
		}
	}
}

// TestJSONLinesSayHowTheyAreRead checks the note and the explicit format.
func TestJSONLinesSayHowTheyAreRead(t *testing.T) {
	const content = `{"url":"/a","ts":1600000000000,"odd, size":5,"ttl":1}` + "\n" + `{"event":"stop"}`
	const text = `jsonl; key .url, time .ts in ms, size ."odd, size", ttl .ttl in s`
	const spec = `jsonl:key=.url,time=.ts,size='."odd, size"',ttl=.ttl,time-unit=ms`
	for _, format := range []string{`jsonl:size='."odd, size"'`, spec} {
		trace := tracetest.MustLoadText(t, content, read.Options{Selection: read.Selection{Format: format}})
		if r := trace.Readings[0]; r.Text() != text || r.Spec != spec || r.LeftOutText() != "1 row left out (without .url)" {
			t.Errorf("got %s, %s and %s, want %s and %s", r.Text(), r.Spec, r.LeftOutText(), text, spec)
		}
	}
}

// caddyLines are lines as Caddy writes them, for benchmarks.
func caddyLines(n int) []byte {
	random := rand.New(rand.NewPCG(1, 1))
	var content bytes.Buffer
	for i := range n {
		fmt.Fprintf(&content, `{"level":"info","ts":%d.5241024,"logger":"http.log.access","msg":"handled request","request":`+
			`{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET",`+
			`"host":"example.com","uri":"/img/%x.png?a=1\u0026b=2","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],`+
			`"Accept-Encoding":["gzip, deflate, br"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2",`+
			`"server_name":"example.com"}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":%d,"status":200,`+
			`"resp_headers":{"Server":["Caddy"],"Content-Type":["text/html; charset=utf-8"]}}`+"\n",
			1646861401+i, random.Uint64N(1<<20), random.Uint64N(1<<16))
	}
	return content.Bytes()
}

func benchmark(b *testing.B, content []byte, format string) {
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := read.Open("-", read.Options{Selection: read.Selection{Format: format},
			Stdin: bytes.NewReader(content)})
		must.Do(b, err)
		var rec stream.Record
		n := 0
		for err = s.Read(&rec); err == nil; err = s.Read(&rec) {
			n++
		}
		if n != bytes.Count(content, []byte("\n")) {
			b.Fatalf("%d records, %v", n, err)
		}
	}
}

func BenchmarkJSONL(b *testing.B) {
	benchmark(b, caddyLines(100_000), "jsonl:key=.request.host+.request.uri,time=.ts,size=.size,op=.request.method")
}
