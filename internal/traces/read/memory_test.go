package read_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/ulikunitz/xz"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// tarOf returns an archive of files with the same content.
func tarOf(t *testing.T, files int, content []byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for i := range files {
		must.Do(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%04d", i), Mode: 0o644,
			Size: int64(len(content))}))
		must.Get(w.Write(content))(t)
	}
	must.Do(t, w.Close())
	return archive.Bytes()
}

// parquetOf returns a Parquet file of a few keys.
func parquetOf(t *testing.T) []byte {
	t.Helper()
	type row struct {
		Key int64 `parquet:"key"`
	}
	return []byte(tracetest.ParquetOf(t, []row{{1}, {2}, {1}}))
}

// Members of an archive are closed when they end: each of these has a temporary file.
func TestMembersOfArchivesAreClosed(t *testing.T) {
	const files = 40
	path := filepath.Join(t.TempDir(), "x.tar")
	must.Do(t, os.WriteFile(path, tarOf(t, files, parquetOf(t)), 0o644))
	before := openFiles(t)
	opened, err := read.Open(path, read.Options{})
	must.Do(t, err)
	defer opened.Close()
	var rec stream.Record
	requests, most := 0, 0
	for err = opened.Read(&rec); err == nil; err = opened.Read(&rec) {
		requests++
		most = max(most, openFiles(t)-before)
	}
	if err != io.EOF || requests != 3*files {
		t.Fatalf("%d requests, then %v; want %d", requests, err, 3*files)
	}
	if most > 4 {
		t.Errorf("up to %d files were open at a time, want the archive and a temporary file", most)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not list the open files")
	}
	return len(entries)
}

// A temporary copy has no name, and does not grow as large as a small file claims.
func TestTemporaryCopiesAreBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "x.zst")
	var small bytes.Buffer
	w, err := zstd.NewWriter(&small)
	must.Do(t, err)
	w.Write([]byte("PAR1"))
	zeros := make([]byte, 1<<20)
	for range 256 {
		w.Write(zeros)
	}
	must.Do(t, w.Close())
	must.Do(t, os.WriteFile(path, small.Bytes(), 0o644))
	_, err = read.Open(path, read.Options{})
	must.Fail(t, err, "to more than 80.0 MiB", small.Len())
	_, err = read.Open(path, read.Options{Memory: memory.Fixed(10<<20, 0)})
	if !errors.As(err, new(*memory.Error)) {
		t.Errorf("with a budget of 10 MiB: %v", err)
	}

	named := filepath.Join(t.TempDir(), "x.parquet.zst")
	must.Do(t, os.WriteFile(named, zstdOf(t, parquetOf(t)), 0o644))
	opened, err := read.Open(named, read.Options{})
	must.Do(t, err)
	defer opened.Close()
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%v can be seen in the folder of temporary files", left)
	}
}

func zstdOf(t *testing.T, content []byte) []byte {
	t.Helper()
	w := must.Get(zstd.NewWriter(nil))(t)
	return w.EncodeAll(content, nil)
}

// Merging holds the files of an archive in memory: at most what the budget allows, not what a sparse file claims.
func TestMergedArchivesStayInTheBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tar")
	archive := append(sparseHeader("holes.csv", 8<<30), tarOf(t, 1, []byte("time,key\n1,2\n"))...)
	must.Do(t, os.WriteFile(path, archive, 0o644))
	_, err := read.Load(t.Context(), []string{path}, read.Options{Selection: read.Selection{Merge: true},
		Memory: memory.Fixed(1<<30, 0)})
	if !errors.As(err, new(*memory.Error)) || !strings.Contains(err.Error(), "holes.csv") ||
		!strings.Contains(err.Error(), "unpack it") {
		t.Errorf("a file of 8 GiB of nothing: %v", err)
	}
}

// sparseHeader returns the header of a file that is almost entirely a hole, in the old format of GNU tar.
func sparseHeader(name string, size int64) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", 0))
	copy(h[136:], fmt.Sprintf("%011o\x00", 0))
	copy(h[148:], "        S")
	copy(h[257:], "ustar  \x00")
	copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", size, 0))
	copy(h[483:], fmt.Sprintf("%011o\x00", size))
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// The dictionary limit applies to every block of an xz file, in the first stream and in later ones.
func TestXZDictionariesOfLaterBlocks(t *testing.T) {
	text := bytes.Repeat([]byte("1\n2\n3\n4\n"), 4000)
	inBlocks := func() []byte {
		var b bytes.Buffer
		w := must.Get(xz.WriterConfig{BlockSize: 10_000}.NewWriter(&b))(t)
		must.Get(w.Write(text))(t)
		must.Do(t, w.Close())
		return b.Bytes()
	}
	packed := inBlocks()
	twice := append(append(bytes.Clone(packed), make([]byte, 8)...), packed...) // with padding between
	if n, _, err := readBytes(twice); err != nil || n != 2*16000 {
		t.Fatalf("%d requests, %v", n, err)
	}
	for at := len(twice) - 1; at > 100; at -= 97 {
		if cut := len(packed); at >= cut && at <= cut+8 && (at-cut)%4 == 0 {
			continue // whole streams
		}
		if _, _, err := readBytes(twice[:at]); err == nil {
			t.Errorf("cut off after %d of %d bytes: no error", at, len(twice))
		}
	}
	header := []byte{0x21, 0x01} // LZMA2 and the length of its properties
	blocks := 0
	for i := range twice {
		if !bytes.HasPrefix(twice[i:], header) || i%4 != 2 {
			continue
		}
		blocks++
		damaged := bytes.Clone(twice)
		damaged[i+2] = 40 // a dictionary of 4 GiB
		if _, _, err := readBytes(damaged); err == nil || !strings.Contains(err.Error(), "it requests 4096 MiB") {
			t.Errorf("dictionary of the block at byte %d: %v", i, err)
		}
	}
	if blocks < 8 {
		t.Errorf("only %d blocks were tried", blocks)
	}
}

// A Parquet page may not inflate to more than it claims, however it is compressed.
func TestParquetPagesInflateToWhatTheyClaim(t *testing.T) {
	type row struct {
		Key  int64  `parquet:"key"`
		Size *int64 `parquet:"size,optional"`
	}
	rows := make([]row, 3000)
	for i := range rows {
		rows[i] = row{int64(i * i % 1000), new(int64(i))}
	}
	for _, codec := range []compress.Codec{&parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd,
		&parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			if codec == &parquet.Lz4Raw && version == 1 {
				continue // the Parquet package does not read the levels written there
			}
			name := fmt.Sprintf("%s, pages of version %d", codec, version)
			options := []parquet.WriterOption{parquet.DataPageVersion(version), parquet.PageBufferSize(10_000)}
			honest := tracetest.ParquetOf(t, rows, append(options, parquet.Compression(codec))...)
			if n, _, err := readBytes([]byte(honest)); err != nil || n != len(rows) {
				t.Errorf("%s: %d of %d rows, %v", name, n, len(rows), err)
			}
			for _, more := range brief.Sample(2, 1, 100, 4<<20) {
				lying := tracetest.ParquetOf(t, rows, append(options, parquet.Compression(inflating{codec, more}))...)
				_, _, err := readBytes([]byte(lying))
				if err == nil || more > 1<<20 && !strings.Contains(err.Error(), "inflates to more") {
					t.Errorf("%s, %d bytes more than it claims: %v", name, more, err)
				}
			}
		}
	}
}

// inflating compresses more than its input.
type inflating struct {
	compress.Codec
	more int
}

func (c inflating) Encode(dst, src []byte) ([]byte, error) {
	return c.Codec.Encode(dst, append(bytes.Clone(src), make([]byte, c.more)...))
}

// A damaged LZ4 block is an error, and does not make the buffer double for ever.
func TestDamagedLZ4Page(t *testing.T) {
	type row struct {
		Key int64 `parquet:"key"`
	}
	file := []byte(tracetest.ParquetOf(t, make([]row, 1000), parquet.Compression(damaging{&parquet.Lz4Raw})))
	if _, _, err := readBytes(file); err == nil || !strings.Contains(err.Error(), "LZ4 data is damaged") {
		t.Errorf("error %v", err)
	}
}

// damaging compresses to unreadable data.
type damaging struct{ compress.Codec }

func (c damaging) Encode(dst, src []byte) ([]byte, error) {
	packed, err := c.Codec.Encode(dst, src)
	for i := range packed {
		packed[i] = 0xff
	}
	return packed, err
}

func TestParquetPagesStayInTheBudget(t *testing.T) {
	type row struct {
		Key int64 `parquet:"key"`
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	content := tracetest.ParquetOf(t, make([]row, 200_000), parquet.PageBufferSize(1<<20))
	must.Do(t, os.WriteFile(path, []byte(content), 0o644))
	_, err := read.Load(t.Context(), []string{path}, read.Options{Memory: memory.Fixed(4<<20, 0)})
	if !errors.As(err, new(*memory.Error)) || !strings.Contains(err.Error(), "Parquet page") {
		t.Errorf("error %v", err)
	}
}

// unending is a beginning followed by the same text for ever; it counts what was read.
type unending struct {
	begin, then string
	read        int
}

func (e *unending) Read(p []byte) (int, error) {
	n := copy(p, e.begin)
	e.begin = e.begin[n:]
	for n < len(p) {
		n += copy(p[n:], e.then)
	}
	e.read += n
	return n, nil
}

// A file in the wrong format is refused at its beginning, not after all of it is in memory.
func TestJSONIsJudgedAsItIsRead(t *testing.T) {
	const much = 16 << 20
	for _, format := range []string{"qqp", "sgd", "clinc", "tiage", "agent", "oasst"} {
		for _, file := range []*unending{
			{then: "\x00"},
			{begin: `[{"origin": "a", "similar": "b"}, {"origin": "`, then: "\x01"},
			{begin: `{"id": "a", "requests": [`, then: "?"},
			{begin: `[{"dialogue_id": "`, then: "a"},
			{begin: `{"a": `, then: "["},
		} {
			_, err := read.Load(t.Context(), []string{"-"}, read.Options{Selection: read.Selection{Format: format},
				Needs: traces.Needs{Kind: true}, Stdin: file, Memory: memory.Fixed(32<<20, 0)})
			if err == nil || file.read > much {
				t.Errorf("%s: %d bytes were read of %.20q for ever: %.200v", format, file.read, file.then, err)
			}
		}
	}
}
