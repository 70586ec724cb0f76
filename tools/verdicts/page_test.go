package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const printed = `{"experiment":"a","claim":"x > 1","measured":"2","verdict":"reproduced","note":"not shown","expected":{}}
{"experiment":"a","claim":"x > 3","stated":"a | b","measured":"2 <3","verdict":"refuted","expected":{"verdict":"refuted","because":"it is small."},"note":"Very."}
{"experiment":"a","claim":"'y|z' > 3","verdict":"not testable here","reason":"no record","reading":"r","expected":{}}
{"experiment":"a","claim":"c > 3","verdict":"calibrated","measured":"4","calibration":{"constant":"scale","because":"none is stated"}}
{"experiment":"a","claim":"x > 1 where trace != t","verdict":"reproduced","measured":"2","narrowed":{"without":["t","u"],"verdict":"refuted","measured":"0 < 1"}}
{"experiment":"a","claim":"z > 3","verdict":"undecided","measured":"4","expected":{"verdict":"refuted","because":"it is small"}}
`

func TestOtherExperimentsAreKept(t *testing.T) {
	rows, err := parseClaims([]byte(printed), row{experiment: "a", on: "2026-11-23", commit: "0123abcd", took: "1m1s",
		cores: "2"})
	if err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(t.TempDir(), "verdicts.tsv")
	every := []string{"a", "b", "c"}
	ofB := slices.Clone(rows)
	for i := range ofB {
		ofB[i].experiment = "b"
	}
	both := func(t *testing.T) string {
		var text strings.Builder
		for _, path := range []string{table, strings.TrimSuffix(table, ".tsv") + ".md"} {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(data)
		}
		return text.String()
	}
	if err := update(table, func(old []row) []row { return replace(old, every, "b", ofB) }); err != nil {
		t.Fatal(err)
	}
	if err := update(table, func(old []row) []row { return replace(old, every, "a", rows) }); err != nil {
		t.Fatal(err)
	}
	text := both(t)
	for _, want := range []string{
		"\na\t2026-11-23\t0123abcd\t1m1s\t2\t✓\tx > 1\t\t2\t\n",
		"\t✗\tx > 3\ta | b\t2 <3\tit is small. Very.\n", "\nc\t\t\t\t\t\t\t\t\t\n",
		"| [a](#a) | 2026-11-23 | `0123abcd` | 1m1s | 2 | 0 | 1 | 1 | 1 | 1 | 1 |\n| [b](#b) | 2026",
		"| [c](#c) | not yet |  |  |  |  |  |  |  |  |  |\n| all | | | | 4 | 0 | 2 | 2 | 2 | 2 | 2 |\n\n## a\n\nRun on 2026-11-23",
		"on 2 cores: ✓ 2, ↑ 0, c 1, ≈ 1, ✗ 1, – 1.\n\n| | claim", "| ✗ | `x > 3` | a \\| b | 2 &lt;3 | it is small. Very. |\n",
		"| – | `'y\\|z' > 3` |  | read as r | no record |\n| c | `c > 3` |  | 4 | scale was fitted on this number: none is stated |\n| ≈ | `z > 3` |  | 4 |  |\n\n## b\n\nRun on",
		"\t✓\tx > 1 where trace != t\t\t2; narrowed: without t, u; with it refuted, 0 < 1\t\n",
		"\n## c\n\nNot run in full yet.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("table and page lack %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "`x > 1`") {
		t.Error("the page has a claim that is reproduced")
	}
	if err := update(table, func(old []row) []row { return replace(old, every, "b", ofB) }); err != nil {
		t.Fatal(err)
	}
	if again := both(t); again != text {
		t.Errorf("writing an experiment again changes the files:\n%s", again)
	}
}

func TestOtherClaimsAreRefused(t *testing.T) {
	for _, lines := range []string{"", "{", printed + `{"experiment":"b"}`} {
		if _, err := parseClaims([]byte(lines), row{experiment: "a"}); err == nil {
			t.Errorf("%q was read", lines)
		}
	}
}

// The page in the repository is the one that this program makes of the table there.
func TestThePageIsThatOfTheTable(t *testing.T) {
	rows, err := readTable("../../docs/verdicts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/verdicts.md")
	if err != nil || string(text) != page(rows) {
		t.Errorf("docs/verdicts.md is another page (%v); run make verdicts EXPERIMENTS=", err)
	}
}
