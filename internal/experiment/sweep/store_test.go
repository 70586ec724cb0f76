package sweep

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
)

func sweep(t *testing.T, cells []experiment.Cell, dir string, options experiment.Options) string {
	t.Helper()
	store := must.Get(OpenStore(dir, cells))(t)
	options.Finished = store.Put
	must.Do(t, experiment.Execute(t.Context(), cells, options))
	return dir
}

// collected returns the bytes of the records collected from the folders.
func collected(t *testing.T, cells []experiment.Cell, dirs ...string) map[string]string {
	t.Helper()
	finished := must.Get(ReadFinished(cells, dirs...))(t)
	c := must.Get(Collect(cells, finished))(t)
	out := t.TempDir()
	must.Do(t, c.Write(out))
	files := map[string]string{}
	for _, name := range []string{"records.jsonl", "records.csv", "records.parquet"} {
		text := must.Get(os.ReadFile(filepath.Join(out, name)))(t)
		files[name] = string(text)
	}
	return files
}

func wantSame(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

func TestRecordsDoNotDependOnWhoRanTheCells(t *testing.T) {
	cells := smallGrid()
	want := collected(t, cells, sweep(t, cells, t.TempDir(), experiment.Options{Jobs: 1}))
	wantSame(t, "4 jobs", collected(t, cells, sweep(t, cells, t.TempDir(), experiment.Options{Jobs: 4})), want)
	one, several := t.TempDir(), []string{}
	for i := range 3 {
		share := Shard{i, 3}.Cells(cells)
		sweep(t, share, one, experiment.Options{})
		several = append(several, sweep(t, share, t.TempDir(), experiment.Options{}))
	}
	wantSame(t, "3 shards in one folder", collected(t, cells, one), want)
	wantSame(t, "3 shards in a folder each", collected(t, cells, several...), want)
	wantSame(t, "and all again", collected(t, cells, append(several, one)...), want)
}

func TestChangedAxisLeavesOnlyTheNewCells(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru", "random"}, []string{"5", "10"})
	dir := sweep(t, cells, t.TempDir(), experiment.Options{})
	more := grid([]string{zipfA}, []string{"lru", "arc"}, []string{"5", "20"})
	finished := must.Get(ReadFinished(more, dir))(t)
	var missing []string
	for _, c := range finished.Missing(more) {
		missing = append(missing, c.Parts.PolicyText()+"@"+c.Capacity.String())
	}
	if got, want := strings.Join(missing, " "), "arc@5 opt@20 lru@20 arc@20"; got != want {
		t.Errorf("missing %s, want %s", got, want)
	}
	if finished.Others != 4 {
		t.Errorf("%d other cells, want 4", finished.Others)
	}
}

func TestDamagedResultsAreRunAgain(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru"}, []string{"5", "10"})
	whole := sweep(t, cells, t.TempDir(), experiment.Options{})
	want := collected(t, cells, whole)
	text := must.Get(os.ReadFile(filepath.Join(whole, cellsDir, cells[1].Hash+".json")))(t)
	other := must.Get(os.ReadFile(filepath.Join(whole, cellsDir, cells[0].Hash+".json")))(t)
	opened := must.Get(jsonlines.Unseal(text))(t)
	sealed := func(old, new string) string {
		changed := strings.Replace(string(opened), old, new, 1)
		if changed == string(opened) {
			t.Errorf("%s is not in %s", old, opened)
		}
		return string(jsonlines.Seal([]byte(changed)))
	}
	for name, damaged := range map[string]string{
		"empty": "", "cut off": string(text[:len(text)/2]), "of another cell": string(other), "no result": "{}",
		"unknown field":              sealed(`"misses":`, `"misces":`),
		"with the record of another": sealed(`"cell":"`+cells[1].Hash+`"`, `"cell":"`+cells[0].Hash+`"`),
		"of another capacity":        sealed(`"capacity":"5"`, `"capacity":"6"`),
		"not possible":               sealed(`"misses":`, `"misses":-`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := sweep(t, cells, t.TempDir(), experiment.Options{})
			must.Do(t, os.WriteFile(filepath.Join(dir, cellsDir, cells[1].Hash+".json"), []byte(damaged), 0o644))
			finished := must.Get(ReadFinished(cells, dir))(t)
			missing := finished.Missing(cells)
			if len(finished.Damaged) != 1 || len(missing) != 1 || missing[0].Hash != cells[1].Hash {
				t.Fatalf("damaged %v, missing %v", finished.Damaged, missing)
			}
			sweep(t, missing, dir, experiment.Options{})
			wantSame(t, "mended", collected(t, cells, dir), want)
		})
	}
}

// changeHits returns the content of a result file with one more hit.
func changeHits(t *testing.T, path string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var stored storedResult
	must.Do(t, json.Unmarshal(text, &stored))
	stored.Record.SetInt(metric.Hits, stored.Record.Int(metric.Hits)+1)
	text = must.Get(json.Marshal(stored))(t)
	return jsonlines.Seal(text)
}

func TestDifferentResultsOfACellAreRefused(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru"}, []string{"5"})
	dir := sweep(t, cells, t.TempDir(), experiment.Options{})
	path := filepath.Join(dir, cellsDir, cells[1].Hash+".json")
	other := t.TempDir()
	for _, copied := range []string{
		filepath.Join(dir, cellsDir, cells[1].Hash+".copy.json"), filepath.Join(other, cellsDir, cells[1].Hash+".json"),
	} {
		os.MkdirAll(filepath.Dir(copied), 0o755)
		must.Do(t, os.WriteFile(copied, changeHits(t, path), 0o644))
		_, err := ReadFinished(cells, dir, other)
		var different *DifferentError
		if !errors.As(err, &different) || !strings.Contains(err.Error(), "hits is") ||
			!strings.Contains(err.Error(), copied) {
			t.Errorf("error %v", err)
		}
		os.Remove(copied)
	}
}

func TestPutKeepsBothOfDifferentResults(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru"}, []string{"5"})
	dir := sweep(t, cells, t.TempDir(), experiment.Options{})
	sweep(t, cells, dir, experiment.Options{}) // the same again, except for its time
	path := filepath.Join(dir, cellsDir, cells[1].Hash+".json")
	changed := changeHits(t, path)
	must.Do(t, os.WriteFile(path, changed, 0o644))
	store, err := OpenStore(dir, cells)
	must.Do(t, err)
	err = experiment.Execute(t.Context(), cells, experiment.Options{Finished: store.Put})
	var different *DifferentError
	if !errors.As(err, &different) || different.First != path {
		t.Fatalf("error %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != string(changed) {
		t.Error("the first result was overwritten")
	}
	if _, err := readResult(different.Second, cells[1].Hash); err != nil {
		t.Errorf("the second result: %v", err)
	}
}

func TestMissingCellsAreListed(t *testing.T) {
	cells := grid([]string{zipfA}, []string{"lru", "random"}, []string{"1", "2", "3", "4", "5", "6", "7", "8"})
	dir := sweep(t, cells[:2], t.TempDir(), experiment.Options{})
	finished, err := ReadFinished(cells, dir, filepath.Join(dir, "nowhere"))
	must.Do(t, err)
	_, err = Collect(cells, finished)
	var missing *MissingCellsError
	if !errors.As(err, &missing) || len(missing.Cells) != 22 {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"22 of 24 cells are not finished", "\n  2  random at 1 on ", "\n  and 2 more"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: lacks %q", err, part)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != maxListed+1 {
		t.Errorf("%d lines", n)
	}
}
