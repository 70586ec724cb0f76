package tracestat_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results/tracestat"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestReads: statistics of reads count files, directories, jobs and what was cut.
func TestReads(t *testing.T) {
	list := tracetest.WriteTexts(t, "path,size\n/d/a,3000\n/d/b,10\n/e/c,50\n")[0]
	trace := tracetest.MustLoadText(t, "time,job,path,offset,length\n1,x,/d/a,0,3000\n0,y,/d/b,0,20\n2,x,/e/z,0,90\n",
		read.Options{Selection: read.Selection{Format: "reads:block=1,files=" + list},
			Needs: traces.Needs{Sizes: true, Times: true, Kind: true}})
	s := must.Get(tracestat.Summarize(trace))(t)
	r := s.Kind.(*tracestat.ReadSummary)
	if r.Reads != 3 || r.Files != 3 || r.Directories != 2 || *r.Jobs != 2 || *r.Listed != 3 ||
		r.Unlisted != 1 || r.Late != 1 || r.Cut != 1 || r.Lengths.Max != 3000 || r.Lengths.Min != 10 || r.Sizes.Median != 90 {
		t.Errorf("summary %+v, lengths %+v, sizes %+v", r, r.Lengths, r.Sizes)
	}
	var out strings.Builder
	must.Do(t, s.Print(&out, "table"))
	for _, want := range []string{"directories", "3 files listed, without 1 that are read", "bytes per file"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
