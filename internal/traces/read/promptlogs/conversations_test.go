package promptlogs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// shareGPT is a conversation of two answers, with a message at its end that nobody answered.
func shareGPT(letters string) string {
	turn := func(from, text string) string { return `{"from":"` + from + `","value":"` + textWith(text) + `"}` }
	return `{"id":"x","conversations":[` + turn("human", letters[:1]) + "," + turn("gpt", letters[1:2]) + "," +
		turn("human", letters[2:3]) + "," + turn("gpt", letters[3:4]) + "," + turn("human", "z") + `]}`
}

func lmsys(letters, more, ofTurn string) string {
	turn := func(role, text string) string {
		return `{"content":"` + textWith(text) + `","role":"` + role + `"` + ofTurn + `}`
	}
	return `{"conversation_id":"7",` + more + `"model":"m","conversation":[` + turn("user", letters[:1]) + "," +
		turn("assistant", letters[1:2]) + `],"turn":1,"language":"English"}` + "\n"
}

func TestConversations(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		objects         []uint32
		sessions        []int32
		arrivals        []int64
		reading         string
	}{
		"ShareGPT": {"[" + shareGPT("abcd") + ",\n" + shareGPT("aefg") + "]", "", []uint32{0, 0, 1, 2, 0, 0, 3, 4},
			[]int32{0, 0, 1, 1}, nil, "conversations; prompts in blocks of 4 tokens, 4 bytes as a token, messages one after " +
				"another (no template), conversations of the file"},
		"in turns": {shareGPT("abcd") + "\n" + shareGPT("aefg") + "\n" + shareGPT("hijk"), ",concurrent=2",
			[]uint32{0, 0, 0, 1, 2, 0, 3, 4, 5, 5, 6, 7}, []int32{0, 1, 0, 1, 2, 2}, nil, ""},
		"LMSYS-Chat-1M": {lmsys("ab", "", "") + lmsys("ac", "", ""), "", []uint32{0, 0}, []int32{0, 1}, nil, ""},
		"WildChat": {lmsys("ab", `"timestamp":"2023-04-09T00:00:17+00:00",`, "") + lmsys("ac",
			`"timestamp":"2023-04-09T00:00:07Z",`, ""), "", []uint32{0, 0}, []int32{0, 1}, []int64{1680998407e9, 1680998417e9},
			"conversations, sorted by time; prompts in blocks of 4 tokens, 4 bytes as a token, messages one after another (no " +
				"template), conversations of the file, time as dates"},
		"times of turns": {lmsys("ab", `"timestamp":9,`, `,"timestamp":"2023-04-09T00:00:17Z"`), "", []uint32{0}, []int32{0},
			[]int64{1680998417e9}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr := loadAs(t, c.content, "conversations:block=4"+c.format)
			p := prompts.Of(tr.Kind)
			if !slices.Equal(tr.Objects, c.objects) || !slices.Equal(p.Sessions, c.sessions) ||
				!slices.Equal(p.Arrivals, c.arrivals) || p.OutputTokens[0] != 4 {
				t.Errorf("blocks %v, prompts %+v; want %+v", tr.Objects, p, c)
			}
			if c.reading != "" && tr.ReadAs() != c.reading {
				t.Errorf("read as %q, want %q", tr.ReadAs(), c.reading)
			}
			if recognised := loadAs(t, c.content, ""); !strings.HasPrefix(recognised.ReadAs(), "conversations") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

func TestConversationsLeaveOut(t *testing.T) {
	content := shareGPT("abcd") + "\n" + `{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"bcde"},` +
		`{"from":"gpt","value":""}]}` + "\n"
	tr := loadAs(t, content, "")
	const want = "2 rows left out (1 messages without an answer, at the end of a conversation, 1 answers before " +
		"the first message)"
	if said := tr.Readings[0].LeftOutText(); said != want {
		t.Errorf("said %q, want %q", said, want)
	}
	if got := prompts.Of(tr.Kind).OutputTokens; !slices.Equal(got, []int32{4, 4, 0}) {
		t.Errorf("outputs %v", got)
	}
}

func TestConversationsErrors(t *testing.T) {
	good := shareGPT("abcd") + "\n"
	for name, c := range map[string]struct{ content, format, want string }{
		"none":    {good + `{"id":"x"}`, "", "line 2: no conversations or conversation"},
		"no role": {good + `{"conversation":[{"content":"x"}]}`, "", "line 2: a message without from or role"},
		"no time": {lmsys("ab", `"timestamp":5,`, "") + lmsys("ab", "", ""), "", "line 2: no time, which the first " +
			"prompt has"},
		"in turns": {lmsys("ab", `"timestamp":5,`, ""), "conversations:concurrent=2", "concurrent=2 has no effect: " +
			"the messages have times"},
		"cut off": {"[" + good + `,{"conversations":[{"from":`, "", "byte 273: want a number"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{Selection: read.Selection{Format: c.format}})
		must.Fail(t, err, c.want, name)
	}
}
