package weblogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestErrors: a log that is close to a format is refused with what differs, and with what reads it.
func TestErrors(t *testing.T) {
	const w3c = "#Fields: date time cs-method cs-uri-stem\n2000-01-01 00:00:00 GET /a\n"
	for name, c := range map[string]struct{ format, log, want string }{
		"a further column before the status": {"",
			`10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 0.003 200 2326` + "\n",
			`$status: status "0.003": want a number of three digits); paste the server's own: --input-format ` +
				`'access:format=`},
		"another order": {"", "2000-10-10T13:55:36Z example.com GET /a 200 2326\n",
			`no " [" after $client, which begins with "2000-10-10T13:55:36Z example.com GET /a "); paste the server's own`},
		"a text with few requests": {"", "hello, how are you\nGET /a 200\nwell and you\nfine so far\n",
			"matches no known trace format"},
		"a text that begins with something else": {"", "this is a header, is it\nGET /a 200\nGET /b 200 x\n",
			"matches no known trace format"},
		"a time in brackets first": {"", `[10/Aug/2018:09:45:56 +0200] ::1 TLSv1.2 "GET /a?b HTTP/1.1" 1375`,
			"paste the server's own"},
		"a format without a URL": {"access:format=$status", "200\n", "no field has the URL"},
		"a format that is none":  {"access:format=main", "200\n", `format "main": it has no fields`},
		"another option behind it": {"access:format=$request_uri,host=drop", "/a\n",
			`it ends with ",host=drop": name other options before it, as in access:host=drop,format=FORMAT`},
		"an option behind the format": {"access:format=$request_uri,query=drop", "/a\n",
			`it ends with ",query=drop": name other options before it, as in access:query=drop,format=FORMAT`},
		"two formats": {"access:format-file=x,format=combined", "/a\n", "format and format-file are both given"},
		"a bad option of a log that is not recognised": {"access:statuses=20x", "GET /a\n", "statuses=20x: want statuses"},
		"a log of another server": {"squid", "10.0.0.1 - - [10/Oct/2000:13:55:36 -0700]\n",
			"not in the format of squid"},
		"no names of columns":  {"w3c", "GET /a\n", "no line that begins with #Fields:"},
		"no column of URLs":    {"", "#Fields: date time cs-method\n2000-01-01 00:00:00 GET\n", "no field has the URL"},
		"other columns":        {"", w3c + "#Fields: date time cs-uri-stem sc-bytes\n", "split it at this line"},
		"columns without URLs": {"", w3c + "#Fields: date time\n", "no field has the URL"},
		"no hosts":             {"access:tenant=host", `- - - [10/Oct/2000:13:55:36] "GET /" 304 -`, "the log has no host"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.log, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

// TestColumnsThatCannotBeRead: lines below a bad #Fields are bad, too, so that few of them may be.
func TestColumnsThatCannotBeRead(t *testing.T) {
	log := "#Fields: cs-uri-stem sc-status\n/a 200\n#Fields: cs-uri-stem sc-bytes\n/b 1\n"
	opts := read.Options{BadLines: 1}
	trace := must.Get(tracetest.LoadText(t, log, opts))(t)
	if len(trace.Objects) != 1 {
		t.Errorf("%d requests, want that above the bad line", len(trace.Objects))
	}
}
