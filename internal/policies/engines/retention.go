package engines

import (
	"math"
	"sort"
	"time"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// defaultPriority is what blocks have without a KvCacheRetentionConfig, and after its duration.
const defaultPriority = 35

// retention is the eviction of TensorRT-LLM: a queue for each priority, of blocks in the order of their release, and
// the first block of the lowest queue leaves. When the duration of a block is over, it joins the end of the default
// queue at the beginning of the next prompt.
//
// Every request has the same configuration, which gives the first tokens the higher priority. So no block has a lower
// priority than one behind it, and the first block of the lowest queue is a leaf. TensorRT-LLM keeps all released
// blocks in its queues; here those with blocks behind them join when they become leaves, with the place that they would
// have.
type retention struct {
	tokenEnd   int
	blockSize  int
	duration   int64 // nanoseconds; 0 for ever
	event      uint32
	times      []int64  // per event: when it was, never before an earlier one
	released   []uint32 // per object: the event of its release
	first      []bool   // per object: it has the priority
	prompt     policies.Prompt
	kept, free dense.KeyedHeap // leaves that no prompt holds, with the priority and with the default
}

func newRetention(c policies.Config) *retention {
	tokenEnd := c.Params.Int("token-end")
	if c.Params.Int("priority") == defaultPriority {
		tokenEnd = 0
	}
	return &retention{
		tokenEnd: tokenEnd, blockSize: c.BlockTokens,
		duration: int64(math.Round(c.Params.Float("duration-ms") * float64(time.Millisecond))),
		times:    append(make([]int64, 0, 2*len(c.Groups)+1), math.MinInt64),
		released: make([]uint32, c.Objects), first: make([]bool, c.Objects),
		kept: dense.NewKeyedHeap(c.Objects), free: dense.NewKeyedHeap(c.Objects),
	}
}

// note begins an event, at the time of the prompt that has begun last.
func (p *retention) note() {
	p.event++
	p.times = append(p.times, max(p.prompt.Time, p.times[p.event-1]))
}

func (p *retention) Begin(prompt policies.Prompt) {
	p.prompt = prompt
	p.note()
	for p.duration > 0 && p.kept.Len() > 0 {
		o, _ := p.kept.Least() // released first, so its duration ends first
		if p.expiry(o) > p.times[p.event] {
			break
		}
		p.kept.Remove(o)
		p.release(o, p.event)
	}
}

// expiry returns when the duration of a released block ends.
func (p *retention) expiry(o policies.Object) int64 {
	released := p.times[p.released[o]]
	if released > math.MaxInt64-p.duration {
		return math.MaxInt64
	}
	return released + p.duration
}

// release adds o to the default queue, as the last at the time of an event. Blocks whose durations end there keep the
// order of their releases.
func (p *retention) release(o policies.Object, event uint32) {
	p.free.Set(o, 0, uint64(event)<<32|uint64(p.released[o]))
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
	p.first[r.Object] = (r.Pos-p.prompt.First)*p.blockSize < p.tokenEnd
}

func (p *retention) Victim(policies.Request) policies.Object {
	from := &p.free
	if from.Len() == 0 {
		from = &p.kept
	}
	o, _ := from.Least()
	from.Remove(o)
	return o
}

func (p *retention) Remove(o policies.Object) {
	p.kept.Remove(o)
	p.free.Remove(o)
}

func (p *retention) Hold(o policies.Object) { p.Remove(o) }

func (p *retention) Release(o policies.Object) {
	switch {
	case !p.first[o]:
		p.release(o, p.released[o])
	case p.duration > 0 && p.expiry(o) <= p.times[p.event]:
		p.release(o, p.expiredAt(o))
	default:
		p.kept.Set(o, 0, uint64(p.released[o]))
	}
}

// expiredAt returns the first event at which the duration of o, which is over, was noticed. Only at the beginning of a
// prompt does time pass, so that the event is one.
func (p *retention) expiredAt(o policies.Object) uint32 {
	expiry := p.expiry(o)
	return uint32(sort.Search(len(p.times), func(i int) bool { return p.times[i] >= expiry }))
}

func (p *retention) Grow(objects int) {
	p.released = dense.Grown(p.released, objects)
	p.first = dense.Grown(p.first, objects)
	p.kept.Grow(objects)
	p.free.Grow(objects)
}
