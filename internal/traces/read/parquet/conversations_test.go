package parquet_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// wildChatTurn and wildChat have the columns of WildChat-1M that matter, and some others.
type wildChatTurn struct {
	Content   *string `parquet:"content,optional"`
	Country   *string `parquet:"country,optional"`
	Redacted  bool    `parquet:"redacted"`
	Role      string  `parquet:"role"`
	Timestamp *int64  `parquet:"timestamp,optional,timestamp(microsecond)"`
}

type wildChat struct {
	Hash         string         `parquet:"conversation_hash"`
	Timestamp    int64          `parquet:"timestamp,timestamp(microsecond)"`
	Conversation []wildChatTurn `parquet:"conversation,list"`
	Turn         int64          `parquet:"turn"`
}

type lmsysTurn struct {
	Content string `parquet:"content"`
	Role    string `parquet:"role"`
}

type lmsysChat struct {
	ID           string      `parquet:"conversation_id"`
	Model        string      `parquet:"model"`
	Conversation []lmsysTurn `parquet:"conversation"`
	Language     string      `parquet:"language"`
}

func loadConversations(t *testing.T, content, format string) (*traces.Trace, *prompts.Columns) {
	t.Helper()
	tr := tracetest.MustLoadText(t, content, read.Options{Selection: read.Selection{Format: format},
		Needs: traces.Needs{Times: true, Keys: true, Kind: true}})
	return tr, prompts.Of(tr.Kind)
}

func smallWildChat(t testing.TB) string {
	text := func(letter string) *string { return new(strings.Repeat(letter, 16)) }
	at := func(seconds int64) *int64 { return new(seconds * 1e6) }
	return tracetest.ParquetOf(t, []wildChat{
		{"x", 99e6, []wildChatTurn{{text("a"), nil, false, "user", nil}, {text("b"), nil, false, "assistant", at(20)},
			{text("c"), nil, false, "user", nil}, {nil, nil, true, "assistant", at(30)}}, 2},
		{"empty", 99e6, nil, 0},
		{"y", 99e6, []wildChatTurn{{text("a"), nil, false, "user", nil}, {text("d"), nil, false, "assistant", at(10)}}, 1},
	})
}

func TestConversations(t *testing.T) {
	tr, got := loadConversations(t, smallWildChat(t), "parquet:block-tokens=4")
	want := &prompts.Columns{BlockTokens: 4, InputTokens: []int32{4, 4, 12}, OutputTokens: []int32{4, 4, 0},
		Sessions: []int32{0, 1, 1}, Arrivals: []int64{10e9, 20e9, 30e9}, Parents: []int32{-1, 0, 1}}
	if want.SessionKeys = got.SessionKeys; !reflect.DeepEqual(got.WithoutAnswers(""), want) {
		t.Errorf("prompts %+v, want %+v", got, want)
	}
	if got := tr.ReadAs(); got != "parquet, sorted by time; prompts in blocks of 4 tokens, 4 bytes as a token, "+
		"messages one "+
		"after another (no template), conversations of the file, time as dates" {
		t.Errorf("read as %q", got)
	}
	var rows []lmsysChat
	var lines strings.Builder
	for i := range 300 {
		question := strings.Repeat(string(rune('a'+i%7)), 40)
		rows = append(rows, lmsysChat{"x", "m", []lmsysTurn{{question, "user"}, {"yes", "assistant"}, {question, "user"},
			{"no", "assistant"}}, "English"})
		lines.WriteString(`{"conversation":[{"content":"` + question + `","role":"user"},{"content":"yes","role":` +
			`"assistant"},` +
			`{"content":"` + question + `","role":"user"},{"content":"no","role":"assistant"}]}` + "\n")
	}
	inParquet, parquet := loadConversations(t, tracetest.ParquetOf(t, rows), "parquet:template=chatml,concurrent=5")
	inJSON, json := loadConversations(t, lines.String(), "conversations:template=chatml,concurrent=5")
	if !reflect.DeepEqual(parquet, json) || !reflect.DeepEqual(inParquet.Keys, inJSON.Keys) {
		t.Error("the same conversations in Parquet and in JSON have different prompts")
	}
}

func TestConversationsErrors(t *testing.T) {
	plain := tracetest.ParquetOf(t, []struct {
		Key int64 `parquet:"key"`
	}{{1}})
	for name, c := range map[string]struct{ content, format, want string }{
		"option for others": {smallWildChat(t), "parquet:size=turn", "conversations have no option size"},
		"option of conversations": {plain, "parquet:template=chatml", "the option template is for conversations: " +
			"want a column named"},
		"turns with times":         {smallWildChat(t), "parquet:concurrent=2", "the messages have times"},
		"no conversations in them": {tracetest.ParquetOf(t, []wildChat{{Hash: "x"}}), "", "holds no prompts"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{Selection: read.Selection{Format: c.format}})
		must.Fail(t, err, c.want, name)
	}
	if tr, p := loadConversations(t, smallWildChat(t), "parquet:key=conversation_hash"); p != nil || len(tr.Objects) != 3 {
		t.Errorf("with a key: %d requests, prompts %+v; want 3 plain objects", len(tr.Objects), p)
	}
}

func FuzzConversations(f *testing.F) {
	tracetest.Fuzz(f, "parquet", smallWildChat(f), tracetest.ParquetOf(f, []lmsysChat{{"x", "m", []lmsysTurn{{"a", "user"},
		{"b", "assistant"}}, "English"}}))
}
