package promptlogs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

const threePrompts = `{"timestamp": 0, "input_length": 1100, "output_length": 7, "hash_ids": [5, 6, 7]}
{"extra": {"a": [1, "\"}", null]}, "hash_ids":[5,6],"timestamp": 3.5, "output_length": 0, "input_length": 1024}
{"timestamp": 4, "input_length": 30, "output_length": 1, "hash_ids": []}
`

func TestMooncakeColumns(t *testing.T) {
	got := tracetest.MustLoadText(t, threePrompts, read.Options{Needs: traces.Needs{Times: true, Keys: true}})
	if want := []uint32{0, 1, 2, 0, 1, 3}; !reflect.DeepEqual(got.Objects, want) {
		t.Errorf("objects %v, want %v", got.Objects, want)
	}
	if want := []int{0, 3, 5}; !reflect.DeepEqual(got.Groups, want) {
		t.Errorf("groups %v, want %v", got.Groups, want)
	}
	if want := []int64{0, 0, 0, 3.5e6, 3.5e6, 4e6}; !reflect.DeepEqual(got.Times, want) {
		t.Errorf("times %v, want %v", got.Times, want)
	}
	want := &prompts.Columns{
		BlockTokens: 512, InputTokens: []int32{1100, 1024, 30}, OutputTokens: []int32{7, 0, 1}, Arrivals: []int64{0, 3.5e6,
			4e6},
		Parents: []int32{-1, 0, 1, -1},
	}
	if !reflect.DeepEqual(prompts.Of(got.Kind), want) {
		t.Errorf("prompts %+v, want %+v", prompts.Of(got.Kind), want)
	}
	if got.Keys[0].Num != 5 || got.Keys[2].Num != 7 {
		t.Errorf("keys %v: want the ids", got.Keys)
	}
}

// TestHexadecimalIDs: hashes in hexadecimal digits are ids, whatever numbers they look like.
func TestHexadecimalIDs(t *testing.T) {
	got := tracetest.MustLoadText(t, `{"input_length": 1536, "hash_ids": ["10", "1e1", "0x0a"]}
{"input_length": 2048, "hash_ids": ["10", "1e1", "3b83f3b83f3b83f3b83f3b83f3b83f3b83f", 10]}`, read.Options{})
	if want := []uint32{0, 1, 2, 0, 1, 3, 4}; !reflect.DeepEqual(got.Objects, want) {
		t.Errorf("objects %v, want %v", got.Objects, want)
	}
}

func TestMooncakeBlockSize(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            int
	}{
		"512 fits": {`{"input_length": 10, "hash_ids": [1]}`, "", 512},
		"16": {`{"input_length": 33, "hash_ids": [1, 2, 3]}` + "\n" + `{"input_length": 160, ` +
			`"hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}`, "", 16},
		"without partial ones": {`{"input_length": 15688, "hash_ids": [` + strings.Repeat("1,", 244) + `2]}`, "", 64},
		"stated":               {`{"input_length": 33, "hash_ids": [1, 2, 3, 4]}`, "mooncake:block=10", 10},
		"one longer first line": {`{"input_length": 2097152, "hash_ids": [` + strings.Repeat("1000000,", 65535) + `2]}`,
			"", 32},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := tracetest.MustLoadText(t, c.content+"\n",
				read.Options{Selection: read.Selection{Format: c.format}})
			if got := prompts.Of(loaded.Kind).BlockTokens; got != c.want {
				t.Errorf("%d tokens in a block, want %d", got, c.want)
			}
		})
	}
}

func TestMooncakeErrors(t *testing.T) {
	const good = `{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1]}` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"cut off": {good + `{"timestamp": 1, "input_length": 5, "output_le`, "line 2: column 47: want the double " +
			"quote that ends a string, got the end"},
		"garbage":          {good + "hello\n", "line 2: column 1: want an object in braces"},
		"after the object": {good + strings.TrimSpace(good) + " x\n", "line 2: column 74: want nothing after the object"},
		"blank line":       {good + "\n" + good, "line 2: "},
		"no ids":           {good + `{"timestamp": 1, "input_length": 5, "output_length": 5}`, "line 2: no hash_ids"},
		"no time": {good + `{"input_length": 5, "output_length": 5, "hash_ids": [1]}`, "line 2: no timestamp, " +
			"which the first line has"},
		"another field": {good + `{"timestamp": 1, "session_id": 5, "input_length": 5, "output_length": 5, "hash_ids": ` +
			`[1]}`, "line 2: has session_id, which the first line lacks"},
		"another priority": {good + `{"timestamp": 1, "priority": 5, "input_length": 5, "output_length": 5, "hash_ids": ` +
			`[1]}`, "line 2: has priority, which the first line lacks"},
		"no whole priority": {good + `{"timestamp": 1, "priority": 1.5, "input_length": 5}`, "line 2: priority: \"1.5\": " +
			"want a whole number from -2^31 to 2^31-1"},
		"large priority": {good + `{"timestamp": 1, "priority": 2147483648, "input_length": 5}`, "line 2: priority: " +
			"\"2147483648\": want a whole number from -2^31"},
		"negative length": {good + `{"input_length": -5}`, `line 2: input_length: "-5" tokens: want a whole number from 1`},
		"empty prompt":    {good + `{"input_length": 0}`, `line 2: input_length: "0" tokens`},
		"huge length":     {good + `{"input_length": 2147483648}`, `line 2: input_length: "2147483648" tokens`},
		"negative time":   {good + `{"timestamp": -1}`, "line 2: timestamp: time"},
		"time as text":    {good + `{"timestamp": "1"}`, "line 2: column 15: timestamp: want a number"},
		"twice":           {good + `{"input_length": 5, "input_length": 5}`, "line 2: input_length: duplicate input_length"},
		"too many ids": {good + `{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1, 2]}`, "line " +
			"2: 2 block ids for a prompt of 5 tokens: with 512 tokens in a block it has 0, or 1 with the last partial one"},
		"ids as text": {good + `{"hash_ids": ["1", "x"]}`, "line 2: column 20: hash_ids: want a whole number of " +
			"64 bits, or hex"},
		"ids as fractions": {good + `{"hash_ids": [1.5]}`, "line 2: column 15: hash_ids: want a whole number of 64 bits"},
		"deep":             {good + `{"x": ` + strings.Repeat("[", 200), "want at most 100 nested arrays"},
		"no block size":    {`{"input_length": 10, "hash_ids": [1, 2, 3]}`, "the tokens per block do not follow"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracetest.LoadText(t, c.content, read.Options{Needs: traces.Needs{Times: true}})
			must.Fail(t, err, c.want)
		})
	}
}

func TestPromptLimitCountsPrompts(t *testing.T) {
	got := tracetest.MustLoadText(t, threePrompts, read.Options{Selection: read.Selection{Limit: 2}})
	if len(got.Groups) != 2 || len(got.Objects) != 5 || !got.Limited {
		t.Errorf("%d prompts with %d blocks, limited %v; want 2, 5, true", len(got.Groups), len(got.Objects), got.Limited)
	}
	if got := tracetest.MustLoadText(t, threePrompts,
		read.Options{Selection: read.Selection{Limit: 4}}); got.Limited {
		t.Error("limited, though all were read")
	}
}

func TestSampleOfPromptsKeepsConversations(t *testing.T) {
	var content strings.Builder
	for i := range 400 {
		content.WriteString(
			`{"session_id": "s` + string(
				rune('A'+i%20),
			) + `", "input_length": 600, "hash_ids": [1, ` + string(rune('2'+i%8)) + "]}\n",
		)
	}
	got := tracetest.MustLoadText(t, content.String(), read.Options{Selection: read.Selection{SampleRate: 0.5}})
	sessions := len(prompts.Of(got.Kind).SessionKeys)
	if sessions < 3 || sessions > 17 || len(got.Groups) != 20*sessions || len(got.Objects) != 40*sessions ||
		got.SampledFrom != 800 {
		t.Errorf("%d conversations with %d prompts and %d blocks out of %d", sessions, len(got.Groups),
			len(got.Objects), got.SampledFrom)
	}
	_, err := tracetest.LoadText(t, threePrompts, read.Options{Selection: read.Selection{SampleRate: 0.5}})
	must.Fail(t, err, "use --limit instead", "sampling prompts without conversations")
}

func TestPromptFilesThatDoNotGoTogether(t *testing.T) {
	folder := t.TempDir()
	paths := map[string]string{}
	for name, content := range map[string]string{
		"512": threePrompts, "keys": "1\n2\n",
		"64": `{"timestamp": 0, "input_length": 200, "output_length": 7, "hash_ids": [5, 6, 7]}`,
	} {
		paths[name] = filepath.Join(folder, name)
		must.Do(t, os.WriteFile(paths[name], []byte(content), 0o600))
	}
	for name, want := range map[string]string{"64": "blocks of 512 and of 64 tokens",
		"keys": "only one of them has prompts"} {
		if _, err := read.Load(t.Context(), []string{paths["512"], paths[name]}, read.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGroupsWithoutZeroSizes(t *testing.T) {
	trace := &traces.Trace{Objects: []uint32{0, 1, 2, 1, 0}, NumObjects: 3, ObjectSizes: []int64{5, 0, 7},
		Groups: []int{0, 1, 2, 3, 4}}
	got, zeros := trace.WithoutZeroSizes()
	if want := []int{0, 1, 2}; zeros != 2 || !reflect.DeepEqual(got.Groups, want) {
		t.Errorf("%d zeros, groups %v, want %v", zeros, got.Groups, want)
	}
}

// drawPrompts draws records of prompts, in the form in which a reader gives them.
func drawPrompts(t *rapid.T, fields stream.Fields) (records []stream.Record) {
	kind := fields.Kind.(prompts.Kind)
	for range rapid.IntRange(1, 8).Draw(t, "prompts") {
		tokens := rapid.Int32Range(1, int32(5*kind.BlockTokens)).Draw(t, "tokens")
		head := &prompts.Head{Blocks: (int(tokens) + kind.BlockTokens - 1) / kind.BlockTokens, InputTokens: tokens,
			OutputTokens: rapid.Int32Range(0, 9).Draw(t, "output")}
		if kind.Sessions {
			head.Session = rapid.Uint64().Draw(t, "session")
		}
		var at int64
		if fields.Time {
			at = rapid.Int64Min(0).Draw(t, "time")
		}
		for i := range head.Blocks {
			rec := stream.Record{Time: at, Num: rapid.Uint64().Draw(t, "id"), Begins: i == 0}
			if i == 0 {
				rec.Extra = head
			}
			records = append(records, rec)
		}
	}
	return records
}

// TestMooncakeRoundTrip writes prompts and reads them back.
func TestMooncakeRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		fields := stream.Fields{
			Time: rapid.Bool().Draw(t, "times"), Groups: true, Kind: prompts.Kind{
				Sessions:    rapid.Bool().Draw(t, "sessions"),
				BlockTokens: rapid.SampledFrom([]int{1, 7, 16, 512}).Draw(t, "block"),
			},
		}
		want := drawPrompts(t, fields)
		path := filepath.Join(dir, "x.jsonl.gz")
		must.Do(t, tracetest.TryWrite(t.Context(), path, write.Options{Fields: fields}, want))
		opened := must.Get(read.Open(path, read.Options{}))(t)
		defer opened.Close()
		if opened.Fields != fields {
			t.Fatalf("fields %+v, want %+v", opened.Fields, fields)
		}
		for i := range want {
			var got stream.Record
			if err := opened.Read(&got); err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("record %d: got %+v and error %v, want %+v", i, got, err, want[i])
			}
		}
	})
}

// TestMooncakeIsWrittenAsPublished: what was read is written byte by byte as it stood.
func TestMooncakeIsWrittenAsPublished(t *testing.T) {
	const content = `{"timestamp": 0, "input_length": 1100, "output_length": 7, "hash_ids": [5, 6, 7]}
{"timestamp": 3.5, "input_length": 1024, "output_length": 0, "hash_ids": [5, 6]}
{"timestamp": 5, "input_length": 12, "output_length": 1, "hash_ids": [8]}
`
	if got := writtenAsMooncake(t, content); got != content {
		t.Errorf("wrote:\n%s", got)
	}
}

// writtenAsMooncake reads a text and returns what is written of it.
func writtenAsMooncake(t *testing.T, content string) string {
	t.Helper()
	var out bytes.Buffer
	var w *write.Writer
	must.Get(read.Scan(t.Context(), []string{"-"}, read.Options{Stdin: strings.NewReader(content)},
		func(fields stream.Fields) (err error) {
			w, err = write.Create(t.Context(), "-", write.Options{Format: "mooncake", Fields: fields, Stdout: &out})
			return err
		}, func(rec *stream.Record) error { return w.Write(rec) }))(t)
	must.Do(t, w.Close())
	return out.String()
}

func TestMooncakePriorities(t *testing.T) {
	const content = `{"input_length": 1100, "priority": 2, "hash_ids": [5, 6, 7]}
{"input_length": 1024, "priority": -7, "hash_ids": [5, 6]}
{"input_length": 12, "priority": 2147483647, "hash_ids": [8]}
`
	loaded := tracetest.MustLoadText(t, content, read.Options{})
	if got := prompts.Of(loaded.Kind).Priorities; !slices.Equal(got, []int32{2, -7, 2147483647}) {
		t.Errorf("priorities %v", got)
	}
	part := loaded.Kind.Slice(stream.Span{From: 3, To: 6}, stream.Span{From: 1, To: 3})
	if got := prompts.Of(part).Priorities; !slices.Equal(got, []int32{-7, 2147483647}) {
		t.Errorf("of the last two prompts: %v", got)
	}
	if got := writtenAsMooncake(t, content); got != content {
		t.Errorf("wrote:\n%s", got)
	}
}

func TestMooncakeWriterRefuses(t *testing.T) {
	head := &prompts.Head{Blocks: 2, InputTokens: 20, OutputTokens: 1}
	first, second := stream.Record{Num: 1, Begins: true, Extra: head}, stream.Record{Num: 2}
	fields := stream.Fields{Groups: true, Kind: prompts.Kind{BlockTokens: 16}}
	for name, c := range map[string]struct {
		fields  stream.Fields
		records []stream.Record
		want    string
	}{
		"no prompts":   {stream.Fields{}, []stream.Record{{Num: 1}}, "not prompts: write CSV or Parquet"},
		"text":         {fields, []stream.Record{{Text: []byte("a"), Begins: true, Extra: head}}, "record 1: block \"a\""},
		"early prompt": {fields, []stream.Record{first, first}, "record 2: a prompt with another number"},
		"late prompt":  {fields, []stream.Record{first, second, second}, "record 3: a prompt with another number"},
		"cut off":      {fields, []stream.Record{first}, "the last prompt has fewer blocks"},
	} {
		err := tracetest.TryWrite(t.Context(), filepath.Join(t.TempDir(), "x.jsonl"),
			write.Options{Fields: c.fields}, c.records)
		must.Fail(t, err, c.want, name)
	}
}

const smallChat = `{"timestamp": 20, "input": "Hello, World! How are you?", ` +
	`"output": "Fine.", "session_id": "a", "x": 1}
{"timestamp": 10, "input": "Hello, World! Été 2024", "output": "", "session_id": "b"}
{"timestamp": 30, "input": "Good", "output": "Bye", "session_id": "a"}
`

func TestChat(t *testing.T) {
	for history, want := range map[string]*prompts.Columns{
		// Tokens: Hello , World ! Été 2024 | Hello , World ! How are you ? | Good
		"included": {
			BlockTokens: 2, InputTokens: []int32{6, 8, 1}, OutputTokens: []int32{0, 2, 1}, Sessions: []int32{0, 1,
				1}, Arrivals: []int64{1e4, 2e4, 3e4},
			Parents: []int32{-1, 0, 1, 1, 3, -1},
		},
		"added": {
			BlockTokens: 2, InputTokens: []int32{6, 8, 11}, OutputTokens: []int32{0, 2, 1}, Sessions: []int32{0, 1,
				1}, Arrivals: []int64{1e4, 2e4, 3e4},
			Parents: []int32{-1, 0, 1, 1, 3, 4},
		},
	} {
		got := tracetest.MustLoadText(t, smallChat,
			read.Options{Selection: read.Selection{Format: "chat:block=2,history=" + history}})
		want.SessionKeys = []uint64{stream.HashText([]byte("b")), stream.HashText([]byte("a"))}
		if !reflect.DeepEqual(prompts.Of(got.Kind).WithoutAnswers(""), want) {
			t.Errorf("%s: prompts %+v, want %+v", history, prompts.Of(got.Kind), want)
		}
	}
}

func TestChatErrors(t *testing.T) {
	const good = `{"timestamp": 1, "input": "a", "output": "b", "session_id": "a"}` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"no session": {good + `{"timestamp": 1, "input": "a", "output": "b"}`, "line 2: want timestamp, session_id and " +
			"input in every line"},
		"no time":  {good + `{"session_id": 1, "input": "a"}`, "line 2: want timestamp"},
		"no input": {good + `{"session_id": 1, "timestamp": 1}`, "line 2: want timestamp"},
		"no text":  {good + `{"input": 5}`, "line 2: column 11: want a string in double quotes"},
		"empty": {good + `{"timestamp": 1, "input": " ", "output": "b", "session_id": "a"}`, "line 2: a prompt of 0 " +
			"tokens"},
		"blank":   {good + "\n" + good, "line 2: "},
		"cut off": {good + `{"timestamp": 1, "inp`, "line 2: column 22: want the double quote that ends a string"},
		"two objects": {good + `{"timestamp": 1, "input": "a", "session_id": "a"} {}`, "line 2: column 51: want nothing " +
			"after the object"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{})
		must.Fail(t, err, c.want, name)
	}
}
