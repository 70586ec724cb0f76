package predictors

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

func TestCountersDecayAsInTheSpecification(t *testing.T) {
	f := NewFeatures(LLMFeatures, predict.Config{Count: 1})
	want := make([]float64, counters)
	row := make([]float64, LLMFeatures)
	at := 0
	for n, interval := range []int{0, 1024, 512, 100_000, 3} {
		at += interval
		f.Observe(0, at)
		f.Row(0, at, row)
		for i := range want {
			d1 := float64(interval)
			if n == 0 {
				d1 = math.Inf(1)
			}
			want[i] = 1 + want[i]*math.Exp2(-d1/math.Exp2(float64(9+i+1)))
			if got := row[1+intervals+i]; math.Abs(got-want[i]) > 1e-5 {
				t.Errorf("request %d: EDC_%d is %v, want %v", n+1, i+1, got, want[i])
			}
		}
	}
}

func TestLLMRowAtTheTimeOfAsking(t *testing.T) {
	f := NewFeatures(LLMFeatures, predict.Config{Count: 2, Depth: []int32{512, 1024}})
	for _, at := range []int{0, 10, 30, 1030} {
		f.Observe(1, at)
	}
	row := make([]float64, LLMFeatures)
	f.Row(1, 2054, row)
	if want := []float64{1024, 1000, 20, 10}; !slices.Equal(row[:4], want) {
		t.Errorf("age and intervals are %v, want the newest first: %v", row[:4], want)
	}
	for i, interval := range row[4 : 1+intervals] {
		if !math.IsNaN(interval) {
			t.Errorf("interval %d is %v: a missing one is NaN", 4+i, interval)
		}
	}
	atRequest := 1 + math.Exp2(-1000./1024)*(1+math.Exp2(-20./1024)*(1+math.Exp2(-10./1024)))
	if got := row[1+intervals]; math.Abs(got-atRequest/2) > 1e-6 {
		t.Errorf("EDC_1 1024 after the last request is %v, want half of %v", got, atRequest)
	}
	if row[LLMFeatures-1] != 1024 {
		t.Errorf("depth is %v, want 1024 tokens", row[LLMFeatures-1])
	}
}

func TestDLRMRowIsThatOfTheLastRequest(t *testing.T) {
	f := NewFeatures(DLRMFeatures, predict.Config{Count: 3})
	row := make([]float64, DLRMFeatures)
	f.Observe(2, 5)
	if f.Row(2, 9, row); !slices.Equal(row[:3], []float64{5, 2, 1}) || !math.IsNaN(row[3]) {
		t.Errorf("after the first request: %v, want [5 2 1 NaN]", row)
	}
	f.Observe(2, 12)
	if f.Row(2, 100, row); !slices.Equal(row, []float64{12, 2, 2, 7}) {
		t.Errorf("after the second request: %v, want [12 2 2 7]", row)
	}
}

func TestNamesFitTheRows(t *testing.T) {
	for _, set := range []FeatureSet{DLRMFeatures, LLMFeatures} {
		if n := len(set.Names()); n != int(set) {
			t.Errorf("%d names for %d features", n, set)
		}
	}
}

func TestThePromptIsTheClock(t *testing.T) {
	groups := []int{0, 3, 4}
	if c := newClock(predict.Config{Groups: groups}); c.at(3) != 3 {
		t.Error("a batch of keys is no prompt: want the position")
	}
	c := newClock(predict.Config{Groups: groups, Depth: []int32{1}})
	for pos, want := range []int{0, 0, 0, 1, 2, 2} {
		if got := c.at(pos); got != want {
			t.Errorf("position %d is at %d, want %d finished prompts", pos, got, want)
		}
	}
}

type sample struct{ age, label float64 }

func samplesOf(requests []predict.Object, window int, c predict.Config) (samples []sample) {
	c.Objects = requests
	s := NewSamples(LLMFeatures, window, c)
	for pos, o := range requests {
		s.Observe(o, pos, func(row []float64, label float64) { samples = append(samples, sample{row[0], label}) })
	}
	return samples
}

func TestEachRequestGivesOneSample(t *testing.T) {
	samples := samplesOf([]predict.Object{0, 0, 1, 2, 2, 0}, 4, predict.Config{Count: 3})
	var times []float64
	for _, s := range samples {
		times = append(times, math.Round(math.Expm1(s.label)+s.age))
	}
	if want := []float64{1, 1, 4}; !slices.Equal(times, want) {
		t.Errorf("times from request to request are %v, want %v", times, want)
	}
	samples = samplesOf([]predict.Object{0, 1, 2, 3, 4, 0, 5}, 4, predict.Config{Count: 6})
	if len(samples) != 3 { // 0 is requested again later, which gives no further sample
		t.Fatalf("%d samples, want three: of the first requests to 0, 1 and 2, given up after 4 requests", len(samples))
	}
	for _, s := range samples {
		if s.age >= 4 || math.Abs(math.Expm1(s.label)+s.age-8) > 1e-9 {
			t.Errorf("sample of an object given up is %+v, want an age below 4 and 8 requests from request to request", s)
		}
	}
}

func TestGivingUpOnPromptsDoublesTheirNumber(t *testing.T) {
	// Two blocks per prompt: after a window of 4 requests, 2 prompts have finished.
	samples := samplesOf([]predict.Object{0, 1, 2, 3, 4, 5}, 4,
		predict.Config{Count: 6, Depth: make([]int32, 6), Groups: []int{0, 2, 4}})
	if len(samples) != 2 || math.Abs(math.Expm1(samples[0].label)+samples[0].age-4) > 1e-9 {
		t.Errorf("samples are %+v, want two with 4 prompts from request to request", samples)
	}
}
