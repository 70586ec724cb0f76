package read_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/programs"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// found is what the cache of a web server did for a request, as its origin saw it.
type found uint8

const (
	fromCache   found = iota
	revalidated       // the origin said that the copy is still right
	fromOrigin
)

// exchange is a request that a client sent to a web server, and what it got.
type exchange struct {
	method, host, target string
	header               []string
	from, to             time.Time
	found                found
	programs.Response
}

// drawn draws requests for objects of a few kinds, of which some are popular.
func drawn(r *rand.Rand) (e exchange) {
	object := int(math.Exp(r.Float64() * math.Log(60)))
	size := 100 + 37*object
	folder := []string{"d1", "d1", "d1", "d2/%2Fe", "max-age=1", "s-maxage=60,max-age=5", "no-cache", "no-store", "404",
		"503", "301"}[r.IntN(11)]
	e = exchange{method: http.MethodGet, target: fmt.Sprintf("/%s/%d-%d", folder, object, size)}
	e.host = []string{"example.org", "example.org", "Static.Example.ORG", "example.org:80"}[r.IntN(4)]
	conditional := folder == "d1" || folder == "max-age=1"
	switch n := r.IntN(40); {
	case n < 3:
		e.target += fmt.Sprintf("?q=%d", r.IntN(3))
	case n < 6 && conditional:
		e.header = []string{fmt.Sprintf("If-None-Match: \"%d\"", size)}
	case n < 8 && conditional:
		e.header = []string{"If-Modified-Since: Fri, 02 Jan 2026 03:04:05 GMT"}
	case n < 11 && conditional:
		e.header = []string{fmt.Sprintf("Range: bytes=10-%d", 20+object)}
	case n < 14:
		e.method = http.MethodHead
	case n < 16:
		e.method, e.header = []string{"POST", "PUT"}[r.IntN(2)], []string{"Content-Length: 0"}
	case n == 16:
		e.method = http.MethodDelete
	case n == 17:
		e.method = http.MethodOptions
	case n < 20:
		e.header = []string{"Cookie: sid=1"}
	case n == 20:
		e.target = []string{`/d1/a"b-300`, `/d1/a\b-301`, "/d1/\xc3\xa9-302", "/d1/a'b-303", "/d1/a%20%22b-304"}[r.IntN(5)]
	}
	return e
}

// exchanges sends requests to a server, the same in each run, and between them some that are no HTTP.
func exchanges(t *testing.T, port int, origin *programs.Origin) (all []exchange) {
	r := rand.New(rand.NewPCG(4, 8))
	client := programs.Dial(t, port)
	number := programs.Requests()
	for i := range number {
		if i%100 == 50 {
			sendNoHTTP(t, port, []string{"HELLO\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}[i/100%2])
		}
		if i == number/2 || i == number*3/4 {
			time.Sleep(1200 * time.Millisecond) // until objects have expired
		}
		e, before := drawn(r), origin.Answers()
		if i == number-1 {
			e = exchange{method: http.MethodGet, host: "example.org", target: "/last-9"}
		}
		e.from = time.Now()
		response, err := client.HTTP(e.method, e.target, append(e.header, "Host: "+e.host, "User-Agent: a \"b\"")...)
		if err != nil {
			t.Fatalf("%s %s: %v", e.method, e.target, err)
		}
		e.to, e.Response = time.Now(), response
		switch after := origin.Answers(); {
		case after.NotModified > before.NotModified:
			e.found = revalidated
		case after.All > before.All:
			e.found = fromOrigin
		}
		all = append(all, e)
		if response.Close {
			client.AwaitClose() // by then the log has it, before requests of another connection
			client.Close()
			client = programs.Dial(t, port)
		}
	}
	return all
}

// sendNoHTTP sends what is no request, and waits until the server has closed the connection.
func sendNoHTTP(t *testing.T, port int, text string) {
	client := programs.Dial(t, port)
	client.Say(text)
	client.AwaitClose()
}

// webLog is a log that a web server writes, and what a reader finds in it.
type webLog struct {
	start func(testing.TB, programs.Web) *programs.Process
	web   programs.Web

	reader  string // the format, "access" or another
	format  string // the option format; "" to recognise it
	host    string // in keys: "" for none, asSent, theOrigin, or another
	headers bool   // count as bytes
	near    int64  // bytes by which headers may be counted differently
	ttl     bool
	served  bool
	// quick: it says miss of a response with 304 that it gave by itself, while it still stored the object.
	quick bool
	key   func(sent string) string // how the log writes it; nil for as it was sent
}

// Hosts of a webLog.
const (
	asSent    = "as sent" // by clients
	theOrigin = "the origin"
)

// spec returns the name of the format with further options.
func (w *webLog) spec(options string) string {
	if w.format != "" {
		options = strings.TrimPrefix(options+",format="+w.format, ",")
	}
	if options == "" {
		return w.reader
	}
	return w.reader + ":" + options
}

// hold starts the server, sends it requests, and compares what its log says with them.
func (w *webLog) hold(t *testing.T) {
	programs.Wanted(t)
	t.Parallel()
	origin := programs.NewOrigin(t)
	dir := t.TempDir()
	w.web.Dir, w.web.Log, w.web.Origin = filepath.Join(dir, "server"), filepath.Join(dir, "access.log"), origin.Address
	p := w.start(t, w.web)
	sent := exchanges(t, p.Port, origin)
	programs.AwaitLog(t, w.web.Log, "/last-9")
	p.End()
	log := string(must.Get(os.ReadFile(w.web.Log))(t))
	usual := "" // the log is recognised
	if w.format != "" {
		usual = w.spec("")
	}
	w.compare(t, log, usual, sent, false)
	w.compare(t, log, w.spec("statuses=all,tenant=status"), sent, true)
}

// compare compares the records of a log with requests. With all, they are of any status, which is the tenant.
func (w *webLog) compare(t *testing.T, log, spec string, sent []exchange, all bool) {
	records, err := tracetest.ReadText(t, log, spec)
	must.Do(t, err)
	records = slices.DeleteFunc(records, func(rec stream.Record) bool { // Traffic Server invents a URL for it
		return string(rec.Tenant) == "400"
	})
	sizes := map[string]int64{}
	compared, wrong := 0, 0
	for i := range sent {
		want, ok := w.record(&sent[i], all, sizes)
		if !ok {
			continue
		}
		if compared == len(records) {
			t.Fatalf("%s: %d records, and none for request %d, %s", spec, len(records), i, textOf(want, all))
		}
		got := &records[compared]
		if off := got.Size - want.Size; off >= -w.near && off <= w.near {
			want.Size = got.Size
		}
		if textOf(got, all) != textOf(want, all) || !w.agree(&sent[i], got) {
			t.Errorf("%s: request %d (%s): got %s (%v), want %s (%d)", spec, i, sent[i].header, textOf(got, all), got.Served,
				textOf(want, all), sent[i].found)
			if wrong++; wrong > 10 {
				t.FailNow()
			}
		}
		compared++
	}
	if compared != len(records) {
		t.Errorf("%s: %d records, want %d; the next is %s", spec, len(records), compared, textOf(&records[compared], all))
	}
	t.Logf("%s: %d of %d requests are records", spec, compared, len(sent))
}

// agree reports whether a record has the time, and the hit or miss, that it should.
func (w *webLog) agree(e *exchange, rec *stream.Record) bool {
	const slack = int64(1001 * time.Millisecond) // logs have whole seconds
	inTime := rec.Time > e.from.UnixNano()-slack && rec.Time < e.to.UnixNano()+slack
	served := rec.Served == stream.ServedUnknown
	if w.served && e.Status < 500 { // Apache says HIT of a response with 503 for which it asked the origin
		switch rec.Served {
		case stream.ServedHit:
			served = e.found != fromOrigin
		case stream.ServedMiss, stream.ServedPass:
			served = e.found != fromCache || w.quick && e.Status == http.StatusNotModified
		default:
			served = rec.Op != stream.OpRead
		}
	}
	return inTime && (served || w.served && e.Status >= 500)
}

// record returns the record that a request should have, with sizes by key, and whether it has one.
func (w *webLog) record(e *exchange, all bool, sizes map[string]int64) (rec *stream.Record, ok bool) {
	key, control := e.target, e.Header.Get("Cache-Control")
	switch w.host {
	case "":
	case theOrigin:
		key = w.web.Origin + key
	case asSent:
		key = strings.ToLower(strings.TrimSuffix(e.host, ":80")) + key
	default:
		key = w.host + key
	}
	if w.key != nil {
		key = w.key(key)
	}
	op := map[string]stream.Op{"GET": stream.OpRead, "HEAD": stream.OpRead, "POST": stream.OpWrite, "PUT": stream.OpWrite,
		"DELETE": stream.OpDelete}[e.method]
	switch {
	case op == 0, e.Status == http.StatusBadRequest, op != stream.OpRead && e.Status >= 400,
		op == stream.OpRead && w.ttl && control == "no-store":
		return nil, false
	case op == stream.OpRead && !all && e.Status == 503:
		return nil, false
	}
	sent := e.Body
	if w.headers {
		sent = e.Bytes
	}
	size, known := sizes[key]
	if e.method == "GET" && e.Status != 304 {
		if size, known = sent, true; e.Status == 206 {
			sizes[key] = max(sizes[key], sent)
		} else {
			sizes[key] = sent
		}
	}
	ttl := map[string]int64{"max-age=3600": 3600e9, "max-age=1": 1e9, "s-maxage=60,max-age=5": 60e9,
		"no-cache": 1}[control]
	if !w.ttl {
		ttl = 0
	}
	return &stream.Record{Text: []byte(key), Op: op, Size: size, SizeUnknown: !known, TTL: ttl,
		Tenant: strconv.AppendInt(nil, int64(e.Status), 10)}, true
}

// textOf returns what must be right of a record.
func textOf(rec *stream.Record, tenant bool) string {
	text := fmt.Sprintf("%s %s size %d %v ttl %v", rec.Op, rec.Text, rec.Size, !rec.SizeUnknown, time.Duration(rec.TTL))
	if tenant {
		text += " status " + string(rec.Tenant)
	}
	return text
}

// rulesOfNginx are the lines of the location that compared requests need.
const rulesOfNginx = "proxy_cache_revalidate on; proxy_cache_bypass $cookie_sid; proxy_no_cache $cookie_sid;"

func TestLogsOfNginx(t *testing.T) {
	const tail = `$remote_addr [$time_local] "$request" $status $body_bytes_sent`
	const rich = `$remote_addr $host $msec "$request" $status $body_bytes_sent $upstream_cache_status ` +
		`"$upstream_http_cache_control"`
	for name, w := range map[string]*webLog{
		"combined": {reader: "access"},
		"short":    {reader: "access", format: tail, web: programs.Web{Format: tail}},
		"rich":     {reader: "access", format: rich, web: programs.Web{Format: rich}, host: asSent, ttl: true, served: true},
		"status": {reader: "access", served: true, web: programs.Web{Format: `$remote_addr - $remote_user [$time_local] ` +
			`"$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $upstream_cache_status`}},
		"rtcamp": {reader: "rtcamp", host: asSent, served: true, web: programs.Web{Format: `$remote_addr ` +
			`$upstream_response_time $upstream_cache_status [$time_local] $http_host "$request" $status $body_bytes_sent ` +
			`"$http_referer" "$http_user_agent"`}},
		"json": {reader: "access-json", host: asSent, served: true, web: programs.Web{Format: `{"time_iso8601":` +
			`"$time_iso8601","host":"$host","request_method":"$request_method","request_uri":"$request_uri",` +
			`"status":$status,"body_bytes_sent":$body_bytes_sent,"upstream_cache_status":"$upstream_cache_status"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			w.start, w.web.Size, w.web.Rules = programs.Nginx, "64m", rulesOfNginx
			w.hold(t)
		})
	}
}

func TestLogsOfApache(t *testing.T) {
	const documented = `%v %h %t "%r" %>s %b %{X-Cache}o`
	const rich = `%{Host}i %h %{usec}t "%r" %>s %B "%{X-Cache}o" "%{Cache-Control}o"`
	for name, w := range map[string]*webLog{
		"common":   {reader: "access", web: programs.Web{Format: `%h %l %u %t "%r" %>s %b`}},
		"combined": {reader: "access", web: programs.Web{Format: `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"`}},
		"debian": {reader: "access", headers: true, host: "www.example.org", web: programs.Web{
			Format: `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`}},
		"debian-combined": {reader: "access", headers: true, web: programs.Web{
			Format: `%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`}},
		"documented": {reader: "access", format: documented, web: programs.Web{Format: documented},
			host: "www.example.org", served: true},
		"rich": {reader: "access", format: rich, web: programs.Web{Format: rich}, host: asSent, served: true,
			ttl: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.start = programs.Apache
			w.hold(t)
		})
	}
}

func TestLogsOfVarnish(t *testing.T) {
	const documented = `%h - - %t "%r" %s %b %{Varnish:hitmiss}x`
	const rich = `%h %{usec}t "%r" %s %b %{Varnish:handling}x "%{Cache-Control}o"`
	for name, w := range map[string]*webLog{
		"default":    {reader: "access"},
		"documented": {reader: "access", web: programs.Web{Format: documented}, served: true},
		"rich":       {reader: "access", format: rich, web: programs.Web{Format: rich}, ttl: true, served: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.start, w.web.Size, w.host = programs.Varnish, "64m", asSent
			w.web.Rules = "sub vcl_backend_response { set beresp.grace = 0s; }"
			w.hold(t)
		})
	}
}

func TestLogsOfSquid(t *testing.T) {
	for name, w := range map[string]*webLog{
		"default": {reader: "squid"},
		"combined": {reader: "access", web: programs.Web{Format: `%>a %[ui %[un [%tl] "%rm %ru HTTP/%rv" %>Hs %<st ` +
			`"%{Referer}>h" "%{User-Agent}>h" %Ss:%Sh`}},
	} {
		t.Run(name, func(t *testing.T) {
			w.start, w.web.Size, w.web.Rules = programs.Squid, "64 MB", "strip_query_terms off"
			w.host, w.served, w.headers = asSent, true, true
			w.hold(t)
		})
	}
}

func TestLogsOfHAProxy(t *testing.T) {
	for name, w := range map[string]*webLog{
		"httplog": {reader: "haproxy"},
		"hits": {reader: "access", served: true, web: programs.Web{
			Format: `%ci - - [%trl] %{+Q}r %ST %B "" "" %[var(txn.cache)]`,
			Rules: "http-response set-var(txn.cache) str(MISS)\n" +
				"\thttp-response set-var(txn.cache) str(HIT) if { res.cache_hit }"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.start, w.web.Size, w.headers, w.near = programs.HAProxy, "64", true, 40
			w.key = strings.NewReplacer(`"`, "#22", "\xc3\xa9", "#C3#A9").Replace
			w.hold(t)
		})
	}
}

func TestLogsOfTrafficServer(t *testing.T) {
	const squid = `%<cqtq> %<ttms> %<chi> %<crc>/%<pssc> %<psql> %<cqhm> %<cquc> %<caun> %<phr>/%<shn> %<psct>`
	for name, w := range map[string]*webLog{
		"squid": {reader: "squid", host: theOrigin, headers: true, served: true, web: programs.Web{Format: squid}},
		"unmapped": {reader: "squid", host: asSent, headers: true, served: true, web: programs.Web{
			Format: strings.Replace(squid, "cquc", "cquuc", 1)}},
		"extended2": {reader: "access", host: theOrigin, served: true, web: programs.Web{
			Format: `%<chi> - %<caun> [%<cqtn>] "%<cqtx>" %<pssc> %<pscl> %<sssc> %<sscl> %<cqcl> %<pqcl> ` +
				`%<cqhl> %<pshl> %<pqhl> %<sshl> %<tts> %<phr> %<cfsc> %<pfsc> %<crc>`}},
	} {
		t.Run(name, func(t *testing.T) {
			w.start, w.web.Size, w.quick = programs.TrafficServer, "64M", true
			if w.reader == "squid" {
				w.key = strings.NewReplacer(`"`, "%22", `\`, "%5C").Replace
			}
			w.hold(t)
		})
	}
}
