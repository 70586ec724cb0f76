package igtcache

import (
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// perReader is how many readers of a sequential stream are followed for each that the recognition of patterns tells
// apart. So a reader that has stopped, or only seeks, does not displace one that goes on.
const perReader = 4

// fewestReaders is how many readers are followed at least, as some may come after the last test of the pattern.
const fewestReaders = 4

// readers are the readers of a sequential stream, each with the block that it reads. A block is dropped when its reader
// has gone on, so that several requests for parts of one block hit.
type readers struct {
	all  []reader
	tick int64 // requests so far
}

// position is where a block is below a stream.
type position struct {
	child int64 // in the listing of the stream
	file  streams.Place
	block uint64 // in the file
	last  bool   // of the file
}

// before reports whether a reader at one position will come to the other one.
func (p position) before(q position) bool {
	return p.child < q.child || p.child == q.child && p.block < q.block
}

// reader reads a stream from child to child: from entry to entry of a directory, or from block to block of a file.
type reader struct {
	object policies.Object
	position
	tick int64 // of the last request
}

// stale is the number of requests to the stream after which a reader that made none of them is taken to have stopped.
const stale = 1000

// read follows a request of one of several readers, whose number is limited. It returns the block that the reader has
// left, if any; others says that another reader is still behind that block.
func (rs *readers) read(o policies.Object, at position, most int) (left policies.Object, has, others bool) {
	rs.tick++
	i := rs.reader(o, at, most)
	r := &rs.all[i]
	left, has = r.object, r.tick > 0 && r.object != o // a new reader has no tick, and was at no block
	if has {
		others = rs.behind(i, r.position)
	}
	*r = reader{o, at, rs.tick}
	return left, has, others
}

// How well a request continues what a reader has read.
const (
	unrelated = iota
	skips     // it goes on to the next child, though the file that it reads has more blocks
	enters    // it has read the last block of a file, and goes on to the next child
	advances  // it goes on to the next block of the file, or to the next file of the same child
	repeats   // the same block
)

// reader returns the reader that is at a block or goes on to it; ties go to the most recent one. If there is none, a
// new reader replaces the least recent one.
func (rs *readers) reader(o policies.Object, at position, most int) int {
	best, match, oldest := 0, unrelated, 0
	for i := range rs.all {
		r := &rs.all[i]
		m := r.continues(o, at)
		if m == repeats {
			return i
		}
		if m > match || m == match && m > unrelated && r.tick > rs.all[best].tick {
			best, match = i, m
		}
		if r.tick < rs.all[oldest].tick {
			oldest = i
		}
	}
	switch {
	case match > unrelated:
		return best
	case len(rs.all) < most:
		rs.all = append(rs.all, reader{})
		return len(rs.all) - 1
	}
	return oldest
}

func (r *reader) continues(o policies.Object, at position) int {
	switch {
	case r.object == o:
		return repeats
	case at.file == r.file && at.block == r.block+1, at.child == r.child && at.file == r.file+1 && at.block == 0 && r.last:
		return advances
	case at.child == r.child+1 && r.last:
		return enters
	case at.child == r.child+1:
		return skips
	}
	return unrelated
}

// behind reports whether a reader other than the given one will come to a block.
func (rs *readers) behind(but int, at position) bool {
	for i := range rs.all {
		if r := &rs.all[i]; i != but && r.tick > rs.tick-stale && r.before(at) {
			return true
		}
	}
	return false
}

// goOn reports whether a reader will come to a block.
func (rs *readers) goOn(at position) bool { return rs.behind(-1, at) }

// readBlocks are the resident blocks that the readers of sequential streams have gone on from, in that order. Memory: 9
// bytes per object, and 8 if they differ in size.
type readBlocks struct {
	order  dense.Lists
	has    []bool
	charge dense.Charges
	total  int64 // what they are charged
}

func newReadBlocks(objects int, unit bool) readBlocks {
	return readBlocks{dense.NewLists(objects, 1), make([]bool, objects), dense.NewCharges(objects, unit), 0}
}

func (b *readBlocks) add(o policies.Object, charge int64) {
	b.remove(o)
	b.has[o] = true
	b.charge.Set(o, charge)
	b.total += charge
	b.order.PushFront(0, o)
}

func (b *readBlocks) remove(o policies.Object) {
	if b.has[o] {
		b.has[o] = false
		b.total -= b.charge.Of(o)
		b.order.Unlink(o)
	}
}

// oldest returns the block that was left first.
func (b *readBlocks) oldest() (policies.Object, bool) { return b.order.Back(0) }
