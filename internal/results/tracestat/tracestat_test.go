package tracestat

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// generated makes the trace of a generator without a file. Keys become numbers as they appear.
func generated(t testing.TB, spec string) *traces.Trace {
	t.Helper()
	parsed := must.Get(gen.Parse(spec, ""))(t)
	g := must.Get(gen.New(t.Context(), parsed, nil))(t)
	trace := &traces.Trace{Name: spec, SampleRate: 1}
	numbers := map[uint64]uint32{}
	for {
		var rec stream.Record
		err := g.Read(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		number, ok := numbers[rec.Num]
		if !ok {
			number = uint32(len(numbers))
			numbers[rec.Num] = number
			if g.Fields.Size {
				trace.ObjectSizes = append(trace.ObjectSizes, rec.Size)
			}
		}
		trace.Objects = append(trace.Objects, number)
		if g.Fields.Time {
			trace.Times = append(trace.Times, rec.Time)
		}
	}
	trace.NumObjects = len(numbers)
	return trace
}

func summarize(t testing.TB, trace *traces.Trace) *Summary {
	t.Helper()
	return must.Get(Summarize(trace))(t)
}

func TestWorkedExample(t *testing.T) {
	const second = 1_000_000_000
	s := summarize(t, &traces.Trace{
		Name: "abcabdaab", SampleRate: 1,
		Objects:     []uint32{0, 1, 2, 0, 1, 3, 0, 0, 1},
		NumObjects:  4,
		ObjectSizes: []int64{10, 20, 30, 40},
		Times: []int64{0, 1 * second, 2 * second, 4 * second, 5 * second, 6 * second, 8 * second, 7 * second,
			10 * second},
		Ops: []stream.Op{stream.OpRead, stream.OpRead, stream.OpWrite, stream.OpRead, stream.OpDelete, 0, 0, 0, 0},
	})
	equal := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	equal("requests", s.Requests, int64(9))
	equal("objects", s.Objects, int64(4))
	equal("compulsory", s.CompulsoryMissRatio, 4.0/9)
	equal("one-hit wonders", s.OneHitWonders, int64(2))
	equal("their share of objects", s.OneHitObjectShare, 0.5)
	equal("their share of requests", s.OneHitRequestShare, 2.0/9)
	equal("bytes", *s.Bytes, int64(4*10+3*20+30+40))
	equal("footprint", *s.Footprint, int64(100))
	equal("span", *s.SpanSeconds, 10.0)
	equal("rate", *s.RequestsPerSecond, 0.8)
	equal("out of order", *s.OutOfOrder, int64(1))
	equal("operations", *s.Operations, Operations{Reads: 3, Writes: 1, Deletes: 1, Unknown: 4})
	equal("top shares", fmt.Sprint(s.TopShares), fmt.Sprint([]TopShare{{1, 4.0 / 9}}))
	// Reuses in order: a 2 (b, c), b 2 (c, a), a 2 (b, d), a 0, b 2 (d, a).
	equal("reuses", s.ReuseDistance.Count, int64(5))
	equal("mean distance", s.ReuseDistance.Mean, 8.0/5)
	equal("shortest distance", s.ReuseDistance.Min, 0.0)
	equal("longest distance", s.ReuseDistance.Max, 2.0)
	equal("distance bins", fmt.Sprint(s.ReuseDistance.Bins), "[{0 1 1} {2 4 4}]")
	// Positions: a 3, b 3, a 3, a 1, b 4. Seconds: 4, 4, 4, -1 counted as 0, 5.
	equal("mean time in requests", s.ReuseTimeRequests.Mean, 14.0/5)
	equal("longest time in seconds", s.ReuseTimeSeconds.Max, 5.0)
	equal("mean time in seconds", s.ReuseTimeSeconds.Mean, 17.0/5)
	equal("median object size", s.ObjectSizes.Median, 20.0)
	equal("median request size", s.RequestSizes.Median, 20.0)
	equal("mean request size", s.RequestSizes.Mean, 170.0/9)
}

func TestTraceWithoutColumns(t *testing.T) {
	s := summarize(t, &traces.Trace{Objects: []uint32{0}, NumObjects: 1})
	if s.Bytes != nil || s.SpanSeconds != nil || s.Operations != nil || s.Zipf != nil || s.ReuseDistance != nil ||
		s.ReuseTimeSeconds != nil || s.ObjectSizes != nil {
		t.Errorf("figures without their columns: %+v", s)
	}
}

func TestSummarizeErrors(t *testing.T) {
	for what, trace := range map[string]*traces.Trace{
		"empty trace":    {},
		"too many bytes": {Objects: []uint32{0, 0}, NumObjects: 1, ObjectSizes: []int64{math.MaxInt64}},
	} {
		if s, err := Summarize(trace); err == nil {
			t.Errorf("%s: no error but %+v", what, s)
		}
	}
}

// Naive computations of reuse on random traces.
func TestReuseAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Uint32Range(0, 9), 2, 60).Draw(t, "keys")
		objects, n := renumber(keys)
		s := must.Get(Summarize(&traces.Trace{Objects: objects, NumObjects: n}))(t)
		var distances, times []float64
		for i := range objects {
			for j := i - 1; j >= 0; j-- {
				if objects[j] == objects[i] {
					window := slices.Clone(objects[j:i])
					slices.Sort(window)
					distances = append(distances, float64(len(slices.Compact(window))-1))
					times = append(times, float64(i-j))
					break
				}
			}
		}
		checkDistribution(t, s.ReuseDistance, distances)
		checkDistribution(t, s.ReuseTimeRequests, times)
	})
}

func renumber(keys []uint32) (objects []uint32, n int) {
	numbers := map[uint32]uint32{}
	for _, k := range keys {
		if _, ok := numbers[k]; !ok {
			numbers[k] = uint32(len(numbers))
		}
		objects = append(objects, numbers[k])
	}
	return objects, len(numbers)
}

func checkDistribution(t *rapid.T, d *Distribution, values []float64) {
	t.Helper()
	if len(values) == 0 {
		if d != nil {
			t.Fatalf("distribution of nothing: %+v", d)
		}
		return
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	at := func(q float64) float64 { return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)] }
	got := []float64{float64(d.Count), d.Mean, d.Min, d.P10, d.P25, d.Median, d.P75, d.P90, d.P99, d.Max}
	want := []float64{float64(len(values)), sum / float64(len(values)), values[0], at(0.1), at(0.25), at(0.5), at(0.75),
		at(0.9), at(0.99), values[len(values)-1]}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Fatalf("got %v, want %v of %v", got, want, values)
		}
	}
}

func TestQuantilePrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), 1, 50).Draw(t, "values")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		h := &histogram{}
		for _, v := range values {
			h.add(v, 1)
		}
		got := h.quantile(q)
		if !slices.Contains(values, got) {
			t.Fatalf("quantile %v is %d, which does not occur", q, got)
		}
		slices.Sort(values)
		exact := values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
		if got < exact || float64(got-exact) > float64(exact)/(1<<precisionBits) {
			t.Fatalf("quantile %v is %d, want %d", q, got, exact)
		}
		var inBins int64
		for _, b := range h.distribution(1).Bins {
			inBins += b.Count
		}
		if inBins != int64(len(values)) {
			t.Fatalf("bins hold %d of %d values", inBins, len(values))
		}
	})
}

func TestZipfFitRecoversAlpha(t *testing.T) {
	for _, alpha := range brief.Sample(3, 0.4, 0.7, 1, 1.3, 2) {
		s := summarize(t, generated(t, fmt.Sprintf("zipf(requests=1000000,objects=3000,alpha=%v,seed=4)", alpha)))
		if math.Abs(s.Zipf.Alpha-alpha) > 0.02 {
			t.Errorf("alpha %v: most likely %v", alpha, s.Zipf.Alpha)
		}
		if alpha <= 1.3 && (math.Abs(*s.Zipf.AlphaLeastSquares-alpha) > 0.05 || *s.Zipf.RSquared < 0.98) {
			t.Errorf("alpha %v: least squares %v, R2 %v", alpha, *s.Zipf.AlphaLeastSquares, *s.Zipf.RSquared)
		}
	}
}

func TestZipfFitOfEqualCounts(t *testing.T) {
	s := summarize(t, generated(t, "loop(requests=5000,objects=1000)"))
	if s.Zipf.Alpha > 1e-6 || *s.Zipf.AlphaLeastSquares != 0 || s.Zipf.RSquared != nil {
		t.Errorf("equal counts: %+v", s.Zipf)
	}
}

func TestHarmonic(t *testing.T) {
	for _, alpha := range []float64{-0.5, 0, 0.5, 1 - 1e-9, 1, 1.2, 3} {
		for _, n := range []int{1, 1024, 1025, 50000} {
			want := 0.0
			for r := n; r >= 1; r-- {
				want += math.Pow(float64(r), -alpha)
			}
			if got := harmonic(n, alpha); math.Abs(got/want-1) > 1e-12 {
				t.Errorf("H(%d, %v) = %v, want %v", n, alpha, got, want)
			}
		}
	}
}

func TestClosedForms(t *testing.T) {
	loop := summarize(t, generated(t, "loop(requests=10000,objects=300,rate=100)"))
	if d := loop.ReuseDistance; d.Min != 299 || d.Max != 299 || d.Count != 9700 {
		t.Errorf("a loop of 300 has reuse distances %+v", d)
	}
	if d := loop.ReuseTimeSeconds; d.Min != 3 || d.Max != 3 {
		t.Errorf("a loop of 300 at 100 per second has reuse times %+v", d)
	}
	if *loop.RequestsPerSecond != 100 {
		t.Errorf("rate %v, want 100", *loop.RequestsPerSecond)
	}
	scan := summarize(t, generated(t, "scan(requests=1000)"))
	if scan.OneHitObjectShare != 1 || scan.CompulsoryMissRatio != 1 || scan.ReuseDistance != nil {
		t.Errorf("a scan: %+v", scan)
	}
}

func TestSampleScalesDistances(t *testing.T) {
	trace := generated(t, "loop(requests=1000,objects=50)")
	trace.SampleRate = 0.1
	if d := summarize(t, trace).ReuseDistance; d.Median != 490 {
		t.Errorf("a loop of 50 sampled objects of 1 in 10 has distance %v, want 490", d.Median)
	}
}

func TestTopSharesGrow(t *testing.T) {
	s := summarize(t, generated(t, "zipf(requests=100000,objects=5000)"))
	if len(s.TopShares) != 4 || s.TopShares[3].Objects != 1000 {
		t.Fatalf("top shares %v", s.TopShares)
	}
	for i := 1; i < len(s.TopShares); i++ {
		if s.TopShares[i].RequestShare <= s.TopShares[i-1].RequestShare {
			t.Errorf("top shares do not grow: %v", s.TopShares)
		}
	}
}

func BenchmarkSummarize(b *testing.B) {
	trace := generated(b, "zipf(requests=2000000,objects=200000,size=lognormal())")
	for b.Loop() {
		summarize(b, trace)
	}
	b.ReportMetric(float64(len(trace.Objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
}
