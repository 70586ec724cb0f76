package weblogs_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// logCase is a log with what is read from it: how it was recognised, and each request as "TIME OP KEY SIZE SERVED".
type logCase struct {
	name, format, log, line string
	requests                []string
}

var servedWords = map[stream.Served]string{
	stream.ServedUnknown: "?", stream.ServedHit: "hit", stream.ServedMiss: "miss",
	stream.ServedPass: "pass",
}

func describe(rec stream.Record) string {
	text := fmt.Sprintf("%s %v %s %d %s", time.Unix(0, rec.Time).UTC().Format("2006-01-02T15:04:05.999"), rec.Op,
		stream.Key{Num: rec.Num, Text: string(rec.Text)}, rec.Size, servedWords[rec.Served])
	if rec.TTL > 0 {
		text += fmt.Sprintf(" ttl %ds", rec.TTL/1e9)
	}
	return text
}

func (c logCase) check(t *testing.T) {
	t.Helper()
	opts := read.Options{Selection: read.Selection{Format: c.format}}
	trace, err := tracetest.LoadText(t, c.log, opts)
	if err != nil {
		t.Errorf("%s: %v", c.name, err)
		return
	}
	line := strings.TrimPrefix(traces.Lines(trace.Readings, "")[0], "standard input: ")
	if line != c.line {
		t.Errorf("%s:\ngot  %s\nwant %s", c.name, line, c.line)
	}
	// The format that the reading states reads the same.
	for _, format := range []string{c.format, trace.Readings[0].Spec} {
		var got []string
		for _, rec := range must.Get(tracetest.ReadText(t, c.log, format))(t) {
			got = append(got, describe(rec))
		}
		if !slices.Equal(got, c.requests) {
			t.Errorf("%s as %q:\ngot  %s\nwant %s", c.name, format, strings.Join(got, "\n     "),
				strings.Join(c.requests, "\n     "))
		}
	}
}

const usual = "GET+HEAD with 200+206+301+304+404, "

// TestCommonFormats: variants of the common log format are recognised, with whatever comes before and after them.
// https://httpd.apache.org/docs/2.4/logs.html, https://nginx.org/en/docs/http/ngx_http_log_module.html
func TestCommonFormats(t *testing.T) {
	for _, c := range []logCase{
		{"common", "",
			`10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.png HTTP/1.0" 200 2326` + "\n" +
				`::1 - john doe [10/Oct/2000:13:55:37 -0700] "HEAD /a.png HTTP/1.0" 200 -` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:37 -0700] "GET /a.png HTTP/1.0" 304 -` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:37 -0700] "GET /a.png HTTP/1.0" 206 17` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "-" 408 -` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "\x16\x03\x01" 400 226` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:39 -0700] "POST /a.png HTTP/1.0" 201 2` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:39 -0700] "DELETE /a.png HTTP/1.0" 403 2` + "\n",
			"access, common; " + usual + "key path with query, time, size, op; among them 1 conditional (304), 1 of a " +
				"range " +
				"(206); 3 rows left out (1 without a URL, 1 that are no HTTP requests, 1 with other statuses)",
			[]string{
				"2000-10-10T20:55:36 read /a.png 2326 ?", "2000-10-10T20:55:37 read /a.png 2326 ?",
				"2000-10-10T20:55:37 read /a.png 2326 ?", "2000-10-10T20:55:37 read /a.png 17 ?",
				"2000-10-10T20:55:39 write /a.png 2326 ?",
			}},
		{"combined", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a?q=\"x\" HTTP/1.0" 200 5 "http://example.com/" "Mozilla/5.0"`,
			"access, combined; " + usual + "key path with query, time, size, op",
			[]string{`2000-10-10T13:55:36 read /a?q="x" 5 ?`}},
		{"varnishncsa: combined with whole URLs", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET http://Example.com/a?b HTTP/1.1" 200 5 "-" "curl"`,
			"access, combined; " + usual + "key host and path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read example.com/a?b 5 ?"}},
		{"Debian: a virtual host with its port", "",
			`example.com:443 10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl"`,
			"access, vhost_combined; " + usual + "key host and path with query, time, size with headers, op",
			[]string{"2000-10-10T13:55:36 read example.com/a 5 ?"}},
		{"a virtual host, and clients that are lists", "",
			`example.com 10.0.0.2, 10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl"` + "\n" +
				`example.com 10.0.0.2 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl"`,
			"access, vhost_combined; " + usual + "key host and path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read example.com/a 5 ?", "2000-10-10T13:55:36 read example.com/a 5 ?"}},
		{"a virtual host alone", "",
			`example.com 10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5`,
			"access, vhost_common; " + usual + "key host and path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read example.com/a 5 ?"}},
		{"nginx's main format, which ends with a further column", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" "-"`,
			"access, combined and 1 column after it; " + usual + "key path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read /a 5 ?"}},
		{"hits and misses of nginx", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" 0.003 "MISS"` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" 0.003 "HIT"` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /b HTTP/1.1" 200 5 "-" "curl" 0.003 "BYPASS"`,
			"access, combined and 2 columns after it, of which number 2 is the hit or miss; " + usual +
				"key path with query, time, size, op, hit or miss of the server",
			[]string{"2000-10-10T13:55:36 read /a 5 miss", "2000-10-10T13:55:36 read /a 5 hit",
				"2000-10-10T13:55:36 read /b 5 pass"}},
		{"two columns with the words of caches, of which none is chosen", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" HIT MISS`,
			"access, combined and 2 columns after it; " + usual + "key path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read /a 5 ?"}},
		{"columns with names", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" rt=0.003 uct="-" cs=HIT`,
			"access, combined and 3 columns after it, of which number 3 is the hit or miss; " + usual +
				"key path with query, time, size, op, hit or miss of the server",
			[]string{"2000-10-10T13:55:36 read /a 5 hit"}},
		{"a column that has other words, too", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" "a \" b" HIT` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" "a" alice`,
			"access, combined and 2 columns after it; " + usual + "key path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read /a 5 ?", "2000-10-10T13:55:36 read /a 5 ?"}},
		{"Squid's combined format", "",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET http://h/a HTTP/1.1" 200 5 "-" "curl" TCP_MEM_HIT:HIER_NONE`,
			"access, combined and 1 column after it, of which number 1 is the hit or miss; " + usual +
				"key host and path with query, time, size, op, hit or miss of the server",
			[]string{"2000-10-10T13:55:36 read h/a 5 hit"}},
		{"behind the prefix of another log", "",
			`web-1  | 2000-10-10 nginx: 10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "-"`,
			"access, combined; " + usual + "key path with query, time, size, op",
			[]string{"2000-10-10T13:55:36 read /a 5 ?"}},
		{"Traffic Server, extended2", "",
			`10.0.0.1 - - [29/Nov/2026:09:52:21 -0000] "GET http://h/a HTTP/1.1" 200 7 200 7 0 0 105 262 229 211 0 DIRECT ` +
				`FIN FIN TCP_MISS` + "\n" +
				`10.0.0.1 - - [29/Nov/2026:09:52:21 -0000] "- / HTTP/1.0" 400 219 000 0 0 0 15 186 0 0 0 NONE FIN FIN ` +
				`ERR_INVALID_REQ` + "\n" +
				`10.0.0.1 - - [29/Nov/2026:09:52:22 -0000] "GET http://h/a HTTP/1.1" 200 7 000 0 0 0 105 262 0 0 0 NONE ` +
				`FIN FIN TCP_MEM_HIT`,
			"access, common and 13 columns after it, of which number 13 is the hit or miss; " + usual +
				"key host and path with query, time, size, op, hit or miss of the server; 1 row left out (that are no HTTP " +
				"requests)",
			[]string{"2026-11-29T09:52:21 read h/a 7 miss", "2026-11-29T09:52:22 read h/a 7 hit"}},
		{"several hosts with the same objects", "access:host=drop",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET http://h/a?b HTTP/1.1" 200 5 "-" "curl" HIT`,
			"access, combined and 1 column after it, of which number 1 is the hit or miss; " + usual +
				"key path with query, time, size, op, hit or miss of the server",
			[]string{"2000-10-10T13:55:36 read /a?b 5 hit"}},
		{"other rules", "access:query=drop,methods=POST,statuses=all,format=combined",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "POST /a?b HTTP/1.1" 500 5 "-" "curl"` + "\n" +
				`10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a?b HTTP/1.1" 200 5 "-" "curl"`,
			"access, combined; POST with all, key path without query, time, size, op; 1 row left out (with other methods)",
			[]string{"2000-10-10T13:55:36 read /a 5 ?"}},
	} {
		c.check(t)
	}
}

// TestFormatFile: a file may have the directive of the server's configuration.
func TestFormatFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.conf")
	tracetest.WriteFile(t, file, []byte("log_format x '$request_uri '\n  '$status';\n"))
	records := must.Get(tracetest.ReadText(t, "/a 200\n", "access:format-file="+file))(t)
	if len(records) != 1 || string(records[0].Text) != "/a" {
		t.Errorf("got %v", records)
	}
	tracetest.WriteFile(t, file, []byte("common"))
	trace := must.Get(tracetest.LoadText(t, `a - - [10/Oct/2000:13:55:36 +0000] "GET /" 200 1`,
		read.Options{Selection: read.Selection{Format: "access:format-file=" + file}}))(t)
	if got := trace.Readings[0].Layout; got != "common" {
		t.Errorf("layout %q", got)
	}
	tracetest.WriteFile(t, file, bytes.Repeat([]byte("x"), 1<<17))
	must.NotGet(tracetest.ReadText(t, "/a 200\n", "access:format-file="+file))(t, "longer than 65536 bytes")
	must.NotGet(tracetest.ReadText(t, "/a 200\n", "access:format-file="+file+"x"))(t, "the format "+file)
}

// TestRotatedLogs: files that are read together have the format of the first.
func TestRotatedLogs(t *testing.T) {
	const line = `10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" `
	paths := tracetest.WriteTexts(t, line+"HIT\n", line+"-\n")
	trace := must.Get(read.Load(t.Context(), paths, read.Options{Needs: traces.Needs{Ops: true}}))(t)
	want := []string{"a.csv and 1 more: access, combined and 1 column after it, of which number 1 is the hit or miss; " +
		usual + "key path with query, time, size, op, hit or miss of the server"}
	if got := traces.Lines(trace.Readings, ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestServers: the note says how logs of servers are read. Most of their examples are in the files of formats.
func TestServers(t *testing.T) {
	for _, c := range []logCase{
		{"HAProxy", "", // https://docs.haproxy.org/3.0/configuration.html#8.2.3
			`Feb  6 12:14:14 lb haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 ` +
				`10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"` + "\n" +
				`Feb  6 12:14:15 lb haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:15.000] http-in http-in/<NOSRV> ` +
				`-1/-1/-1/-1/50 400 187 - - PR-- 0/0/0/0/0 0/0 "<BADREQ>"` + "\n" +
				`Feb  6 12:14:16 lb haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:16.000] https-in~ static/srv1 ` +
				`0/0/1/2/3 200 +99 - - ---- 1/1/1/1/0 0/0 "GET https://example.com/a HTTP/2.0"` + "\n",
			"haproxy; " + usual + "key host and path with query, time, size with headers, op; 1 row left out (that are no " +
				"HTTP requests)",
			[]string{"2009-02-06T12:14:14.655 read /index.html 2750 ?", "2009-02-06T12:14:16 read example.com/a 99 ?"}},
		{"Istio", "", // https://istio.io/latest/docs/tasks/observability/logs/access-log/
			`[2020-11-25T21:26:18.409Z] "GET /status/404 HTTP/1.1" 404 - via_upstream - "-" 0 135 4 4 "-" ` +
				`"curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "10.44.1.27:80" ` +
				`outbound|8000||httpbin.foo.svc.cluster.local 10.44.1.23:37652 10.0.45.184:8000 10.44.1.23:46520 - default`,
			"envoy, Istio; " + usual + "key host and path with query, time, size, op",
			[]string{"2020-11-25T21:26:18.409 read httpbin:8000/status/404 135 ?"}},
		{"Amazon S3", "", // https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html
			`79a59df900 photos [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59 3E57427F3EXAMPLE REST.GET.OBJECT a/b.png ` +
				`"GET /photos/a/b.png HTTP/1.1" 206 - 100 2662992 70 10 "-" "x" - id SigV4 x - h - - -` + "\n" +
				`79a59df900 photos [06/Feb/2019:00:00:39 +0000] 192.0.2.3 79a59 3E57427F3EXAMPLE REST.HEAD.OBJECT a/b.png ` +
				`"HEAD /photos/a/b.png HTTP/1.1" 200 - - 2662992 70 10 "-" "x" - id SigV4 x - h - - -` + "\n" +
				`79a59df900 photos [06/Feb/2019:00:00:40 +0000] 192.0.2.3 79a59 3E57427F3EXAMPLE REST.GET.BUCKET - ` +
				`"GET /photos?prefix=a HTTP/1.1" 200 - 113 - 70 10 "-" "x" - id SigV4 x - h - - -` + "\n" +
				`79a59df900 photos [06/Feb/2019:00:00:41 +0000] 192.0.2.3 79a59 3E57427F3EXAMPLE REST.GET.ACL a/b.png ` +
				`"GET /photos/a/b.png?acl HTTP/1.1" 200 - 113 - 70 10 "-" "x" - id SigV4 x - h - - -` + "\n" +
				`79a59df900 photos [06/Feb/2019:00:00:42 +0000] - - 3E57427F3EXAMPLE S3.EXPIRE.OBJECT a/b.png - - - - ` +
				`2662992 - - ` +
				`"-" "-" - id - - - - - -` + "\n",
			"s3; " + usual + "key bucket and key with query, time, size, op; among them 1 of a range (206); 2 rows left " +
				"out (1 without " +
				"a URL, 1 with other methods)",
			[]string{"2019-02-06T00:00:38 read photos/a/b.png 100 ?", "2019-02-06T00:00:39 read photos/a/b.png 2662992 ?",
				"2019-02-06T00:00:42 delete photos/a/b.png 2662992 ?"}},
		{"Google Cloud Storage", "", // https://cloud.google.com/storage/docs/access-logs
			`"time_micros","c_ip","c_ip_type","c_ip_region","cs_method","cs_uri","sc_status","cs_bytes","sc_bytes",` +
				`"cs_host","cs_referer","cs_user_agent","cs_operation","cs_bucket","cs_object"` +
				"\n" + `"1733346151000000","10.0.0.1","1","","GET","/photos/a,b","200","0","2326","storage.googleapis.com",` +
				`"","Mozilla ""5.0"", x","GET_Object","photos","a,b.png"` + "\n" +
				`"1733346152000000","10.0.0.1","1","","GET","/photos","200","0","2326","storage.googleapis.com",` +
				`"","curl","GET_Bucket","photos",""` + "\n",
			"gcs; " + usual + "key bucket and object with query, time, size, op; 1 row left out (without a URL)",
			[]string{"2024-12-04T21:02:31 read photos/a,b.png 2326 ?"}},
	} {
		c.check(t)
	}
}

// TestW3C: columns are those that the file names. https://www.w3.org/TR/WD-logfile.html
func TestW3C(t *testing.T) {
	for _, c := range []logCase{
		{"IIS, of which the columns change: others than the first are not read", "",
			// https://learn.microsoft.com/windows/win32/http/w3c-logging
			"#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2025-12-04 21:02:31\n" +
				"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) " +
				"cs(Referer) " +
				"sc-status sc-substatus sc-win32-status time-taken\n" +
				"2025-12-04 21:02:31 10.0.0.2 GET /a.png w=1&h=2 443 - 10.0.0.1 Mozilla/5.0+(X11) - 200 0 0 15\n" +
				"#Fields: time date cs-method cs-uri-stem cs-uri-query sc-status cs-host sc-bytes\n" +
				"21:02:32 2025-12-04 GET /a.png - 200 example.com 17\n",
			"w3c; " + usual + "key path with query, time, op; 5 rows left out (directives)",
			[]string{"2025-12-04T21:02:31 read /a.png?w=1&h=2 0 ?", "2025-12-04T21:02:32 read /a.png 0 ?"}},
		{"CloudFront", "",
			"#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status " +
				"cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header " +
				"cs-protocol\n" + strings.Join([]string{"2019-12-04", "21:02:31", "LAX1", "392", "192.0.2.100", "GET",
				"d1.cloudfront.net", "/index.html", "200", "-", "x%20(y)", "-", "-", "RefreshHit", "SOX4", "WWW.example.com",
				"https"}, "\t") + "\n" + strings.Join([]string{"2019-12-04", "21:02:31", "LAX1", "0", "192.0.2.100", "GET",
				"d1.cloudfront.net", "/index.html", "000", "-", "x", "-", "-", "Error", "S", "www.example.com", "https"}, "\t"),
			"w3c; " + usual + "key host and path with query, time, size with headers, op, hit or miss of the server; 3 " +
				"rows left " +
				"out (2 directives, 1 with other statuses)",
			[]string{"2019-12-04T21:02:31 read www.example.com/index.html 392 hit"}},
		{"Azure CDN", "", // https://learn.microsoft.com/azure/cdn/cdn-azure-diagnostic-logs
			"#Fields: timestamp time-taken c-ip filesize s-ip s-port sc-status sc-bytes cs-method cs-uri-stem - " +
				"rs-duration " +
				"rs-bytes c-referrer c-user-agent customer-id x-ec_custom-1\n" +
				"1575493351 0 10.0.0.1 1000 10.0.0.2 443 TCP_HIT/200 1391 GET http://cdn.example.com/a.js - 0 0 \"-\" " +
				"\"Mozilla/5.0 (X11)\" 1 \"-\"\n",
			"w3c; " + usual + "key host and path with query, time, size with headers, op, hit or miss of the server; 1 " +
				"row left " +
				"out (directives)",
			[]string{"2019-12-04T21:02:31 read cdn.example.com/a.js 1391 hit"}},
	} {
		c.check(t)
	}
}
