package tracestat_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results/tracestat"
	"github.com/cachesim/cachesim/internal/serving/hlem/traffic"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func init() { gen.Register(traffic.Generators...) } // as package sim/all does in the program

func TestRecommenderRequests(t *testing.T) {
	trace := tracetest.MustLoadText(t,
		"time,user,tokens,shards,shard_rows,hot\n0,a,10,1:5 7:3,5,1\n1,b,30,1:2,5,0\n2,a,10,2:1,5,1\n3,a,20,1:4,5,1\n",
		read.Options{Needs: traces.Needs{Times: true, Kind: true}})
	s := must.Get(tracestat.Summarize(trace))(t)
	r := s.Kind.(*tracestat.RecommenderSummary)
	if r == nil || r.Requests != 4 || r.Users != 2 || r.Active != nil || r.HotUsers != 1 || r.HotShare != 0.75 ||
		r.Shards != 8 || r.Touched != 3 || r.ShardRows != 5 || r.ProfileShare != 1 || r.Tokens.Max != 30 ||
		r.Rows.Max != 8 || r.Rows.Min != 1 || r.ShardsRead.Max != 2 {
		t.Errorf("summary %+v, tokens %+v, rows %+v", r, r.Tokens, r.Rows)
	}
	var out strings.Builder
	must.Do(t, s.Print(&out, "table"))
	for _, want := range []string{"hot users", "1 (75% of the requests)", "3 of 8, of 5 rows each", "tokens per request"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

// TestProfilesCoverWhatTheSpecificationSays: 96% of the lookups are of 64 own shards, and some of the others, too.
func TestProfilesCoverWhatTheSpecificationSays(t *testing.T) {
	spec := must.Get(gen.Parse("recommender(nodes=1,users=500,rate=200,epochs=20)", ""))(t)
	g := must.Get(gen.New(t.Context(), spec, nil))(t)
	trace := must.Get(read.LoadReader(t.Context(), "generated", g, g.Fields, int64(g.Requests()),
		read.Options{Needs: traces.Needs{Times: true, Kind: true}}))(t)
	s := must.Get(tracestat.Summarize(trace))(t)
	if r := s.Kind.(*tracestat.RecommenderSummary); r.ProfileShare < 0.95 || r.ProfileShare > 0.99 || *r.Active != 500 {
		t.Errorf("profiles cover %.4f of the rows, want 0.95 to 0.99; %d active users", r.ProfileShare, *r.Active)
	}
}
