package adaptive

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lirsEntry = policies.Entry{
	Name:    "lirs",
	Look:    policies.Look{Color: policies.Cyan, Mark: policies.Plus},
	Memory:  policies.Memory{PerObject: 29, PerSlot: 0},
	Summary: "keeps the objects whose last two requests were closest together; evicts from a small queue of the others",
	Source:  "Jiang, Zhang, LIRS: an efficient low inter-reference recency set replacement policy, SIGMETRICS 2002",
	Params: []policies.Param{
		{Name: "hir", Default: 0.01, Max: 1, Doc: "share of the capacity for HIR objects; at least 2 objects where " +
			"capacity counts objects"},
		{Name: "stack", Default: 2500.0, Min: 1, Doc: "bound on the stack, as a multiple of the capacity"},
		{Name: "nonresident", Default: 0.0, Doc: "bound on the evicted objects in the stack, as a multiple of the " +
			"capacity; 0 means none"},
		{Name: "rule", Default: "authors", Choices: []string{"authors", "caffeine", "libcachesim"},
			Doc: "the share for HIR objects: authors, rounded down, at least 2 objects; caffeine, rounded up, so that LIR " +
				"objects have (1-hir) times the capacity, rounded down; libcachesim, rounded down, at least 1, and a hit " +
				"on a HIR object outside the stack demotes LIR objects"},
	},
	Check: func(v policies.Values) error {
		if v.Text("rule") == "libcachesim" && v.Float("nonresident") != 0 {
			return fmt.Errorf("nonresident=%v: rule=libcachesim has no such bound, only stack; leave it out",
				v.Float("nonresident"))
		}
		return nil
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Params.Text("rule") == "libcachesim" {
			return newLIRSDemoting(c), nil
		}
		return newLIRS(c), nil
	},
}

type lirsState uint8

const (
	lirsAbsent   lirsState = iota
	lirsLIR                // resident, in the stack
	lirsHIR                // resident, in the stack and in the queue
	lirsHIROut             // resident, only in the queue
	lirsGhost              // evicted, in the stack
	lirsReturned           // a ghost that is being loaded
)

// lirsParts are the stack S and the queue Q of the paper (section 3.3). The bottom of the stack is the back of its
// log: a request to an LIR object, which most are, appends to the log and leaves a stale entry.
type lirsParts struct {
	stack      dense.LogQueue
	queue      dense.Lists // list 0: the queue, the next victim at the back; list 1: the ghosts, last evicted in front
	state      []lirsState
	charge     dense.Charges
	lirSize    int64
	lirLimit   int64
	stackSize  int64
	stackLimit int64
	capacity   int64
	config     policies.Config
}

func newLIRSParts(c policies.Config) lirsParts {
	return lirsParts{stack: dense.NewLogQueue(c.Objects), queue: dense.NewLists(c.Objects, 2),
		state: make([]lirsState, c.Objects), charge: dense.NewCharges(c.Objects, c.Unit), config: c}
}

func (p *lirsParts) Grow(objects int) {
	p.stack.Grow(objects)
	p.queue.Grow(objects)
	p.state = dense.Grown(p.state, objects)
	p.charge.Grow(objects)
}

func (p *lirsParts) push(o policies.Object) {
	p.stack.Push(o)
	p.stackSize += p.charge.Of(o)
}

func (p *lirsParts) pop(o policies.Object) {
	p.stack.Remove(o)
	p.stackSize -= p.charge.Of(o)
}

// lirs is LIRS as its authors have it: the bottom of the stack is always an LIR object.
type lirs struct {
	lirsParts
	// scan is the lowest place in the log of the stack whose object may not be LIR: all below it are. It only moves up,
	// so that bounding the stack costs constant time per request.
	scan       uint32
	ghostSize  int64
	ghostLimit int64
	bounded    bool  // there is a limit on the ghosts: only then their order matters, and they are listed
	residents  int64 // batch path only
}

const (
	lirsQueue = iota
	lirsGhosts
)

func newLIRS(c policies.Config) *lirs {
	p := &lirs{lirsParts: newLIRSParts(c), scan: 1, bounded: c.Params.Float("nonresident") != 0}
	p.limitTo(c.Capacity)
	return p
}

func (p *lirs) limitTo(capacity int64) {
	stack, nonresident := p.config.Params.Float("stack"), p.config.Params.Float("nonresident")
	p.capacity = capacity
	p.lirLimit = capacity - p.queueSize()
	p.stackLimit = dense.Multiple(capacity, stack)
	p.ghostLimit = dense.Multiple(capacity, nonresident)
	if !p.bounded {
		p.ghostLimit = math.MaxInt64
	}
}

// Resize moves what no longer fits the LIR set to the queue, and forgets what no longer fits the stack.
func (p *lirs) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.limitTo(capacity)
	p.limitLIR()
	p.limitStack()
	p.limitGhosts()
}

// Resized implements SizeFollower. What no longer fits the LIR set moves to the queue, perhaps the object itself.
func (p *lirs) Resized(o policies.Object, size int64) {
	by := p.charge.Change(o, size)
	if p.state[o] == lirsHIROut {
		return
	}
	p.stackSize += by
	if p.state[o] == lirsLIR {
		p.lirSize += by
		p.limitLIR()
	}
	p.limitStack()
}

// queueSize returns the part of the capacity that the LIR set may not use. The authors' program reserves at least two
// objects; in a tiny cache one object is left to the LIR set if possible.
func (p *lirs) queueSize() int64 {
	hir := p.config.Params.Float("hir")
	size, least := dense.Multiple(p.capacity, hir), int64(2)
	if p.config.Params.Text("rule") == "caffeine" {
		size, least = p.capacity-dense.Multiple(p.capacity, 1-hir), 1
	}
	if !p.config.Unit {
		return size
	}
	return max(1, min(max(size, least), p.capacity-1))
}

func (p *lirs) Hit(r policies.Request) { p.hit(r.Object) }

func (p *lirs) hit(o policies.Object) {
	switch p.state[o] {
	case lirsLIR:
		bottom := p.stack.Back()
		p.raise(o)
		if bottom == o {
			p.prune()
		}
	case lirsHIR:
		if p.top() == o {
			return // a repeat says nothing about the distance to other requests
		}
		p.queue.Unlink(o)
		p.raise(o)
		p.makeLIR(o)
	case lirsHIROut:
		p.queue.MoveToFront(lirsQueue, o)
		p.state[o] = lirsHIR
		p.push(o)
		p.limitStack()
	}
}

func (p *lirs) Miss(r policies.Request) { p.miss(r.Object, r.Reason == policies.Demand) }

func (p *lirs) miss(o policies.Object, asked bool) {
	if p.state[o] != lirsGhost {
		return
	}
	p.leaveGhosts(o)
	if !asked { // says nothing about the distance between requests
		p.pop(o)
		p.state[o] = lirsAbsent
		return
	}
	p.state[o] = lirsReturned // so that bounding the ghosts does not drop it
}

func (p *lirs) Victim(policies.Request) policies.Object { return p.victim() }

func (p *lirs) victim() policies.Object {
	o, ok := p.queue.Back(lirsQueue)
	if !ok { // sized objects: all residents may be LIR
		o = p.stack.Back()
		p.Remove(o)
		return o
	}
	p.queue.Unlink(o)
	if p.state[o] == lirsHIROut {
		p.state[o] = lirsAbsent
		return o
	}
	p.state[o] = lirsGhost
	if p.bounded {
		p.queue.PushFront(lirsGhosts, o)
	}
	p.ghostSize += p.charge.Of(o)
	p.limitGhosts()
	return o
}

// limitGhosts forgets the ghosts evicted longest ago until the rest are within their bound.
func (p *lirs) limitGhosts() {
	for p.ghostSize > p.ghostLimit {
		oldest, _ := p.queue.Back(lirsGhosts)
		p.pop(oldest)
		p.leaveStack(oldest)
	}
}

func (p *lirs) Insert(r policies.Request) { p.insert(r.Object, r.Size) }

func (p *lirs) insert(o policies.Object, size int64) {
	if p.state[o] == lirsReturned {
		p.pop(o)
		p.charge.Set(o, size)
		p.push(o)
		p.makeLIR(o)
		return
	}
	p.charge.Set(o, size)
	p.push(o)
	if p.lirSize+size <= p.lirLimit {
		p.makeLIR(o)
		return
	}
	p.state[o] = lirsHIR
	p.queue.PushFront(lirsQueue, o)
	p.limitStack()
}

func (p *lirs) Remove(o policies.Object) {
	was := p.state[o]
	p.state[o] = lirsAbsent
	if was != lirsLIR {
		p.queue.Unlink(o)
	}
	if was == lirsHIROut {
		return
	}
	p.pop(o)
	if was == lirsLIR {
		p.lirSize -= p.charge.Of(o)
		p.prune()
	}
}

// makeLIR takes o, on top of the stack, into the LIR set.
func (p *lirs) makeLIR(o policies.Object) {
	p.state[o] = lirsLIR
	p.lirSize += p.charge.Of(o)
	p.limitLIR()
	p.limitStack()
}

// limitLIR moves objects from the bottom of the stack to the queue while the LIR set is too large.
func (p *lirs) limitLIR() {
	for p.lirSize > p.lirLimit {
		bottom := p.stack.Back()
		p.lirSize -= p.charge.Of(bottom)
		p.pop(bottom)
		p.state[bottom] = lirsHIROut
		p.queue.PushFront(lirsQueue, bottom)
		p.prune()
	}
}

// prune takes objects off the bottom of the stack until an LIR object is there, and the tail of the log at it.
func (p *lirs) prune() {
	for p.stack.Live > 0 {
		p.stack.Ahead()
		bottom := p.stack.Back()
		if p.state[bottom] == lirsLIR {
			return
		}
		p.pop(bottom)
		p.leaveStack(bottom)
	}
	p.stack.Tail = p.stack.End
}

// limitStack bounds the stack as the authors' program does: the lowest object that is not LIR is taken off first.
func (p *lirs) limitStack() {
	if p.lirSize == 0 {
		p.prune() // without an LIR object at the bottom the stack is empty
	}
	for p.stackSize > p.stackLimit {
		o := p.stack.Log[p.scan]
		if p.stack.Stamp[o] == p.scan && p.state[o] != lirsLIR {
			p.pop(o)
			p.leaveStack(o)
		}
		p.scan++
	}
}

// leaveStack sets the state of o, which was taken off the stack and is not LIR.
func (p *lirs) leaveStack(o policies.Object) {
	switch p.state[o] {
	case lirsHIR:
		p.state[o] = lirsHIROut
	case lirsGhost:
		p.leaveGhosts(o)
		p.state[o] = lirsAbsent
	case lirsReturned:
		p.state[o] = lirsAbsent
	}
}

func (p *lirs) leaveGhosts(o policies.Object) {
	if p.bounded {
		p.queue.Unlink(o)
	}
	p.ghostSize -= p.charge.Of(o)
}

// raise moves o to the top of the stack.
func (p *lirs) raise(o policies.Object) {
	p.makeRoom()
	p.stack.Renew(o)
}

func (p *lirs) push(o policies.Object) {
	p.makeRoom()
	p.lirsParts.push(o)
}

// top returns the object at the top of the stack, which must not be empty.
func (p *lirs) top() policies.Object {
	o := p.stack.Front()
	p.scan = min(p.scan, p.stack.End)
	return o
}

// makeRoom moves the live entries of a full log, and scan with them.
func (p *lirs) makeRoom() {
	q := &p.stack
	if !q.Full() {
		return
	}
	p.scan = max(p.scan, q.Tail)
	for p.scan < q.End && q.Stamp[q.Log[p.scan]] != p.scan {
		p.scan++
	}
	if p.scan == q.End {
		q.Compact()
		p.scan = q.End
		return
	}
	at := q.Log[p.scan]
	q.Compact()
	p.scan = q.Stamp[at]
}

// ReplayUnit serves most hits with the log of the stack in registers.
func (p *lirs) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	state, q := p.state, &p.stack
	log, stamp, end, bottom := q.Log, q.Stamp, q.End, q.Tail
	for _, o := range objects {
		s := state[o]
		// The common hit: the bottom stays LIR without pruning.
		if s == lirsLIR && stamp[o] != bottom && int(end) < len(log) {
			hits++
			log[end] = o
			stamp[o] = end
			end++
			continue
		}
		q.End = end
		if s == lirsLIR || s == lirsHIR || s == lirsHIROut {
			hits++
			p.hit(o)
		} else {
			evictions += p.loadUnit(o)
		}
		log, end, bottom = q.Log, q.End, q.Tail
	}
	q.End = end
	return hits, evictions
}

// loadUnit serves a miss and returns the number of objects evicted.
func (p *lirs) loadUnit(o policies.Object) (evictions int) {
	p.miss(o, true)
	if p.residents < p.capacity {
		p.residents++
	} else {
		p.victim()
		evictions = 1
	}
	p.insert(o, 1)
	return evictions
}
