package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// table returns a CSV file of good rows, in which some lines have a bad time.
func table(rows int, bad ...int) string {
	var text strings.Builder
	text.WriteString("time,key\n")
	for i := range rows {
		at := fmt.Sprint(i)
		for _, line := range bad {
			if line == i+2 {
				at = "never"
			}
		}
		fmt.Fprintf(&text, "%s,k%d\n", at, i%7)
	}
	return text.String()
}

func TestBadLinesAreLeftOutAndCounted(t *testing.T) {
	loaded := tracetest.MustLoadText(t, table(4000, 17, 100, 101), read.Options{BadLines: traces.UsualBadLines})
	if got := len(loaded.Objects); got != 3997 {
		t.Errorf("%d requests, want 3997", got)
	}
	if loaded.BadLines() != 3 {
		t.Errorf("%d bad lines, want 3", loaded.BadLines())
	}
	const want = `3 of 4,001 lines could not be read, first: line 17: column 1: time "never": want`
	if line := traces.Lines(loaded.Readings, "")[0]; !strings.Contains(line, want) {
		t.Errorf("got %q, want %q in it", line, want)
	}
}

// TestBadCommandsLeaveNoKeys: a command with an error is left out with the keys that it names before that.
func TestBadCommandsLeaveNoKeys(t *testing.T) {
	const log = "1700000000.1 [0 127.0.0.1:1] \"GET\" \"a\"\n" +
		"1700000000.2 [0 127.0.0.1:1] \"MSET\" \"b\" \"1\" \"\" \"2\"\n" +
		"1700000000.3 [0 127.0.0.1:1] \"GET\" \"d\"\n"
	loaded := tracetest.MustLoadText(t, log, read.Options{BadLines: 1, Needs: traces.Needs{Keys: true}})
	if len(loaded.Objects) != 2 || loaded.BadLines() != 1 {
		t.Errorf("keys %v, %d bad lines; want a and d, and 1", loaded.Keys, loaded.BadLines())
	}
}

func TestTooManyBadLinesAreAnError(t *testing.T) {
	for _, c := range []struct {
		text  string
		share float64
		want  string
	}{
		{table(4000, 17), 0, "stdin: line 17: "},
		{table(500, 17), traces.UsualBadLines, "stdin: line 17: "},
		{table(500, 17), traces.UsualBadLines, "; --bad-lines allows 0.1%, none of 501 lines"},
		{table(4000, 17, 18, 19, 20, 21), traces.UsualBadLines,
			"stdin: 5 of 4,001 lines could not be read, first: line 17: "},
		{table(4000, 17, 18, 19, 20, 21), traces.UsualBadLines, "; --bad-lines allows 0.1%"},
		{table(1500) + strings.Repeat("x\n", 5000), 1, "line 2501: 1 columns, but the lines before have 2, and so are " +
			"the 999 lines before it"},
	} {
		_, err := tracetest.LoadText(t, c.text, read.Options{BadLines: c.share})
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "standard input", "stdin"), c.want) {
			t.Errorf("share %v: got %v, want %q", c.share, err, c.want)
		}
	}
}

// Of several files the note names the one with the first bad line.
func TestBadLinesNameTheirFile(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string]string{"a.csv": table(3000), "b.csv": table(3000, 17), "c.csv": table(3000)} {
		paths = append(paths, filepath.Join(dir, name))
		must.Do(t, os.WriteFile(paths[len(paths)-1], []byte(text), 0o600))
	}
	slices.Sort(paths)
	loaded := must.Get(read.Load(t.Context(), paths, read.Options{BadLines: traces.UsualBadLines}))(t)
	want := "a.csv and 2 more: csv, comma; key, time in s; 1 of 9,003 lines could not be read, first: " + paths[1] +
		`: line 17: column 1: time "never"`
	if lines := traces.Lines(loaded.Readings, ""); len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
		t.Errorf("got %q, want %q at its beginning", lines, want)
	}
}

// A blank line within a file is one bad line: the line after it is read.
func TestBlankLineIsOneBadLine(t *testing.T) {
	for format, text := range map[string]string{"plain": "a\n\n\nb\nc\n", "csv": "key,time\na,1\n\nb,2\nc,3\n"} {
		loaded := tracetest.MustLoadText(t, text,
			read.Options{Selection: read.Selection{Format: format}, BadLines: 0.5})
		if len(loaded.Objects) != 3 || loaded.BadLines() != 1 {
			t.Errorf("%q: %d requests and %d bad lines, want 3 and 1", text, len(loaded.Objects), loaded.BadLines())
		}
	}
}

// Formats that read all lines before the first request, and those whose lines have state, leave out bad lines, too.
func TestBadLinesOfEveryKindOfReader(t *testing.T) {
	for name, c := range map[string]struct {
		format, good, bad string
	}{
		"arc":          {"arc", "1 2 0 0\n", "1 x 0 0\n"},
		"chat":         {"chat", `{"timestamp": 1, "input": "a b c", "session_id": "s"}` + "\n", "{\n"},
		"interactions": {"interactions", "u,i,4,1511544070\n", "u,i,4,never\n"},
		"mooncake":     {"mooncake", `{"timestamp": 1, "input_length": 512, "hash_ids": [1]}` + "\n", "{\n"},
		"rating":       {"rating", "1::2::3::4\n", "1::2::x::4\n"},
		"juicefs": {"juicefs", "2021.01.15 08:26:11.003330 [uid:0,gid:0,pid:4403] read (17669,8666,4993160): OK <0.000010>\n",
			"2021.01.15 08:26:11 [uid\n"},
	} {
		t.Run(name, func(t *testing.T) {
			options := read.Options{Selection: read.Selection{Format: c.format}, BadLines: 0.2}
			clean := must.Get(tracetest.LoadText(t, strings.Repeat(c.good, 10), options))(t)
			loaded := must.Get(tracetest.LoadText(t, strings.Repeat(c.good, 5)+c.bad+strings.Repeat(c.good, 5), options))(t)
			if len(loaded.Objects) != len(clean.Objects) || loaded.BadLines() != 1 {
				t.Errorf("%d requests and %d bad lines, want %d and 1", len(loaded.Objects), loaded.BadLines(),
					len(clean.Objects))
			}
		})
	}
}
