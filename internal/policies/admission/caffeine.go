package admission

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var caffeineEntry = policies.Entry{
	Name:   "caffeine",
	Look:   policies.Look{Color: policies.Cyan, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 13, PerSlot: 14},
	Summary: "W-TinyLFU as the library Caffeine runs it: the window grows and shrinks with what it earns, and keys have " +
		"the library's hashes",
	Source: "Caffeine 3.3.1, Manes and others; Einziger, Eytan, Friedman, Manes, Adaptive software cache management, " +
		"Middleware 2018",
	Params:  []policies.Param{JitterParam},
	Random:  true,
	Keys:    func(policies.Values) bool { return true },
	Resolve: func(e *policies.Entry, v policies.Values) { e.Random = v.Float("jitter") > 0 },
	New:     func(c policies.Config) (policies.Policy, error) { return newCaffeine(c), nil },
}

const (
	caffeineWarm = 6
	// caffeineLeast is the number of objects that the sketch has counters for at least.
	caffeineLeast = 256
	// caffeinePerCycle is how many objects move from one segment to another in one cycle of maintenance.
	caffeinePerCycle = 1000
)

// caffeine is W-TinyLFU as the library has it. A new object is in the cache before another is evicted for it, and may
// be the victim itself. After each request follows a cycle of maintenance, as if the library drained its buffers then.
type caffeine struct {
	dense.Segments
	contest
	climber  climber
	plain    bool     // see NewPlainCaffeine
	seed     uint64   // of the hashes, if plain
	codes    []uint32 // per object that has entered, Java's hash code of its key; nil: the number of the object
	key      func(policies.Object) uint64
	capacity int64
	resident int
	// counting says that requests are counted, and hits change the order of objects: since the cache was half full.
	counting bool
	entered  bool // the requested object is in a segment, and others make room for it
	unit     bool
	duel     duel
}

func newCaffeine(c policies.Config) *caffeine {
	p := unlimitedCaffeine(c)
	p.key = c.Key
	if c.Key != nil {
		p.codes = make([]uint32, c.Objects)
	}
	p.divide(c.Capacity)
	return p
}

// NewPlainCaffeine returns the policy as Caffeine had it up to version 3.2, and ports of it still do: the window climbs
// by the hit ratio in caches of any size, in steps that grow shorter alike, and counts are halved at the pace of the
// number of objects that the sketch was made for, however few. The seed chooses the hashes of keys. It needs the
// parameter JitterParam.
func NewPlainCaffeine(c policies.Config) policies.Policy {
	p := unlimitedCaffeine(c)
	p.plain, p.climber.plain = true, true
	p.seed = random.Scramble(c.Seed)
	p.divide(c.Capacity)
	return p
}

// unlimitedCaffeine has no limits of segments yet.
func unlimitedCaffeine(c policies.Config) *caffeine {
	return &caffeine{
		Segments: dense.NewSegments(c.Objects, c.Unit, 0, 0, 0),
		contest:  newContest(c, caffeineWarm),
		unit:     c.Unit,
	}
}

// setCode computes the hash code of an object, as java.lang.Long has it for a key that is an integer.
func (p *caffeine) setCode(o policies.Object) {
	if p.key != nil {
		k := p.key(o) ^ 1<<63 // its sign is flipped
		p.codes[o] = uint32(k) ^ uint32(k>>32)
	}
}

// hash is the hash of an object in the library's sketch: the block in the low half, the counters in the high one.
func (p *caffeine) hash(o policies.Object) uint64 {
	if p.plain {
		return random.Scramble(uint64(o) + p.seed)
	}
	x := o
	if p.codes != nil {
		x = p.codes[o]
	}
	x = (x ^ x>>17) * 0xed5ad4bb
	x = (x ^ x>>11) * 0xac4c1b51
	x ^= x >> 15
	y := x * 0x31848bab
	return uint64(y^y>>14)<<32 | uint64(x)
}

// divide sets the first limits of the segments.
func (p *caffeine) divide(capacity int64) {
	p.capacity = capacity
	main := int64(0.99 * float64(capacity))
	p.Limit[inWindow], p.Limit[inProtected] = capacity-main, int64(0.8*float64(main))
	p.climber.resize(capacity)
}

func (p *caffeine) Grow(objects int) {
	p.Segments.Grow(objects)
	if p.codes != nil {
		p.codes = dense.Grown(p.codes, objects)
	}
}

// Resize begins with the first limits again. Segments that are too large then are divided anew as victims are chosen.
func (p *caffeine) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.divide(capacity)
	if p.unit {
		p.count()
	}
}

// used is the charge of all objects.
func (p *caffeine) used() int64 { return p.Used[inWindow] + p.Used[inProbation] + p.Used[inProtected] }

// count begins to count requests once the cache is half full, and keeps the sketch large enough.
func (p *caffeine) count() {
	if p.used() < p.capacity/2 {
		return
	}
	objects := int64(p.resident)
	if p.unit {
		objects = p.capacity
	}
	objects = min(objects, math.MaxInt32/2)
	p.counting = true
	if !p.plain {
		objects = max(caffeineLeast, objects)
	} else if int(objects)*dense.WordCounters <= p.sketch.Counters() {
		return
	}
	sample := min(10*objects, math.MaxInt32)
	p.sketch.Hold(int(objects)*dense.WordCounters, int(sample))
	p.climber.setCounted(sample)
}

func (p *caffeine) Hit(r policies.Request) {
	if !p.counting {
		return
	}
	o, sample := r.Object, &p.climber.sample
	p.sketch.AddHash(p.hash(o))
	sample.hits++
	switch p.Of(o) {
	case inWindow:
		sample.windowHits++
		p.Renew(o)
	case inProbation:
		sample.probationHits++
		if p.Charged.Of(o) > p.Limit[inProtected] {
			p.Renew(o)
			break
		}
		p.Take(o)
		p.Put(inProtected, o) // what is too much there leaves it when the cycle ends
	default:
		p.Renew(o)
	}
	p.climb()
}

func (p *caffeine) Miss(policies.Request) { p.entered = false }

func (p *caffeine) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		p.duel.begin(&p.Segments, shiftWindow(&p.Segments, caffeinePerCycle))
		return p.evict()
	}
	if !p.entered {
		p.enter(r)
	}
	o := p.evict()
	if o == r.Object {
		p.entered = false
		p.climb()
	}
	return o
}

func (p *caffeine) Insert(r policies.Request) {
	if !p.entered {
		p.enter(r)
	}
	p.entered = false
	p.climb()
}

// enter puts the requested object into the window and moves what is too much there to probation. An object larger than
// the window is the next to leave it.
func (p *caffeine) enter(r policies.Request) {
	o := r.Object
	p.entered = true
	p.resident++
	p.setCode(o)
	p.Charged.Set(o, r.Size)
	p.Put(inWindow, o)
	if p.Charged.Of(o) > p.Limit[inWindow] {
		p.List.Unlink(o)
		p.List.PushBack(inWindow, o)
	}
	p.count()
	if r.Reason == policies.Demand {
		p.climber.sample.misses++
		if p.counting {
			p.sketch.AddHash(p.hash(o))
		}
	}
	p.duel.begin(&p.Segments, shiftWindow(&p.Segments, caffeinePerCycle))
}

// evict removes the loser of the next duel, and returns it.
func (p *caffeine) evict() policies.Object {
	o := p.duel.loser(&p.Segments, p)
	p.Remove(o)
	return o
}

// prefers implements judge: nothing wins while nothing is counted.
func (p *caffeine) prefers(candidate, victim policies.Object) bool {
	return p.counting && p.wins(p.sketch.EstimateHash(p.hash(candidate)), p.sketch.EstimateHash(p.hash(victim)))
}

func (p *caffeine) Remove(o policies.Object) {
	p.Take(o)
	p.resident--
}

// Resized implements policies.SizeFollower. An object that has outgrown the window is the next to leave it.
func (p *caffeine) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	if p.In(inWindow, o) && size > p.Limit[inWindow] {
		p.List.Unlink(o)
		p.List.PushBack(inWindow, o)
	}
	shiftWindow(&p.Segments, caffeinePerCycle)
	lowerProtected(&p.Segments, caffeinePerCycle)
}

// climb ends a cycle of maintenance: it moves the border between the window and the protected segment.
func (p *caffeine) climb() {
	c := &p.climber
	if !p.counting {
		c.sample.next(0)
	} else {
		c.decide(p.used() >= p.capacity/2, p.Limit[inWindow], p.Limit[inProtected])
	}
	lowerProtected(&p.Segments, caffeinePerCycle)
	if c.move > 0 && p.Limit[inProtected] > 0 {
		c.move = growWindow(&p.Segments, min(c.move, p.Limit[inProtected]), caffeinePerCycle)
	} else if c.move < 0 && p.Limit[inWindow] > 1 {
		c.move = -shrinkWindow(&p.Segments, min(-c.move, p.Limit[inWindow]-1), caffeinePerCycle)
	}
}

func (p *caffeine) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		if p.Has(o) {
			hits++
			p.Hit(r)
			continue
		}
		p.enter(r)
		if p.used() > p.capacity && p.evict() != o {
			evictions++
		}
		p.climb()
	}
	return hits, evictions
}
