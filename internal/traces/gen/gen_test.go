package gen

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func open(t testing.TB, spec string) *Generator {
	t.Helper()
	s, err := Parse(spec, "")
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	g, err := New(t.Context(), s, nil)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return g
}

func readAll(t testing.TB, spec string) []stream.Record {
	t.Helper()
	g := open(t, spec)
	var records []stream.Record
	for {
		var rec stream.Record
		err := g.Read(&rec)
		if errors.Is(err, io.EOF) {
			return records
		}
		must.Do(t, err)
		rec.Text = slices.Clone(rec.Text)
		if rec.Extra != nil {
			rec.Extra = rec.Extra.Clone()
		}
		records = append(records, rec)
	}
}

func keysOf(t testing.TB, spec string) []uint64 {
	t.Helper()
	var keys []uint64
	for _, rec := range readAll(t, spec) {
		key := rec.Num
		if rec.Text != nil {
			key = stream.HashText(rec.Text)
		}
		keys = append(keys, key)
	}
	return keys
}

// The checksums pin the bytes of each generator: a change here changes the traces of every user, and of testdata.
var goldenSpecs = map[string]string{
	"zipf(requests=20000,objects=1000)":                                                     "d0f629555d20f1c9",
	"zipf(requests=20000,objects=50000,alpha=0.7,seed=7,keys=hashed)":                       "941a551cb9a25330",
	"zipf(requests=20000,objects=1000,size=lognormal(mean=9000,sigma=1.5))":                 "70ef2731e1bc131c",
	"zipf(requests=20000,objects=1000,alpha=2.5,size=popularity(first=100,last=50000))":     "584a208d33f66822",
	"uniform(requests=20000,objects=777,size=512)":                                          "94dd31cfb79b926b",
	"scan(requests=20000,size=lognormal(),rate=33.3)":                                       "b3363d5baf575002",
	"loop(requests=20000,objects=300,rate=0)":                                               "f92ac999462b3af2",
	"zigzag(requests=20000,objects=300)":                                                    "7a6dad9af02074b4",
	"sequence(requests=20000,order=3 1 2 2 5)":                                              "76873014475b25f6",
	"zipf-drift(requests=20000,objects=1000,period=500,shift=30)":                           "2d998b71e24f5bd5",
	"zipf-scan(requests=20000,objects=1000,scan-share=0.3,scan-length=50)":                  "746d38e1632bca4d",
	"zipf-scan(requests=20000,objects=1000,scan-share=0.3,scan-length=50,scan-objects=800)": "b37ca1b653747f60",
	"dlrm(requests=20000,rows=5000,tables=3,pooling=10,batch=16,day=6000,drift=0.4)":        "03ad1eb33c08019e",
	"llm(conversations=100,prompts=300,gap-mean=20,gap-sd=6,seed=3)":                        "312fb71fa3e67ea1",
	"llm(shape=aibrix,conversations=50,prompts=200,systems=3,lengths=normal)":               "5e367e21aae6c6dc",
	"mixed(requests=20000,phases=zipf(objects=500):3000;loop(objects=400):900;scan:700)":    "65d21cde35506f2b",
	"dialogue(requests=2000,capacity=200,seed=5)":                                           "a9184e8f961c295f",
	"dialogue(requests=1000,topics=20,capacity=100,dim=64," +
		"families=2,paraphrases=1,require-anchor=true,rate=0)": "f807372d72003687",
	"rac-example(rate=2)":                             "a41f194b255706bc",
	"cluster(scale=0.002,epochs=2,arrivals=1,seed=4)": "bb3250b97562cd82",
	"cluster(jobs=16+9+18,scale=0.001,popularity=scattered,block-kib=64,read-kib=100)": "98c30a74532f4c6e",
	"readers(requests=3000,streams=forward(files=4,copies=2,gap=90,together=3);" +
		"skewed;shuffled;strided;backward)": "4a5b2b4b77d05d92",
}

func checksum(records []stream.Record) string {
	h := sha256.New()
	for _, rec := range records {
		binary.Write(h, binary.LittleEndian, []uint64{rec.Num, uint64(rec.Size), uint64(rec.Time)})
		h.Write(rec.Text)
		if r := files.HeadOf(&rec); r != nil {
			fmt.Fprintf(h, "%s %s %d %d %d", r.Job, r.Path, r.Offset, r.Length, r.FileSize)
		}
		if q := queries.HeadOf(&rec); q != nil {
			fmt.Fprintf(h, "%s %s %s", q.Session, q.Topic, q.Answer)
			binary.Write(h, binary.LittleEndian, q.Vector)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func TestGoldenChecksums(t *testing.T) {
	for spec, want := range goldenSpecs {
		for _, cores := range brief.Sample(2, runtime.NumCPU(), 1) {
			previous := runtime.GOMAXPROCS(cores)
			got := checksum(readAll(t, spec))
			runtime.GOMAXPROCS(previous)
			if got != want {
				t.Errorf("%s on %d cores: checksum %s, want %s", spec, cores, got, want)
			}
		}
	}
}

func TestEveryGeneratorHasAGoldenChecksum(t *testing.T) {
	for _, e := range All() {
		found := e.Attention != nil // TestAttentionIsTheSameEverywhere has one
		for spec := range goldenSpecs {
			found = found || strings.HasPrefix(spec, e.Name+"(")
		}
		if !found {
			t.Errorf("no golden checksum for %s", e.Name)
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	for _, e := range All() {
		if !e.takes("seed") || e.Attention != nil {
			continue
		}
		length := "requests=5000"
		switch e.Name {
		case "llm":
			length = "conversations=200,prompts=500"
		case "cluster":
			length = "scale=0.001"
		}
		a, b := keysOf(t, e.Name+"("+length+",seed=1)"), keysOf(t, e.Name+"("+length+",seed=2)")
		same := 0
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				same++
			}
		}
		random := e.Name != "scan" && e.Name != "loop" && e.Name != "zigzag" && e.Name != "sequence"
		if random && same > len(a)/2 {
			t.Errorf("%s: %d of %d requests equal under two seeds", e.Name, same, len(a))
		}
		if !random && same != len(a) {
			t.Errorf("%s has no random choice but depends on the seed", e.Name)
		}
	}
}

// chiSquareP returns the probability of a deviation at least as large as that of counts from expected.
func chiSquareP(counts, expected []float64) float64 {
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(stat.ChiSquare(counts, expected))
}

func TestZipfFrequencies(t *testing.T) {
	requests := brief.Of(200_000, 100_000)
	for _, alpha := range brief.Sample(3, 0, 0.3, 0.9, 1, 1.1, 2, 3) {
		for _, n := range brief.Sample(2, 1000, 1, 50, 2) {
			counts := make([]float64, n)
			for _, key := range keysOf(t, fmt.Sprintf("zipf(requests=%d,objects=%d,alpha=%v,seed=5)", requests, n, alpha)) {
				counts[key-1]++
			}
			counts, expected := pool(counts, zipfExpectation(n, alpha, requests))
			if len(counts) > 1 && chiSquareP(counts, expected) < 0.001 {
				t.Errorf("alpha %v, %d objects: chi-square p = %v", alpha, n, chiSquareP(counts, expected))
			}
		}
	}
}

func zipfExpectation(n int, alpha float64, requests int) []float64 {
	expected, sum := make([]float64, n), 0.0
	for i := range expected {
		expected[i] = math.Pow(float64(i+1), -alpha)
		sum += expected[i]
	}
	for i := range expected {
		expected[i] *= float64(requests) / sum
	}
	return expected
}

// pool joins neighbouring classes until each expects at least 10 requests.
func pool(counts, expected []float64) (pooledCounts, pooledExpected []float64) {
	var count, expect float64
	for i := range counts {
		count += counts[i]
		expect += expected[i]
		if expect >= 10 {
			pooledCounts, pooledExpected = append(pooledCounts, count), append(pooledExpected, expect)
			count, expect = 0, 0
		}
	}
	last := len(pooledCounts) - 1
	pooledCounts[last] += count
	pooledExpected[last] += expect
	return pooledCounts, pooledExpected
}

func TestUniformFrequencies(t *testing.T) {
	const n, requests = 500, 100_000
	counts, expected := make([]float64, n), make([]float64, n)
	for _, key := range keysOf(t, fmt.Sprintf("uniform(requests=%d,objects=%d)", requests, n)) {
		counts[key-1]++
	}
	for i := range expected {
		expected[i] = requests / n
	}
	if p := chiSquareP(counts, expected); p < 0.001 {
		t.Errorf("chi-square p = %v", p)
	}
}

func TestSuccessiveDrawsAreIndependent(t *testing.T) {
	const n = 8
	keys := keysOf(t, "uniform(requests=100001,objects=8,seed=3)")
	counts, expected := make([]float64, n*n), make([]float64, n*n)
	for i := range len(keys) - 1 {
		counts[(keys[i]-1)*n+keys[i+1]-1]++
		expected[i%(n*n)]++
	}
	for i := range expected {
		expected[i] = float64(len(keys)-1) / (n * n)
	}
	if p := chiSquareP(counts, expected); p < 0.001 {
		t.Errorf("pairs of successive requests: chi-square p = %v", p)
	}
}

func TestScanAndLoop(t *testing.T) {
	for i, key := range keysOf(t, "scan(requests=1000)") {
		if key != uint64(i+1) {
			t.Fatalf("scan: request %d is for %d", i, key)
		}
	}
	for i, key := range keysOf(t, "loop(requests=1000,objects=7)") {
		if key != uint64(i%7+1) {
			t.Fatalf("loop: request %d is for %d", i, key)
		}
	}
}

func TestZigzag(t *testing.T) {
	for spec, want := range map[string][]uint64{
		"zigzag(requests=9,objects=4)": {1, 2, 3, 4, 3, 2, 1, 2, 3},
		"zigzag(requests=5,objects=2)": {1, 2, 1, 2, 1},
		"zigzag(requests=3,objects=1)": {1, 1, 1},
	} {
		if got := keysOf(t, spec); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", spec, got, want)
		}
	}
}

func TestSequence(t *testing.T) {
	want := []uint64{1, 3, 3, 2, 1, 3, 3}
	if got := keysOf(t, "sequence(order=1 3  3 2,requests=7)"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, order := range []string{"", "0", "1 x", "100001", "-1"} {
		spec, err := Parse("sequence(order="+order+")", "")
		if err == nil {
			_, err = New(t.Context(), spec, nil)
		}
		if err == nil {
			t.Errorf("order=%s is taken", order)
		}
	}
}

// Undoing the drift by the documented rule gives the plain trace.
func TestDriftMovesRanks(t *testing.T) {
	plain := keysOf(t, "zipf(requests=5000,objects=100)")
	moved := keysOf(t, "zipf-drift(requests=5000,objects=100,period=300,shift=7)")
	for i := range plain {
		if want := (plain[i]-1+uint64(i/300*7))%100 + 1; moved[i] != want {
			t.Fatalf("request %d: object %d, want %d", i, moved[i], want)
		}
	}
}

func TestScanShareAndLength(t *testing.T) {
	for _, share := range brief.Sample(2, 0, 0.05, 0.4, 1) {
		for _, length := range brief.Sample(2, 20, 1) {
			const requests, objects = 200_000, 100
			keys := keysOf(t, fmt.Sprintf("zipf-scan(requests=%d,objects=%d,scan-share=%v,scan-length=%d)", requests, objects,
				share, length))
			scanned := 0
			for i, key := range keys {
				if key <= objects {
					continue
				}
				if key != uint64(objects+scanned+1) {
					t.Fatalf("share %v length %d: request %d is for %d, not for a new object", share, length, i, key)
				}
				if scanned%length != 0 && keys[i-1] <= objects {
					t.Fatalf("share %v length %d: the scan is interrupted before request %d", share, length, i)
				}
				scanned++
			}
			if got := float64(scanned) / requests; math.Abs(got-share) > 0.02 {
				t.Errorf("scan-share %v, length %d: %v of the requests are scans", share, length, got)
			}
		}
	}
}

func TestScanObjectsCycle(t *testing.T) {
	scanned := uint64(0)
	for i, key := range keysOf(t, "zipf-scan(requests=5000,objects=10,scan-share=0.5,scan-length=8,scan-objects=30)") {
		if key > 10 {
			if want := 11 + scanned%30; key != want {
				t.Fatalf("request %d is for %d, want %d", i, key, want)
			}
			scanned++
		}
	}
	if scanned < 1000 {
		t.Errorf("only %d requests are scans", scanned)
	}
}

func TestMixedPhases(t *testing.T) {
	keys := keysOf(t, "mixed(requests=24,phases=loop(objects=3):5;scan:2;loop(objects=4):1;loop(objects=3):2)")
	want := []uint64{
		1, 2, 3, 1, 2, 8, 9, 4, 3, 1, // the second loop of 3 continues where the first stopped
		2, 3, 1, 2, 3, 10, 11, 5, 1, 2,
		3, 1, 2, 3,
	}
	for i := range want {
		if keys[i] != want[i] {
			t.Fatalf("got %v, want %v", keys, want)
		}
	}
}

func TestHashedKeysAreTheSameTraceRenamed(t *testing.T) {
	plain, hashed := keysOf(t, "zipf-scan(requests=5000,objects=50)"), keysOf(t,
		"zipf-scan(requests=5000,objects=50,keys=hashed)")
	there, back := map[uint64]uint64{}, map[uint64]uint64{}
	for i := range plain {
		if h, ok := there[plain[i]]; ok && h != hashed[i] {
			t.Fatalf("key %d has two names", plain[i])
		}
		if p, ok := back[hashed[i]]; ok && p != plain[i] {
			t.Fatalf("name %d stands for two keys", hashed[i])
		}
		there[plain[i]], back[hashed[i]] = hashed[i], plain[i]
	}
}

func TestLognormalSizes(t *testing.T) {
	var logs []float64
	sum := 0.0
	for _, rec := range readAll(t, "scan(requests=100000,size=lognormal(mean=50000,sigma=0.8))") {
		logs = append(logs, math.Log(float64(rec.Size)))
		sum += float64(rec.Size)
	}
	if mean := sum / float64(len(logs)); math.Abs(mean/50000-1) > 0.02 {
		t.Errorf("mean size %v, want 50000", mean)
	}
	law := distuv.Normal{Mu: math.Log(50000) - 0.32, Sigma: 0.8}
	counts, expected := make([]float64, 40), make([]float64, 40)
	for _, x := range logs {
		counts[min(int(law.CDF(x)*40), 39)]++
	}
	for i := range expected {
		expected[i] = float64(len(logs)) / 40
	}
	if p := chiSquareP(counts, expected); p < 0.001 {
		t.Errorf("logarithms are not normal: chi-square p = %v", p)
	}
}

func TestSizesFollowTheirRule(t *testing.T) {
	for spec, check := range map[string]func(rec stream.Record) bool{
		"uniform(objects=50,requests=500,size=77)":      func(r stream.Record) bool { return r.Size == 77 },
		"uniform(objects=50,requests=500,size=fixed())": func(r stream.Record) bool { return r.Size == 4096 },
		"uniform(objects=50,requests=500)":              func(r stream.Record) bool { return r.Size == 0 },
		"uniform(objects=50,requests=500,size=lognormal(mean=100,sigma=9,min=5,max=9))": func(r stream.Record) bool {
			return r.Size >= 5 && r.Size <= 9
		},
		"loop(objects=1,requests=5,size=popularity(first=9,last=3))": func(r stream.Record) bool { return r.Size == 9 },
		"scan(requests=5,size=popularity(first=9,last=3))":           func(r stream.Record) bool { return r.Size == 3 },
		"loop(objects=81,requests=81,size=popularity(first=9,last=729))": func(r stream.Record) bool {
			return r.Size == int64(math.Round(9*float64(r.Num)))
		},
	} {
		for i, rec := range readAll(t, spec) {
			if !check(rec) {
				t.Errorf("%s: request %d has size %d", spec, i, rec.Size)
				break
			}
		}
	}
}

func TestObjectsKeepTheirSize(t *testing.T) {
	sizes := map[uint64]int64{}
	for _, rec := range readAll(t,
		"mixed(requests=30000,size=lognormal(),phases=zipf-drift(objects=100):300;zipf-scan(objects=50):200)") {
		if old, ok := sizes[rec.Num]; ok && old != rec.Size {
			t.Fatalf("object %d has sizes %d and %d", rec.Num, old, rec.Size)
		}
		sizes[rec.Num] = rec.Size
	}
}

func TestTimes(t *testing.T) {
	for i, rec := range readAll(t, "scan(requests=10,rate=4)") {
		if rec.Time != int64(i)*250_000_000 {
			t.Errorf("request %d at %d ns", i, rec.Time)
		}
	}
	if g := open(t, "scan(rate=0,size=1)"); g.Fields != (stream.Fields{Size: true}) {
		t.Errorf("fields %+v, want sizes only", g.Fields)
	}
}

func TestErrors(t *testing.T) {
	checkRefused(t, map[string]string{
		"zip(alpha=1)":                      `did you mean "zipf"`,
		"":                                  "unknown generator",
		"zipf(alpha=-1)":                    "from 0 to 10",
		"zipf(alpha=Inf)":                   "want a number",
		"zipf(objects=0)":                   "from 1",
		"zipf(objects=1000000000)":          "from 1 to 268435456",
		"zipf(aplha=1)":                     `did you mean "alpha"`,
		"scan(objects=4)":                   "unknown parameter",
		"zipf(requests=-1)":                 "from 1",
		"zipf(seed=-1)":                     "from 0",
		"zipf(keys=odd)":                    "want one of plain, hashed",
		"zipf(rate=0.00001)":                "292 years",
		"zipf(size=lognormel())":            `did you mean "lognormal"`,
		"zipf(size=-4)":                     "bytes=-4: want a number from 1",
		"zipf(size=fixed(4))":               "want name=value",
		"zipf(size=lognormal(mean":          "2 are not closed, the first in column 5",
		"zipf(size=lognormal(min=9,max=3))": "min=9 is above max=3",
		"zipf-scan(scan-share=1.5)":         "from 0 to 1",
		"mixed(phases=uniform(objects=200000000):1;uniform(objects=200000001):1)": "more than 268435456 objects",
		"mixed(phases=zipf)":            "want generator:requests",
		"mixed(phases=)":                "want generator:requests",
		"mixed(phases=zipf:0)":          "at least 1",
		"mixed(phases=zipf:1;)":         "want generator:requests",
		"mixed(phases=zopf:1)":          `did you mean "zipf"`,
		"mixed(phases=zipf(alpha=x):1)": "want a number",
		"mixed(phases=mixed:1)":         "cannot be nested",
	})
}

// checkRefused fails for specs that Parse and New accept, and for errors without the text of the spec.
func checkRefused(t *testing.T, specs map[string]string) {
	t.Helper()
	for spec, want := range specs {
		s, err := Parse(spec, "")
		if err == nil {
			_, err = New(t.Context(), s, nil)
		}
		must.Fail(t, err, want, spec)
	}
}

func TestSpecString(t *testing.T) {
	for spec, want := range map[string]string{
		"zipf":              "zipf",
		"zipf(alpha=1)":     "zipf",
		"zipf( alpha=0.5 )": "zipf(alpha=0.5)",
		"mixed(phases=zipf(alpha=2,objects=3):4;scan:2,seed=9)": "mixed(phases=zipf(alpha=2,objects=3):4;scan:2,seed=9)",
	} {
		s := must.Get(Parse(spec, ""))(t)
		if s.String() != want {
			t.Errorf("%s: got %s, want %s", spec, s, want)
		}
	}
	s, err := Parse("zipf(alpha=0.5)", "requests=7")
	if err != nil || s.String() != "zipf(alpha=0.5,requests=7)" {
		t.Errorf("extra parameters: got %s, %v", s, err)
	}
	if _, err := Parse("zipf(alpha=0.5)", "alpha=1"); err == nil {
		t.Error("a parameter given twice: no error")
	}
}

func BenchmarkGenerators(b *testing.B) {
	for _, spec := range []string{
		"zipf(objects=1000000)", "zipf(objects=1000000,size=lognormal(),keys=hashed)", "uniform(objects=1000000)", "scan",
		"loop",
		"zipf-drift(objects=1000000)", "zipf-scan(objects=1000000)", "mixed",
	} {
		b.Run(spec, func(b *testing.B) {
			s := must.Get(Parse(spec, fmt.Sprintf("requests=%d", 1<<40)))(b)
			g := must.Get(New(b.Context(), s, nil))(b)
			var rec stream.Record
			for b.Loop() {
				must.Do(b, g.Read(&rec))
			}
		})
	}
}
