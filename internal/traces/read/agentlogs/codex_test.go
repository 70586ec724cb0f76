package agentlogs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// TestCodex reads files that Codex 0.171.0 wrote, without texts and paths: a session of two turns, each with a call of
// a tool, another session, and a fork of the first. The server that it asked got the prompts whole: each began with the
// one before, and its answer.
func TestCodex(t *testing.T) {
	var paths []string
	for _, name := range []string{"1", "2", "3"} {
		paths = append(paths, filepath.Join("testdata", "codex-0.171.0-"+name+".jsonl"))
	}
	tr := must.Get(read.Load(t.Context(), paths, read.Options{Needs: needs,
		Selection: read.Selection{Format: "codex:block=1"}}))(t)
	tr = must.Get(tr.WithAnswers(prompts.AnswersKept))(t)
	p := prompts.Of(tr.Kind)
	want := []int32{10136, 10235, 10303, 10403, 10138, 10238, 10495, 10595}
	if !slices.Equal(p.InputTokens, want) {
		t.Fatalf("prompts of %d tokens, want %d", p.InputTokens, want)
	}
	before := []int{-1, 0, 1, 2, -1, 4, 3, 6} // the fork goes on from the fourth
	for i, b := range before {
		have, _ := tr.Group(i)
		if m := p.Measured(i); !m.Known || m.Tokens != want[i] || m.Cached != want[i]/2 {
			t.Errorf("prompt %d: the server found %+v", i, m)
		}
		if b < 0 {
			continue
		}
		earlier, _ := tr.Group(b)
		shared := int(want[b]) + 25 - 1 // of the answer's last token nothing is computed
		if !slices.Equal(have[:shared], earlier[:shared]) || have[shared+1] == earlier[len(earlier)-1] {
			t.Errorf("prompt %d does not go on where prompt %d ended", i, b)
		}
	}
	if got := p.Sessions; !slices.Equal(got, []int32{0, 0, 0, 0, 1, 1, 2, 2}) {
		t.Errorf("conversations %d", got)
	}
	alone := loadAs(t, fileOf(t, "codex-0.171.0-3.jsonl"), "")
	if !strings.HasPrefix(alone.ReadAs(), "codex") || !said(alone, "forked from one that is not among the files") {
		t.Errorf("the fork alone: %s", alone.ReadAs())
	}
}

// TestCodexBeforeRecords: files of earlier versions have counts alone, which come again with new limits.
func TestCodexBeforeRecords(t *testing.T) {
	var lines []string
	for line := range strings.Lines(fileOf(t, "codex-0.171.0-1.jsonl")) {
		if strings.Contains(line, "token_usage_record") {
			continue
		}
		if lines = append(lines, line); strings.Contains(line, `"token_count"`) {
			lines = append(lines, line)
		}
	}
	whole, counts := loadAs(t, fileOf(t, "codex-0.171.0-1.jsonl"), "codex"), loadAs(t, strings.Join(lines, ""), "codex")
	if got, want := tokensOf(counts), tokensOf(whole); !slices.Equal(got, want) {
		t.Errorf("prompts of %d tokens, want %d", got, want)
	}
	if got, want := counts.Times, whole.Times; !slices.Equal(got, want) {
		t.Errorf("times %d, want %d", got, want)
	}
}
