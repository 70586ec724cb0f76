package custom

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/formula"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var rankEntry = policies.Entry{
	Name:    "rank",
	Look:    policies.Look{Color: policies.Blue, Mark: policies.Star},
	Memory:  policies.Memory{PerObject: 12, PerSlot: 160},
	Summary: "evicts the object for which an expression of yours gives the lowest number",
	Source:  "the expression; its language is that of github.com/expr-lang/expr",
	Params: []policies.Param{
		{Name: "evict", Default: ofLRU, Doc: "the expression, of numbers, + - * / % **, comparisons, and or not, " +
			"a ? b : c, let x = a; b, min max abs sqrt exp log log2 pow floor ceil round, gap(k), quantile(x, 0.9), and: " +
			listed()},
		{Name: "admit", Default: "", Doc: "an expression of the same kind for an object that is missed, as if it had " +
			"just been loaded: it is loaded unless this is 0 (false) or no number"},
		{Name: "file", Default: "", File: true, Doc: "a file with the expressions, instead of both: that of evict, and " +
			"that of admit behind a line that begins with admit:, if there is one; // begins a comment"},
		{Name: "sample", Default: 64, Min: 0, Max: 1 << 20, Doc: "residents drawn per eviction, with replacement, if " +
			"ranks change without requests; all are compared if there are no more than that, or at 0"},
		{Name: "when", Default: "auto", Choices: []string{"auto", whenRequested, whenEvicting}, Doc: "when ranks are " +
			"computed. requested: at requests to the object, so that the lowest of all is found at once; evicting: at each " +
			"eviction, of a sample; auto: requested if the expression gives the same, else evicting"},
		{Name: "ties", Default: "requested", Choices: []string{"requested", tiesLoaded}, Doc: "of equal ranks, the object " +
			"that was requested, or loaded, longest ago leaves"},
		{Name: "ghosts", Default: 1.0, Min: 0, Max: 1000, Doc: "how many evicted objects are remembered for ghost, " +
			"ghost_requests and ghost_age, as a multiple of the residents"},
	},
	Check:   func(v policies.Values) error { _, err := read(v); return err },
	Resolve: resolve,
	New: func(c policies.Config) (policies.Policy, error) {
		e, err := read(c.Params)
		if err != nil {
			return nil, err
		}
		return newRanked(c, e), nil
	},
}

const (
	ofLRU = "last" // what evict is if a user writes nothing
	// the values of when and ties that are not the defaults
	whenRequested = "requested"
	whenEvicting  = "evicting"
	tiesLoaded    = "loaded"
)

// listed describes the variables.
func listed() string {
	all := make([]string, len(variables))
	for i, v := range variables {
		all[i] = v.name + " (" + v.doc + ")"
	}
	return strings.Join(all, "; ") + "; gap(k) are the requests between the k-th last request to the object and the one " +
		"before it, quantile(x, q) is that of x over the residents, estimated from a few hundred of them"
}

// expressions are what a user has written, compiled. admit is nil if everything is admitted.
type expressions struct{ evict, admit *formula.Formula }

// any reports whether one of the expressions has a reference of which a condition is true.
func (e expressions) any(is func(formula.Reference) bool) bool {
	return e.evict.Uses(is) || e.admit != nil && e.admit.Uses(is)
}

func (e expressions) uses(names ...string) bool {
	return e.any(func(r formula.Reference) bool { return slices.Contains(names, r.Name) })
}

func isNext(r formula.Reference) bool { return r.Name == nextName }

// gaps returns the largest k of gap(k).
func (e expressions) gaps() (most int) {
	e.any(func(r formula.Reference) bool { most = max(most, r.Index); return false })
	return most
}

// moves reports whether a rank may change without a request to its object.
func (e expressions) moves() bool {
	return e.evict.Uses(func(r formula.Reference) bool {
		return r.Name == quantileName || slices.ContainsFunc(variables, func(v variable) bool {
			return v.name == r.Name && v.changes
		})
	})
}

// sampled reports whether ranks are computed at evictions.
func (e expressions) sampled(v policies.Values) bool {
	return v.Text("when") == whenEvicting || v.Text("when") != whenRequested && e.moves()
}

// read compiles the expressions of the parameters, or of the file that they name.
func read(v policies.Values) (e expressions, err error) {
	evict, admit := v.Text("evict"), v.Text("admit")
	at := "" // what says where an expression is
	if path := v.Text("file"); path != "" {
		if evict != ofLRU || admit != "" {
			return e, fmt.Errorf("file=%s has the expressions; leave out evict and admit", path)
		}
		if evict, admit, err = readFile(path); err != nil {
			return e, err
		}
		at = path + ": "
	}
	if e.evict, err = formula.Compile(evict, names()); err != nil {
		return e, fmt.Errorf("%sevict: %w", at, err)
	}
	if strings.TrimSpace(admit) != "" {
		if e.admit, err = formula.Compile(admit, names()); err != nil {
			return e, fmt.Errorf("%sadmit: %w", at, err)
		}
	}
	return e, e.check(v, at)
}

// check refuses what has no effect together.
func (e expressions) check(v policies.Values, at string) error {
	if e.admit != nil && e.admit.Uses(isNext) {
		return fmt.Errorf("%sadmit cannot use next: only what is in the cache is predicted", at)
	}
	if v.Text("when") == whenRequested && e.uses(nextName) {
		return errors.New("next changes between requests; leave out when=requested")
	}
	if !e.evict.Uses(func(formula.Reference) bool { return true }) {
		return fmt.Errorf("%sevict is the same for all objects; name what they differ in, such as last", at)
	}
	if v.Float("ghosts") != 1 && !e.uses(ghostly...) {
		return fmt.Errorf("ghosts=%v has no effect: no expression uses ghost, ghost_requests or ghost_age",
			v.Float("ghosts"))
	}
	if v.Int("sample") != 64 && !e.sampled(v) {
		return fmt.Errorf("sample=%d has no effect: ranks change with requests to their objects alone, and the lowest "+
			"of all is found", v.Int("sample"))
	}
	return nil
}

// resolve sets what depends on the expressions.
func resolve(entry *policies.Entry, v policies.Values) {
	e, err := read(v)
	if err != nil {
		return // Check has reported it
	}
	entry.New = func(c policies.Config) (policies.Policy, error) { return newRanked(c, e), nil } // of many pools
	entry.Type = (*ranked)(nil).as(e.uses(nextName), e.admit != nil)
	entry.Bypass = e.admit != nil
	entry.Random = e.sampled(v) || e.uses(quantileName)
	if e.uses(timed...) {
		entry.NeedsTime = func(policies.Values) bool { return true }
	}
	entry.Memory.PerObject += float64(4 * e.gaps())
	if e.uses(ghostly...) {
		entry.Memory.PerObject += 12
	}
}

// The types differ in what the cache asks them: see policies.Can.
type (
	admitting           struct{ *ranked }
	predicting          struct{ *ranked }
	admittingPredicting struct{ admitting }
)

func (predicting) Predicts()          {}
func (admittingPredicting) Predicts() {}

// as returns the policy as the type of what the cache must ask it.
func (p *ranked) as(predicts, admits bool) policies.Policy {
	switch {
	case predicts && admits:
		return admittingPredicting{admitting{p}}
	case predicts:
		return predicting{p}
	case admits:
		return admitting{p}
	}
	return p
}

// ranked evicts the object of lowest rank: of all if ranks change at requests alone, else of a sample.
type ranked struct {
	slots   dense.Slots[resident]
	charges dense.Charges
	history history
	draws   random.Draws
	heap    *dense.KeyedHeap // nil if ranks are computed at evictions
	evict   *evaluator
	admit   *evaluator // nil without
	drawn   []uint32   // slots
	sample  int
	byLoad  bool     // the key of equal ranks
	ghosts  float64  // of the residents
	evicted uint32   // objects so far
	loads   int64    // so far
	missed  resident // what Admit is asked about

	now         uint32 // position of the current request
	clock       int64  // its time, in nanoseconds
	victim      float64
	predictor   predict.Predictor // nil if no formula uses next
	ranks, nans int64             // computed, and those of them that are no numbers
}

func newRanked(c policies.Config, e expressions) policies.Policy {
	p := &ranked{slots: dense.NewSlots[resident](c.Objects), charges: dense.NewCharges(c.Objects, c.Unit),
		draws: random.NewDraws(c.Seed), sample: c.Params.Int("sample"), byLoad: c.Params.Text("ties") == tiesLoaded,
		ghosts: c.Params.Float("ghosts"), predictor: c.Predictor, history: newHistory(c.Objects, e)}
	rows := 1
	if e.sampled(c.Params) {
		rows = int(min(chunk, c.Capacity))
		p.drawn = make([]uint32, rows)
	} else {
		heap := dense.NewKeyedHeap(c.Objects)
		p.heap = &heap
	}
	p.evict = newEvaluator(e.evict, rows)
	if e.admit != nil {
		p.admit = newEvaluator(e.admit, 1)
	}
	return p.as(e.uses(nextName), e.admit != nil)
}

// newHistory returns a history with what the expressions use.
func newHistory(objects int, e expressions) history {
	h := history{total: make([]uint32, objects)}
	if gaps := e.gaps(); gaps > 0 {
		h.past = make([][]uint32, gaps+1)
		for k := range h.past {
			h.past[k] = make([]uint32, objects)
		}
	}
	if e.uses(ghostly...) {
		h.evicted, h.requests, h.age = make([]uint32, objects), make([]uint32, objects), make([]uint32, objects)
	}
	return h
}

func (p *ranked) Grow(objects int) {
	p.slots.Grow(objects)
	p.charges.Grow(objects)
	h := &p.history
	h.total = dense.Grown(h.total, objects)
	for k := range h.past {
		h.past[k] = dense.Grown(h.past[k], objects)
	}
	if h.evicted != nil {
		h.evicted, h.requests = dense.Grown(h.evicted, objects), dense.Grown(h.requests, objects)
		h.age = dense.Grown(h.age, objects)
	}
	if p.heap != nil {
		p.heap.Grow(objects)
	}
}

// at sets the clock to a request.
func (p *ranked) at(r policies.Request) {
	p.now, p.clock = uint32(r.Pos), r.Time
}

func (p *ranked) Hit(r policies.Request) {
	p.at(r)
	info := p.slots.Info(r.Object)
	if r.Reason == policies.Demand {
		p.history.request(r.Object, p.now)
		info.hits++
		info.requests++
	}
	p.observe(r)
	info.last, info.used, info.victim = p.now, p.clock, p.victim
	p.rank(r.Object, info)
}

// observe reports a request of the trace to the predictor, if there is one.
func (p *ranked) observe(r policies.Request) {
	if p.predictor != nil && r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
}

// rank computes the rank of an object that is requested, if ranks are computed then.
func (p *ranked) rank(o policies.Object, info *resident) {
	if p.heap == nil {
		return
	}
	p.heap.Set(o, p.number(p.evict.one(p, o, info)), uint64(p.tie(info)))
}

// number replaces a rank that is no number by the lowest one, and counts it.
func (p *ranked) number(rank float64) float64 {
	p.ranks++
	if math.IsNaN(rank) {
		p.nans++
		return math.Inf(-1)
	}
	return rank
}

func (p *ranked) tie(info *resident) uint32 {
	if p.byLoad {
		return info.loaded
	}
	return info.last
}

func (p *ranked) Miss(r policies.Request) {
	p.at(r)
	if r.Reason == policies.Demand {
		p.history.request(r.Object, p.now)
	}
}

func (p *ranked) Victim(r policies.Request) policies.Object {
	p.at(r)
	var o policies.Object
	if p.heap != nil {
		o, p.victim = p.heap.Least()
	} else {
		o = p.leastOfSample()
	}
	p.remember(o)
	p.Remove(o)
	return o
}

// remember notes the eviction of an object.
func (p *ranked) remember(o policies.Object) {
	p.evicted++
	if h := &p.history; h.evicted != nil {
		info := p.slots.Info(o)
		h.evicted[o], h.requests[o], h.age[o] = p.evicted, info.requests, p.now-info.loaded
	}
}

func (p *ranked) Insert(r policies.Request) {
	p.at(r)
	p.charges.Set(r.Object, r.Size)
	info := p.loaded(r)
	p.observe(r)
	p.slots.Add(r.Object, info)
	p.loads++
	p.rank(r.Object, p.slots.Info(r.Object)) // &info would allocate
}

// loaded returns what is known of an object when it is loaded.
func (p *ranked) loaded(r policies.Request) resident {
	info := resident{loaded: p.now, last: p.now, loadedAt: p.clock, used: p.clock, victim: p.victim}
	if r.Reason == policies.Demand {
		info.requests = 1
	}
	if h := &p.history; h.evicted != nil && h.evicted[r.Object] > 0 {
		since := float64(p.evicted - h.evicted[r.Object])
		if info.ghost = since < float64(p.ghosts*float64(max(p.slots.Len(), 1))); info.ghost {
			info.ghostRequests, info.ghostAge = h.requests[r.Object], h.age[r.Object]
		}
	}
	return info
}

func (p *ranked) Remove(o policies.Object) {
	p.slots.Remove(o)
	if p.heap != nil {
		p.heap.Remove(o)
	}
}

// Resized implements policies.SizeFollower.
func (p *ranked) Resized(o policies.Object, size int64) {
	p.charges.Set(o, size)
	p.rank(o, p.slots.Info(o))
}

// Admit implements policies.Admitter: the expression sees the object as if it had just been loaded.
func (p admitting) Admit(r policies.Request) bool {
	if r.Reason != policies.Demand {
		return true
	}
	p.charges.Set(r.Object, r.Size)
	p.missed = p.loaded(r)
	x := p.admit.one(p.ranked, r.Object, &p.missed)
	if x != 0 && !math.IsNaN(x) {
		return true
	}
	p.observe(r)
	return false
}

// Remark implements policies.Remarker.
func (p *ranked) Remark() string {
	if p.nans == 0 {
		return ""
	}
	return fmt.Sprintf("rank: %d of %d ranks are no numbers, as 0/0 is none; their objects left before all others", p.nans,
		p.ranks)
}

// chunk is how many rows are computed at once, at most.
const chunk = 256

// leastOfSample returns the object of lowest rank in a sample, or of all residents if they are no more than that.
func (p *ranked) leastOfSample() policies.Object {
	p.slots.Dense()
	n := len(p.slots.Objects)
	compared, all := p.sample, p.sample == 0 || n <= p.sample
	if all {
		compared = n
	}
	least, lowest, tie := 0, math.Inf(1), uint32(math.MaxUint32)
	for from := 0; from < compared; from += len(p.drawn) {
		drawn := p.drawn[:min(len(p.drawn), compared-from)]
		for i := range drawn {
			if drawn[i] = uint32(from + i); !all {
				drawn[i] = uint32(p.draws.Below(uint64(n)))
			}
		}
		for i, rank := range p.evict.of(p, drawn) {
			slot, rank := int(drawn[i]), p.number(rank)
			key := p.tie(&p.slots.Infos[slot])
			if rank < lowest || rank == lowest && key < tie {
				least, lowest, tie = slot, rank, key
			}
		}
	}
	p.victim = lowest
	return p.slots.Objects[least]
}
