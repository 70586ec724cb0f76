package weblogs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"pgregory.net/rapid"
)

// entryOf returns what a line of a pasted format says, as "METHOD HOST TARGET QUERY STATUS BYTES TIME", with - for what
// it does not say.
func entryOf(t *testing.T, format, line string) string {
	t.Helper()
	p := parser{layout: must.Get(compile(format))(t)}
	if err := p.parse([]byte(line)); err != nil {
		return err.Error()
	}
	e := &p.entry
	var words []string
	for _, text := range [][]byte{e.Method, e.Host, e.Target, e.Query} {
		words = append(words, string(text))
		if text == nil {
			words[len(words)-1] = "-"
		}
	}
	when := "-"
	if e.Time > 0 {
		when = time.Unix(0, e.Time).UTC().Format("2006-01-02T15:04:05.999")
	}
	return fmt.Sprintf("%s %d %d %s", strings.Join(words, " "), e.Status, e.Bytes, when)
}

// TestPastedFormats: a format is read as the configuration of a server has it, with or without the directive and the
// quotes around it.
func TestPastedFormats(t *testing.T) {
	const combinedLine = `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 5 "-" "curl"`
	const combinedEntry = "GET - /a - 200 5 2000-10-10T20:55:36"
	for _, c := range []struct{ format, line, want string }{
		{"combined", combinedLine, combinedEntry},
		{`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer"`,
			combinedLine, combinedEntry},
		{`$time_local $request_uri`, `10/Oct/2000:13:55:36 -0700 /a`, "- - /a - 0 -1 2000-10-10T20:55:36"},
		{"log_format main escape=default '$remote_addr - ${remote_user} [$time_local] '\n\t'\"$request\" $status '" +
			"\n'$body_bytes_sent \"$http_referer\"';", combinedLine, combinedEntry},
		{`$remote_addr - $remote_user [$time_local] ' '"$request" ' '$status $body_bytes_sent`, combinedLine,
			combinedEntry},
		{`LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\"" combined`, combinedLine, combinedEntry},
		{`"%h %l %u %t \"%r\" %>s %b"`, combinedLine, combinedEntry},
		{`%h %l %u %t "%r" %>s %b`, combinedLine, combinedEntry},
		{`%400,501{User-agent}i|%!200,304{X}i|%U|%q|%m|%V|%B|%%|%s`, `-|-|/a|?b|PUT|h|7|%|201`, "PUT h /a ?b 201 7 -"},
		{`"%h %m %U"`, `10.0.0.1 GET /a`, "GET - /a - 0 -1 -"},
		{`%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t %v%U%q`, `10/Oct/2000:13:55:36.125 -0700 h.example/a?b`,
			"- h.example /a?b - 0 -1 2000-10-10T20:55:36.125"},
		{`%{%F}t %{%H:%M:%S}t %r`, `2000-10-10 13:55:36 GET /a b HTTP/1.1`, "GET - /a b - 0 -1 2000-10-10T13:55:36"},
		{`%{%e %B %y %R}t %r`, ` 7 October 00 13:55 GET /`, "GET - / - 0 -1 2000-10-07T13:55:00"},
		{`%{sec}t.%{usec_frac}t %r`, `971186136.000125 GET /`, "GET - / - 0 -1 2000-10-10T13:55:36"},
		{`%{%F %T}t.%{msec_frac}t %r`, `2000-10-10 13:55:36.12 GET /`,
			`%{msec_frac}t: fraction of a second "12": want three or six digits`},
		{`%{100%%,%b}t %U %{%Y %d}t`, `100%,Mai /a 2000 10`,
			`no " " after %{100%%,%b}t, which begins with "100%,Mai /a 2000 10"`},
		{`%{%B %d %Y %H}t|%r`, `October 10 2000 13|GET /`, "GET - / - 0 -1 2000-10-10T13:00:00"},
		{`%{%F %H}t %{%z}t %r`, `2000-10-10 13 -0100 GET /`, "GET - / - 0 -1 2000-10-10T14:00:00"},
		{`%{%F %H%z}t %{%z}t %r`, `2000-10-10 13-0100 -0700 GET /`, "GET - / - 0 -1 2000-10-10T14:00:00"},
		{`%{%F}t %r`, `2000-10-10 GET /`, "GET - / - 0 -1 -"}, // no time of the day
		{`%{%F}t %{sec}t %r`, `2000-10-10 971186136 GET /`, "GET - / - 0 -1 2000-10-10T13:55:36"},
		{`%{begin:usec}t %r`, `971186136125000 GET /`, "GET - / - 0 -1 2000-10-10T13:55:36.125"},
		{`%{%d}t %r`, `10 GET /`, "GET - / - 0 -1 -"}, // no whole time
		{`$msec $request_method $scheme://$host$request_uri`, `971186136.125 GET https://h/a?b`,
			"GET h /a?b - 0 -1 2000-10-10T13:55:36.125"},
		{`$time_iso8601,$uri$is_args$args,"$request_method",$bytes_sent`, `2000-10-10T13:55:36+01:00,/a?b,"GET",17`,
			"GET - /a?b - 0 17 2000-10-10T12:55:36"},
		{`%v %{Host}i %V %r`, `_ h.example v GET /`, "GET h.example / - 0 -1 -"},
		{`$uri $args $status`, `/a b=1 200`, "- - /a b=1 200 -1 -"},
		{`$status $body_bytes_sent $request_uri`, `200 +17 /a b`, "- - /a b - 200 17 -"},
		{`"$request" $status`, `"GET /a\\" 200`, `GET - /a\ - 200 -1 -`},
		{`"$request" $status`, `"GET /\xC3\xA9\x5C\x0A\n\ HTTP/1.1" 200`, `GET - /é\\x0A\n\ - 200 -1 -`},
		{`"$request" $status`, `"- http://localhost HTTP/1.0" 400`, `- http://localhost HTTP/1.0 - - - 400 -1 -`},
		{`"$request" $status`, `"GET /a\" b\\\" HTTP/1.1" 200`, `GET - /a" b\" - 200 -1 -`},
		{`"$request" $status`, `"GET  HTTP/1.1" 200`, `GET -  - 200 -1 -`},
		{`{"uri":"$request_uri","status":$status}`, `{"uri":"/a\"b","status":200}`, `- - /a"b - 200 -1 -`},
		{"$request_uri\\t$status", "/a\t-", "- - /a - -1 -1 -"},
		{`$request_uri $status`, `/a abc`, `$status: status "abc": want a number of three digits`},
		{`$request_uri [$status]`, `/a 200`, `no " [" after $request_uri, which begins with "/a 200"`},
		{`[$request_uri`, `/a`, `begins with "/a": want "["`},
		{`$request_uri $body_bytes_sent`, `/a -5`,
			`$body_bytes_sent: size "-5": want a whole number of bytes up to 2^50, or -`},
		{`$request_uri $time_local`, `/a 10/Okt/2000`, `$time_local: time "10/Okt/2000": want one such as ` +
			`10/Oct/2000:13:55:36 -0700 or 2000-10-10T13:55:36-07:00`},
	} {
		if got := entryOf(t, c.format, c.line); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.format, got, c.want)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	for format, want := range map[string]string{
		"main":                       "no fields",
		"$remote_addr $status":       "no field has the URL",
		"$request_uri$status":        "nothing separates $request_uri from $status",
		"%h%r":                       "nothing separates %h from %r",
		`%{%Q}t %r`:                  "cannot read %Q",
		`%{%H:%}t %r`:                "ends with %",
		"$status $args $remote_addr": "no field has the URL",
	} {
		must.NotGet(compile(format))(t, want, format)
	}
}

// TestCacheControl: the header says how long a shared cache keeps a response, and -1 here that it keeps none.
func TestCacheControl(t *testing.T) {
	for header, want := range map[string]int64{
		"max-age=60": 60e9, "public, max-age=60": 60e9, "max-age=60, s-maxage=5": 5e9, "s-maxage=5,max-age=60": 5e9,
		"-": 0, "MAX-AGE=\"7\"": 7e9, "max-age=99999999999999999999": 0, "max-age=": 0, "max-age=0, must-revalidate": 1,
		"no-cache": 1, "max-age=60, no-cache": 1, "no-cache, s-maxage=60": 1, "s-maxage=0, max-age=60": 1,
		"no-store": -1, "Private, max-age=60": -1, `no-cache="Set-Cookie"`: 1,
	} {
		e := Entry{TTL: 1e9, NoStore: true}
		if e.SetCacheControl([]byte(header)); e.NoStore {
			e.TTL = -1
		}
		if e.TTL != want {
			t.Errorf("%s: %d, want %d ns", header, e.TTL, want)
		}
	}
}

// TestLinesComeBack writes entries in drawn formats and reads them again.
func TestLinesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`/[a-z0-9?&=%.-]{0,20}`)
		values := map[string]string{
			"$request_uri": word.Draw(t, "uri"), "$request_method": "PUT",
			"$status":          fmt.Sprint(rapid.IntRange(firstStatus, lastStatus).Draw(t, "status")),
			"$body_bytes_sent": fmt.Sprint(rapid.Int64Range(0, 1<<50).Draw(t, "bytes")), "$other": word.Draw(t, "other"),
			"$host": "h" + fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "host")),
		}
		names := rapid.Permutation([]string{"$request_uri", "$request_method", "$status", "$body_bytes_sent", "$other",
			"$host"}).Draw(t, "order")
		format, line := "", ""
		for _, name := range names {
			open := rapid.SampledFrom([]string{"", `"`, "[", "x "}).Draw(t, "open")
			close := map[string]string{"": "", `"`: `"`, "[": "]", "x ": ""}[open] + " "
			format, line = format+open+name+close, line+open+values[name]+close
		}
		line = strings.TrimRight(line, " ")
		l, err := compile(format)
		if err != nil {
			t.Fatal(err)
		}
		p := parser{layout: l}
		if err := p.parse([]byte(line)); err != nil {
			t.Fatalf("%s: %s: %v", format, line, err)
		}
		e := &p.entry
		if string(e.Target) != values["$request_uri"] || string(e.Method) != values["$request_method"] ||
			fmt.Sprint(e.Status) != values["$status"] || fmt.Sprint(e.Bytes) != values["$body_bytes_sent"] ||
			string(e.Host) != values["$host"] {
			t.Fatalf("%s: %s: %+v", format, line, e)
		}
	})
}

// TestLinesCostNoMemory: neither a line nor its record is allocated.
func TestLinesCostNoMemory(t *testing.T) {
	rules := rulesFor(t, "query=sort,tenant=host")
	p := parser{layout: must.Get(compile(`%v %h %t "%r" %>s %b %{X-Cache}o "%{Cache-Control}o" %{%F %T}t`))(t)}
	line := []byte(`H ::1 [10/Oct/2000:13:55:36 -0700] "GET /a?c&b HTTP/1.1" 304 - HIT "max-age=1" 2000-10-10 00:00:00`)
	var rec stream.Record
	allocations := testing.AllocsPerRun(100, func() {
		if p.parse(line) != nil || rules.Record(&p.entry, &rec) != nil {
			t.Fatal("the line could not be read")
		}
	})
	if allocations > 0 || string(rec.Text) != "h/a?b&c" || string(rec.Tenant) != "h" || rec.TTL != 1e9 {
		t.Errorf("%v allocations for %+v", allocations, rec)
	}
}

// FuzzCompile: no format and no line ends the program.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"combined", `"%h %l %u %t \"%r\" %>s %b" x`, "log_format main '$request' ' $status';",
		"%{%d/%b/%Y:%T %z}t %U%q", "$scheme://$host$request_uri $msec", "%%%{", "${", "%{%"} {
		f.Add(seed, `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 5`)
	}
	f.Fuzz(func(t *testing.T, format, line string) {
		line = strings.TrimRight(line, " ")
		l, err := compile(format)
		if err != nil {
			return
		}
		for _, quotable := range []bool{false, true} {
			l.padded, l.quotable = quotable, quotable
			p := parser{layout: l}
			if p.parse([]byte(line)) == nil && (p.entry.Time < 0 || p.entry.Bytes < Unknown || p.entry.TTL < 0) {
				t.Errorf("%q: %q: %+v", format, line, p.entry)
			}
		}
	})
}
