package oracle

import "math/bits"

// ranks count the occupied slots below a slot. Slots are occupied in ascending order and freed in any order. Counting
// has no branch that depends on the slot:
//
//   - In a block of 512 slots, a word holds the counts of its first 1, 2, ... 7 words (Vigna, Broadword implementation
//     of rank/select queries, WEA 2008).
//   - The occupied slots of the preceding blocks were counted at some earlier time. How many of them have been freed
//     since is in a tree with four children per node. A node is one word with the frees in its first one, two and
//     three children, so that one walk to the root both reads the frees so far and adds the new one.
type ranks struct {
	occupied []uint64 // bits, eight words per block
	within   []uint64 // per block: occupied slots in its first 1, 2, ... 7 words
	before   []uint32 // per block: occupied slots in earlier blocks, without the frees in the tree
	tree     []uint64 // level by level, from the leaves to the root
	levels   []uint32 // where each level begins
	freed    int      // slots freed since the tree was empty
	end      int      // the lowest slot that was never occupied
}

const (
	slotsPerWord  = 64
	wordsPerBlock = 8
	slotsPerBlock = slotsPerWord * wordsPerBlock

	wordBits  = 9                  // of a count of slots in the first words of a block: below 512
	wordOnes  = 0x0040201008040201 // one in each count
	childBits = 21                 // of a count of frees
	childOnes = 1 | 1<<childBits | 1<<(2*childBits)
	// mostFreed is how many slots can be freed before the tree is emptied.
	mostFreed = 1<<childBits - 1
	// countsOnly has all bits of counts: seven of 9, or three of 21.
	countsOnly = 1<<63 - 1
)

// newRanks returns at least n slots, in whole blocks, all free.
func newRanks(n int) ranks {
	blocks := (n+slotsPerBlock-1)/slotsPerBlock + 1
	r := ranks{
		occupied: make([]uint64, blocks*wordsPerBlock),
		within:   make([]uint64, blocks),
		before:   make([]uint32, blocks),
	}
	nodes := 0
	for width := blocks; width > 1; {
		width = (width + 3) / 4
		r.levels = append(r.levels, uint32(nodes))
		nodes += width
	}
	r.tree = make([]uint64, nodes)
	return r
}

// room returns how many slots were never occupied.
func (r *ranks) room() int { return len(r.occupied)*slotsPerWord - r.end }

// occupy occupies the next n slots, which must exist; held is the number of slots occupied before.
func (r *ranks) occupy(n, held int) {
	from, to := r.end, r.end+n
	for block := (from + slotsPerBlock - 1) / slotsPerBlock; block*slotsPerBlock < to; block++ {
		// The frees in the tree are subtracted from the rank of every later slot, also in a new block, so
		// they are added here.
		r.before[block] = uint32(held + block*slotsPerBlock - from + r.freed)
	}
	for at := from; at < to; {
		word := at / slotsPerWord
		next := min(to, (word+1)*slotsPerWord)
		set := ^uint64(0) >> (slotsPerWord - (next - at)) << (at % slotsPerWord)
		r.occupied[word] |= set
		r.within[word/wordsPerBlock] += uint64(next-at) * afterWord(uint32(word))
		at = next
	}
	r.end = to
}

// afterWord returns one in each count of the block's first words that contains the word.
func afterWord(word uint32) uint64 {
	return wordOnes << (wordBits * (word % wordsPerBlock)) & countsOnly
}

// beforeWord returns the count of the block's words before the word. For the first one, the shift leaves the unused
// bit.
func beforeWord(within uint64, word uint32) uint32 {
	return uint32(within >> (wordBits * ((word - 1) % wordsPerBlock)) & (1<<wordBits - 1))
}

// free frees an occupied slot and returns how many slots below it are occupied. The caller must call clean before the
// tree is full.
func (r *ranks) free(slot uint32) (below uint32) {
	word := slot / slotsPerWord
	block := slot / slotsPerBlock
	bit := uint64(1) << (slot % slotsPerWord)
	occupied := r.occupied[word]
	r.occupied[word] = occupied &^ bit
	within := r.within[block]
	r.within[block] = within - afterWord(word)
	below = r.before[block] + uint32(bits.OnesCount64(occupied&(bit-1))) + beforeWord(within, word)
	freed := uint64(0)
	for _, level := range r.levels {
		child := block % 4
		block /= 4
		node := &r.tree[level+block]
		// Child 0 has nothing on its left: child-1 wraps round to field 3, where only the unused top bit is, always
		// 0.
		freed += *node >> (childBits * ((child - 1) % 4)) & (1<<childBits - 1)
		*node += childOnes << (childBits * child) & countsOnly
	}
	r.freed++
	return below - uint32(freed)
}

// below returns how many slots below an occupied slot are occupied.
func (r *ranks) below(slot uint32) (below uint32) {
	word, block := slot/slotsPerWord, slot/slotsPerBlock
	below = r.before[block] + uint32(bits.OnesCount64(r.occupied[word]&(1<<(slot%slotsPerWord)-1))) +
		beforeWord(r.within[block], word)
	freed := uint64(0)
	for _, level := range r.levels {
		child := block % 4
		block /= 4
		freed += r.tree[level+block] >> (childBits * ((child - 1) % 4)) & (1<<childBits - 1)
	}
	return below - uint32(freed)
}

// clean empties the tree, if it has no room for n further frees.
func (r *ranks) clean(n int) {
	if r.freed+n > mostFreed {
		r.count()
	}
}

// count counts the occupied slots of every block and empties the tree.
func (r *ranks) count() {
	total := 0
	for block, within := range r.within {
		r.before[block] = uint32(total)
		last := r.occupied[block*wordsPerBlock+wordsPerBlock-1]
		total += int(within>>(wordBits*(wordsPerBlock-2))) + bits.OnesCount64(last)
	}
	clear(r.tree)
	r.freed = 0
}

// compact moves the occupied slots together and writes to next, which has slots + 1, or 0, where each is then.
func (r *ranks) compact(next []uint32, held int) {
	r.count()
	for i, n := range next {
		if n == 0 {
			continue
		}
		slot := n - 1
		word, block := slot/slotsPerWord, slot/slotsPerBlock
		next[i] = 1 + r.before[block] + beforeWord(r.within[block], word) +
			uint32(bits.OnesCount64(r.occupied[word]&(1<<(slot%slotsPerWord)-1)))
	}
	clear(r.occupied)
	clear(r.within)
	r.end = 0
	r.occupy(held, 0)
}
