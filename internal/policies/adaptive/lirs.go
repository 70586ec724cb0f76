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
	Memory:  policies.Memory{PerObject: 17, PerSlot: 0},
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
// list.
type lirsParts struct {
	stack      dense.Lists
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
	return lirsParts{stack: dense.NewLists(c.Objects, 1), queue: dense.NewLists(c.Objects, 2),
		state: make([]lirsState, c.Objects), charge: dense.NewCharges(c.Objects, c.Unit), config: c}
}

func (p *lirsParts) Grow(objects int) {
	p.stack.Grow(objects)
	p.queue.Grow(objects)
	p.state = dense.Grown(p.state, objects)
	p.charge.Grow(objects)
}

func (p *lirsParts) push(o policies.Object) {
	p.stack.PushFront(0, o)
	p.stackSize += p.charge.Of(o)
}

func (p *lirsParts) pop(o policies.Object) {
	p.stack.Unlink(o)
	p.stackSize -= p.charge.Of(o)
}

// lirs is LIRS as its authors have it: the bottom of the stack is always an LIR object.
type lirs struct {
	lirsParts
	// scan is the lowest object of the stack that may not be LIR: all below it are. It is the stack's sentinel if the
	// whole stack is LIR. It only moves up, so that bounding the stack costs constant time per request.
	scan       policies.Object
	ghostSize  int64
	ghostLimit int64
	residents  int64 // batch path only
}

const (
	lirsQueue = iota
	lirsGhosts
)

func newLIRS(c policies.Config) *lirs {
	p := &lirs{lirsParts: newLIRSParts(c), scan: policies.Object(c.Objects)}
	p.limitTo(c.Capacity)
	return p
}

func (p *lirs) limitTo(capacity int64) {
	stack, nonresident := p.config.Params.Float("stack"), p.config.Params.Float("nonresident")
	p.capacity = capacity
	p.lirLimit = capacity - p.queueSize()
	p.stackLimit = dense.Multiple(capacity, stack)
	p.ghostLimit = dense.Multiple(capacity, nonresident)
	if nonresident == 0 {
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

func (p *lirs) Grow(objects int) {
	whole := !p.stack.IsObject(p.scan)
	p.lirsParts.Grow(objects)
	if whole {
		p.scan = policies.Object(objects) // the sentinel comes after the last object
	}
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

func (p *lirs) Hit(r policies.Request) {
	o := r.Object
	switch p.state[o] {
	case lirsLIR:
		bottom, _ := p.stack.Back(0)
		p.raise(o)
		if bottom == o {
			p.prune()
		}
	case lirsHIR:
		if top, _ := p.stack.Front(0); top == o {
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

func (p *lirs) Miss(r policies.Request) {
	if p.state[r.Object] != lirsGhost {
		return
	}
	p.leaveGhosts(r.Object)
	if r.Reason != policies.Demand { // says nothing about the distance between requests
		p.pop(r.Object)
		p.state[r.Object] = lirsAbsent
		return
	}
	p.state[r.Object] = lirsReturned // so that bounding the ghosts does not drop it
}

func (p *lirs) Victim(policies.Request) policies.Object {
	o, ok := p.queue.Back(lirsQueue)
	if !ok { // sized objects: all residents may be LIR
		o, _ = p.stack.Back(0)
		p.Remove(o)
		return o
	}
	p.queue.Unlink(o)
	if p.state[o] == lirsHIROut {
		p.state[o] = lirsAbsent
		return o
	}
	p.state[o] = lirsGhost
	p.queue.PushFront(lirsGhosts, o)
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

func (p *lirs) Insert(r policies.Request) {
	o := r.Object
	if p.state[o] == lirsReturned {
		p.pop(o)
		p.charge.Set(r.Object, r.Size)
		p.push(o)
		p.makeLIR(o)
		return
	}
	p.charge.Set(r.Object, r.Size)
	p.push(o)
	if p.lirSize+r.Size <= p.lirLimit {
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
		bottom, _ := p.stack.Back(0)
		p.lirSize -= p.charge.Of(bottom)
		p.pop(bottom)
		p.state[bottom] = lirsHIROut
		p.queue.PushFront(lirsQueue, bottom)
		p.prune()
	}
}

// prune takes objects off the bottom of the stack until an LIR object is there.
func (p *lirs) prune() {
	for {
		bottom, ok := p.stack.Back(0)
		if !ok || p.state[bottom] == lirsLIR {
			return
		}
		p.pop(bottom)
		p.leaveStack(bottom)
	}
}

// limitStack bounds the stack as the authors' program does: the lowest object that is not LIR is taken off first.
func (p *lirs) limitStack() {
	if p.lirSize == 0 {
		p.prune() // without an LIR object at the bottom the stack is empty
	}
	for p.stackSize > p.stackLimit {
		for p.state[p.scan] == lirsLIR {
			p.scan, _ = p.stack.Before(p.scan)
		}
		o := p.scan
		p.pop(o)
		p.leaveStack(o)
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
	p.queue.Unlink(o)
	p.ghostSize -= p.charge.Of(o)
}

// raise moves o to the top of the stack.
func (p *lirs) raise(o policies.Object) {
	p.pop(o)
	p.push(o)
}

func (p *lirs) push(o policies.Object) {
	p.lirsParts.push(o)
	if !p.stack.IsObject(p.scan) {
		p.scan = o
	}
}

func (p *lirs) pop(o policies.Object) {
	if p.scan == o {
		p.scan, _ = p.stack.Before(o)
	}
	p.lirsParts.pop(o)
}

func (p *lirs) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	state, stack := p.state, &p.stack
	for _, o := range objects {
		switch s := state[o]; {
		// The common hit: the bottom stays LIR without pruning, and scan stays where it is.
		case s == lirsLIR && !stack.IsBack(0, o) && o != p.scan:
			hits++
			stack.MoveToFront(0, o)
		case s == lirsLIR || s == lirsHIR || s == lirsHIROut:
			hits++
			p.Hit(policies.Request{Object: o})
		default:
			evictions += p.loadUnit(policies.Request{Object: o, Size: 1})
		}
	}
	return hits, evictions
}

// loadUnit serves a miss and returns the number of objects evicted.
func (p *lirs) loadUnit(r policies.Request) (evictions int) {
	p.Miss(r)
	if p.residents < p.capacity {
		p.residents++
	} else {
		p.Victim(r)
		evictions = 1
	}
	p.Insert(r)
	return evictions
}
