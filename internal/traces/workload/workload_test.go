package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/write"
)

func writeText(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestFilesAreLookedForInTheFolders(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	writeText(t, filepath.Join(second, "a", "x.txt"), "1\n2\n1\n")
	dirs := []string{first, second}
	if got, err := Find("a/x.txt", dirs); err != nil || got != filepath.Join(second, "a", "x.txt") {
		t.Errorf("found at %q, %v", got, err)
	}
	writeText(t, filepath.Join(first, "a", "x.txt"), "9\n")
	if got, err := Find("a/x.txt", dirs); err != nil || got != filepath.Join(first, "a", "x.txt") {
		t.Errorf("the first folder does not go first: %q, %v", got, err)
	}
	var missing *MissingError
	if _, err := Find("a/y.txt", dirs); !errors.As(err, &missing) || !strings.Contains(err.Error(), second) {
		t.Errorf("a file that is nowhere: %v", err)
	}
	if _, err := Find(filepath.Join("/", "a", "x.txt"), dirs); !errors.As(err, &missing) {
		t.Errorf("an absolute path was looked for in the folders: %v", err)
	}
	t.Setenv(Env, second)
	if got := Dirs(first); !slices.Equal(got, dirs) {
		t.Errorf("folders %v, want %v", got, dirs)
	}
}

func TestChecksum(t *testing.T) {
	dir := t.TempDir()
	a, b := writeText(t, filepath.Join(dir, "a"), "1\n2\n"), writeText(t, filepath.Join(dir, "b"), "1\n")
	first, second := sha256.Sum256([]byte("1\n2\n")), sha256.Sum256([]byte("1\n"))
	sum := sha256.Sum256(slices.Concat(first[:], second[:]))
	want := "sha256:" + hex.EncodeToString(sum[:])
	w := Workload{Files: []string{a, b}}
	got, err := w.ReadChecksum(t.Context(), nil)
	if err != nil || got != want {
		t.Fatalf("checksum %s, %v; want %s", got, err, want)
	}
	w.Checksum = got
	loaded, err := w.Load(t.Context(), nil, traces.LoadOptions{})
	if err != nil || len(loaded.Objects) != 3 || loaded.NumObjects != 2 || loaded.Name != "a+b" {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
	// Reported first even if the file is now not a trace at all.
	writeText(t, b, "\x00\xff garbage")
	var changed *ChangedError
	if _, err := w.Load(t.Context(), nil, traces.LoadOptions{}); !errors.As(err, &changed) || changed.Want != want {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := (Workload{Files: []string{filepath.Join(dir, "none")}}).Load(t.Context(), nil,
		traces.LoadOptions{}); !errors.As(err,
		new(*MissingError)) {
		t.Errorf("a missing file: %v", err)
	}
}

// Where a file ends matters if each file starts with an empty cache, or if files are merged.
func TestChecksumTellsWhereFilesEnd(t *testing.T) {
	dir := t.TempDir()
	sum := func(contents ...string) string {
		var w Workload
		for i, content := range contents {
			w.Files = append(w.Files, writeText(t, filepath.Join(dir, strconv.Itoa(i)), content))
		}
		return must.Get(w.ReadChecksum(t.Context(), nil))(t)
	}
	seen := map[string][]string{}
	for _, contents := range [][]string{{"1\n2\n1\n"}, {"1\n2\n", "1\n"}, {"1\n", "2\n1\n"}, {"1\n", "2\n", "1\n"},
		{"1\n", "1\n2\n"}} {
		got := sum(contents...)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have the same checksum", contents, other)
		}
		seen[got] = contents
	}
	if got, want := sum("1\n"), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("1\n"))); got != want {
		t.Errorf("checksum of one file %s, want that of sha256sum, %s", got, want)
	}
}

func TestGeneratorIsATrace(t *testing.T) {
	w := Workload{Selection: traces.Selection{Limit: 900}, Name: "skewed",
		Generator: "zipf(alpha=1.1,objects=100,requests=1000,seed=3)"}
	a, err := w.Load(t.Context(), nil, traces.LoadOptions{Needs: traces.Needs{Times: true}})
	must.Do(t, err)
	b, err := w.Load(t.Context(), nil, traces.LoadOptions{})
	if err != nil || !slices.Equal(a.Objects, b.Objects) || len(a.Objects) != 900 || a.Name != "skewed" || a.Times == nil {
		t.Errorf("generated %d and %d requests of %q, %v", len(a.Objects), len(b.Objects), a.Name, err)
	}
	if sum, err := w.ReadChecksum(t.Context(), nil); sum != "" || err != nil {
		t.Errorf("checksum of a generator: %q, %v", sum, err)
	}
	if _, err := (Workload{Generator: "zipf(alpa=1)"}).Load(t.Context(), nil, traces.LoadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "alpha") {
		t.Errorf("a wrong parameter: %v", err)
	}
	path := writeText(t, filepath.Join(t.TempDir(), "zipf"), "1\n")
	for text, want := range map[string]bool{"zipf": true, " loop(objects=3)": true, "zipfer": false, "trace.zst": false,
		path: false} {
		if IsGenerator(text) != want {
			t.Errorf("%q is a generator: %v", text, !want)
		}
	}
}

func TestRecordSaysWhatWasReplayed(t *testing.T) {
	for _, w := range []Workload{
		{Name: "oltp", Files: []string{"a b.gz", "c.gz"}, Checksum: "sha256:00", Selection: traces.Selection{
			Format: "csv:key=2", Merge: true, Limit: 10, SampleRate: 0.1, SampleSeed: 3, Writes: "fill"}},
		{Name: "bk", Files: []string{"x.tar.xz"}, Selection: traces.Selection{PerFile: true, SampleRate: 1}},
		{Name: "z", Generator: "zipf(alpha=1)", Selection: traces.Selection{SampleRate: 1}},
	} {
		rec := records.Record{Trace: w.Name, SampleRate: w.SampleRate}
		must.Do(t, w.Describe(&rec))
		if got, err := FromRecord(&rec); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("got %+v, %v; want %+v", got, err, w)
		}
	}
	if err := (Workload{Files: []string{"a\nb"}}).Describe(new(records.Record)); err == nil {
		t.Error("a path with a line break was recorded")
	}
	for _, rec := range []records.Record{{Trace: "t"}, {Trace: "stdin", Origin: records.Origin{TraceFiles: "-"}}} {
		if w, err := FromRecord(&rec); err == nil {
			t.Errorf("%+v can be replayed as %+v", rec, w)
		}
	}
}

func TestLoadSummedTakesTheChecksum(t *testing.T) {
	w := Workload{Files: []string{writeText(t, filepath.Join(t.TempDir(), "keys.txt"), "1\n2\n1\n")}}
	want, err := w.ReadChecksum(t.Context(), nil)
	must.Do(t, err)
	trace, got, err := w.LoadSummed(t.Context(), nil, traces.LoadOptions{})
	if err != nil || len(trace.Objects) != 3 || got.Checksum != want {
		t.Errorf("%+v with checksum %q, %v; want %s", trace, got.Checksum, err, want)
	}
	_, got, err = Workload{Files: []string{"-"}}.LoadSummed(t.Context(), nil,
		traces.LoadOptions{Stdin: strings.NewReader("1\n2\n")})
	if err != nil || got.Checksum != "" {
		t.Errorf("standard input has checksum %q, %v; want none", got.Checksum, err)
	}
}

// The checksum is that of the loaded file, even if only the requests before a limit are loaded.
func TestLoadSummedNoticesAnotherFile(t *testing.T) {
	path := writeText(t, filepath.Join(t.TempDir(), "x.txt"), "1\n2\n1\n")
	replaced := false
	_, _, err := Workload{Selection: traces.Selection{Limit: 1}, Files: []string{path}}.LoadSummed(t.Context(), nil,
		traces.LoadOptions{Progress: func(int64,
			int64) {
			if replaced {
				return
			}
			replaced = true
			if err := os.Rename(writeText(t, path+".new", "3\n4\n3\n"), path); err != nil {
				t.Error(err)
			}
		}})
	must.Fail(t, err, "was replaced by another file while it was read")
}

func TestGeneratedWritesEveryParameter(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"loop", "loop(objects=100000,requests=1000000,seed=5,size=none,rate=1000,keys=plain)"},
		{"loop( seed = 2 )", "loop(objects=100000,requests=1000000,seed=2,size=none,rate=1000,keys=plain)"},
	} {
		w, err := Generated(test.text, 5)
		if err != nil || w.Generator != test.want {
			t.Errorf("%s: got %s, %v; want %s", test.text, w.Generator, err, test.want)
		}
		again, err := Generated(w.Generator, 9)
		if err != nil || again.Generator != w.Generator {
			t.Errorf("%s: read again it is %s, %v", w.Generator, again.Generator, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	w := Workload{Selection: traces.Selection{Limit: 7}, Name: "a", Files: []string{"a.csv"}}
	if got := w.Identity(); got.Name != "" || !slices.Equal(got.Files, w.Files) || got.Limit != 7 {
		t.Errorf("without a checksum the path says what is replayed: %+v", got)
	}
	w.Checksum = "sha256:0"
	if got := w.Identity(); got.Files != nil || got.Checksum != w.Checksum || w.Name != "a" {
		t.Errorf("with a checksum the path does not matter: %+v", got)
	}
}

func TestLoadPassesOnHowATraceIsRead(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&lines, i)
	}
	a := writeText(t, filepath.Join(dir, "a.txt"), lines.String())
	b := writeText(t, filepath.Join(dir, "b.txt"), "1,5\n2,1\n")
	load := func(w Workload) *traces.Trace {
		return must.Get(w.Load(t.Context(), nil, traces.LoadOptions{}))(t)
	}
	if got := load(Workload{Selection: traces.Selection{Limit: 40}, Files: []string{a}}); len(got.Objects) != 40 {
		t.Errorf("%d requests, limited to 40", len(got.Objects))
	}
	if got := load(Workload{Selection: traces.Selection{PerFile: true}, Files: []string{a, a}}); len(got.Starts) != 2 {
		t.Errorf("files start at %v", got.Starts)
	}
	first, again, other := load(Workload{Selection: traces.Selection{SampleRate: 0.5, SampleSeed: 1},
		Files: []string{a}}), load(Workload{Selection: traces.Selection{SampleRate: 0.5,
		SampleSeed: 1}, Files: []string{a}}),
		load(Workload{Selection: traces.Selection{SampleRate: 0.5, SampleSeed: 2}, Files: []string{a}})
	if len(first.Objects) != len(again.Objects) || first.SampleRate != 0.5 || len(first.Objects) < 400 ||
		len(first.Objects) > 600 {
		t.Errorf("samples of %d and %d of 1000", len(first.Objects), len(again.Objects))
	}
	if len(first.Objects) == len(other.Objects) {
		t.Errorf("both seeds sample %d objects", len(other.Objects))
	}
	merged := load(Workload{Selection: traces.Selection{Format: "csv:time=1,key=2", Merge: true},
		Files: []string{b, writeText(t, filepath.Join(dir, "c.txt"), "3,2\n")}})
	if !slices.Equal(merged.Objects, []uint32{0, 1, 2}) {
		t.Errorf("merged to %v", merged.Objects)
	}
}

func TestGeneratorOfMoreRequestsThanATraceHas(t *testing.T) {
	w := Workload{Generator: "zipf(requests=1000000000000,objects=10)"}
	must.NotGet(w.Load(t.Context(), nil, traces.LoadOptions{}))(t, "--limit", "10^12 requests")
	w.Limit = 5
	if loaded, err := w.Load(t.Context(), nil, traces.LoadOptions{}); err != nil || len(loaded.Objects) != 5 {
		t.Errorf("5 of 10^12 requests: %v", err)
	}
}

// TestEmbeddingsFileIsPartOfTheTrace: the checksum covers its bytes, the identity does not include its path, and
// records lead back to it.
func TestEmbeddingsFileIsPartOfTheTrace(t *testing.T) {
	dir := t.TempDir()
	const fvecs = "\x01\x00\x00\x00\x00\x00\x80?"
	file := writeText(t, filepath.Join(dir, "keys"), "1\n2\n")
	beside := writeText(t, filepath.Join(dir, "x.fvecs"), fvecs+fvecs)
	w := Workload{Files: []string{file}, Embeddings: "x.fvecs"}
	options := traces.LoadOptions{Needs: traces.Needs{Embeddings: true}}
	trace, summed, err := w.LoadSummed(t.Context(), []string{dir}, options)
	must.Do(t, err)
	if q := queries.Of(trace.Kind); !slices.Equal(q.Vectors, []float32{1, 1}) || q.Embeddings != "x.fvecs" {
		t.Errorf("queries %+v", q)
	}
	if want, err := (Workload{Files: []string{file, beside}}).ReadChecksum(t.Context(), nil); err != nil ||
		summed.Checksum != want {
		t.Errorf("checksum %s, %v; want %s", summed.Checksum, err, want)
	}
	moved := summed
	moved.Embeddings = beside
	if moved.Key() != summed.Key() {
		t.Errorf("%s is not %s", moved.Key(), summed.Key())
	}
	rec := records.Record{Trace: "keys"}
	must.Do(t, summed.Describe(&rec))
	again, err := FromRecord(&rec)
	if again.Name = ""; err != nil || !reflect.DeepEqual(again, summed) {
		t.Errorf("from the record: %+v, %v; want %+v", again, err, summed)
	}
	writeText(t, beside, fvecs+"\x01\x00\x00\x00\x00\x00\x00?")
	if _, err := again.Load(t.Context(), []string{dir}, options); !errors.As(err, new(*ChangedError)) {
		t.Errorf("a changed file of embeddings: %v", err)
	}
}

func TestEmbeddingsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		w    Workload
		want string
	}{
		{Workload{Files: []string{"a"}, Embeddings: "magic"}, `unknown embedder "magic"`},
		{Workload{Files: []string{"a"}, Embeddings: "lexical(dim=1)"}, "dim=1"},
		{Workload{Files: []string{"a"}, Embeddings: "x.npy.zst:rows=all"}, `unknown option "rows=all"`},
		{Workload{Files: []string{"a"}, Embeddings: `C:\x.npy:`}, `unknown option ""`},
		{Workload{Files: []string{"a"}, Embeddings: `C:\x.npy:rows=distinct`}, ""},
		{Workload{Generator: "zipf", Embeddings: "x.npy"}, "a generator has no files for embeddings to belong to"},
		{Workload{Selection: traces.Selection{Merge: true}, Files: []string{"a", "b"}, Embeddings: "x.npy.gz"},
			"which merging changes"},
		{Workload{Files: []string{"a", "b"}, Embeddings: "x.npy.gz"}, ""},
		{Workload{Generator: "zipf", Embeddings: "lexical"}, ""},
	} {
		if err := c.w.CheckEmbeddings(); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.w, err, c.want)
		}
	}
}

// TestListingOfAWorkload: a file that the format names is searched for, and belongs to the checksum, not to the path.
func TestListingOfAWorkload(t *testing.T) {
	dir := t.TempDir()
	writeText(t, dir+"/reads.csv", "path,offset,length\n/a,0,1\n")
	writeText(t, dir+"/list.csv", "/a\n/b\n")
	writeText(t, dir+"/other.csv", "/a\n/b\n")
	load := func(listing, checksum string) (Workload, error) {
		w := Workload{Files: []string{"reads.csv"}, Checksum: checksum}
		w.Format = "reads:files=" + listing
		_, summed, err := w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
		return summed, err
	}
	w, err := load("list.csv", "")
	must.Do(t, err)
	other, err := load("other.csv", "")
	if err != nil || w.Key() != other.Key() || w.Checksum == "" {
		t.Errorf("the workloads %s and %s differ, with error %v", w.Key(), other.Key(), err)
	}
	writeText(t, dir+"/list.csv", "/a\n/c\n")
	if _, err := load("list.csv", w.Checksum); !errors.As(err, new(*ChangedError)) {
		t.Errorf("another listing: error %v, want that the trace has changed", err)
	}
	_, err = load("missing.csv", "")
	must.Fail(t, err, "missing.csv: no such file, though the trace format names it", "no listing")
	if !errors.As(err, new(*MissingError)) {
		t.Errorf("no listing: error %v, want that a file is missing", err)
	}
}

// TestNamesOfAGenerator: a file that the generator reads is searched for, and belongs to the checksum, not to the path.
func TestNamesOfAGenerator(t *testing.T) {
	dir := t.TempDir()
	var names strings.Builder
	for i := range 128 {
		fmt.Fprintf(&names, "n%02d_%d.JPEG\n", i%3, i)
	}
	writeText(t, dir+"/names", names.String())
	writeText(t, dir+"/again", names.String())
	load := func(names, checksum string) (*traces.Trace, Workload, error) {
		w := must.Get(Generated("cluster(jobs=9,scale=0.0001,names="+names+")", 1))(t)
		w.Checksum = checksum
		return w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
	}
	trace, w, err := load("names", "")
	must.Do(t, err)
	if paths := files.Of(trace.Kind).Paths; !slices.Contains(paths, "/imagenet/train/n00/n00_126.JPEG") {
		t.Errorf("the trace has other names: %s", paths[:3])
	}
	_, again, err := load("again", "")
	sum, errOfSum := w.ReadChecksum(t.Context(), []string{dir})
	if err != nil || errOfSum != nil || w.Key() != again.Key() || w.Checksum == "" || sum != w.Checksum {
		t.Errorf("the workloads %s and %s differ, with errors %v, %v", w.Key(), again.Key(), err, errOfSum)
	}
	writeText(t, dir+"/names", "n07_1.JPEG\n"+names.String())
	if _, _, err := load("names", w.Checksum); !errors.As(err, new(*ChangedError)) {
		t.Errorf("other names: error %v, want that the trace has changed", err)
	}
	if _, _, err := load("missing", ""); !errors.As(err, new(*MissingError)) {
		t.Errorf("no names: error %v, want that a file is missing", err)
	}
}

// TestClusterFromFilesAndInMemory: the trace and the listing of a cluster, written and read again, are those in memory.
func TestClusterFromFilesAndInMemory(t *testing.T) {
	dir := t.TempDir()
	spec, err := gen.Parse("cluster(scale=0.001,epochs=2,block-kib=64,seed=3)", "")
	must.Do(t, err)
	g, err := gen.New(t.Context(), spec, nil)
	must.Do(t, err)
	out, err := write.Create(t.Context(), dir+"/reads.csv.zst", write.Options{Fields: g.Fields})
	must.Do(t, err)
	var rec stream.Record
	for err = g.Read(&rec); err == nil; err = g.Read(&rec) {
		must.Do(t, out.Write(&rec))
	}
	must.Do(t, errors.Join(out.Close(),
		write.Listing(t.Context(), dir+"/all.csv.gz", g.Fields.Kind.(files.Kind).Listing)))
	stored := Workload{Files: []string{"reads.csv.zst"}}
	stored.Format = "reads:block=64,files=all.csv.gz"
	options := traces.LoadOptions{Needs: traces.Needs{Kind: true, Sizes: true, Times: true}}
	want, err := Workload{Generator: spec.Full()}.Load(t.Context(), nil, options)
	must.Do(t, err)
	got, err := stored.Load(t.Context(), []string{dir}, options)
	must.Do(t, err)
	if !reflect.DeepEqual(got.Kind, want.Kind) || !slices.Equal(got.Objects, want.Objects) ||
		!slices.Equal(got.ObjectSizes, want.ObjectSizes) || !reflect.DeepEqual(got.Times, want.Times) {
		t.Errorf("the trace of %d requests and %d objects is another, %d and %d, in memory", len(got.Objects),
			got.NumObjects, len(want.Objects), want.NumObjects)
	}
	if c := files.Of(want.Kind); !c.Listed || c.Read == len(c.Paths) || c.Unlisted > 0 || slices.Contains(c.Known, false) {
		t.Errorf("of %d files %d are read, %d not listed", len(c.Paths), c.Read, c.Unlisted)
	}
}
