package read_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// packed returns content in every compression that has a writer in Go.
func packed(t testing.TB, content []byte) map[string][]byte {
	t.Helper()
	writers := map[string]func(w io.Writer) (io.WriteCloser, error){
		"gzip":   func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zstd":   func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":     func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
		"lz4":    func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
		"s2":     func(w io.Writer) (io.WriteCloser, error) { return s2.NewWriter(w), nil },
		"snappy": func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
	}
	all := map[string][]byte{}
	for name, open := range writers {
		var buf bytes.Buffer
		w := must.Get(open(&buf))(t)
		must.Get(w.Write(content))(t)
		must.Do(t, w.Close())
		all[name] = buf.Bytes()
	}
	return all
}

// bzip2Keys is "1\n22\n333\n1\n22\n" as written by bzip2 1.0.8: no Go package writes bzip2.
const bzip2Keys = "QlpoOTFBWSZTWTT3tiUAAANIAAAQOAAgADDNNBKep6VDCJDhdyRThQkDT3tiUA=="

const fiveKeys = "1\n22\n333\n1\n22\n"

// packedKeys returns fiveKeys in every supported compression.
func packedKeys(t testing.TB) map[string][]byte {
	t.Helper()
	all := packed(t, []byte(fiveKeys))
	var err error
	if all["bzip2"], err = base64.StdEncoding.DecodeString(bzip2Keys); err != nil {
		t.Fatal(err)
	}
	return all
}

// readBytes opens data as standard input and counts its records.
func readBytes(data []byte) (records int, info *stream.Reading, err error) {
	s, err := read.Open("-", read.Options{Stdin: bytes.NewReader(data)})
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	all, err := tracetest.Drain(s)
	return len(all), s.Info, err
}

func TestEveryCompressionIsRecognised(t *testing.T) {
	for name, data := range packedKeys(t) {
		for members := 1; members <= 3; members++ {
			n, info, err := readBytes(bytes.Repeat(data, members))
			if err != nil || n != 5*members || info.Compression != name || info.Format != "plain" {
				t.Errorf("%s, %d members: %d records of %+v, %v", name, members, n, info, err)
			}
		}
	}
}

// TestCutCompression cuts every compression at every byte: each cut must give an error. s2 and snappy have no end mark,
// so that a cut between two of their chunks cannot be seen; the file here is one chunk, and a cut before it leaves
// nothing.
func TestCutCompression(t *testing.T) {
	for name, data := range packedKeys(t) {
		for cut := 3; cut < len(data); cut++ {
			if n, _, err := readBytes(data[:cut]); err == nil {
				t.Errorf("%s cut at byte %d of %d: %d records and no error", name, cut, len(data), n)
			}
		}
	}
}

// TestCutLongCompression cuts streams of several blocks.
func TestCutLongCompression(t *testing.T) {
	records := brief.Of(40_000, 20_000)
	random := rand.New(rand.NewPCG(1, 1))
	var content bytes.Buffer
	for range records {
		fmt.Fprintln(&content, random.Uint32())
	}
	for name, data := range packed(t, content.Bytes()) {
		if n, _, err := readBytes(data); err != nil || n != records {
			t.Fatalf("%s: %d records, %v", name, n, err)
		}
		for range brief.Of(10, 2) {
			cut := 1 + random.IntN(len(data)-1)
			if n, _, err := readBytes(data[:cut]); err == nil {
				t.Errorf("%s cut at byte %d of %d: %d records and no error", name, cut, len(data), n)
			}
		}
	}
}

// TestDamagedCompression flips each byte in turn. The result must be an error or, if the byte has no meaning (a time
// stamp), the right records.
func TestDamagedCompression(t *testing.T) {
	for name, data := range packedKeys(t) {
		if name == "lz4" || name == "zstd" {
			continue // their checksums are tested below; flags in the header can turn them off
		}
		for i := range data {
			damaged := bytes.Clone(data)
			damaged[i] ^= 0x55
			s, err := read.Open("-", read.Options{Stdin: bytes.NewReader(damaged)})
			if err != nil {
				continue
			}
			records, err := tracetest.Drain(s)
			s.Close()
			if err == nil && (len(records) != 5 || records[2].Num != 333) && s.Info.Compression != "" {
				t.Errorf("%s with byte %d changed: %v and no error", name, i, records)
			}
		}
	}
}

func TestWrongChecksum(t *testing.T) {
	for name, data := range packedKeys(t) {
		if name != "lz4" && name != "zstd" && name != "gzip" {
			continue
		}
		data[len(data)-1] ^= 0x55
		if n, _, err := readBytes(data); err == nil || !strings.Contains(err.Error(), name+" data is damaged") {
			t.Errorf("%s: %d records, error %v", name, n, err)
		}
	}
}

func TestGarbageAfterCompression(t *testing.T) {
	for name, data := range packedKeys(t) {
		if n, _, err := readBytes(append(data, "more text\n"...)); err == nil {
			t.Errorf("%s: %d records and no error", name, n)
		}
	}
}

func TestErrorSaysWhereTheCutIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.zst")
	data := packed(t, []byte(strings.Repeat("12345678\n", 100_000)))["zstd"]
	must.Do(t, os.WriteFile(path, data[:len(data)-1], 0o600))
	s, err := read.Open(path, read.Options{})
	if err == nil {
		defer s.Close()
		_, err = tracetest.Drain(s)
	}
	if err == nil || !strings.HasPrefix(err.Error(), path+": zstd data is cut off after ") {
		t.Errorf("error %v", err)
	}
}

func TestSkippableFrames(t *testing.T) {
	skip := append([]byte{0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0}, "abc"...)
	for _, name := range []string{"zstd", "lz4"} {
		data := packedKeys(t)[name]
		n, info, err := readBytes(slices.Concat(skip, skip, data, skip, data))
		if err != nil || n != 10 || info.Compression != name {
			t.Errorf("%s: %d records of %+v, %v", name, n, info, err)
		}
	}
}

// TestHugeWindowIsRefused: a header of a few bytes must not make the reader allocate gigabytes.
func TestHugeWindowIsRefused(t *testing.T) {
	zstdHeader := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0, 0, 0} // a window of 2 GiB
	if _, _, err := readBytes(zstdHeader); err == nil || !strings.Contains(err.Error(), "zstd data needs a window of "+
		"more than 128 MiB") {
		t.Errorf("zstd: %v", err)
	}
	xzFile := packedKeys(t)["xz"]
	i := bytes.Index(xzFile, []byte{0x21, 0x01}) // LZMA2 and the length of its properties
	xzFile[i+2] = 40                             // a dictionary of 4 GiB
	if _, _, err := readBytes(xzFile); err == nil || !strings.Contains(err.Error(), "it requests 4096 MiB") {
		t.Errorf("xz: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	must.Do(t, os.WriteFile(empty, nil, 0o600))
	emptyInside := filepath.Join(dir, "empty.gz")
	must.Do(t, os.WriteFile(emptyInside, packed(t, nil)["gzip"], 0o600))
	missing := filepath.Join(dir, "missing")
	for path, want := range map[string]string{
		missing:     missing + ": no such file or directory",
		dir:         dir + ": is a directory; name the trace files in it",
		empty:       empty + ": the file is empty",
		emptyInside: emptyInside + ": the file is empty",
	} {
		if _, err := read.Open(path, read.Options{}); err == nil || err.Error() != want {
			t.Errorf("Open(%s): error %v, want %q", path, err, want)
		}
	}
}

// archive returns a tar file of the given members, alternating names and contents; a name that ends in / is a folder.
func archive(t testing.TB, members ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i := 0; i < len(members); i += 2 {
		header := &tar.Header{Name: members[i], Mode: 0o600, Size: int64(len(members[i+1])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(members[i], "/") {
			header.Typeflag = tar.TypeDir
		}
		must.Do(t, w.WriteHeader(header))
		must.Get(io.WriteString(w, members[i+1]))(t)
	}
	must.Do(t, w.Close())
	return buf.Bytes()
}

func TestTar(t *testing.T) {
	inner := string(packedKeys(t)["gzip"])
	data := archive(t, "d/", "", "d/b", "2\n1", "d/empty", "", "d/a.gz", inner)
	for name, outer := range packed(t, data) {
		s, err := read.Open("-", read.Options{Stdin: bytes.NewReader(outer)})
		must.Do(t, err)
		defer s.Close()
		records, err := tracetest.Drain(s)
		if err != nil || len(records) != 7 || records[0].Num != 2 || records[2].Num != 1 || s.Info.Compression != name {
			t.Errorf("%s: %v, %v", name, records, err)
		}
	}
}

func TestTarRefuses(t *testing.T) {
	two := archive(t, "a", fiveKeys, "b", fiveKeys)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no file": {archive(t, "d/", ""), "holds no files with data"},
		"other format": {archive(t, "a", fiveKeys, "b", "key,size\n1,2\n"), "b: looks like csv, but the files before it " +
			"look like plain"},
		"other columns": {archive(t, "a", "key,size\n1,2\n", "b", "key,time\n1,2\n"), "b: has other columns"},
		"bad line":      {archive(t, "a", fiveKeys, "b", "1\n*\n"), "b: looks like lirs"},
		"no end mark":   {two[:4*512], "the tar archive is cut off"},
		"half a block":  {two[:len(two)-1100], "the tar archive is cut off"},
		"data after":    {append(bytes.Clone(two), "x"...), "data after the end"},
	} {
		if n, _, err := readBytes(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d records, error %v, want %q", name, n, err, c.want)
		}
	}
}

// TestCutTar cuts an archive at every 13th byte and around every block; only the padding after the end mark may go
// missing.
func TestCutTar(t *testing.T) {
	data := archive(t, "a", fiveKeys, "b", fiveKeys)
	for cut := 2; cut < 4*512+1024; cut++ { // a single byte is a key
		if near := (cut + 1) % 512; near > 2 && cut%13 != 0 {
			continue
		}
		if n, _, err := readBytes(data[:cut]); err == nil {
			t.Errorf("cut at byte %d: %d records and no error", cut, n)
		}
	}
}

func TestReaderAt(t *testing.T) {
	dir := t.TempDir()
	content := strings.Repeat("0123456789\n", 1000)
	plainPath, packedPath := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for path, data := range map[string][]byte{plainPath: []byte(content), packedPath: packed(t, []byte(content))["zstd"]} {
		must.Do(t, os.WriteFile(path, data, 0o600))
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	must.Do(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	for _, path := range []string{plainPath, packedPath, "-"} {
		in, err := source.OpenFile(t.Context(), path, strings.NewReader(content))
		must.Do(t, err)
		src, err := source.New(in, path, path, in)
		must.Do(t, err)
		r, size, err := src.ReaderAt()
		if err != nil || size != int64(len(content)) {
			t.Fatalf("%s: %d bytes, %v", path, size, err)
		}
		got := make([]byte, 10)
		if _, err := r.ReadAt(got, 11*999); err != nil || string(got) != "0123456789" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

func TestRecords(t *testing.T) {
	var data bytes.Buffer
	for i := range uint32(100_000) {
		binary.Write(&data, binary.LittleEndian, i)
	}
	for _, extra := range []int{0, 3} {
		in, err := source.OpenFile(t.Context(), "-", bytes.NewReader(append(data.Bytes(), make([]byte, extra)...)))
		must.Do(t, err)
		src, err := source.New(in, in.Label, in.Path, in)
		must.Do(t, err)
		var next uint32
		for {
			var records []byte
			if records, err = src.Records(4); err != nil {
				break
			}
			for ; len(records) > 0; records = records[4:] {
				if got := binary.LittleEndian.Uint32(records); got != next {
					t.Fatalf("record %d is %d", next, got)
				}
				next++
			}
		}
		if next != 100_000 {
			t.Errorf("%d records", next)
		}
		if extra == 0 && !errors.Is(err, io.EOF) {
			t.Errorf("error %v at the end", err)
		}
		if want := "byte 400000: the file is cut off within a record: want 4 bytes, got 3"; extra > 0 &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestMergeOfArchives: merging by time merges the members of archives.
func TestMergeOfArchives(t *testing.T) {
	first, second := "time,key\n1,a\n4,b\n", "time,key\n2,c\n3,d\n"
	path := filepath.Join(t.TempDir(), "x.tar")
	tracetest.WriteFile(t, path, archive(t, "first", first, "second", second))
	lone := filepath.Join(t.TempDir(), "lone.csv")
	tracetest.WriteFile(t, lone, []byte("time,key\n2.5,e\n"))
	for _, c := range []struct {
		paths []string
		merge bool
		want  string
	}{
		{[]string{path}, false, "abcd"}, {[]string{path}, true, "acdb"}, {[]string{path, lone}, true,
			"acedb"}, {[]string{lone}, true, "e"},
	} {
		got := must.Get(read.Load(t.Context(), c.paths, read.Options{Selection: read.Selection{Merge: c.merge},
			Needs: traces.Needs{Keys: true}}))(t)
		keys := ""
		for _, object := range got.Objects {
			keys += got.Keys[object].String()
		}
		if keys != c.want {
			t.Errorf("%v, merged %v: %s, want %s", c.paths, c.merge, keys, c.want)
		}
	}
}

// FuzzOpen lets the content decide on compression, archive and format.
func FuzzOpen(f *testing.F) {
	var seeds []string
	for _, format := range formats.All() {
		seeds = append(seeds, format.Example)
	}
	for _, data := range packedKeys(f) {
		seeds = append(seeds, string(data))
	}
	small := archive(f, "a", fiveKeys, "b", fiveKeys)
	tracetest.Fuzz(f, "", append(seeds, string(small), string(packed(f, small)["zstd"]))...)
}
