package agentlogs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// dynamoEnd is a request as Dynamo 1.6.1 writes it; context and more may be "".
func dynamoEnd(received, context, more string, length int, hashes string) string {
	return fmt.Sprintf(`{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":2000,`+
		`%s"request":{"request_id":"r","output_tokens":2,"request_received_ms":%s,"total_time_ms":10,%s"replay":`+
		`{"trace_block_size":4,"input_length":%d,"input_sequence_hashes":[%s]}}}`, context, received, more, length,
		hashes) + "\n"
}

// agentOf is the context of a session.
func agentOf(session string) string {
	return `"agent_context":{"session_id":"` + session + `","parent_session_id":"parent"},`
}

const dynamoTool = `{"schema":"dynamo.request.trace.v1","event_type":"tool_end","agent_context":{"session_id":"a"},` +
	`"tool":{"tool_call_id":"tool-1"}}` + "\n"

// TestDynamo: requests end in another order than they came; other events are left out.
func TestDynamo(t *testing.T) {
	counted := `"model":"m","input_tokens":9,"cached_tokens":4,`
	got := loadAs(t, `{"event_type":"request_payload","request_id":"standard-1"}`+"\n"+
		dynamoEnd("1020", agentOf("b"), counted, 9, "501,502")+dynamoTool+
		dynamoEnd("1000", agentOf("a"), "", 4, "501")+
		dynamoEnd("1030", agentOf("b"), "", 12, "501,502,14879255164371896291"), "")
	k := prompts.Of(got.Kind)
	if !slices.Equal(k.InputTokens, []int32{4, 9, 12}) || !slices.Equal(k.Arrivals, []int64{1000e6, 1020e6, 1030e6}) ||
		!slices.Equal(k.Sessions, []int32{0, 1, 1}) || !slices.Equal(got.Objects, []uint32{0, 1, 2, 0, 3, 4}) {
		t.Errorf("%v at %v of %v, blocks %v", k.InputTokens, k.Arrivals, k.Sessions, got.Objects)
	}
	if r := got.Readings[0]; r.LeftOut != 2 || !said(got, "other events") || r.Format != "dynamo" {
		t.Errorf("read as %s", got.ReadAs())
	}
	// Without a session; the same hashes are the same blocks.
	got = loadAs(t, dynamoEnd("1000", "", "", 4, "401")+dynamoEnd("1020", "", "", 4, "401")+
		dynamoEnd("null", "", "", 4, "401"), "")
	if k := prompts.Of(got.Kind); len(k.SessionKeys) > 0 || !slices.Equal(got.Objects, []uint32{0, 0}) ||
		!said(got, "without a time") {
		t.Errorf("blocks %v, sessions %v", got.Objects, k.SessionKeys)
	}
}

func TestDynamoErrors(t *testing.T) {
	good := dynamoEnd("1000", "", "", 4, "401")
	for name, c := range map[string]struct{ content, want string }{
		"no request": {dynamoTool, "want a request_end with a replay"},
		"other blocks": {good + strings.Replace(good, `size":4`, `size":8`, 1),
			"line 2: trace_block_size: 8 tokens, and 4 in the first"},
		"a session":     {good + dynamoEnd("1", agentOf("a"), "", 4, "1"), "line 2: an agent_context, which the first"},
		"no session":    {dynamoEnd("1", agentOf("a"), "", 4, "1") + good, "line 2: no agent_context with a session_id"},
		"wrong length":  {good + dynamoEnd("1", "", "", 40, "1"), "line 2: 1 block ids for a prompt of 40 tokens"},
		"negative time": {good + dynamoEnd("-1", "", "", 4, "1"), "line 2: time"},
		"broken":        {good + "{", "line 2: "},
	} {
		_, err := tracetest.ReadText(t, c.content, "dynamo")
		must.Fail(t, err, c.want, name)
	}
}

// TestLMCache: the lookups that LMCache 0.5.6 wrote, of which its own simulator finds 252 of 369 tokens in a cache
// without limit, tails of prompts included.
func TestLMCache(t *testing.T) {
	got := loadAs(t, fileOf(t, "lmcache-0.5.6-lookups.jsonl"), "")
	k := prompts.Of(got.Kind)
	seen := map[uint32]bool{}
	hits, tokens := 0, int32(0)
	for i, first := range got.Groups {
		end := len(got.Objects)
		if i+1 < len(got.Groups) {
			end = got.Groups[i+1]
		}
		hit := true
		for _, block := range got.Objects[first:end] {
			if hit = hit && seen[block]; hit {
				hits += k.BlockTokens
			}
			seen[block] = true
		}
		tokens += k.InputTokens[i]
	}
	if hits != 252 || tokens != 369 || got.Readings[0].Format != "lmcache" || k.Arrivals[0] != 1764000000433645700 {
		t.Errorf("%d of %d tokens, the first at %d, read as %s", hits, tokens, k.Arrivals[0], got.ReadAs())
	}
}

// Blank lines between rows are no requests.
func TestBlankLinesBetweenRows(t *testing.T) {
	for _, format := range []string{"dynamo", "lmcache"} {
		text := tracetest.ExampleOf(t, format)
		options := read.Options{Needs: needs, Selection: read.Selection{Format: format}}
		want := must.Get(tracetest.LoadText(t, text, options))(t)
		got := must.Get(tracetest.LoadText(t, strings.ReplaceAll(text, "\n", "\n\n"), options))(t)
		if !slices.Equal(got.Objects, want.Objects) || len(want.Objects) == 0 {
			t.Errorf("%s: %d requests with blank lines, %d without", format, len(got.Objects), len(want.Objects))
		}
	}
}
