package tracestat

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// madeUp are the columns of a kind of workload that only this test has, and the section about it.
type madeUp struct {
	stream.Columns
	Heads int64 `json:"heads"`
}

func (m *madeUp) rows() []row                        { return []row{{"heads", "12"}} }
func (m *madeUp) distributions() []namedDistribution { return nil }

// TestNewKind: a kind of workload is one entry of the list.
func TestNewKind(t *testing.T) {
	defer func(all []kind) { kinds = all }(kinds)
	kinds = append(kinds[:len(kinds):len(kinds)], kind{"made_up", "For what is made up also the heads.",
		section(func(c stream.Columns) *madeUp { m, _ := c.(*madeUp); return m },
			func(_ *traces.Trace, m *madeUp) Section { return &madeUp{Heads: m.Heads} })})
	trace := &traces.Trace{Name: "t", Objects: []uint32{0, 1, 0}, NumObjects: 2}
	for _, test := range []struct {
		columns stream.Columns
		want    map[string]string
	}{
		{&madeUp{Heads: 12}, map[string]string{"json": `"recommender":null,"made_up":{"Columns":null,"heads":12},"zipf":`,
			"csv": "made_up.heads,12\n", "table": "heads "}},
		{nil, map[string]string{"json": `"prompts":null,"queries":null,"reads":null,"recommender":null,"made_up":null,`}},
	} {
		trace.Kind = test.columns
		s := summarize(t, trace)
		for format, want := range test.want {
			var out strings.Builder
			must.Do(t, s.Print(&out, format))
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
	if also := Also(); also[len(also)-1] != "For what is made up also the heads." {
		t.Errorf("the help says %q", also)
	}
}
