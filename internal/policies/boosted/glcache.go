package boosted

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var glCacheEntry = policies.Entry{
	Name:   "gl-cache",
	Look:   policies.Look{Color: policies.Blue, Mark: policies.Bowtie},
	Memory: policies.Memory{Fixed: 4e6, PerObject: 24, PerSlot: 24},
	Summary: "merges the segments of objects that boosted trees, trained during the replay, expect to be worth least, " +
		"and evicts half of their objects",
	Source: "Yang, Mao, Yue, Rashmi, GL-Cache: Group-level learning for efficient and high-performance caching, FAST 2023",
	Params: []policies.Param{
		{Name: "segment-size", Default: 100, Min: 2, Max: 1 << 20, Doc: "most objects of a segment; in small caches a " +
			"segment has at most a fiftieth of the residents, but 2"},
		{Name: "n-merge", Default: 2, Min: 2, Max: 100, Doc: "segments that are merged into one; as many objects stay as " +
			"one of them has on average"},
		{Name: "merge-consecutive-segs", Default: true, Doc: "the segment that is worth least is merged with those behind " +
			"it; false: with those that are worth least after it"},
		{Name: "rank-intvl", Default: 0.02, Min: 0.0001, Max: 1, Doc: "share of the ranked segments after whose merging " +
			"segments are ranked again"},
		{Name: "retrain-intvl", Default: 0, Min: 0, Max: 1 << 40, Doc: "requests from one training to the next; 0: " +
			"10 times the number of residents"},
		{Name: "trees", Default: 20, Min: 1, Max: 10_000, Doc: "most trees of a model; training ends when the error on a " +
			"tenth of the samples falls no further"},
		{Name: "depth", Default: 6, Min: 1, Max: 10, Doc: "most splits from the root of a tree to a leaf"},
		{Name: "rate", Default: 0.3, Min: 0.001, Max: 1, Doc: "learning rate"},
	},
	Metrics: []metric.Metric{predict.TrainingsMetric, predict.WorkMetric, mergesMetric, rankingsMetric},
	New:     func(c policies.Config) (policies.Policy, error) { return newGLCache(c) },
}

// Metrics of the policy.
var (
	mergesMetric = metric.Metric{Name: "segment_merges", Unit: metric.Count,
		Doc: "times that segments were merged into one"}
	rankingsMetric = metric.Metric{Name: "segment_rankings", Unit: metric.Count, Better: metric.Lower,
		Doc: "times that all segments were ranked by what a model expects them to be worth"}
)

const (
	// segmentsPerCache is how many segments there are at least, where a segment can be small enough.
	segmentsPerCache = 50
	// autoRetraining is the interval between trainings as a multiple of the residents.
	autoRetraining = 10
	// mostSnapshots is how many segments a model is trained on at most, N_MAX_TRAINING_DATA of the authors' program.
	mostSnapshots = 8192
	// leastValidated is the number of samples from which on a tenth of them is held back.
	leastValidated = 1000
	// stableTrees ends a training: so many trees have not lowered the error on what was held back.
	stableTrees = 3
	// utilityScale keeps labels in the range of the authors' program.
	utilityScale = 1e6
)

// groupFeatures are the features of a segment. The paper also has the rate of requests and that of writes when it was
// made: with time counted in requests the first is 1, and the second the miss ratio.
var groupFeatures = []string{"age", "mean_size", "hits", "active", "miss_ratio"}

// segment is a group of objects that were loaded one after another, or what merging has left of several.
type segment struct {
	prev, next int // in the chain, 0 at its ends
	objects    int
	bytes      int64
	created    int32
	hits       int32 // since then
	active     int32 // objects that were hit since then
	missRatio  float64
	worth      float64 // as the model expects it, when segments were last ranked
	rank       int     // 1 + its place among the ranked; 0: it has none
}

// pendingList is the list of objects that a merge has given up, and which are the next victims. Segment i has list i.
const pendingList = 0

// glCache keeps objects in a chain of segments, in the order in which they were begun; the last one is open, and
// receives what is loaded. When there is no room, segments are merged into one, where the oldest of them was: the
// objects with the largest score stay, the others are pending, which is to say that they are the next victims. The
// paper evicts these at once; here they leave one by one, as there must be room, and one that is requested before is
// as if it were loaded again. The clock counts requests.
type glCache struct {
	now      int32
	objects  dense.Lists // of a segment, the one that came first in front
	of       []uint32    // per object: its segment, 0 if it is pending or not resident
	last     []int32     // per object: time of its last request
	isActive []bool      // per object: hit since its segment was made
	sizes    dense.Charges
	present  int // residents
	pending  int

	segments    []segment // none at 0
	unused      []int
	first, open int
	scan        int // before the first model: the next segment to merge, 0 for the first

	ranked   []int // segments by worth; 0: it is gone
	next     int   // in ranked
	rows     []float64
	worth    []float64
	snapshot snapshot
	model    *gbm.Model
	options  gbm.Options
	merging  []int             // the segments that are merged
	keeping  []policies.Object // the objects in them, the ones to keep in front

	size, together int
	consecutive    bool
	rankShare      float64
	interval       int64 // between trainings; 0: follows the residents
	merges         int64
	rankings       int64
	trainings      int64
	work           int64
}

// snapshot has the segments as of one moment, and what the requests since then have shown them to be worth.
type snapshot struct {
	at      int32
	due     int32 // when the next training is
	taken   bool
	rows    []float64
	utility []float64
	skip    []int32  // per row: first requests that do not count, since so many objects stay when it is merged
	row     []uint32 // per object: 1 + the row of the segment that it was in, 0 if none
}

func newGLCache(c policies.Config) (*glCache, error) {
	v := c.Params
	o := gbm.Defaults()
	o.Trees, o.MaxDepth, o.LearningRate = v.Int("trees"), v.Int("depth"), v.Float("rate")
	o.Leaves, o.MinLeafRows, o.Lambda = 1<<o.MaxDepth, 1, 1
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("gl-cache: %w", err)
	}
	return &glCache{
		objects:     dense.NewLists(c.Objects, 1),
		of:          make([]uint32, c.Objects),
		last:        make([]int32, c.Objects),
		isActive:    make([]bool, c.Objects),
		sizes:       dense.NewCharges(c.Objects, c.Unit),
		segments:    make([]segment, 1),
		snapshot:    snapshot{row: make([]uint32, c.Objects)},
		options:     o,
		size:        v.Int("segment-size"),
		together:    v.Int("n-merge"),
		consecutive: v.Bool("merge-consecutive-segs"),
		rankShare:   v.Float("rank-intvl"),
		interval:    int64(v.Int("retrain-intvl")),
	}, nil
}

func (p *glCache) Hit(r policies.Request) {
	p.request(r)
	o := r.Object
	if p.of[o] == 0 { // a merge has given it up: it is as if it were loaded again
		p.objects.Unlink(o)
		p.pending--
		p.append(o)
		return
	}
	s := &p.segments[p.of[o]]
	s.hits++
	if !p.isActive[o] {
		p.isActive[o] = true
		s.active++
	}
}

func (p *glCache) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.request(r)
	}
}

// request counts a request, and trains if it is time to.
func (p *glCache) request(r policies.Request) {
	p.now++
	p.snapshot.count(r.Object, p.now, r.Size)
	p.last[r.Object] = p.now
	if p.snapshot.taken && p.now >= p.snapshot.due {
		p.train()
		p.takeSnapshot()
	}
}

// count adds to the utility of the segment that an object was in: the inverse of the time since then, and of its size.
// The paper's equation has each object once; as in its authors' program, each request counts.
func (s *snapshot) count(o policies.Object, now int32, size int64) {
	row := s.row[o]
	if row == 0 {
		return
	}
	if s.skip[row-1]--; s.skip[row-1] < 0 {
		s.utility[row-1] += utilityScale / float64(now-s.at+1) / float64(max(size, 1))
	}
}

func (p *glCache) Insert(r policies.Request) {
	p.sizes.Set(r.Object, r.Size)
	p.present++
	if r.Reason != policies.Demand {
		p.last[r.Object] = p.now
	}
	p.append(r.Object)
}

// append puts an object at the end of the open segment, or of a new one.
func (p *glCache) append(o policies.Object) {
	if p.open == 0 || p.segments[p.open].objects >= min(max(p.present/segmentsPerCache, 2), p.size) {
		p.begin()
	}
	p.put(o, p.open)
}

// begin closes the open segment, and opens another one behind it.
func (p *glCache) begin() {
	last := p.open
	if last != 0 {
		s := &p.segments[last]
		s.missRatio = float64(s.objects) / float64(max(p.now-s.created, 1))
	}
	p.open = p.newSegment()
	p.link(p.open, last, 0)
}

// put makes an object the last of a segment.
func (p *glCache) put(o policies.Object, at int) {
	s := &p.segments[at]
	s.objects++
	s.bytes += p.sizes.Of(o)
	p.objects.PushBack(at, o)
	p.of[o], p.isActive[o] = uint32(at), false
}

// newSegment returns an empty segment that is in no chain.
func (p *glCache) newSegment() (at int) {
	if n := len(p.unused); n > 0 {
		at, p.unused = p.unused[n-1], p.unused[:n-1]
	} else {
		p.segments = append(p.segments, segment{})
		at = p.objects.Add()
	}
	p.segments[at] = segment{created: p.now}
	return at
}

// link puts a segment between two neighbours, 0 for none.
func (p *glCache) link(at, prev, next int) {
	p.segments[at].prev, p.segments[at].next = prev, next
	if prev != 0 {
		p.segments[prev].next = at
	} else {
		p.first = at
	}
	if next != 0 {
		p.segments[next].prev = at
	}
}

// unlink removes an empty segment.
func (p *glCache) unlink(at int) {
	s := p.segments[at]
	if s.prev != 0 {
		p.segments[s.prev].next = s.next
	} else {
		p.first = s.next
	}
	if s.next != 0 {
		p.segments[s.next].prev = s.prev
	}
	if at == p.open {
		p.open = 0
	}
	if at == p.scan {
		p.scan = s.next
	}
	if s.rank != 0 {
		p.ranked[s.rank-1] = 0
	}
	p.unused = append(p.unused, at)
}

func (p *glCache) Victim(policies.Request) policies.Object {
	if !p.snapshot.taken {
		p.takeSnapshot()
	}
	if p.pending == 0 {
		p.merge()
	}
	o, _ := p.objects.Front(pendingList)
	p.objects.Unlink(o)
	p.pending--
	p.present--
	return o
}

// Remove takes an object out of its segment, and removes an empty segment. The open one stays.
func (p *glCache) Remove(o policies.Object) {
	p.present--
	p.objects.Unlink(o)
	at := int(p.of[o])
	if at == 0 {
		p.pending--
		return
	}
	p.of[o] = 0
	s := &p.segments[at]
	s.objects--
	s.bytes -= p.sizes.Of(o)
	if p.isActive[o] {
		s.active--
	}
	if s.objects == 0 && at != p.open {
		p.unlink(at)
	}
}

// Resized implements policies.SizeFollower.
func (p *glCache) Resized(o policies.Object, size int64) {
	by := p.sizes.Change(o, size)
	if at := p.of[o]; at != 0 {
		p.segments[at].bytes += by
	}
}

func (p *glCache) Grow(objects int) {
	p.objects.Grow(objects)
	p.of = dense.Grown(p.of, objects)
	p.last = dense.Grown(p.last, objects)
	p.isActive = dense.Grown(p.isActive, objects)
	p.sizes.Grow(objects)
	p.snapshot.row = dense.Grown(p.snapshot.row, objects)
}

func (p *glCache) Counters() []policies.Counter {
	return []policies.Counter{
		policies.Count(predict.TrainingsMetric, float64(p.trainings)),
		policies.Count(predict.WorkMetric, float64(p.work)),
		policies.Count(mergesMetric, float64(p.merges)),
		policies.Count(rankingsMetric, float64(p.rankings)),
	}
}

// merge makes some objects pending: those of merged segments that do not stay, or a whole segment if there are not
// enough to merge.
func (p *glCache) merge() {
	if !p.choose() {
		p.giveUp(p.leastSegment())
		return
	}
	p.merges++
	p.keeping = p.keeping[:0]
	before := p.newSegment()
	p.link(before, p.segments[p.merging[0]].prev, p.merging[0])
	ratio := 0.0
	for _, at := range p.merging {
		ratio += p.segments[at].missRatio
		p.keeping = p.appendObjects(p.keeping, at)
	}
	p.segments[before].missRatio = ratio / float64(len(p.merging))
	// The score of an object is the inverse of its size and of the time since its last request. Ties go to the older
	// segment.
	slices.SortStableFunc(p.keeping, func(a, b policies.Object) int { return cmp.Compare(p.cost(a), p.cost(b)) })
	stay := len(p.keeping) / len(p.merging)
	for i, o := range p.keeping {
		p.objects.Unlink(o)
		if i < stay {
			p.put(o, before)
			continue
		}
		p.suspend(o)
	}
	for _, at := range p.merging {
		p.unlink(at)
	}
	if stay == 0 {
		p.unlink(before)
	}
}

// cost is the inverse of an object's score.
func (p *glCache) cost(o policies.Object) int64 {
	return int64(p.now-p.last[o]+1) * max(p.sizes.Of(o), 1)
}

func (p *glCache) appendObjects(to []policies.Object, at int) []policies.Object {
	for o, ok := p.objects.Front(at); ok; o, ok = p.objects.After(o) {
		to = append(to, o)
	}
	return to
}

// suspend makes an object, which is on no list, pending.
func (p *glCache) suspend(o policies.Object) {
	p.objects.PushBack(pendingList, o)
	p.of[o] = 0
	p.pending++
}

// giveUp makes all objects of a segment pending.
func (p *glCache) giveUp(at int) {
	p.keeping = p.appendObjects(p.keeping[:0], at)
	for _, o := range p.keeping {
		p.objects.Unlink(o)
		p.suspend(o)
	}
	p.unlink(at)
}

// mergeable reports whether a segment and those behind it can be merged: none of them is open.
func (p *glCache) mergeable(at int) bool {
	for range p.together {
		if at == 0 || at == p.open {
			return false
		}
		at = p.segments[at].next
	}
	return true
}

// leastSegment returns the segment that leaves as a whole: the first one with objects.
func (p *glCache) leastSegment() int {
	at := p.first
	for p.segments[at].objects == 0 {
		at = p.segments[at].next
	}
	return at
}

// choose sets merging to the segments to merge, and reports whether there are enough of them. Before the first model
// these are consecutive ones, from the beginning of the chain to its end and again.
func (p *glCache) choose() bool {
	p.merging = p.merging[:0]
	if p.model != nil {
		return p.chooseRanked()
	}
	at := p.scan
	if !p.mergeable(at) {
		at = p.first
	}
	if !p.mergeable(at) {
		return false
	}
	for range p.together {
		p.merging = append(p.merging, at)
		at = p.segments[at].next
	}
	p.scan = at
	return true
}
