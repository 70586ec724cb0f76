package tracestat

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// promptTrace is three prompts in blocks of 4 tokens, the second of which begins like the first and the third like the
// second.
func promptTrace() *traces.Trace {
	return &traces.Trace{
		Objects: []uint32{0, 1, 0, 1, 2, 0, 3, 4}, NumObjects: 5, SampleRate: 1, Groups: []int{0, 2, 5},
		Kind: &prompts.Columns{
			BlockTokens: 4, InputTokens: []int32{7, 14, 12}, OutputTokens: []int32{1, 2, 6}, Parents: []int32{-1, 0, 1, 0, 3},
			Sessions: []int32{0, 1, 0}, SessionKeys: []uint64{70, 80},
		},
	}
}

func TestPrompts(t *testing.T) {
	s := must.Get(Summarize(promptTrace()))(t)
	p := s.Kind.(*PromptSummary)
	// Shared: nothing, two blocks, one block. Distinct: 4+3, 4 of the third block of the second prompt, 4+4.
	if p.Prompts != 3 || *p.Conversations != 2 || p.InputTokens != 33 || *p.OutputTokens != 9 || *p.SharedTokens != 12 ||
		*p.DistinctTokens != 19 {
		t.Errorf("%+v", p)
	}
	if *p.SharedPrefixRatio != 12.0/33 || p.Lengths.Max != 14 || p.OutputLengths.Mean != 3 || p.Turns.Max != 2 ||
		p.ForeignPrompts.Mean != 1 {
		t.Errorf("%+v", p)
	}
	var table strings.Builder
	must.Do(t, s.Print(&table, "table"))
	for _, want := range []string{"shared prefixes", "12 tokens (36.36%)", "other prompts between turns"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
}

// Prompts have their own bytes, blocks whole ones. With a window, a long prompt has less.
func TestKeysAndValues(t *testing.T) {
	for _, test := range []struct {
		kv                       string
		longest, mean            float64
		block, footprint, reused int64
		want                     string
	}{
		// Blocks 0 and 1 of the five are requested again.
		{"layers=2,kv-heads=1,head-size=3,type=fp8", 14 * 12, 33 * 12 / 3., 48, 5 * 48, 2 * 48, "48 B per block"},
		// The layer with a window keeps 2 tokens of each prompt, and of the five blocks one at each of three ends and a
		// fork: 24 bytes and 24 x 4/5.
		{"layers=2,kv-heads=1,head-size=3,type=fp8,window=2,windowed-layers=1", 14*6 + 12, (33*6 + 36) / 3., 43, 5 * 43,
			2 * 43, "12 B per token"},
		{"layers=2,kv-heads=1,head-size=3,type=fp8,window=2,windowed-layers=1,windows=all", 14 * 12, 33 * 12 / 3., 48,
			5 * 48, 2 * 48, "12 B per token"},
	} {
		trace := promptTrace()
		columns, spec := prompts.Of(trace.Kind), must.Get(llm.Parse(test.kv))(t)
		must.Do(t, columns.SetMemory(must.Get(spec.KeyValues())(t), spec.WindowsAll(), trace.Objects, trace.Groups))
		s := must.Get(Summarize(trace))(t)
		k := s.Kind.(*PromptSummary).KeysAndValues
		if k.TokenBytes != 12 || k.LongestPrompt != test.longest || k.MeanPrompt != test.mean ||
			k.Prompts.Max != test.longest {
			t.Errorf("%s: %+v", test.kv, k)
		}
		if *k.BlockBytes != test.block || *k.Footprint != test.footprint || *k.Reused != test.reused {
			t.Errorf("%s: blocks of %d bytes, all %d, reused %d", test.kv, *k.BlockBytes, *k.Footprint, *k.Reused)
		}
		var table strings.Builder
		must.Do(t, s.Print(&table, "table"))
		for _, want := range []string{test.want, "KV of the longest prompt", "(2 blocks, 40%)"} {
			if !strings.Contains(table.String(), want) {
				t.Errorf("no %q in\n%s", want, table.String())
			}
		}
	}
	if s := must.Get(Summarize(promptTrace()))(t); s.Kind.(*PromptSummary).KeysAndValues != nil {
		t.Error("bytes of a model that is not known")
	}
}

// TestPromptsBeyondTheirBlocks: tokens beyond the blocks are in no cache.
func TestPromptsBeyondTheirBlocks(t *testing.T) {
	trace := promptTrace()
	prompts.Of(trace.Kind).InputTokens = []int32{11, 15, 15}
	prompts.Of(trace.Kind).OutputTokens, prompts.Of(trace.Kind).Sessions, prompts.Of(trace.Kind).SessionKeys = nil, nil,
		nil
	s := must.Get(Summarize(trace))(t)
	if p := s.Kind.(*PromptSummary); *p.SharedTokens != 12 || *p.DistinctTokens != 20 || p.Conversations != nil ||
		p.OutputTokens != nil || p.Turns != nil {
		t.Errorf("%+v", p)
	}
}
