package traces

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// loadText loads a trace from the standard input.
func loadText(t testing.TB, content string, opts LoadOptions) (*Trace, error) {
	t.Helper()
	opts.Stdin = strings.NewReader(content)
	return Load(t.Context(), []string{"-"}, opts)
}

func mustLoadText(t testing.TB, content string, opts LoadOptions) *Trace {
	t.Helper()
	trace, err := loadText(t, content, opts)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

const threePrompts = `{"timestamp": 0, "input_length": 1100, "output_length": 7, "hash_ids": [5, 6, 7]}
{"extra": {"a": [1, "\"}", null]}, "hash_ids":[5,6],"timestamp": 3.5, "output_length": 0, "input_length": 1024}
{"timestamp": 4, "input_length": 30, "output_length": 1, "hash_ids": []}
`

func TestMooncakeColumns(t *testing.T) {
	got := mustLoadText(t, threePrompts, LoadOptions{Times: true, Keys: true})
	if want := []uint32{0, 1, 2, 0, 1, 3}; !reflect.DeepEqual(got.Objects, want) {
		t.Errorf("objects %v, want %v", got.Objects, want)
	}
	if want := []int{0, 3, 5}; !reflect.DeepEqual(got.Groups, want) {
		t.Errorf("groups %v, want %v", got.Groups, want)
	}
	if want := []int64{0, 0, 0, 3.5e6, 3.5e6, 4e6}; !reflect.DeepEqual(got.Times, want) {
		t.Errorf("times %v, want %v", got.Times, want)
	}
	want := &Prompts{
		BlockTokens: 512, InputTokens: []int32{1100, 1024, 30}, OutputTokens: []int32{7, 0, 1}, Arrivals: []int64{0, 3.5e6, 4e6},
		Parents: []int32{-1, 0, 1, -1},
	}
	if !reflect.DeepEqual(got.Prompts, want) {
		t.Errorf("prompts %+v, want %+v", got.Prompts, want)
	}
	if got.Keys[0].Num != 5 || got.Keys[2].Num != 7 {
		t.Errorf("keys %v: want the ids", got.Keys)
	}
}

// TestChainsAreTries: two blocks are the same object exactly where they end the same list of ids, whatever the ids are.
func TestChainsAreTries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompts := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 4), 1, 6), 1, 8).Draw(t, "prompts")
		c := newChains()
		keyOf, pathOf := map[string]uint64{}, map[uint64]string{}
		for _, ids := range prompts {
			path := ""
			for i, id := range ids {
				path += string(rune('a' + id))
				rec := Record{Num: id, Begins: i == 0}
				if !c.resolve(&rec) {
					t.Fatal("out of numbers")
				}
				if known, ok := keyOf[path]; ok && known != rec.Num {
					t.Fatalf("%s has the keys %d and %d", path, known, rec.Num)
				}
				if known, ok := pathOf[rec.Num]; ok && known != path {
					t.Fatalf("%s and %s have the same key", known, path)
				}
				keyOf[path], pathOf[rec.Num] = rec.Num, path
			}
		}
	})
}

// TestMadeKeysAreNoIDs: an id that happens to be a key that was made is another block.
func TestMadeKeysAreNoIDs(t *testing.T) {
	c := newChains()
	resolve := func(id uint64, begins bool) uint64 {
		rec := Record{Num: id, Begins: begins}
		c.resolve(&rec)
		return rec.Num
	}
	resolve(1, true)
	made := resolve(1, false)
	if other := resolve(made, true); other == made {
		t.Error("an id became a key that another block has")
	}
	resolve(1, true)
	if again := resolve(1, false); again != made {
		t.Errorf("the key %d of a block became %d", made, again)
	}
}

func TestMooncakeBlockSize(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            int
	}{
		"512 fits":              {`{"input_length": 10, "hash_ids": [1]}`, "", 512},
		"16":                    {`{"input_length": 33, "hash_ids": [1, 2, 3]}` + "\n" + `{"input_length": 160, "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}`, "", 16},
		"without partial ones":  {`{"input_length": 15688, "hash_ids": [` + strings.Repeat("1,", 244) + `2]}`, "", 64},
		"stated":                {`{"input_length": 33, "hash_ids": [1, 2, 3, 4]}`, "mooncake:block=10", 10},
		"one longer first line": {`{"input_length": 2097152, "hash_ids": [` + strings.Repeat("1000000,", 65535) + `2]}`, "", 32},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustLoadText(t, c.content+"\n", LoadOptions{Format: c.format}).Prompts.BlockTokens; got != c.want {
				t.Errorf("%d tokens in a block, want %d", got, c.want)
			}
		})
	}
}

func TestMooncakeErrors(t *testing.T) {
	const good = `{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1]}` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"cut off":          {good + `{"timestamp": 1, "input_length": 5, "output_le`, "line 2: column 47: want the double quote that ends a string, got the end"},
		"garbage":          {good + "hello\n", "line 2: column 1: want an object in braces"},
		"after the object": {good + strings.TrimSpace(good) + " x\n", "line 2: column 74: want nothing after the object"},
		"blank line":       {good + "\n" + good, "line 2: "},
		"no ids":           {good + `{"timestamp": 1, "input_length": 5, "output_length": 5}`, "line 2: no hash_ids"},
		"no time":          {good + `{"input_length": 5, "output_length": 5, "hash_ids": [1]}`, "line 2: no timestamp, which the first line has"},
		"another field":    {good + `{"timestamp": 1, "session_id": 5, "input_length": 5, "output_length": 5, "hash_ids": [1]}`, "line 2: has session_id, which the first line has not"},
		"negative length":  {good + `{"input_length": -5}`, `line 2: input_length: "-5" tokens: want a whole number from 1`},
		"negative output":  {good + `{"output_length": -5}`, `line 2: output_length: "-5" tokens: want a whole number from 0`},
		"empty prompt":     {good + `{"input_length": 0}`, `line 2: input_length: "0" tokens`},
		"huge length":      {good + `{"input_length": 2147483648}`, `line 2: input_length: "2147483648" tokens`},
		"negative time":    {good + `{"timestamp": -1}`, "line 2: timestamp: time"},
		"time as text":     {good + `{"timestamp": "1"}`, "line 2: column 15: timestamp: want a number"},
		"twice":            {good + `{"input_length": 5, "input_length": 5}`, "line 2: input_length: input_length stands there twice"},
		"too many ids":     {good + `{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1, 2]}`, "line 2: 2 block ids for a prompt of 5 tokens: with 512 tokens in a block it has 0, or 1 with the last partial one"},
		"ids as text":      {good + `{"hash_ids": ["1"]}`, "line 2: column 15: hash_ids: want a number"},
		"ids as fractions": {good + `{"hash_ids": [1.5]}`, "line 2: column 15: hash_ids: want a whole number of 64 bits"},
		"deep":             {good + `{"x": ` + strings.Repeat("[", 200), "want no more than 100 arrays"},
		"no block size":    {`{"input_length": 10, "hash_ids": [1, 2, 3]}`, "the first lines fit no usual number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, c.content, LoadOptions{Times: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestPromptLimitCountsPrompts(t *testing.T) {
	got := mustLoadText(t, threePrompts, LoadOptions{Limit: 2})
	if len(got.Groups) != 2 || len(got.Objects) != 5 || !got.Limited {
		t.Errorf("%d prompts with %d blocks, limited %v; want 2, 5, true", len(got.Groups), len(got.Objects), got.Limited)
	}
	if got := mustLoadText(t, threePrompts, LoadOptions{Limit: 4}); got.Limited {
		t.Error("limited, though all were read")
	}
}

func TestSampleOfPromptsKeepsConversations(t *testing.T) {
	var content strings.Builder
	for i := range 400 {
		content.WriteString(`{"session_id": "s` + string(rune('A'+i%20)) + `", "input_length": 600, "hash_ids": [1, ` + string(rune('2'+i%8)) + "]}\n")
	}
	got := mustLoadText(t, content.String(), LoadOptions{SampleRate: 0.5})
	sessions := len(got.Prompts.SessionKeys)
	if sessions < 3 || sessions > 17 || len(got.Groups) != 20*sessions || len(got.Objects) != 40*sessions || got.SampledFrom != 800 {
		t.Errorf("%d conversations with %d prompts and %d blocks out of %d", sessions, len(got.Groups), len(got.Objects), got.SampledFrom)
	}
	_, err := loadText(t, threePrompts, LoadOptions{SampleRate: 0.5})
	if err == nil || !strings.Contains(err.Error(), "use --limit instead") {
		t.Errorf("sampling prompts without conversations: %v", err)
	}
}

func TestPromptFilesThatDoNotGoTogether(t *testing.T) {
	folder := t.TempDir()
	paths := map[string]string{}
	for name, content := range map[string]string{
		"512": threePrompts, "keys": "1\n2\n",
		"64": `{"timestamp": 0, "input_length": 200, "output_length": 7, "hash_ids": [5, 6, 7]}`,
	} {
		paths[name] = filepath.Join(folder, name)
		if err := os.WriteFile(paths[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"64": "blocks of 512 and of 64 tokens", "keys": "only one of them has prompts"} {
		if _, err := Load(t.Context(), []string{paths["512"], paths[name]}, LoadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGroupsWithoutZeroSizes(t *testing.T) {
	trace := &Trace{Objects: []uint32{0, 1, 2, 1, 0}, NumObjects: 3, ObjectSizes: []int64{5, 0, 7}, Groups: []int{0, 1, 2, 3, 4}}
	got, zeros := trace.WithoutZeroSizes()
	if want := []int{0, 1, 2}; zeros != 2 || !reflect.DeepEqual(got.Groups, want) {
		t.Errorf("%d zeros, groups %v, want %v", zeros, got.Groups, want)
	}
}

func FuzzMooncake(f *testing.F) {
	fuzzFormat(f, "mooncake", threePrompts, `{"input_length":1,"hash_ids":[18446744073709551615,-9223372036854775808]}`, `{"session_id":"é\u00e9"}`)
}

func TestDepthsCountTheTokensFromTheRoot(t *testing.T) {
	p := &Prompts{BlockTokens: 16, Parents: []int32{-1, 0, 1, 1, -1, 3}}
	if got, want := p.Depths(), []int32{16, 32, 48, 48, 16, 64}; !slices.Equal(got, want) {
		t.Errorf("depths are %v, want %v", got, want)
	}
	if got := (*Prompts)(nil).Depths(); got != nil {
		t.Errorf("depths without prompts are %v, want none", got)
	}
}
