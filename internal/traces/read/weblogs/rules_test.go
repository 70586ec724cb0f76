package weblogs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// rulesFor returns rules with some options, for a log with all columns.
func rulesFor(t *testing.T, options string) *Rules {
	t.Helper()
	in := must.Get(source.OpenFile(t.Context(), "-", strings.NewReader("x\n")))(t)
	in.Together = new(source.Together)
	src := must.Get(source.New(in, in.Label, in.Path, in))(t)
	src.Reading = source.NewReading(in, "")
	opts := must.Get(params.ParseArgs(RuleOptions(), options))(t)
	all := Columns{Method: true, Host: true, Client: true, Status: true, Size: true, Time: true, TTL: true, Served: true}
	return must.Get(NewRules(src, opts, all))(t)
}

// entry returns an entry of "METHOD HOST TARGET STATUS BYTES".
func entry(t *testing.T, text string) *Entry {
	t.Helper()
	e := new(Entry)
	e.Reset()
	words := strings.Fields(text)
	e.Method, e.Host, e.Target = []byte(words[0]), []byte(words[1]), []byte(words[2])
	must.Get(fmt.Sscan(words[3]+" "+words[4], &e.Status, &e.Bytes))(t)
	return e
}

// describe writes a record as "OP KEY SIZE".
func describe(rec *stream.Record) string {
	return fmt.Sprintf("%v %s %d", rec.Op, stream.Key{Num: rec.Num, Text: string(rec.Text)}, rec.Size)
}

func TestRules(t *testing.T) {
	for _, c := range []struct{ options, entry, want string }{
		{"", "GET - /a?b=1 200 10", "read /a?b=1 10"},
		{"", "GET Example.COM:443 /a 200 10", "read example.com/a 10"},
		{"", "GET example.com:8080 /a 200 10", "read example.com:8080/a 10"},
		{"", "GET other http://Example.com:80/a?q 206 10", "read example.com/a?q 10"},
		{"", "GET - https://example.com 200 10", "read example.com/ 10"},
		{"", "GET - /to?u=http://x/y 200 10", "read /to?u=http://x/y 10"},
		{"", "GET - 17 200 10", "read 17 10"},
		{"statuses=all", "HELLO - error:invalid-request 400 10", notHTTP},
		{"query=drop", "GET h /a?b=1&c 200 10", "read h/a 10"},
		{"query=sort", "GET - /a?c=2&b=1& 200 10", "read /a?&b=1&c=2 10"},
		{"query=drop", "GET - ?b 200 10", noURL},
		{"", "GET - - 200 10", noURL},
		{"", "GET - /a 500 10", otherStatuses},
		{"", "GET - /a 0 10", "read /a 10"},
		{"", "GET - /a 999 10", otherStatuses},
		{"statuses=all", "GET - /a 500 10", "read /a 10"},
		{"statuses=5xx", "GET - /a 599 10", "read /a 10"},
		{"statuses=5xx", "GET - /a 200 10", otherStatuses},
		{"", "OPTIONS - /a 200 10", otherMethods},
		{"methods=all", "OPTIONS - /a 200 10", "read /a 10"},
		{"methods=all", "POST - /a 200 10", "write /a 0"},
		{"methods=get+post", "POST - /a 200 10", "read /a 10"},
		{"methods=get", "HEAD - /a 200 10", otherMethods},
		{"", "PUT - /a 201 10", "write /a 0"},
		{"", "PATCH - /a 0 10", "write /a 0"},
		{"", "DELETE - /a 204 10", "delete /a 0"},
		{"", "PURGE - /a 200 10", "delete /a 0"},
		{"", "DELETE - /a 403 10", otherStatuses},
		{"", "- - /a 200 10", "read /a 10"},
		{"", `\x16\x03 - /a 400 10`, notHTTP},
		{"", "GET - /" + strings.Repeat("a", longestKey) + " 200 1", longURLs},
	} {
		rules := rulesFor(t, c.options)
		var rec stream.Record
		got := ""
		switch err := rules.Record(entry(t, c.entry), &rec); err {
		case nil:
			got = describe(&rec)
		case source.ErrLeftOut:
			got = rules.src.Reading.Reasons[0].Sort
		}
		if got != c.want {
			t.Errorf("%s %.80s: got %q, want %q", c.options, c.entry, got, c.want)
		}
	}
}

// TestResponsesWithoutBody: the size is that of the object when it was last sent, of which a part is no size.
func TestResponsesWithoutBody(t *testing.T) {
	rules := rulesFor(t, "")
	var got []string
	for _, line := range []string{"GET - /a 304 0", "GET - /a 200 10", "HEAD - /a 200 0", "GET - /a 304 0",
		"PUT - /a 200 3", "GET - /a 206 4", "GET - /a 304 0", "HEAD - /b 200 0", "GET - /b 206 4", "GET - /b 206 2",
		"HEAD - /b 200 0"} {
		var rec stream.Record
		must.Do(t, rules.Record(entry(t, line), &rec))
		if rec.SizeUnknown {
			got = append(got, "?")
			continue
		}
		got = append(got, fmt.Sprint(rec.Size))
	}
	if got, want := strings.Join(got, " "), "? 10 10 10 10 4 10 ? 4 2 4"; got != want {
		t.Errorf("sizes %s, want %s", got, want)
	}
	want := []stream.Tally{{Sort: "conditional (304)", N: 3}, {Sort: "of a range (206)", N: 3}}
	if got := rules.src.Reading.Notable; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// TestResponsesThatNoCacheMayStore: reads of them are left out, writes still invalidate.
func TestResponsesThatNoCacheMayStore(t *testing.T) {
	for line, want := range map[string]error{"GET - /a 200 1": source.ErrLeftOut, "PUT - /a 200 1": nil} {
		rules, e := rulesFor(t, ""), entry(t, line)
		e.SetCacheControl([]byte("private"))
		if got := rules.Record(e, new(stream.Record)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

func TestRuleOptionErrors(t *testing.T) {
	in := must.Get(source.OpenFile(t.Context(), "-", strings.NewReader("x\n")))(t)
	in.Together = new(source.Together)
	src := must.Get(source.New(in, in.Label, in.Path, in))(t)
	src.Reading = source.NewReading(in, "")
	for options, want := range map[string]string{
		"methods=GET+":    "joined by +",
		"methods=G/T":     "joined by +",
		"statuses=200+99": "from 100 to 599",
		"statuses=6xx":    "from 100 to 599",
		"statuses=":       "from 100 to 599",
		"tenant=user":     "want host, client, method, status, path or directory",
		"tenant=host":     "the log has no host",
	} {
		opts := must.Get(params.ParseArgs(RuleOptions(), options))(t)
		must.NotGet(NewRules(src, opts, Columns{}))(t, want, options)
	}
}

func TestTenants(t *testing.T) {
	for options, want := range map[string]string{"tenant=host": "h.example", "tenant=tenant": "h.example",
		"tenant=client": "10.0.0.1", "": ""} {
		e := entry(t, "GET H.example:80 /a 200 1")
		e.Client = []byte("10.0.0.1")
		var rec stream.Record
		must.Do(t, rulesFor(t, options).Record(e, &rec))
		if string(rec.Tenant) != want {
			t.Errorf("%s: got %q, want %q", options, rec.Tenant, want)
		}
	}
}

func TestAddressesOfClients(t *testing.T) {
	for client, want := range map[string]string{"10.0.0.1": "10.0.0.1", "10.0.0.1:2817": "10.0.0.1", "::1": "::1",
		"[::1]:2817": "[::1]", "10.0.0.1, 10.0.0.2": "10.0.0.1", "": "", "-": "-"} {
		if got := addressOf([]byte(client)); string(got) != want {
			t.Errorf("%q: %q, want %q", client, got, want)
		}
	}
}
