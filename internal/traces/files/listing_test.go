package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// listed loads reads of 10 bytes at the beginning of files with a listing.
func listed(t *testing.T, listing string, opts read.Options, read ...string) (*traces.Trace, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list.csv")
	tracetest.WriteFile(t, path, []byte(listing))
	opts.Format, opts.Sizes = "reads:block=1,files="+path, true
	content := "path,offset,length\n"
	for _, file := range read {
		content += file + ",0,10\n"
	}
	return tracetest.LoadText(t, content, opts)
}

// TestListing: files that nobody reads come after those that are read, with their sizes.
func TestListing(t *testing.T) {
	listing := "size,Path\n100,/a\n3000,/b\n,\"/c,\"\"\n\"\n4,/d\n0,/e\n"
	trace := must.Get(listed(t, listing, read.Options{}, "/d", "/z", "/b"))(t)
	c := files.Of(trace.Kind)
	if want := []string{"/d", "/z", "/b", "/a", "/c,\"\n", "/e"}; !reflect.DeepEqual(c.Paths, want) {
		t.Errorf("files %q, want %q", c.Paths, want)
	}
	if want := []int64{4, 10, 3000, 100, 0, 0}; !reflect.DeepEqual(c.Sizes, want) {
		t.Errorf("sizes %v, want %v", c.Sizes, want)
	}
	if want := []bool{true, false, true, true, false, true}; !reflect.DeepEqual(c.Known, want) {
		t.Errorf("sizes are known: %v, want %v", c.Known, want)
	}
	if !c.Listed || c.Read != 3 || c.Unlisted != 1 || trace.ReadsCut() != 1 || trace.ObjectSizes[0] != 4 {
		t.Errorf("listed %v, %d files read, %d unlisted, %d reads cut, first block of %d bytes, want true, 3, 1, 1, 4",
			c.Listed, c.Read, c.Unlisted, trace.ReadsCut(), trace.ObjectSizes[0])
	}
	warnings := fmt.Sprint(trace.Warnings)
	if want := "not in the listing, and added to it: 1 of the 3 files"; !strings.Contains(warnings, want) {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
	if want := "data set of 5 files (list.csv, 4 of them with sizes)"; !strings.Contains(trace.ReadAs(), want) {
		t.Errorf("read as %q, want %q", trace.ReadAs(), want)
	}
	addresses := must.Get(c.Addresses())(t)
	for rank, blocks := range []uint64{1, 3, 1, 1, 0, 1} { // /a /b /c /d /e /z
		for block := range uint64(4) {
			if got := addresses.Exists(uint64(rank)<<16 | block); got != (block < blocks) {
				t.Errorf("block %d of file %d of the listing exists: %v", block, rank, got)
			}
		}
	}
}

// TestListingOfNames: a listing may be names alone, of a real data set.
func TestListingOfNames(t *testing.T) {
	trace := must.Get(listed(t, "b,c\n a \na\n\n", read.Options{}, "a"))(t)
	if want := []string{"a", "b,c", " a "}; !reflect.DeepEqual(files.Of(trace.Kind).Paths, want) {
		t.Errorf("files %q, want %q", files.Of(trace.Kind).Paths, want)
	}
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("set CACHESIM_TRACES to the folder of the real traces")
	}
	format := "reads:files=" + filepath.Join(dir, "files", "imagenet-10percent-names.txt.zst")
	trace = tracetest.MustLoadText(t, "path,offset,length\nn04389033_9260.JPEG,0,1\n",
		read.Options{Selection: read.Selection{Format: format}})
	if c := files.Of(trace.Kind); len(c.Paths) != 128116 || c.Unlisted != 0 {
		t.Errorf("%d files, %d unlisted, want 128116, 0", len(c.Paths), c.Unlisted)
	}
}

// TestSampledListing: files that nobody reads are sampled like those that are read.
func TestSampledListing(t *testing.T) {
	var listing strings.Builder
	var wanted []string
	for i := range 2000 {
		fmt.Fprintf(&listing, "/%d\n", i)
		if i%2 == 0 {
			wanted = append(wanted, fmt.Sprintf("/%d", i))
		}
	}
	opts := read.Options{Selection: read.Selection{SampleRate: 0.1, SampleSeed: 1}}
	trace := must.Get(listed(t, listing.String(), opts, wanted...))(t)
	c := files.Of(trace.Kind)
	if unread := len(c.Paths) - c.Read; c.Read < 50 || c.Read > 150 || unread < 50 || unread > 150 || c.Unlisted != 0 {
		t.Errorf("%d files read, %d not, %d unlisted, want about 100, 100, 0", c.Read, unread, c.Unlisted)
	}
	if again := trace.Bytes(); again < 16*int64(len(c.Paths)) {
		t.Errorf("the trace needs %d bytes, too few for %d paths", again, len(c.Paths))
	}
}

// TestOneListingOfSeveralFiles: files that are read together share a listing.
func TestOneListingOfSeveralFiles(t *testing.T) {
	paths := tracetest.WriteTexts(t, "path,offset,length\n/a,0,1\n", "path,offset,length\n/b,0,1\n", "/b\n/c\n")
	trace := must.Get(read.Load(t.Context(), paths[:2], read.Options{
		Selection: read.Selection{Format: "reads:files=list"},
		Find: func(path string) (string, error) {
			if path != "list" {
				t.Errorf("searched for %q", path)
			}
			return paths[2], nil
		},
	}))(t)
	if want := []string{"/a", "/b", "/c"}; !reflect.DeepEqual(files.Of(trace.Kind).Paths, want) {
		t.Errorf("files %q, want %q", files.Of(trace.Kind).Paths, want)
	}
	if trace.InputFormat() != "reads:files=list" || len(trace.Readings) != 1 {
		t.Errorf("format %q, read in %d ways", trace.InputFormat(), len(trace.Readings))
	}
}

func TestBadListings(t *testing.T) {
	for name, c := range map[string]struct{ listing, want string }{
		"empty":        {"", "list.csv: the file is empty"},
		"header alone": {"path,size\n", "lists no files"},
		"two paths":    {"path,size,Path\n/a,1,/b\n", "two columns path in the header"},
		"twice":        {"/a\n/b\n/a\n", `line 3: the file "/a" is listed twice`},
		"size":         {"path,size\n/a,-1\n", `line 2: size "-1": want a whole number`},
		"columns":      {"path,size\n/a,1,2\n", "line 2: 3 columns"},
		"no path":      {"path,size\n,1\n", "line 2: a file without a path"},
		"blank":        {"/a\n\n/b\n", "line 2: a blank line before the end"},
		"binary":       {"/a\x00b\n", "line 1: a path with a byte 0"},
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := listed(t, c.listing, read.Options{}, "/a")
			must.Fail(t, err, c.want, trace)
		})
	}
	for format, want := range map[string]string{
		"reads:files=-":       "the listing is standard input: want the name of a file",
		"reads:files=missing": "missing: no such file",
	} {
		_, err := tracetest.OpenText(t, "path,offset,length\n/a,0,1\n", format)
		must.Fail(t, err, want, format)
	}
}

// TestLargeListing: a listing that exceeds the memory is refused.
func TestLargeListing(t *testing.T) {
	var listing strings.Builder
	for i := range 1 << 15 {
		fmt.Fprintf(&listing, "/%d\n", i)
	}
	_, err := listed(t, listing.String(), read.Options{Memory: memory.Fixed(1<<20, 1<<19)}, "/1")
	if want := "a listing of more than 16384 files"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestForeignListing: a listing that has none of the files has other paths.
func TestForeignListing(t *testing.T) {
	trace := must.Get(listed(t, "a\nb\n", read.Options{}, "/data/a"))(t)
	want := `no file that is read is in the listing: the trace reads "/data/a", the listing has "a"`
	if !strings.Contains(fmt.Sprint(trace.Warnings), want) {
		t.Errorf("warnings %q, want %q", trace.Warnings, want)
	}
}

// TestConvertSaysWhatListingsLose: a table of reads has no place for files that nobody reads.
func TestConvertSaysWhatListingsLose(t *testing.T) {
	paths := tracetest.WriteTexts(t, "path,offset,length\n/a,0,9\n", "path,size\n/a,5\n/b,6\n")
	from, err := read.Open(paths[0], read.Options{Selection: read.Selection{Format: "reads:files=" + paths[1]}})
	must.Do(t, err)
	defer from.Close()
	records, err := tracetest.Drain(from)
	must.Do(t, err)
	out := filepath.Join(t.TempDir(), "out.csv")
	w, err := write.Create(t.Context(), out, write.Options{Format: "reads", Fields: from.Fields})
	must.Do(t, err)
	defer w.Discard()
	must.Do(t, w.Write(&records[0]))
	must.Do(t, w.Close())
	if want := "lost are listed files that are not read (1; name b.csv again with the option files)"; w.Remarks() != want {
		t.Errorf("remarks %q, want %q", w.Remarks(), want)
	}
	text, err := os.ReadFile(out)
	if want := "job,path,offset,length,file_size\n,/a,0,5,5\n"; err != nil || string(text) != want {
		t.Errorf("wrote %q with error %v, want %q", text, err, want)
	}
}

// TestFilesOfFormats: files that options name are known before they are read.
func TestFilesOfFormats(t *testing.T) {
	for spec, want := range map[string]string{
		"": "", "reads": "", "reads:block=4": "", "csv:key=files": "", "unknown:files=a": "",
		"reads:block=4,files=a": "reads:block=4,files=x", "DFTracer:files=a/b.csv.zst": "dftracer:files=x",
	} {
		found := formats.FilesOf(spec)
		if (len(found) == 1) != (want != "") {
			t.Errorf("%q names the files %q", spec, found)
		}
		if want == "" {
			want = spec
		}
		if got := formats.WithFiles(spec, func(string) string { return "x" }); got != want {
			t.Errorf("%q with other files is %q, want %q", spec, got, want)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add([]byte("path,size\n/a,5\n\"/b\n\",\n"))
	f.Add([]byte("a\nb\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "list")
		tracetest.WriteFile(t, path, data)
		s, err := tracetest.OpenText(t, "path,offset,length\n/a,0,1\n", "reads:files="+path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("the error does not say where it is: %v", err)
			}
			return
		}
		if l := s.Fields.Kind.(files.Kind).Listing; l.Files() == 0 {
			t.Error("a listing without files")
		}
	})
}

// TestWrittenListing: a listing that is written is the same when it is read, whatever its paths.
func TestWrittenListing(t *testing.T) {
	paths := []string{"/a", " /b ", "/c,\"d\"", "/e\nf", "/g\rh", "/\xff\x80", "i", strings.Repeat("/j", 4096)}
	for _, ending := range []string{".csv", ".csv.zst"} {
		listing := files.NewListing("here")
		for i, path := range paths {
			must.Do(t, listing.Add([]byte(path), int64(i)-1))
		}
		path := filepath.Join(t.TempDir(), "list"+ending)
		must.Do(t, write.Listing(t.Context(), path, listing))
		trace, err := tracetest.LoadText(t, "path,offset,length\n/a,0,9\n", read.Options{
			Selection: read.Selection{Format: "reads:files=" + path}})
		must.Do(t, err)
		c := files.Of(trace.Kind)
		if want := []int64{9, 0, 1, 2, 3, 4, 5, 6}; !slices.Equal(c.Paths, paths) || !slices.Equal(c.Sizes, want) {
			t.Errorf("%s: files %.100q of %v bytes, want %.100q of %v", ending, c.Paths, c.Sizes, paths, want)
		}
		must.Do(t, listing.Add([]byte("/k\r\nl"), 0))
		err = write.Listing(t.Context(), path, listing)
		if content, readErr := os.ReadFile(path); err == nil || readErr != nil || len(content) == 0 {
			t.Errorf("a path that CSV cannot hold: error %v, and the earlier file has %d bytes", err, len(content))
		}
	}
	for path, want := range map[string]string{
		"-": "want the name of a file", "x.bz2": "cannot write .bz2", "x.parquet": "the name implies parquet",
		"x.txt.zst": "implies plain", filepath.Join(t.TempDir(), "no", "x"): "does not exist"} {
		err := write.Listing(t.Context(), path, files.NewListing("here"))
		must.Fail(t, err, want, path)
	}
}

// TestTablesLoseTheBlock: a table is read in blocks of 4 MiB, so that one of other blocks needs the option.
func TestTablesLoseTheBlock(t *testing.T) {
	const other = "blocks of 4 KiB (read the file with the option block=4)"
	for block, want := range map[int64]string{4 << 20: "", 4 << 10: other} {
		losses := files.NewTableLosses(files.Kind{Block: block})
		if got := strings.Join(losses.Losses(), "; "); got != want {
			t.Errorf("blocks of %d bytes: lost are %q, want %q", block, got, want)
		}
	}
}
