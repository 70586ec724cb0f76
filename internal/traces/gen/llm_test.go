package gen

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

func loadLLM(t testing.TB, spec string) *traces.Trace {
	t.Helper()
	g := open(t, spec)
	trace := must.Get(read.LoadReader(t.Context(), spec, g, g.Fields, int64(g.Requests()),
		read.Options{Needs: traces.Needs{Keys: true}}))(t)
	if len(trace.Objects) != g.Requests() {
		t.Errorf("%s: %d requests, %d announced", spec, len(trace.Objects), g.Requests())
	}
	return trace
}

func meanOf(column []int32) float64 {
	var sum float64
	for _, n := range column {
		sum += float64(n)
	}
	return sum / float64(len(column))
}

// foreignPrompts returns the numbers of prompts of other conversations between two of one.
func foreignPrompts(p *prompts.Columns) (gaps []float64) {
	last := map[int32]int{}
	for i, session := range p.Sessions {
		if before, ok := last[session]; ok {
			gaps = append(gaps, float64(i-before-1))
		}
		last[session] = i
	}
	return gaps
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s: %.1f, want %.1f within %.0f%%", what, got, want, 100*within)
	}
}

// TestOnlineQA compares the shape with what LCR states about its workload.
func TestOnlineQA(t *testing.T) {
	for seed := range brief.Of(3, 1) {
		trace := loadLLM(t, fmt.Sprintf("llm(shape=online-qa,seed=%d)", seed))
		p := prompts.Of(trace.Kind)
		if len(p.InputTokens) != 7268 || len(p.SessionKeys) != 2000 {
			t.Errorf("%d prompts of %d conversations, want 7268 of 2000", len(p.InputTokens), len(p.SessionKeys))
		}
		near(t, "mean prompt", meanOf(p.InputTokens), 3455, 0.01)
		near(t, "mean output", meanOf(p.OutputTokens), 256, 0)
		mean, sd := stat.MeanStdDev(foreignPrompts(p), nil)
		near(t, "mean gap", mean, 266, 0.03)
		near(t, "deviation of the gaps", sd, 77.5, 0.1)
	}
}

// A small number of prompts has the shape's number of them per conversation, as has a large number of conversations.
// Other numbers change nothing that was given, or that the shape has.
func TestCountsOfPrompts(t *testing.T) {
	for _, test := range []struct {
		spec                   string
		conversations, prompts int
	}{
		{"llm(prompts=300)", 83, 300}, {"llm(prompts=1)", 1, 1}, {"llm(prompts=1999)", 550, 1999},
		{"llm(prompts=2000)", 2000, 2000}, {"llm(prompts=2500)", 2000, 2500}, {"llm(shape=aibrix,prompts=20)", 6, 20},
		{"llm(conversations=7300,prompt-mean=90)", 7300, 26528}, {"llm(conversations=100)", 100, 7268},
		{"llm(conversations=100,prompts=200)", 100, 200},
	} {
		p := prompts.Of(loadLLM(t, test.spec).Kind)
		if len(p.SessionKeys) != test.conversations || len(p.InputTokens) != test.prompts {
			t.Errorf("%s: %d prompts of %d conversations, want %d of %d", test.spec, len(p.InputTokens), len(p.SessionKeys),
				test.prompts, test.conversations)
		}
	}
}

// TestAibrix compares the shape with what LCR states about its workload, and with the distinct tokens that its cache
// sizes imply.
func TestAibrix(t *testing.T) {
	trace := loadLLM(t, "llm(shape=aibrix)")
	p := prompts.Of(trace.Kind)
	if len(p.InputTokens) != 1817 || len(p.SessionKeys) != 500 {
		t.Errorf("%d prompts of %d conversations, want 1817 of 500", len(p.InputTokens), len(p.SessionKeys))
	}
	near(t, "mean prompt", meanOf(p.InputTokens), 2761, 0.01)
	near(t, "distinct tokens", float64(trace.NumObjects*p.BlockTokens), 5.4e5, 0.15)
	active := map[int32]bool{}
	left := map[int32]int{}
	for _, session := range p.Sessions {
		left[session]++
	}
	for _, session := range p.Sessions {
		active[session] = true
		if len(active) > 5 {
			t.Fatal("more than 5 conversations at a time")
		}
		if left[session]--; left[session] == 0 {
			delete(active, session)
		}
	}
}

// TestPromptsRepeatWhatCameBefore: the blocks of a prompt begin with those of the previous prompt of its conversation,
// and with the system prompt.
func TestPromptsRepeatWhatCameBefore(t *testing.T) {
	for _, history := range []string{"inputs", "all"} {
		const shared, systems, block = 100, 3, 8
		trace := loadLLM(
			t,
			fmt.Sprintf(
				"llm(shape=aibrix,conversations=60,prompts=200,prompt-mean=900,shared=%d,systems=%d,block=%d,history=%s)",
				shared,
				systems,
				block,
				history,
			),
		)
		p := prompts.Of(trace.Kind)
		roots := map[uint32]bool{}
		last := map[int32][]uint32{}
		tokens := map[int32]int32{}
		for i, from := range trace.Groups {
			to := len(trace.Objects)
			if i+1 < len(trace.Groups) {
				to = trace.Groups[i+1]
			}
			blocks, session := trace.Objects[from:to], p.Sessions[i]
			for k, object := range last[session] {
				if blocks[k] != object {
					t.Fatalf("prompt %d does not begin with the last of its conversation", i)
				}
			}
			if int(p.InputTokens[i])/block != len(blocks) || p.InputTokens[i] <= tokens[session] {
				t.Fatalf("prompt %d: %d blocks for %d tokens, after %d", i, len(blocks), p.InputTokens[i], tokens[session])
			}
			last[session], tokens[session] = blocks, p.InputTokens[i]
			if history == "all" {
				tokens[session] += p.OutputTokens[i]
			}
			roots[blocks[shared/block-1]] = true
		}
		if len(roots) != systems {
			t.Errorf("%d system prompts, want %d", len(roots), systems)
		}
	}
}

func TestLLMErrors(t *testing.T) {
	checkRefused(t, map[string]string{
		"llm(conversations=0)":             "at least one conversation",
		"llm(conversations=10,prompts=9)":  "a prompt for each",
		"llm(shape=aibrix,prompt-mean=50)": "system prompts and outputs alone give prompts of",
		"llm(systems=0)":                   "at least 1",
		"llm(gap-mean=0)":                  "want a mean above 0",
		"llm(next-turn=closed,active=0)":   "at least one conversation at a time",
		"llm(active=3)":                    "active=3 has no effect with next-turn=gaps",
		"llm(next-turn=closed,gap-sd=3)":   "gap-sd=3 has no effect with next-turn=closed",
		"llm(turns-sd=2)":                  "turns-sd=2 has no effect with turns=geometric",
		"llm(turns=normal,turns-sd=1e6)":   "at most 10 times the mean",
		"llm(length-cv=-0.5)":              "-1 for the value of the shape",
		"llm(rate=1e-9)":                   "292 years",
		"llm(prompt-mean=1e7,length-cv=100,conversations=20000,prompts=20000)": "drew a prompt or an output of more than",
		"llm(shape=chat)":       "want one of online-qa, aibrix",
		"mixed(phases=llm():5)": "generators of prompts",
		"llm(requests=5)":       "requests",
	})
}
