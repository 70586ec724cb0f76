package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
)

// MaxCount bounds the requests and the objects of a trace, so that a number plus one fits a uint32.
const MaxCount = 1<<32 - 2

// Numbering gives keys dense numbers 0, 1, 2, ... in order of first appearance. Keys are compared in full, never by
// hash alone. The hashes have a new seed each time, so that no file can be written to make them collide; the numbers do
// not depend on the seed.
type Numbering struct {
	seed     uint64
	textSeed maphash.Seed
	numeric  hashIndex
	text     hashIndex
	Keys     []uint64 // per number: the numeric key, or the offset of a text key in arena
	arena    []byte   // text keys, each after its length
	isText   Bitset   // per number
	limit    int      // most numbers to assign
	Full     bool     // a further key got no number, and 0 was returned
}

// NewNumbering returns a numbering without keys.
func NewNumbering() *Numbering {
	return &Numbering{seed: rand.Uint64(), textSeed: maphash.MakeSeed(), numeric: newHashIndex(), text: newHashIndex(),
		limit: MaxCount}
}

func (n *Numbering) Len() int { return len(n.Keys) }

// OfRecord returns the number of a record's key.
func (n *Numbering) OfRecord(rec *Record) uint32 {
	if rec.Text != nil {
		return n.OfText(rec.Text)
	}
	return n.OfNumber(rec.Num)
}

func (n *Numbering) OfNumber(key uint64) uint32 { return n.ofNumber(key, n.numericTag(key)) }

func (n *Numbering) numericTag(key uint64) uint64 {
	hi, lo := bits.Mul64(key^n.seed, 0x9e3779b97f4a7c15)
	return (hi ^ lo) >> 32
}

func (n *Numbering) textTag(key []byte) uint64 { return maphash.Bytes(n.textSeed, key) >> 32 }

func (n *Numbering) ofNumber(key, tag uint64) uint32 {
	for i := n.numeric.home(tag); ; i = n.numeric.after(i) {
		slot := n.numeric.slots[i]
		if slot == 0 {
			return n.add(&n.numeric, i, tag, key)
		}
		if slot>>32 == tag && n.Keys[uint32(slot)-1] == key {
			return uint32(slot) - 1
		}
	}
}

// OfText returns the number of a text key. It keeps a copy of a new key.
func (n *Numbering) OfText(key []byte) uint32 { return n.ofText(key, n.textTag(key)) }

func (n *Numbering) ofText(key []byte, tag uint64) uint32 {
	number, slot := n.findText(key, tag)
	if slot < 0 {
		return number
	}
	known := len(n.Keys)
	number = n.add(&n.text, slot, tag, uint64(len(n.arena)))
	if len(n.Keys) > known {
		n.arena = append(binary.AppendUvarint(n.arena, uint64(len(key))), key...)
		n.isText.Set(int(number))
	}
	return number
}

// FindText returns the number of a text key; false if it has none.
func (n *Numbering) FindText(key []byte) (number uint32, ok bool) {
	number, slot := n.findText(key, n.textTag(key))
	return number, slot < 0
}

// findText returns the number of a text key with its tag, and slot -1; of an unknown key it returns the empty slot
// where it belongs.
func (n *Numbering) findText(key []byte, tag uint64) (number uint32, slot int) {
	for i := n.text.home(tag); ; i = n.text.after(i) {
		entry := n.text.slots[i]
		if entry == 0 {
			return 0, i
		}
		if entry>>32 == tag && bytes.Equal(n.textAt(uint32(entry)-1), key) {
			return uint32(entry) - 1, -1
		}
	}
}

// Texts returns the keys of all numbers, which must be texts. They share one copy of their bytes.
func (n *Numbering) Texts() []string {
	all := string(n.arena)
	texts := make([]string, n.Len())
	for i, at := range n.Keys {
		length, width := binary.Uvarint(n.arena[at:])
		from := int(at) + width
		texts[i] = all[from : from+int(length)]
	}
	return texts
}

// TextBytes returns how many bytes of memory the text keys need.
func (n *Numbering) TextBytes() int64 {
	return int64(cap(n.arena)) + 8*int64(cap(n.Keys)+len(n.text.slots))
}

// add assigns the next number to a key that belongs in an empty slot of the index.
func (n *Numbering) add(index *hashIndex, slot int, tag, key uint64) uint32 {
	if len(n.Keys) >= n.limit {
		n.Full = true
		return 0
	}
	if len(n.Keys) == cap(n.Keys) {
		n.Keys = slices.Grow(n.Keys, len(n.Keys)+1) // doubled, as append leaves four times as much garbage behind
	}
	n.Keys = append(n.Keys, key)
	index.fill(slot, tag<<32|uint64(len(n.Keys)))
	return uint32(len(n.Keys) - 1)
}

// textAt returns the text of a number that belongs to a text key.
func (n *Numbering) textAt(number uint32) []byte {
	entry := n.arena[n.Keys[number]:]
	length, width := binary.Uvarint(entry)
	return entry[width : width+int(length)]
}

func (n *Numbering) Key(number uint32) Key {
	if n.isText.Has(int(number)) {
		return Key{Text: string(n.textAt(number))}
	}
	return Key{Num: n.Keys[number]}
}

// AppendKey appends the key of a number as a text file writes it.
func (n *Numbering) AppendKey(to []byte, number uint32) []byte {
	if n.isText.Has(int(number)) {
		return append(to, n.textAt(number)...)
	}
	return strconv.AppendUint(to, n.Keys[number], 10)
}

func (n *Numbering) AllKeys() []Key {
	keys := make([]Key, n.Len())
	for i := range keys {
		keys[i] = n.Key(uint32(i))
	}
	return keys
}

// hashIndex is a hash table with open addressing and linear probing. A slot is one word: the tag, which is the upper
// half of the key's hash, and the key's number plus one; 0 is an empty slot. The upper bits of its tag are the home of
// a key, so growing copies the slots in order without looking at keys.
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
	// At shift 0 the tag has no further bits, but the table has 2^32 slots, enough for MaxCount keys.
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

// Bitset is a set of small integers.
type Bitset []uint64

func (b *Bitset) Set(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b Bitset) Has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 != 0 }

// Errors of traces beyond MaxCount.
var (
	ErrTooManyObjects = fmt.Errorf("more than %d different keys, the limit of a trace: use --sample or "+
		"--limit", MaxCount)
	ErrTooManyRequests = fmt.Errorf("more than %d requests, the limit of a trace: use --sample or --limit",
		MaxCount)
)
