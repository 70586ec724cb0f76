package promptlogs_test

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const (
	smallAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,4808,10\n2023-11-16 18:17:04.5,3180,0\n"
	smallBurst = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
		"5,Conversation-1,1.5,ChatGPT,500,20,520,Conversation log\n9,,2,ChatGPT,70,2,72,API log\n" +
		"10,Conversation-1,2,ChatGPT,600,2,602,Conversation log\n11,,2,GPT-4,0,0,0,API log\n"
)

func lengthsOf(t *testing.T, content string) (*traces.Trace, *prompts.Columns) {
	t.Helper()
	tr := tracetest.MustLoadText(t, content, read.Options{Needs: traces.Needs{Times: true, Lengths: true}})
	return tr, prompts.Of(tr.Kind)
}

func TestLengths(t *testing.T) {
	tr, got := lengthsOf(t, smallAzure)
	if !got.LengthsOnly || !reflect.DeepEqual(got.InputTokens, []int32{4808, 3180}) ||
		!reflect.DeepEqual(got.OutputTokens, []int32{10, 0}) || got.Arrivals[1]-got.Arrivals[0] != 1e9 ||
		got.Sessions != nil {
		t.Errorf("prompts %+v", got)
	}
	if tr.NumObjects != 2 || len(tr.Warnings) != 1 {
		t.Errorf("%d objects and warnings %q: want one for each prompt, and that no hits can be known", tr.NumObjects,
			tr.Warnings)
	}
	tr, got = lengthsOf(t, smallBurst)
	if !reflect.DeepEqual(got.InputTokens, []int32{500, 70, 600}) || !reflect.DeepEqual(got.Sessions, []int32{0, 1, 0}) ||
		!reflect.DeepEqual(got.Arrivals, []int64{5e9, 9e9, 10e9}) || tr.LeftOut() != 1 {
		t.Errorf("prompts %+v, %d rows left out", got, tr.LeftOut())
	}
}

// TestLengthsOfBenchmarks: what the benchmark multi-round-qa and the simulator Vidur write.
func TestLengthsOfBenchmarks(t *testing.T) {
	_, got := lengthsOf(t, "prompt_tokens,generation_tokens,ttft,generation_time,user_id,question_id,launch_time,"+
		"finish_time\n"+
		"1024,100,0.21,3.5,7,1,1740000000.25,1740000004\n900,90,0.2,3,8,1,1740000001.25,1740000005\n"+
		"1150,80,0.1,3,7,2,1740000005.25,1740000009\n")
	if !reflect.DeepEqual(got.InputTokens, []int32{1024, 900, 1150}) || got.Arrivals[2]-got.Arrivals[0] != 5e9 ||
		!reflect.DeepEqual(got.OutputTokens, []int32{100, 90, 80}) || !reflect.DeepEqual(got.Sessions, []int32{0, 1, 0}) {
		t.Errorf("multi-round-qa: %+v", got)
	}
	_, got = lengthsOf(t, "Request Id,request_e2e_time,request_num_prefill_tokens,request_num_decode_tokens\n"+
		"0,1.5,374,44\n")
	if !reflect.DeepEqual(got.InputTokens, []int32{374}) || !reflect.DeepEqual(got.OutputTokens, []int32{44}) {
		t.Errorf("Vidur: %+v", got)
	}
}

func TestLengthsErrors(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"length":  {smallAzure + "2023-11-16 18:17:05,many,1\n", `line 4: ContextTokens: "many" tokens: want a whole number`},
		"output":  {smallAzure + "2023-11-16 18:17:05,1,few\n", `line 4: GeneratedTokens: "few" tokens`},
		"time":    {smallAzure + "yesterday,1,1\n", `line 4: TIMESTAMP: time "yesterday"`},
		"columns": {smallAzure + "5,1\n", "line 4: 2 columns, but the lines before have 3"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{Needs: traces.Needs{Lengths: true}})
		must.Fail(t, err, c.want, name)
	}
	_, err := tracetest.LoadText(t, smallAzure, read.Options{})
	must.Fail(t, err, "has lengths of prompts without contents, so hits are unknown")
	_, err = tracetest.LoadText(t, "a,b\n1,2\n", read.Options{Selection: read.Selection{Format: "lengths"}})
	must.Fail(t, err, "its first line does not name columns of the lengths of prompts and of answers")
}

// TestNeedsOfLengths: only what needs nothing else allows a trace without contents.
func TestNeedsOfLengths(t *testing.T) {
	only := traces.Needs{Lengths: true}
	if only.Union(traces.Needs{}).Lengths || !only.Union(only).Lengths {
		t.Error("needs of hits and of lengths together allow lengths alone")
	}
	kind := prompts.Kind{LengthsOnly: true}
	if why := kind.Conflict(stream.Kind(prompts.Kind{})); why == "" {
		t.Error("files with and without contents make one trace")
	}
}
