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

// aibrixMoment has two requests of the same conversation.
func aibrixMoment(time, prompt, other string) string {
	return `{"timestamp": ` + time + `, "requests": [{"prompt": ` + prompt + `, "prompt_length": 9, "output_length": 7, ` +
		`"session_id": 5}, {"prompt": ` + other + `, "prompt_length": 11, "output_length": 8, "session_id": 5}]}` + "\n"
}

func TestAIBrix(t *testing.T) {
	a, b := `"`+textWith("ab")+`"`, `"`+textWith("abc")+`"`
	older := strings.NewReplacer(`"timestamp"`, `"Timestamp"`, `"requests"`, `"Requests"`, `"prompt"`, `"Prompt"`,
		`"prompt_length"`, `"Prompt Length"`, `"output_length"`, `"Output Length"`)
	lines := aibrixMoment("19", a, b) + aibrixMoment("5", `[{"role": "user", "content": `+a+`}]`, "null")
	for name, content := range map[string]string{"lines": lines, "older names": older.Replace(lines),
		"array": "[" + strings.Replace(strings.TrimSpace(lines), "\n", ",\n", 1) + "]"} {
		t.Run(name, func(t *testing.T) {
			tr := loadAs(t, content, "aibrix:block=4")
			p := prompts.Of(tr.Kind)
			if !slices.Equal(tr.Objects, []uint32{0, 1, 0, 1, 0, 1, 2}) || !slices.Equal(p.Arrivals, []int64{5e6, 19e6, 19e6}) ||
				!slices.Equal(p.OutputTokens, []int32{7, 7, 8}) || !slices.Equal(p.Sessions, []int32{0, 0, 0}) ||
				tr.LeftOut() != 1 {
				t.Errorf("blocks %v, prompts %+v, %d left out", tr.Objects, p, tr.LeftOut())
			}
			if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "aibrix") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

func TestAIBrixWithoutPrompts(t *testing.T) {
	content := aibrixMoment("5", "null", "null") + aibrixMoment("9", "null", "null")
	_, p := lengthsOf(t, content)
	if !p.LengthsOnly || !slices.Equal(p.InputTokens, []int32{9, 11, 9, 11}) || !slices.Equal(p.OutputTokens,
		[]int32{7, 8, 7, 8}) || !slices.Equal(p.Arrivals, []int64{5e6, 5e6, 9e6, 9e6}) {
		t.Errorf("prompts %+v", p)
	}
	_, err := tracetest.LoadText(t, content, read.Options{})
	must.Fail(t, err, "so hits are unknown")
}

// TestAIBrixOldestForm: moments are arrays of requests, and their place is their time.
func TestAIBrixOldestForm(t *testing.T) {
	content := `[[], [["` + textWith("a") + `", 9, 7, null]], [], [["` + textWith("ab") +
		`", 9, 8, null], [null, 3, 4, null]]]`
	tr := loadAs(t, content, "aibrix:block=4,interval=500")
	p := prompts.Of(tr.Kind)
	if !slices.Equal(tr.Objects, []uint32{0, 0, 1}) || !slices.Equal(p.Arrivals, []int64{5e8, 15e8}) ||
		!slices.Equal(p.OutputTokens, []int32{7, 8}) || tr.LeftOut() != 1 {
		t.Errorf("blocks %v, prompts %+v, %d left out", tr.Objects, p, tr.LeftOut())
	}
	if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "aibrix") ||
		!strings.HasSuffix(recognised.ReadAs(), "a moment every 1000 ms") {
		t.Errorf("recognised as %s", recognised.ReadAs())
	}
	_, err := tracetest.LoadText(t, aibrixMoment("5", `"abcd"`, "null"), read.Options{Selection: read.Selection{
		Format: "aibrix:interval=500"}})
	must.Fail(t, err, "the option interval=500 has no effect: moments have times; remove it")
}

func TestAIBrixErrors(t *testing.T) {
	good := aibrixMoment("5", `"abcd"`, "null")
	for name, c := range map[string]struct{ content, want string }{
		"length":  {good + strings.Replace(good, "9,", `"x",`, 1), "line 2: column 67: want a number"},
		"no time": {good + strings.Replace(good, "5,", "null,", 1), "line 2: no time, which the first prompt has"},
		"cut off": {good + good[:40] + "\n", "line 2: column 41: "},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{})
		must.Fail(t, err, c.want, name)
	}
}
