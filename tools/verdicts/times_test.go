package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// fake prints no claims, and takes as long as a shell does.
const fake = "#!/bin/sh\ni=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n"

func TestTimesOfOthersAreKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	r := runner{program: filepath.Join(dir, "program"), out: dir, times: filepath.Join(dir, "times.tsv")}
	if err := os.WriteFile(r.program, []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	columns := strings.Join(timeColumns, "\t")
	old := columns + "\nb\t9\t9.0\tthere\nc\t8\t8.0\tthere\ngone\t1\t1.0\tthere\n"
	if err := os.WriteFile(r.times, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "a"} {
		if err := r.time(t.Context(), name, "1m2s", []string{"a", "b", "c"}); err != nil {
			t.Fatal(err)
		}
	}
	here := fmt.Sprintf("\t62\t[0-9]+[.][0-9]\t%d cores, .+\n", runtime.NumCPU())
	want := "^" + regexp.QuoteMeta(columns) + "\na" + here + "b" + here + "c\t8\t8.0\tthere\n$"
	if text, err := os.ReadFile(r.times); err != nil || !regexp.MustCompile(want).Match(text) {
		t.Errorf("%v; times.tsv does not match %s:\n%s", err, want, text)
	}
}
