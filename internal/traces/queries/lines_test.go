package queries_test

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

const second = int64(1e9) // in nanoseconds

func readQueryRecords(t *testing.T, content, format string) ([]stream.Record, error) {
	t.Helper()
	s, err := tracetest.OpenText(t, content, format)
	if err != nil {
		return nil, err
	}
	return tracetest.Drain(s)
}

func TestQueryLines(t *testing.T) {
	got, err := readQueryRecords(
		t,
		`{"time": 0.5, "id": "q17", "more": {"id": [null]}, "session": "s1", "topic": "..", "answer": 7, "text": "A \"film\"?", "embedding": [0.6, -8e-1]}
{"embedding":[1,0],"id":17,"time":1}

`,
		"",
	)
	want := []stream.Record{
		{Time: second / 2, Text: []byte("q17"), Extra: &queries.Head{
			Session: []byte("s1"),
			Topic:   []byte(".."),
			Answer:  []byte("7"),
			Text:    []byte(`A "film"?`),
			Vector:  []float32{0.6, -0.8},
		}},
		{Time: second, Num: 17, Extra: &queries.Head{Vector: []float32{1, 0}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and error %v, want %v", got, err, want)
	}
}

func TestQueryLinesOfTextsAlone(t *testing.T) {
	got, err := readQueryRecords(t, "\"A film?\"\r\n\"7\"\n\"Caf\\u00e9\"\n", "")
	want := []stream.Record{
		{Text: []byte("A film?"), Extra: &queries.Head{Text: []byte("A film?")}},
		{Num: 7, Extra: &queries.Head{Text: []byte("7")}},
		{Text: []byte("Café"), Extra: &queries.Head{Text: []byte("Café")}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and error %v, want %v", got, err, want)
	}
}

func TestQueryLineErrors(t *testing.T) {
	const first = `{"time":0,"id":"a","embedding":[1,2]}` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"no id":         {`{"time":0,"id":1}` + "\n" + `{"time":1}`, "line 2: want an id and a time in every line"},
		"no time":       {`{"time":0,"id":1}` + "\n" + `{"id":1}`, "line 2: want an id and a time in every line"},
		"negative time": {`{"time":-1,"id":1}`, "line 1: time \"-1\": want a number from 0"},
		"id": {`{"time":0,"id":1.5}`, `line 1: column 16: want a whole number or a text in double quotes as ` +
			`the id, got "1.5}"`},
		"no such id": {`{"time":0,"id":null}`, `line 1: column 16: want an id, which is a text or a whole number, ` +
			`got "null}"`},
		"blank id": {`{"time":0,"id":" "}`, `line 1: column 16: want a text that is not blank`},
		"session":  {`{"time":0,"id":1,"session":true}`, `want a text, a number or null, got "true}"`},
		"other length": {first + `{"time":1,"id":"b","embedding":[1,2,3]}`, "line 2: an embedding of 3 numbers after " +
			"others of 2: want the same length for all"},
		"missing": {first + `{"time":1,"id":"b"}`, "line 2: no embedding after others of 2 numbers: want one for " +
			"all queries or for none"},
		"missing first": {`{"time":0,"id":1}` + "\n" + first, "line 2: an embedding of 2 numbers after queries without " +
			"any: want one for all"},
		"NaN": {first + `{"time":1,"id":"b","embedding":[1,NaN]}`, `line 2: column 35: want a finite number, ` +
			`within the range of float32, got "NaN]}"`},
		"infinite": {first + `{"time":1,"id":"b","embedding":[1,-Infinity]}`, `line 2: column 35: want a finite ` +
			`number, within the range of float32, got "-Infinity]}"`},
		"too large": {first + `{"time":1,"id":"b","embedding":[1,1e39]}`, `line 2: column 35: want a finite number, ` +
			`within the range of float32, got "1e39]}"`},
		"null": {first + `{"time":1,"id":"b","embedding":[1,null]}`, `line 2: column 35: want a finite number`},
		"zeros": {first + `{"time":1,"id":"b","embedding":[0,-0]}`, "line 2: an embedding of zeros, which is " +
			"similar to nothing: want a vector with a direction"},
		"empty": {`{"time":1,"id":"b","embedding":[]}`, "line 1: column 32: want an embedding of at least one " +
			"number"},
		"cut": {`{"time":1,"id":"b","embedding":[1`, "line 1: column 34: want a comma or a closing bracket, " +
			"got the end"},
		"two on a line":    {`{"time":1,"id":"b"} {"time":2,"id":"c"}`, "line 1: column 21: want nothing after the object"},
		"text then object": {"\"some words\"\n" + first, `line 2: column 1: want a string in double quotes`},
		"object then text": {first + `"some words"`, `line 2: column 1: want an object in braces`},
		"blank text":       {"\"some words\"\n\" \"\n", "line 2: column 1: want a text that is not blank"},
		"blank line":       {first + "\n" + first, "line 2: a blank line before the end of the file: want a key"},
	} {
		must.NotGet(readQueryRecords(t, c.content, "queries"))(t, c.want, name)
	}
}

// TestQueryLinesAreDetected: even if the first line is longer than what detection sees; prompts and dialogues are not
// taken for queries.
func TestQueryLinesAreDetected(t *testing.T) {
	long := `{"id":1,"time":0,"embedding":[1` + strings.Repeat(",0.25", source.HeadLen/5) + "]}\n"
	for content, want := range map[string]string{
		long:                           "queries",
		"\"some words\"\n\"others\"\n": "queries",
		"\"key\"\n\"a\"\n\"b\"\n":      "plain",
		tracetest.ExampleOf(t, "mooncake") + "\n": "mooncake",
		tracetest.ExampleOf(t, "chat") + "\n":     "chat",
		tracetest.ExampleOf(t, "agent") + "\n":    "agent",
		tracetest.ExampleOf(t, "clinc") + "\n":    "clinc",
		tracetest.ExampleOf(t, "oasst") + "\n":    "oasst",
		`{"t": {"id": 1, "time": 2}}`:             "",
		"{\"id\": 1}\n{\"time\": 2}\n":            "jsonl",
		`"some words" and others` + "\n7":         "",
	} {
		s, err := tracetest.OpenText(t, content, "")
		switch {
		case err == nil && s.Info.Format != want:
			t.Errorf("%.60q is read as %s, want %q", content, s.Info.Format, want)
		case err != nil && want != "":
			t.Errorf("%.60q: %v, want %s", content, err, want)
		}
	}
}

// anyQueries draws queries with or without embeddings, with each field known or not.
func anyQueries(t *rapid.T) []stream.Record {
	dim := rapid.IntRange(0, 5).Draw(t, "dim")
	name := func(what string) []byte {
		if !rapid.Bool().Draw(t, "has "+what) {
			return nil
		}
		return []byte(rapid.String().Draw(t, what))
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream.Record {
		key := tracetest.AnyKey(t)
		rec := stream.Record{Time: rapid.Int64Range(0, math.MaxInt64).Draw(t, "time"), Num: key.Num}
		if key.Text != "" {
			rec.Text = []byte(key.Text)
		}
		rec.Extra = &queries.Head{Session: name("session"), Topic: name("topic"), Answer: name("answer"),
			Text: name("text")}
		if dim > 0 {
			queries.HeadOf(&rec).Vector = rapid.SliceOfN(rapid.Float32(), dim, dim).Draw(t, "vector")
			queries.HeadOf(&rec).Vector[0] = rapid.Float32Range(0.5, 1).Draw(t, "not zero")
		}
		return rec
	}), 1, 20).Draw(t, "queries")
}

func TestQueriesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		want := anyQueries(rt)
		file := rapid.SampledFrom([]struct{ name, format string }{{"q.jsonl", "queries"}, {"q.jsonl.zst",
			"queries"}, {"q.parquet", "parquet"}}).Draw(rt, "file")
		path := filepath.Join(dir, file.name)
		must.Do(rt, tracetest.TryWrite(t.Context(), path, write.Options{Fields: stream.Fields{Time: true,
			Kind: queries.Kind{}}},
			want))
		s, err := read.Open(path, read.Options{})
		must.Do(rt, err)
		defer s.Close()
		got, err := tracetest.Drain(s)
		if err != nil || s.Info.Format != file.format || !reflect.DeepEqual(got, want) {
			rt.Fatalf("as %s: got %v and error %v, want %v", s.Info.Format, got, err, want)
		}
	})
}

func TestQueryLineWriter(t *testing.T) {
	var out bytes.Buffer
	w, err := write.Create(t.Context(), "-", write.Options{Fields: stream.Fields{Kind: queries.Kind{}},
		Stdout: &out})
	must.Do(t, err)
	for _, rec := range []stream.Record{
		{Num: 3, Extra: &queries.Head{Session: []byte("s"), Text: []byte("<a> \"b\"\n"),
			Vector: []float32{0.1, 1e-20, -1}}},
		{Text: []byte("x y"), Extra: &queries.Head{Topic: []byte("t"), Answer: []byte("7")}},
	} {
		must.Do(t, w.Write(&rec))
	}
	err = w.Write(&stream.Record{Num: 1, Extra: &queries.Head{Text: []byte("\xff")}})
	if want := `standard output: record 3: text "\xff" is not UTF-8, so JSON cannot hold it`; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	must.Do(t, w.Close())
	const want = `{"time":0,"id":3,"session":"s","text":"<a> \"b\"\n","embedding":[0.1,1e-20,-1]}
{"time":1,"id":"x y","topic":"t","answer":"7"}
`
	if out.String() != want {
		t.Errorf("wrote\n%swant\n%s", out.String(), want)
	}
	if _, err := write.Create(t.Context(), filepath.Join(t.TempDir(), "x.jsonl"),
		write.Options{Format: "queries"}); err == nil || !strings.Contains(err.Error(), "not queries") {
		t.Errorf("error %v, want that there are no queries", err)
	}
}
