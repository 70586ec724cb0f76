package agentlogs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// claudeLine is a line of a session: a message, of an answer with the tokens of its prompt and its own.
func claudeLine(uuid, parent, kind, id string, tokens, output int) string {
	before := "null"
	if parent != "" {
		before = fmt.Sprintf("%q", parent)
	}
	message := fmt.Sprintf(`{"role":%q,"content":"x"}`, kind)
	if id != "" {
		cached := tokens / 2
		message = fmt.Sprintf(`{"id":%q,"model":"m","role":%q,"content":[],"usage":{"input_tokens":1,`+
			`"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}`, id, kind,
			tokens-1-cached, cached, output)
	}
	return fmt.Sprintf(`{"parentUuid":%s,"sessionId":"s","type":%q,"message":%s,"uuid":%q,`+
		`"timestamp":"2026-05-05T10:00:%02d.000Z"}`+"\n", before, kind, message, uuid, len(uuid))
}

func TestClaudeCode(t *testing.T) {
	user := func(uuid, parent string) string { return claudeLine(uuid, parent, "user", "", 0, 0) }
	for name, c := range map[string]struct {
		lines string
		input []int32
		hits  []int // tokens that a prompt has in common with any before it, and with their answers but for the last token
	}{
		"a conversation": {user("a", "") + claudeLine("b", "a", "assistant", "1", 20, 6) + user("c", "b") +
			claudeLine("d", "c", "assistant", "2", 40, 5), []int32{20, 40}, []int{0, 25}},
		"an answer in three parts": {user("a", "") + claudeLine("b", "a", "assistant", "1", 20, 1) +
			claudeLine("c", "b", "assistant", "1", 20, 2) + claudeLine("d", "c", "assistant", "1", 20, 6) + user("e", "d") +
			claudeLine("f", "e", "assistant", "2", 40, 5), []int32{20, 40}, []int{0, 25}},
		"an answer that is not sent again": {user("a", "") + claudeLine("b", "a", "assistant", "1", 20, 30) +
			user("c", "b") + claudeLine("d", "c", "assistant", "2", 40, 5), []int32{20, 40}, []int{0, 20}},
		"a fork": {user("a", "") + claudeLine("b", "a", "assistant", "1", 20, 6) + user("c", "b") +
			claudeLine("d", "c", "assistant", "2", 40, 5) + user("e", "b") + claudeLine("f", "e", "assistant", "3", 50, 5),
			[]int32{20, 40, 50}, []int{0, 25, 26}},
		"a compaction, of which the server had half": {user("a", "") + claudeLine("b", "a", "assistant", "1", 40, 6) +
			user("c", "b") + claudeLine("d", "c", "assistant", "2", 16, 5), []int32{40, 16}, []int{0, 8}},
		"two conversations, of which the server had half": {user("a", "") + claudeLine("b", "a", "assistant", "1", 40, 6) +
			user("c", "") + claudeLine("d", "c", "assistant", "2", 16, 5), []int32{40, 16}, []int{0, 8}},
		"an error between two turns": {user("a", "") + claudeLine("b", "a", "assistant", "1", 20, 6) + user("c", "b") +
			strings.ReplaceAll(claudeLine("d", "c", "assistant", "e", 1, 0), `"input_tokens":1`, `"input_tokens":0`) +
			user("e", "d") + claudeLine("f", "e", "assistant", "2", 40, 5), []int32{20, 40}, []int{0, 25}},
		"lines without a usage": {`{"type":"summary","summary":"x","leafUuid":"a"}` + "\n" + user("a", "gone") +
			claudeLine("b", "a", "assistant", "1", 20, 6) +
			strings.ReplaceAll(claudeLine("c", "b", "assistant", "2", 40, 5), `"usage"`, `"unused"`), []int32{20}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := must.Get(loadAs(t, c.lines, "claude-code:block=1").WithAnswers(prompts.AnswersKept))(t)
			p := prompts.Of(tr.Kind)
			if !slices.Equal(p.InputTokens, c.input) {
				t.Fatalf("prompts of %d tokens, want %d", p.InputTokens, c.input)
			}
			known := map[uint32]bool{}
			for i := range tr.Groups {
				blocks, _ := tr.Group(i)
				own, hits := blocks[:p.InputTokens[i]], 0
				for hits < len(own) && known[own[hits]] {
					hits++
				}
				if hits != c.hits[i] {
					t.Errorf("prompt %d has %d tokens of those before, want %d", i, hits, c.hits[i])
				}
				for _, o := range blocks {
					known[o] = true
				}
			}
			if recognised := loadAs(t, c.lines, ""); !strings.HasPrefix(recognised.ReadAs(), "claude-code") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

// TestClaudeCodeSharesWhatItSays: of any two prompts of a random tree of turns, the later one has the tokens of the
// turn before as far as its length allows.
func TestClaudeCodeSharesWhatItSays(t *testing.T) {
	test := t
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		type turn struct{ tokens, output, before int }
		var turns []turn
		var lines strings.Builder
		for i := range rapid.IntRange(1, 20).Draw(t, "turns") {
			next, parent := turn{tokens: 2 + rng.IntN(60), output: rng.IntN(20), before: -1}, ""
			if i > 0 && rng.IntN(5) > 0 {
				next.before = rng.IntN(i)
				parent = fmt.Sprint("a", next.before)
				if rng.IntN(4) > 0 {
					next.tokens += turns[next.before].tokens
				}
			}
			turns = append(turns, next)
			lines.WriteString(claudeLine(fmt.Sprint("u", i), parent, "user", "", 0, 0))
			lines.WriteString(claudeLine(fmt.Sprint("a", i), fmt.Sprint("u", i), "assistant", fmt.Sprint("m", i), next.tokens,
				next.output))
		}
		content := strings.ReplaceAll(lines.String(), `"timestamp"`, `"unread"`)
		tr := must.Get(loadAs(test, content, "claude-code:block=1").WithAnswers(prompts.AnswersKept))(t)
		// what a server has of a turn: the prompt and its answer, as far as they follow from the tree
		of := func(i int) []uint32 {
			blocks, _ := tr.Group(i)
			return blocks
		}
		for i, next := range turns {
			if next.before < 0 {
				continue
			}
			b := turns[next.before]
			want := next.tokens / 2 // what usage says that the server had
			switch {
			case next.tokens >= b.tokens+b.output:
				want = b.tokens + max(0, b.output-1) // nothing is computed of the last token
			case next.tokens >= b.tokens:
				want = b.tokens
			}
			have, before := of(i), of(next.before)
			want = min(want, next.tokens, len(before))
			if !slices.Equal(have[:want], before[:want]) {
				t.Fatalf("prompt %d of %d tokens after %+v has other tokens than the %d before", i, next.tokens, b, want)
			}
		}
	})
}

// A usage of any size costs no memory.
func TestClaudeCodeClaims(t *testing.T) {
	content := claudeLine("a", "", "assistant", "1", 1<<30, 6) + claudeLine("b", "a", "assistant", "2", 20, 1<<30) +
		claudeLine("c", "b", "assistant", "3", 30, 2)
	tr := loadAs(t, content, "claude-code")
	if p := prompts.Of(tr.Kind); !slices.Equal(p.InputTokens, []int32{30}) || tr.Readings[0].LeftOut != 2 {
		t.Errorf("prompts of %d tokens, %d left out", p.InputTokens, tr.Readings[0].LeftOut)
	}
	_, err := tracetest.ReadText(t, claudeLine("a", "", "assistant", "1", 1<<30, 6), "claude-code")
	if err == nil || !strings.Contains(err.Error(), "more than 16 million tokens") {
		t.Error(err)
	}
}

// A session that goes on in another file is copied there: each answer counts once.
func TestClaudeCodeOfTwoFiles(t *testing.T) {
	dir := t.TempDir()
	first := claudeLine("a", "", "user", "", 0, 0) + claudeLine("b", "a", "assistant", "1", 20, 6)
	second := first + claudeLine("c", "b", "user", "", 0, 0) + claudeLine("d", "c", "assistant", "2", 40, 5)
	var paths []string
	for name, text := range map[string]string{"1.jsonl": first, "2.jsonl": second} {
		paths = append(paths, filepath.Join(dir, name))
		must.Do(t, os.WriteFile(paths[len(paths)-1], []byte(text), 0o600))
	}
	slices.Sort(paths)
	tr := must.Get(read.Load(t.Context(), paths, read.Options{Needs: traces.Needs{Times: true, Kind: true}}))(t)
	if p := prompts.Of(tr.Kind); !slices.Equal(p.InputTokens, []int32{20, 40}) {
		t.Errorf("prompts of %d tokens, want 20 and 40", p.InputTokens)
	}
	one, _ := tr.Group(0)
	if two, _ := tr.Group(1); !slices.Equal(one, two[:len(one)]) || len(one) != 1 {
		t.Errorf("blocks %d, and then %d: want the second prompt to go on from the first", one, two)
	}
}

// TestClaudeCodeOutOfOrder: lines that go on from themselves, or from later lines in a cycle, begin conversations, and
// are counted.
func TestClaudeCodeOutOfOrder(t *testing.T) {
	cycle := claudeLine("a", "d", "user", "", 0, 0) + claudeLine("b", "a", "assistant", "1", 20, 6) +
		claudeLine("d", "b", "user", "", 0, 0)
	tr := loadAs(t, cycle+claudeLine("e", "e", "assistant", "2", 40, 5), "claude-code")
	if got := tokensOf(tr); !slices.Equal(got, []int32{20, 40}) {
		t.Errorf("prompts of %d tokens", got)
	}
	for _, what := range []string{"lines that earlier ones go on from", "lines that go on from themselves"} {
		if !said(tr, what) {
			t.Errorf("%s: nothing is said of %s", tr.ReadAs(), what)
		}
	}
	shorter := loadAs(t, claudeLine("b", "", "assistant", "1", 40, 6)+claudeLine("d", "b", "assistant", "2", 16, 5), "")
	if !said(shorter, "shorter than the prompt before") || said(tr, "shorter than the prompt before") {
		t.Errorf("%s, and %s", shorter.ReadAs(), tr.ReadAs())
	}
}
