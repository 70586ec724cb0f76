package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// readingsOf writes files, reads them together and returns how they were read.
func readingsOf(t *testing.T, opts read.Options, files ...[2]string) *traces.Trace {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, f := range files {
		path := filepath.Join(dir, f[0])
		must.Do(t, os.WriteFile(path, []byte(f[1]), 0o644))
		paths = append(paths, path)
	}
	return must.Get(read.Load(t.Context(), paths, opts))(t)
}

// A reading is reported in one line, and as a format that needs no detection.
func TestReading(t *testing.T) {
	for name, c := range map[string]struct{ file, content, format, line, spec string }{
		"named columns": {
			"a.csv", "when_,timestamp,url,bytes\nx,1,/a,10\nx,2,/b,20\n", "",
			"a.csv: csv, comma; key url, time timestamp in s, size bytes (!)",
			"csv:key=url,time=timestamp,size=bytes,delimiter=comma,header=true",
		},
		"columns named by what they are": {
			"a.tsv", "time\tkey\tsize\n1\tx\t10\n", "", "a.tsv: csv, tab; key, time in s, size (!)",
			"csv:key=key,time=time,size=size,delimiter=tab,header=true",
		},
		"dates": {
			"a.csv", "time,key\n2023-11-16 18:17:03,x\n", "", "a.csv: csv, comma; key, time as dates",
			"csv:key=key,time=time,delimiter=comma,header=true",
		},
		"another format than it looks like": {
			"a.csv", "128166372003061629,hm,1,Read,2383872,4096,100\n", "plain",
			"a.csv: plain (it looks like msr); one key per line", "plain",
		},
		"a table by other columns than it looks like": {
			"a.csv", "128166372003061629,hm,1,Read,2383872,4096,100\n", "csv:key=5",
			"a.csv: csv (it looks like msr), comma, no header; key column 5", "csv:key=5,delimiter=comma,header=false",
		},
		"a block trace as interactions": {
			"a.csv", "0,R,2863104,4096,1577808000000000\n0,R,0,4096,1577808000000001\n", "interactions:time-unit=us",
			"a.csv: interactions (it looks like alibaba), sorted by time; recommender requests, user column 1, item column " +
				"2, time column 5 in us; 1 row left out (fewer than 1 interactions of the user before)",
			"interactions:time-unit=us",
		},
		"a log of interactions": {
			"a.csv", "userId,rating,movieId,timestamp\n1,5,2,3\n1,4,3,4\n", "interactions",
			"a.csv: interactions, sorted by time; recommender requests, user userId, item movieId, time timestamp in s; " +
				"1 row left out (fewer than 1 interactions of the user before)",
			"interactions",
		},
		"lines of interactions": {
			"a.json", `{"reviewerID":"x","note":{"user":3},"asin":"a","unixReviewTime":4}` + "\n" +
				`{"reviewerID":"x","asin":"b","unixReviewTime":5}` + "\n", "interactions",
			"a.json: interactions, sorted by time; recommender requests, user reviewerid, item asin, time unixreviewtime in " +
				"s; 1 row left out (fewer than 1 interactions of the user before)",
			"interactions",
		},
		"ratings as interactions": {
			"a.dat", "1::7::5::3\n1::8::5::4\n", "interactions",
			"a.dat: interactions, sorted by time; recommender requests, user column 1, item column 2, time column 4 in s; " +
				"1 row left out (fewer than 1 interactions of the user before)",
			"interactions",
		},
		"interactions in ms": {
			"a.csv", "user,item,timestamp\n1,2,1588615855070\n1,3,1588615855071\n", "interactions",
			"a.csv: interactions, sorted by time; recommender requests, user user, item item, time timestamp in ms; " +
				"1 row left out " +
				"(fewer than 1 interactions of the user before)",
			"interactions:time-unit=ms",
		},
		"lines of interactions in ms": {
			"a.json", `{"user":"x","item":"a","timestamp":1588615855070}` + "\n" +
				`{"user":"x","item":"b","timestamp":1588615855071}` + "\n", "interactions",
			"a.json: interactions, sorted by time; recommender requests, user user, item item, time timestamp in ms; " +
				"1 row left out " +
				"(fewer than 1 interactions of the user before)",
			"interactions:time-unit=ms",
		},
		"ratings in ms": {
			"a.dat", "1::7::5::1588615855070\n1::8::5::1588615855071\n", "interactions",
			"a.dat: interactions, sorted by time; recommender requests, user column 1, item column 2, time column 4 in ms; " +
				"1 row left out (fewer than 1 interactions of the user before)",
			"interactions:time-unit=ms",
		},
		"reads in us": {
			"a.csv", "path,offset,length,time\n/a,0,1,1588615855070000\n", "",
			"a.csv: reads; reads of files in blocks of 4 MiB, key path#block, time in us, sizes to the end of what is read of " +
				"a file, where its own is not known (!)",
			"reads:time-unit=us",
		},
		"no header": {
			"a.csv", "7,x,1\n8,y,2\n", "csv:key=2,size=3",
			"a.csv: csv, comma, no header; key column 2, size column 3 (!)",
			"csv:key=2,size=3,delimiter=comma,header=false",
		},
		"names that no option takes": {
			"a.csv", "time,\"k,=(\",key\n1,x,y\n", "csv:key=2", `a.csv: csv, comma; key "k,=(", time in s`,
			"csv:key=2,time=time,delimiter=comma,header=true",
		},
		"a name that is a number": {
			"a.csv", "key,2,size\nx,y,3\n", "csv:header=true,key=2", `a.csv: csv, comma; key "2", size (!)`,
			"csv:key=2,size=size,delimiter=comma,header=true",
		},
		"other units and rows left out": {
			"a.csv", "ts,key,op\n1,x,get\n2,x,set\n3,y,set\n", "csv:time-unit=ms,ops=reads",
			"a.csv: csv, comma; key, time ts in ms, op; 2 rows left out (not reads)",
			"csv:key=key,time=ts,op=op,time-unit=ms,delimiter=comma,header=true,ops=reads",
		},
		"an id beside a better name": {
			"a.csv", "id,timestamp,url,bytes_sent\n1,1,/a,10\n2,2,/a,10\n", "",
			"a.csv: csv, comma; key url, time timestamp in s, size bytes_sent (!)",
			"csv:key=url,time=timestamp,size=bytes_sent,delimiter=comma,header=true",
		},
		"an id alone": {
			"a.csv", "id,object_size\n1,10\n", "", "a.csv: csv, comma; key id, size object_size (!)",
			"csv:key=id,size=object_size,delimiter=comma,header=true",
		},
		"a path": {
			"a.csv", "name,path\nx,/a\n", "", "a.csv: csv, comma; key path", "csv:key=path,delimiter=comma,header=true",
		},
		"a cache key": {
			"a.csv", "url,Cache-Key\nx,/a\n", "", "a.csv: csv, comma; key Cache-Key",
			"csv:key=Cache-Key,delimiter=comma,header=true",
		},
		"a list": {"a.txt", "x\ny\n", "", "a.txt: plain; one key per line", "plain"},
		"marks":  {"a.trace", "1\n*\n2\n", "", "a.trace: lirs; key block; 1 row left out (marks)", "lirs"},
		"prompts": {
			"a.jsonl", `{"timestamp": 5, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]}`, "",
			"a.jsonl: mooncake; prompts in blocks of 512 tokens, time in ms", "mooncake:block=512",
		},
		"queries": {
			"a.jsonl", `{"time":0,"id":"q17","text":"A film with sandworms?"}`, "", "a.jsonl: queries; id, time in s",
			"queries",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := readingsOf(t, read.Options{Selection: read.Selection{Format: c.format}}, [2]string{c.file, c.content})
			if line := got.Readings[0].Line(" (!)"); line != c.line {
				t.Errorf("said %q, want %q", line, c.line)
			}
			if got.InputFormat() != c.spec {
				t.Errorf("read again as %q, want %q", got.InputFormat(), c.spec)
			}
			if said := strings.TrimPrefix(got.Readings[0].Line(""), c.file+": "); !strings.HasPrefix(said, got.ReadAs()) {
				t.Errorf("recorded as %q, said %q", got.ReadAs(), said)
			}
		})
	}
}

// The example of every format is read in the same way by the format that the trace reports.
func TestReadAgain(t *testing.T) {
	everything := read.Options{Needs: traces.Needs{Sizes: true, Times: true, Ops: true, Keys: true, Kind: true,
		Lengths: true}}
	for _, f := range formats.All() {
		if f.Example == "" {
			continue
		}
		path := filepath.Join(t.TempDir(), "example")
		must.Do(t, os.WriteFile(path, []byte(f.Example+"\n"), 0o644))
		first, err := read.Load(t.Context(), []string{path}, everything)
		if err != nil {
			opts := everything
			if opts.Format = f.Name; f.Name == "regex" {
				opts.Format += `:pattern=(?<key>\S+)$`
			}
			first = must.Get(read.Load(t.Context(), []string{path}, opts))(t)
		}
		opts := everything
		opts.Format = first.InputFormat()
		again, err := read.Load(t.Context(), []string{path}, opts)
		if err != nil {
			t.Errorf("%s: %v", opts.Format, err)
		} else if !reflect.DeepEqual(again, first) {
			t.Errorf("%s: got %+v, want %+v", opts.Format, again, first)
		}
	}
}

// Files that are read alike are reported in one line, others one by one up to a limit.
func TestReadingsOfSeveralFiles(t *testing.T) {
	first, other := "key,size\nx,1\n", "id,bytes\nx,1\n"
	alike := readingsOf(t, read.Options{}, [2]string{"a.csv", first}, [2]string{"b.csv", first},
		[2]string{"c.csv", first})
	if got := traces.Lines(alike.Readings, ""); len(got) != 1 || got[0] != "a.csv and 2 more: csv, comma; key, size" {
		t.Errorf("alike: got %q", got)
	}
	two := readingsOf(t, read.Options{}, [2]string{"a.csv", first}, [2]string{"b.csv", other},
		[2]string{"c.csv", first})
	want := []string{"a.csv and 1 more: csv, comma; key, size", "b.csv: csv, comma; key id, size bytes"}
	if got := traces.Lines(two.Readings, ""); !slices.Equal(got, want) {
		t.Errorf("two kinds: got %q", got)
	}
	if two.InputFormat() != "" || two.ReadAs() != "csv, comma; key, size + csv, comma; key id, size bytes" {
		t.Errorf("two kinds: recorded as %q, read again as %q", two.ReadAs(), two.InputFormat())
	}
	var many []stream.Reading
	for range 10 {
		many = append(many, stream.Reading{Name: "a.csv", Format: "csv", Files: 1, Paths: 1})
	}
	if got := traces.Lines(many, ""); len(got) != 9 || got[8] != "... and more files, read in other ways" {
		t.Errorf("many kinds: got %q", got)
	}
}

// Many files, each read in a different way, cost little memory and time.
func TestManyReadings(t *testing.T) {
	var shared source.Together
	for i := range 1000 {
		shared.Join(&stream.Reading{Name: "a.csv", Format: "csv", Spec: fmt.Sprintf("csv:key=k%d", i), LeftOut: 1})
	}
	trace := traces.Trace{Readings: shared.List()}
	if len(trace.Readings) != 64 || trace.LeftOut() != 1000 || trace.InputFormat() != "" {
		t.Errorf("kept %d, left out %d, read again as %q", len(trace.Readings), trace.LeftOut(), trace.InputFormat())
	}
}

// A table of very many columns opens at once: only a limited number of unread columns is looked at.
func TestManyColumns(t *testing.T) {
	names := []string{"key"}
	for i := range 8_000 {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	row := "x" + strings.Repeat(",1", len(names)-1)
	content := strings.Join(names, ",") + "\n" + row + "\n"
	got := readingsOf(t, read.Options{Selection: read.Selection{Format: "csv:header=true"}},
		[2]string{"a.csv", content})
	if n := len(got.Readings[0].Others); n != 50 {
		t.Errorf("%d columns are remembered, want %d", n, 50)
	}
}
