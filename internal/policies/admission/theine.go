package admission

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// TheineParams are the parameters of NewTheine.
var TheineParams = []policies.Param{
	JitterParam,
	{Name: "buffers", Default: 4, Min: 0, Max: 1 << 16, Doc: "buffers of 16 hits each, one of which a hit enters at " +
		"random, rounded up to a power of two; the library has 4 for each core; 0: a hit counts at once"},
}

const (
	theineWarm = 6
	// theineBuffer is the number of hits that count together.
	theineBuffer = 16
	// theineWords is the number of words of the sketch in an empty cache.
	theineWords = 64
	// bufferBits is the purpose of the random bits that choose a buffer.
	bufferBits = 0x7e19
)

// theine is W-TinyLFU as the library Theine has it: hits change nothing until the buffer that they are in is full, and
// the sketch starts anew as the cache grows. Its climber computes in 32 bits, and its sample follows the sketch.
type theine struct {
	dense.Segments
	contest
	duel     duel
	seed     uint64 // of hashes, which the library draws in each process
	capacity int64
	resident int64
	entered  bool // the requested object is in a segment, and others make room for it

	sample       int64 // requests after which the window moves, and counts are halved
	hits, misses int64 // of the current sample
	ratioBefore  float32
	step         float32

	buffers [][]theineHit
	choices *rand.PCG // of a buffer
	loads   []uint32  // per object, how often it was loaded; nil without buffers
}

// theineHit is a hit that does not count yet. It never does if the object is evicted before.
type theineHit struct {
	object policies.Object
	load   uint32 // of the object
}

// NewTheine takes the parameters TheineParams.
func NewTheine(c policies.Config) policies.Policy {
	p := &theine{
		Segments: dense.NewSegments(c.Objects, c.Unit, 0, 0, 0),
		contest:  newContest(c, theineWarm),
		seed:     random.Scramble(c.Seed),
	}
	p.enlarge(theineWords)
	p.divide(c.Capacity)
	if n := c.Params.Int("buffers"); n > 0 {
		p.buffers = make([][]theineHit, dense.CeilPowerOfTwo(n))
		p.choices = random.Stream(c.Seed, bufferBits)
		p.loads = make([]uint32, c.Objects)
	}
	return p
}

// divide sets the first limits of the segments. They are computed in 32 bits, too.
func (p *theine) divide(capacity int64) {
	p.capacity = capacity
	window := max(int64(float32(capacity)*0.01), 1)
	p.Limit[inWindow], p.Limit[inProtected] = window, int64(float32(capacity-window)*0.8)
	p.step = -theineStep * float32(capacity)
}

// theineStep is the first step of the climber, as a share of the capacity.
const theineStep = 0.0625

// enlarge starts a sketch with a word for each of a number of objects.
func (p *theine) enlarge(objects int) {
	words := min(dense.CeilPowerOfTwo(objects), 1<<27)
	p.sketch = dense.NewSketch(words*dense.WordCounters, 10*words, false, 0)
	p.sample = 10 * int64(words)
}

// Resize begins with the first limits again.
func (p *theine) Resize(capacity int64) {
	if capacity != p.capacity {
		p.divide(capacity)
	}
}

func (p *theine) Grow(objects int) {
	p.Segments.Grow(objects)
	if p.loads != nil {
		p.loads = dense.Grown(p.loads, objects)
	}
}

func (p *theine) hash(o policies.Object) uint64 { return random.Scramble(uint64(o) + p.seed) }

// prefers implements judge.
func (p *theine) prefers(candidate, victim policies.Object) bool {
	return p.wins(p.sketch.EstimateHash(p.hash(candidate)), p.sketch.EstimateHash(p.hash(victim)))
}

func (p *theine) used() int64 { return p.Used[inWindow] + p.Used[inProbation] + p.Used[inProtected] }

func (p *theine) Hit(r policies.Request) {
	if p.buffers == nil {
		p.access(r.Object)
		return
	}
	b := &p.buffers[p.choices.Uint64()&uint64(len(p.buffers)-1)]
	if *b = append(*b, theineHit{r.Object, p.loads[r.Object]}); len(*b) < theineBuffer {
		return
	}
	for _, h := range *b {
		if p.Has(h.object) && p.loads[h.object] == h.load {
			p.access(h.object)
		}
	}
	*b = (*b)[:0]
}

// access counts a hit. What is then too much in the protected segment leaves it with the next miss.
func (p *theine) access(o policies.Object) {
	p.climb()
	p.hits++
	p.sketch.AddHash(p.hash(o))
	p.touch(o)
}

func (p *theine) touch(o policies.Object) {
	if !p.In(inProbation, o) {
		p.Renew(o)
		return
	}
	p.Take(o)
	p.Put(inProtected, o)
}

func (p *theine) Miss(policies.Request) { p.entered = false }

func (p *theine) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		p.duel.begin(&p.Segments, shiftWindow(&p.Segments, math.MaxInt))
		return p.evict()
	}
	if !p.entered {
		p.enter(r)
	}
	o := p.evict()
	if o == r.Object {
		p.entered = false
		p.fitSketch()
	}
	return o
}

func (p *theine) Insert(r policies.Request) {
	if !p.entered {
		p.enter(r)
	}
	p.entered = false
	p.fitSketch()
}

// enter puts the requested object into the window and moves what is too much there to probation.
func (p *theine) enter(r policies.Request) {
	o := r.Object
	if r.Reason == policies.Demand {
		p.sketch.AddHash(p.hash(o))
		p.climb()
		p.misses++
	}
	if p.loads != nil {
		p.loads[o]++
	}
	p.entered = true
	p.resident++
	p.Load(inWindow, o, r.Size)
	lowerProtected(&p.Segments, math.MaxInt)
	p.duel.begin(&p.Segments, shiftWindow(&p.Segments, math.MaxInt))
}

// evict removes the loser of the next duel, and returns it.
func (p *theine) evict() policies.Object {
	o := p.duel.loser(&p.Segments, p)
	p.Remove(o)
	return o
}

func (p *theine) Remove(o policies.Object) {
	p.Take(o)
	p.resident--
}

// fitSketch ends an insertion: a sketch that has fewer words than there are objects is replaced.
func (p *theine) fitSketch() {
	if p.resident*dense.WordCounters > int64(p.sketch.Counters()) {
		p.enlarge(int(p.resident))
	}
}

// Resized implements policies.SizeFollower. An object whose size has changed is treated as if it were requested,
// without being counted.
func (p *theine) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	p.touch(o)
}

// climb moves the border between window and main part after a sample of requests, before the next one counts: in the
// same direction if the hit ratio did not fall.
func (p *theine) climb() {
	requests := p.hits + p.misses
	if requests <= p.sample {
		return
	}
	ratio := float32(p.hits) / float32(requests)
	change := ratio - p.ratioBefore
	p.ratioBefore, p.hits, p.misses = ratio, 0, 0
	step := p.step
	if change < 0 {
		step = -step
	}
	p.step = 0.98 * step
	if math.Abs(float64(change)) >= restartChange {
		p.step = float32(math.Copysign(float64(theineStep*float32(p.capacity)), float64(step)))
	}
	if by := int64(step); by > 0 {
		growWindow(&p.Segments, min(by, p.Limit[inProtected]), math.MaxInt)
	} else {
		shrinkWindow(&p.Segments, min(-by, p.Limit[inWindow]-1), math.MaxInt)
	}
}

func (p *theine) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
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
		p.fitSketch()
	}
	return hits, evictions
}
