package formats

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// loose are invented formats that fit nearly any log, and what else their authors may have thought of.
var loose = []string{`
name: loose-numbers
layouts:
- columns: comma
  more: true
  fields: [{name: a, is: key}, {name: b}]
examples: [{text: "a,x\n", gives: [{key: a}]}]
`, `
name: loose-blanks
layouts:
- columns: space
  more: true
  fields: [{name: at, type: number}, {name: what, is: key}]
examples: [{text: "5 x\n", gives: [{key: x}]}]
`, `
name: loose-words
layouts:
- columns: comma
  more: true
  fields: [{name: a}, {name: b, is: op, words: {read: [R, Read, get, "0", "1"], write: [W, Write, set]}, others: skip},
    {name: c, is: key}]
- columns: comma
  more: true
  fields: [{name: a}, {name: b}, {name: c, is: op, words: {read: [R, Read, get, "0", "1"], write: [W, Write, set]}},
    {name: d, is: key}]
examples: [{text: "me,R,x\n", gives: [{key: x}]}]
`, `
name: loose-server
layouts: [{line: '$any "$request" $status $body_bytes_sent'}]
examples: [{text: "me \"GET /a HTTP/1.1\" 200 5\n"}]
`, `
name: loose-objects
layouts: [{json: lines, fields: [{is: key, path: .key}], needs: [[.status, .timestamp, .host, .url]]}]
examples: [{text: "{\"key\":\"a\",\"status\":1}\n"}]
`, `
name: loose-pattern
layouts: [{pattern: '(?<key>\S+) (?<time>\S+)'}]
examples: [{text: "a 5\n"}]
`, `
name: loose-request
layouts: [{pattern: '"GET (?<key>\S+)'}]
examples: [{text: "\"GET /a HTTP/1.1\"\n"}]
`}

// TestLooseFormatsTakeNoLogs adds formats that fit nearly anything: no example of another format is taken for one of
// them, or becomes ambiguous.
func TestLooseFormatsTakeNoLogs(t *testing.T) {
	all := slices.Clone(formats())
	for _, text := range loose {
		f := must.Get(layouts.Parse("loose.yaml", []byte(text)))(t)
		format := must.Get(formatOf(f))(t)
		format.Data, format.Example = true, f.Example()
		all = append(all, format)
		alone := source.NewHead([]byte(f.Example()+"\n"), true)
		if format.Detect(alone, "") == source.No {
			t.Errorf("%s does not fit its own example", f.Name)
		}
	}
	tried := 0
	for _, f := range All() {
		if f.Example == "" {
			continue
		}
		head := source.NewHead([]byte(f.Example+"\n"), true)
		want, sure := surest(head, "")
		got, surer := surestOf(all, head, "")
		if tried++; !slices.Equal(namesOf(got), namesOf(want)) || surer != sure {
			t.Errorf("the example of %s is %v with loose formats, and %v without", f.Name, namesOf(got), namesOf(want))
		}
	}
	if tried < 20 {
		t.Errorf("tried only %d examples", tried)
	}
}
