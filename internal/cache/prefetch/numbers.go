package prefetch

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Addresses finds the objects of a trace by their keys, or by their places if its kind of workload has these. It is
// made once per trace and shared by all replays. Memory: 8 bytes per object, and 8 to 16 for the hash table.
type Addresses struct {
	stream.Addresses
	slots  []Object // open addressing by hash of the address: 1 + object, 0 for none
	owners []uint32 // per object: its tenant; nil if the trace has none
	apart  bool     // several tenants have objects with the same address: each has addresses of its own
}

// NewAddresses returns the addresses of a trace's objects. Unless its kind has some, loaded keys must be numbers.
func NewAddresses(t *traces.Trace) (*Addresses, error) {
	a := &Addresses{}
	if t.Tenants != nil {
		a.owners = t.Tenants.Of
	}
	var err error
	if addressed, ok := t.Kind.(stream.Addressed); ok {
		a.Addresses, err = addressed.Addresses()
	} else {
		a.Of, err = numericKeys(t)
		a.KeyAt = func(address uint64) stream.Key { return stream.Key{Num: address} }
	}
	if err != nil {
		return nil, err
	}
	size := 2
	for size < 2*t.NumObjects {
		size *= 2
	}
	a.slots = make([]Object, size)
	for o, key := range a.Of {
		i := a.slot(key)
		for a.slots[i] != 0 {
			a.apart = a.apart || a.Of[a.slots[i]-1] == key
			i = (i + 1) & (len(a.slots) - 1)
		}
		a.slots[i] = Object(o) + 1
	}
	return a, nil
}

// numericKeys returns the keys of the objects, which must be numbers.
func numericKeys(t *traces.Trace) ([]uint64, error) {
	if t.Keys == nil && t.NumObjects > 0 {
		return nil, fmt.Errorf("the keys of %s are not loaded", t.Name)
	}
	keys := make([]uint64, t.NumObjects)
	for o, key := range t.Keys {
		if key.Text != "" {
			return nil, fmt.Errorf("the key of object %d of %s is the text %.60q, not a number", o, t.Name, key.Text)
		}
		keys[o] = key.Num
	}
	return keys, nil
}

// slot returns the slot at which the search for a key begins.
func (a *Addresses) slot(key uint64) int {
	return int(key * 0x9e3779b97f4a7c15 >> 32 & uint64(len(a.slots)-1))
}

func (a *Addresses) Find(key uint64) (o Object, ok bool) {
	for i := a.slot(key); a.slots[i] != 0; i = (i + 1) & (len(a.slots) - 1) {
		if o := a.slots[i] - 1; a.Of[o] == key {
			return o, true
		}
	}
	return 0, false
}

// FindOf returns the object with a key, the given tenant's if several tenants have one.
func (a *Addresses) FindOf(tenant uint32, key uint64) (o Object, ok bool) {
	if !a.apart || a.owners == nil {
		return a.Find(key)
	}
	for i := a.slot(key); a.slots[i] != 0; i = (i + 1) & (len(a.slots) - 1) {
		if o := a.slots[i] - 1; a.Of[o] == key && a.owners[o] == tenant {
			return o, true
		}
	}
	return 0, false
}

func (a *Addresses) Objects() int { return len(a.Of) }

// Strangers returns how many strangers can have a number at a time.
func (a *Addresses) Strangers() int {
	return min(max(a.Objects(), leastStrangers), math.MaxInt32-a.Objects())
}

func (a *Addresses) Key(o Object) uint64 { return a.Of[o] }

const (
	// leastStrangers is the least number of numbers for addresses that the trace never requests.
	leastStrangers = 1024
	// searched is how many of them are searched for a free one.
	searched = 256
)

// Numbers gives every address a dense number: objects of the trace keep theirs, and a stranger, an address that the
// trace never requests, gets the next number above. There are as many strangers as objects, and at least 1024; after
// that a new stranger takes over the number of one that is not resident, in turn. Memory: about 70 bytes per stranger.
type Numbers struct {
	*Addresses
	resident  func(Object) bool
	most      int                   // strangers that have a number at a time
	tenant    uint32                // of the last request
	strangers map[strangeKey]Object // with a number, resident or not
	keys      []strangeKey          // per number above the trace's
	turn      int                   // where the next free number is searched for
}

// strangeKey is an address that the trace never requests, of one tenant.
type strangeKey struct {
	address uint64
	tenant  uint32
}

// NewNumbers returns numbers without strangers. resident reports whether a stranger is in the cache.
func NewNumbers(a *Addresses, resident func(Object) bool) *Numbers {
	return &Numbers{Addresses: a, resident: resident, most: a.Strangers(), strangers: map[strangeKey]Object{}}
}

// Count returns how many numbers have been given: all are below it.
func (n *Numbers) Count() int { return n.Objects() + len(n.keys) }

func (n *Numbers) Key(o Object) uint64 {
	if int(o) < n.Objects() {
		return n.Addresses.Key(o)
	}
	return n.keys[int(o)-n.Objects()].address
}

// Requested says which object of the trace was requested last: addresses are its tenant's.
func (n *Numbers) Requested(o Object) {
	if n.owners != nil {
		n.tenant = n.owners[o]
	}
}

// Known returns the object at an address that has a number.
func (n *Numbers) Known(key uint64) (o Object, ok bool) {
	if o, ok = n.FindOf(n.tenant, key); !ok {
		o, ok = n.strangers[strangeKey{key, n.tenant}]
	}
	return o, ok
}

// Number returns the number of an address; false if there is no object, or if no number is free.
func (n *Numbers) Number(key uint64) (o Object, ok bool) {
	if o, ok := n.FindOf(n.tenant, key); ok {
		return o, true
	}
	strange := strangeKey{key, n.tenant}
	if o, ok := n.strangers[strange]; ok {
		return o, true
	}
	if n.Exists != nil && !n.Exists(key) {
		return 0, false
	}
	i, ok := n.place()
	if !ok {
		return 0, false
	}
	n.keys[i] = strange
	o = Object(n.Objects() + i)
	n.strangers[strange] = o
	return o, true
}

// place returns a place in keys: a new one, or one taken from a stranger.
func (n *Numbers) place() (i int, ok bool) {
	if len(n.keys) < n.most {
		n.keys = append(n.keys, strangeKey{})
		return len(n.keys) - 1, true
	}
	for range min(searched, n.most) {
		i := n.turn
		if n.turn++; n.turn == n.most {
			n.turn = 0
		}
		if !n.resident(Object(n.Objects() + i)) {
			delete(n.strangers, n.keys[i])
			return i, true
		}
	}
	return 0, false
}

// NewLayout returns the directory tree of a trace, whose blocks have the addresses of NewAddresses. The keys of a trace
// without files must be loaded and be numbers: they are the blocks of a single file of unknown size.
func NewLayout(t *traces.Trace) (*streams.Layout, error) {
	c := files.Of(t.Kind)
	if c == nil {
		if _, err := numericKeys(t); err != nil {
			return nil, err
		}
		return streams.NewKeys(meanSize(t)), nil
	}
	shift, err := c.FileBits()
	if err != nil {
		return nil, err
	}
	all := make([]streams.File, len(c.Paths))
	for file, path := range c.Paths {
		all[file] = streams.File{Path: path, Bytes: c.Sizes[file]}
		if c.Sizes[file] == 0 && c.BlocksOf(file) > 0 { // nobody reads it, and its size is not known
			all[file].Bytes = c.Block
		}
	}
	return streams.NewLayout(all, c.Block, shift), nil
}

// meanSize returns the mean size of the objects of a trace in bytes, at least 1.
func meanSize(t *traces.Trace) int64 {
	sum := int64(0)
	for _, size := range t.ObjectSizes {
		sum += size
	}
	return max(1, sum/int64(max(1, len(t.ObjectSizes))))
}
