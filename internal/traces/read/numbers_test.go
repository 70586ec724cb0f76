package read_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// Without keys prompts number their blocks themselves. The trace is the one that the index of keys gives, of a sample,
// too.
func TestPromptsNumberTheirBlocksAsKeysDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for _, ids := range rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), 1, 6), 3, 12).Draw(t, "prompts") {
			fmt.Fprintf(&text, `{"session_id": %d, "input_length": %d, "hash_ids": [%s]}`+"\n",
				rapid.IntRange(0, 3).Draw(t, "session"), 16*len(ids),
				strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]"))
		}
		selection := read.Selection{Format: "mooncake:block=16", Limit: rapid.IntRange(0, 4).Draw(t, "limit"),
			SampleRate: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "rate")}
		load := func(keys bool) (*traces.Trace, error) {
			return read.Load(t.Context(), []string{"-"}, read.Options{Selection: selection,
				Needs: traces.Needs{Keys: keys}, Stdin: strings.NewReader(text.String())})
		}
		want, err := load(true)
		got, again := load(false)
		if err != nil || again != nil {
			if err == nil || again == nil || err.Error() != again.Error() {
				t.Fatalf("with keys %v, without %v", err, again)
			}
			return
		}
		if want.Keys == nil || got.Keys != nil {
			t.Fatal("the keys that were requested, and no others")
		}
		if got.NumObjects != want.NumObjects || len(want.Keys) != want.NumObjects ||
			!reflect.DeepEqual(got.Objects, want.Objects) || !reflect.DeepEqual(got.Groups, want.Groups) ||
			!reflect.DeepEqual(prompts.Of(got.Kind).Parents, prompts.Of(want.Kind).Parents) {
			t.Errorf("objects %v of %d, want %v of %d", got.Objects, got.NumObjects, want.Objects, want.NumObjects)
		}
	})
}
