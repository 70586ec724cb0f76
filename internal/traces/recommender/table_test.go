package recommender_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// needs are those of models.
var needs = read.Options{Needs: traces.Needs{Times: true, Kind: true, Keys: true}}

func FuzzRecommender(f *testing.F) {
	tracetest.Fuzz(f, "recommender", tracetest.ExampleOf(f, "recommender"),
		"user,tokens,rows,shard_rows,hot\na,5,1 2 3,2,1\nb,7,99,2,\n",
		"tokens,user,shards\n1,\"x, y\",3 4:7 3:1\n", "user,tokens,shards\nu,1,134217728\n")
}

// stated writes what a trace says about its requests.
func stated(t *traces.Trace) (lines []string) {
	c := recommender.Of(t.Kind)
	for i, user := range t.Objects {
		time := int64(0)
		if t.Times != nil {
			time = t.Times[i]
		}
		lines = append(lines, fmt.Sprint(time, t.Keys[user], c.Tokens[i], c.Lookups(i, nil), c.Hot(i), c.ShardRows,
			c.Profile(user)))
	}
	return lines
}

func TestTableOfRequests(t *testing.T) {
	trace := tracetest.MustLoadText(t, "time,user,tokens,shards,hot\n1.5,a,10,3:2 1:5 3:7,1\n2,7,20,4,0\n", needs)
	want := []string{
		"1500000000 a 10 [{3 9} {1 5}] true 1024 [3 1]",
		"2000000000 7 20 [{4 1024}] false 1024 [4]",
	}
	if got := stated(trace); !slices.Equal(got, want) {
		t.Errorf("got\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	rows := tracetest.MustLoadText(t, "tokens,rows,user,shard_rows\n10,17 35 18 36,a,16\n", needs)
	if got, want := stated(rows), []string{"0 a 10 [{1 2} {2 2}] false 16 [1 2]"}; !slices.Equal(got, want) {
		t.Errorf("rows give %v, want %v", got, want)
	}
	opts := needs
	opts.Format = "recommender:user=u,rows-per-shard=10,time=none"
	named := tracetest.MustLoadText(t, "time,u,tokens,rows\n10,17,18,19 20\n", opts)
	if got, want := stated(named), []string{"0 17 18 [{1 1} {2 1}] false 10 [1 2]"}; !slices.Equal(got, want) {
		t.Errorf("named columns give %v, want %v", got, want)
	}
}

// TestRequestsAreReadAsWritten writes requests as CSV and as Parquet, and each of these as the other.
func TestRequestsAreReadAsWritten(t *testing.T) {
	records := []stream.Record{
		{Time: 5e8, Num: 12, Extra: &recommender.Head{Tokens: 7, ShardRows: 25, Hot: 1,
			List: []recommender.Lookup{{Shard: 9, Rows: 25}, {Shard: 2, Rows: 50}}}},
		{Time: 6e8, Text: []byte("u,\"1\""), Extra: &recommender.Head{Tokens: 1 << 24, ShardRows: 25, Hot: -1,
			List: []recommender.Lookup{{Shard: 1<<27 - 1, Rows: 1}}}},
		{Time: 6e8, Num: 12, Extra: &recommender.Head{Tokens: 7, ShardRows: 25, Hot: 1,
			List: []recommender.Lookup{{Shard: 0, Rows: 1 << 28}}}},
	}
	fields := stream.Fields{Time: true, Kind: recommender.Kind{}}
	folder := t.TempDir()
	load := func(path string) []string {
		trace := must.Get(read.Load(t.Context(), []string{path}, needs))(t)
		return stated(trace)
	}
	var want []string
	for _, name := range []string{"a.csv", "a.parquet", "a.csv.gz"} {
		path := filepath.Join(folder, name)
		tracetest.Write(t, path, fields, records)
		got := load(path)
		if want == nil {
			want = got
		}
		if len(got) != len(records) || !slices.Equal(got, want) {
			t.Errorf("%s has\n%s, want\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, other := range []string{"b.csv", "b.parquet"} {
			again := filepath.Join(folder, name+other)
			convert(t, path, again)
			if got := load(again); !slices.Equal(got, want) {
				t.Errorf("%s, as %s, has\n%s, want\n%s", name, other, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// convert writes the requests of a file to another, as `cachesim convert` does.
func convert(t *testing.T, from, to string) {
	t.Helper()
	convertWith(t, from, to, needs)
}

func convertWith(t *testing.T, from, to string, opts read.Options) {
	t.Helper()
	var w *write.Writer
	_, err := read.Scan(t.Context(), []string{from}, opts, func(fields stream.Fields) (err error) {
		w, err = write.Create(t.Context(), to, write.Options{Fields: fields})
		return err
	}, func(rec *stream.Record) error { return w.Write(rec) })
	if err == nil {
		err = w.Close()
	}
	must.Do(t, err)
}

// TestParquetWithRows has more rows than a row group, so that not all are held when they are written.
func TestParquetWithRows(t *testing.T) {
	type row struct {
		User   string `parquet:"user"`
		Tokens int32  `parquet:"tokens"`
		Rows   string `parquet:"rows"`
	}
	rows := make([]row, 9000)
	for i := range rows {
		rows[i] = row{fmt.Sprint("u", i%7), int32(i + 1), fmt.Sprintf("%d %d", i, i+2048)}
	}
	folder := t.TempDir()
	first, second := filepath.Join(folder, "rows.parquet"), filepath.Join(folder, "shards.parquet")
	tracetest.WriteFile(t, first, []byte(tracetest.ParquetOf(t, rows)))
	convert(t, first, second)
	for _, path := range []string{first, second} {
		trace := must.Get(read.Load(t.Context(), []string{path}, needs))(t)
		c := recommender.Of(trace.Kind)
		if c == nil || len(c.Tokens) != len(rows) || trace.NumObjects != 7 {
			t.Fatalf("%s: %d requests of %d users", path, len(trace.Objects), trace.NumObjects)
		}
		want := []recommender.Lookup{{Shard: 8, Rows: 1}, {Shard: 10, Rows: 1}}
		if got := c.Lookups(8999, nil); !slices.Equal(got, want) {
			t.Errorf("%s: the last request reads %v, want %v", path, got, want)
		}
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ content, format, want string }{
		"no shards":   {"user,tokens\na,1\n", "recommender", "neither a column shards nor rows"},
		"no user":     {"tokens,shards\n1,1\n", "recommender", "no column user in the header"},
		"both":        {"user,tokens,shards,rows\na,1,1,1\n", "", "columns shards and rows: want one of them"},
		"tokens":      {"user,tokens,shards\na,x,1\n", "", `line 2: tokens: "x": want a whole number`},
		"no history":  {"user,tokens,shards\na,0,1\n", "", "line 2: 0 tokens: want 1 to 2^24; a user without a history"},
		"shard":       {"user,tokens,shards\na,1,b:2\n", "", `line 2: "b:2": want a shard and the number of its rows`},
		"large shard": {"user,tokens,shards\na,1,134217728:2\n", "", "shard 134217728: want numbers below 2^27"},
		"many rows":   {"user,tokens,shards\na,1,1:536870913\n", "", "reads more than 2^29 rows"},
		"overflow":    {"user,tokens,shards\na,1,1:18446744073709551615 1:1\n", "", "reads more than 2^29 rows"},
		"no rows":     {"user,tokens,shards\na,1,1:0\n", "", "no rows of shard 1"},
		"empty list":  {"user,tokens,shards\na,1,\n", "", "a request that reads no shard"},
		"row":         {"user,tokens,rows\na,1,99999999999999\n", "", "row 99999999999999 in shards of 1024: shard"},
		"empty user":  {"user,tokens,shards\n,1,1\n", "", "line 2: the user is empty"},
		"cut off":     {"user,tokens,shards\na,1,1\nb,", "", "the file ends within this line"},
		"time":        {"user,tokens,shards,time\na,1,1,-5\n", "", "time"},
		"clock": {"user,tokens,shards,time\na,1,1,5\nb,1,1,4\n", "",
			"time 4 s is before the previous request's, 5 s: want ascending times"},
		"shard rows": {"user,tokens,shards,shard_rows\na,1,1,5\nb,1,1,6\n", "", "6 rows in a shard after requests with 5"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := needs
			opts.Format = test.format
			must.NotGet(tracetest.LoadText(t, test.content, opts))(t, test.want)
		})
	}
}

// TestManyShardsOfARequest has a list that needs a large index, with each shard twice.
func TestManyShardsOfARequest(t *testing.T) {
	var list strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&list, "%d:2 ", i%30_000*1024)
	}
	opts := needs
	opts.Format = "recommender"
	_, err := tracetest.LoadText(t, "user,tokens,shards\na,1,"+list.String()+"\n", opts)
	must.Do(t, err)
	list.Reset()
	for i := range 65_536 {
		fmt.Fprintf(&list, "%d ", i)
	}
	_, err = tracetest.LoadText(t, "user,tokens,shards\na,1,"+list.String()+"\n", opts)
	must.Fail(t, err, "more than 65535 shards")
}
