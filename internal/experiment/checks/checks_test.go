package checks

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// hostile is a text that would break XML, workflow commands and lines.
const hostile = "a\x1b<b>&\"]]>\r\n::error::x,y:z%0A\x00"

// every has a case of each outcome.
func every() Suite {
	s := Suite{Name: "suite", File: hostile, Summary: "said"}
	for _, o := range []Outcome{Passed, Noted, Skipped, Fails, Broken} {
		s.Cases = append(s.Cases, Case{Class: hostile, Name: hostile, Outcome: o, Kind: hostile, Title: hostile,
			Message: hostile, Line: 7})
	}
	return s
}

func printed(t *testing.T, format string, suites ...Suite) string {
	t.Helper()
	var out strings.Builder
	must.Do(t, Print(&out, format, suites, func(w io.Writer) error {
		_, err := io.WriteString(w, "- more\n")
		return err
	}))
	return out.String()
}

func TestAnnotationsOfEveryOutcome(t *testing.T) {
	t.Setenv(summaryFile, "")
	lines := strings.Split(printed(t, GitHub, every(), Suite{Summary: "of another"}), "\n")
	want := []string{"::notice ", "::warning ", "::error ", "::error ", "said", "of another", ""}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(want), lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q, want %q and more", i+1, line, want[i])
		}
		if i < 4 && (strings.Count(line, "::error::") > 1 || !strings.Contains(line, ",line=7,title=a")) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	none := printed(t, GitHub, Suite{Cases: []Case{{Outcome: Fails, Title: "t", Message: "m", Line: 7}}})
	if want := "::error title=t::m\n\n"; none != want {
		t.Errorf("without a file: %q, want %q", none, want)
	}
}

// The name of a trace or of a baseline is no command.
func TestSummariesAreNoCommands(t *testing.T) {
	t.Setenv(summaryFile, "")
	for _, name := range []string{"::stop-commands::x", " ::error::x", "##[error]x", "a##[group]x"} {
		got := printed(t, GitHub, Suite{Summary: name + ": 1 record"})
		if strings.Contains(got, "::") || strings.Contains(got, "##[") || !strings.Contains(got, ": 1 record") {
			t.Errorf("%q is printed as %q", name, got)
		}
	}
}

func TestJUnitCountsEveryOutcome(t *testing.T) {
	var read junitSuites
	text := printed(t, JUnit, every(), Suite{Name: "empty"})
	must.Do(t, xml.Unmarshal([]byte(text), &read))
	s := read.Suites[0]
	if len(read.Suites) != 2 || s.Tests != 5 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || len(s.Cases) != 5 {
		t.Errorf("got %+v", read)
	}
	if s.Cases[1].Output == "" || s.Cases[2].Skipped == nil || s.Cases[3].Failure == nil || s.Cases[4].Error == nil {
		t.Errorf("got %+v", s.Cases)
	}
}

// Steps of a job append to one summary.
func TestTheSummaryOfAJobGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	must.Do(t, os.WriteFile(path, []byte("before\n"), 0o644))
	t.Setenv(summaryFile, path)
	printed(t, GitHub, every())
	printed(t, JUnit, every())
	if text, err := os.ReadFile(path); err != nil || string(text) != "before\n- more\n" {
		t.Errorf("got %q, %v", text, err)
	}
	t.Setenv(summaryFile, filepath.Join(path, "no folder"))
	if err := Print(io.Discard, GitHub, nil, func(io.Writer) error { return nil }); err == nil {
		t.Error("a summary that cannot be written is no error")
	}
	if err := Print(io.Discard, "xml", nil, nil); err == nil {
		t.Error("format xml was accepted")
	}
}

func TestAFailedCheckKeepsItsReason(t *testing.T) {
	reason := errors.New("reason")
	err := Failed(reason)
	if !errors.Is(err, reason) || !errors.As(err, new(FailedError)) || errors.As(reason, new(FailedError)) {
		t.Errorf("got %v", err)
	}
}
