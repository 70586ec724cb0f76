package predictors

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// mustNew builds the predictor that text names.
func mustNew(t *testing.T, text string, c predict.Config) predict.Predictor {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(text))(t)
	c.Params = spec.Params
	return must.Get(spec.Entry.New(c))(t)
}

// predictions returns what p says of the object of each request as soon as the request is observed.
func predictions(p predict.Predictor, objects []predict.Object) []float64 {
	next := make([]float64, len(objects))
	for pos, o := range objects {
		p.Observe(o, pos)
		p.Predict([]predict.Object{o}, pos+1, next[pos:pos+1])
	}
	return next
}

// cyclic returns requests to 0, 1, ..., objects-1, repeatedly, and their next requests.
func cyclic(objects, requests int) predict.Config {
	c := predict.Config{Count: objects}
	for pos := range requests {
		c.Objects = append(c.Objects, predict.Object(pos%objects))
	}
	c.NextUse = oracle.NextUse(c.Objects, objects)
	return c
}

func TestOracleIsExact(t *testing.T) {
	c := cyclic(10, 100)
	for pos, next := range predictions(mustNew(t, "oracle", c), c.Objects) {
		want := float64(pos + 10)
		if pos >= 90 {
			want = predict.Never
		}
		if next != want {
			t.Errorf("request %d: next at %v, want %v", pos, next, want)
		}
	}
}

func TestFlippedTimes(t *testing.T) {
	const n, p = 20000, 0.3
	c := cyclic(50, n)
	for _, kind := range []string{"flip", "replace"} {
		flipped := 0
		for pos, next := range predictions(mustNew(t, "noisy(p=0.3,kind="+kind+")", c), c.Objects) {
			exact := predict.Never
			if pos < n-50 {
				exact = float64(pos + 50)
			}
			if math.Abs(next) != exact {
				t.Fatalf("%s, request %d: %v, want plus or minus %v", kind, pos, next, exact)
			}
			if next < 0 {
				flipped++
			}
		}
		if deviation := math.Abs(float64(flipped) - n*p); deviation > 4*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s: %d of %d predictions are flipped, want a share of %v", kind, flipped, n, p)
		}
	}
}

func TestLognormalNoise(t *testing.T) {
	const n, sigma = 20000, 2.
	c := cyclic(50, n+50)
	var sum, squares float64
	for pos, next := range predictions(mustNew(t, "noisy(sigma=2,kind=lognormal)", c), c.Objects)[:n] {
		log := math.Log(next - float64(pos+50))
		sum, squares = sum+log, squares+log*log
	}
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean) > 4*sigma/math.Sqrt(n) ||
		math.Abs(deviation-sigma) > 0.05 {
		t.Errorf("logarithm of the noise has mean %.3f and standard deviation %.3f, want 0 and %v", mean, deviation, sigma)
	}
}

func TestNoiseStaysUntilTheNextRequest(t *testing.T) {
	c := cyclic(50, 1000)
	p := mustNew(t, "noisy(p=0.5)", c)
	kept := make([]float64, 50)
	for pos, o := range c.Objects {
		p.Observe(o, pos)
		p.Predict([]predict.Object{o}, pos+1, kept[o:o+1])
		for other := range min(pos+1, 50) {
			var next [1]float64
			if p.Predict([]predict.Object{predict.Object(other)}, pos+1, next[:]); next[0] != kept[other] {
				t.Fatalf("request %d: object %d is predicted at %v, before at %v", pos, other, next[0], kept[other])
			}
		}
	}
}

func TestLabelsAreInvertedWhereTimesAreFlipped(t *testing.T) {
	const n, p = 20000, 0.3
	c := cyclic(50, n)
	evicts := make([]bool, n)
	for pos := range evicts {
		evicts[pos] = pos%3 == 0
	}
	c.OptEvicts = func() []bool { return evicts }
	flips, labels := mustNew(t, "noisy(p=0.3)", c), mustNew(t, "noisy(p=0.3,kind=binary)", c)
	of, ok := predict.LabelerOf(&predict.Counted{Predictor: flips})
	if !ok {
		t.Fatal("noisy says nothing of the optimum")
	}
	inverted := 0
	for pos, o := range c.Objects {
		var time, priority [1]float64
		flips.Observe(o, pos)
		labels.Observe(o, pos)
		flips.Predict([]predict.Object{o}, pos+1, time[:])
		labels.Predict([]predict.Object{o}, pos+1, priority[:])
		if wrong := of.Evict(o) != evicts[pos]; wrong != (time[0] < 0) {
			t.Fatalf("request %d: time %v, but the label is %v", pos, time[0], of.Evict(o))
		} else if wrong {
			inverted++
		}
		want := 0.0
		if of.Evict(o) {
			want = predict.Never
		}
		if priority[0] != want {
			t.Fatalf("request %d: kind=binary predicts %v, want %v", pos, priority[0], want)
		}
	}
	if deviation := math.Abs(float64(inverted) - n*p); deviation > 4*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%d of %d labels are inverted, want a share of %v", inverted, n, p)
	}
}

func TestNoLabelsWithoutTheOptimum(t *testing.T) {
	c := cyclic(5, 20)
	if _, ok := predict.LabelerOf(mustNew(t, "oracle", c)); ok {
		t.Error("oracle labels what to evict, although the cache has no optimum to label them")
	}
	spec := must.Get(predict.Registry.Parse("noisy(kind=binary)"))(t)
	c.Params = spec.Params
	must.NotGet(spec.Entry.New(c))(t, "only the cache exact", "binary labels without an optimum")
}

func TestNoisePerGroup(t *testing.T) {
	c := cyclic(7, 700)
	for pos := 0; pos < len(c.Objects); pos += 5 {
		c.Groups = append(c.Groups, pos)
	}
	next := predictions(mustNew(t, "noisy(p=0.5,per=group)", c), c.Objects)
	wrong := 0
	for pos := range next {
		if next[pos] < 0 {
			wrong++
		}
		if first := pos - pos%5; (next[pos] < 0) != (next[first] < 0) {
			t.Fatalf("requests %d and %d of one group are not wrong together", first, pos)
		}
	}
	if wrong < 200 || wrong > 500 {
		t.Errorf("%d of 700 predictions are wrong, want about half", wrong)
	}
	c.Groups = nil
	spec, _ := predict.Registry.Parse("noisy(p=0.5,per=group)")
	c.Params = spec.Params
	if _, err := spec.Entry.New(c); err == nil {
		t.Error("per=group is taken where requests come alone")
	}
}
