package params

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExpandRange(t *testing.T) {
	for text, want := range map[string]string{
		"16..512x2":                      "16 32 64 128 256 512",
		"1..7+2":                         "1 3 5 7",
		"1..8+2":                         "1 3 5 7",
		"0.1..0.3+0.1":                   "0.1 0.2 0.3",
		"-1..1+1":                        "-1 0 1",
		"10..30x1.5":                     "10 15 22",
		"1..4x1.1":                       "1 2 3",
		"5..5x2":                         "5",
		" 1 .. 4 x 2 ":                   "1 2 4",
		"0.5..2x2":                       "0.5 1 2",
		"../file":                        "../file",
		"lru":                            "lru",
		"":                               "",
		"1.5":                            "1.5",
		"1%..5%x2":                       "1%..5%x2",
		"3x4":                            "3x4",
		"1e3..1e5x10":                    "1000 10000 100000",
		"exact..prefix":                  "exact..prefix",
		"1000000000000..1000000000001+1": "1000000000000 1000000000001",
	} {
		got, err := ExpandRange(text)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1..5":              "want FROM..TOxFACTOR",
		"1..5x":             "not a number",
		"1..5x1":            "factor above 1",
		"0..5x2":            "start above 0",
		"1..5+0":            "step above 0",
		"5..1+1":            "below its start",
		"1..1e9+1":          "more than 1000 steps",
		"1..1e999x2":        "not a number",
		"1..bx2":            "not a number",
		"1..2..3+1":         "not a number",
		"1..NaNx2":          "not a number",
		"1..100x1.00000001": "more than 1000 steps",
	} {
		if got, err := ExpandRange(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

// A range of any two ends is ascending, within them, and bounded.
func TestExpandRangeStaysWithinItsEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,4}(\.[0-9]{1,2})?\.\.-?[0-9]{1,4}(\.[0-9]{1,2})?[x+][0-9.]{1,4}`).
			Draw(t, "range")
		values, err := ExpandRange(text)
		if err != nil {
			return
		}
		if len(values) == 0 || len(values) > mostValues+1 || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Fatalf("%q: %q", text, values)
		}
	})
}

func TestListsExpandRanges(t *testing.T) {
	got, err := ExpandCalls("cache", []string{"exact", "prefix(block=16..64x2,evict=leaf)", "x(a=1..2+1,b=3..4+1)",
		"y(file='1..2x2')"})
	want := "exact prefix(block=16,evict=leaf) prefix(block=32,evict=leaf) prefix(block=64,evict=leaf) " +
		"x(a=1,b=3) x(a=1,b=4) x(a=2,b=3) x(a=2,b=4) y(file='1..2x2')"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for text, want := range map[string]string{
		"x(a=1..100+1,b=1..100+1)": "more than 1000 combinations",
		"x(a=1..3)":                "parameter a: range",
	} {
		if _, err := ExpandCalls("cache", []string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}
