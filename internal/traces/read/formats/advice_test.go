package formats_test

import (
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
