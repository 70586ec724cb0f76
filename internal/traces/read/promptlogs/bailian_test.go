package promptlogs_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// twoChats are a prompt and its next turn, with the fields that the data set's page describes.
const twoChats = `{"chat_id": 55, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 20, "output_length": 9, ` +
	`"type": "text", "turn": 1, "hash_ids": [7, 8]}` + "\n" +
	`{"chat_id": 159, "parent_chat_id": 55, "timestamp": 61.114, "input_length": 35, "output_length": 132, ` +
	`"type": "text", "turn": 2, "hash_ids": [7, 8, 9]}` + "\n"

// TestBailianTimesAreSeconds: a file of the data set is recognised by its fields, its times are seconds, and the unit
// is said; another can be forced, and mooncake keeps milliseconds.
func TestBailianTimesAreSeconds(t *testing.T) {
	for _, test := range []struct {
		name, content, format string
		arrivals              []int64
		reading               string
	}{
		{"recognised", twoChats, "", []int64{500_000_000, 61_114_000_000},
			"bailian; prompts in blocks of 16 tokens, time in s"},
		{"forced unit", twoChats, "bailian:time-unit=ms", []int64{500_000, 61_114_000},
			"bailian; prompts in blocks of 16 tokens, time in ms"},
		{"forced format", twoChats, "mooncake:block=16", []int64{500_000, 61_114_000},
			"mooncake (it looks like bailian); prompts in blocks of 16 tokens, time in ms"},
		{"mooncake", threePrompts, "", []int64{0, 3_500_000, 4_000_000},
			"mooncake; prompts in blocks of 512 tokens, time in ms"},
	} {
		tr := tracetest.MustLoadText(t, test.content, read.Options{Selection: read.Selection{Format: test.format},
			Needs: traces.Needs{Times: true, Keys: true, Kind: true}})
		if got := prompts.Of(tr.Kind).Arrivals; !slices.Equal(got, test.arrivals) {
			t.Errorf("%s: prompts arrive at %v ns, want %v", test.name, got, test.arrivals)
		}
		if got := tr.ReadAs(); got != test.reading {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.reading)
		}
	}
}

// TestBailianConversations: chats name the one that they continue.
func TestBailianConversations(t *testing.T) {
	chat := func(id, parent string) string {
		return `{"chat_id": ` + id + `, "parent_chat_id": ` + parent + `, "timestamp": 1, "input_length": 16, ` +
			`"hash_ids": [7]}` + "\n"
	}
	content := chat("1", "-1") + chat("2", "1") + chat("3", "-1") + chat("4", "2") + chat("5", "99") + chat("6", "5")
	got := prompts.Of(tracetest.MustLoadText(t, content, read.Options{}).Kind).Sessions
	if want := []int32{0, 0, 1, 0, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("conversations %v, want %v", got, want)
	}
	_, err := tracetest.LoadText(t, content+chat("7", "x"), read.Options{})
	must.Fail(t, err, "line 7: column 34: want a number")
}
