package read_test

import (
	"bytes"
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// missRatio is that of LRU at a capacity in bytes, written plainly.
func missRatio(objects []uint32, size func(pos int) int64, capacity int64) float64 {
	order, at := list.New(), map[uint32]*list.Element{}
	held, used, misses := map[uint32]int64{}, int64(0), 0
	for pos, o := range objects {
		if e := at[o]; e != nil {
			order.MoveToFront(e)
			continue
		}
		misses++
		if size(pos) > capacity {
			continue
		}
		for used += size(pos); used > capacity; {
			victim := order.Remove(order.Back()).(uint32)
			used -= held[victim]
			delete(at, victim)
		}
		at[o], held[o] = order.PushFront(o), size(pos)
	}
	return float64(misses) / float64(len(objects))
}

// storeLog is a log of a store with kinds of keys of different sizes, and what each object takes.
func storeLog(seed uint64) (rows []string, sizes []int64) {
	r := rand.New(rand.NewPCG(seed, 7))
	kinds := []struct {
		key    string
		mean   float64
		spread float64
	}{{"user:%d", 475, 0.8}, {"page:%d:html", 6000, 1.2}, {"img/%06x.png", 20000, 0.5}, {"flag:%d", 3, 0.3}}
	size := map[string]int64{}
	for range 20000 {
		k := kinds[r.IntN(len(kinds))]
		key := fmt.Sprintf(k.key, int(math.Pow(3000, r.Float64())))
		if size[key] == 0 {
			size[key] = int64(math.Exp(r.NormFloat64()*k.spread-k.spread*k.spread/2)*k.mean) + 1
		}
		rows, sizes = append(rows, key), append(sizes, size[key])
	}
	return rows, sizes
}

// TestHalfOfTheSizesHidden hides the sizes of half of the objects of generated logs. The miss ratios at several
// capacities must stay close to those with all sizes. With the median of the keys of a pattern, instead of their mean,
// they are further off: sizes are skewed.
func TestHalfOfTheSizesHidden(t *testing.T) {
	byMean, byMedian, points := 0.0, 0.0, 0.0
	for seed := range uint64(4) {
		rows, stated := storeLog(seed)
		hidden := map[string]bool{}
		r := rand.New(rand.NewPCG(seed, 8))
		known := map[string][]int64{} // by pattern, of objects
		var text strings.Builder
		text.WriteString("key,size\n")
		for i, key := range rows {
			if _, seen := hidden[key]; !seen {
				if hidden[key] = r.IntN(2) == 0; !hidden[key] {
					pattern := string(sizes.AppendPattern(nil, []byte(key)))
					known[pattern] = append(known[pattern], stated[i])
				}
			}
			if hidden[key] {
				fmt.Fprintf(&text, "%s,\n", key)
			} else {
				fmt.Fprintf(&text, "%s,%d\n", key, stated[i])
			}
		}
		for _, all := range known {
			slices.Sort(all)
		}
		loaded := tracetest.MustLoadText(t, text.String(), read.Options{Needs: traces.Needs{Sizes: true}})
		median := func(pos int) int64 {
			all := known[string(sizes.AppendPattern(nil, []byte(rows[pos])))]
			if hidden[rows[pos]] {
				return all[len(all)/2]
			}
			return stated[pos]
		}
		whole := int64(0)
		for pos, o := range loaded.Objects {
			if slices.Index(loaded.Objects[:pos], o) < 0 {
				whole += stated[pos]
			}
		}
		if got := float64(loaded.Footprint()); math.Abs(got/float64(whole)-1) > 0.05 {
			t.Errorf("seed %d: a footprint of %.0f B, in truth %d", seed, got, whole)
		}
		share := loaded.Sizing.Imputed()
		if share.Objects < 0.45 || share.Objects > 0.55 || share.Requests < 0.4 || share.Requests > 0.6 {
			t.Errorf("seed %d: imputed for %s", seed, share)
		}
		for _, part := range []int64{50, 20, 10, 5, 2} {
			capacity := whole / part
			want := missRatio(loaded.Objects, func(pos int) int64 { return stated[pos] }, capacity)
			mean := math.Abs(missRatio(loaded.Objects, loaded.Size, capacity) - want)
			if mean > 0.01 {
				t.Errorf("seed %d, %d B: off by %.4f of a miss ratio of %.4f", seed, capacity, mean, want)
			}
			byMean += mean
			byMedian += math.Abs(missRatio(loaded.Objects, median, capacity) - want)
			points++
		}
	}
	t.Logf("off by %.4f on average with the mean, %.4f with the median", byMean/points, byMedian/points)
	if byMean >= byMedian {
		t.Errorf("the mean is off by %.4f, the median by %.4f", byMean/points, byMedian/points)
	}
}

// TestSizesOfEveryReader: in each format whose rows may lack sizes, a row without one gets the size of its object or,
// where that has none, of a similar one; a size of 0 that is stated stays 0.
func TestSizesOfEveryReader(t *testing.T) {
	for name, c := range map[string]struct {
		format, text string
		want         []int64
	}{
		"csv": {"", "key,size\na:1,10\na:2,\na:1,-\nb,0\n", []int64{10, 10, 10, 0}},
		"jsonl": {"", "{\"key\":\"a:1\",\"size\":10}\n{\"key\":\"a:2\"}\n{\"key\":\"a:1\",\"size\":null}\n",
			[]int64{10, 10, 10}},
		"regex": {`regex:pattern='^(?P<key>\S+) (?P<size>\S+)$'`, "a:1 10\na:2 -\na:1 -\n", []int64{10, 10, 10}},
		"an access log": {"", `1.1.1.1 - - [10/Oct/2020:13:55:36 +0000] "GET /a1.png HTTP/1.1" 304 - "-" "-"` + "\n" +
			`1.1.1.1 - - [10/Oct/2020:13:55:37 +0000] "GET /a1.png HTTP/1.1" 200 10 "-" "-"` + "\n" +
			`1.1.1.1 - - [10/Oct/2020:13:55:38 +0000] "GET /a2.png HTTP/1.1" 304 - "-" "-"` + "\n" +
			`1.1.1.1 - - [10/Oct/2020:13:55:39 +0000] "GET /empty HTTP/1.1" 200 0 "-" "-"` + "\n", []int64{10, 10, 10, 0}},
		"redis": {"redis:size=value", "1.0 [0 x] \"GET\" \"a:1\"\n1.1 [0 x] \"SET\" \"a:2\" \"0123456789\"\n" +
			"1.2 [0 x] \"GET\" \"a:2\"\n1.3 [0 x] \"SET\" \"e\" \"\"\n", []int64{10, 10, 10, 0}},
		"memcached": {"memcached:size=value", "ts=1.0 gid=1 type=item_get key=a:1 status=not_found clsid=0 size=0\n" +
			"ts=1.1 gid=1 type=item_get key=a:2 status=found clsid=0 size=10\n", []int64{10, 10}},
		"mcrouter": {"mcrouter:size=value", "I0102 00:00:01.500000  4711 LoggingRoute.h:63] request key: a:1 response: " +
			"mc_res_notfound responseLength: 0 user ip: N/A\nI0102 00:00:01.500000  4711 LoggingRoute.h:63] request key: a:2 " +
			"response: mc_res_found responseLength: 10 user ip: N/A\n", []int64{10, 10}},
		"twitter":  {"twitter:size=value", "0,a:1,3,0,1,get,0\n1,a:2,3,10,1,get,0\n", []int64{10, 10}},
		"cachelib": {"cachelib:size=value", "key,op,size,op_count\na:1,GET,0,1\na:2,GET,10,1\n", []int64{10, 10}},
	} {
		loaded := tracetest.MustLoadText(t, c.text, read.Options{Selection: read.Selection{Format: c.format},
			Needs: traces.Needs{Sizes: true}})
		var got []int64
		for pos := range loaded.Objects {
			got = append(got, loaded.Size(pos))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: sizes %v, want %v", name, got, c.want)
		}
	}
}

// TestGivenSizes: what the user says counts for objects without a size of their own, before that of similar ones. Keys
// count where the format has them count, and the overhead for all but sizes that are of everything.
func TestGivenSizes(t *testing.T) {
	usage := filepath.Join(t.TempDir(), "usage.txt")
	must.Do(t, os.WriteFile(usage, []byte("u:3 500\nu:9 1000\n"), 0o600))
	small := filepath.Join(t.TempDir(), "small.txt")
	must.Do(t, os.WriteFile(small, []byte("u:2 48\nu:3 72\ng 56\n"), 0o600))
	const log = "1.0 [0 x] \"SET\" \"u:1\" \"0123456789\"\n1.1 [0 x] \"GET\" \"u:2\"\n1.2 [0 x] \"GET\" \"u:3\"\n" +
		"1.3 [0 x] \"GET\" \"g\"\n"
	const keys, server = 3, 76
	for _, c := range []struct {
		rules    []string
		overhead string
		want     []int64
	}{
		{nil, "", []int64{10 + keys + server, 10 + keys + server, 10 + keys + server, 10 + keys + server}},
		{[]string{"475B"}, "", []int64{89, 475 + keys + server, 475 + keys + server, 475 + 1 + server}},
		{[]string{"u:3=1KiB", "u:*=20"}, "0", []int64{13, 23, 1027, 13}},
		// Here g has the mean of the strings in the log.
		{[]string{"@" + usage, "u:*=7"}, "56B", []int64{69, 7 + keys + 56, 500, 69}},
		// Whole objects may take less than the overhead.
		{[]string{"@" + small}, "", []int64{89, 48, 72, 56}},
	} {
		loaded := tracetest.MustLoadText(t, log, read.Options{Selection: read.Selection{ObjectSizes: c.rules,
			ObjectOverhead: c.overhead}, Needs: traces.Needs{Sizes: true}})
		var got []int64
		for pos := range loaded.Objects {
			got = append(got, loaded.Size(pos))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, overhead %q: sizes %v, want %v", c.rules, c.overhead, got, c.want)
		}
	}
	// What the user says in vain is named.
	loaded := tracetest.MustLoadText(t, log, read.Options{Selection: read.Selection{
		ObjectSizes: []string{"user:*=5", "u:*=7", "u:2=9"}}, Needs: traces.Needs{Sizes: true}})
	var unused []string
	for _, w := range loaded.Warnings {
		if rule, ok := strings.CutPrefix(w, "--object-size "); ok {
			unused = append(unused, rule)
		}
	}
	const matches = " is not used: no object that lacks a size matches it"
	if want := []string{"user:*=5" + matches, "u:2=9" + matches}; !slices.Equal(unused, want) {
		t.Errorf("warnings %q, want %q", unused, want)
	}
	// Without any size in the files, those of the user are all there is.
	loaded = tracetest.MustLoadText(t, "a\nb\na\n", read.Options{Selection: read.Selection{
		ObjectSizes: []string{"a=5"}}, Needs: traces.Needs{Sizes: true}})
	if loaded.HasSizes() {
		t.Error("b has a size, of which nothing is known")
	}
	loaded = tracetest.MustLoadText(t, "a\nb\na\n", read.Options{Selection: read.Selection{
		ObjectSizes: []string{"a=5", "7"}, ObjectOverhead: "1"}, Needs: traces.Needs{Sizes: true}})
	if loaded.Footprint() != 5+7+2 || loaded.Sizing.Given().Requests != 1 {
		t.Errorf("a footprint of %d, %+v", loaded.Footprint(), loaded.Sizing)
	}
	for _, c := range []struct {
		text, want string
		of         read.Selection
	}{
		{"a\nb\n", "add", read.Selection{ObjectOverhead: "5"}},
		{"a,5\n", "did you mean 5kB or 5KiB?", read.Selection{ObjectSizes: []string{"5kb"}}},
		{"a,5\n", "no such file", read.Selection{ObjectSizes: []string{"@none"}}},
	} {
		_, err := read.Load(t.Context(), []string{"-"}, read.Options{Selection: c.of,
			Needs: traces.Needs{Sizes: true}, Stdin: bytes.NewReader([]byte(c.text))})
		must.Fail(t, err, c.want, c.of)
	}
}

// Rows of tables may end where their size would be.
func TestRowsThatEndBeforeTheirSize(t *testing.T) {
	const rows = "1,a,set,1\n2,a,set,1000\n3,b,set,1000\n4,a,get\n5,b,get\n"
	for _, c := range []struct{ text, format string }{
		{"time,key,op,size\n" + rows, ""},
		{rows, "csv:time=1,key=2,op=3,size=4"},
		{"time,key,op,size,ttl\n1,a,set,1,\n2,a,set,1000,9\n3,b,set,1000,9\n4,a,get\n5,\"b\",get,\n", ""},
	} {
		loaded := tracetest.MustLoadText(t, c.text, read.Options{Selection: read.Selection{Format: c.format},
			Needs: traces.Needs{Sizes: true, Ops: true}})
		var got []int64
		for pos := range loaded.Objects {
			got = append(got, loaded.Size(pos))
		}
		if want := []int64{1, 1000, 1000, 1000, 1000}; !slices.Equal(got, want) {
			t.Errorf("%q: sizes %v, want %v", c.text, got, want)
		}
	}
}
