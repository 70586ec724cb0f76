package sim_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// A sample has all blocks that conversations share, so that its cache must be larger than these. A note says where it
// is not.
func TestSamplesOfPromptsNeedLargeCaches(t *testing.T) {
	// Two system prompts of 4 blocks, two conversations with each, and a long one of its own.
	p := &prompts.Columns{BlockTokens: 16}
	trace := &traces.Trace{Name: "prompts", Kind: p, SampleRate: 0.5}
	add := func(session int32, blocks ...uint32) {
		trace.Groups = append(trace.Groups, len(trace.Objects))
		trace.Objects = append(trace.Objects, blocks...)
		p.Sessions, p.InputTokens = append(p.Sessions, session), append(p.InputTokens, int32(16*len(blocks)))
	}
	add(0, 0, 1, 2, 3, 4)
	add(0, 0, 1, 2, 3, 4, 5)
	add(1, 0, 1, 2, 3, 6)
	add(2, 7, 8, 9, 10, 11)
	add(3, 7, 8, 9, 10, 12)
	add(4, 13, 14, 15, 16, 17, 18, 19, 20)
	trace.NumObjects = 21
	for o := range int32(21) {
		parent := o - 1
		switch o {
		case 0, 7, 13:
			parent = -1
		case 6:
			parent = 3
		case 12:
			parent = 10
		}
		p.Parents = append(p.Parents, parent)
	}
	for _, c := range []struct {
		cache string
		size  int64
		rate  float64
		want  string
	}{
		{"prefix", 79, 0.5, "has 79 blocks, but prompts are as long as before, up to 8 blocks, and 8 are shared"},
		{"tiers(host=2x)", 20, 0.5, "want 4 times"},
		{"prefix", 80, 0.5, ""},
		{"prefix", 20, 1, ""},
		{"exact", 20, 0.5, ""},
	} {
		trace.SampleRate = c.rate
		var notes []string
		r := sim.NewReplayer(trace, sim.ReplayerOptions{Note: func(text string) {
			if strings.Contains(text, "sample") {
				notes = append(notes, text)
			}
		}})
		r.Jobs([]sim.Cell{simtest.Cell(t, "lru", capacity.Of(1000, false), "cache="+c.cache),
			simtest.Cell(t, "lru", capacity.Of(c.size, false), "cache="+c.cache)})
		got := strings.Join(notes, "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s at %d, sampled at %g: the note is %q, want %q", c.cache, c.size, c.rate, got, c.want)
		}
	}
}
