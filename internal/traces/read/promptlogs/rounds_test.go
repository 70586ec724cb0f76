package promptlogs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// addedRows are laid out as aiperf's generator of coding sessions writes them: later rows have what is new.
const addedRows = `{"session_id":"a","input_length":1100,"output_length":500,"hash_ids":[5,6,7],"timestamp":0}
{"session_id":"a","input_length":600,"output_length":20,"hash_ids":[8,9],"delay":2000.5}
{"session_id":"b","input_length":1030,"output_length":1,"hash_ids":[5,6,10],"timestamp":100}
{"session_id":"a","input_length":10,"output_length":20,"hash_ids":[11],"delay":1.0}
{"session_id":"b","input_length":30,"output_length":1,"hash_ids":[12],"delay":50.0}
`

// TestRowsWithDelays: worked out by hand. Prompts of a have 1100, 1100+500+600, and 2200+20+10 tokens; the full blocks
// of its first row are 5 and 6, which b shares.
func TestRowsWithDelays(t *testing.T) {
	got := tracetest.MustLoadText(t, addedRows, read.Options{Needs: traces.Needs{Times: true, Keys: true}})
	k := prompts.Of(got.Kind)
	if want := []int32{1100, 1030, 1061, 2200, 2230}; !slices.Equal(k.InputTokens, want) {
		t.Errorf("tokens %v, want %v", k.InputTokens, want)
	}
	if want := []int64{0, 1e8, 1.5e8, 20005e5, 20015e5}; !slices.Equal(k.Arrivals, want) {
		t.Errorf("arrivals %v, want %v", k.Arrivals, want)
	}
	if want := []int32{0, 1, 1, 0, 0}; !slices.Equal(k.Sessions, want) {
		t.Errorf("sessions %v, want %v", k.Sessions, want)
	}
	if want := []uint32{0, 1, 2, 0, 1, 3, 0, 1, 0, 1, 4, 5, 0, 1, 4, 5}; !slices.Equal(got.Objects, want) {
		t.Errorf("blocks %v, want %v", got.Objects, want)
	}
	for _, want := range []string{"history=added", "estimated where rows have delays", "sorted by time"} {
		if !strings.Contains(got.ReadAs(), want) {
			t.Errorf("read as %s: want %q", got.ReadAs(), want)
		}
	}
}

// TestRowsWithWholePrompts: rows that begin as their session does are whole prompts.
func TestRowsWithWholePrompts(t *testing.T) {
	const rows = `{"session_id":"a","timestamp":5,"input_length":1100,"output_length":500,"hash_ids":[5,6,7]}
{"session_id":"b","timestamp":7,"input_length":1030,"output_length":1,"hash_ids":[5,6,10]}
{"session_id":"a","delay_ms":10,"input_length":1700,"output_length":20,"hash_ids":[5,6,8,9]}
{"session_id":"b","timestamp":9,"delay":1,"input_length":1030,"output_length":1,"hash_ids":[5,6,10]}
`
	got := tracetest.MustLoadText(t, rows, read.Options{})
	k := prompts.Of(got.Kind)
	if !slices.Equal(k.InputTokens, []int32{1100, 1030, 1030, 1700}) || !slices.Equal(k.Arrivals, []int64{5e6, 7e6, 9e6,
		15e6}) || !strings.Contains(got.ReadAs(), "history=included") {
		t.Errorf("%v at %v, read as %s", k.InputTokens, k.Arrivals, got.ReadAs())
	}
	got = tracetest.MustLoadText(t, rows, read.Options{Selection: read.Selection{Format: "mooncake:history=added"}})
	if k := prompts.Of(got.Kind); !slices.Equal(k.InputTokens, []int32{1100, 1030, 2061, 3300}) {
		t.Errorf("added: %v", k.InputTokens)
	}
	noTimes := strings.NewReplacer(`"timestamp":5,`, "", `"timestamp":7,`, "", `"timestamp":9,`, "").Replace(rows)
	if read := tracetest.MustLoadText(t, noTimes, read.Options{}).ReadAs(); !strings.Contains(read, "no row has a time") {
		t.Errorf("without times: read as %s", read)
	}
}

func TestRowsWithDelaysErrors(t *testing.T) {
	const good = `{"session_id":"a","timestamp":0,"input_length":10,"hash_ids":[5]}` + "\n" +
		`{"session_id":"a","delay":1,"input_length":10,"output_length":9,"hash_ids":[6]}` + "\n"
	const huge = `{"session_id":"a","delay":9e15,"input_length":10,"output_length":2000000000,"hash_ids":[6]}` + "\n"
	first := strings.Replace(good, `"hash`, `"output_length":4,"hash`, 1)
	for name, c := range map[string]struct{ content, want string }{
		"no start": {first + `{"session_id":"b","delay":1,"input_length":10,"output_length":9,"hash_ids":[6]}`,
			"line 3: a delay in a session that has no row with a timestamp"},
		"no time": {first + `{"session_id":"a","input_length":10,"output_length":9,"hash_ids":[6]}`,
			"line 3: no timestamp, which"},
		"negative delay": {first + `{"session_id":"a","delay":-1}`, "line 3: delay: time"},
		"too late":       {first + huge[:len(huge)-1] + "\n" + huge, "2^63 nanoseconds"},
		"too many tokens": {first + strings.ReplaceAll(huge+huge, "9e15", "1"),
			"with the rows before it: want at most 16777216"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{})
		must.Fail(t, err, c.want, name)
	}
}

// TestRowsThatWait: rows of agents, as Dynamo's agentic_mooncake has them, come when all rows that they wait for have
// come, after their delays and what their tools take. The row of another session waits for both.
func TestRowsThatWait(t *testing.T) {
	const rows = `{"request_id":"r","session_id":"a","input_length":1024,"output_length":9,"hash_ids":[1,2],"timestamp":5}
{"request_id":"c","session_id":"a","input_length":1536,"output_length":9,"hash_ids":[1,2,3],"wait_for":["r"],"delay":2,` +
		`"tool_wait_ms":3.5,"branches":[],"tool_events":[{"x":1}]}
{"request_id":"d","session_id":"b","input_length":512,"output_length":9,"hash_ids":[4],"timestamp":8}
{"request_id":"e","session_id":"c","input_length":1024,"output_length":9,"hash_ids":[1,9],"wait_for":["c","d"],"delay":1}
{"request_id":"f","session_id":"c","input_length":512,"output_length":9,"hash_ids":[5],"wait_for":["d"]}
`
	got := tracetest.MustLoadText(t, rows, read.Options{Needs: traces.Needs{Times: true}})
	k := prompts.Of(got.Kind)
	if !slices.Equal(k.InputTokens, []int32{1024, 512, 512, 1536, 1024}) ||
		!slices.Equal(k.Arrivals, []int64{5e6, 8e6, 8e6, 105e5, 115e5}) ||
		!strings.Contains(got.ReadAs(), "history=included") {
		t.Errorf("%v at %v, read as %s", k.InputTokens, k.Arrivals, got.ReadAs())
	}
	_, err := tracetest.LoadText(t, strings.Replace(rows, `["d"]`, `["g"]`, 1), read.Options{})
	must.Fail(t, err, "line 5: a delay in a session that has no row with a timestamp before it, or a wait_for of no row",
		"a row that nobody has")
}
