package recommender_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func FuzzInteractions(f *testing.F) {
	tracetest.Fuzz(f, "interactions:rate=5,tables=2,length=3", tracetest.ExampleOf(f, "interactions"),
		"1,2,3,pv,1511544070\n1,3,3,pv,1511544071\n1,2,3,buy,1511544071\n", "1::2::5::9\n1::3::5::8\n",
		`{"reviewerID":"a","asin":"x","unixReviewTime":5}`+"\n"+`{"reviewerID":"a","asin":"y","unixReviewTime":6}`+"\n",
		"userId,movieId,rating,timestamp\n1,2,4.0,9\n1,3,4.0,9\n")
}

func TestLogsOfInteractions(t *testing.T) {
	want := []string{
		"2000000000 7 1 [{0 2}] false 2 [0 1]",
		"4000000000 7 2 [{0 2} {1 2}] false 2 [0 1]",
		"5000000000 8 1 [{0 2}] false 2 [0]",
		"6000000000 7 2 [{1 2} {0 2}] false 2 [0 1]",
	}
	for name, content := range map[string]string{
		"taobao":    "7,10,1,pv,1\n7,20,1,pv,2\n7,10,1,buy,4\n7,30,1,pv,6\n8,10,9,pv,3\n8,20,9,pv,5\n",
		"amazon":    "7,10,5.0,1\n7,20,5.0,2\n7,10,1.0,4\n7,30,1.0,6\n8,10,5.0,3\n8,20,5.0,5\n",
		"tweetings": "7::10::8::1\n7::20::8::2\n7::10::3::4\n7::30::3::6\n8::10::9::3\n8::20::9::5\n",
		"movielens": "userId,movieId,rating,timestamp\n7,10,3.5,1\n7,20,3,2\n7,10,3,4\n7,30,3,6\n8,10,1,3\n8,20,1,5\n",
		"reviews 2018": `{"overall":5.0,"reviewerID":"7","asin":"10","reviewText":"a {b}","unixReviewTime":1}
{"reviewerID":"7","asin":"20","unixReviewTime":2}
{"reviewerID":"7","asin":"10","unixReviewTime":4}
{"reviewerID":"7","asin":"30","unixReviewTime":6}
{"reviewerID":"8","asin":"10","unixReviewTime":3}
{"reviewerID":"8","asin":"20","unixReviewTime":5}
`,
		"reviews 2023": `{"user_id":"7","asin":"x","parent_asin":"10","timestamp":1}
{"user_id":"7","parent_asin":"20","asin":"y","timestamp":2}
{"user_id":"7","parent_asin":"10","asin":"z","timestamp":4}
{"user_id":"7","parent_asin":"30","asin":"z","timestamp":6}
{"user_id":"8","parent_asin":"10","asin":"z","timestamp":3}
{"user_id":"8","parent_asin":"20","asin":"z","timestamp":5}
`,
	} {
		opts := needs
		opts.Format = "interactions:tables=2,length=2"
		trace := tracetest.MustLoadText(t, content, opts)
		got := stated(trace)
		if !slices.Equal(got, want) {
			t.Errorf("%s gives\n%s, want\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if trace.LeftOut() != 2 {
			t.Errorf("%s: %d left out, want 2", name, trace.LeftOut())
		}
	}
}

// TestRepeatedItemsAreReadOnce has a history with an item three times, whose rows are looked up three times.
func TestRepeatedItemsAreReadOnce(t *testing.T) {
	opts := needs
	opts.Format = "interactions:tables=3,tokens=4,min=4,user=2,item=1,time=3"
	trace := tracetest.MustLoadText(t, "a,u,1\nb,u,2\na,u,3\na,u,4\nc,u,5\n", opts)
	c := recommender.Of(trace.Kind)
	want := []recommender.Lookup{{Shard: 0, Rows: 36}, {Shard: 1, Rows: 12}}
	if got := c.Lookups(0, nil); !slices.Equal(got, want) || c.Tokens[0] != 16 || c.ShardRows != 12 || c.Shards != 3 {
		t.Errorf("%d tokens read %v of %d shards of %d rows", c.Tokens[0], got, c.Shards, c.ShardRows)
	}
}

// TestTimesAreScaled has a log of days, of which each has as many interactions as its number.
func TestTimesAreScaled(t *testing.T) {
	var log strings.Builder
	n := 0
	for day := range 40 {
		for range day + 1 {
			fmt.Fprintf(&log, "u%d,i%d,%d\n", n%3, n%5, day*86400)
			n++
		}
	}
	opts := needs
	opts.Format = "interactions:rate=10"
	trace := tracetest.MustLoadText(t, log.String(), opts)
	requests := len(trace.Times)
	if requests != n-3 {
		t.Fatalf("%d requests of %d interactions of 3 users", requests, n)
	}
	last := 0
	for i, at := range trace.Times {
		if i > 0 && at <= trace.Times[i-1] {
			t.Fatalf("request %d comes at %d ns, the one before at %d ns", i, at, trace.Times[i-1])
		}
		last = int(at)
	}
	if rate := float64(requests) / (float64(last) / 1e9); math.Abs(rate-10) > 0.5 || trace.Times[0] != 0 {
		t.Errorf("%.2f requests per second from %d ns on, want 10", rate, trace.Times[0])
	}
	same := tracetest.MustLoadText(t, "a,i,5\na,i,5\na,i,5\na,i,5\na,i,5\n", opts)
	if got, want := same.Times, []int64{0, 1e8, 2e8, 3e8}; !slices.Equal(got, want) {
		t.Errorf("a log of one time gives %v, want %v", got, want)
	}
}

// TestLogAsTableIsTheSame converts a log to a table of requests.
func TestLogAsTableIsTheSame(t *testing.T) {
	var log strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&log, "u%d::i%d::5::%d\n", i*i%97, i*i*i%301, i/3)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "ratings.dat")
	tracetest.WriteFile(t, path, []byte(log.String()))
	opts := needs
	opts.Format = "interactions:length=20,tables=5,rate=50"
	direct := must.Get(read.Load(t.Context(), []string{path}, opts))(t)
	for _, name := range []string{"t.csv", "t.parquet"} {
		to := filepath.Join(folder, name)
		convertWith(t, path, to, opts)
		loaded := must.Get(read.Load(t.Context(), []string{to}, needs))(t)
		if got, want := stated(loaded), stated(direct); !slices.Equal(got, want) {
			t.Errorf("%s has %d requests that differ from the %d of the log: first\n%s, want\n%s", name, len(got), len(want),
				got[0], want[0])
		}
	}
}

func TestBadLogsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ content, options, want string }{
		"one interaction": {"a,i,5\nb,i,6\n", "", "holds no requests: 2 rows left out (fewer than 1 interactions"},
		"time":            {"a,i,5\nb,i,x\n", "", `line 2: time "x"`},
		"empty":           {"a,i,5\n,i,6\n", "", "line 2: the user or the item is empty"},
		"columns":         {"a,5\nb,6\n", "", "2 columns: want at least user, item and time"},
		"header":          {"user,thing,time\na,b,5\n", "", "no known column of the item in the header"},
		"colons":          {"a::b::5\na::b\n", "", "line 2: 2 columns, but the lines before have 3"},
		"colon option":    {"a::b::5\na::b::6\n", "item=9", "no column 9: the file has 3 columns"},
		"no item":         {"a,i,5\na,j,6\n", "item=none", "option item=none: want a column"},
		"same column":     {"9,a,i,5\n9,a,j,6\n", "user=2", "user and item are both column 2"},
		"same colons":     {"a::b::5\na::b::6\n", "item=3", "item and time are both column 3"},
		"same name":       {"user,item,time\na,b,5\na,b,6\n", "time=item", "item and time are both column 2"},
		"json":            {`{"user":"a","item":"b"}` + "\n", "", "line 1: no field with the time"},
		"json syntax":     {`{"user":"a","item":"b","time":5` + "\n", "", "line 1"},
		"rows":            {"a,i,5\na,i,6\n", "tables=65536,tokens=1024", "want at most 2^29"},
		"tokens":          {"a,i,5\na,i,6\n", "length=65535,tokens=1024", "want at most 2^24 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := needs
			opts.Format = "interactions:" + test.options
			must.NotGet(tracetest.LoadText(t, test.content, opts))(t, test.want)
		})
	}
}

// TestSeveralLogsAreRefused: the history of a user would be that of one of them.
func TestSeveralLogsAreRefused(t *testing.T) {
	paths := tracetest.WriteTexts(t, "a,i,5\na,i,6\n", "a,i,7\na,i,8\n")
	opts := needs
	opts.Format = "interactions"
	_, err := read.Load(t.Context(), paths, opts)
	must.Fail(t, err, "concatenate the logs")
}

// TestMovieTweetings reads the published log: 100 000 ratings by 16 554 users.
func TestMovieTweetings(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("needs CACHESIM_TRACES, a folder with the real traces")
	}
	opts := needs
	opts.Format = "interactions"
	trace := must.Get(read.Load(t.Context(), []string{filepath.Join(folder, "dlrm",
		"movietweetings-ratings.dat.zst")}, opts))(t)
	c := recommender.Of(trace.Kind)
	if len(trace.Objects) != 100_000-16_554 || c.Shards != 10_506 || trace.LeftOut() != 16_554 {
		t.Errorf("%d requests of %d items, %d left out", len(trace.Objects), c.Shards, trace.LeftOut())
	}
}
