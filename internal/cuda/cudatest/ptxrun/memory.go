package ptxrun

import (
	"encoding/binary"
	"fmt"
)

// region is memory in which kernels may read and write: what Alloc returned, a variable, the shared memory of a block,
// the local memory of a warp.
type region struct {
	name    string // for messages
	data    []byte
	written []uint64   // a bit for each byte that has a value
	pages   [][]cell   // who used which word; nil if other threads cannot
	split   []*[4]cell // of words that were used in smaller parts
	freed   bool
}

// pageWords is the number of words, of 4 bytes, whose cells are allocated together.
const pageWords = 512

func newRegion(name string, bytes int64, watched bool) *region {
	r := &region{name: name, data: make([]byte, bytes), written: make([]uint64, (bytes+63)/64)}
	if watched {
		r.pages = make([][]cell, (bytes/4+pageWords)/pageWords)
	}
	return r
}

// mark records that bytes have values.
func (r *region) mark(from, bytes int64) {
	for i := from; i < from+bytes; i++ {
		r.written[i/64] |= 1 << (i % 64)
	}
}

// unwritten returns the first byte that has no value, -1 if all have one.
func (r *region) unwritten(from, bytes int64) int64 {
	for i := from; i < from+bytes; i++ {
		if r.written[i/64]>>(i%64)&1 == 0 {
			return i
		}
	}
	return -1
}

func getBytes(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func putBytes(b []byte, size int, x uint64) {
	switch size {
	case 1:
		b[0] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(x))
	default:
		binary.LittleEndian.PutUint64(b, x)
	}
}

// An address of global memory is the number of a region, from 1, and a position, so that no sum reaches the next region
// by accident.
const (
	positionBits  = 40
	mostRegions   = 1 << 19
	positionLimit = uint64(1) << positionBits
)

type access uint8

const (
	reads    access = iota // by a load
	writes                 // by a store
	swaps                  // by an atomic operation: may meet others of its kind
	watches                // by a volatile load: may meet those
	constant               // by a load for memory that nobody writes while the kernel runs
)

// find returns the region of an address and the position in it, where size bytes may be accessed.
func (w *warp) find(in space, address uint64, size, lane int) (*region, int64) {
	var r *region
	at, base := int64(address), int64(0)
	switch in {
	case shared:
		r = w.block.shared
	case local:
		r = w.local
	case param:
		r = w.block.launch.params
	default:
		var err error
		if r, at, err = w.block.launch.machine.region(address); err != nil {
			w.fail(lane, "%v", err)
		}
	}
	limit := int64(len(r.data))
	if in == local {
		limit /= 32
		base = limit * int64(lane)
	}
	// Addresses of 2^63 and above are negative here.
	if at < 0 || at+int64(size) > limit {
		w.fail(lane, "%d bytes at %d of %s, which has %d", size, at, r.name, limit)
	}
	if at&int64(size-1) != 0 {
		w.fail(lane, "%d bytes at %d of %s, which is no multiple of %[1]d", size, at, r.name)
	}
	return r, base + at
}

// use checks an access: bytes that are read must have been written, and no other thread may have used them since the
// last barrier, if one of the two writes.
func (w *warp) use(r *region, at int64, size, lane int, how access) {
	bits := (uint64(1)<<size - 1) << (at & 63)
	if how == writes {
		r.written[at>>6] |= bits
	} else if r.written[at>>6]&bits != bits {
		w.fail(lane, "%d bytes at %d of %s are read, which nobody wrote", size, w.position(r, at), r.name)
	}
	if r.pages == nil {
		if r == w.block.launch.params && how != reads {
			w.fail(lane, "parameters are written")
		}
		return
	}
	serial := w.block.launch.serial
	if r == w.block.shared {
		serial = w.block.serial
	}
	me := stamp{block: uint32(w.block.number) + 1, thread: uint16(32*w.number + lane), time: w.block.now}
	for word := at >> 2; word <= (at+int64(size)-1)>>2; word++ {
		c := r.cell(word, serial)
		if size >= 4 && c.split == 0 {
			w.meet(r, c, me, lane, how, word*4)
			continue
		}
		parts := r.parts(c)
		for i := range parts {
			if b := word*4 + int64(i); b >= at && b < at+int64(size) {
				w.meet(r, &parts[i], me, lane, how, b)
			}
		}
	}
}

// position is where an access is in the memory of its thread.
func (w *warp) position(r *region, at int64) int64 {
	if r == w.local {
		return at % (int64(len(r.data)) / 32)
	}
	return at
}

// cell says who used a word of memory since a kernel, or a block in its shared memory, began.
type cell struct {
	serial       uint32 // of the kernel or block
	split        uint32 // 1 + the index in region.split, if its bytes have cells of their own
	wrote        stamp  // the last store
	swapped      stamp  // the last atomic operation after it
	read1, read2 stamp  // loads after that store by two threads, of different warps if possible
}

// stamp is a thread at a time; the time of a block advances at barriers and fences.
type stamp struct {
	block  uint32 // from 1, 0 for nobody
	time   uint32
	thread uint16
}

func (r *region) cell(word int64, serial uint32) *cell {
	page := &r.pages[word/pageWords]
	if *page == nil {
		*page = make([]cell, pageWords)
	}
	c := &(*page)[word%pageWords]
	if c.serial != serial {
		*c = cell{serial: serial}
	}
	return c
}

// parts returns the cells of the four bytes of a word.
func (r *region) parts(c *cell) *[4]cell {
	if c.split == 0 {
		whole := *c
		r.split = append(r.split, &[4]cell{whole, whole, whole, whole})
		c.split = uint32(len(r.split))
	}
	return r.split[c.split-1]
}

// meet compares an access with those before it, and remembers it.
func (w *warp) meet(r *region, c *cell, me stamp, lane int, how access, at int64) {
	if how == constant && (c.wrote.block != 0 || c.swapped.block != 0) {
		w.fail(lane, "memory at %d of %s is read as constant (ld.global.nc), and written by the same kernel", at, r.name)
	}
	if !w.ordered(c.wrote, me) {
		w.race(r, at, lane, how, "wrote", c.wrote)
	}
	strong := how == swaps || how == watches
	if !strong && !w.ordered(c.swapped, me) {
		w.race(r, at, lane, how, "changed", c.swapped)
	}
	switch how {
	case reads, constant:
		switch {
		case w.ordered(c.read1, me):
			c.read1 = me
		case w.ordered(c.read2, me) || c.read2.block == c.read1.block && c.read2.thread>>5 == c.read1.thread>>5:
			c.read2 = me
		}
		return
	case watches:
		return
	}
	if !w.ordered(c.read1, me) {
		w.race(r, at, lane, how, "read", c.read1)
	}
	if !w.ordered(c.read2, me) {
		w.race(r, at, lane, how, "read", c.read2)
	}
	if how != writes {
		c.swapped = me
		return
	}
	c.wrote, c.swapped, c.read1, c.read2 = me, stamp{}, stamp{}, stamp{}
}

// ordered reports whether an earlier access by the thread s is known to come before this one.
func (w *warp) ordered(s, me stamp) bool {
	switch b := w.block; {
	case s.block == 0:
		return true
	case s.block != me.block:
		// Accesses of two blocks are ordered if the first block has executed a fence after its own, and the second before its
		// own. Whether the second knows of the first one's fence, by an atomic operation, is not checked.
		fenced := b.launch.fenced
		return s.time < fenced[s.block-1] && fenced[me.block-1] > 0
	case s.thread == me.thread || s.time < b.known:
		return true
	case int(s.thread>>5) == w.number:
		return s.time < w.known
	default:
		return b.warpsKnow != nil && s.time < b.warpsKnow[w.number][s.thread>>5]
	}
}

func (w *warp) race(r *region, at int64, lane int, how access, did string, s stamp) {
	does := map[access]string{reads: "reads", constant: "reads", watches: "reads", writes: "writes", swaps: "changes"}[how]
	who := fmt.Sprintf("thread %d", s.thread)
	since := "without a barrier between"
	if s.block != uint32(w.block.number)+1 {
		who = fmt.Sprintf("thread %d of block %d", s.thread, s.block-1)
		since = "in the same kernel, without fences"
	}
	w.fail(lane, "%s what %s %s, %s: %d of %s", does, who, did, since, at, r.name)
}
