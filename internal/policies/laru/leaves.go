package laru

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// onLeaves is LARU in a cache that holds objects, such as a prefix tree. Its requests come in groups, such as the
// blocks of a prompt. LCR only says that leaves are evicted (section 5.1). The rest is our reading, with which the
// proofs for the exact cache carry over:
//
//   - A group is one request. The candidates are the share lambda of the objects that are not held, the least recently
//     used of them, at least one.
//   - A phase begins when an object must be evicted and none is old: resident since the phase began and not requested
//     since. The objects of the group that begins it are not old, like the requested object in the exact cache.
//   - For each missing object of a group that predictions evicted in the phase, one object is evicted by recency
//     instead of by prediction. Objects that were loaded into free room, before any eviction, do not count.
//   - The candidates of a group are predicted in one batch before the first eviction; later only candidates that are
//     released or come within reach.
//
// With exact predictions it evicts what Belady's policy evicts. Proof: let y be evicted by prediction in a phase with
// lambda = 1, and be requested again in that phase. Every object that was not held then is requested no later than y.
// That includes every old object, which was resident and not requested by the group then running. The old objects that
// are still resident have been requested before y is loaded (blocks ahead of y in its prompt are hits, and blocks
// behind it were evicted before y was). So nothing is old, and a new phase begins in which y is not marked: no object
// is ever evicted by recency instead of by prediction.
type onLeaves struct {
	questions
	phases
	order leafOrder

	group   []policies.Object // missing objects of the group, until their marks are counted
	credit  int               // how many of the next evictions for them are by recency
	current int               // resident objects of the group
	known   bool              // the group's candidates have predictions
	marks   bool              // whether the last victim was marked
	figures figures
}

func newOnLeaves(c policies.Config) (*onLeaves, error) {
	capacity := int(c.Capacity)
	settings, err := read(c.Params, capacity)
	if err != nil {
		return nil, err
	}
	if _, err := background.New(c); err != nil { // mode=async, which does not work here
		return nil, err
	}
	return &onLeaves{
		questions: newQuestions(c), phases: settings.newPhases(), order: newLeafOrder(c.Objects, capacity),
	}, nil
}

func (p *onLeaves) Hit(r policies.Request) {
	p.order.renew(r.Object)
	p.predictor.Observe(r.Object, r.Pos)
	p.known = false // for a shrinking cache, also after a group without misses
}

func (p *onLeaves) MissGroup(objects []policies.Object, hits int) {
	p.group, p.credit, p.current, p.known = objects, 0, hits, false
}

func (p *onLeaves) Miss(policies.Request) {}

func (p *onLeaves) Victim(r policies.Request) (victim policies.Object) {
	if r.Reason != policies.Demand {
		return p.giveUp(r.Pos)
	}
	if p.order.old == 0 {
		p.beginPhase()
	}
	p.countMarks()
	candidates := p.confidence.candidatesOf(p.order.live)
	wrong := p.credit > 0
	if wrong {
		p.credit--
	}
	if p.marks = p.followed(wrong, candidates, &p.figures); p.marks {
		victim = p.latest(candidates, r.Pos)
	} else {
		victim = p.order.leastRecent()
	}
	p.Remove(victim)
	return victim
}

// giveUp is Victim when no request causes the eviction: it leaves no mark.
func (p *onLeaves) giveUp(pos int) (victim policies.Object) {
	if candidates := p.confidence.candidatesOf(p.order.live); candidates == 1 {
		victim = p.order.leastRecent()
	} else {
		victim = p.latest(candidates, pos)
	}
	p.marks = false
	p.Remove(victim)
	return victim
}

func (p *onLeaves) Insert(r policies.Request) {
	p.current++
	p.order.push(r.Object)
	if r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
}

// Remove removes the last victim, or an object that is evicted along with it.
func (p *onLeaves) Remove(o policies.Object) {
	mark := uint32(0)
	if p.marks {
		mark = p.mark(o)
	}
	p.order.remove(o, mark)
}

func (p *onLeaves) Resize(capacity int64) { p.confidence.resize(int(capacity)) }

func (p *onLeaves) Grow(objects int) {
	p.order.grow(objects)
	p.kept.Grow(objects)
}

func (p *onLeaves) Hold(o policies.Object)    { p.order.hold(o) }
func (p *onLeaves) Release(o policies.Object) { p.order.release(o) }

func (p *onLeaves) beginPhase() {
	p.order.age(p.current)
	p.begin(&p.figures)
	p.credit = 0
}

// countMarks counts the marked objects among those that a group misses, once, before its first eviction.
func (p *onLeaves) countMarks() {
	for _, o := range p.group {
		if p.marked(o, p.order.place[o]) {
			p.credit++
		}
	}
	p.group = nil
}

// latest returns the candidate predicted to be requested last.
func (p *onLeaves) latest(candidates, pos int) policies.Object {
	if !p.steady && !p.known {
		p.forgetVoid(pos)
	}
	p.known = true
	p.order.reach(candidates)
	p.ask(p.order.objects, p.order.appendUnasked(p.slots[:0]), pos)
	for i, slot := range p.slots {
		p.order.learn(int(slot), p.predicted[i])
	}
	if p.kept.Lasts() {
		p.kept.Note(p.asked)
	}
	return p.order.latestBeforeBound()
}

// forgetVoid forgets the predictions that are no longer valid at the request at pos.
func (p *onLeaves) forgetVoid(pos int) {
	if !p.kept.Lasts() || p.kept.Renewed() {
		p.order.forgetPredictions()
		return
	}
	for _, o := range p.kept.Void(pos) {
		p.order.forget(o)
	}
}

func (p *onLeaves) Counters() []policies.Counter { return p.figures.counters() }

// leafOrder is a recency in which only objects that are not held count as live and occupy their slots. A held object
// waits in a slot of its own. Memory: as recency, and 1 bit per slot.
type leafOrder struct {
	recency
	residents int      // held or not
	unasked   []uint64 // one bit per slot: it is occupied and its prediction is not known
	unaskedAt int      // no unasked slot lies before it
}

func newLeafOrder(n, capacity int) leafOrder {
	r := newRecency(n, capacity)
	return leafOrder{recency: r, unasked: make([]uint64, len(r.occupied))}
}

// push makes o, which is not resident, the most recently used object. It is held.
func (l *leafOrder) push(o policies.Object) {
	if l.end == len(l.objects) {
		l.compact()
	}
	l.objects[l.end] = o
	l.place[o] = resident | uint32(l.end)
	l.end++
	l.residents++
}

// renew makes o, which is held, the most recently used object.
func (l *leafOrder) renew(o policies.Object) {
	l.vacate(o, 0)
	l.push(o)
}

// remove removes o, which is not held, and leaves a mark in its place.
func (l *leafOrder) remove(o policies.Object, mark uint32) {
	l.hold(o)
	l.vacate(o, mark)
}

// vacate removes o, which is held, from its slot.
func (l *leafOrder) vacate(o policies.Object, mark uint32) {
	if int(l.place[o]&^resident) < l.oldEnd {
		l.old--
	}
	l.place[o] = mark
	l.residents--
}

// hold forgets the prediction for o, too: after release it is asked for again.
func (l *leafOrder) hold(o policies.Object) {
	slot := int(l.place[o] &^ resident)
	word, bit := slot>>6, uint64(1)<<(slot&63)
	l.occupied[word] &^= bit
	l.live--
	if slot < l.bound {
		l.below--
	}
	if l.unasked[word]&bit != 0 {
		l.unasked[word] &^= bit
	} else {
		l.next.clear(slot)
	}
}

func (l *leafOrder) release(o policies.Object) {
	slot := int(l.place[o] &^ resident)
	l.occupied[slot>>6] |= 1 << (slot & 63)
	l.unasked[slot>>6] |= 1 << (slot & 63)
	l.live++
	if slot < l.bound {
		l.below++
	}
	l.first = min(l.first, slot)
	l.unaskedAt = min(l.unaskedAt, slot)
}

// age makes all resident objects old, except the most recently requested ones, which have the last slots.
func (l *leafOrder) age(but int) { l.old, l.oldEnd = l.residents-but, l.end-but }

func (l *leafOrder) forgetPredictions() {
	l.next.rebuild(0)
	copy(l.unasked, l.occupied)
	l.unaskedAt = 0
}

// forget forgets the prediction for o, if there is one.
func (l *leafOrder) forget(o policies.Object) {
	slot := int(l.place[o] &^ resident)
	word, bit := slot>>6, uint64(1)<<(slot&63)
	if !l.has(o) || l.occupied[word]&bit == 0 || l.unasked[word]&bit != 0 {
		return
	}
	l.next.clear(slot)
	l.unasked[word] |= bit
	l.unaskedAt = min(l.unaskedAt, slot)
}

// appendUnasked appends the slots before the bound whose predictions are unknown, and marks them as known.
func (l *leafOrder) appendUnasked(slots []uint32) []uint32 {
	for at := l.unaskedAt >> 6; at<<6 < l.bound; at++ {
		word := l.unasked[at]
		if rest := l.bound - at<<6; rest < 64 {
			word &= 1<<rest - 1
		}
		l.unasked[at] &^= word
		for ; word != 0; word &= word - 1 {
			slots = append(slots, uint32(at<<6|bits.TrailingZeros64(word)))
		}
	}
	l.unaskedAt = max(l.unaskedAt, l.bound)
	return slots
}

// compact moves the objects to the start of the log.
func (l *leafOrder) compact() {
	last := l.end
	if l.needsSlots(l.residents) {
		l.addSlots()
		l.unasked = dense.Grown(l.unasked, len(l.occupied))
	}
	keys := l.next.levels[0]
	end, bound, oldEnd := 0, 0, 0
	for slot, o := range l.objects[:last] {
		if l.place[o] != resident|uint32(slot) { // held objects have slots, too, but are not in occupied
			continue
		}
		l.objects[end], l.place[o], keys[end] = o, resident|uint32(end), keys[slot]
		moveBit(l.occupied, slot, end)
		moveBit(l.unasked, slot, end)
		end++
		if slot < l.bound {
			bound = end
		}
		if slot < l.oldEnd {
			oldEnd = end
		}
	}
	l.next.rebuild(end)
	l.first, l.end, l.bound, l.oldEnd, l.unaskedAt = 0, end, bound, oldEnd, 0
}

// moveBit moves a bit to a place at or before it that is not in use.
func moveBit(words []uint64, from, to int) {
	bit := words[from>>6] >> (from & 63) & 1
	words[from>>6] &^= 1 << (from & 63)
	words[to>>6] = words[to>>6]&^(1<<(to&63)) | bit<<(to&63)
}
