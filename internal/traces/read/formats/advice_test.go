package formats_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestAdviceCanBePasted: what an error proposes reads the file.
func TestAdviceCanBePasted(t *testing.T) {
	for name, c := range map[string]struct {
		content, want, spec string
		records             int
	}{
		"no name is known": {"ts;page;n\n1;/a;3\n2;/b;5\n3;/a;9\n",
			"judging by the first rows: --input-format csv:key=page (",
			"csv:key=page", 3},
		"no header": {"1772366400,7,/a,x\n1772366401,8,/b,x\n1772366402,9,/a,x\n",
			"judging by the first rows: --input-format csv:key=3,time=1 (", "csv:key=3,time=1", 3},
		"blanks": {"1772366400 aa 10 x\n1772366401 bb 20 y\n1772366401 aa 20 y\n",
			"judging by the first rows: --input-format csv:key=2,time=1 (", "csv:key=2,time=1", 3},
		"operations": {
			"1772366400,a,set,1\n1772366401,b,set,9\n1772366402,a,get\n1772366403,b,get,9\n1772366403,b,get,9\n",
			"judging by the first rows: --input-format csv:key=2,time=1,op=3 (", "csv:key=2,time=1,op=3", 5},
		"operations before keys": {"x,y,z\nset,a,1\nget,b,1\nget,a,1\n",
			"judging by the first rows: --input-format csv:key=y,op=x (", "csv:key=y,op=x", 3},
		"letters are keys": {"x,y\nr,1\nw,2\nr,2\n",
			"judging by the first rows: --input-format csv:key=x (", "csv:key=x", 3},
		"numbers that repeat": {"page no,b\n5,0.5\n6,1.5\n5,2.5\n",
			"judging by the first rows: --input-format csv:key=1 (", "csv:key=1", 3},
		"only fractions": {"a,b\n1.5,0.5\n2.5,1.5\n", "name it with --input-format csv:key=NAME", "csv:key=1", 2},
		"words with values": {"at=17 op=get key=/x size=10 x=\"y z\"\nat=18 op=get key=/y size=20\n",
			`--input-format 'regex:pattern=\bop="?(?<op>[^" ]+).*\bkey="?(?<key>[^" ]+).*\bsize="?(?<size>[^" ]+)'`,
			`regex:pattern=\bop="?(?<op>[^" ]+).*\bkey="?(?<key>[^" ]+).*\bsize="?(?<size>[^" ]+)`, 2},
		"words with values after others": {"12:00:01 INFO read path=/x\n12:00:02 INFO read path=/y\n",
			`--input-format 'regex:pattern=\bpath="?(?<key>[^" ]+)'`, `regex:pattern=\bpath="?(?<key>[^" ]+)`, 2},
		"other lines between": {"at key=/x\nslow\nat key=/y\n", `'regex:unmatched=skip,pattern=\bkey="?(?<key>[^" ]+)'`,
			`regex:unmatched=skip,pattern=\bkey="?(?<key>[^" ]+)`, 2},
		"a date with a blank": {"2023/11/08 10:00:01  200 GET 10.1.2.3 /cas/ae\n" +
			"2023/11/08 10:00:02  200 PUT 10.1.2.3 /cas/be\n2023/11/08 10:00:04 GRPC AC HIT dec0\n",
			`'regex:unmatched=skip,pattern=^(?<time>\S+ \S+)\s+\S+\s+(?<op>\S+)\s+\S+\s+(?<key>/\S*)'`,
			`regex:unmatched=skip,pattern=^(?<time>\S+ \S+)\s+\S+\s+(?<op>\S+)\s+\S+\s+(?<key>/\S*)`, 2},
		"a date with a blank in a table": {"2023-11-08 10:00:01.5 7 /cas/ae\n2023-11-08 10:00:02.5 9 /cas/be\n",
			`begins with a date and a time; let a regular expression cut the lines: --input-format ` +
				`'regex:pattern=^(?<time>\S+ \S+)\s+\S+\s+(?<key>/\S*)'`,
			`regex:pattern=^(?<time>\S+ \S+)\s+\S+\s+(?<key>/\S*)`, 2},
		"a date and no path": {"2023-11-08 10:00:01 started the server\n",
			`'regex:pattern=(?<time>\S+ \S+) (?<key>\S+)'`, "", -1},
		"a debug log of memcached": {"slab class   1: chunk size        96\n" +
			"<31 get /a\n>31 sending key /a\n>31 END\n" +
			"<31 gets /b\n>31 END\n<31 set /b 0 0 3\n>31 STORED\n<31 version\n",
			"is a debug log of memcached (-vv), which has neither times nor the sizes of what is read; log its requests with " +
				"both: send it watch fetchers mutations",
			`regex:unmatched=skip,pattern=^<\d+ (?<op>get|set|add|replace|append|prepend|incr|decr|delete)s? (?<key>\S+)`, 3},
		"sentences": {"started the server\nread /x\n",
			`cut the lines: --input-format 'regex:pattern=(?<time>\S+) (?<key>\S+)'`,
			"", -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracetest.ReadText(t, c.content, "")
			must.Fail(t, err, c.want, name)
			if c.records < 0 {
				return
			}
			if got := must.Get(tracetest.ReadText(t, c.content, c.spec))(t); len(got) != c.records {
				t.Errorf("%s reads %d records, want %d", c.spec, len(got), c.records)
			}
		})
	}
}

// TestGinIsNoAccessLog: the log of Ollama at its default level is told from an access log.
func TestGinIsNoAccessLog(t *testing.T) {
	log := strings.Repeat("[GIN] 2025/10/03 - 13:22:32 | 200 |   2.1s |             ::1 | POST     \"/api/generate\"\n", 3)
	_, err := tracetest.ReadText(t, log, "")
	must.Fail(t, err, "begins with requests of Ollama")
}
