package admission

import (
	"errors"
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

// hashParam is the parameter of policies that can have the hashes of Caffeine's simulator.
var hashParam = policies.Param{Name: "hash", Default: "seeded", Choices: []string{"seeded", "java"}, Doc: "seeded: " +
	"the seed chooses the hashes of objects; java: sketch and hashes of keys are those of Caffeine's simulator, without " +
	"doorkeeper"}

// checkHash refuses a doorkeeper where there is none.
func checkHash(v policies.Values) error {
	if v.Text("hash") == "java" && v.Bool("doorkeeper") {
		return errors.New("hash=java has no doorkeeper; leave out doorkeeper=true, or hash=java")
	}
	return nil
}

func keysForHash(v policies.Values) bool { return v.Text("hash") == "java" }

// drawsAtRandom reports whether hashes or jitter depend on the seed.
func drawsAtRandom(v policies.Values) bool { return v.Text("hash") != "java" || v.Float("jitter") > 0 }

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
	java     bool
	full     dense.FullSketch // instead of the sketch, if java
	key      func(policies.Object) uint64
	codes    []uint32 // per object, Java's hash code of its key, if java and keys are known
	seed     uint64
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
	f.seed = random.Scramble(c.Seed)
	if hash, ok := c.Params["hash"]; ok && hash == "java" {
		f.java, f.key = true, c.Key
		if c.Key != nil {
			f.codes = make([]uint32, c.Objects)
		}
		f.fitFull(objects)
		return f
	}
	f.sketch = dense.NewSketch(objects*f.counters, f.period(objects), c.Params.Bool("doorkeeper"),
		f.seed)
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
	switch f.capacity = capacity; {
	case f.byBytes:
	case f.java:
		f.fitFull(f.room())
	default:
		f.sketch.Grow(f.room()*f.counters, f.period(f.room()))
	}
}

// fitFull starts the sketch of the simulator anew if it has too few counters for a number of objects, and sets the
// sample.
func (f *Frequencies) fitFull(objects int) {
	if words := (objects*f.counters + dense.WordCounters - 1) / dense.WordCounters; words > f.full.Words() {
		f.full = dense.NewFullSketch(words, 0)
		f.full.RoundingFirst = true
	}
	f.full.SetSample(f.period(objects))
}

// GrowCodes makes room for the hash codes of further objects.
func (f *Frequencies) GrowCodes(objects int) {
	if f.codes != nil {
		f.codes = dense.Grown(f.codes, objects)
	}
}

// keyOf returns the key of an object, as Java has it; its number where keys are unknown.
func (f *Frequencies) keyOf(o policies.Object) uint64 {
	if f.key == nil {
		return uint64(o)
	}
	return f.key(o) ^ 1<<63 // its sign is flipped
}

// setCode computes the hash code of an object, as java.lang.Long has it for a key that is an integer.
func (f *Frequencies) setCode(o policies.Object) {
	if f.codes != nil {
		k := f.keyOf(o)
		f.codes[o] = uint32(k) ^ uint32(k>>32)
	}
}

// code returns a hash of 32 bits with a sign: the simulator's, if java.
func (f *Frequencies) code(o policies.Object) uint64 {
	if !f.java {
		return uint64(int64(int32(random.Scramble(uint64(o) + f.seed))))
	}
	if f.codes != nil {
		return spread(f.codes[o])
	}
	return spread(o)
}

// JavaCode returns the hash that the sketch of Caffeine's simulator has of a key, 32 bits with a sign.
func JavaCode(key uint64) uint64 { return spread(uint32(key) ^ uint32(key>>32)) }

func spread(x uint32) uint64 {
	x = (x ^ x>>16) * 0x45d9f3b
	x = (x ^ x>>16) * 0x45d9f3b
	return uint64(int64(int32(x ^ x>>16)))
}

// Count counts a request of an object.
func (f *Frequencies) Count(o policies.Object) {
	if f.java {
		f.full.Add(f.code(o))
		return
	}
	f.sketch.Add(o)
}

func (f *Frequencies) estimate(o policies.Object) int {
	if f.java {
		return f.full.Estimate(f.code(o))
	}
	return f.sketch.Estimate(o)
}

// Resident reports that so many more objects are resident, or fewer.
func (f *Frequencies) Resident(change int) {
	switch f.resident += change; {
	case !f.byBytes || change <= 0:
	case f.java:
		f.fitFull(f.resident)
	default:
		f.sketch.Fit(f.resident*f.counters, f.period(f.resident))
	}
}

// Prefers reports whether a candidate replaces a victim, or several: it must have been requested more often than all of
// them together.
func (f *Frequencies) Prefers(candidate policies.Object, victims ...policies.Object) bool {
	requests := 0
	for _, v := range victims {
		requests += f.estimate(v)
	}
	return f.wins(f.estimate(candidate), requests)
}
