package records

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func ptr[T any](v T) *T { return &v }

// sample is the result for one trace with sizes: a policy, the feasible optimum and the lower bound.
func sample() []Record {
	base := Record{
		Trace: "cdn", Cache: "exact", Capacity: 64 << 20, CapacityUnit: Bytes, CapacityShare: ptr(0.05), Seed: 1,
		SampleRate: 1, Version: "test",
		Values: metric.ValuesOf(map[string]float64{"requests": 1000, "bytes": 4_096_000, "evictions": 0, "oversized": 0}),
	}
	lru := base
	lru.Policy, lru.Label, lru.Kind = "lru", "lru", "online"
	lru.SetInt(metric.Hits, 400)
	lru.SetInt(metric.Misses, 600)
	lru.Set(metric.HitRatio, 0.4)
	lru.SetInt(metric.HitBytes, 1_024_000)
	lru.Set(metric.ByteHitRatio, 0.25)
	lru.Optimum = "belady-size"
	lru.SetInt(metric.OptMisses, 500)
	lru.Set(metric.CompetitiveRatio, 1.2)
	lru.Set(metric.LowerBoundMisses, 399.5)
	lru.Set(metric.CompetitiveRatioMax, 600/399.5)
	lru.Set(metric.NsPerRequest, 4.56)
	lru.Best = true
	belady := base
	belady.Policy, belady.Label, belady.Kind = "belady-size", "belady-size", "offline"
	belady.SetInt(metric.Hits, 500)
	belady.SetInt(metric.Misses, 500)
	belady.Set(metric.HitRatio, 0.5)
	belady.SetInt(metric.HitBytes, 1_228_800)
	belady.Set(metric.ByteHitRatio, 0.3)
	belady.Optimum = "belady-size"
	belady.SetInt(metric.OptMisses, 500)
	belady.Set(metric.CompetitiveRatio, 1.0)
	belady.Set(metric.LowerBoundMisses, 399.5)
	belady.Set(metric.CompetitiveRatioMax, 500/399.5)
	belady.Set(metric.NsPerRequest, 88.8)
	bound := base
	bound.Policy, bound.Label, bound.Kind = "pfoo-l", "pfoo-l", "bound"
	bound.SetInt(metric.Hits, 600)
	bound.SetInt(metric.Misses, 400)
	bound.Set(metric.HitRatio, 0.6)
	bound.Set(metric.LowerBoundMisses, 399.5)
	return []Record{lru, belady, bound}
}

// anyRecord draws a record with random valid values; each optional value is absent half of the time.
func anyRecord() *rapid.Generator[Record] {
	return rapid.Custom(func(t *rapid.T) Record {
		var r Record
		for _, f := range slices.Concat(identity, behind, metricFields()) {
			if f.optional && rapid.Bool().Draw(t, f.name+" null") {
				continue
			}
			x := reflect.New(kinds[f.kind]).Elem()
			switch f.kind {
			case reflect.String:
				// Go's CSV reader turns "\r\n" into "\n".
				x.SetString(strings.ReplaceAll(rapid.String().Draw(t, f.name), "\r", ""))
			case reflect.Int64:
				x.SetInt(rapid.Int64Min(0).Draw(t, f.name))
			case reflect.Uint64:
				x.SetUint(rapid.Uint64().Draw(t, f.name))
			case reflect.Float64:
				x.SetFloat(rapid.Float64().Draw(t, f.name))
			case reflect.Bool:
				x.SetBool(rapid.Bool().Draw(t, f.name))
			}
			f.set(&r, x)
		}
		r.Kind = rapid.SampledFrom([]string{"online", "offline", "bound"}).Draw(t, "kind")
		r.CapacityUnit = rapid.SampledFrom([]string{Objects, Bytes}).Draw(t, "unit")
		return r
	})
}

func metricFields() (fields []field) {
	for _, m := range metric.All() {
		if m.Labels == "" {
			fields = append(fields, metricField(m.Name, m.Metric))
		}
	}
	return fields
}

// encodeParquet is EncodeJSON for Parquet.
func encodeParquet(w io.Writer, recs []Record) error { return encodeSealed(w, recs, sealedParquet) }

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := rapid.SliceOfN(anyRecord(), 1, 3).Draw(t, "records")
		for name, encode := range map[string]func(io.Writer, []Record) error{"JSON": EncodeJSON, "CSV": EncodeCSV,
			"Parquet": encodeParquet} {
			var data bytes.Buffer
			must.Do(t, encode(&data, recs))
			got := must.Get(decode(data.Bytes()))(t)
			if !reflect.DeepEqual(got, sealed(recs)) {
				t.Fatalf("%s: got %+v, want %+v", name, got, recs)
			}
		}
	})
}

func TestReadFolderAndStdin(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, Write(filepath.Join(dir, "deep", "out"), sample()))
	dir = filepath.Join(dir, "deep", "out")
	got, err := Read(dir, nil)
	if err != nil || !reflect.DeepEqual(got, sealed(sample())) {
		t.Errorf("folder: got %+v, %v", got, err)
	}
	for _, name := range []string{jsonName, csvName, parquetName} {
		f, err := os.Open(filepath.Join(dir, name))
		must.Do(t, err)
		defer f.Close()
		got, err := Read("-", f)
		if err != nil || !reflect.DeepEqual(got, sealed(sample())) {
			t.Errorf("%s on standard input: got %+v, %v", name, got, err)
		}
	}
}

func TestWriteIsDeterministic(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		must.Do(t, Write(dir, sample()))
	}
	for _, name := range []string{jsonName, csvName, parquetName} {
		first, _ := os.ReadFile(filepath.Join(a, name))
		second, _ := os.ReadFile(filepath.Join(b, name))
		if len(first) == 0 || !bytes.Equal(first, second) {
			t.Errorf("%s: two writings differ", name)
		}
	}
}

func TestWriteRefusesAndLeavesNothing(t *testing.T) {
	for want, spoil := range map[string]func(*Record){
		"hit_ratio is NaN":           func(r *Record) { r.Set(metric.HitRatio, math.NaN()) },
		"competitive_ratio is +Inf":  func(r *Record) { r.Set(metric.CompetitiveRatio, math.Inf(1)) },
		"misses is -1":               func(r *Record) { r.SetInt(metric.Misses, -1) },
		`kind is "clever"`:           func(r *Record) { r.Kind = "clever" },
		`capacity_unit is "gallons"`: func(r *Record) { r.CapacityUnit = "gallons" },
	} {
		recs := sample()
		spoil(&recs[1])
		dir := t.TempDir()
		err := Write(dir, recs)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "record 2 (belady-size at "+
			"67108864)") {
			t.Errorf("got error %v, want %q", err, want)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s: the folder holds %v", want, entries)
		}
	}
}

// The name of a trace file may be any bytes: whatever is written can be read.
func TestNameThatIsNoText(t *testing.T) {
	recs := sample()[:1]
	recs[0].Trace = "a\xff\x1b[31mb"
	for name, encode := range map[string]func(io.Writer, []Record) error{"JSON": EncodeJSON, "CSV": EncodeCSV} {
		var data bytes.Buffer
		must.Do(t, encode(&data, recs))
		got, err := decode(data.Bytes())
		if err != nil || got[0].Trace != "a\uFFFD\x1b[31mb" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func encoded(t *testing.T) (jsonText, csvText string, parquetData []byte) {
	t.Helper()
	var j, c, p bytes.Buffer
	must.Do(t, EncodeJSON(&j, sample()))
	must.Do(t, EncodeCSV(&c, sample()))
	must.Do(t, encodeParquet(&p, sample()))
	return j.String(), c.String(), p.Bytes()
}

func TestReadErrors(t *testing.T) {
	j, c, p := encoded(t)
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "empty, want records"},
		{"spaces", " \n\n", "empty, want records"},
		{"array", "[" + j + "]", "got a JSON array"},
		{"cut JSON line", j[:len(j)-20], "line 3: want one JSON object"},
		{"two objects on a line", strings.Replace(j, "}\n", "}", 1), "line 1: want one JSON object"},
		{"unknown JSON field", strings.Replace(j, `"hits"`, `"hit"`, 1), "line 1: field hits is missing"},
		{"one more JSON field", strings.Replace(j, `{`, `{"hitts":1,`, 1), `line 1: unknown field "hitts"; did you mean ` +
			`"hits"?`},
		{"JSON field of an older program", strings.Replace(j, `{`, `{"counters":"",`, 1),
			"records of older versions have other fields; run it again"},
		{"CSV field of an older program", strings.Replace(c, "misses", "counters", 1),
			"records of older versions have other fields; run it again"},
		{"JSON without a field", strings.Replace(j, `"read_as":"",`, "", 1),
			"line 1: field read_as is missing; records of older versions lack some fields; run it again"},
		{"CSV without the last fields", strings.Replace(c, ",file_records", "", 1), "line 1: field file_records is missing"},
		{"text for a number", strings.Replace(j, `"hits":400`, `"hits":"many"`, 1), `line 1: hits is "many", want a whole ` +
			`number`},
		{"fraction for a count", strings.Replace(j, `"hits":500`, `"hits":0.5`, 1), "line 2: hits is 0.5, want a whole " +
			"number"},
		{"null for a count", strings.Replace(j, `"hits":400`, `"hits":null`, 1), "line 1: hits is null, want a whole number"},
		{"changed count", strings.Replace(j, `"hits":400`, `"hits":401`, 1), "line 1: the record is damaged"},
		{"JSON field twice", strings.Replace(j, `"hits":400`, `"hits":401,"hits":400`, 1), `field "hits" appears twice`},
		{"changed CSV count", strings.Replace(c, "1000", "1001", 1), "line 2: the record is damaged or was changed"},
		{"negative count", strings.Replace(j, `"hits":400`, `"hits":-400`, 1), "line 1: hits is -400, want a number of at " +
			"least 0"},
		{"count too large", strings.Replace(j, `"hits":400`, `"hits":9223372036854775808`, 1), "line 1: hits is " +
			"9223372036854775808"},
		{"number too large", strings.Replace(j, `"hit_ratio":0.4`, `"hit_ratio":1e999`, 1), "line 1: hit_ratio is 1e999, " +
			"want a number"},
		{"binary", "\x1f\x8b\x08\x00\xff\xff", "not UTF-8 text"},
		{"CSV header only", strings.SplitAfter(c, "\n")[0], "it contains no records"},
		{"unknown CSV field", strings.Replace(c, "misses", "mises", 1), `line 1: unknown field "mises"; did you mean ` +
			`"misses"?`},
		{"CSV field twice", strings.Replace(c, "policy", "trace", 1), "line 1: field trace appears twice"},
		{"CSV without a field", "trace,policy\ncdn,lru\n", "line 1: field trace_files is missing"},
		{"CSV number", strings.Replace(c, "0.4", "0,4", 1), "line 2"},
		{"CSV NaN", strings.Replace(c, "0.4", "NaN", 1), "line 2: hit_ratio is NaN, want a finite number"},
		{"CSV text for a number", strings.Replace(c, "1000", "lots", 1), `line 2: requests is "lots", want a whole number`},
		{"CSV line cut", c[:len(c)-40], "line 4"},
		{"CSV cut in the last cell", c[:len(c)-2], "line 4: truncated"},
		{"some other CSV", "a,b\n1,2\n", `line 1: unknown field "a"`},
		{"Parquet cut", string(p[:len(p)/2]), "damaged Parquet file"},
		{"Parquet magic only", "PAR1", "damaged Parquet file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			must.Do(t, os.WriteFile(path, []byte(test.data), 0o644))
			_, err := Read(path, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("got error %v, want the path and %q", err, test.want)
			}
		})
	}
}

func TestReadMissing(t *testing.T) {
	dir := t.TempDir()
	must.NotGet(Read(filepath.Join(dir, "none"), nil))(t, "does not exist", "missing file")
	must.NotGet(Read(dir, nil))(t, "contains none of records.jsonl", "empty folder")
}

// A column without a value may be missing.
func TestOptionalFieldMayBeMissing(t *testing.T) {
	j, _, _ := encoded(t)
	j = regexp.MustCompile(`"digest":"[0-9a-f]*"`).ReplaceAllString(j, `"digest":""`)
	recs, err := decode([]byte(strings.ReplaceAll(j, `"capacity_share":0.05,`, "")))
	if err != nil || len(recs) != 3 || recs[0].CapacityShare != nil {
		t.Errorf("got %+v, %v", recs, err)
	}
}

// A codec that needs ever more memory for a damaged page is rejected before a page is read.
func TestParquetWithLZ4IsRefused(t *testing.T) {
	var data bytes.Buffer
	must.Do(t, writeParquet(&data, sealed(sample()), parquet.Compression(&parquet.Lz4Raw)))
	must.NotGet(decode(data.Bytes()))(t, "want zstd, snappy, gzip or none")
}

// Damages bytes all over a Parquet file, and truncates it there: the result is an error or records, never a panic or an
// internal message.
func TestDamagedParquetNeverPanics(t *testing.T) {
	_, _, p := encoded(t)
	for i := 0; i < len(p); i += 97 {
		for _, bit := range []int{0, 6} {
			spoilt := bytes.Clone(p)
			spoilt[i] ^= 1 << bit
			if _, err := decode(spoilt); err != nil && strings.Contains(err.Error(), "runtime error") {
				t.Errorf("byte %d, bit %d: %v", i, bit, err)
			}
		}
		if _, err := decode(p[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as whole", i, len(p))
		}
	}
}

func FuzzReadText(f *testing.F) {
	recs := sample()
	var j, c bytes.Buffer
	EncodeJSON(&j, recs)
	EncodeCSV(&c, recs)
	f.Add(j.Bytes())
	f.Add(c.Bytes())
	f.Add([]byte("[{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		recs, err := decode(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := EncodeJSON(&again, recs); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
