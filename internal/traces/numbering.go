package traces

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// maxCount bounds the requests and the objects of a trace, so that a number plus one fits a uint32.
const maxCount = 1<<32 - 2

// numbering gives keys dense numbers 0, 1, 2, ... in order of first appearance. Keys are compared in full, never by
// hash alone. Its hashes are seeded anew each time, so that no file can be written to make them collide; the numbers do
// not depend on them.
type numbering struct {
	seed     uint64
	textSeed maphash.Seed
	numeric  hashIndex
	text     hashIndex
	keys     []uint64 // per number: the numeric key, or the offset of a text key in arena
	arena    []byte   // text keys, each after its length
	isText   bitset   // per number
	limit    int      // most numbers to give
	full     bool     // a further key found no number; it was given 0
}

func newNumbering() *numbering {
	return &numbering{
		seed:     rand.Uint64(),
		textSeed: maphash.MakeSeed(),
		numeric:  newHashIndex(),
		text:     newHashIndex(),
		limit:    maxCount,
	}
}

// len returns how many numbers were given.
func (n *numbering) len() int { return len(n.keys) }

// ofRecord returns the number of a record's key.
func (n *numbering) ofRecord(rec *Record) uint32 {
	if rec.Text != nil {
		return n.ofText(rec.Text)
	}
	return n.ofNumber(rec.Num)
}

// ofNumber returns the number of a numeric key.
func (n *numbering) ofNumber(key uint64) uint32 {
	hi, lo := bits.Mul64(key^n.seed, 0x9e3779b97f4a7c15)
	tag := (hi ^ lo) >> 32
	for i := n.numeric.home(tag); ; i = n.numeric.after(i) {
		slot := n.numeric.slots[i]
		if slot == 0 {
			return n.add(&n.numeric, i, tag, key)
		}
		if slot>>32 == tag && n.keys[uint32(slot)-1] == key {
			return uint32(slot) - 1
		}
	}
}

// ofText returns the number of a text key. It keeps a copy of a new key.
func (n *numbering) ofText(key []byte) uint32 {
	tag := maphash.Bytes(n.textSeed, key) >> 32
	for i := n.text.home(tag); ; i = n.text.after(i) {
		slot := n.text.slots[i]
		if slot == 0 {
			return n.addText(i, tag, key)
		}
		if slot>>32 == tag && bytes.Equal(n.textAt(uint32(slot)-1), key) {
			return uint32(slot) - 1
		}
	}
}

func (n *numbering) addText(slot int, tag uint64, key []byte) uint32 {
	known := len(n.keys)
	number := n.add(&n.text, slot, tag, uint64(len(n.arena)))
	if len(n.keys) > known {
		n.arena = append(binary.AppendUvarint(n.arena, uint64(len(key))), key...)
		n.isText.set(int(number))
	}
	return number
}

// add gives the next number to a key that belongs into an empty slot of the index.
func (n *numbering) add(index *hashIndex, slot int, tag, key uint64) uint32 {
	if len(n.keys) >= n.limit {
		n.full = true
		return 0
	}
	n.keys = append(n.keys, key)
	index.fill(slot, tag<<32|uint64(len(n.keys)))
	return uint32(len(n.keys) - 1)
}

// textAt returns the text of a number that belongs to a text key.
func (n *numbering) textAt(number uint32) []byte {
	entry := n.arena[n.keys[number]:]
	length, width := binary.Uvarint(entry)
	return entry[width : width+int(length)]
}

// key returns the key that has a number.
func (n *numbering) key(number uint32) Key {
	if n.isText.has(int(number)) {
		return Key{Text: string(n.textAt(number))}
	}
	return Key{Num: n.keys[number]}
}

// allKeys returns the keys of all numbers.
func (n *numbering) allKeys() []Key {
	keys := make([]Key, n.len())
	for i := range keys {
		keys[i] = n.key(uint32(i))
	}
	return keys
}

// hashIndex is a hash table with open addressing and linear probing. A slot is one word: the tag, which is the upper
// half of the key's hash, and the key's number plus one; 0 is an empty slot. The home of a key is given by the upper
// bits of its tag, so growing copies the slots in order and looks at no key.
type hashIndex struct {
	slots []uint64
	shift int // home = tag >> shift
	used  int
}

func newHashIndex() hashIndex { return hashIndex{slots: make([]uint64, 1<<8), shift: 32 - 8} }

func (x *hashIndex) home(tag uint64) int { return int(tag >> x.shift) }
func (x *hashIndex) after(i int) int     { return (i + 1) & (len(x.slots) - 1) }

// fill puts a new entry into an empty slot and keeps at least a quarter of the slots empty.
func (x *hashIndex) fill(slot int, entry uint64) {
	x.slots[slot] = entry
	x.used++
	if x.used > len(x.slots)/4*3 && x.shift > 0 {
		x.grow()
	}
}

func (x *hashIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, 2*len(old))
	x.shift--
	for _, entry := range old {
		if entry == 0 {
			continue
		}
		i := x.home(entry >> 32)
		for x.slots[i] != 0 {
			i = x.after(i)
		}
		x.slots[i] = entry
	}
}

// bitset is a set of small integers.
type bitset []uint64

func (b *bitset) set(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }
