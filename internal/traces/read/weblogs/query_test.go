package weblogs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func getting(urls ...string) string {
	var b strings.Builder
	for i, url := range urls {
		fmt.Fprintf(&b, "10.0.0.1 - - [10/Oct/2000:13:55:%02d -0700] \"GET %s HTTP/1.0\" 200 5\n", i%60, url)
	}
	return b.String()
}

func keysOf(t *testing.T, log, format string) (keys []string) {
	t.Helper()
	for _, rec := range must.Get(tracetest.ReadText(t, log, format))(t) {
		keys = append(keys, stream.Key{Num: rec.Num, Text: string(rec.Text)}.String())
	}
	return keys
}

// TestQuery: the option says which parameters of a URL belong to its key.
func TestQuery(t *testing.T) {
	log := getting("/a?utm_source=x&b=2&a=1", "/a?b=2&gclid=7&a=1", "/a?utm_medium=m", "/a", "/a?", "/a?xutm_a=1&sid",
		"/a?UTM_source=1")
	for query, want := range map[string]string{
		"keep": "/a?utm_source=x&b=2&a=1 /a?b=2&gclid=7&a=1 /a?utm_medium=m /a /a? /a?xutm_a=1&sid /a?UTM_source=1",
		"drop": "/a /a /a /a /a /a /a",
		"sort": "/a?a=1&b=2&utm_source=x /a?a=1&b=2&gclid=7 /a?utm_medium=m /a /a /a?sid&xutm_a=1 " +
			"/a?UTM_source=1",
		"drop:utm_*":         "/a?b=2&a=1 /a?b=2&gclid=7&a=1 /a /a /a /a?xutm_a=1&sid /a?UTM_source=1",
		"drop:*utm_*|sid":    "/a?b=2&a=1 /a?b=2&gclid=7&a=1 /a /a /a /a /a?UTM_source=1",
		"drop:tracking":      "/a?b=2&a=1 /a?b=2&a=1 /a /a /a /a?xutm_a=1&sid /a?UTM_source=1",
		"drop:tracking|a":    "/a?b=2 /a?b=2 /a /a /a /a?xutm_a=1&sid /a?UTM_source=1",
		"sort+drop:tracking": "/a?a=1&b=2 /a?a=1&b=2 /a /a /a /a?sid&xutm_a=1 /a?UTM_source=1",
	} {
		if got := strings.Join(keysOf(t, log, "access:query="+query), " "); got != want {
			t.Errorf("query=%s:\ngot  %s\nwant %s", query, got, want)
		}
	}
	trace := must.Get(tracetest.LoadText(t, log, read.Options{Selection: read.Selection{
		Format: "access:query=sort+drop:tracking"}}))(t)
	line := traces.Lines(trace.Readings, "")[0]
	if !strings.Contains(line, "with sorted query without tracking parameters") ||
		!strings.Contains(line, "among them 3 with parameters that do not belong to the key") {
		t.Error(line)
	}
	for _, query := range []string{"drop:", "drop:a|", "drop:a=1", "sort+", "sort+drop", "utm_*"} {
		_, err := tracetest.ReadText(t, log, "access:query="+query)
		must.Fail(t, err, "query="+query, query)
	}
}

// Where tracking parameters make many keys, the trace says how many at least, and what to do; nothing after it is done.
func TestTrackingIsSuggested(t *testing.T) {
	var urls []string
	for i := range 100 {
		urls = append(urls, fmt.Sprintf("/%d?utm_campaign=%d", i%10, i), fmt.Sprintf("/%d?a=%d", i%10, i%3))
	}
	hint := func(format string) string {
		opts := read.Options{Selection: read.Selection{Format: format}}
		trace := must.Get(tracetest.LoadText(t, getting(urls...), opts))(t)
		for _, warning := range trace.Warnings {
			if strings.Contains(warning, "tracking") {
				return fmt.Sprint(trace.NumObjects, " objects; ", warning)
			}
		}
		return fmt.Sprint(trace.NumObjects, " objects")
	}
	const want = "130 objects; 100 of 200 requests have tracking parameters (utm_source, ...); --input-format " +
		"access:query=drop:tracking saves 90 of 130 keys or more"
	if got := hint(""); got != want {
		t.Error(got)
	}
	if got := hint("access:query=drop:tracking"); got != "40 objects" {
		t.Error(got)
	}
	urls = urls[1:2] // too few to speak of
	if got := hint(""); got != "1 objects" {
		t.Error(got)
	}
}

// TestCloudFrontWithoutFields: standard logs of CloudFront are recognised without the line that names their columns, in
// all their layouts, and with that line after the first requests.
func TestCloudFrontWithoutFields(t *testing.T) {
	cells := strings.Fields("2019-12-04 21:02:31 LAX1-C1 392 192.0.2.100 GET d111.cloudfront.net /index.html 200 - " +
		"Mozilla/5.0%20(X) v=1 - Hit SOX4== example.com https 23 0.001 - TLSv1.2 ECDHE Hit HTTP/2.0 - - 11040 0.001 Hit " +
		"text/html 78 - -")
	const names = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem " +
		"sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header\n"
	for _, columns := range []int{15, 18, 24, 26, 29, 33} {
		line := strings.Join(cells[:columns], "\t") + "\n"
		want := "2019-12-04T21:02:31 read example.com/index.html?v=1 392 hit"
		if columns < 16 {
			want = "2019-12-04T21:02:31 read d111.cloudfront.net/index.html?v=1 392 hit"
		}
		for _, log := range []string{line + line, "#Version: 1.0\n" + line + line,
			line + names + strings.Join(cells[:16], "\t") + "\n"} {
			recs, err := tracetest.ReadText(t, log, "")
			if err != nil || len(recs) != 2 || describe(recs[0]) != want || columns > 15 && describe(recs[1]) != want {
				t.Errorf("%d columns: %v, %+v", columns, err, recs)
			}
		}
		trace := must.Get(tracetest.LoadText(t, line+line, read.Options{}))(t)
		if said := traces.Lines(trace.Readings, "")[0]; !strings.Contains(said, "w3c, columns of CloudFront by their shape") {
			t.Error(said)
		}
	}
	for name, line := range map[string]string{
		"too few columns":  strings.Join(cells[:11], "\t"),
		"too many columns": strings.Join(cells, "\t") + "\tx",
		"no edge":          strings.Replace(strings.Join(cells, "\t"), "LAX1-C1", "here", 1),
	} {
		if trace, err := tracetest.LoadText(t, line+"\n"+line+"\n", read.Options{}); err == nil &&
			trace.Readings[0].Format == "w3c" {
			t.Errorf("%s: read as CloudFront's", name)
		}
	}
}
