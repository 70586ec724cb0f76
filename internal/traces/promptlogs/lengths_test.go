package promptlogs_test

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
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
	tr := tracetest.MustLoadText(t, content, traces.LoadOptions{Needs: traces.Needs{Times: true, Lengths: true}})
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

func TestLengthsErrors(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"length":  {smallAzure + "2023-11-16 18:17:05,many,1\n", `line 4: ContextTokens: "many" tokens: want a whole number`},
		"output":  {smallAzure + "2023-11-16 18:17:05,1,-1\n", `line 4: GeneratedTokens: "-1" tokens`},
		"time":    {smallAzure + "yesterday,1,1\n", `line 4: TIMESTAMP: time "yesterday"`},
		"columns": {smallAzure + "5,1\n", "line 4: 2 columns, but the lines before have 3"},
	} {
		_, err := tracetest.LoadText(t, c.content, traces.LoadOptions{Needs: traces.Needs{Lengths: true}})
		must.Fail(t, err, c.want, name)
	}
	_, err := tracetest.LoadText(t, smallAzure, traces.LoadOptions{})
	must.Fail(t, err, "has lengths of prompts and no contents, so that no hits can be known")
	_, err = tracetest.LoadText(t, "a,b\n1,2\n", traces.LoadOptions{Selection: traces.Selection{Format: "lengths"}})
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

func FuzzLengths(f *testing.F) { tracetest.Fuzz(f, "lengths", smallAzure, smallBurst) }
