package boosted

import (
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Values of the parameter objective.
const (
	byteMissRatio   = "byte-miss-ratio"
	objectMissRatio = "object-miss-ratio"
)

var threeLEntry = policies.Entry{
	Name:   "3l-cache",
	Look:   policies.Look{Color: policies.Vermilion, Mark: policies.Bowtie},
	Memory: policies.Memory{Fixed: 8e6, PerObject: 44, PerSlot: 60},
	Summary: "predicts with boosted trees, trained during the replay, when a few residents at either end of the LRU " +
		"list are requested next, and evicts half of these before it predicts again",
	Source: "Zhou, Niu, Xiong, Fang, Wang, 3L-Cache: Low overhead and precise learning-based eviction policy for " +
		"caches, FAST 2025",
	Random: true,
	Params: slices.Concat([]policies.Param{
		{Name: "hsw", Default: 2, Min: 2, Max: 6, Doc: "history sliding window: objects that are remembered, resident or " +
			"not, as a multiple of the residents, at first; it grows to 6 while evicted objects are requested often enough"},
		{Name: "sample-rate", Default: 1024, Min: 1, Max: 1 << 16, Doc: "residents from the old end of the LRU list for " +
			"which predictions are made at once; at most a hundredth of the residents and eviction-rate"},
		{Name: "eviction-rate", Default: 2, Min: 1, Max: 100, Doc: "one of so many predicted residents is evicted before " +
			"predictions are made again"},
		{Name: "sampling-lru", Default: 1, Min: 1, Max: 100, Doc: "share of the LRU list, in percent, that is sampled " +
			"whatever its requests, at first"},
		{Name: "reserved-space", Default: 2, Min: 1, Max: 100, Doc: "share of the cache, in percent, that new objects may " +
			"take before predictions are made for them, at first"},
		{Name: "objective", Default: byteMissRatio, Choices: []string{byteMissRatio, objectMissRatio}, Doc: "what is " +
			"evicted first: the object that is expected last; or the one with the largest product of expected time and size"},
	}, learnerParams(1<<16, 16)),
	Check:   checkBatches,
	Metrics: []metric.Metric{predict.TrainingsMetric, predict.WorkMetric, candidatesMetric, labelledMetric},
	New:     func(c policies.Config) (policies.Policy, error) { return newThreeL(c) },
}

const (
	threeLDeltas = 3 // times between requests that are features
	// largestWindow is the most that hsw becomes, grownAfter how many requests decide on that, and grownFor which share
	// of the hits evicted objects must add per multiple.
	largestWindow = 6
	grownAfter    = 1_000_000
	grownFor      = 0.01
	// demotedAtOnce is how many new objects are predicted at once, as a multiple of sample-rate.
	demotedAtOnce = 1.5
	// frequencyClasses are powers of two by which the requests of evicted objects are counted.
	frequencyClasses = 17
	residentList     = 0
	ghostList        = 1
)

// threeL is 3L-Cache. Predictions are made for residents from the old end of the LRU list on, a pointer moving towards
// the other end, and for objects that were loaded a while ago and not requested since. The one that is expected last is
// evicted, until half of the predicted ones are. Its clock counts requests, from 1.
type threeL struct {
	now     int32
	tracked dense.Set   // the residents in front, and ghosts
	lists   dense.Lists // the residents, last requested or loaded in front; the ghosts, last evicted in front
	last    []int32     // per tracked object: time of its last request
	sampled []int32     // per tracked object: when it was drawn as a sample, 0 if it has none
	freq    []uint16    // per tracked object: requests
	unasked []bool      // per tracked object: loaded, and never requested
	sizes   dense.Charges
	used    int64 // by the residents
	history histories

	learner     learner
	seen        *gbm.Model // whose predictions the heap has
	born        int32      // when it was trained
	draws       random.Draws
	sampling    bool
	boundary    int32 // label of what left the window, beside its age; the longest age of before the last training
	nextLongest int32

	predicted  dense.KeyedHeap // the one that is expected last on top
	left       int             // evictions before predictions are made again
	pointer    policies.Object // next to be sampled; NoObject: the old end
	scanned    int             // residents that the pointer has passed in this round
	length     int             // residents at the beginning of the round
	newcomers  []policies.Object
	firstNew   int // in newcomers
	newUsed    int64
	candidates []policies.Object
	rows       []float64
	scores     []float64

	window        int    // hsw
	full          bool   // there were as many ghosts as it permits
	requests      int64  // since then
	hits, tracing int64  // of them to residents, and to tracked objects
	least         uint16 // requests up to which a resident is sampled wherever it is
	lruShare      int    // percent
	reserved      int64  // percent
	// evicted and sampled objects of this round: from where the pointer is, and, once it is behind the share of the list
	// that is always sampled, from that
	evictedNow, sampledNow, evictedLRU, sampledLRU int64
	atPointer                                      int32 // time of the last request of the last sampled
	evictedBy                                      [frequencyClasses]int64

	sampleRate, evictionRate int
	objects                  bool // the objective is the object miss ratio
	scored                   int64
}

// threeLNames are the features: the age, the times between the last requests, the size, and the number of requests.
func threeLNames() []string {
	names := featureNames(threeLDeltas, 0)
	return append(names[:1+threeLDeltas], "size", "requests")
}

func newThreeL(c policies.Config) (*threeL, error) {
	v := c.Params
	l, err := newLearner(c, "3l-cache", threeLNames())
	if err != nil {
		return nil, err
	}
	p := &threeL{
		tracked: dense.NewSet(c.Objects), lists: dense.NewLists(c.Objects, 2), last: make([]int32, c.Objects),
		sampled: make([]int32, c.Objects), freq: make([]uint16, c.Objects), unasked: make([]bool, c.Objects),
		sizes: dense.NewCharges(c.Objects, c.Unit), history: newHistories(c.Objects, threeLDeltas, 0), learner: l,
		draws: random.NewDraws(c.Seed), predicted: dense.NewKeyedHeap(c.Objects), pointer: policies.NoObject,
		window: v.Int("hsw"), least: 1, lruShare: v.Int("sampling-lru"), reserved: int64(v.Int("reserved-space")),
		sampleRate: v.Int("sample-rate"), evictionRate: v.Int("eviction-rate"),
		objects: v.Text("objective") == objectMissRatio,
	}
	if p.objects {
		p.least = 1<<16 - 1
	}
	return p, nil
}

func (p *threeL) isResident(o policies.Object) bool {
	return p.tracked.Has(o) && int(p.tracked.At[o]) <= p.tracked.Front
}

func (p *threeL) Hit(r policies.Request) { p.request(r.Object) }

func (p *threeL) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.request(r.Object)
	}
}

// request counts a request, labels the sample of its object, and draws another one.
func (p *threeL) request(o policies.Object) {
	p.now++
	if p.full {
		p.requests++
	}
	if p.tracked.Has(o) {
		p.again(o)
	}
	if n := len(p.tracked.All); p.sampling && n > 0 {
		if drawn := p.tracked.All[p.draws.Below(uint64(n))]; p.sampled[drawn] == 0 {
			p.sampled[drawn] = p.now
		}
	}
	for p.forgetOldest() {
	}
}

// again follows a request to a tracked object.
func (p *threeL) again(o policies.Object) {
	resident := p.isResident(o)
	if p.full {
		p.tracing++
		if resident {
			p.hits++
		}
	}
	if at := p.sampled[o]; at != 0 {
		p.label(o, int64(p.now-at))
	}
	if !p.unasked[o] {
		p.history.add(o, p.now-p.last[o])
		p.freq[o] += uint16(min(1, 1<<16-1-int(p.freq[o])))
	}
	p.unasked[o] = false
	p.last[o] = p.now
	if resident {
		p.pass(o)
		p.predicted.Remove(o)
		p.lists.MoveToFront(residentList, o)
	}
}

// label ends the wait of an object's sample. With a model only a quarter of the samples is learned from.
func (p *threeL) label(o policies.Object, time int64) {
	at := p.sampled[o]
	p.sampled[o] = 0
	if p.learner.model != nil && p.draws.Below(4) != 0 {
		return
	}
	p.describe(o, at, p.learner.row)
	p.learner.add(p.learner.row, time)
	if p.learner.model != p.seen {
		p.followModel()
	}
}

// describe fills a row with the features of a tracked object as of a time.
func (p *threeL) describe(o policies.Object, at int32, row []float64) {
	p.history.fill(o, at-p.last[o], 0, row)
	row[len(row)-2], row[len(row)-1] = float64(p.sizes.Of(o)), float64(p.freq[o])
}

// followModel drops what another model has predicted, and adapts the window.
func (p *threeL) followModel() {
	p.seen, p.born, p.boundary = p.learner.model, p.now, p.nextLongest
	p.predicted.Clear()
	if p.requests <= grownAfter || !p.full {
		return
	}
	ghostHits := p.tracing - p.hits
	if ghostHits > 0 && float64(ghostHits) > grownFor*float64(p.hits*int64(p.window-1)) {
		if int64(p.window-1) < (p.requests-p.hits)/ghostHits && p.window < largestWindow {
			p.window++
			p.full = false
		}
	}
	p.requests, p.hits, p.tracing = 0, 0, 0
}

// forgetOldest forgets the ghost that was evicted first if there are too many, and reports whether there were.
func (p *threeL) forgetOldest() bool {
	ghosts := len(p.tracked.All) - p.tracked.Front
	if ghosts == 0 || ghosts < p.tracked.Front*(p.window-1)+2 {
		return false
	}
	p.full = true
	o := p.lists.PopBack(ghostList)
	age := p.now - p.last[o]
	if p.sampled[o] != 0 {
		p.nextLongest = max(p.nextLongest, age)
		p.label(o, int64(p.boundary)+int64(age))
	}
	p.sampled[o] = 0
	p.history.clear(o)
	p.tracked.Remove(o)
	p.freq[o] = 0
	return true
}

// pass moves the pointer off a resident that is about to move or to leave.
func (p *threeL) pass(o policies.Object) {
	if o == p.pointer {
		p.pointer = p.after(o)
	}
}

// after returns the resident behind another one on the way of the pointer, or NoObject at the end of the list.
func (p *threeL) after(o policies.Object) policies.Object {
	if next, ok := p.lists.Before(o); ok {
		return next
	}
	return policies.NoObject
}

func (p *threeL) Insert(r policies.Request) {
	o := r.Object
	if p.tracked.Has(o) {
		p.lists.Unlink(o) // a ghost
	} else {
		p.tracked.Add(o)
		p.last[o], p.freq[o] = p.now, 1
		p.unasked[o] = r.Reason != policies.Demand
	}
	p.sizes.Set(o, r.Size)
	p.tracked.ToFront(o)
	p.lists.PushFront(residentList, o)
	p.used += r.Size
	if p.learner.model != nil {
		p.newUsed += r.Size
		p.newcomers = append(p.newcomers, o)
	}
}

func (p *threeL) Victim(policies.Request) policies.Object {
	p.sampling = true
	v := p.choose()
	p.leave(v)
	return v
}

// choose returns the least recently used object before there is a model, and the predicted one that is expected last
// with one.
func (p *threeL) choose() policies.Object {
	oldest, _ := p.lists.Back(residentList)
	if p.learner.model == nil {
		return oldest
	}
	if p.left <= 0 || p.predicted.Len() == 0 {
		p.left = p.predict() / p.evictionRate
	}
	p.left--
	if p.predicted.Len() == 0 {
		return oldest
	}
	v, _ := p.predicted.Least()
	p.evictedBy[bits.Len16(p.freq[v])]++
	if p.last[v] <= p.atPointer {
		p.evictedNow++
	}
	return v
}

func (p *threeL) Remove(o policies.Object) { p.leave(o) }

// leave makes a resident a ghost.
func (p *threeL) leave(o policies.Object) {
	p.pass(o)
	p.predicted.Remove(o)
	p.lists.Unlink(o)
	p.lists.PushFront(ghostList, o)
	p.tracked.ToBack(o)
	p.used -= p.sizes.Of(o)
}

// Resized implements policies.SizeFollower.
func (p *threeL) Resized(o policies.Object, size int64) { p.used += p.sizes.Change(o, size) }

func (p *threeL) Grow(objects int) {
	p.tracked.Grow(objects)
	p.lists.Grow(objects)
	p.last = dense.Grown(p.last, objects)
	p.sampled = dense.Grown(p.sampled, objects)
	p.freq = dense.Grown(p.freq, objects)
	p.unasked = dense.Grown(p.unasked, objects)
	p.sizes.Grow(objects)
	p.history.grow(objects)
	p.predicted.Grow(objects)
}

func (p *threeL) Counters() []policies.Counter {
	return []policies.Counter{
		policies.Count(predict.TrainingsMetric, float64(p.learner.trainings)),
		policies.Count(predict.WorkMetric, float64(p.learner.work)),
		policies.Count(candidatesMetric, float64(p.scored)),
		policies.Count(labelledMetric, float64(p.learner.samples)),
	}
}
