package series

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

var some = []Row{
	{Cell: "a", Time: 100, Name: "hit_ratio", Value: 0.25},
	{Cell: "a", Time: 100, Name: "hit_ratio", Label: "tenant <1>", Value: 0.1},
	{Cell: "a", Time: 200, Name: "hit_ratio", Value: 0.5},
	{Cell: "b", Time: 0.5, Name: "occupancy", Value: 1},
}

func TestWindowsAreRead(t *testing.T) {
	for text, want := range map[string]Window{
		"10000": {Requests: 10000}, "1": {Requests: 1}, "1h30m": {Span: 90 * time.Minute},
		"250ms":                      {Span: 250 * time.Millisecond},
		"5:occupancy":                {Requests: 5, Names: "occupancy"},
		"1m0s/400:misses_per_second": {Span: time.Minute, Most: 400, Names: "misses_per_second"},
		"1h0m0s:hit_ratio,evictions": {Span: time.Hour, Names: "hit_ratio,evictions"},
	} {
		if got, err := ParseWindow(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		} else if again, err := ParseWindow(got.String()); err != nil || again != want {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{"", "0", "-5", "0s", "-1h", "1%", "many", "1e400", "99999999999999999999", "10:",
		"10:hits", ":hit_ratio",
		"10:hit_ratio,"} {
		if w, err := ParseWindow(text); err == nil {
			t.Errorf("%q is read as %s", text, w)
		}
	}
}

func TestTooManyWindowsAreRefused(t *testing.T) {
	if err := (Window{Requests: 10}).CheckRequests(10 * MaxWindows); err != nil {
		t.Error(err)
	}
	err := Window{Requests: 10}.CheckRequests(10*MaxWindows + 1)
	if err == nil || !strings.Contains(err.Error(), "11 requests") {
		t.Errorf("%v, want an error that names 11 requests", err)
	}
	if err := (Window{Requests: 11}).CheckRequests(10*MaxWindows + 1); err != nil {
		t.Error(err)
	}
	err = Window{Span: time.Second}.CheckSpan(1000 * time.Hour)
	if err == nil || !strings.Contains(err.Error(), "37s") {
		t.Errorf("%v, want an error that names 37s", err)
	}
	if err := (Window{Span: 37 * time.Second}).CheckSpan(1000 * time.Hour); err != nil {
		t.Error(err)
	}
}

func TestWrittenSeriesAreReadBack(t *testing.T) {
	dir := t.TempDir()
	if rows, err := Read(dir); err != nil || rows != nil {
		t.Errorf("an empty folder: %v, %v", rows, err)
	}
	must.Do(t, Write(dir, some))
	for _, path := range []string{dir, filepath.Join(dir, jsonName), filepath.Join(dir, parquetName)} {
		if rows, err := Read(path); err != nil || !slices.Equal(rows, some) {
			t.Errorf("%s: %v, %v", path, rows, err)
		}
	}
	must.Do(t, Write(dir, nil))
	if rows, err := Read(dir); err != nil || rows != nil {
		t.Errorf("without rows the files of before stay: %v, %v", rows, err)
	}
}

func TestBadSeriesAreRefused(t *testing.T) {
	for _, text := range []string{
		"\n", "{}\n", `{"cell":"a","time":1,"name":"x","label":""}` + "\n", "[1]\n",
		`{"cell":"a","time":1,"name":"x","label":"","value":1,"more":2}` + "\n",
		`{"cell":"","time":1,"name":"x","label":"","value":1}` + "\n",
		`{"cell":"a","time":-1,"name":"x","label":"","value":1}` + "\n",
		`{"cell":"a","time":1,"name":"x","label":"","value":1}`,
		`{"cell":"a","time":1,"name":"x","label":"","value":1}{}` + "\n",
		"PAR1 and no more",
	} {
		path := filepath.Join(t.TempDir(), jsonName)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		if rows, err := Read(path); err == nil {
			t.Errorf("%q is read as %v", text, rows)
		} else if !strings.Contains(err.Error(), jsonName) {
			t.Errorf("%q: the error does not name the file: %v", text, err)
		}
	}
}

func TestDigestTellsRowsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
			return Row{
				Cell: "c", Time: float64(rapid.IntRange(0, 9).Draw(t, "time")), Name: rapid.SampledFrom([]string{"x",
					"y"}).Draw(t, "name"),
				Label: rapid.SampledFrom([]string{"", "l"}).Draw(t, "label"), Value: rapid.Float64Range(-1, 1).Draw(t, "value"),
			}
		}), 1, 8).Draw(t, "rows")
		at := rapid.IntRange(0, len(rows)-1).Draw(t, "at")
		other := slices.Clone(rows)
		other[at].Value += 2
		if Digest(rows) == Digest(other) || Digest(rows) == Digest(rows[:len(rows)-1]) {
			t.Fatal("other rows have the same digest")
		}
	})
}

// FuzzRead: the readers return one error, or rows that survive writing and reading unchanged.
func FuzzRead(f *testing.F) {
	var lines, columns bytes.Buffer
	must.Do(f, jsonlines.Write(&lines, some))
	must.Do(f, encodeParquet(&columns, some))
	f.Add(lines.Bytes())
	f.Add(columns.Bytes())
	f.Add(columns.Bytes()[:columns.Len()-9])
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := decode(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		must.Do(t, jsonlines.Write(&again, rows))
		if back, err := decodeJSON(again.Bytes()); err != nil || len(back) != len(rows) {
			t.Fatalf("%d rows become %d: %v", len(rows), len(back), err)
		}
	})
}
