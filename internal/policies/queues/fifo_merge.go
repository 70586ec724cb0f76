package queues

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var fifoMergeEntry = policies.Entry{
	Name:   "fifo-merge",
	Look:   policies.Look{Color: policies.Cyan, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 13, PerSlot: 0},
	Summary: "looks at a run of the oldest objects at a time, keeps those requested most often by size where they are, " +
		"and evicts the others",
	Source: "Yang, Yue and Vinayak, Segcache: a memory-efficient and scalable in-memory key-value cache for small " +
		"objects, NSDI 2021, as in libCacheSim (FIFO_Merge)",
	Random: true,
	Params: []policies.Param{
		{Name: "exam", Default: 100, Min: 1, Max: 1 << 20, Doc: "how many objects are looked at together"},
		{Name: "keep", Default: 50, Min: 0, Max: 1 << 20, Doc: "how many of them are kept, and one more, but never all"},
		{Name: "retain", Default: "frequency", Choices: []string{"frequency", "recency"}, Doc: "which are kept: those with " +
			"most requests since they were loaded, ties drawn at random, or those requested last, in both cases by byte"},
	},
	Check: func(v policies.Values) error {
		if v.Int("keep") > v.Int("exam") {
			return fmt.Errorf("keep=%d of exam=%d objects: keep at most as many", v.Int("keep"), v.Int("exam"))
		}
		return nil
	},
	Resolve: func(e *policies.Entry, v policies.Values) { e.Random = v.Text("retain") == "frequency" },
	New:     func(c policies.Config) (policies.Policy, error) { return newFIFOMerge(c), nil },
}

// fifoMerge is a queue in order of arrival. A hand goes through it from the oldest object to the newest.
type fifoMerge struct {
	queue    dense.Lists
	state    []mergeState
	seen     []uint32 // per object: its requests since it was loaded, or the position of the last one
	charges  dense.Charges
	draws    random.Draws
	hand     policies.Object // where the next run begins; NoObject: with the oldest object
	run      []mergeCandidate
	victims  []policies.Object // of the last run, still resident, in the order in which they leave
	resident int
	exam     int
	evicts   int // of each run
	recency  bool
	room     int64 // batch path: objects that still fit
}

type mergeState uint8

const (
	mergeAbsent mergeState = iota
	mergeResident
	mergeVictim // resident, and among the victims
)

// mergeCandidate is an object of a run with its worth, and its place there.
type mergeCandidate struct {
	worth  float64
	object policies.Object
	place  uint32
}

// compare orders candidates by worth; ties go to the one that comes first.
func (a mergeCandidate) compare(b mergeCandidate) int {
	switch {
	case a.worth < b.worth:
		return -1
	case a.worth > b.worth:
		return 1
	}
	return int(a.place) - int(b.place)
}

func newFIFOMerge(c policies.Config) *fifoMerge {
	exam := c.Params.Int("exam")
	return &fifoMerge{
		queue: dense.NewLists(c.Objects, 1), state: make([]mergeState, c.Objects), seen: make([]uint32, c.Objects),
		charges: dense.NewCharges(c.Objects, c.Unit), draws: random.NewDraws(c.Seed), hand: policies.NoObject, exam: exam,
		evicts: max(1, exam-c.Params.Int("keep")-1), recency: c.Params.Text("retain") == "recency", room: c.Capacity,
	}
}

func (p *fifoMerge) Hit(r policies.Request) {
	if p.recency {
		p.seen[r.Object] = uint32(r.Pos)
		return
	}
	p.seen[r.Object]++
}

func (p *fifoMerge) Miss(policies.Request) {}

// Victim takes the next victim of the last run, or looks at another run. Fewer objects than a run has leave in order of
// arrival.
func (p *fifoMerge) Victim(r policies.Request) policies.Object {
	if len(p.victims) == 0 {
		if p.resident <= p.exam {
			p.hand = policies.NoObject
			o, _ := p.queue.Back(0)
			p.Remove(o)
			return o
		}
		p.look(r.Pos)
	}
	o := p.victims[0]
	p.victims = p.victims[1:]
	p.state[o] = mergeResident
	p.Remove(o)
	return o
}

// look finds the victims of the run at the hand.
func (p *fifoMerge) look(now int) {
	p.run, p.victims = p.run[:0], p.victims[:0]
	at := p.hand
	for place := range uint32(p.exam) {
		if at == policies.NoObject {
			at, _ = p.queue.Back(0)
		}
		p.run = append(p.run, mergeCandidate{p.worth(at, now), at, place})
		at = p.before(at)
	}
	p.hand = at
	slices.SortFunc(p.run, mergeCandidate.compare)
	for _, c := range p.run[:p.evicts] {
		p.victims = append(p.victims, c.object)
		p.state[c.object] = mergeVictim
	}
}

// before returns the next object from o towards the newest one, or NoObject.
func (p *fifoMerge) before(o policies.Object) policies.Object {
	if next, ok := p.queue.Before(o); ok {
		return next
	}
	return policies.NoObject
}

// worth is the frequency, with up to a tenth of a request at random, or the inverse of the age, of each byte.
func (p *fifoMerge) worth(o policies.Object, now int) float64 {
	size := float64(p.charges.Of(o))
	if p.recency {
		return 1e12 / float64(now-int(p.seen[o])) / size
	}
	tie := float64(p.draws.Below(1000)) / 10000
	return 1e6 * (float64(p.seen[o]) + tie) / size
}

func (p *fifoMerge) Insert(r policies.Request) {
	o := r.Object
	p.queue.PushFront(0, o)
	p.state[o], p.seen[o] = mergeResident, 0
	if p.recency {
		p.seen[o] = uint32(r.Pos)
	}
	p.charges.Set(o, r.Size)
	p.resident++
}

func (p *fifoMerge) Remove(o policies.Object) {
	if p.state[o] == mergeVictim {
		i := slices.Index(p.victims, o)
		p.victims = slices.Delete(p.victims, i, i+1)
	}
	if o == p.hand {
		p.hand = p.before(o)
	}
	p.queue.Unlink(o)
	p.state[o] = mergeAbsent
	p.resident--
}

// Resized implements SizeFollower.
func (p *fifoMerge) Resized(o policies.Object, size int64) { p.charges.Set(o, size) }

func (p *fifoMerge) Grow(objects int) {
	p.queue.Grow(objects)
	p.state, p.seen = dense.Grown(p.state, objects), dense.Grown(p.seen, objects)
	p.charges.Grow(objects)
}

func (p *fifoMerge) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		r := policies.Request{Object: o, Size: 1, Pos: first + i}
		switch {
		case p.state[o] != mergeAbsent:
			hits++
			p.Hit(r)
			continue
		case p.room > 0:
			p.room--
		default:
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
