package admission

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// FrequencyParams are the parameters of Frequencies.
var FrequencyParams = []policies.Param{
	JitterParam,
	{Name: "warm", Default: 6, Min: 0, Max: dense.MaxCount, Doc: "requests in the sketch from which an object is warm"},
	{Name: "counters", Default: 16, Min: 1, Max: 1024, Doc: "4-bit counters in the sketch per resident object, rounded " +
		"up to a power of two in all"},
	{Name: "sample", Default: 10, Min: 1, Max: 1000, Doc: "requests per resident object after which counts are halved"},
	{Name: "rule", Default: "caffeine", Choices: []string{"caffeine", "simulator"}, Doc: "by which number of objects " +
		"sample is multiplied: caffeine, what fits; simulator, that rounded up to a power of two, as in Caffeine's " +
		"simulator"},
	{Name: "doorkeeper", Default: false, Doc: "count an object only from its second request in a sample"},
}

// Frequencies tell which of two objects was requested more often lately. They are a sketch whose size follows from the
// number of objects that are resident, or that fit where each is charged 1.
type Frequencies struct {
	contest
	resident int
	counters int  // per object
	sample   int  // per object
	roundUp  bool // the number of objects by which the sample is multiplied
	byBytes  bool // then the sketch grows with the number of resident objects
	capacity int64
	most     int // objects there may be
}

// NewFrequencies takes the capacity, the number of objects, the seed and FrequencyParams from c.
func NewFrequencies(c policies.Config) Frequencies {
	f := Frequencies{
		counters: c.Params.Int("counters"),
		sample:   c.Params.Int("sample"),
		roundUp:  c.Params.Text("rule") == "simulator",
		contest:  newContest(c, c.Params.Int("warm")),
		byBytes:  !c.Unit,
		capacity: c.Capacity,
		most:     c.Objects,
	}
	if c.Grows {
		f.most = math.MaxInt32
	}
	objects := f.room()
	// How many sized objects fit is unknown: Resident enlarges the sketch as they come.
	if !c.Unit {
		objects = min(objects, 64)
	}
	f.sketch = dense.NewSketch(objects*f.counters, f.period(objects), c.Params.Bool("doorkeeper"),
		random.Scramble(c.Seed))
	return f
}

// period returns after how many requests counts are halved, given the number of objects.
func (f *Frequencies) period(objects int) int {
	if f.roundUp {
		objects = dense.CeilPowerOfTwo(objects)
	}
	return objects * f.sample
}

// room returns how many objects fit if each is charged 1, at most all of them.
func (f *Frequencies) room() int { return int(min(f.capacity, int64(f.most))) }

// Resize follows the capacity. Counts stay.
func (f *Frequencies) Resize(capacity int64) {
	if f.capacity = capacity; !f.byBytes {
		f.sketch.Grow(f.room()*f.counters, f.period(f.room()))
	}
}

// Count counts a request of an object.
func (f *Frequencies) Count(o policies.Object) { f.sketch.Add(o) }

// Resident reports that so many more objects are resident, or fewer.
func (f *Frequencies) Resident(change int) {
	if f.resident += change; f.byBytes && change > 0 {
		f.sketch.Fit(f.resident*f.counters, f.period(f.resident))
	}
}

// Prefers reports whether a candidate replaces a victim, or several: it must have been requested more often than all of
// them together.
func (f *Frequencies) Prefers(candidate policies.Object, victims ...policies.Object) bool {
	requests := 0
	for _, v := range victims {
		requests += f.sketch.Estimate(v)
	}
	return f.wins(f.sketch.Estimate(candidate), requests)
}
