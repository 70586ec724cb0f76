package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const printed = `{"experiment":"a","claim":"x > 1","measured":"2","verdict":"holds","note":"not shown","expected":{}}
{"experiment":"a","claim":"x > 3","stated":"a | b","measured":"2 <3","verdict":"does not hold","expected":{"verdict":"does not hold","because":"it is small."},"note":"Very."}
{"experiment":"a","claim":"'y|z' > 3","verdict":"not checkable here","reason":"no record","reading":"r","expected":{}}
{"experiment":"a","claim":"z > 3","verdict":"undecided","measured":"4","expected":{"verdict":"does not hold","because":"it is small"}}
`

func TestSectionsAreKept(t *testing.T) {
	claims, err := parseClaims([]byte(printed), "a")
	if err != nil {
		t.Fatal(err)
	}
	s := section{on: "2026-11-23", commit: "0123abcd", took: 61*time.Second + 1, cores: 2, claims: claims}
	path := filepath.Join(t.TempDir(), "verdicts.md")
	every := []string{"a", "b", "c"}
	for _, name := range []string{"b", "a"} {
		if err := update(path, every, name, s); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [a](#a) | 2026-11-23 | `0123abcd` | 1m1s | 1 | 0 | 1 | 1 | 1 |\n| [b](#b) | 2026",
		"| [c](#c) | not yet |  |  |  |  |  |  |  |\n| all | | | | 2 | 0 | 2 | 2 | 2 |\n\n## a\n\nRun on 2026-11-23",
		"| ✓ | `x > 1` |  | 2 |  |\n| ✗ | `x > 3` | a \\| b | 2 &lt;3 | it is small. Very. |\n",
		"| – | `'y\\|z' > 3` |  | read as r | no record |\n| ≈ | `z > 3` |  | 4 |  |\n\n## b\n\nRun on",
		"\n## c\n\nNot run in full yet.\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if err := update(path, every, "b", s); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil || string(again) != string(text) {
		t.Errorf("writing a section again changes the page (%v):\n%s", err, again)
	}
}

func TestOtherClaimsAreRefused(t *testing.T) {
	for _, lines := range []string{"", "{", printed + `{"experiment":"b"}`} {
		if _, err := parseClaims([]byte(lines), "a"); err == nil {
			t.Errorf("%q was read", lines)
		}
	}
}

// The page in the repository begins as this program writes it.
func TestTheIntroductionIsThatOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/verdicts.md")
	if err != nil || !strings.HasPrefix(string(text), introduction) {
		t.Errorf("docs/verdicts.md has another introduction (%v)", err)
	}
	for line := range strings.Lines(introduction) {
		if n := len([]rune(line)); n > 121 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
}
