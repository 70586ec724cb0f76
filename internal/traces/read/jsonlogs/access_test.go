package jsonlogs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// describe writes records as "KEY SIZE OP SECONDS SERVED", one on a line.
func describe(records []stream.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintln(&b, stream.Key{Num: r.Num, Text: string(r.Text)}, r.Size, r.Op, float64(r.Time)/1e9, int(r.Served))
	}
	return b.String()
}

// TestAccessLogs reads logs with the usual names, without a flag. Those of servers are examples in the files of
// formats.
func TestAccessLogs(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"nginx": {`{"time_local":"09/Mar/2022:21:30:01 +0000","remote_addr":"10.0.0.1","request":"GET /a?b HTTP/1.1",` +
			`"status":"200","body_bytes_sent":"5","upstream_cache_status":"EXPIRED","server_name":"e.com"}
{"time_local":"09/Mar/2022:21:30:02 +0000","remote_addr":"10.0.0.1","request":"","status":"400","body_bytes_sent":"0",` +
			`"upstream_cache_status":"","server_name":"e.com"}
{"time_local":"09/Mar/2022:21:30:02 +0000","remote_addr":"10.0.0.1","request":"HEAD /a?b HTTP/1.1","status":"200",` +
			`"body_bytes_sent":"0","upstream_cache_status":"","server_name":"e.com"}`,
			"access-json", "e.com/a?b 5 read 1.646861401e+09 2\ne.com/a?b 5 read 1.646861402e+09 0\n"},
		"nginx, path and query": {`{"msec":"1646861401.5","uri":"/a","args":"b=1","request_method":"GET","status":200,` +
			`"bytes_sent":5}`, "access-json", "/a?b=1 5 read 1.6468614015e+09 0\n"},
		"nginx within an object": {`{"@timestamp":"2022-03-09T21:30:01Z","nginx":{"request_uri":"/a","status":"200",` +
			`"request_method":"GET","body_bytes_sent":"5"}}`, "access-json", "/a 5 read 1.646861401e+09 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(tracetest.ReadText(t, c.content+"\n", ""))(t)
			if describe(got) != c.want {
				t.Errorf("got\n%swant\n%s", describe(got), c.want)
			}
			trace := tracetest.MustLoadText(t, c.content+"\n", read.Options{})
			if r := trace.Readings[0]; r.Format != c.format || r.Spec != c.format {
				t.Errorf("recognised as %s, written as %s, want %s", r.Format, r.Spec, c.format)
			}
		})
	}
}

func TestAccessLogsRefuse(t *testing.T) {
	const line = `{"ts":1646861401,"request":{"method":"GET","host":"h","uri":"/"},"size":1,"status":200}` + "\n"
	for _, c := range []struct{ content, format, want string }{
		{line + strings.Replace(line, "200", `"OK"`, 1), "", `line 2: .status: status "OK": want a number of three digits`},
		{line + strings.Replace(line, `"size":1`, `"size":-1`, 1), "", `line 2: .size: size "-1"`},
		{line + strings.Replace(line, `"ts":1646861401,`, "", 1), "", `line 2: .ts: time ""`},
		{`{"date":"2022-03-09","cs-uri-stem":"/a","sc-status":"200","time":"21:30"}`, "", `.date: time "2022-03-09T21:30"`},
		{line + line[:40], "", "line 2: column 41: want the double quote"},
		{`{"url":"/a"}`, "caddy", "its first lines have no URL"},
		{line, "caddy:methods=get,query=no", "want keep, drop, sort"},
	} {
		_, err := tracetest.ReadText(t, c.content, c.format)
		must.Fail(t, err, c.want, c.content)
	}
}

// TestCacheControlIsATimeToLive: the header of the response says how long the object stays fresh.
func TestCacheControlIsATimeToLive(t *testing.T) {
	const content = `{"ts":1646861401,"request":{"method":"GET","host":"h","uri":"/"},"size":1,"status":200,` +
		`"resp_headers":{"Cache-Control":["public, max-age=60"]}}` + "\n"
	got := must.Get(tracetest.ReadText(t, content, ""))(t)
	if len(got) != 1 || got[0].TTL != 60*second {
		t.Errorf("got %+v, want a time to live of a minute", got)
	}
}

// TestAccessLogsAreStated checks the note of one log.
func TestAccessLogsAreStated(t *testing.T) {
	content := `{"httpRequest":{"requestMethod":"GET","requestUrl":"https://e.com/a","status":200,"responseSize":"5"},` +
		`"timestamp":"2022-03-09T21:30:01Z"}` + "\n" + `{"textPayload":"started"}` + "\n"
	trace := tracetest.MustLoadText(t, content, read.Options{})
	const want = "google-cdn; GET+HEAD with 200+206+301+304+404, key host and path with query, " +
		"time .timestamp as dates, size .httpRequest.responseSize with headers, op, served .httpRequest.cacheHit"
	if r := trace.Readings[0]; r.Text() != want || r.LeftOut != 1 {
		t.Errorf("got  %s, %d rows left out\nwant %s, 1 row", r.Text(), r.LeftOut, want)
	}
}

// TestSimilarLinesAreNoAccessLogs: lines with some of the names stay with jsonl.
func TestSimilarLinesAreNoAccessLogs(t *testing.T) {
	for _, content := range []string{
		`{"url":"/a","size":5}`, `{"url":"/a","status":"ok"}`, `{"path":"/a","time":1}`, `{"key":"a","status":200,"size":1}`,
	} {
		trace := tracetest.MustLoadText(t, content+"\n", read.Options{})
		if got := trace.Readings[0].Format; got != "jsonl" {
			t.Errorf("%s is read as %s, want jsonl", content, got)
		}
	}
}

func BenchmarkCaddy(b *testing.B) { benchmark(b, caddyLines(100_000), "caddy") }

func BenchmarkNginxJSON(b *testing.B) {
	var content bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&content, `{"time_iso8601":"2026-03-01T12:00:00+00:00","remote_addr":"10.0.0.1","host":"example.com",`+
			`"request_method":"GET","request_uri":"/img/%x.png","status":"200","body_bytes_sent":"%d",`+
			`"upstream_cache_status":"HIT"}`+"\n", i%5000, i)
	}
	benchmark(b, content.Bytes(), "")
}
