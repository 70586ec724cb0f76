package admission

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var indicatorParams = []params.Param{
	{Name: "k", Default: 70, Min: 2, Max: 1 << 20,
		Doc: "objects, the most requested, from which the skew is estimated"},
	{Name: "ss-size", Default: 1000, Min: 2, Max: 1 << 20, Doc: "objects whose requests the stream summary counts"},
}

const (
	indicatorPeriod  = 50_000
	indicatorObjects = 5000 // that its sketch is made for
)

// Indicator tells from requests how much recency is worth: by how skewed they are, and how often objects were requested
// before. Where few objects are requested much more than others, recency says little (Einziger, Eytan, Friedman, Manes,
// Middleware 2018).
type Indicator struct {
	code     func(policies.Object) uint64 // a hash of 32 bits with a sign
	k, most  int
	sketch   dense.FullSketch
	hints    int64 // sum of the estimates of objects when they were requested
	requests int64
	top      dense.Frequencies[struct{}]
	inTop    int
	objects  int // that top has room for
	logs     []float64
}

// NewIndicator estimates the skew from the k most requested objects, of the most that it counts. code hashes an object:
// JavaCode of its key, to be that of Caffeine's simulator.
func NewIndicator(k, most int, code func(policies.Object) uint64) *Indicator {
	words := dense.CeilPowerOfTwo(indicatorObjects)
	n := &Indicator{code: code, k: k, most: most, sketch: dense.NewFullSketch(words, 10*words),
		top: dense.NewFrequencies[struct{}](0, indicatorPeriod)}
	n.sketch.RoundingFirst = true
	return n
}

// indicator is the climber that sets the window to what an Indicator says.
type indicator struct {
	*Indicator
	capacity, share float64 // of the cache, and of the window
}

func newIndicator(c climberConfig) windowClimber {
	return &indicator{NewIndicator(c.Int("k"), c.Int("ss-size"), c.frequencies.code), float64(c.capacity), c.window}
}

func (n *indicator) period() int64 { return indicatorPeriod }

func (n *indicator) request(o policies.Object, full bool) {
	if full {
		n.Request(o)
	}
}

func (n *indicator) grow(_, _ float64) float64 {
	was := n.share
	n.share = n.Take() * 80 / 100
	return math.Trunc((n.share - was) * n.capacity)
}

// Request counts a request.
func (n *Indicator) Request(o policies.Object) {
	hash := n.code(o)
	n.hints += int64(n.sketch.Estimate(hash))
	n.sketch.Add(hash)
	n.requests++
	for int(o) >= n.objects {
		n.objects = max(2*n.objects, 1024)
		n.top.Grow(n.objects)
	}
	switch {
	case n.top.Has(o):
		n.top.Touch(o)
	case n.inTop < n.most:
		n.inTop++
		n.top.Add(o, 1)
	default:
		least := n.top.OldestLeast()
		count := n.top.Frequency(least)
		n.top.Remove(least)
		n.top.Add(o, count+1)
	}
}

// Take returns what recency is worth, from 0 to 1, and forgets the requests, but not what its sketch has counted.
func (n *Indicator) Take() (value float64) {
	if skew := n.skew(); skew < 1 {
		value = float64(n.hints) / float64(n.requests) * (1 - float64(skew*skew*skew)) / 15
	}
	n.hints, n.requests = 0, 0
	return value
}

// skew returns the exponent of the requests of the k most requested objects, and forgets all of them.
func (n *Indicator) skew() float64 {
	n.logs = n.logs[:0]
	for o := range policies.Object(n.objects) {
		if n.top.Has(o) {
			n.logs = append(n.logs, -float64(n.top.Frequency(o)))
			n.top.Remove(o)
		}
	}
	n.inTop = 0
	slices.Sort(n.logs)
	n.logs = n.logs[:min(len(n.logs), n.k)]
	var meanX, meanY float64
	for i, count := range n.logs {
		n.logs[i] = random.Log(-count)
		meanX += random.Log(float64(i + 1))
		meanY += n.logs[i]
	}
	size := float64(len(n.logs))
	meanX, meanY = meanX/size, meanY/size
	var xy, xx float64
	for i, y := range n.logs {
		x := random.Log(float64(i+1)) - meanX
		xy += float64(x * (y - meanY))
		xx += float64(x * x)
	}
	return -xy / xx
}

var miniSimParams = []params.Param{
	{Name: "period", Default: 1_000_000, Min: 1, Max: 1 << 40, Doc: "requests after which the best window is chosen"},
}

// miniSim replays a sample of the objects in small caches with windows of every percentage, and takes over the window
// of the one that missed least: 80 % at most.
type miniSim struct {
	frequencies *Frequencies
	capacity    float64
	share       float64
	every       int64 // of so many objects one is in the sample
	requests    int64
	numbers     []uint32 // per object: 1 + its number in the sample; 0 if it was not requested yet
	objects     int      // in the sample
	room        int      // objects that the small caches have room for
	sketch      dense.FullSketch
	hashes      []uint64 // per object of the sample
	caches      [101]miniCache
}

func newMiniSim(c climberConfig) windowClimber {
	m := &miniSim{frequencies: c.frequencies, capacity: float64(c.capacity), share: c.window,
		requests: int64(c.Int("period"))}
	m.every = max(1, c.capacity/100)
	if c.capacity/1000 > 100 {
		m.every = 1000
	}
	size := c.capacity / m.every
	words := dense.CeilPowerOfTwo(int(size))
	m.sketch = dense.NewFullSketch(words, 10*words)
	m.sketch.RoundingFirst = true
	for i := range m.caches {
		main := int64(float64(size) * (1 - float64(i)/100))
		protected := int64(float64(main) * 0.8)
		m.caches[i] = miniCache{
			Segments: dense.NewSegments(0, true, size-main, 0, protected),
			contest:  contest{draws: random.Stream(c.seed, miniBits), jitter: c.frequencies.jitter, warm: c.frequencies.warm},
			sim:      m,
			capacity: size,
		}
	}
	return m
}

// miniBits is the purpose of the random bits of the jitter in small caches.
const miniBits = 0x3141

// period is one more than the parameter, as in the simulator.
func (m *miniSim) period() int64 { return m.requests + 1 }

func (m *miniSim) request(o policies.Object, _ bool) {
	sampled := int64(int32(murmur3(m.frequencies.keyOf(o), 0x7f3a2142))) % m.every
	if sampled != 0 {
		return
	}
	m.numbers = dense.Grown(m.numbers, int(o)+1)
	if m.numbers[o] == 0 {
		m.objects++
		m.numbers[o] = uint32(m.objects)
		m.hashes = append(m.hashes, m.frequencies.code(o))
		if m.objects > m.room {
			m.room = max(2*m.room, 1024)
			for i := range m.caches {
				m.caches[i].Grow(m.room)
			}
		}
	}
	small := policies.Object(m.numbers[o] - 1)
	m.sketch.Add(m.hashes[small])
	for i := range m.caches {
		m.caches[i].request(small)
	}
}

func (m *miniSim) grow(_, _ float64) float64 {
	best := 0
	for i := range m.caches {
		if m.caches[i].misses < m.caches[best].misses {
			best = i
		}
	}
	for i := range m.caches {
		m.caches[i].misses = 0
	}
	was := m.share
	if m.share = float64(best) / 100; best >= 80 {
		m.share = 0.8
	}
	return math.Trunc((m.share - was) * m.capacity)
}

// miniCache is w-tinylfu with a window that stays, for the sample.
type miniCache struct {
	dense.Segments
	contest
	sim      *miniSim
	capacity int64
	resident int64
	misses   int64
}

func (c *miniCache) spill(s int) {
	for c.Used[s] > c.Limit[s] {
		o, _ := c.Pop(s)
		c.Put(inProbation, o)
	}
}

func (c *miniCache) request(o policies.Object) {
	switch {
	case !c.Has(o):
		c.misses++
		c.load(o)
	case c.In(inProbation, o):
		c.Take(o)
		c.Put(inProtected, o)
		c.spill(inProtected)
	default:
		c.Renew(o)
	}
}

// load puts o into the window, from where the oldest object competes with the oldest one on probation.
func (c *miniCache) load(o policies.Object) {
	c.Load(inWindow, o, 1)
	c.resident++
	candidate, _ := c.List.Back(inWindow)
	c.spill(inWindow)
	if c.resident <= c.capacity {
		return
	}
	loser, _ := c.List.Back(inProbation)
	estimate := func(o policies.Object) int { return c.sim.sketch.Estimate(c.sim.hashes[o]) }
	if loser != candidate && !c.wins(estimate(candidate), estimate(loser)) {
		loser = candidate
	}
	c.Take(loser)
	c.resident--
}

// murmur3 is MurmurHash3 with 32 bits of a number of 64.
func murmur3(key uint64, seed uint32) uint32 {
	h := seed
	for _, k := range [2]uint32{uint32(key), uint32(key >> 32)} {
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		h ^= k * 0x1b873593
		h = h<<13 | h>>19
		h = h*5 + 0xe6546b64
	}
	h ^= 8
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
