package engines

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// retention is the eviction of TensorRT-LLM: a queue for each priority, of blocks in the order of their release, and
// the first block of the lowest queue leaves. When the duration of a block is over, it joins the end of the default
// queue at the beginning of the next prompt.
//
// Every request has the same configuration, in which earlier tokens have the higher priorities, for longer: see
// checkRanges. So no block comes before one behind it, and the first block of the lowest queue is a leaf. TensorRT-LLM
// keeps all released blocks in its queues; here those with blocks behind them join when they become leaves, with the
// place that they would have.
type retention struct {
	ranges    []tokenRange
	blockSize int
	lasting   bool // some range has a duration
	event     uint32
	times     []int64  // per event: when it was, never before an earlier one
	released  []uint32 // per object: the event of its release
	rangeOf   []uint8  // per object: 1 + its range; 0 for the default
	victim    int      // priority of the last victim
	prompt    policies.Prompt
	// Leaves that no prompt holds: with the default priority, with higher ones, and of these all with a duration, by its
	// end.
	normal, special, ending dense.KeyedHeap
}

func newRetention(c policies.Config) *retention {
	ranges, err := parseRanges(c.Params.Text("ranges"))
	if err != nil {
		panic("engines: " + err.Error()) // Check has accepted them
	}
	p := &retention{
		ranges: ranges, blockSize: c.BlockTokens,
		lasting:  slices.ContainsFunc(ranges, func(r tokenRange) bool { return r.lasting() > 0 }),
		times:    append(make([]int64, 0, 2*len(c.Groups)+1), math.MinInt64),
		released: make([]uint32, c.Objects), rangeOf: make([]uint8, c.Objects), normal: dense.NewKeyedHeap(c.Objects),
		special: dense.NewKeyedHeap(c.Objects),
	}
	if p.lasting {
		p.ending = dense.NewKeyedHeap(c.Objects)
	}
	return p
}

// note begins an event, at the time of the prompt that has begun last.
func (p *retention) note() {
	p.event++
	p.times = append(p.times, max(p.prompt.Time, p.times[p.event-1]))
}

func (p *retention) Begin(prompt policies.Prompt) {
	p.prompt = prompt
	p.note()
	for p.lasting && p.ending.Len() > 0 {
		o, _ := p.ending.Least()
		if p.expiry(o) > p.times[p.event] {
			break
		}
		p.ending.Remove(o)
		p.special.Remove(o)
		p.addExpired(o)
	}
}

// expiry returns when the duration of a released block ends.
func (p *retention) expiry(o policies.Object) int64 {
	released, duration := p.times[p.released[o]], p.ranges[p.rangeOf[o]-1].duration
	if released > math.MaxInt64-duration {
		return math.MaxInt64
	}
	return released + duration
}

// sinceFirst returns how long after the first prompt a time is: exactly, up to 104 days.
func (p *retention) sinceFirst(at int64) float64 { return float64(uint64(at) - uint64(p.times[1])) }

// afterExpired is added to the place of blocks in the default queue that were released at the time when others expired.
const afterExpired = 1 << 32

// addExpired adds o to the default queue, behind what was released before its duration ended. Time passes only when a
// prompt begins, and blocks expire before others are released.
func (p *retention) addExpired(o policies.Object) {
	p.normal.Set(o, p.sinceFirst(p.expiry(o)), uint64(p.released[o]))
}

func (p *retention) Split(policies.Object, policies.Object) {}

func (p *retention) Finish(blocks []policies.Object) {
	p.note()
	for _, o := range blocks {
		p.released[o] = p.event
	}
}

func (p *retention) Hit(policies.Request)  {}
func (p *retention) Miss(policies.Request) {}

func (p *retention) Insert(r policies.Request) {
	token, of := (r.Pos-p.prompt.First)*p.blockSize, uint8(0)
	for i, span := range p.ranges {
		if token >= span.start && token < span.end && span.priority != defaultPriority {
			of = uint8(i) + 1
		}
	}
	p.rangeOf[r.Object] = of
}

func (p *retention) Victim(policies.Request) policies.Object {
	if p.normal.Len() > 0 {
		o, _ := p.normal.Least()
		p.normal.Remove(o)
		p.victim = defaultPriority
		return o
	}
	o, priority := p.special.Least()
	p.victim = int(priority)
	p.special.Remove(o)
	if p.lasting {
		p.ending.Remove(o)
	}
	return o
}

// VictimPriority implements policies.Swapper.
func (p *retention) VictimPriority() int { return p.victim }

func (p *retention) Remove(o policies.Object) {
	if p.rangeOf[o] == 0 {
		p.normal.Remove(o)
		return
	}
	p.special.Remove(o)
	if p.lasting { // it may have expired
		p.ending.Remove(o)
		p.normal.Remove(o)
	}
}

func (p *retention) Hold(o policies.Object) { p.Remove(o) }

func (p *retention) Release(o policies.Object) {
	of := p.rangeOf[o]
	switch {
	case of == 0 && !p.lasting: // nothing expires
		p.normal.Set(o, 0, uint64(p.released[o]))
		return
	case of == 0:
		p.normal.Set(o, p.sinceFirst(p.times[p.released[o]]), afterExpired|uint64(p.released[o]))
		return
	case p.ranges[of-1].duration == 0:
	case p.expiry(o) <= p.times[p.event]:
		p.addExpired(o)
		return
	default:
		p.ending.Set(o, p.sinceFirst(p.expiry(o)), uint64(p.released[o]))
	}
	p.special.Set(o, float64(p.ranges[of-1].priority), uint64(p.released[o]))
}

func (p *retention) Grow(objects int) {
	p.released = dense.Grown(p.released, objects)
	p.rangeOf = dense.Grown(p.rangeOf, objects)
	p.normal.Grow(objects)
	p.special.Grow(objects)
	if p.lasting {
		p.ending.Grow(objects)
	}
}
