package boosted

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lhrEntry = policies.Entry{
	Name:   "lhr",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Bowtie},
	Memory: policies.Memory{Fixed: 3e7, PerObject: 110, PerSlot: 30},
	Summary: "admits and keeps what boosted trees, trained during the replay, expect a bound on all online policies to " +
		"have in its cache",
	Source: "Yan, Li, Towsley, Learning from optimal caching for content delivery, CoNEXT 2021",
	Bypass: true,
	Random: true,
	Params: append([]policies.Param{
		{Name: "window", Default: 4.0, Min: 0.1, Max: 1000, Doc: "size of the different objects in a window of requests, " +
			"as a multiple of the capacity"},
		{Name: "longest", Default: 1 << 17, Min: shortestLHR, Max: 1 << 29, Doc: "most requests of a window"},
		{Name: "first", Default: 1 << 12, Min: shortestLHR, Max: 1 << 29, Doc: "most requests of the first window; each " +
			"further one may have twice as many, up to longest"},
		{Name: "threshold", Default: 0.0, Min: 0, Max: 1, Doc: "prediction from which an object is admitted; 0: after each " +
			"window, the one by which fewest requests of it would have been decided otherwise than by the bound"},
		{Name: "detect", Default: 0.002, Min: 0, Max: 10, Doc: "by how much the skew of the requests, the exponent of " +
			"Zipf's law, must have changed for another training; 0: after each window"},
		{Name: "samples", Default: 64, Min: 1, Max: 1 << 16, Doc: "resident objects drawn per eviction"},
		{Name: "batch", Default: 1 << 14, Min: shortestLHR, Max: 1 << 22, Doc: "requests of a window that a model is " +
			"trained on at most, drawn at random"},
		{Name: "deltas", Default: 20, Min: 1, Max: 64, Doc: "features: the age, and the times between the last requests"},
	}, treeParams(32)...),
	Metrics: []metric.Metric{predict.TrainingsMetric, predict.WorkMetric, windowsMetric, thresholdMetric},
	New:     func(c policies.Config) (policies.Policy, error) { return newLHR(c) },
}

// Metrics of the policy.
var (
	windowsMetric = metric.Metric{Name: "learning_windows", Unit: metric.Count,
		Doc: "windows of requests that have ended, after which a policy may have trained"}
	thresholdMetric = metric.Metric{Name: "admission_threshold", Unit: metric.Ratio, Digits: 2, Merge: metric.Apart,
		Doc: "prediction from which an object is admitted at the end"}
)

// shortestLHR is the least number of requests of a window: what a model can be trained on.
const shortestLHR = 1 << 10

// lhr divides the requests into windows. After each, it ranks the objects of the window by their requests per byte:
// what fits of the first is what the bound HRO has in its cache, if the requests to an object come at a constant rate,
// which is the hazard rate then. For each request of the window, whether its object is among these is what the trees
// learn from the features that the object had then. The clock counts requests.
type lhr struct {
	now     int32
	last    []int32     // per object: time of its last request; 0: none that is remembered
	recent  dense.Lists // of the objects with one, last requested in front
	history histories
	sizes   dense.Charges

	predicted []float32   // per object: by the last model, at its last request
	recency   dense.Lists // residents, last requested or loaded in front
	residents dense.Set   // those below the threshold in front

	began   int32 // the last request before the window
	horizon int32 // age at which an object is forgotten
	seen    []policies.Object
	counts  []uint32 // per object: its requests in the window
	bytes   int64    // of what was seen
	bound   []bool   // per object, while a window ends: it is in the cache of HRO
	rows    []float64
	rowsOf  []policies.Object
	row     []float64

	names     []string
	options   gbm.Options
	model     *gbm.Model
	skew      float64 // of the window that the model is from
	threshold float64
	fixed     bool
	draws     random.Draws

	windows, trainings, work int64
	capacity                 int64
	window, detect           float64
	samples, batch           int
	longest, limit           int32 // most requests of any window, and of this one
	scores                   []lhrScore
}

// lhrScore is a request of the window with its prediction.
type lhrScore struct {
	prediction float64
	bound      bool
}

func newLHR(c policies.Config) (*lhr, error) {
	v, o := c.Params, treeOptions(c)
	if err := o.Check(); err != nil {
		return nil, err
	}
	names := featureNames(v.Int("deltas")-1, 0)
	return &lhr{
		last: make([]int32, c.Objects), recent: dense.NewLists(c.Objects, 1),
		history: newHistories(c.Objects, v.Int("deltas")-1, 0), sizes: dense.NewCharges(c.Objects, c.Unit),
		predicted: make([]float32, c.Objects), residents: dense.NewSet(c.Objects),
		recency: dense.NewLists(c.Objects, 1),
		horizon: math.MaxInt32, counts: make([]uint32, c.Objects), bound: make([]bool, c.Objects),
		names: names, row: make([]float64, len(names)), options: o,
		threshold: v.Float("threshold"), fixed: v.Float("threshold") > 0, draws: random.NewDraws(c.Seed),
		capacity: c.Capacity, window: v.Float("window"), detect: v.Float("detect"), samples: v.Int("samples"),
		batch: v.Int("batch"), longest: int32(v.Int("longest")),
		limit: int32(min(v.Int("first"), v.Int("longest"))),
	}, nil
}

func (p *lhr) Resize(capacity int64) { p.capacity = capacity }

func (p *lhr) Grow(objects int) {
	p.last = dense.Grown(p.last, objects)
	p.recent.Grow(objects)
	p.recency.Grow(objects)
	p.history.grow(objects)
	p.sizes.Grow(objects)
	p.predicted = dense.Grown(p.predicted, objects)
	p.residents.Grow(objects)
	p.counts, p.bound = dense.Grown(p.counts, objects), dense.Grown(p.bound, objects)
}

func (p *lhr) Hit(r policies.Request) {
	p.request(r.Object)
	p.recency.MoveToFront(0, r.Object)
	p.mark(r.Object)
}

func (p *lhr) Miss(r policies.Request) {
	p.sizes.Set(r.Object, r.Size)
	if r.Reason == policies.Demand {
		p.request(r.Object)
	}
}

// request predicts for an object, enters its request into the window, and ends that if it is time.
func (p *lhr) request(o policies.Object) {
	p.now++
	p.describe(o)
	p.predict(o)
	p.note(o)
	if p.last[o] != 0 {
		p.history.add(o, p.now-p.last[o])
		p.recent.MoveToFront(0, o)
	} else {
		p.recent.PushFront(0, o)
	}
	p.last[o] = p.now
	length := p.now - p.began
	if length >= p.limit || length >= shortestLHR && float64(p.bytes) >= p.window*float64(p.capacity) {
		p.endWindow()
	}
}

// describe fills the row with the features of an object before its request: the age is the last time between two.
func (p *lhr) describe(o policies.Object) {
	age := p.now - p.last[o]
	p.history.fill(o, age, p.horizon, p.row)
	if p.last[o] == 0 {
		p.row[0] = missing
	}
	p.row[len(p.row)-1] = float64(p.sizes.Of(o))
}

func (p *lhr) predict(o policies.Object) {
	if p.model != nil {
		p.predicted[o] = float32(p.model.Predict(p.row))
	}
}

// note counts a request in the window, and keeps its row if it is drawn.
func (p *lhr) note(o policies.Object) {
	if p.counts[o]++; p.counts[o] == 1 {
		p.seen = append(p.seen, o)
		p.bytes += p.sizes.Of(o)
	}
	if len(p.rowsOf) < p.batch {
		p.rowsOf = append(p.rowsOf, o)
		p.rows = append(p.rows, p.row...)
		return
	}
	if i := int(p.draws.Below(uint64(p.now - p.began))); i < p.batch {
		p.rowsOf[i] = o
		copy(p.rows[i*len(p.row):], p.row)
	}
}

// endWindow lets the trees learn what the bound would have had in its cache, and begins another window.
func (p *lhr) endWindow() {
	p.windows++
	if skew := p.rank(); p.model == nil || p.detect == 0 || math.Abs(skew-p.skew) > p.detect {
		p.skew = skew
		p.fillBound()
		p.train()
	}
	for _, o := range p.seen {
		p.counts[o], p.bound[o] = 0, false
	}
	p.seen, p.rowsOf, p.rows, p.bytes = p.seen[:0], p.rowsOf[:0], p.rows[:0], 0
	p.horizon = 2 * min(p.now-p.began, math.MaxInt32/4)
	p.began = p.now
	p.limit = min(2*p.limit, p.longest)
	p.forget()
}

// rank orders the objects of the window by their requests, and returns the exponent of Zipf's law that fits these.
func (p *lhr) rank() (skew float64) {
	slices.SortFunc(p.seen, func(a, b policies.Object) int {
		return cmp.Or(cmp.Compare(p.counts[b], p.counts[a]), cmp.Compare(a, b))
	})
	var meanX, meanY, xx, xy float64
	n := float64(len(p.seen))
	for i, o := range p.seen {
		meanX += random.Log(float64(i+1)) / n
		meanY += random.Log(float64(p.counts[o])) / n
	}
	for i, o := range p.seen {
		x := random.Log(float64(i+1)) - meanX
		xx += float64(x * x)
		xy += float64(x * (random.Log(float64(p.counts[o])) - meanY))
	}
	if xx == 0 {
		return 0
	}
	return -xy / xx
}

// fillBound fills a cache with the objects of the window that have most requests per byte.
func (p *lhr) fillBound() {
	slices.SortStableFunc(p.seen, func(a, b policies.Object) int {
		return cmp.Compare(float64(p.counts[b])/float64(p.sizes.Of(b)), float64(p.counts[a])/float64(p.sizes.Of(a)))
	})
	room := p.capacity
	for _, o := range p.seen {
		if size := p.sizes.Of(o); size <= room {
			room -= size
			p.bound[o] = true
		}
	}
}

func (p *lhr) train() {
	data := sure(gbm.NewData(p.names, len(p.rowsOf)))
	width := len(p.row)
	for i, o := range p.rowsOf {
		label := 0.0
		if p.bound[o] {
			label = 1
		}
		if err := data.Add(p.rows[i*width:][:width], label); err != nil {
			panic("trees of a policy: sample: " + err.Error())
		}
	}
	p.model = trained(p.options, data)
	p.trainings++
	p.work += int64(len(p.rowsOf)) * int64(width) * int64(p.options.Trees)
	if !p.fixed {
		p.tune()
	}
}

// tune sets the threshold that decides most requests of the window as the bound does: below it are those that it would
// not have in its cache. Ties go to the lowest threshold.
func (p *lhr) tune() {
	p.scores = p.scores[:0]
	wrong := 0 // if nothing is admitted
	for i, o := range p.rowsOf {
		p.scores = append(p.scores, lhrScore{p.model.Predict(p.rows[i*len(p.row):][:len(p.row)]), p.bound[o]})
		if p.bound[o] {
			wrong++
		}
	}
	slices.SortFunc(p.scores, func(a, b lhrScore) int { return cmp.Compare(b.prediction, a.prediction) })
	best := wrong
	p.threshold = 1
	for i, s := range p.scores {
		if wrong++; s.bound {
			wrong -= 2
		}
		last := i == len(p.scores)-1 || p.scores[i+1].prediction < s.prediction
		if last && wrong <= best {
			best, p.threshold = wrong, s.prediction
		}
	}
}

// forget forgets the objects that were not requested for two windows and are not resident.
func (p *lhr) forget() {
	o, ok := p.recent.Back(0)
	for ok && p.now-p.last[o] > p.horizon {
		newer, more := p.recent.Before(o)
		if !p.residents.Has(o) {
			p.recent.Unlink(o)
			p.history.clear(o)
			p.last[o] = 0
		}
		o, ok = newer, more
	}
}

// admits reports whether the object of a request may take the place of others.
func (p *lhr) admits(o policies.Object) bool {
	return p.model == nil || p.predicted[o] >= float32(p.threshold)
}

// mark puts o, which is resident, in front if it is below the threshold.
func (p *lhr) mark(o policies.Object) {
	low := !p.admits(o)
	switch front := int(p.residents.At[o]) <= p.residents.Front; {
	case low && !front:
		p.residents.ToFront(o)
	case !low && front:
		p.residents.ToBack(o)
	}
}

// Victim refuses what is below the threshold. It evicts, of a sample of the residents that are below it, or of all if
// none is, the one with the lowest prediction by size and by the time since its last request.
func (p *lhr) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Demand && !p.admits(r.Object) {
		return r.Object
	}
	from := p.residents.All
	if p.model == nil {
		oldest, _ := p.recency.Back(0)
		return p.evict(oldest)
	}
	if p.residents.Front > 0 {
		from = from[:p.residents.Front]
	}
	var victim policies.Object
	worst := math.Inf(1)
	for i := range min(p.samples, len(from)) {
		o := from[i]
		if len(from) > p.samples {
			o = from[p.draws.Below(uint64(len(from)))]
		}
		worth := max(0, float64(p.predicted[o])) / float64(p.sizes.Of(o)) / float64(p.now-p.last[o]+1)
		if worth < worst || worth == worst && p.last[o] < p.last[victim] {
			victim, worst = o, worth
		}
	}
	return p.evict(victim)
}

func (p *lhr) evict(o policies.Object) policies.Object {
	p.Remove(o)
	return o
}

func (p *lhr) Insert(r policies.Request) {
	o := r.Object
	p.sizes.Set(o, r.Size)
	p.residents.Add(o)
	p.recency.PushFront(0, o)
	p.mark(o)
}

func (p *lhr) Remove(o policies.Object) {
	p.residents.Remove(o)
	p.recency.Unlink(o)
}

// Resized implements policies.SizeFollower.
func (p *lhr) Resized(o policies.Object, size int64) { p.sizes.Set(o, size) }

// Counters implements policies.Reporter.
func (p *lhr) Counters() []policies.Counter {
	return []policies.Counter{
		policies.Count(predict.TrainingsMetric, float64(p.trainings)),
		policies.Count(predict.WorkMetric, float64(p.work)),
		policies.Count(windowsMetric, float64(p.windows)),
		policies.Count(thresholdMetric, p.threshold),
	}
}
