package read

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
)

// smallLogs writes n access logs of two lines, every third one compressed, and returns their paths and one file with
// all lines.
func smallLogs(t testing.TB, n int) (paths []string, whole string) {
	t.Helper()
	dir := t.TempDir()
	var all strings.Builder
	for i := range n {
		text := ""
		for k := range 2 {
			text += fmt.Sprintf("10.0.0.1 - - [01/Nov/2026:23:%02d:%02d +0000] \"GET /o%d HTTP/1.1\" 200 %d \"-\" \"curl\"\n",
				i/60%60, i%60, (i*7+k)%50, 100+i)
		}
		all.WriteString(text)
		path, content := filepath.Join(dir, fmt.Sprintf("a%05d.log", i)), []byte(text)
		if i%3 == 0 {
			path, content = path+".gz", gzipped(t, text)
		}
		must.Do(t, os.WriteFile(path, content, 0o644))
		paths = append(paths, path)
	}
	whole = filepath.Join(dir, "whole.log")
	must.Do(t, os.WriteFile(whole, []byte(all.String()), 0o644))
	return paths, whole
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return packed.Bytes()
}

// TestFilesAreReadInTheirOrder has many small files read on several numbers of cores, and compares the requests with
// those of one file that has all lines.
func TestFilesAreReadInTheirOrder(t *testing.T) {
	paths, whole := smallLogs(t, 300)
	opts := Options{Needs: traces.Needs{Sizes: true, Times: true, Keys: true}}
	want := must.Get(Load(t.Context(), []string{whole}, opts))(t)
	for _, cores := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(cores)
		got, err := Load(t.Context(), paths, opts)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Objects, want.Objects) || !reflect.DeepEqual(got.Keys, want.Keys) ||
			!reflect.DeepEqual(got.Times, want.Times) || !reflect.DeepEqual(got.RequestSizes, want.RequestSizes) {
			t.Errorf("%d cores: the requests differ from those of one file", cores)
		}
	}
}

// TestFirstBrokenFileIsNamed has a file of another format and a damaged one among many, of which the first is reported.
func TestFirstBrokenFileIsNamed(t *testing.T) {
	paths, _ := smallLogs(t, 40)
	must.Do(t, os.WriteFile(paths[20], []byte("%PDF-1.7\n"), 0o644))
	must.Do(t, os.WriteFile(paths[24], []byte("\x1f\x8b\x08\x00"), 0o644))
	for _, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		_, err := Load(t.Context(), paths, Options{})
		runtime.GOMAXPROCS(before)
		if want := paths[20] + ": looks like a PDF document"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d cores: error %v, want one that begins with %q", cores, err, want)
		}
	}
}

// TestFilesOfOtherFormatsAreRecognised has files of several formats among alike ones.
func TestFilesOfOtherFormatsAreRecognised(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, content := range []string{
		"time,key,size\n1,a,5\n", "time,key,size\n2,b,5\n", "time,id,size\n3,a,5\n", "time,key,size\n4,a,5\n",
	} {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
		must.Do(t, os.WriteFile(paths[i], []byte(content), 0o644))
	}
	trace := must.Get(Load(t.Context(), paths, Options{}))(t)
	if want := []uint32{0, 1, 0, 0}; !reflect.DeepEqual(trace.Objects, want) {
		t.Errorf("objects %d, want %d", trace.Objects, want)
	}
	if len(trace.Readings) != 2 || trace.Readings[0].Files != 3 || trace.Readings[1].Key == trace.Readings[0].Key {
		t.Errorf("readings %+v, want one of three files and one with another key", trace.Readings)
	}
}

// TestSmallFilesNeedLittleMemory bounds what a small file allocates: buffers and decoders are used again.
func TestSmallFilesNeedLittleMemory(t *testing.T) {
	paths, _ := smallLogs(t, 300)
	for _, opts := range []Options{{}, {Selection: Selection{Merge: true}}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must.Get(Load(t.Context(), paths, opts))(t)
		runtime.ReadMemStats(&after)
		const most = 192 << 10 // of a file that stays open; over a megabyte when each had a buffer for the longest line
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(paths)); each > most {
			t.Errorf("merge %v: %d bytes are allocated for each file, want at most %d", opts.Merge, each, most)
		}
	}
}

// TestManyMembers reads an archive of 20,000 small files, which took a minute when each had buffers of its own and was
// shown to all formats. The bound is generous: it is for the processor of a busy machine.
func TestManyMembers(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	const members = 20_000
	for i := range members {
		text := fmt.Sprintf("10.0.0.1 - - [01/Nov/2026:23:00:00 +0000] \"GET /o%d HTTP/1.1\" 200 5 \"-\" \"curl\"\n", i%100)
		must.Do(t, w.WriteHeader(&tar.Header{Name: fmt.Sprint(i, ".log"), Size: int64(len(text)), Mode: 0o644}))
		must.Get(w.Write([]byte(text)))(t)
	}
	must.Do(t, w.Close())
	path := filepath.Join(t.TempDir(), "logs.tar")
	must.Do(t, os.WriteFile(path, archive.Bytes(), 0o644))
	began := time.Now()
	trace := must.Get(Load(t.Context(), []string{path}, Options{}))(t)
	if len(trace.Objects) != members || trace.NumObjects != 100 {
		t.Errorf("%d requests to %d objects, want %d to 100", len(trace.Objects), trace.NumObjects, members)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%d members took %v", members, took)
	}
}
