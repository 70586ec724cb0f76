package cache

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/laru"
	"github.com/cachesim/cachesim/internal/traces"
)

var setsEntry = Entry{
	Name: "sets",
	Summary: "set-associative as the slab hash of HugeCTR: a key may lie in the slots of one set only, and requests " +
		"come in batches that are looked up " +
		"as a whole before what they miss is loaded",
	Source: "NVIDIA-Merlin/HugeCTR, gpu_cache; LCR (arXiv 2509.20979), section 4.1",
	Params: []params.Param{
		{Name: "ways", Default: 64, Min: 1, Max: maxWays, Doc: "slots of a set; the capacity is rounded down to whole " +
			"sets, and to one set of fewer slots below that"},
		{Name: "slabs", Default: 2, Min: 1, Max: maxWays, Doc: "slabs that the slots of a set are divided into, in equal " +
			"shares"},
		{Name: "batch", Default: 128, Min: 1, Max: 1 << 30, Doc: "requests that come together where the trace does not " +
			"group them"},
	},
	Metrics: []metric.Metric{
		{Name: "sets", Unit: metric.Count, Doc: "sets of the cache"},
		{Name: "slots", Unit: metric.Count, Doc: "objects that it has room for: whole sets of the capacity"},
		{Name: "batches", Unit: metric.Count, Doc: "batches of requests that it served, those of a warm-up included"},
	},
	ObjectsOnly: true,
	Keys:        true,
	Check:       checkSets,
	New:         newSets,
}

// maxWays is how many slots of a set fit the words in which they are marked.
const maxWays = 64

func checkSets(v params.Values, policy policies.Entry) error {
	switch ways, slabs := v.Int("ways"), v.Int("slabs"); {
	case ways%slabs != 0:
		return fmt.Errorf("cache sets: %d ways cannot be divided into %d slabs of equal size; name a number of slabs that "+
			"divides the ways", ways, slabs)
	case policy.Unbounded:
		return fmt.Errorf(
			"cache sets: policy %s ignores capacities, but a set has its ways and no more; use --cache exact",
			policy.Name,
		)
	case policy.Relates:
		return fmt.Errorf("cache sets: policy %s works with how objects relate to each other, but each set decides for "+
			"itself; use --cache exact", policy.Name)
	}
	return nil
}

// setIndex says where each object may lie.
//
// A key belongs to the set MurmurHash3_32(key) mod the number of sets, and is looked for in the slab key mod slabs
// first, as in HugeCTR. Keys of a trace are hashed as the 8 bytes of a little-endian number, texts as their bytes, with
// the hash in the place of the key to find the slab; objects of a trace without keys have their dense numbers for keys.
type setIndex struct {
	sets  int
	ways  int // slots of a set
	slabs int
	lanes int      // slots of a slab; the last slabs of a single small set may have fewer
	home  []uint32 // per object: set*slabs + the slab that is probed first
}

// newSetIndex divides the capacity into sets and places the objects of t.
func newSetIndex(t *traces.Trace, capacity int64, v params.Values) (*setIndex, error) {
	ways := int(min(int64(v.Int("ways")), capacity))
	x := &setIndex{ways: ways, slabs: v.Int("slabs"), home: make([]uint32, t.NumObjects)}
	x.lanes = (ways + x.slabs - 1) / x.slabs
	if sets := capacity / int64(ways); sets <= math.MaxUint32/maxWays/int64(x.slabs) {
		x.sets = int(sets)
	} else {
		return nil, fmt.Errorf("a capacity of %d objects makes %d sets, more than there is room for", capacity, sets)
	}
	for o := range x.home {
		key := traces.Key{Num: uint64(o)}
		if t.Keys != nil {
			key = t.Keys[o]
		}
		x.home[o] = x.homeOf(key)
	}
	return x, nil
}

func (x *setIndex) homeOf(key traces.Key) uint32 {
	hash := murmur3OfNumber(key.Num)
	slab := key.Num
	if key.Text != "" {
		hash = murmur3([]byte(key.Text), 0)
		slab = uint64(hash)
	}
	return hash%uint32(x.sets)*uint32(x.slabs) + uint32(slab%uint64(x.slabs))
}

// batches says where the batches of a trace end: where its groups do or, where it has none, after every size requests.
type batches struct {
	groups []int // positions at which those begin that have not begun
	size   int
	length int // of the trace
}

// end returns where the batch of the request at pos ends. Positions must not go back from call to call.
func (b *batches) end(pos int) int {
	if b.groups == nil {
		return min((pos/b.size+1)*b.size, b.length)
	}
	for len(b.groups) > 0 && b.groups[0] <= pos {
		b.groups = b.groups[1:]
	}
	if len(b.groups) == 0 {
		return b.length
	}
	return b.groups[0]
}

// batchServer serves batches: it looks up every request of one against the contents at its beginning, in one call of
// lookUp or several, and then loads what was missed.
//
// Each key of a batch is looked up as often as it is requested, but what it misses is fetched once: of the lookups of a
// missing key the first is a miss, the others hit, since that fetch serves them. So misses are fetches, as they are in
// the exact cache.
type batchServer interface {
	lookUp(objects []policies.Object, first int, times []int64) (fetches int)
	// appendMissed appends what the present batch has missed, each object once.
	appendMissed(to []policies.Object) []policies.Object
	// load loads what the batch missed, in the order of the first lookups; end is where the batch ends.
	load(end int) (evictions int)
	counters() []policies.Counter
}

// setsCache is the set-associative cache.
type setsCache struct {
	index   *setIndex
	batches batches
	server  batchServer
	served  int // batches
	// What the last batch missed; only for who wants to know it.
	keepMissed bool
	missed     []policies.Object
}

func newSets(c Config) (Cache, error) {
	index, err := newSetIndex(c.Trace, c.Capacity, c.Params)
	if err != nil {
		return nil, err
	}
	s := &setsCache{index: index, batches: batches{groups: c.Trace.Groups, size: c.Params.Int("batch"),
		length: len(c.Trace.Objects)}}
	if s.server, err = newBatchServer(c, s); err != nil {
		return nil, err
	}
	return s, nil
}

// newBatchServer returns the server that knows the policy, or the one for all others.
func newBatchServer(c Config, s *setsCache) (batchServer, error) {
	switch c.Policy.Entry.Name {
	case "lru", "lru-stack":
		return newSlabLRU(s.index), nil
	case "fpb":
		return newSlabRanked(s.index, c.Predictor, s.index.ways), nil
	case "hf":
		return newSlabRanked(s.index, c.Predictor, c.Policy.Params.Int("candidates")), nil
	case "laru":
		return newSlabLARU(c, s.index)
	}
	return newPolicyPerSet(c, s.index, s.batches)
}

// Serve implements Cache.
func (s *setsCache) Serve(w Window, n *Counts) {
	for from := 0; from < len(w.Objects); {
		end := s.batches.end(w.First + from)
		to := min(end-w.First, len(w.Objects))
		var times []int64
		if w.Times != nil {
			times = w.Times[from:to]
		}
		n.Hits += int64(to - from - s.server.lookUp(w.Objects[from:to], w.First+from, times))
		if w.First+to == end {
			if s.keepMissed {
				s.missed = s.server.appendMissed(s.missed[:0])
			}
			n.Evictions += int64(s.server.load(end))
			s.served++
		}
		from = to
	}
	n.Requests += int64(len(w.Objects))
}

// BatchStarts returns the positions at which the batches begin.
func (s *setsCache) BatchStarts() []int {
	if s.batches.groups != nil {
		return s.batches.groups
	}
	var starts []int
	for at := 0; at < s.batches.length; at += s.batches.size {
		starts = append(starts, at)
	}
	return starts
}

// Watch returns a function that tells what the last batch missed, each object once. It is called before the first
// request.
func (s *setsCache) Watch() func() []policies.Object {
	s.keepMissed = true
	return func() []policies.Object { return s.missed }
}

// Background returns the worker that makes the predictions of the policy, nil where it waits for them or makes none.
func (s *setsCache) Background() *laru.Worker {
	if ranked, ok := s.server.(*slabRanked); ok {
		return ranked.background
	}
	return nil
}

// Counters implements Reporting.
func (s *setsCache) Counters() []policies.Counter {
	return append([]policies.Counter{
		{Name: "sets", Value: float64(s.index.sets)},
		{Name: "slots", Value: float64(s.index.sets * s.index.ways)},
		{Name: "batches", Value: float64(s.served)},
	}, s.server.counters()...)
}

// slots are where the objects of sets lie: slab by slab, each filled from its first lane on and never emptied again.
type slots struct {
	*setIndex
	shift int // a set begins at slot set<<shift
	// per object: its slot plus 1, 0 while it is absent, missing between its miss and the end of the batch
	place  []uint32
	owner  []policies.Object // per slot
	filled []uint8           // per slab: slots in use
	missed []policies.Object // of the present batch, in order of their first lookups
}

// missing is the place of an object that the present batch has missed.
const missing = math.MaxUint32

func (s *slots) appendMissed(to []policies.Object) []policies.Object { return append(to, s.missed...) }

func newSlots(x *setIndex) slots {
	s := slots{setIndex: x, place: make([]uint32, len(x.home)), filled: make([]uint8, x.sets*x.slabs)}
	for 1<<s.shift < x.ways {
		s.shift++
	}
	s.owner = make([]policies.Object, x.sets<<s.shift)
	return s
}

// vacant returns a free slot of the set for an object that probes slab by slab from its home on, and takes it; ok is
// false if the set is full.
func (s *slots) vacant(home uint32) (slot int, ok bool) {
	set, first := int(home)/s.slabs, int(home)%s.slabs
	for distance := range s.slabs {
		slab := (first + distance) % s.slabs
		room := min(s.lanes, s.ways-slab*s.lanes)
		if lane := int(s.filled[set*s.slabs+slab]); lane < room {
			s.filled[set*s.slabs+slab]++
			return set<<s.shift + slab*s.lanes + lane, true
		}
	}
	return 0, false
}

// fill puts o into a slot, and says that whoever lay there is absent.
func (s *slots) fill(slot int, o policies.Object, evict bool) {
	if evict {
		s.place[s.owner[slot]] = 0
	}
	s.owner[slot] = o
	s.place[o] = uint32(slot) + 1
}

// slabLRU is HugeCTR's own replacement. One counter goes up by one with every batch; a slot has the count of the last
// batch that looked it up or loaded it, and the smallest count leaves: of equal ones that in the slab nearest to the
// one that is probed first, then that in the lowest lane.
type slabLRU struct {
	slots
	batch  uint32
	counts []uint32 // per slot
}

func newSlabLRU(x *setIndex) *slabLRU {
	l := &slabLRU{slots: newSlots(x), batch: 1}
	l.counts = make([]uint32, len(l.owner))
	return l
}

func (l *slabLRU) lookUp(objects []policies.Object, _ int, _ []int64) (fetches int) {
	place, counts, batch := l.place, l.counts, l.batch
	for _, o := range objects {
		switch slot := place[o]; slot {
		case 0:
			place[o] = missing
			l.missed = append(l.missed, o)
			fetches++
		case missing:
		default:
			counts[slot-1] = batch
		}
	}
	return fetches
}

func (l *slabLRU) load(int) (evictions int) {
	for _, o := range l.missed {
		home := l.home[o]
		slot, vacant := l.vacant(home)
		if !vacant {
			slot = l.oldest(home)
			evictions++
		}
		l.fill(slot, o, !vacant)
		l.counts[slot] = l.batch
	}
	l.missed = l.missed[:0]
	l.batch++
	return evictions
}

// oldest returns the slot whose count is the smallest. Slots in order of distance and lane are those from the home slab
// on, and then those before it.
func (l *slabLRU) oldest(home uint32) int {
	start := int(home) / l.slabs << l.shift
	counts := l.counts[start : start+l.ways]
	first := min(int(home)%l.slabs*l.lanes, l.ways)
	near, far := counts[first:], counts[:first]
	oldest := min(smallestCount(near, 0), smallestCount(far, len(near)))
	order := int(uint32(oldest))
	if order < len(near) {
		return start + first + order
	}
	return start + order - len(near)
}

// smallestCount returns the smallest count above its place, the first place counting as first. Four comparisons at a
// time do not wait for each other.
func smallestCount(counts []uint32, first int) uint64 {
	place := uint64(first)
	a, b, c, d := uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64)
	for ; len(counts) >= 4; counts = counts[4:] {
		a = min(a, uint64(counts[0])<<32|place)
		b = min(b, uint64(counts[1])<<32|(place+1))
		c = min(c, uint64(counts[2])<<32|(place+2))
		d = min(d, uint64(counts[3])<<32|(place+3))
		place += 4
	}
	for _, count := range counts {
		a = min(a, uint64(count)<<32|place)
		place++
	}
	return min(a, b, c, d)
}

func (l *slabLRU) counters() []policies.Counter { return nil }
