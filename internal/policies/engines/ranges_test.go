package engines

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseRanges(t *testing.T) {
	got, err := parseRanges("0-2048:90@30s/2048-4096:90@1500ms/4096-:50@1s")
	want := []tokenRange{{0, 2048, 90, int64(30 * time.Second)}, {2048, 4096, 90, int64(1500 * time.Millisecond)},
		{4096, math.MaxInt, 50, int64(time.Second)}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for text, part := range map[string]string{
		"2048:90":                            `"2048:90": want START-END`,
		"0-2048":                             `"0-2048": want START-END`,
		"0-2048:101":                         "want START-END",
		"0-2048:-1":                          "want START-END",
		"-1-2048:90":                         "want START-END",
		"7-7:90":                             "want START-END",
		"0-2048:90@":                         "want START-END",
		"0-2048:90@-3s":                      "want START-END",
		"0-2048:90@3":                        "want START-END",
		"0-9999999999999999999999:90":        "want START-END",
		"0-2048:90/":                         `"": want START-END`,
		"0-2048:90/2000-4096:80":             "2000-4096:80 begins before the end of 0-2048:90",
		"0-:90/2048-:50":                     "begins before the end of 0-:90",
		"0-:20":                              "0-:20 has a priority below 35",
		"512-1024:90":                        "blocks of 0-512:35 can be evicted before those of 512-1024:90",
		"0-9:50/9-18:60":                     "blocks of 0-9:50 can be evicted before those of 9-18:60",
		"0-9:50@1s/9-18:50":                  "blocks of 0-9:50@1s can be evicted before those of 9-18:50",
		"0-9:50@1s/9-18:50@2s":               "blocks of 0-9:50@1s can be evicted before those of 9-18:50@2s",
		strings.Repeat("0-1:90/", 100) + "0": "101 ranges; want at most 100",
	} {
		if _, err := parseRanges(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want an error with %q", text, err, part)
		}
	}
}

// FuzzRanges: ranges that are accepted are read again from how they are printed.
func FuzzRanges(f *testing.F) {
	f.Add("0-2048:90@30s/2048-4096:50")
	f.Add("0-:35@1ns")
	f.Fuzz(func(t *testing.T, text string) {
		ranges, err := parseRanges(text)
		if err != nil {
			return
		}
		var printed []string
		for _, r := range ranges {
			printed = append(printed, r.String())
		}
		if again, err := parseRanges(strings.Join(printed, "/")); err != nil || !slices.Equal(ranges, again) {
			t.Errorf("%q is read as %v, and %q as %v, %v", text, ranges, printed, again, err)
		}
	})
}
