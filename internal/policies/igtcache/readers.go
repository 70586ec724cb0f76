package igtcache

import "github.com/cachesim/cachesim/internal/policies"

// mostReaders is how many readers of a sequential stream are followed at a time.
const mostReaders = 16

// readers are those of a sequential stream, each with the block that it reads. A block is dropped when its reader has
// gone on, so that several requests for parts of one block hit.
type readers struct {
	all  [mostReaders]reader
	n    int
	tick int64 // requests so far
}

// reader reads a stream from child to child: from entry to entry of a directory, or from block to block of a file.
type reader struct {
	object policies.Object
	child  int64  // position in the listing of the stream
	block  uint64 // in the file
	tick   int64  // of the last request
}

// stale is how many requests to the stream a reader may miss until it is taken to have stopped.
const stale = 1000

// read follows a request, and returns the block that its reader has left, if it has left one; others says that another
// reader is still behind that block.
func (rs *readers) read(o policies.Object, child int64, block uint64) (left policies.Object, has, others bool) {
	rs.tick++
	at := rs.reader(o, child, block)
	r := &rs.all[at]
	left, has = r.object, r.tick > 0 && r.object != o
	if has {
		others = rs.behind(at, r.child, r.block)
	}
	*r = reader{o, child, block, rs.tick}
	return left, has, others
}

// reader returns who reads a block: who has it, or goes on to it. Otherwise a reader begins, in the place of the least
// recent one.
func (rs *readers) reader(o policies.Object, child int64, block uint64) int {
	for i := range rs.all[:rs.n] {
		if rs.all[i].object == o {
			return i
		}
	}
	oldest := 0
	for i := range rs.all[:rs.n] {
		r := &rs.all[i]
		if child == r.child && block == r.block+1 || child == r.child+1 {
			return i
		}
		if r.tick < rs.all[oldest].tick {
			oldest = i
		}
	}
	if rs.n < mostReaders {
		rs.n++
		return rs.n - 1
	}
	return oldest
}

// behind reports whether a reader other than the given one will come to a block.
func (rs *readers) behind(but int, child int64, block uint64) bool {
	for i, r := range rs.all[:rs.n] {
		if i != but && r.tick > rs.tick-stale && (r.child < child || r.child == child && r.block < block) {
			return true
		}
	}
	return false
}
