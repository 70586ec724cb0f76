package agentlogs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const smallSession = `{"id": "trace_7", "block_size": 4, "hash_id_scope": "local", "requests": [
 {"t": 0.5, "in": 9, "out": 3, "hash_ids": [1, 2], "type": "n"}, {"in": 3, "t": 1000.5, "out": 1, "hash_ids": []}, ` +
	`{"t": 1001, "in": 12, "hash_ids": [1, 2, 3]}], "totals": {}}`

func TestAgentSessions(t *testing.T) {
	paths := tracetest.WriteTexts(t, smallSession, smallSession)
	got := must.Get(read.Load(t.Context(), paths,
		read.Options{Selection: read.Selection{Format: "agent:arrivals=even,rate=0.01,max-gap=200", Merge: true}}))(t)
	// The second session starts 100 s after the first and has blocks of its own.
	if want := []uint32{0, 1, 2, 3, 4, 0, 1, 5, 6, 2, 3, 7}; !reflect.DeepEqual(got.Objects, want) {
		t.Errorf("objects %v, want %v", got.Objects, want)
	}
	want := &prompts.Columns{
		BlockTokens: 4, InputTokens: []int32{9, 9, 3, 12, 3, 12}, Sessions: []int32{0, 0, 0, 0, 0, 0},
		Arrivals: []int64{5e8, 1005e8, 2005e8, 2010e8, 3005e8, 3010e8},
		Parents:  []int32{-1, 0, -1, 2, -1, 1, -1, 3}, SessionKeys: []uint64{stream.HashText([]byte("trace_7"))},
	}
	if !reflect.DeepEqual(prompts.Of(got.Kind).WithoutAnswers(""), want) {
		t.Errorf("prompts %+v, want %+v", prompts.Of(got.Kind), want)
	}
}

func TestAgentErrors(t *testing.T) {
	const head = `{"block_size": 4, "requests": [`
	for name, c := range map[string]struct{ content, want string }{
		"cut off":       {smallSession[:200], "byte 200: want a comma or a closing brace, got the end"},
		"no requests":   {`{"block_size": 4}`, "an object with requests"},
		"no size":       {`{"requests": []}`, "an object with a block_size"},
		"twice":         {`{"requests": [], "requests": []}`, "the requests only once"},
		"no array":      {`{"block_size": 4, "requests": 3}`, "an array of requests"},
		"empty":         {head + `]}`, "holds no requests"},
		"another scope": {`{"hash_id_scope": "per_context"}`, `want one of ["local" "global"]`},
		"size of 0":     {`{"block_size": 0}`, "want a whole number from 1"},
		"huge size":     {`{"block_size": 2000000}`, "want at most 1048576"},
		"time goes back": {head + `{"t": 2, "in": 4, "hash_ids": [1]}, {"t": 1, "in": 4, "hash_ids": [1]}]}`, "t goes back " +
			"from 2 to 1 seconds"},
		"negative time": {head + `{"t": -2, "in": 4, "hash_ids": [1]}]}`, "time \"-2\""},
		"empty prompt":  {head + `{"t": 2, "in": 0, "hash_ids": []}]}`, "want a whole number from 1"},
		"wrong length": {head + `{"t": 2, "in": 40, "hash_ids": [1]}]}`, "1 block ids for a prompt of 40 tokens: with 4 " +
			"tokens in a block it has 10"},
		"sub-agent's time goes back": {head + `{"t": 5, "requests": [{"t": 2, "in": 4, "hash_ids": [1]}, {"t": 1, "in": 4, ` +
			`"hash_ids": [1]}]}]}`, "t goes back from 2 to 1 seconds"},
		"sub-agent without time": {head + `{"t": 5, "requests": [{"in": 4, "hash_ids": [1]}]}]}`, "without t, in or"},
		"sub-agent without list": {head + `{"t": 5, "requests": 5}]}`, "an array of requests"},
		"too late": {head + `{"t": 9e9, "requests": [{"t": 8e9, "in": 4, "hash_ids": [1]}]}]}`,
			"2^63 nanoseconds"},
		"no ids":        {head + `{"t": 2, "in": 40}]}`, "without t, in or hash_ids"},
		"after the end": {head + `]} x`, "nothing after the object"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{Selection: read.Selection{Format: "agent"}})
		must.Fail(t, err, c.want, name)
	}
}

// agentsTrace is laid out as kv-cache-tester's trace_0003.json: the times of a sub-agent count from its start.
const agentsTrace = `{"id": "trace_3", "models": ["m"], "block_size": 4, "hash_id_scope": "SCOPE", "tool_tokens": 8, ` +
	`"requests": [{"t": 1, "type": "n", "model": "m", "in": 8, "out": 3, "hash_ids": [1, 2], "stop": "tool_use"}, ` +
	`{"t": 2, "type": "subagent", "agent_id": "agent_001", "subagent_type": "Explore", "duration_ms": 58071, ` +
	`"status": "completed", "requests": [` +
	`{"t": START0, "type": "n", "model": "m", "in": 8, "out": 3, "hash_ids": [1, 7]}, ` +
	`{"t": START9, "type": "s", "model": "m", "in": 9, "out": 3, "hash_ids": [1, 7]}], "models": ["m"]}, ` +
	`{"t": 4, "type": "s", "model": "m", "in": 8, "out": 3, "hash_ids": [1, 2]}], "totals": {}}`

func agentsAt(scope, first, second string) string {
	return strings.NewReplacer("SCOPE", scope, "START0", first, "START9", second).Replace(agentsTrace)
}

// TestSubAgents: requests of a sub-agent are in the order of their times, a session of its own, and share blocks with
// the session; global ids are shared by files, too.
func TestSubAgents(t *testing.T) {
	for _, c := range []struct {
		scope, first, second string
		want                 []uint32
	}{
		{"local", "0.0", "9.0", []uint32{0, 1, 0, 2, 0, 1, 0, 2, 3, 4, 3, 5, 3, 4, 3, 5}},
		{"local", "2.0", "11.0", []uint32{0, 1, 0, 2, 0, 1, 0, 2, 3, 4, 3, 5, 3, 4, 3, 5}},
		{"global", "0.0", "9.0", []uint32{0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2}},
	} {
		text := agentsAt(c.scope, c.first, c.second)
		got := must.Get(read.Load(t.Context(), tracetest.WriteTexts(t, text, text), read.Options{Needs: needs,
			Selection: read.Selection{Format: "agent:arrivals=none"}}))(t)
		k := prompts.Of(got.Kind)
		if !slices.Equal(got.Objects, c.want) || !slices.Equal(k.Sessions[:4], []int32{0, 1, 0, 1}) ||
			!slices.Equal(k.Arrivals[:4], []int64{1e9, 2e9, 4e9, 11e9}) {
			t.Errorf("%v: blocks %v of sessions %v at %v", c, got.Objects, k.Sessions, k.Arrivals)
		}
		if r := got.ReadAs(); !strings.Contains(r, "1 sub-agent, each a session of its own") {
			t.Errorf("read as %s", r)
		}
	}
}

// FuzzBlocks reads anything as a trace with the ids of blocks.
func FuzzBlocks(f *testing.F) {
	tracetest.FuzzAll(f, []string{"agent", "dynamo", "lmcache"}, smallSession, agentsAt("global", "0", "1"),
		dynamoTool+dynamoEnd("1", agentOf("a"), "", 4, "1"),
		dynamoEnd("5", "", `"cached_tokens":3,`, 4, "1")+dynamoEnd("2", "", "", 4, "1"),
		`{"timestamp":1.5,"model_name":"m","chunk_size":4,"seq_len":9,"chunk_hashes":["0xab","0xcd"]}`,
		`{"block_size":1,"requests":[{"t":1e9,"in":1,"hash_ids":[1]}]}`)
}
