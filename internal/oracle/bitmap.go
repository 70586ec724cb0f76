package oracle

import "math/bits"

// Bitmap is a set of integers below a fixed n that knows its largest member: a tree of 64-bit words in which a bit of
// one level says that the word below it is not empty. Set, Clear and Max touch at most one word per level, log64(n) in
// all; Set and Clear usually touch one. Memory: n/8 bytes, and 1/64 of that for the upper levels.
//
// It replaces the heap of Belady's OPT: next-use positions are distinct small integers.
type Bitmap struct {
	leaves []uint64
	above  [][]uint64 // above[0] summarises leaves, above[k] summarises above[k-1]; the last level is a single word
}

// NewBitmap returns an empty set of integers below n.
func NewBitmap(n int) *Bitmap {
	b := &Bitmap{leaves: make([]uint64, max(1, (n+63)/64))}
	for words := len(b.leaves); words > 1; {
		words = (words + 63) / 64
		b.above = append(b.above, make([]uint64, words))
	}
	return b
}

// Grow makes room for integers below n.
func (b *Bitmap) Grow(n int) {
	if n <= 64*len(b.leaves) {
		return
	}
	before := b.leaves
	*b = *NewBitmap(n)
	copy(b.leaves, before)
	for i, word := range before {
		if word != 0 {
			b.mark(uint32(i))
		}
	}
}

func (b *Bitmap) Has(i uint32) bool { return b.leaves[i>>6]>>(i&63)&1 != 0 }

func (b *Bitmap) Set(i uint32) {
	w := &b.leaves[i>>6]
	if *w == 0 {
		b.mark(i >> 6)
	}
	*w |= 1 << (i & 63)
}

func (b *Bitmap) Clear(i uint32) {
	w := &b.leaves[i>>6]
	*w &^= 1 << (i & 63)
	if *w == 0 {
		b.unmark(i >> 6)
	}
}

// Max returns the largest member; ok is false if the set is empty.
func (b *Bitmap) Max() (i uint32, ok bool) {
	for level := len(b.above) - 1; level >= 0; level-- {
		w := b.above[level][i]
		if w == 0 {
			return 0, false
		}
		i = i<<6 | uint32(63-bits.LeadingZeros64(w))
	}
	w := b.leaves[i]
	if w == 0 {
		return 0, false
	}
	return i<<6 | uint32(63-bits.LeadingZeros64(w)), true
}

// mark notes that leaf word i is no longer empty.
func (b *Bitmap) mark(i uint32) {
	for _, level := range b.above {
		w := &level[i>>6]
		old := *w
		*w |= 1 << (i & 63)
		if old != 0 {
			return
		}
		i >>= 6
	}
}

// unmark notes that leaf word i has become empty.
func (b *Bitmap) unmark(i uint32) {
	for _, level := range b.above {
		w := &level[i>>6]
		*w &^= 1 << (i & 63)
		if *w != 0 {
			return
		}
		i >>= 6
	}
}
