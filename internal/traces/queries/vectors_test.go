package queries_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// npyOf returns a file of version 1 with this dictionary and these numbers.
func npyOf(t *testing.T, dictionary string, numbers ...any) string {
	return "\x93NUMPY\x01\x00" + string(tracetest.BytesOf(t,
		uint16(len(dictionary)))) + dictionary + string(tracetest.BytesOf(t, numbers...))
}

const npyTwoByTwo = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"

// readVectors returns the rows of a file with this content, on disk or from a pipe.
func readVectors(t testing.TB, content string, piped bool) (rows [][]float32, err error) {
	t.Helper()
	path := "-"
	if !piped {
		path = filepath.Join(t.TempDir(), "x")
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
	}
	v, err := queries.OpenVectors(t.Context(), path, strings.NewReader(content))
	if err != nil {
		return nil, err
	}
	defer v.Close()
	for {
		row := make([]float32, v.Dim())
		if err := v.Read(row); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

func TestVectorFilesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dim := rapid.IntRange(1, 40).Draw(rt, "dim")
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []float32 {
			row := rapid.SliceOfN(rapid.Float32(), dim, dim).Draw(t, "row")
			row[0] = rapid.Float32Range(0.5, 1).Draw(t, "not zero")
			return row
		}), 1, 100).Draw(rt, "rows")
		path := filepath.Join(dir, rapid.SampledFrom([]string{"x.npy", "x.fvecs", "x.npy.zst", "x.fvecs.gz"}).Draw(rt,
			"name"))
		var records []stream.Record
		for i, row := range want {
			records = append(records, stream.Record{Num: uint64(i), Extra: &queries.Head{Vector: row}})
		}
		must.Do(rt, tracetest.TryWrite(t.Context(), path, write.Options{Fields: stream.Fields{Kind: queries.Kind{}}},
			records))
		v := must.Get(queries.OpenVectors(t.Context(), path, nil))(rt)
		defer v.Close()
		for i, row := range want {
			got := make([]float32, v.Dim())
			if err := v.Read(got); err != nil || !slices.Equal(got, row) {
				rt.Fatalf("row %d: got %v and error %v, want %v", i, got, err, row)
			}
		}
		if err := v.Read(make([]float32, dim)); err != io.EOF {
			rt.Fatalf("after the last row: error %v, want EOF", err)
		}
	})
}

func TestNpyVariants(t *testing.T) {
	want := [][]float32{{1, 2}, {3, 4}}
	floats, doubles := []float32{1, 2, 3, 4}, []float64{1, 2, 3, 4}
	halves := []uint16{0x3c00, 0x4000, 0x4200, 0x4400}
	wide := "{\"shape\": (2L, 2L), \"fortran_order\": False, \"descr\": \"<f8\"}"
	long := func(version byte) string {
		return "\x93NUMPY" + string([]byte{version, 0}) + string(tracetest.BytesOf(t,
			uint32(len(npyTwoByTwo)))) + npyTwoByTwo +
			string(tracetest.BytesOf(t, floats))
	}
	for name, content := range map[string]string{
		"version 1": npyOf(t, npyTwoByTwo, floats), "float64 in another order": npyOf(t, wide, doubles),
		"float16": npyOf(t, strings.Replace(npyTwoByTwo, "<f4", "<f2", 1),
			halves), "version 2": long(2), "version 3": long(3),
		"fvecs": string(tracetest.BytesOf(t, int32(2), floats[:2], int32(2), floats[2:])),
	} {
		for _, piped := range []bool{false, true} {
			if got, err := readVectors(t, content, piped); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, piped %v: got %v and error %v, want %v", name, piped, got, err, want)
			}
		}
	}
}

func TestVectorFileErrors(t *testing.T) {
	floats := []float32{1, 2, 3, 4}
	with := func(old, new string) string { return strings.Replace(npyTwoByTwo, old, new, 1) }
	nan := float32(math.NaN())
	for name, c := range map[string]struct{ content, want string }{
		"big endian": {npyOf(t, with("<f4", ">f4"), floats),
			`a NumPy array of type ">f4": want little-endian floating-point numbers`},
		"integers": {npyOf(t, with("<f4", "<i4"), floats), `a NumPy array of type "<i4"`},
		"objects":  {npyOf(t, with("<f4", "|O"), floats), `a NumPy array of type "|O"`},
		"records":  {npyOf(t, with("'<f4'", "[('a', '<f4')]"), floats), "a NumPy array of records"},
		"Fortran order": {npyOf(t, with("False", "True"), floats), "in Fortran order, column by column: want it row by " +
			"row; in Python: numpy.save(path, numpy.ascontiguousarray("},
		"one dimension": {npyOf(t, with("(2, 2)", "(4,)"), floats), "of the shape (4,): want two dimensions"},
		"three":         {npyOf(t, with("(2, 2)", "(2, 2, 1)"), floats), "of the shape (2, 2, 1): want two dimensions"},
		"no numbers": {npyOf(t, with("(2, 2)", "(2, 0)")), "with 0 numbers in a row: want embeddings of 1 to 65536 " +
			"numbers"},
		"wide rows": {npyOf(t, with("(2, 2)", "(2, 9999999999999999999)")), "with 9999999999999999999 numbers in a row"},
		"many rows": {npyOf(t, with("(2, 2)", "(99999999999999999999, 2)")), "of 99999999999999999999 rows: want at " +
			"most 4294967294"},
		"no shape":    {npyOf(t, with("shape", "form"), floats), "want it to have descr, fortran_order and a shape"},
		"version":     {"\x93NUMPY\x04\x00aaaaaaaaaa", "a NumPy array of version 4: want 1, 2 or 3"},
		"long header": {"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "a header of 2147483647 bytes: want at most 65536"},
		"cut header":  {npyOf(t, npyTwoByTwo)[:40], "cut off within the header of a NumPy array"},
		"not finite": {npyOf(t, npyTwoByTwo, []float32{1, 2, nan, 4}), "row 1, counted from 0: an embedding with a " +
			"number that is not finite"},
		"too large": {npyOf(t, with("<f4", "<f8"), []float64{1, 2, 1e300, 4}), "row 1, counted from 0: the number " +
			"1e+300: want numbers within the range of float32"},
		"zeros": {npyOf(t, npyTwoByTwo, []float32{0, 0, 3, 4}), "row 0, counted from 0: an embedding of zeros"},
		"other length": {string(tracetest.BytesOf(t, int32(2), floats[:2], int32(1), floats[:2])),
			"row 1, counted from 0: an " +
				"embedding of 1 numbers after others of 2"},
		"cut fvecs": {string(tracetest.BytesOf(t, int32(2), floats[:2], int32(2), floats[:1])),
			"byte 12: the file is cut off " +
				"within a record: want 12 bytes, got 8"},
		"text": {"1,2\n3,4\n",
			`begins with "1,2\n3,": want embeddings as .npy, which begins with "\x93NUMPY", or as .fvecs`},
		"short": {"\x01\x00", "holds 2 bytes: want embeddings as .npy or .fvecs"},
	} {
		for _, piped := range []bool{false, true} {
			must.NotGet(readVectors(t, c.content, piped))(t, c.want, name, piped)
		}
	}
	for name, c := range map[string]struct{ content, stored, piped string }{
		"cut": {npyOf(t, npyTwoByTwo, floats[:2]), "states 2 rows of 2 numbers, 16 bytes, but 8 bytes follow",
			"its header states 2 rows, but it has 1"},
		"cut row": {npyOf(t, npyTwoByTwo, floats[:3]), "16 bytes, but 12 bytes follow", "cut off within a record: " +
			"want 8 bytes, got 4"},
		"trailing": {npyOf(t, npyTwoByTwo, floats, byte(0)), "16 bytes, but 17 bytes follow", "bytes follow the 2 " +
			"rows of 2 numbers that its header states"},
		"more": {npyOf(t, npyTwoByTwo, floats, floats), "16 bytes, but 32 bytes follow", "bytes follow the 2 " +
			"rows of 2 numbers that its header states"},
	} {
		for piped, want := range map[bool]string{false: c.stored, true: c.piped} {
			must.NotGet(readVectors(t, c.content, piped))(t, want, name, piped)
		}
	}
}

// TestCompressedNpyErrors: whatever is wrong with a .npy.zst, one error says what, and no more is read than the rows
// that are wanted.
func TestCompressedNpyErrors(t *testing.T) {
	whole := npyOf(t, npyTwoByTwo, []float32{1, 2, 3, 4})
	small := zstdOf(t, whole)
	many := npyOf(t, strings.Replace(npyTwoByTwo, "(2, 2)", "(4294967294, 65536)", 1)) +
		strings.Repeat("\x00\x00\x80\x3f", 3*65536)
	for name, c := range map[string]struct{ content, want string }{
		"cut":             {small[:len(small)-6], "zstd data is cut off after 0 decompressed bytes"},
		"damaged":         {small[:4] + "\xff\xff\xff" + small[7:], "zstd data is damaged or of an unsupported kind"},
		"text after it":   {small + "text", "zstd data is damaged or of an unsupported kind after"},
		"cut inside":      {zstdOf(t, whole[:len(whole)-4]), "cut off within a record: want 8 bytes, got 4"},
		"a row missing":   {zstdOf(t, whole[:len(whole)-8]), "its header states 2 rows, but it has 1"},
		"bytes after it":  {zstdOf(t, whole+"0"), "bytes follow the 2 rows of 2 numbers that its header states"},
		"claims too much": {zstdOf(t, many), "its header states 4294967294 rows, but it has 3"},
		"not an array":    {zstdOf(t, "hello, world"), `begins with "hello,": want embeddings as .npy`},
		"twice":           {zstdOf(t, small), "begins with"},
	} {
		for _, piped := range []bool{false, true} {
			must.NotGet(readVectors(t, c.content, piped))(t, c.want, name, piped)
		}
	}
}

func zstdOf(t *testing.T, content string) string {
	w := must.Get(zstd.NewWriter(nil))(t)
	defer w.Close()
	return string(w.EncodeAll([]byte(content), nil))
}

// TestEndlessEmbeddings: a file with more rows than requests is refused without reading them all.
func TestEndlessEmbeddings(t *testing.T) {
	for name, c := range map[string]struct{ head, row, want string }{
		"npy": {npyOf(t, strings.Replace(npyTwoByTwo, "(2, 2)", "(4294967294, 2)", 1)),
			string(tracetest.BytesOf(t, []float32{1, 2})), "4294967294 embeddings for 2 requests"},
		"fvecs": {"", string(tracetest.BytesOf(t, int32(2), []float32{1, 2})), "more than 2 embeddings for 2 requests"},
	} {
		endless := &repeated{row: c.row}
		v := must.Get(queries.OpenVectors(t.Context(), "-", io.MultiReader(strings.NewReader(c.head), endless)))(t)
		defer v.Close()
		_, err := read.Load(t.Context(), []string{"-"}, read.Options{
			Needs: traces.Needs{Kind: true}, Beside: queries.NewBeside(v, false), Stdin: strings.NewReader("a\nb\n")})
		must.Fail(t, err, c.want, name)
		if endless.read > 16<<20 {
			t.Errorf("%s: read %d bytes for 2 requests", name, endless.read)
		}
	}
}

// repeated is an input of equal rows without an end.
type repeated struct {
	row  string
	read int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n+len(r.row) <= len(p) {
		n += copy(p[n:], r.row)
	}
	r.read += n
	return n, nil
}

// loadWithVectors loads keys with an embedding (1, i) beside the i-th of rows requests.
func loadWithVectors(t *testing.T, keys string, rows int, opts read.Options) (*traces.Trace, error) {
	t.Helper()
	return loadBeside(t, keys, rows, false, opts)
}

// loadBeside does so, with rows that belong to distinct queries if distinct is set.
func loadBeside(t *testing.T, keys string, rows int, distinct bool, opts read.Options) (*traces.Trace, error) {
	t.Helper()
	dir := t.TempDir()
	var records []stream.Record
	for i := range rows {
		records = append(records, stream.Record{Extra: &queries.Head{Vector: []float32{1, float32(i)}}})
	}
	path := filepath.Join(dir, "x.npy")
	must.Do(t, tracetest.TryWrite(t.Context(), path, write.Options{Fields: stream.Fields{Kind: queries.Kind{}}},
		records))
	v, err := queries.OpenVectors(t.Context(), path, nil)
	must.Do(t, err)
	defer v.Close()
	opts.Kind, opts.Beside, opts.Stdin = true, queries.NewBeside(v, distinct), strings.NewReader(keys)
	trace, err := read.Load(t.Context(), []string{"-"}, opts)
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	return trace, err
}

func TestVectorsBesideATrace(t *testing.T) {
	got, err := loadWithVectors(t, "a\nb\nc\n", 3, read.Options{})
	must.Do(t, err)
	want := []float32{1, 0, 1, 1, 1, 2}
	for i := range 3 {
		must.Do(t, queries.Normalize(want[2*i:][:2]))
	}
	if q := queries.Of(got.Kind); q.Dim != 2 || !slices.Equal(q.Vectors, want) {
		t.Errorf("got %v of %d numbers, want %v", q.Vectors, q.Dim, want)
	}
	limited, err := loadWithVectors(t, "a\nb\nc\n", 5, read.Options{Selection: read.Selection{Limit: 2}})
	if err != nil || !slices.Equal(queries.Of(limited.Kind).Vectors, want[:4]) {
		t.Errorf("with a limit: %+v, %v", limited, err)
	}
	keys := "a\nb\nc\nd\ne\nf\ng\nh\n"
	sampled, err := loadWithVectors(t, keys, 8, read.Options{Selection: read.Selection{SampleRate: 0.5},
		Needs: traces.Needs{Keys: true}})
	if err != nil || sampled.NumObjects == 0 || sampled.NumObjects == 8 {
		t.Fatalf("sampled %+v, %v", sampled, err)
	}
	for object, key := range sampled.Keys {
		row := []float32{1, float32(key.Text[0] - 'a')}
		must.Do(t, queries.Normalize(row))
		if got := queries.Of(sampled.Kind).Vectors[2*object:][:2]; !slices.Equal(got, row) {
			t.Errorf("sampled %v has %v, want %v", key, got, row)
		}
	}
}

// TestRowsOfDistinctQueries: a row for each distinct query gives the same trace as a row for each request.
func TestRowsOfDistinctQueries(t *testing.T) {
	got := must.Get(loadBeside(t, "a\nb\na\nb\nc\na\n", 3, true, read.Options{}))(t)
	want := must.Get(loadWithVectors(t, "a\nb\nc\n", 3, read.Options{}))(t)
	if !slices.Equal(queries.Of(got.Kind).Vectors, queries.Of(want.Kind).Vectors) || len(got.Objects) != 6 {
		t.Errorf("got %v in %d requests, want %v in 6", queries.Of(got.Kind).Vectors, len(got.Objects),
			queries.Of(want.Kind).Vectors)
	}
	limited := read.Options{Selection: read.Selection{Limit: 4}}
	must.Get(loadBeside(t, "a\nb\na\nb\nc\na\n", 3, true, limited))(t)
	must.NotGet(loadBeside(t, "a\nb\na\nc\n", 2, true, read.Options{}))(t,
		"x.npy: 2 embeddings for 3 distinct queries: want one for each query, in the order of their first requests")
	must.NotGet(loadBeside(t, "a\nb\na\n", 3, true, read.Options{}))(t, "3 embeddings for 2 distinct queries")
	must.NotGet(loadBeside(t, "a\nb\na\nb\n", 1, true, read.Options{}))(t, "1 embeddings for 2 distinct queries")
}

// TestFilteredQueries: leaving out requests of size 0 keeps what is known about the other queries.
func TestFilteredQueries(t *testing.T) {
	lines := []string{"key,size", "a,0", "b,5", "c,7", "d,0"}
	loaded := must.Get(loadWithVectors(t, strings.Join(lines, "\n"), 4,
		read.Options{Needs: traces.Needs{Keys: true, Sizes: true}}))(t)
	got, zeros := loaded.WithoutZeroSizes()
	if zeros != 2 || !slices.Equal(got.Objects, []uint32{0, 1}) {
		t.Fatalf("%d zeros, objects %v", zeros, got.Objects)
	}
	all := queries.Of(loaded.Kind)
	if q := queries.Of(got.Kind); q.Dim != 2 || !slices.Equal(q.Vectors, all.Vectors[2:6]) {
		t.Errorf("got %v of %d numbers, want %v", q.Vectors, q.Dim, all.Vectors[2:6])
	}
}

func TestVectorsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		keys string
		rows int
		opts read.Options
		want string
	}{
		"fewer": {"a\nb\nc\n", 2, read.Options{},
			"x.npy: 2 embeddings for 3 requests: want one for each request of " +
				"the trace files, in their order"},
		"more": {"a\nb\nc\n", 4, read.Options{}, "x.npy: 4 embeddings for 3 requests"},
		"more sampled": {"a\nb\nc\nd\ne\nf\n", 7, read.Options{Selection: read.Selection{SampleRate: 0.5}},
			"x.npy: 7 embeddings for 6 requests"},
		"too few": {"a\nb\nc\n", 1, read.Options{Selection: read.Selection{Limit: 2}},
			"x.npy: 1 embeddings for 2 requests"},
		"merged": {"a\n", 1, read.Options{Selection: read.Selection{Merge: true}},
			"x.npy: embeddings belong to requests in the order of their " +
				"files, which merging changes"},
		"prompts": {tracetest.ExampleOf(t, "mooncake"), 3, read.Options{},
			"its requests are blocks of prompts, which cannot have the " +
				"embeddings of x.npy"},
		"repeat": {"a\na\n", 2, read.Options{},
			"request 2: the embedding of the query \"a\" has a similarity of 0.71 " +
				"to its first request's"},
	} {
		must.NotGet(loadWithVectors(t, c.keys, c.rows, c.opts))(t, c.want, name)
	}
}

func TestText(t *testing.T) {
	got, err := readQueryRecords(t, "How  do I?\r\n7\nHow  do I?\n\n", "text")
	want := []stream.Record{
		{
			Text:  []byte("How  do I?"),
			Extra: &queries.Head{Text: []byte("How  do I?")},
		},
		{Num: 7, Extra: &queries.Head{Text: []byte("7")}},
		{Text: []byte("How  do I?"), Extra: &queries.Head{Text: []byte("How  do I?")}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and error %v, want %v", got, err, want)
	}
	for content, want := range map[string]string{
		"a\n \nb\n": "line 2: a blank line before the end of the file: want a key", "a\nb\x00\n": `line 2: control ` +
			`characters in "b\x00"`, "a\n\xff\n": "is not UTF-8",
	} {
		must.NotGet(readQueryRecords(t, content, "text"))(t, want, content)
	}
}
