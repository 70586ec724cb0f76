package learned

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// forecast is a set of objects that knows which of them is predicted to be requested last; ties go to the least
// recently requested. It asks for predictions when they are first needed, many at a time. It keeps them until the
// object is requested again if the predictor is steady, or until they become void if they last; otherwise each question
// asks for all of them. Predictions that are made in the background stay until there are others.
//
// If predictions can be kept, every operation takes amortized logarithmic time in the members; otherwise latest takes
// one prediction per member. Memory: 8 bytes per object and 12 per member, plus what predict.Kept takes.
type forecast struct {
	predictor predict.Predictor
	steady    bool
	kept      predict.Kept          // if the predictor is not steady
	late      *background.Predictor // if predictions are made in the background; nil otherwise
	members   []policies.Object     // the first `ranked` of them form a 4-ary heap with the latest on top
	ranked    int
	next      []float64 // per member; unknown for those that are not ranked
	place     []uint32  // per object: 1 + its index in members; 0 if it is no member
	requested []uint32  // per object: the position of its last request
}

func newForecast(p predict.Predictor, objects int) forecast {
	return forecast{
		predictor: p, steady: p.Steady(), kept: predict.NewKept(p, objects),
		place: make([]uint32, objects), requested: make([]uint32, objects),
	}
}

// followLate has predictions made in the background. It is called before there are members, and f must not be copied
// afterwards. A prediction then counts as steady, because Learned reports every change.
func (f *forecast) followLate(late *background.Predictor) {
	f.predictor, f.late, f.steady, f.kept = late, late, true, predict.Kept{}
	late.Learned = func(o policies.Object, _ float64) { f.renew(o) }
}

// grow makes room for objects up to objects-1.
func (f *forecast) grow(objects int) {
	f.place, f.requested = dense.Grown(f.place, objects), dense.Grown(f.requested, objects)
	f.kept.Grow(objects)
	if f.late != nil {
		f.late.Grow(objects)
	}
}

func (f *forecast) has(o policies.Object) bool { return f.place[o] != 0 }
func (f *forecast) size() int                  { return len(f.members) }

// add adds o, which must not be a member.
func (f *forecast) add(o policies.Object) {
	f.members = append(f.members, o)
	f.next = append(f.next, 0)
	f.place[o] = uint32(len(f.members))
}

// request records a request to o, member or not: the prediction for it is void.
func (f *forecast) request(o policies.Object, pos int) {
	f.requested[o] = uint32(pos)
	f.renew(o)
}

// renew forgets the prediction for o, member or not.
func (f *forecast) renew(o policies.Object) {
	if at := int(f.place[o]); at != 0 && at <= f.ranked {
		f.unrank(at - 1)
	}
}

func (f *forecast) remove(o policies.Object) {
	if at := int(f.place[o]) - 1; at < f.ranked {
		f.unrank(at)
	}
	last := len(f.members) - 1
	f.swap(int(f.place[o])-1, last)
	f.members, f.next = f.members[:last], f.next[:last]
	f.place[o] = 0
}

// latest returns the member predicted to be requested last, as of the request at pos. There must be a member.
func (f *forecast) latest(pos int) policies.Object {
	f.late.CatchUp(pos)
	if f.kept.Lasts() {
		f.unrankVoid(pos)
	}
	if fresh := f.members[f.ranked:]; len(fresh) > 0 {
		f.predictor.Predict(fresh, pos, f.next[f.ranked:])
		if f.kept.Lasts() {
			f.kept.Note(fresh)
		}
	}
	if !f.steady && !f.kept.Lasts() {
		return f.latestOfAll()
	}
	for ; f.ranked < len(f.members); f.ranked++ {
		f.siftUp(f.ranked)
	}
	return f.members[0]
}

// unrankVoid moves members whose predictions are void at the request at pos out of the heap.
func (f *forecast) unrankVoid(pos int) {
	if f.kept.Renewed() {
		f.ranked = 0
		return
	}
	for _, o := range f.kept.Void(pos) {
		f.renew(o)
	}
}

func (f *forecast) latestOfAll() policies.Object {
	latest := 0
	for i := range f.members {
		if f.later(i, latest) {
			latest = i
		}
	}
	return f.members[latest]
}

// later reports whether the member at i is above the one at j: predicted to be requested later, or, on a tie, requested
// longer ago.
func (f *forecast) later(i, j int) bool {
	return f.next[i] > f.next[j] || f.next[i] == f.next[j] && f.requested[f.members[i]] < f.requested[f.members[j]]
}

// unrank moves the ranked member at i out of the heap, behind it.
func (f *forecast) unrank(i int) {
	f.ranked--
	f.swap(i, f.ranked)
	if i < f.ranked && !f.siftUp(i) { // the last member of the heap is at i now, and may belong higher or lower
		f.siftDown(i)
	}
}

// siftUp moves the member at i to its place among those above it and reports whether it moved.
func (f *forecast) siftUp(i int) (moved bool) {
	for i > 0 && f.later(i, (i-1)/4) {
		f.swap(i, (i-1)/4)
		i = (i - 1) / 4
		moved = true
	}
	return moved
}

func (f *forecast) siftDown(i int) {
	for {
		first := i
		for child := 4*i + 1; child < min(4*i+5, f.ranked); child++ {
			if f.later(child, first) {
				first = child
			}
		}
		if first == i {
			return
		}
		f.swap(i, first)
		i = first
	}
}

func (f *forecast) swap(i, j int) {
	a, b := f.members[i], f.members[j]
	f.members[i], f.members[j] = b, a
	f.next[i], f.next[j] = f.next[j], f.next[i]
	f.place[b], f.place[a] = uint32(i+1), uint32(j+1)
}
