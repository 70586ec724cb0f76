package peers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	ourpolicies "github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all" // registers them
	"github.com/cachesim/cachesim/internal/records"
)

// shown writes rows as lines: what names them and what they measure.
func shown(r *Results) string {
	var lines []string
	for _, row := range r.Rows {
		line := fmt.Sprintf("%s %s at %d %s:", row.Trace, row.Label, row.Capacity, row.CapacityUnit)
		for name := range row.Names() {
			x, _ := row.Get(name)
			line += fmt.Sprintf(" %s=%.6g", name, x)
			if rounding := row.Rounding[name]; rounding > 0 {
				line += fmt.Sprintf("±%g", rounding)
			}
		}
		if row.Spread > 0 {
			line += fmt.Sprintf(" spread=%d", row.Spread)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

const lines = "[INFO] some line of a log\n\n" +
	"result/w92.bin.zst                              LRU cache size     1000, 113872 req, " +
	"miss ratio 0.8327, byte miss ratio 0.9000\n" +
	"result/w92.bin.zst                  S3FIFO-0.1000-2 cache size       16MiB, 113872 req, " +
	"miss ratio 0.8256, byte miss ratio -nan\n" +
	"/data/some traces/w92.bin.zst Sieve_Belady cache size     1GiB,           113872 req, " +
	"miss ratio 0.5000, throughput 20.00 MQPS\n" +
	"result/w92.bin.zst                              LRU cache size     1000, 113872 req, " +
	"miss ratio 0.8000, byte miss ratio 0.9000\n" +
	"w92.bin.zst FIFO cache size 1TiB, 113872 req, miss ratio 1.0000, byte miss ratio 1.0000\n"

func TestLinesOfLibCacheSim(t *testing.T) {
	r := must.Get(Parse("result/w92", []byte(lines), Options{}))(t)
	const want = `w92.bin.zst lru at 1000 objects: byte_hit_ratio=0.1±5e-05 hit_ratio=0.2±5e-05 requests=113872
w92.bin.zst s3fifo at 16777216 bytes: hit_ratio=0.1744±5e-05 requests=113872 spread=1048576
w92.bin.zst Sieve_Belady at 1073741824 bytes: hit_ratio=0.5±5e-05 ` +
		`ns_per_request=50 requests=113872 spread=1073741824
w92.bin.zst fifo at 1099511627776 bytes: byte_hit_ratio=0±5e-05 hit_ratio=0±5e-05 ` +
		`requests=113872 spread=1099511627776
`
	if got := shown(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if kind := r.Rows[2].Kind; kind != records.Offline {
		t.Errorf("Sieve_Belady is %s", kind)
	}
	near := must.Get(Parse("hit_rate_0.csv", []byte("Policy,Hits,Misses\nadaptive.Cacheus,1,1\n"), Options{}))(t)
	if got, want := near.Notes(), []string{"report of Caffeine's simulator, 1 row",
		"policies whose rules are not exactly ours: adaptive.Cacheus"}; !slices.Equal(got, want) {
		t.Errorf("notes are %q, want %q", got, want)
	}
	wantNotes := []string{"result lines of libCacheSim, 4 rows", "1 other line without a result",
		"1 line replaced by a later one of the same trace, policy and capacity",
		"policies that are not among ours: Sieve_Belady"}
	if got := r.Notes(); !slices.Equal(got, wantNotes) {
		t.Errorf("notes are %q", got)
	}
}

const report = `Policy,Hit Rate,Miss Rate,Hits,Misses,Requests,Evictions,Admit rate,Steps,Time
linked.Lru,33.33,66.67,1,2,3,1,,0,1
sketch.WindowTinyLfu (1%),66.67,33.33,2,1,3,1,50.00,0,1
product.Guava,0.00,100.00,0,3,3,2,,0,1
`

// The hits are exact, and the rates are not used. A capacity is in the name that Caffeine gives the file, or an option.
func TestReportOfCaffeine(t *testing.T) {
	const want = `oltp lru at 512 objects: evictions=1 hit_ratio=0.333333 hits=1 misses=2 requests=3
oltp w-tinylfu(rule=simulator) at 512 objects: evictions=1 hit_ratio=0.666667 hits=2 misses=1 requests=3
oltp product.Guava at 512 objects: evictions=2 hit_ratio=0 hits=0 misses=3 requests=3
`
	for name, o := range map[string]Options{
		"out/hit_rate_512.csv": {Trace: "oltp"},
		"hit_rate_7.csv":       {Trace: "oltp", Capacity: 512},
	} {
		r := must.Get(Parse(name, []byte(report), o))(t)
		if got := shown(r); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
		if r.Sized != (o.Capacity == 0) || !slices.Equal(r.Unused, []string{"Admit rate", "Steps", "Time"}) ||
			!slices.Equal(r.Near, []string{"sketch.WindowTinyLfu (1%)"}) ||
			!slices.Equal(r.Unknown, []string{"product.Guava"}) {
			t.Errorf("%s: notes are %q", name, r.Notes())
		}
	}
}

// Where policies weigh, the capacity in the name is in bytes.
func TestWeightedReportOfCaffeine(t *testing.T) {
	const weighted = "Policy,Hit Rate,Hits,Misses,Requests,Requests Weight,Weighted Hit Rate\n" +
		"linked.Lru,50.00,1,1,2,100,25.00\n"
	r := must.Get(Parse("hit_rate_64.csv", []byte(weighted), Options{}))(t)
	const want = " lru at 64 bytes: byte_hit_ratio=0.25±5e-05 bytes=100 hit_ratio=0.5 hits=1 misses=1 requests=2\n"
	if got := shown(r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCombinedReportOfCaffeine(t *testing.T) {
	r := must.Get(Parse("hit_rate.csv", []byte("Policy,\"1,000\",20\nlinked.Fifo,50.00,1.5\nlinked.Mru,,2\n"),
		Options{Trace: "t"}))(t)
	const want = `t fifo at 1000 objects: hit_ratio=0.5±5e-05
t fifo at 20 objects: hit_ratio=0.015±0.0005
t mru at 20 objects: hit_ratio=0.02±0.005
`
	if got := shown(r); got != want || !r.Combined {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTables(t *testing.T) {
	for text, want := range map[string]string{
		"# a comment, with commas\nalgorithm\tcapacity\trequests\tmisses\trequest_bytes\tmiss_bytes\n" +
			"ARC\t10\t4\t1\t8\t2\n": "" +
			" arc at 10 objects: byte_hit_ratio=0.75 bytes=8 hit_bytes=6 hit_ratio=0.75 hits=3 misses=1 requests=4\n",
		"trace,policy,cache_size,unit,miss_ratio\nt,ARC,10,bytes,0.25\n": "" +
			"t arc(rule=libcachesim) at 10 bytes: hit_ratio=0.75±0.005\n",
		"\ufeffpolicy,capacity,hit_rate\nnew,1_000,75%\n": " new at 1000 objects: hit_ratio=0.75±0.005\n",
		"policy,capacity,requests,hits\nLRU,1,4,3\n":      " lru at 1 objects: hit_ratio=0.75 hits=3 misses=1 requests=4\n",
		"policy,capacity,requests\nLRU,1,4\n":             " lru at 1 objects: requests=4\n",
		"policy,bytes,miss_bytes\nLRU,4,4\n":              " lru at 0 objects: byte_hit_ratio=0 bytes=4 hit_bytes=0\n",
		"Policy,0\nlinked.Lru,50\n":                       " lru at 0 objects:\n", // a capacity is at least 1
	} {
		r, err := Parse("t.csv", []byte(text), Options{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := shown(r); got != want {
			t.Errorf("%q: got\n%swant\n%s", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "f: empty; want records of this program",
		"key,size\n1,2\n":               `f: it begins with "key,size"; want records of this program`,
		"\xff\xfe":                      `f: it begins with "\xff\xfe"; want records`,
		"policy,capacity\n":             "f: it has a header and no rows",
		"policy,capacity,hits\nlru,1,2": "f: the last line has no end",
		"policy,capacity,hits\nlru,1\n": "f: record on line 2: wrong number of fields",
		"policy,algo\nlru,lru\n":        `f: columns "policy" and "algo" mean the same; remove one`,
		"policy,hits,misses,requests\nlru,1,1,1\n":           "f: line 2: 1 hits and 1 misses are not 1 requests",
		"policy,hits,requests\nlru,2,1\n":                    "f: line 2: more hits or misses than 1 requests",
		"policy,misses\nlru,-1\n":                            `f: line 2: misses is "-1", want a whole number from 0`,
		"policy,miss_ratio\nlru,NaN\n":                       `f: line 2: miss ratio "NaN": want a number from 0 to 1`,
		"policy,hit_ratio\nlru,1.5\n":                        `f: line 2: hit ratio "1.5": want a number from 0 to 1`,
		"Policy,10\nlinked.Lru,1234\n":                       `f: line 2: hit rate "1234": want a number from 0 to 100;`,
		"policy,hits\n,1\n":                                  "f: line 2: the policy is empty",
		"policy,unit\nlru,kg\n":                              `f: line 2: capacity unit "kg": want objects or bytes`,
		"policy,bytes,miss_bytes\nlru,1,2\n":                 "f: line 2: 2 missed bytes of 1 requested ones",
		"r/t LRU cache size 0, 1 req, miss ratio 0.5\n":      "f: line 1: cache size 0  is out of range",
		"\nr/t LRU cache size 1, 1 req, miss ratio 1.0.0\n":  `f: line 2: miss ratio "1.0.0": want a number from 0 to 1`,
		"r/t LRU cache size 8388608TiB, 1 req, miss ratio 1": "f: line 1: cache size 8388608 TiB is out of range",
	} {
		_, err := Parse("f", []byte(text), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("f", []byte("key,size\n"), Options{}); !errors.As(err, new(*UnknownError)) {
		t.Errorf("%v is not known as an error of the form", err)
	}
}

// Two of their policies that are one of ours would be two results of one cell.
func TestTwoNamesForOnePolicy(t *testing.T) {
	r := must.Get(Parse("f", []byte("policy,hits,misses\nS3-FIFO,1,1\ns3fifo,1,1\n"), Options{}))(t)
	if r.Rows[0].Label != "s3fifo" || r.Rows[1].Label != "s3fifo" || r.Rows[1].Policy != "s3fifo" {
		t.Errorf("labels are %q and %q", r.Rows[0].Label, r.Rows[1].Label)
	}
	if !slices.Equal(r.Near, []string{"S3-FIFO"}) || !slices.Equal(r.Unknown, []string{"s3fifo"}) {
		t.Errorf("near are %q, unknown %q", r.Near, r.Unknown)
	}
}

// Every name stands for a policy of this program, written as in records, of the same kind.
func TestNamesAreOurs(t *testing.T) {
	registry := ourpolicies.Registry
	for _, names := range []map[string]ours{policies, inBytes} {
		for theirs, o := range names {
			spec, err := registry.Parse(o.label)
			switch {
			case err != nil:
				t.Errorf("%s: %v", theirs, err)
			case spec.String() != o.label:
				t.Errorf("%s: records have %s, not %s", theirs, spec, o.label)
			case spec.Entry.Kind.String() != o.kind:
				t.Errorf("%s: %s is %s, not %s", theirs, o.label, spec.Entry.Kind, o.kind)
			case theirs != strings.ToLower(theirs):
				t.Errorf("%s is not in lower case", theirs)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(lines))
	f.Add([]byte(report))
	f.Add([]byte("Policy,\"1,000\",20\nlinked.Fifo,50.00,1.5\n"))
	f.Add([]byte("# c\nalgorithm\tcapacity\tmiss_ratio\nARC\t10\t0.25\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("fuzz", data, Options{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Errorf("the error does not say where it is: %v", err)
			}
			return
		}
		for _, row := range r.Rows {
			ratio := row.Float(metric.HitRatio)
			if math.IsNaN(ratio) || ratio < 0 || ratio > 1 || row.Capacity < 0 || row.Spread < 0 || row.Label == "" {
				t.Errorf("%q gives %+v", data, row)
			}
		}
	})
}
