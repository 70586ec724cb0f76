package dense

import (
	"cmp"
	"math"
	"slices"
)

// Frequencies keeps objects by how often they were requested. There is one list per frequency that occurs, in a chain
// of increasing frequency, so that counting a request and finding the least frequent object take constant time (Shah,
// Mitra, Matani, An O(1) algorithm for implementing the LFU cache eviction scheme, 2010). Within a list the object that
// reached its frequency first comes first: among objects of one frequency, the least recently requested.
//
// Most requests go to objects that are far from being the least frequent. So objects above a ceiling are on no list: a
// request to one only counts and records the time. When all objects are above the ceiling, it at least doubles, and the
// lists are built from those times; that happens 32 times at most. Memory: 12 bytes and a note per object and 24 per
// distinct frequency, of which there are at most sqrt(2 * requests).
//
// A note of type T is the caller's, for any object, present or not: it is next to what is needed to count a request.
type Frequencies[T any] struct {
	nodes   []frequencyNode[T] // the objects, then the sentinels: the ring of list b runs through nodes[n+b]
	lists   []frequencyList    // lists[0] is the end of the chain on both sides and stays empty
	n       uint32
	unused  []uint32 // lists that were emptied
	ceiling uint32
	clock   uint32 // requests to objects above the ceiling
}

type frequencyNode[T any] struct {
	note       T
	prev, next uint32 // above the ceiling: the time of the last request, and the frequency
	list       uint32 // 0 if the object is absent
}

// aboveCeiling stands for a list that is not kept.
const aboveCeiling = math.MaxUint32

// firstCeiling is above what most evicted objects reach and below what most requested objects have.
const firstCeiling = 4

type frequencyList struct {
	frequency     uint32
	lower, higher uint32 // neighbours in the chain
}

// NewFrequencies returns an empty collection over n objects for a trace of that many requests.
func NewFrequencies[T any](n, requests int) Frequencies[T] {
	// d different frequencies need at least 1+2+...+d requests; one more list exists while an object moves.
	distinct := min(n, int(math.Sqrt(2*float64(requests)))) + 2
	f := Frequencies[T]{
		nodes:   make([]frequencyNode[T], n, n+distinct),
		lists:   make([]frequencyList, 0, distinct),
		n:       uint32(n),
		ceiling: firstCeiling,
	}
	f.newList(0, 0)
	return f
}

// Grow makes room for objects up to n-1.
func (f *Frequencies[T]) Grow(n int) {
	shift := uint32(max(n-int(f.n), 0))
	if shift == 0 {
		return
	}
	was, before := f.n, f.nodes
	f.n += shift
	f.nodes = make([]frequencyNode[T], len(before)+int(shift), len(before)+int(shift)+cap(f.lists)-len(f.lists))
	copy(f.nodes, before[:was])
	copy(f.nodes[f.n:], before[was:])
	moved := func(link uint32) uint32 {
		if link >= was {
			return link + shift
		}
		return link
	}
	for i := range f.nodes {
		node := &f.nodes[i]
		onList := i >= int(f.n) || node.list != 0 && node.list != aboveCeiling
		if onList {
			node.prev, node.next = moved(node.prev), moved(node.next)
		}
	}
}

func (f *Frequencies[T]) Has(o Object) bool { return f.nodes[o].list != 0 }

// Note returns the note on o. The pointer is valid until the next change.
func (f *Frequencies[T]) Note(o Object) *T { return &f.nodes[o].note }

func (f *Frequencies[T]) Frequency(o Object) uint32 {
	node := &f.nodes[o]
	if node.list == aboveCeiling {
		return node.next
	}
	return f.lists[node.list].frequency
}

// Add puts o, which must be absent, into the collection with the given frequency, at least 1. It walks past the lists
// of lower frequency, so it takes constant time for frequency 1.
func (f *Frequencies[T]) Add(o Object, frequency uint32) {
	if frequency > f.ceiling {
		f.putAbove(o, frequency)
		return
	}
	below := uint32(0)
	up := f.lists[0].higher
	for up != 0 && f.lists[up].frequency < frequency {
		below, up = up, f.lists[up].higher
	}
	if up == 0 || f.lists[up].frequency != frequency {
		up = f.newList(frequency, below)
	}
	f.append(o, up)
}

// putAbove gives o, which is on no list, a frequency above the ceiling.
func (f *Frequencies[T]) putAbove(o Object, frequency uint32) {
	node := &f.nodes[o]
	node.prev, node.next, node.list = f.clock, frequency, aboveCeiling
	f.clock++
}

// Touch adds one to the frequency of o, which must be present.
func (f *Frequencies[T]) Touch(o Object) {
	if !f.TouchAbove(o) {
		f.Climb(o)
	}
}

// TouchAbove is Touch if o is above the ceiling; otherwise it does nothing and returns false. Unlike Touch it is
// inlined.
func (f *Frequencies[T]) TouchAbove(o Object) bool {
	node := &f.nodes[o]
	if node.list != aboveCeiling {
		return false
	}
	node.prev = f.clock
	node.next++
	f.clock++
	return true
}

// Climb moves o, which is on a list, to the list of the next frequency, or above the ceiling.
func (f *Frequencies[T]) Climb(o Object) {
	node := f.nodes[o]
	list := &f.lists[node.list]
	frequency := list.frequency + 1
	if frequency > f.ceiling {
		f.Remove(o)
		f.putAbove(o, frequency)
		return
	}
	alone := node.prev == node.next
	up := list.higher
	if f.lists[up].frequency != frequency {
		if alone {
			list.frequency = frequency
			return
		}
		up = f.newList(frequency, node.list)
	}
	f.unlink(node)
	if alone {
		f.dropList(node.list)
	}
	f.append(o, up)
}

// Remove removes o, which must be present, from the collection.
func (f *Frequencies[T]) Remove(o Object) {
	node := f.nodes[o]
	f.nodes[o].list = 0
	if node.list == aboveCeiling {
		return
	}
	f.unlink(node)
	if node.prev == node.next {
		f.dropList(node.list)
	}
}

// OldestLeast returns, of the objects with the least frequency, the one requested longest ago. The collection must
// not be empty.
func (f *Frequencies[T]) OldestLeast() Object { return f.nodes[f.n+f.leastList()].next }

// NewestLeast returns, of the objects with the least frequency, the one requested last. The collection must not be
// empty.
func (f *Frequencies[T]) NewestLeast() Object { return f.nodes[f.n+f.leastList()].prev }

func (f *Frequencies[T]) leastList() uint32 {
	if f.lists[0].higher == 0 {
		f.raiseCeiling()
	}
	return f.lists[0].higher
}

// raiseCeiling raises the ceiling when all objects are above it: it puts those with up to twice the least frequency on
// lists.
func (f *Frequencies[T]) raiseCeiling() {
	least := uint32(math.MaxUint32)
	for _, node := range f.nodes[:f.n] {
		if node.list == aboveCeiling {
			least = min(least, node.next)
		}
	}
	f.ceiling = uint32(min(2*uint64(least), math.MaxUint32))
	var reached []Object
	for o, node := range f.nodes[:f.n] {
		if node.list == aboveCeiling && node.next <= f.ceiling {
			reached = append(reached, Object(o))
		}
	}
	slices.SortFunc(reached, func(a, b Object) int {
		x, y := f.nodes[a], f.nodes[b]
		return cmp.Or(cmp.Compare(x.next, y.next), cmp.Compare(x.prev, y.prev))
	})
	for _, o := range reached {
		frequency, top := f.nodes[o].next, f.lists[0].lower
		if f.lists[top].frequency != frequency {
			top = f.newList(frequency, top)
		}
		f.append(o, top)
	}
}

func (f *Frequencies[T]) unlink(node frequencyNode[T]) {
	f.nodes[node.prev].next = node.next
	f.nodes[node.next].prev = node.prev
}

func (f *Frequencies[T]) append(o Object, list uint32) {
	sentinel := f.n + list
	last, node := f.nodes[sentinel].prev, &f.nodes[o]
	node.prev, node.next, node.list = last, sentinel, list
	f.nodes[last].next = o
	f.nodes[sentinel].prev = o
}

// newList puts an empty list of that frequency into the chain, right above the list below.
func (f *Frequencies[T]) newList(frequency, below uint32) uint32 {
	list := uint32(len(f.lists))
	if last := len(f.unused) - 1; last >= 0 {
		list = f.unused[last]
		f.unused = f.unused[:last]
	} else {
		f.lists = append(f.lists, frequencyList{})
		f.nodes = append(f.nodes, frequencyNode[T]{prev: f.n + list, next: f.n + list})
	}
	up := f.lists[below].higher
	f.lists[list] = frequencyList{frequency: frequency, lower: below, higher: up}
	f.lists[below].higher = list
	f.lists[up].lower = list
	return list
}

// dropList takes an empty list out of the chain.
func (f *Frequencies[T]) dropList(list uint32) {
	at := f.lists[list]
	f.lists[at.lower].higher = at.higher
	f.lists[at.higher].lower = at.lower
	f.unused = append(f.unused, list)
}
