package baselines

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var twoRandomEntry = policies.Entry{
	Name:   "2-random",
	Look:   policies.Look{Color: policies.Blue, Mark: policies.Box},
	Memory: policies.Memory{PerObject: 12, PerSlot: 8},
	Summary: "draws two objects at random and evicts the one requested longer ago, repeatedly until the cache is below " +
		"a low-water mark: JuiceFS",
	Source: "JuiceFS (juicedata/juicefs), pkg/chunk/disk_cache.go, cleanupFull; Mitzenmacher, The power of two choices " +
		"in randomized load balancing, IEEE Transactions on Parallel and Distributed Systems 2001",
	Random: true,
	Params: []policies.Param{
		{Name: "low", Default: 0.95, Min: 0, Max: 1,
			Doc: "share of the capacity below which evictions end; 1: they end once there is room"},
		{Name: "items", Default: 0.99, Min: 0, Max: 1,
			Doc: "share of the resident objects, counted when evictions begin, below which they end"},
		{Name: "overhead", Default: 0, Min: 0, Max: 1 << 20,
			Doc: "bytes that an object takes besides its own, where the capacity counts bytes; 4096 in JuiceFS"},
		{Name: "expire", Default: 0.0, Min: 0, Max: 9e9,
			Doc: "seconds of the trace's clock without a request after which an object expires; 0: never"},
	},
	NeedsTime: func(v policies.Values) bool { return v.Float("expire") > 0 },
	New:       func(c policies.Config) (policies.Policy, error) { return newTwoRandom(c), nil },
}

// twoRandom evicts in passes. A pass draws pairs of residents, each resident at most once, and evicts from each pair
// the one requested longer ago. It begins when room is missing and ends at the low-water marks, or when there are no
// pairs left. The cache asks for victims only until there is room; the rest of a pass is evicted before the next
// request, as if it had expired.
type twoRandom struct {
	low, items float64
	overhead   int64 // charged for each object in addition to its size
	life       int64 // nanoseconds; 0: nothing expires
	draws      random.Draws

	capacity  int64
	used      int64 // with overheads
	charges   dense.Charges
	dense.Set          // the residents; those in front have not been drawn in this pass
	stamps    []uint64 // per object: when it was requested last, in requests and loads
	now       uint64

	cleaning bool // a pass has begun
	most     int  // residents at which the pass ends

	idle dense.LogQueue // residents, the one requested longest ago first; only if objects expire
	seen []int64        // per object: the time of its last request; only if objects expire
}

func newTwoRandom(c policies.Config) *twoRandom {
	p := &twoRandom{
		low:      c.Params.Float("low"),
		items:    c.Params.Float("items"),
		life:     int64(min(c.Params.Float("expire")*1e9, math.MaxInt64/2)), // MaxInt64 as a float64 overflows int64
		draws:    random.NewDraws(c.Seed),
		capacity: c.Capacity,
		charges:  dense.NewCharges(c.Objects, c.Unit),
		Set:      dense.NewSet(c.Objects),
		stamps:   make([]uint64, c.Objects),
	}
	if !c.Unit {
		p.overhead = int64(c.Params.Int("overhead"))
	}
	if p.life > 0 {
		p.idle, p.seen = dense.NewLogQueue(c.Objects), make([]int64, c.Objects)
	}
	return p
}

func (p *twoRandom) Hit(r policies.Request) {
	p.stamp(r)
	if p.life > 0 {
		p.idle.Renew(r.Object)
	}
}

func (p *twoRandom) stamp(r policies.Request) {
	p.now++
	p.stamps[r.Object] = p.now
	if p.life > 0 {
		p.seen[r.Object] = r.Time
	}
}

func (p *twoRandom) Miss(policies.Request) {}

func (p *twoRandom) Insert(r policies.Request) {
	p.Add(r.Object)
	p.charges.Set(r.Object, r.Size)
	p.used += p.charges.Of(r.Object) + p.overhead
	p.stamp(r)
	if p.life > 0 {
		p.idle.Push(r.Object)
	}
}

func (p *twoRandom) Victim(policies.Request) policies.Object {
	p.begin(len(p.All) + 1) // with the object that needs the room
	return p.next()
}

// begin begins a pass, unless one is under way.
func (p *twoRandom) begin(residents int) {
	if p.cleaning {
		return
	}
	p.cleaning = true
	p.Front = len(p.All)
	p.most = int(p.items * float64(residents))
}

// next draws a pair and evicts one of them. A pass that has run out of pairs begins again.
func (p *twoRandom) next() policies.Object {
	if p.Front < 2 {
		p.Front = len(p.All)
	}
	victim := p.draw()
	if p.Front > 0 {
		if other := p.draw(); p.stamps[other] < p.stamps[victim] {
			victim = other
		}
	}
	p.Remove(victim)
	return victim
}

// draw returns a resident that has not been drawn in this pass.
func (p *twoRandom) draw() policies.Object {
	o := p.All[p.draws.Below(uint64(p.Front))]
	p.ToBack(o)
	return o
}

func (p *twoRandom) Remove(o policies.Object) {
	p.Set.Remove(o)
	p.used -= p.charges.Of(o) + p.overhead
	if p.life > 0 {
		p.idle.Remove(o)
	}
}

// Expired returns an object that has been idle for too long, or the next victim of a pass.
func (p *twoRandom) Expired(now int64) (policies.Object, bool) {
	if p.life > 0 && p.idle.Live > 0 {
		if o := p.idle.Back(); now-p.seen[o] >= p.life {
			p.Remove(o)
			return o, true
		}
	}
	if p.used > p.capacity { // overheads are not known to the cache
		p.begin(len(p.All))
	}
	if !p.cleaning {
		return 0, false
	}
	if p.Front < 2 || len(p.All) <= p.most && p.used <= dense.Multiple(p.capacity, p.low) {
		p.cleaning = false
		return 0, false
	}
	return p.next(), true
}

// Resized implements policies.SizeFollower.
func (p *twoRandom) Resized(o policies.Object, size int64) { p.used += p.charges.Change(o, size) }

func (p *twoRandom) Resize(capacity int64) { p.capacity = capacity }

func (p *twoRandom) Grow(objects int) {
	p.Set.Grow(objects)
	p.stamps = dense.Grown(p.stamps, objects)
	p.charges.Grow(objects)
	if p.life > 0 {
		p.idle.Grow(objects)
		p.seen = dense.Grown(p.seen, objects)
	}
}
