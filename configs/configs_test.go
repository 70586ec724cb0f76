package configs

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestPacked holds what the program was built with to the files in this folder.
func TestPacked(t *testing.T) {
	files := map[string]string{}
	for _, name := range must.Get(filepath.Glob("*.yaml"))(t) {
		files[strings.TrimSuffix(name, ".yaml")] = string(must.Get(os.ReadFile(name))(t))
	}
	for _, name := range must.Get(filepath.Glob("*" + PinsSuffix))(t) {
		if files[strings.TrimSuffix(name, PinsSuffix)] == "" {
			t.Errorf("%s has pins of an experiment that does not exist", name)
		}
		files[name] = string(must.Get(os.ReadFile(name))(t))
	}
	files[verdicts] = string(must.Get(os.ReadFile("../docs/" + verdicts))(t))
	if os.Getenv("UPDATE") != "" {
		content := must.Get(packed.Pack(must.Get(json.Marshal(files))(t)))(t)
		must.Do(t, os.WriteFile("experiments.json.zst", content, 0o644))
		return
	}
	if len(files) == 0 || !maps.Equal(files, texts()) {
		t.Error("experiments.json.zst differs from the files: run make docs")
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return strings.HasSuffix(name, PinsSuffix) || name == verdicts
	})
	if !slices.Equal(names, Names()) {
		t.Error("cells.tsv has other experiments: run UPDATE=1 go test ./internal/experiment -run TestConfigs")
	}
}

// Every experiment is held to what its quick version measured.
func TestQuickVersionsArePinned(t *testing.T) {
	for _, name := range Papers() {
		if !strings.Contains(string(Pins(name)), "\nquick\t") {
			t.Errorf("%s has no pins of its quick version; run make pins EXPERIMENTS=%s", name, name)
		}
	}
	if Pins("no-such") != nil {
		t.Error("an experiment that does not exist has pins")
	}
}

// The program knows the verdicts of docs/verdicts.tsv.
func TestVerdicts(t *testing.T) {
	if slices.Contains(Names(), verdicts) || Verdicts("no-such") != nil {
		t.Error("verdicts are no experiment, and an experiment that does not exist has none")
	}
	text := string(must.Get(os.ReadFile("../docs/" + verdicts))(t))
	n := 1 // the columns
	for _, name := range Papers() {
		for _, v := range Verdicts(name) {
			if n++; v.On == "" || !strings.Contains(text, name+"\t"+v.On+"\t"+v.Commit+"\t") || v.Mark == "" || v.Claim == "" {
				t.Errorf("%s has the verdict %+v", name, v)
			}
		}
	}
	if lines := strings.Count(text, "\n"); n != lines {
		t.Errorf("%d verdicts in %d lines", n, lines)
	}
}

func TestNamesHaveTexts(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("there are no experiments")
	}
	for _, name := range Names() {
		if len(Text(name)) == 0 {
			t.Errorf("%s has no text", name)
		}
	}
	if Text("no-such") != nil || Text("../configs") != nil {
		t.Error("a name that does not exist has a text")
	}
}

// The list of experiments states the times of the runs whose verdicts docs/verdicts.tsv has.
func TestTimesAreThoseOfTheVerdicts(t *testing.T) {
	file := must.Get(os.Open("../docs/verdicts.tsv"))(t)
	defer file.Close()
	table := csv.NewReader(file)
	table.Comma = '\t'
	took := map[string]time.Duration{}
	for _, row := range must.Get(table.ReadAll())(t)[1:] {
		if row[3] != "" {
			took[row[0]] = must.Get(time.ParseDuration(row[3]))(t)
		}
	}
	for name, full := range took {
		of, ok := TimesOf(name)
		if !ok || of.Full != full || of.Quick <= 0 || of.Machine == "" {
			t.Errorf("times.tsv has %+v of %s, which took %v; `make verdicts` writes both", of, name, full)
		}
	}
	if of, ok := TimesOf("no-such"); ok {
		t.Errorf("an experiment that does not exist takes %+v", of)
	}
}
