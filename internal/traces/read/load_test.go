package read_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

var everything = read.Options{Needs: traces.Needs{Sizes: true, Times: true, Ops: true, Keys: true}}

// naiveTrace is Load with maps, for records that were kept.
func naiveTrace(records []stream.Record, fields stream.Fields) *traces.Trace {
	t := &traces.Trace{SampleRate: 1}
	numbers := map[stream.Key]uint32{}
	var sizes []int64
	constant := true
	for _, rec := range records {
		key := stream.Key{Num: rec.Num, Text: string(rec.Text)}
		number, known := numbers[key]
		if !known {
			number = uint32(len(numbers))
			numbers[key] = number
			t.Keys = append(t.Keys, key)
			t.ObjectSizes = append(t.ObjectSizes, rec.Size)
		}
		constant = constant && t.ObjectSizes[number] == rec.Size
		t.Objects = append(t.Objects, number)
		sizes = append(sizes, rec.Size)
		t.Times = append(t.Times, rec.Time)
		t.Ops = append(t.Ops, rec.Op)
	}
	t.NumObjects = len(numbers)
	if !constant {
		t.RequestSizes = sizes
	}
	if !fields.Size {
		t.ObjectSizes, t.RequestSizes = nil, nil
	}
	if !fields.Time {
		t.Times = nil
	}
	if !fields.Op {
		t.Ops = nil
	}
	return t
}

func checkColumns(t rapid.TB, got, want *traces.Trace) {
	t.Helper()
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"Objects", got.Objects, want.Objects},
		{"NumObjects", got.NumObjects, want.NumObjects},
		{"ObjectSizes", got.ObjectSizes, want.ObjectSizes},
		{"RequestSizes", got.RequestSizes, want.RequestSizes},
		{"Times", got.Times, want.Times},
		{"Ops", got.Ops, want.Ops},
		{"Keys", got.Keys, want.Keys},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Fatalf("%s: got %.200v, want %.200v", c.name, fmt.Sprint(c.got), fmt.Sprint(c.want))
		}
	}
}

// drawOracleGeneral draws records and next accesses that are right, missing or wrong.
func drawOracleGeneral(t *rapid.T, maxLen int) ([]stream.Record, []int64) {
	records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream.Record {
		return stream.Record{
			Time: 1e9 * int64(rapid.Uint32().Draw(t, "time")),
			Num:  rapid.Uint64Range(0, 20).Draw(t, "key"),
			Size: int64(rapid.Uint32Range(0, 2).Draw(t, "size")),
		}
	}), 1, maxLen).Draw(t, "records")
	if rapid.Bool().Draw(t, "constant sizes") {
		for i := range records {
			records[i].Size = int64(records[i].Num)
		}
	}
	wrong := rapid.Bool().Draw(t, "wrong")
	next := make([]int64, len(records))
	last := map[uint64]int64{}
	for i := len(records) - 1; i >= 0; i-- {
		next[i] = -1
		if pos, ok := last[records[i].Num]; ok {
			next[i] = pos
		}
		last[records[i].Num] = int64(i) + 1
		if wrong && rapid.Bool().Draw(t, "wrong here") {
			next[i] = rapid.OneOf(rapid.Int64Range(-1, int64(len(records))+2), rapid.Int64Range(-2,
				1<<40)).Draw(t, "next")
		}
	}
	return records, next
}

func TestOracleGeneralNumbersNeverDependOnNextAccesses(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var paths []string
		var all []stream.Record
		for file := range rapid.IntRange(1, 3).Draw(rt, "files") {
			records, next := drawOracleGeneral(rt, 200)
			paths = append(paths, filepath.Join(dir, fmt.Sprint(file)))
			tracetest.WriteFile(t, paths[file], tracetest.OracleGeneral(records, next))
			all = append(all, records...)
		}
		opts := everything
		opts.Format = "oraclegeneral"
		if rapid.Bool().Draw(rt, "limited") {
			opts.Limit = rapid.IntRange(1, len(all)).Draw(rt, "limit")
			all = all[:opts.Limit]
		}
		got := must.Get(read.Load(t.Context(), paths, opts))(rt)
		checkColumns(rt, got, naiveTrace(all, stream.Fields{Time: true, Size: true}))
	})
}

// Next uses that Load takes from the file are those of the requests, whatever the file states, and it takes them
// from every file that is correct.
func TestStatedNextUsesAreTrue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	rapid.Check(t, func(rt *rapid.T) {
		records, next := drawOracleGeneral(rt, 200)
		tracetest.WriteFile(t, path, tracetest.OracleGeneral(records, next))
		opts := read.Options{Selection: read.Selection{Format: "oraclegeneral"}, NextUse: true}
		if rapid.Bool().Draw(rt, "limited") {
			opts.Limit = rapid.IntRange(1, len(records)).Draw(rt, "limit")
		}
		got := must.Get(read.Load(t.Context(), []string{path}, opts))(rt)
		want := oracle.NextUse(got.Objects, got.NumObjects)
		correct := true
		for pos, again := range want {
			stated := next[pos] - 1
			if stated >= int64(len(want)) || stated < 0 {
				stated = oracle.Never
			}
			correct = correct && stated == int64(again)
		}
		switch stated := got.NextUse(); {
		case stated == nil && correct:
			rt.Fatal("next uses were dropped that are correct")
		case stated != nil && !slices.Equal(stated, want):
			rt.Fatalf("got %v, want %v", stated, want)
		}
	})
}

// A trace whose next uses would belong to other positions has none.
func TestNextUsesBelongToTheWholeTrace(t *testing.T) {
	dir := t.TempDir()
	records := []stream.Record{{Num: 7, Size: 1}, {Num: 8}, {Num: 7, Size: 1}, {Num: 8}}
	path, other := filepath.Join(dir, "x"), filepath.Join(dir, "y")
	tracetest.WriteFile(t, path, tracetest.OracleGeneral(records, []int64{3, 4, -1, -1}))
	tracetest.WriteFile(t, other, tracetest.OracleGeneral([]stream.Record{{Num: 9, Size: 1}}, []int64{-1}))
	opts := read.Options{Selection: read.Selection{Format: "oraclegeneral"}, Needs: traces.Needs{Sizes: true},
		NextUse: true}
	load := func(change func(*read.Options), paths ...string) *traces.Trace {
		changed := opts
		change(&changed)
		return must.Get(read.Load(t.Context(), paths, changed))(t)
	}
	whole := load(func(*read.Options) {}, path)
	if want := []uint32{2, 3, oracle.Never, oracle.Never}; !slices.Equal(whole.NextUse(), want) {
		t.Fatalf("got %v, want %v", whole.NextUse(), want)
	}
	sized, _ := whole.WithoutZeroSizes()
	divided := *whole
	divided.Starts = []int{0, 3}
	for name, got := range map[string]*traces.Trace{
		"not asked for":      load(func(o *read.Options) { o.NextUse = false }, path),
		"two files":          load(func(*read.Options) {}, path, other),
		"the same twice":     load(func(*read.Options) {}, path, path),
		"part by part":       load(func(o *read.Options) { o.PerFile = true }, path, other),
		"tenants":            load(func(o *read.Options) { o.Tenants = "file" }, path, other),
		"sampled":            load(func(o *read.Options) { o.SampleRate = 1 - 1e-12 }, path),
		"without zero sizes": sized,
		"a part":             divided.Parts()[0],
	} {
		if got.NextUse() != nil {
			t.Errorf("%s: next uses %v", name, got.NextUse())
		}
	}
}

// TestOracleGeneralGrows goes through several growths of the columns, with and without an estimate of the length.
func TestOracleGeneralGrows(t *testing.T) {
	const count = 3 * read.FirstRoom
	records := make([]stream.Record, count)
	for i := range records {
		records[i] = stream.Record{Num: random.Scramble(random.Scramble(uint64(i)) % 10000), Size: 5,
			Time: int64(i/1000) * 1e9}
	}
	path := filepath.Join(t.TempDir(), "x.oracleGeneral.zst")
	tracetest.Write(t, path, stream.Fields{Time: true, Size: true}, records)
	want := naiveTrace(records, stream.Fields{Time: true, Size: true})
	opts := everything
	opts.NextUse = true
	got, err := read.Load(t.Context(), []string{path}, opts)
	must.Do(t, err)
	checkColumns(t, got, want)
	nextUse := oracle.NextUse(want.Objects, want.NumObjects)
	if !slices.Equal(got.NextUse(), nextUse) {
		t.Error("next uses are missing or wrong")
	}
	content, err := os.ReadFile(path)
	must.Do(t, err)
	opts.Stdin = strings.NewReader(string(content))
	got = must.Get(read.Load(t.Context(), []string{"-"}, opts))(t)
	checkColumns(t, got, want)
	if !slices.Equal(got.NextUse(), nextUse) {
		t.Error("next uses of standard input are missing or wrong")
	}
	if got.Name != "stdin" {
		t.Errorf("name %q", got.Name)
	}
}

// TestReaderEqualsBatches compares the reader of single records with Load.
func TestReaderEqualsBatches(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		records, next := drawOracleGeneral(rt, 100)
		content := tracetest.OracleGeneral(records, next)
		if len(bytes.Trim(content, "\x00")) == 0 {
			return // a file that was never written to
		}
		path := filepath.Join(dir, "x")
		tracetest.WriteFile(t, path, content)
		s, err := read.Open(path, read.Options{Selection: read.Selection{Format: "oraclegeneral"}})
		must.Do(rt, err)
		defer s.Close()
		got, err := tracetest.Drain(s)
		if err != nil || !reflect.DeepEqual(got, records) {
			rt.Fatalf("got %v and error %v, want %v", got, err, records)
		}
	})
}

func TestLoadKeepsOnlyWhatWasAskedFor(t *testing.T) {
	const csv = "time,key,size,op\n1,a,5,get\n2,b,6,set\n3,a,5,get\n"
	got, err := read.Load(t.Context(), []string{"-"}, read.Options{Stdin: strings.NewReader(csv)})
	must.Do(t, err)
	ops := []stream.Op{stream.OpUnknown, stream.OpWrite, stream.OpUnknown} // which every replay tells apart
	checkColumns(t, got, &traces.Trace{Objects: []uint32{0, 1, 0}, NumObjects: 2, Ops: ops})
	opts := everything
	opts.Stdin = strings.NewReader(csv)
	got = must.Get(read.Load(t.Context(), []string{"-"}, opts))(t)
	checkColumns(t, got, &traces.Trace{
		Objects: []uint32{0, 1, 0}, NumObjects: 2, ObjectSizes: []int64{5, 6},
		Times: []int64{1e9, 2e9, 3e9}, Ops: []stream.Op{stream.OpRead, stream.OpWrite,
			stream.OpRead}, Keys: []stream.Key{{Text: "a"}, {Text: "b"}},
	})
}

func TestSeveralFiles(t *testing.T) {
	paths := tracetest.WriteTexts(t, "time,key\n1,x\n5,y\n5,x\n", "time,key\n0,z\n5,x\n9,y\n", "time,key\n5,7\n2,8\n6,x\n")
	for _, c := range []struct {
		merge bool
		want  string
	}{
		{false, "x1 y5 x5 z0 x5 y9 75 82 x6"},
		{true, "z0 x1 y5 x5 x5 75 82 x6 y9"},
	} {
		opts := everything
		opts.Merge = c.merge
		got := must.Get(read.Load(t.Context(), paths, opts))(t)
		var requests []string
		for pos, object := range got.Objects {
			requests = append(requests, fmt.Sprintf("%v%d", got.Keys[object], got.Times[pos]/1e9))
		}
		if have := strings.Join(requests, " "); have != c.want {
			t.Errorf("merge %v: got %s, want %s", c.merge, have, c.want)
		}
		if got.Name != "a.csv+b.csv+c.csv" || len(got.Readings) != 1 || got.Readings[0].Paths != 3 {
			t.Errorf("name %q, readings %v", got.Name, got.Readings)
		}
	}
}

func TestSampling(t *testing.T) {
	const keys = 20_000
	dir := t.TempDir()
	var records []stream.Record
	for i := range uint64(2 * keys) {
		rec := stream.Record{Num: i % keys}
		if i%2 == 1 {
			rec.Text = fmt.Appendf(nil, "key%d", i%keys)
			rec.Num = 0
		}
		records = append(records, rec)
	}
	path := filepath.Join(dir, "x.txt")
	tracetest.Write(t, path, stream.Fields{}, records)
	load := func(rate float64, seed uint64) map[stream.Key]bool {
		got := must.Get(read.Load(t.Context(), []string{path},
			read.Options{Selection: read.Selection{SampleRate: rate, SampleSeed: seed},
				Needs: traces.Needs{Keys: true}}))(t)
		if len(got.Objects) != 2*got.NumObjects {
			t.Errorf("rate %v: %d requests of %d objects, want all requests of an object or none", rate,
				len(got.Objects), got.NumObjects)
		}
		want := rate * keys
		if d := math.Abs(float64(got.NumObjects) - want); d > 5*math.Sqrt(want) {
			t.Errorf("rate %v: %d objects, want about %v", rate, got.NumObjects, want)
		}
		if got.SampleRate != rate || got.SampledFrom != len(records) {
			t.Errorf("rate %v of %d requests is reported as %v of %d", rate, len(records), got.SampleRate, got.SampledFrom)
		}
		set := map[stream.Key]bool{}
		for _, key := range got.Keys {
			set[key] = true
		}
		return set
	}
	small, large, other := load(0.1, 1), load(0.5, 1), load(0.1, 2)
	for key := range small {
		if !large[key] {
			t.Fatalf("key %v is in the sample at 0.1 but not at 0.5", key)
		}
	}
	if reflect.DeepEqual(small, other) {
		t.Error("another seed gives the same sample")
	}
}

// TestSampleStaysTheSame pins the choice of keys: results of sampled traces are recorded with their seed.
func TestSampleStaysTheSame(t *testing.T) {
	var kept []stream.Key
	for i := range uint64(20) {
		for _, rec := range []stream.Record{{Num: i}, {Text: fmt.Appendf(nil, "t%d", i)}} {
			if read.Keeps(0.25, 7, &rec) {
				kept = append(kept, stream.Key{Num: rec.Num, Text: string(rec.Text)})
			}
		}
	}
	const want = "[t0 1 t6 7 8 t8 t10 12 t12 15 16 t17 18 t18 19 t19]"
	if got := fmt.Sprint(kept); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSampleOfOracleGeneralIsThatOfText(t *testing.T) {
	dir := t.TempDir()
	var records []stream.Record
	for i := range uint64(1000) {
		records = append(records, stream.Record{Num: random.Scramble(i % 300), Size: 1})
	}
	var samples [][]stream.Key
	for _, name := range []string{"x.txt", "x.oracleGeneral"} {
		path := filepath.Join(dir, name)
		tracetest.Write(t, path, stream.Fields{}, records)
		got := must.Get(read.Load(t.Context(), []string{path},
			read.Options{Selection: read.Selection{SampleRate: 0.3, Limit: 250},
				Needs: traces.Needs{Keys: true}}))(t)
		if len(got.Objects) != 250 {
			t.Errorf("%s: %d requests, want the limit to count after sampling", name, len(got.Objects))
		}
		samples = append(samples, got.Keys)
	}
	if !slices.Equal(samples[0], samples[1]) {
		t.Error("the formats give different samples")
	}
}

func TestLoadErrors(t *testing.T) {
	paths := tracetest.WriteTexts(t, "time,key\n1,x\n", "key\ny\n", "time,key,size\n1,x,5\n", "time,key\n")
	var sizes strings.Builder
	for i := range 8192 {
		fmt.Fprintf(&sizes, "%d,%d\n", i, source.MaxSize)
	}
	again := strings.Repeat(fmt.Sprintf("1,%d\n", source.MaxSize), 8192)
	huge := tracetest.WriteTexts(t, "key,size\n"+sizes.String(), "key,size\n"+again, "key,size\n1,1\n"+again)
	timed, keys, sized, empty := paths[0], paths[1], paths[2], paths[3]
	for _, c := range []struct {
		paths []string
		opts  read.Options
		want  string
	}{
		{nil, read.Options{}, "no trace files"},
		{[]string{empty}, read.Options{}, "holds no requests"},
		{[]string{timed}, read.Options{Selection: read.Selection{SampleRate: 1e-18}},
			"sampling at 1e-18 kept none of 1 requests"},
		{[]string{timed}, read.Options{Selection: read.Selection{SampleRate: -0.5}}, "sample rate -0.5"},
		{[]string{timed}, read.Options{Selection: read.Selection{SampleRate: 1.5}}, "sample rate 1.5"},
		{[]string{timed}, read.Options{Selection: read.Selection{SampleRate: math.NaN()}}, "sample rate NaN"},
		{[]string{timed}, read.Options{Selection: read.Selection{Limit: -1}}, "limit -1"},
		{[]string{timed, keys}, read.Options{Selection: read.Selection{Merge: true}},
			keys + ": has no times to merge by"},
		{[]string{timed, sized}, read.Options{Needs: traces.Needs{Sizes: true}}, "only one of them has sizes"},
		{[]string{timed, timed + "x"}, read.Options{}, "no such file"},
		{[]string{"-", "-"}, read.Options{Stdin: strings.NewReader("1\n")}, "standard input can be read only once"},
		{[]string{"-"}, read.Options{Stdin: iotest.ErrReader(errors.New("broken cable"))}, "broken cable"},
		{huge[:1], read.Options{Needs: traces.Needs{Sizes: true}}, "add up to 2^63 bytes or more"},
		{huge[1:2], read.Options{Needs: traces.Needs{Sizes: true}}, "add up to 2^63 bytes or more"},
		{huge[2:], read.Options{Needs: traces.Needs{Sizes: true}}, "add up to 2^63 bytes or more"},
	} {
		got, err := read.Load(t.Context(), c.paths, c.opts)
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%v %+v: got %v and error %v, want %s", c.paths, c.opts, got, err, c.want)
		}
	}
	if _, err := read.Load(t.Context(), []string{timed, sized}, read.Options{}); err != nil {
		t.Errorf("sizes that nobody asked for keep files apart: %v", err)
	}
}

func TestCutOffOracleGeneral(t *testing.T) {
	records := []stream.Record{{Time: 1e9, Num: 1, Size: 2}, {Time: 1e9, Num: 1, Size: 2}, {Time: 1e9, Num: 2, Size: 1}}
	whole := tracetest.OracleGeneral(records, []int64{2, -1, -1})
	path := filepath.Join(t.TempDir(), "x")
	for n := range whole {
		tracetest.WriteFile(t, path, whole[:n])
		got, err := read.Load(t.Context(), []string{path},
			read.Options{Selection: read.Selection{Format: "oraclegeneral"}})
		want := fmt.Sprintf("byte %d: the file is cut off within a record", n/24*24)
		switch {
		case n > 0 && n%24 == 0:
			if err != nil || len(got.Objects) != n/24 {
				t.Errorf("%d bytes: got %v and error %v", n, got, err)
			}
		case n == 0:
			want = "empty"
			fallthrough
		default:
			must.Fail(t, err, want, n)
		}
	}
}

// stalled is a pipe that nobody writes to any more. It interrupts the reader once that waits.
type stalled struct {
	first     io.Reader
	interrupt func()
}

func (s *stalled) Read(p []byte) (int, error) {
	if n, err := s.first.Read(p); err == nil {
		return n, nil
	}
	s.interrupt()
	select {}
}

// Nobody waits for a pipe that may never be written to again.
func TestLoadStopsWithItsContextInAPipe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdin := &stalled{strings.NewReader("1\n2\n"), cancel}
	got, err := read.Load(ctx, []string{"-"}, read.Options{Selection: read.Selection{Format: "plain"},
		Stdin: stdin})
	if err != context.Canceled || got != nil {
		t.Errorf("got %v and error %v", got, err)
	}
}

// A reader of a trace that goes on for ever stops soon after its context has ended.
func TestLoadStopsWithItsContextInALongTrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdin := &endless{interrupt: cancel}
	got, err := read.Load(ctx, []string{"-"}, read.Options{Selection: read.Selection{Format: "plain"},
		Stdin: stdin})
	if err != context.Canceled || got != nil {
		t.Errorf("got %v and error %v", got, err)
	}
	const most = 1 << 20 // a buffer
	if after := stdin.after.Load(); after > most {
		t.Errorf("%d bytes were read after the interruption, want at most %d", after, most)
	}
}

// endless repeats a line for ever. It interrupts its reader after some bytes, and counts those that are read after it.
type endless struct {
	interrupt func()
	before    int
	after     atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	const enough = 4 << 20
	n := len(p) / 2 * 2
	for i := range p[:n] {
		p[i] = "7\n"[i%2]
	}
	if e.before < enough {
		if e.before += n; e.before >= enough {
			e.interrupt()
		}
	} else {
		e.after.Add(int64(n))
	}
	return n, nil
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	paths := tracetest.WriteTexts(t, "time,key\n"+strings.Repeat("1,1\n2,2\n", 50_000), "time,key\n3,3\n")
	for _, merge := range []bool{false, true} {
		var dones []int64
		var total int64
		opts := read.Options{Selection: read.Selection{Merge: merge},
			Progress: func(done, t int64) { dones, total = append(dones, done), t }}
		must.Get(read.Load(t.Context(), paths, opts))(t)
		want := int64(400_009 + 13)
		if !slices.IsSorted(dones) || dones[len(dones)-1] != want || total != want {
			t.Errorf("merge %v: progress %v of %d, want to end at %d", merge, dones, total, want)
		}
	}
}

func TestWithoutZeroSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records, _ := drawOracleGeneral(t, 50)
		fields := stream.Fields{Time: true, Size: true, Op: true}
		var nonzero []stream.Record
		for _, rec := range records {
			if rec.Size > 0 {
				nonzero = append(nonzero, rec)
			}
		}
		trace := naiveTrace(records, fields)
		got, dropped := trace.WithoutZeroSizes()
		if dropped != len(records)-len(nonzero) {
			t.Fatalf("%d dropped, want %d", dropped, len(records)-len(nonzero))
		}
		if dropped == 0 && got != trace {
			t.Fatal("nothing to drop, but a copy")
		}
		if trace.EmptyRequests() != dropped || trace.Footprint() != got.Footprint() {
			t.Fatalf("%d requests of size 0 and a footprint of %d bytes, want %d and %d", trace.EmptyRequests(),
				trace.Footprint(), dropped, got.Footprint())
		}
		if len(nonzero) > 0 {
			checkColumns(t, got, naiveTrace(nonzero, fields))
		} else if len(got.Objects) != 0 || got.NumObjects != 0 || !got.HasSizes() {
			t.Fatalf("everything dropped: %+v", got)
		}
	})
	unsized := &traces.Trace{Objects: []uint32{0}, NumObjects: 1}
	if got, dropped := unsized.WithoutZeroSizes(); got != unsized || dropped != 0 {
		t.Error("a trace without sizes is changed")
	}
}

// FuzzOracleGeneral also compares Load with maps.
func FuzzOracleGeneral(f *testing.F) {
	f.Add(tracetest.OracleGeneral([]stream.Record{{Num: 1}, {Num: 2, Size: 5}, {Num: 1}}, []int64{3, -1, math.MaxInt64}))
	f.Fuzz(func(t *testing.T, content []byte) {
		opts := everything
		opts.Format, opts.Stdin = "oraclegeneral", bytes.NewReader(content)
		got, err := read.Load(t.Context(), []string{"-"}, opts)
		if err != nil {
			return
		}
		opts.Stdin = bytes.NewReader(content)
		s, err := read.Open("-", opts)
		must.Do(t, err)
		defer s.Close()
		records, err := tracetest.Drain(s)
		must.Do(t, err)
		checkColumns(t, got, naiveTrace(records, s.Fields))
	})
}
