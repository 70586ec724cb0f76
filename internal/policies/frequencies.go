package policies

import "math"

// Frequencies keeps objects by how often they were requested: one list per frequency that occurs, in a chain of
// increasing frequency, so that counting a request and finding the least frequent object take constant time
// (Shah, Mitra, Matani, An O(1) algorithm for implementing the LFU cache eviction scheme, 2010).
// Within a list the object that came to its frequency first stands first: frequency by frequency that is least
// recently requested first.
// Memory: 12 bytes per object and 24 per distinct frequency, of which there are at most sqrt(2 * requests).
type Frequencies struct {
	nodes  []frequencyNode // the objects, then the sentinels: the ring of list b runs through nodes[n+b]
	lists  []frequencyList // lists[0] is the end of the chain on both sides and stays empty
	n      uint32
	unused []uint32 // lists that were emptied
}

type frequencyNode struct {
	prev, next uint32
	list       uint32 // 0 where the object is absent
}

type frequencyList struct {
	frequency     uint32
	lower, higher uint32 // neighbours in the chain
}

// NewFrequencies returns an empty collection over n objects for a trace of that many requests.
func NewFrequencies(n, requests int) Frequencies {
	// d different frequencies need at least 1+2+...+d requests; one more list exists while an object moves.
	distinct := min(n, int(math.Sqrt(2*float64(requests)))) + 2
	f := Frequencies{
		nodes: make([]frequencyNode, n, n+distinct),
		lists: make([]frequencyList, 0, distinct),
		n:     uint32(n),
	}
	f.newList(0, 0)
	return f
}

// Has reports whether o is in the collection.
func (f *Frequencies) Has(o Object) bool { return f.nodes[o].list != 0 }

// Frequency returns the frequency of o, 0 where it is absent.
func (f *Frequencies) Frequency(o Object) uint32 { return f.lists[f.nodes[o].list].frequency }

// Add puts o, which must be absent, into the collection with the given frequency, at least 1. It passes by the lists
// of lower frequency, so it is constant for frequency 1.
func (f *Frequencies) Add(o Object, frequency uint32) {
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

// Touch adds one to the frequency of o, which must be present.
func (f *Frequencies) Touch(o Object) {
	node := f.nodes[o]
	list := &f.lists[node.list]
	frequency := list.frequency + 1
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

// Remove takes o, which must be present, out of the collection.
func (f *Frequencies) Remove(o Object) {
	node := f.nodes[o]
	f.unlink(node)
	f.nodes[o].list = 0
	if node.prev == node.next {
		f.dropList(node.list)
	}
}

// OldestLeast returns, of the objects with the least frequency, the one requested longest ago. The collection must
// not be empty.
func (f *Frequencies) OldestLeast() Object { return f.nodes[f.n+f.lists[0].higher].next }

// NewestLeast returns, of the objects with the least frequency, the one requested last. The collection must not be
// empty.
func (f *Frequencies) NewestLeast() Object { return f.nodes[f.n+f.lists[0].higher].prev }

func (f *Frequencies) unlink(node frequencyNode) {
	f.nodes[node.prev].next = node.next
	f.nodes[node.next].prev = node.prev
}

func (f *Frequencies) append(o Object, list uint32) {
	sentinel := f.n + list
	last := f.nodes[sentinel].prev
	f.nodes[o] = frequencyNode{prev: last, next: sentinel, list: list}
	f.nodes[last].next = o
	f.nodes[sentinel].prev = o
}

// newList puts an empty list of that frequency into the chain, next above the list below.
func (f *Frequencies) newList(frequency, below uint32) uint32 {
	list := uint32(len(f.lists))
	if last := len(f.unused) - 1; last >= 0 {
		list = f.unused[last]
		f.unused = f.unused[:last]
	} else {
		f.lists = append(f.lists, frequencyList{})
		f.nodes = append(f.nodes, frequencyNode{prev: f.n + list, next: f.n + list})
	}
	up := f.lists[below].higher
	f.lists[list] = frequencyList{frequency: frequency, lower: below, higher: up}
	f.lists[below].higher = list
	f.lists[up].lower = list
	return list
}

// dropList takes an empty list out of the chain.
func (f *Frequencies) dropList(list uint32) {
	at := f.lists[list]
	f.lists[at.lower].higher = at.higher
	f.lists[at.higher].lower = at.lower
	f.unused = append(f.unused, list)
}
