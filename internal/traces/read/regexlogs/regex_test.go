package regexlogs_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// describe writes records as "SECONDS OP KEY SIZE TTL SERVED TENANT;".
func describe(records []stream.Record) (text string) {
	for _, r := range records {
		text += fmt.Sprintf("%g %v %v %d %g %d %s;", float64(r.Time)/1e9, r.Op, stream.Key{Num: r.Num, Text: string(r.Text)},
			r.Size, float64(r.TTL)/1e9, r.Served, r.Tenant)
	}
	return text
}

func TestPatterns(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"a key": {"1.5 get a,b 10\n2 SET 17 -\n", `regex:pattern=^(?<time>\S+) (?<op>\w+) (?<key>\S+) (?<size>\S+)$`,
			"1.5 read a,b 10 0 0 ;2 write 17 0 0 0 ;"},
		"in quotes": {"k=a,v=1\nk=b,v=\n", `regex:pattern='k=(?P<key>\w+),v=(?P<size>\d*)',ops=all`,
			"0  a 1 0 0 ;0  b 0 0 0 ;"},
		"everything": {"1600000000000 u1 a HIT ttl=60\n", `regex:time-unit=auto,pattern=(?<time>\d+) (?<tenant>\w+) ` +
			`(?<key>\w+) (?<cache>\w+) ttl=(?<ttl>\d+)`, "1.6e+09  a 0 60 1 u1;"},
		"lines that do not match": {"# comment\nkey a\n\tother\nkey b\n", `regex:unmatched=skip,pattern=^key (?<key>.+)`,
			"0  a 0 0 0 ;0  b 0 0 0 ;"},
		"reads only":       {"get a\ndel b\n", `regex:ops=reads,pattern=(?<op>\w+) (?<key>\w+)`, "0 read a 0 0 0 ;"},
		"a tenant by name": {"get a\n", `regex:tenant=key,pattern=(?<key>\w)$`, "0  a 0 0 0 a;"},
		"an access log": {"10/Oct/2000:13:55:36 -0700 h.org GET /a?x=1 200 5 TCP_HIT\n" +
			"10/Oct/2000:13:55:37 -0700 h.org GET /a 500 5 TCP_MISS\n10/Oct/2000:13:55:38 -0700 h.org POST /a 204 - -\n",
			`regex:query=drop,pattern=^(?<time>\S+ \S+) (?<host>\S+) (?<method>\S+) (?<path>\S+) (?<status>\d+) ` +
				`(?<size>\S+) (?<cache>\S+)`, "9.71211336e+08 read h.org/a 5 0 1 ;9.71211338e+08 write h.org/a 5 0 0 ;"},
		"an optional group": {"a 1\nb\n", `regex:pattern=^(?<key>\w+)(?: (?<size>\d+))?`, "0  a 1 0 0 ;0  b 0 0 0 ;"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			for i := range got { // the lines are gone
				got[i].Tenant = bytes.Clone(got[i].Tenant)
			}
			if err != nil || describe(got) != c.want {
				t.Errorf("got %s, %v, want %s", describe(got), err, c.want)
			}
		})
	}
}

func TestPatternsRefuse(t *testing.T) {
	for _, c := range []struct{ content, format, want string }{
		{"a\n", "regex", "no pattern: want one with a named group"},
		{"a\n", "regex:pattern=(", "pattern: error parsing regexp: missing closing )"},
		{"a\n", "regex:pattern=(.*)", "no group for the key: want (?<key>...)"},
		{"a\n", "regex:pattern=(?<kye>.*)", `pattern: unknown group "kye"; did you mean "key"?`},
		{"a\n", "regex:pattern=(?<key>.)(?<path>.*)", "groups key and path are both the key"},
		{"a\n", "regex:pattern=(?<key>.)(?<host>.*)", "group host has no effect beside key"},
		{"a\n", "regex:pattern=(?<path>.)(?<op>.*)", "group op has no effect beside path: want method"},
		{"a\n", "regex:pattern=(?<key>.)(?<op>.*)(?<method>.*)", "groups op and method are both"},
		{"a\n", "regex:pattern=(?<key>.)(?<served>.*)(?<cache>.*)", "two groups are served"},
		{"a\n", "regex:query=drop,pattern=(?<key>.)", "query=drop has no effect with a group key"},
		{"a\n", "regex:tenant=x,pattern=(?<key>.)", `tenant "x": the pattern has no such group`},
		{"a\nb\n", `regex:pattern=(?<key>\d)`, `the pattern matches none of the first 2 lines (the first is "a")`},
		{"1\nb\n", `regex:pattern=(?<key>\d)`, `line 2: "b" does not match the pattern; unmatched=skip skips such lines`},
		{"1\n\n1\n", `regex:pattern=(?<key>\d)`, `line 2: a blank line`},
		{"a 1\n b\n", `regex:pattern=(?<key>\w*) `, "line 2: group key: the key is empty"},
		{"a x\n", `regex:pattern=(?<key>\w) (?<size>.)`, `line 1: size "x"`},
		{"a x\n", `regex:pattern=(?<key>\w) (?<time>.)`, `line 1: time "x"`},
		{"a x\n", `regex:pattern=(?<key>\w) (?<ttl>.)`, `line 1: time to live "x"`},
		{"a x\n", `regex:pattern=(?<key>\w) (?<op>.)`, `line 1: operation "x"`},
		{"a x\n", `regex:pattern=(?<path>\w) (?<status>.)`, `line 1: status "x"`},
	} {
		_, err := tracetest.ReadText(t, c.content, c.format)
		must.Fail(t, err, c.want, c.format)
	}
}

// TestPatternsAreStated: the note, and a format that reads the file again.
func TestPatternsAreStated(t *testing.T) {
	const spec = `regex:pattern='^at (?<time>\S+), (?<key>\S+)$'`
	for range 2 {
		trace := tracetest.MustLoadText(t, "at 1600000000123, a\n",
			read.Options{Selection: read.Selection{Format: spec}})
		const wantSpec = `regex:time-unit=ms,pattern='^at (?<time>\S+), (?<key>\S+)$'`
		if r := trace.Readings[0]; r.Text() != "regex; key, time in ms" || r.Spec != wantSpec {
			t.Errorf("got %s and %s, want %s", r.Text(), r.Spec, wantSpec)
		}
	}
}

func FuzzRegex(f *testing.F) {
	tracetest.FuzzAll(f, []string{`regex:pattern=^(?<time>\S*) (?<op>\w*) (?<key>\S*) (?<size>\S*) (?<ttl>\S*)`,
		`regex:unmatched=skip,pattern=(?<method>\w+) (?<path>\S*) (?<status>\S*)`}, "1 get a 10 -\n", "GET /a 200\n\n", "x\n")
}

func BenchmarkRegex(b *testing.B) {
	var content bytes.Buffer
	const lines = 100_000
	for i := range lines {
		fmt.Fprintf(&content, "%d.25 get user:%d 4096\n", 1772366400+i, i%5000)
	}
	b.SetBytes(int64(content.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s := must.Get(read.Open("-", read.Options{Stdin: bytes.NewReader(content.Bytes()),
			Selection: read.Selection{Format: `regex:pattern=^(?<time>\S+) (?<op>\S+) (?<key>\S+) (?<size>\d+)$`}}))(b)
		var rec stream.Record
		for range lines {
			must.Do(b, s.Read(&rec))
		}
	}
}
