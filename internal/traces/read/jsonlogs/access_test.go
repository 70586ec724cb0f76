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

// TestAccessLogs reads lines that follow the servers' documentation, without a flag.
func TestAccessLogs(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"caddy": {`{"level":"info","ts":1646861400,"logger":"admin","msg":"admin endpoint started"}
{"level":"info","ts":1646861401.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1",` +
			`"remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost:443",` +
			`"uri":"/a?b=1","headers":{"Accept":["*/*"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"",` +
			`"duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"],` +
			`"X-Cache":["HIT"]}}
{"level":"info","ts":1646861402,"request":{"method":"POST","host":"localhost","uri":"/a"},"size":9,"status":201}
{"level":"info","ts":1646861403,"request":{"method":"GET","host":"localhost","uri":"/c"},"size":9,"status":500}`,
			"caddy", "localhost/a?b=1 10900 read 1.6468614015e+09 1\nlocalhost/a 0 write 1.646861402e+09 0\n"},
		"caddy with dates": {`{"ts":"2022-03-09T21:30:01.5Z","request":{"method":"GET","host":"h","uri":"/"},"size":1,` +
			`"status":200}`, "caddy", "h/ 1 read 1.6468614015e+09 0\n"},
		"cloudflare, RFC 3339": {`{"ClientRequestHost":"Example.com","ClientRequestMethod":"GET","ClientRequestURI":"/a",` +
			`"EdgeEndTimestamp":"2022-03-09T21:30:02Z","EdgeResponseBytes":7,"EdgeResponseStatus":200,` +
			`"EdgeStartTimestamp":"2022-03-09T21:30:01Z","RayID":"3a6050bcbe121a87","CacheCacheStatus":"miss"}`,
			"cloudflare", "example.com/a 7 read 1.646861401e+09 2\n"},
		"cloudflare, Unix": {`{"ClientRequestHost":"example.com","ClientRequestURI":"/a","EdgeStartTimestamp":1646861401,` +
			`"EdgeResponseBodyBytes":5,"EdgeResponseBytes":7,"CacheCacheStatus":"dynamic"}`,
			"cloudflare", "example.com/a 5 read 1.646861401e+09 0\n"},
		"cloudflare, Unix nano": {`{"ClientRequestHost":"example.com","ClientRequestURI":"/a",` +
			`"EdgeStartTimestamp":1646861401500000000,"EdgeResponseBytes":7,"CacheCacheStatus":"hit"}`,
			"cloudflare", "example.com/a 7 read 1.6468614015e+09 1\n"},
		"cloudfront": {`{"date":"2022-03-09","time":"21:30:01","x-edge-location":"FRA56-P1","sc-bytes":"7",` +
			`"c-ip":"10.0.0.1","cs-method":"GET","cs(Host)":"d1.cloudfront.net","cs-uri-stem":"/a","sc-status":"200",` +
			`"cs-uri-query":"b=1","x-edge-result-type":"RefreshHit","x-host-header":"e.com"}
{"date":"2022-03-09","time":"21:30:02","cs-method":"PUT","cs-uri-stem":"/a","sc-status":"204","cs-uri-query":"-",` +
			`"x-edge-result-type":"Miss","x-host-header":"e.com"}`, "cloudfront-json",
			"e.com/a?b=1 7 read 1.646861401e+09 1\ne.com/a 0 write 1.646861402e+09 2\n"},
		"fastly": {`{"timestamp":"2022-03-09T21:30:01+0000","client_ip":"10.0.0.1","geo_country":"germany","host":"e.com",` +
			`"url":"\/a?x=1\u00262","request_method":"GET","request_protocol":"HTTP/2","response_state":"HIT-CLUSTER",` +
			`"response_status":200,"response_body_size":5,"fastly_server":"cache-fra-1","fastly_is_edge":true}`,
			"fastly", "e.com/a?x=1&2 5 read 1.646861401e+09 1\n"},
		"google": {`{"httpRequest":{"requestMethod":"GET","requestUrl":"https://e.com/a","status":200,"responseSize":"5",` +
			`"cacheLookup":true},"timestamp":"2022-03-09T21:30:01.000001Z"}
{"httpRequest":{"requestMethod":"GET","requestUrl":"https://e.com/a","status":200,"responseSize":"5","cacheHit":true,` +
			`"cacheLookup":true},"timestamp":"2022-03-09T21:30:02Z"}
{"httpRequest":{"requestMethod":"GET","requestUrl":"https://e.com/b","status":200},"timestamp":"2022-03-09T21:30:02Z"}
{"textPayload":"started","timestamp":"2022-03-09T21:30:02Z"}`, "google-cdn",
			"e.com/a 5 read 1.646861401000001e+09 2\ne.com/a 5 read 1.646861402e+09 1\ne.com/b 0 read 1.646861402e+09 0\n"},
		"azure": {`{"time":"2022-03-09T21:30:01.0000000Z","category":"FrontDoorAccessLog","properties":{"httpMethod":"GET",` +
			`"requestUri":"https://e.com:443/a?b","responseBytes":"5","httpStatusCode":"206","cacheStatus":"REMOTE_HIT"}}
{"time":"2022-03-09T21:30:02Z","category":"AzureCdnAccessLog","properties":{"httpMethod":"GET",` +
			`"requestUri":"http://e.com:80/a","responseBytes":"5","httpStatusCode":"200","cacheStatus":"CONFIG_NOCACHE"}}`,
			"azure-cdn", "e.com/a?b 5 read 1.646861401e+09 1\ne.com/a 5 read 1.646861402e+09 0\n"},
		"traefik": {`{"ClientHost":"10.0.0.1","DownstreamContentSize":5,"DownstreamStatus":200,"OriginStatus":200,` +
			`"RequestAddr":"e.com:8080","RequestHost":"e.com","RequestMethod":"GET","RequestPath":"/a","RequestPort":"-",` +
			`"StartUTC":"2022-03-09T21:30:01.000000000Z","level":"info","msg":"","time":"2022-03-09T21:30:01Z"}`,
			"traefik-json", "e.com/a 5 read 1.646861401e+09 0\n"},
		"envoy": {`{"authority":"e.com","bytes_received":0,"bytes_sent":5,"duration":1,"method":"GET","path":"/a",` +
			`"protocol":"HTTP/1.1","response_code":200,"response_flags":"-","start_time":"2022-03-09T21:30:01.000Z",` +
			`"upstream_host":"10.0.0.1:80"}
{"authority":null,"bytes_sent":0,"method":null,"path":null,"response_code":0,"start_time":"2022-03-09T21:30:02.000Z"}`,
			"envoy-json", "e.com/a 5 read 1.646861401e+09 0\n"},
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
		{line, "caddy:methods=get,query=no", "want one of keep, drop, sort"},
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

func FuzzAccessLogs(f *testing.F) {
	tracetest.FuzzAll(f, []string{"access-json", "jsonl"}, tracetest.ExampleOf(f, "access-json")+"\n")
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
