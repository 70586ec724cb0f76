package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// small is a bundle of one experiment.
func small() *Bundle {
	b := New("0.1.0", "go1.26")
	b.Experiments = []Experiment{{Name: "a", Form: "experiments/a.yaml", Records: "records/a.jsonl"}}
	b.Traces = []Trace{{Name: "t", Files: []string{"t.csv"}, Checksum: "sha256:00", Source: "here", Packed: true}}
	b.files = map[string][]byte{"experiments/a.yaml": []byte("name: a\n"), "records/a.jsonl": {},
		"experiments/traces/t.csv": []byte("1\n2\n")}
	return b
}

func written(t testing.TB, b *Bundle) []byte {
	t.Helper()
	var file bytes.Buffer
	must.Do(t, b.Write(&file))
	return file.Bytes()
}

// What was written is read and unpacked again, and written to the same bytes.
func TestReadsWhatItWrites(t *testing.T) {
	file := written(t, small())
	b := must.Get(Read("x", bytes.NewReader(file)))(t)
	if again := written(t, b); !bytes.Equal(again, file) || b.Program != "0.1.0" || len(b.Files) != 3 {
		t.Errorf("read %+v", b.Index)
	}
	dir := t.TempDir()
	must.Do(t, b.Unpack(dir))
	if got := must.Get(os.ReadFile(filepath.Join(dir, "experiments", "traces", "t.csv")))(t); string(got) != "1\n2\n" {
		t.Errorf("unpacked %q", got)
	}
}

// archive packs files as tar and zstd, whatever they are.
func archive(t testing.TB, headers []tar.Header, contents []string) []byte {
	t.Helper()
	var file bytes.Buffer
	packed := must.Get(zstd.NewWriter(&file))(t)
	w := tar.NewWriter(packed)
	for i, h := range headers {
		h.Mode = 0o644
		must.Do(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, contents[i])
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	must.Do(t, packed.Close())
	return file.Bytes()
}

func indexOf(t testing.TB, i Index) string { t.Helper(); return string(must.Get(json.Marshal(i))(t)) }

// Archives that Write does not write are refused, each with its reason.
func TestReadRefuses(t *testing.T) {
	whole := written(t, small())
	of := func(files []File, names []string, contents ...string) []byte {
		index := indexOf(t, Index{Form: 1, Files: files, Experiments: []Experiment{{Name: "a"}}})
		headers := []tar.Header{{Name: indexName, Typeflag: tar.TypeReg, Size: int64(len(index))}}
		for i, name := range names {
			headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(contents[i]))})
		}
		return archive(t, headers, append([]string{index}, contents...))
	}
	one := func(name string) []byte {
		return of([]File{{name, digest([]byte("x")), 1}}, []string{name}, "x")
	}
	link := tar.Header{Name: indexName, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	var bomb bytes.Buffer
	packed := must.Get(zstd.NewWriter(&bomb, zstd.WithWindowSize(windowBytes)))(t)
	w := tar.NewWriter(packed)
	index := indexOf(t, Index{Form: 1, Experiments: []Experiment{{Name: "a"}}})
	must.Do(t, w.WriteHeader(&tar.Header{Name: indexName, Typeflag: tar.TypeReg, Size: int64(len(index))}))
	must.Get(io.WriteString(w, index))(t)
	must.Do(t, w.Close())
	for range 2 + mostBytes>>20 {
		must.Get(packed.Write(make([]byte, 1<<20)))(t)
	}
	must.Do(t, packed.Close())
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":        {nil, "is an empty archive"},
		"text":           {[]byte("hello"), "is damaged, or no archive of tar and zstd"},
		"half":           {whole[:len(whole)/2], "is cut off"},
		"twice over":     {slices.Concat(whole, whole), "goes on behind the end"},
		"all but a byte": {whole[:len(whole)-1], "is cut off"},
		"parent":         {one("experiments/../../a"), "is no name of a file in a bundle"},
		"root":           {one("/etc/passwd"), "is no name of a file in a bundle"},
		"windows":        {one(`experiments/..\..\a`), "is no name of a file in a bundle"},
		"elsewhere":      {one("bin/a"), "is no name of a file in a bundle"},
		"link":           {archive(t, []tar.Header{link}, []string{""}), "is no regular file"},
		"other index": {archive(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 1}}, []string{"x"}),
			`is no bundle: it begins with "a"`},
		"not listed": {of(nil, []string{"records/a"}, "x"), "is not among the files that the bundle lists"},
		"changed":    {of([]File{{"records/a", "00", 1}}, []string{"records/a"}, "x"), "records/a: its checksum is"},
		"longer":     {of([]File{{"records/a", "00", 2}}, []string{"records/a"}, "x"), "has 1 bytes, and the bundle lists 2"},
		"missing":    {of([]File{{"records/a", "00", 1}}, nil), "does not have it"},
		"twice": {of([]File{{"records/a", digest([]byte("x")), 1}}, []string{"records/a", "records/a"}, "x", "x"),
			"is there twice"},
		"large":   {of([]File{{"records/a", "00", 1 << 40}}, nil), "MiB unpacked, which is no bundle"},
		"bomb":    {bomb.Bytes(), "MiB unpacked, which is no bundle"},
		"newer":   {archiveOf(t, `{"bundle": 2, "program": "9.0"}`), `use the version that wrote it, "9.0"`},
		"no form": {archiveOf(t, indexOf(t, Index{Form: 1, Experiments: []Experiment{{Name: "a"}}})), "has no file or no"},
		"none":    {archiveOf(t, `{"bundle": 1}`), "has no experiment"},
		"no JSON": {archiveOf(t, `{`), "bundle.json: unexpected end of JSON input"},
	} {
		if _, err := Read("x.tar.zst", bytes.NewReader(test.file)); err == nil ||
			!strings.HasPrefix(err.Error(), "x.tar.zst: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

func archiveOf(t testing.TB, index string) []byte {
	t.Helper()
	return archive(t, []tar.Header{{Name: indexName, Typeflag: tar.TypeReg, Size: int64(len(index))}}, []string{index})
}

// Whatever is read is refused, or names only files below the folders of a bundle.
func FuzzRead(f *testing.F) {
	f.Add(written(f, small()))
	f.Add(archiveOf(f, `{"bundle": 1, "files": [{"name": "records/a", "size": 0}]}`))
	f.Add(archive(f, []tar.Header{{Name: "../a", Typeflag: tar.TypeReg, Size: 1}}, []string{"x"}))
	f.Fuzz(func(t *testing.T, file []byte) {
		b, err := Read("x", bytes.NewReader(file))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x: ") {
				t.Errorf("error without the name: %v", err)
			}
			return
		}
		for name := range b.files {
			if !isMember(name) {
				t.Errorf("it has %q", name)
			}
		}
		again := must.Get(Read("x", bytes.NewReader(written(t, b))))(t)
		if len(again.files) != len(b.files) {
			t.Errorf("%d files, written and read %d", len(b.files), len(again.files))
		}
	})
}
