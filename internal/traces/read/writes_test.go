package read_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// listed is a reader of records in memory.
type listed struct{ left []stream.Record }

func (l *listed) Read(rec *stream.Record) error {
	if len(l.left) == 0 {
		return io.EOF
	}
	*rec, l.left = l.left[0], l.left[1:]
	return nil
}

func loadRecords(t testing.TB, rows []stream.Record, opts read.Options) *traces.Trace {
	t.Helper()
	fields := stream.Fields{Time: true, Op: true, TTL: true}
	return must.Get(read.LoadReader(t.Context(), "rows", &listed{rows}, fields, 0, opts))(t)
}

// what describes the requests of a trace, by their keys, and between them what is removed.
func what(t *traces.Trace) string {
	var words []string
	removals := t.Removals
	for pos, o := range t.Objects {
		for len(removals) > 0 && int(removals[0].Before) == pos {
			words = append(words, "-"+t.Keys[removals[0].Object].String())
			removals = removals[1:]
		}
		word := t.Keys[o].String()
		if t.IsWrite(pos) {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// The example of docs/writes.md.
const operations = `time,key,op
1,a,get
2,b,get
3,a,set
4,b,get
5,c,set
6,b,delete
7,a,get
8,b,get
9,c,get
`

func TestWhatWritesDo(t *testing.T) {
	for mode, want := range map[string][2]string{
		"count":      {"a b a! b c! -b a b c", "writes count (2 of 8 requests), 1 deletion"},
		"fill":       {"a b a! b c! -b a b c", "writes fill (2 of 8 requests), 1 deletion"},
		"invalidate": {"a b -a b -b a b c", "writes invalidate (2 of 8 requests), 1 deletion"},
		"ignore":     {"a b b -b a b c", "writes ignore (2 of 8 requests), 1 deletion"},
		"":           {"a b a! b c! -b a b c", "writes count (2 of 8 requests), 1 deletion"},
	} {
		tr := tracetest.MustLoadText(t, operations, read.Options{Selection: read.Selection{Writes: mode},
			Needs: traces.Needs{Keys: true}})
		if got := [2]string{what(tr), tr.Written.Text()}; got != want {
			t.Errorf("--writes %s: %q, want %q", mode, got, want)
		}
		if lines := tr.Lines(""); len(lines) != 1 || !strings.HasSuffix(lines[0], "; "+want[1]) {
			t.Errorf("--writes %s is said as %q", mode, lines)
		}
		if tr.Times != nil {
			t.Error("times were kept that nothing needs")
		}
	}
	rows := tracetest.MustLoadText(t, operations, read.Options{Needs: traces.Needs{Ops: true}})
	if len(rows.Objects) != 9 || len(rows.Ops) != 9 || len(rows.Removals) != 0 || rows.Written.Any() {
		t.Errorf("asked for operations, Load returns %d rows and %v", len(rows.Objects), rows.Written)
	}
}

func TestWritesRefused(t *testing.T) {
	for _, test := range []struct{ text, mode, want string }{
		{"key,op\na,set\nb,delete\n", "invalidate", "all of its 2 rows write or delete; --writes count makes requests"},
		{"key,op\na,delete\n", "count", "all of its 1 rows delete"},
		{"key\na\n", "filled", `unknown treatment of writes "filled"; did you mean "fill"?`},
	} {
		_, err := tracetest.LoadText(t, test.text, read.Options{Selection: read.Selection{Writes: test.mode}})
		must.Fail(t, err, test.want, test.text)
	}
}

// A trace whose rows only read is the same trace with a column of operations as without.
func TestReadsAloneAreNoWrites(t *testing.T) {
	tr := tracetest.MustLoadText(t, "key,op\na,get\nb,get\na,get\n", read.Options{})
	if tr.Ops != nil || tr.Removals != nil || tr.Written.Any() || tr.Lines("")[0] != traces.Lines(tr.Readings, "")[0] {
		t.Errorf("reads alone are %v, %v", tr.Ops, tr.Written)
	}
}

// The times to live of docs/writes.md: a read begins a period unless one is under way, a write begins another one, or
// ends it if it has none.
func TestTimesToLive(t *testing.T) {
	rows := []stream.Record{
		{Time: 0, Text: []byte("a"), TTL: 10},
		{Time: 5, Text: []byte("a"), TTL: 10}, // valid until 10 all the same
		{Time: 10, Text: []byte("b")},
		{Time: 11, Text: []byte("a"), TTL: 4},
		{Time: 12, Text: []byte("a"), TTL: 10, Op: stream.OpWrite}, // valid until 22 instead of 15
		{Time: 16, Text: []byte("b"), TTL: 3},
		{Time: 18, Text: []byte("b"), Op: stream.OpWrite}, // for ever
		{Time: 30, Text: []byte("b")},
	}
	tr := loadRecords(t, rows, read.Options{Needs: traces.Needs{Keys: true}})
	if got, want := what(tr), "a a -a b a a! b b! -a b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := tr.Written.Text(), "writes count (2 of 8 requests), 2 expiries"; got != want {
		t.Errorf("said as %q, want %q", got, want)
	}
}

func TestTimesToLiveNeedAClock(t *testing.T) {
	fields := stream.Fields{TTL: true}
	rows := []stream.Record{{Num: 1, TTL: 1}, {Num: 1, TTL: 1}}
	tr := must.Get(read.LoadReader(t.Context(), "rows", &listed{rows}, fields, 0, read.Options{}))(t)
	if len(tr.Removals) != 0 || !slices.ContainsFunc(tr.Warnings, func(w string) bool {
		return strings.Contains(w, "times to live are not used")
	}) {
		t.Errorf("%v, %v", tr.Removals, tr.Warnings)
	}
}

// TestTimesToLiveWhereTheClockGoesBack stores an object while the clock is behind: its time to live begins at the
// latest time so far, so that it does not end at once when the clock has caught up.
func TestTimesToLiveWhereTheClockGoesBack(t *testing.T) {
	tr := loadRecords(t, []stream.Record{
		{Time: 100, Text: []byte("a")},
		{Time: 50, Text: []byte("b"), TTL: 10},
		{Time: 100, Text: []byte("b")},
		{Time: 109, Text: []byte("b")},
		{Time: 110, Text: []byte("b")},
	}, read.Options{Needs: traces.Needs{Keys: true}})
	if got, want := what(tr), "a b b b -b b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// naive follows the rules of docs/writes.md with a map, row by row.
type naive struct {
	mode    stream.Writes
	ends    map[uint64]int64
	present map[uint64]bool
	now     int64
	words   []string
}

func (n *naive) remove(key uint64) {
	if n.present[key] {
		n.words = append(n.words, fmt.Sprint("-", key))
	}
	delete(n.present, key)
	delete(n.ends, key)
}

func (n *naive) row(rec stream.Record) {
	n.now = max(n.now, rec.Time)
	type end struct {
		at  int64
		key uint64
	}
	var over []end
	for key, at := range n.ends {
		if at <= n.now {
			over = append(over, end{at, key})
		}
	}
	slices.SortFunc(over, func(a, b end) int { return int(a.key) - int(b.key) })
	for _, e := range over {
		n.remove(e.key)
	}
	switch rec.Op {
	case stream.OpDelete:
		n.remove(rec.Num)
		return
	case stream.OpWrite:
		switch n.mode {
		case stream.WritesIgnore:
			return
		case stream.WritesInvalidate:
			n.remove(rec.Num)
			return
		}
		delete(n.ends, rec.Num)
	}
	n.present[rec.Num] = true
	if _, valid := n.ends[rec.Num]; !valid && rec.TTL > 0 {
		n.ends[rec.Num] = n.now + rec.TTL
	}
	word := fmt.Sprint(rec.Num)
	if rec.Op == stream.OpWrite {
		word += "!"
	}
	n.words = append(n.words, word)
}

func drawRows(t *rapid.T) []stream.Record {
	var now int64
	count := rapid.IntRange(1, 60).Draw(t, "count")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream.Record {
		now = max(0, now+rapid.Int64Range(-2, 6).Draw(t, "step"))
		return stream.Record{
			Time: now, Num: rapid.Uint64Range(0, 5).Draw(t, "key"), Size: 1,
			TTL: rapid.SampledFrom([]int64{0, 0, 1, 5, 20}).Draw(t, "ttl"),
			Op: rapid.SampledFrom([]stream.Op{stream.OpRead, stream.OpUnknown, stream.OpWrite, stream.OpDelete}).
				Draw(t, "op"),
		}
	}), count, count).Draw(t, "rows")
}

// What is loaded is what a map finds row by row, up to the order of removals at one position. A removal after the last
// request changes nothing.
func TestLoadedAsByAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		mode := stream.Writes(rapid.IntRange(0, 3).Draw(t, "mode"))
		n := naive{mode: mode, ends: map[uint64]int64{}, present: map[uint64]bool{}}
		for _, rec := range rows {
			n.row(rec)
		}
		for len(n.words) > 0 && strings.HasPrefix(n.words[len(n.words)-1], "-") {
			n.words = n.words[:len(n.words)-1]
		}
		fields := stream.Fields{Time: true, Op: true, TTL: true}
		tr, err := read.LoadReader(t.Context(), "rows", &listed{rows}, fields, 0, read.Options{
			Selection: read.Selection{Writes: mode.String()}, Needs: traces.Needs{Keys: true}})
		if len(n.words) == 0 {
			if err == nil {
				t.Fatal("a trace without requests was loaded")
			}
			return
		}
		must.Do(t, err)
		if got, want := sorted(strings.Fields(what(tr))), sorted(n.words); !slices.Equal(got, want) {
			t.Fatalf("%s: got %v, want %v", mode, got, want)
		}
	})
}

// sorted sorts removals that follow each other.
func sorted(words []string) []string {
	for from := 0; from < len(words); from++ {
		to := from
		for to < len(words) && strings.HasPrefix(words[to], "-") {
			to++
		}
		slices.Sort(words[from:to])
		from = max(from, to-1)
	}
	return words
}

// A sample and the requests with sizes have the removals of their objects, and parts those of their requests.
func TestPartsKeepRemovals(t *testing.T) {
	text := "key,size,op\na,1,get\nb,0,get\na,1,delete\nb,0,delete\nc,1,get\na,1,get\nc,1,delete\nb,2,get\nc,1,get\n"
	tr := tracetest.MustLoadText(t, text, read.Options{Needs: traces.Needs{Keys: true, Sizes: true}})
	if got, want := what(tr), "a b -a -b c a -c b c"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	sized, zeros := tr.WithoutZeroSizes()
	if got, want := what(sized), "a -a c a -c b c"; got != want || zeros != 1 {
		t.Errorf("with sizes: %s without %d, want %s without 1", got, zeros, want)
	}
	tr.Starts = []int{0, 3}
	parts := tr.Parts()
	if got, want := what(parts[0])+" | "+what(parts[1]), "a b -a -b c | a -c b c"; got != want {
		t.Errorf("parts: %s, want %s", got, want)
	}
	if got, want := tr.NextUses(), []uint32{never, never, never, never, never, never}; !slices.Equal(got, want) {
		t.Errorf("next uses %v, want %v", got, want)
	}
}

const never = 1<<32 - 1

// Formats whose writes do different things need to be told; files without operations do not.
func TestFormatsAgreeOnWrites(t *testing.T) {
	files := []read.Opened{
		{Path: "a.csv", Ops: true, Writes: stream.WritesCount}, {Path: "b.csv", Writes: stream.WritesFill},
		{Path: "c.log", Ops: true, Writes: stream.WritesInvalidate},
	}
	_, err := read.Agree("", files...)
	must.Fail(t, err, "a.csv and c.log: writes count in the one and invalidate in the other")
	for mode, opened := range map[string][]read.Opened{"fill": files, "": files[1:], "invalidate": files[2:]} {
		if got, err := read.Agree(mode, opened...); err != nil || mode != "" && got.String() != mode ||
			mode == "" && got != stream.WritesInvalidate {
			t.Errorf("with --writes %q, writes %s, %v", mode, got, err)
		}
	}
}

// Files that are replayed one by one do not share periods of validity, and a sample is a share of what counts.
func TestWritesOfPartsAndSamples(t *testing.T) {
	paths := tracetest.WriteTexts(t, "time,key,op,ttl\n1,a,get,5\n2,b,get,\n", "time,key,op,ttl\n0,a,get,20\n8,a,get,\n"+
		"9,b,set,\n9,a,delete,\n9,a,get,\n")
	load := func(s read.Selection) *traces.Trace {
		return must.Get(read.Load(t.Context(), paths, read.Options{Selection: s,
			Needs: traces.Needs{Keys: true}}))(t)
	}
	if got, want := what(load(read.Selection{PerFile: true})), "a b a a b! -a a"; got != want {
		t.Errorf("file by file: %s, want %s", got, want)
	}
	// As one trace, a is valid from 1 to 6, and then from its next request on.
	if got, want := what(load(read.Selection{})), "a b a -a a b! -a a"; got != want {
		t.Errorf("as one: %s, want %s", got, want)
	}
	for mode, want := range map[string]int{"count": 6, "fill": 5, "invalidate": 5} {
		if got := load(read.Selection{Writes: mode, SampleRate: 0.999999}).SampledFrom; got != want {
			t.Errorf("writes %s: sampled from %d requests, want %d", mode, got, want)
		}
	}
}

// A tenant deletes its own objects only. Files that are mixed have no common clock for times to live.
func TestWritesOfTenants(t *testing.T) {
	text := "key,tenant,op\na,x,get\na,y,get\na,x,delete\na,y,get\na,x,get\n"
	tr := tracetest.MustLoadText(t, text, read.Options{Selection: read.Selection{Tenants: "column",
		Format: "csv"}, Needs: traces.Needs{Keys: true}})
	if len(tr.Removals) != 1 || tr.Tenants.Names[tr.Tenants.Of[tr.Removals[0].Object]] != "x" {
		t.Errorf("removals %v of tenants %v", tr.Removals, tr.Tenants)
	}
	paths := tracetest.WriteTexts(t, "time,key,ttl\n1,a,5\n", "time,key,ttl\n9,b,5\n")
	_, err := read.Load(t.Context(), paths, read.Options{Selection: read.Selection{Tenants: "file"}})
	must.Fail(t, err, "which mixed files do not share; add --merge")
}

// A column of times to live without any changes nothing.
func TestNoTimesToLive(t *testing.T) {
	tr := tracetest.MustLoadText(t, "time,key,op,ttl\n1,a,get,\n2,a,get,\n", read.Options{})
	if tr.Times != nil || tr.Ops != nil || tr.Written.Any() || tr.Warnings != nil {
		t.Errorf("times %v, operations %v, %v, warnings %v", tr.Times, tr.Ops, tr.Written, tr.Warnings)
	}
}

// Files without times to live, or without operations, can be read before and after those with them.
func TestFilesWithAndWithoutTimesToLive(t *testing.T) {
	plain, timed := "key\na\nb\n", "time,key,op,ttl\n3,a,set,2\n4,b,get,\n5,b,delete,\n7,b,get,\n"
	for _, test := range []struct{ texts, want string }{
		{plain + "|" + timed, "a b a! b -a -b b"},
		{timed + "|" + plain, "a! b -a -b b a b"},
	} {
		first, second, _ := strings.Cut(test.texts, "|")
		tr := must.Get(read.Load(t.Context(), tracetest.WriteTexts(t, first, second), read.Options{
			Needs: traces.Needs{Keys: true}}))(t)
		if got := what(tr); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// Leaving out rows needs their memory twice, which is refused where it exceeds the budget.
func TestLeavingOutRowsFitsIntoMemory(t *testing.T) {
	text := "key,op\n" + strings.Repeat("a,get\na,delete\n", 5000)
	load := func(total int64) error {
		_, err := tracetest.LoadText(t, text, read.Options{Memory: memory.Fixed(total, 0)})
		return err
	}
	must.Do(t, load(200_000))
	must.Fail(t, load(80_000), "its requests without those that write or delete")
}

// TestTimesThatContradictTimesToLive: hits of what had expired by the log's own times are said, unless they are few.
func TestTimesThatContradictTimesToLive(t *testing.T) {
	for name, c := range map[string]struct {
		served func(i int) string
		ttl    int
		want   string
	}{
		"hits": {func(i int) string { return map[bool]string{true: "MISS", false: "HIT"}[i < 5] }, 50, "times contradict " +
			"times to live: of 95 hits that the log states, 95 were of objects whose time to live had ended"},
		"half":    {func(i int) string { return map[bool]string{true: "MISS", false: "HIT"}[i/5%2 == 0] }, 50, "of 50 hits"},
		"misses":  {func(int) string { return "MISS" }, 50, ""},
		"longer":  {func(i int) string { return map[bool]string{true: "MISS", false: "HIT"}[i < 5] }, 50000, ""},
		"one hit": {func(i int) string { return map[bool]string{true: "MISS", false: "HIT"}[i != 50] }, 50, "of 1 hit that"},
	} {
		var text strings.Builder
		text.WriteString("time,key,size,ttl,served\n")
		for i := range 100 {
			fmt.Fprintf(&text, "%d,k%d,10,%d,%s\n", i*100, i%5, c.ttl, c.served(i))
		}
		tr := tracetest.MustLoadText(t, text.String(), read.Options{Needs: traces.Needs{Times: true}})
		if got := strings.Join(tr.Warnings, "\n"); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
