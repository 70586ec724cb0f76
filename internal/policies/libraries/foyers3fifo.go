package libraries

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// The segments of foyerS3FIFO.
const (
	foyerSmall = iota
	foyerMain
	foyerS3Segments
)

// foyerMost is what the counter of an object goes up to.
const foyerMost = 3

// foyerS3FIFO evicts from the small queue while that has more than its share, otherwise from the main one.
type foyerS3FIFO struct {
	*foyer
	small, ghost float64
	freq         []uint8 // per resident object
	ghosts       []foyerGhosts
	isGhost      []bool // per object
}

// foyerGhosts are the ghosts of a shard, the oldest first. An object may be there several times, from several
// evictions; the first time that it leaves it is no ghost any more.
type foyerGhosts struct {
	queue    []foyerGhost
	first    int // those before have been dropped
	weight   int64
	capacity int64
}

type foyerGhost struct {
	object policies.Object
	weight int64
}

func (q *foyerS3FIFO) begin(f *foyer, objects, shards int) int {
	q.foyer, q.ghosts = f, make([]foyerGhosts, shards)
	q.grow(objects)
	return foyerS3Segments
}

func (q *foyerS3FIFO) grow(objects int) {
	q.freq = dense.Grown(q.freq, objects)
	q.isGhost = dense.Grown(q.isGhost, objects)
}

func (q *foyerS3FIFO) divide(shard int, capacity int64) {
	q.Limit[shard*foyerS3Segments+foyerSmall] = int64(float64(capacity) * q.small)
	g := &q.ghosts[shard]
	g.capacity = dense.Multiple(capacity, q.ghost)
	q.forget(g, 0)
}

// forget drops the oldest ghosts until a further one of that weight has room, or none is left.
func (q *foyerS3FIFO) forget(g *foyerGhosts, weight int64) {
	for g.weight+weight > g.capacity && g.weight > 0 {
		q.isGhost[g.queue[g.first].object] = false
		g.weight -= g.queue[g.first].weight
		g.first++
	}
}

func (q *foyerS3FIFO) hit(o policies.Object, _ int) { q.freq[o] = min(q.freq[o]+1, foyerMost) }

func (q *foyerS3FIFO) resized(int) {}

func (q *foyerS3FIFO) push(o policies.Object, shard int) {
	q.freq[o] = 0
	if q.isGhost[o] {
		q.Put(shard*foyerS3Segments+foyerMain, o)
	} else {
		q.Put(shard*foyerS3Segments+foyerSmall, o)
	}
}

func (q *foyerS3FIFO) pop(shard int) policies.Object {
	small, main := shard*foyerS3Segments+foyerSmall, shard*foyerS3Segments+foyerMain
	for exceeds := q.Used[small] > q.Limit[small]; exceeds; {
		o, ok := q.Pop(small)
		if !ok {
			break
		}
		if q.freq[o] == 0 {
			q.remember(o, shard)
			return o
		}
		q.Put(main, o)
	}
	for {
		o, ok := q.Pop(main)
		if !ok { // nothing there, and the small queue has no more than its share
			o, _ = q.Pop(small)
			return o
		}
		if q.freq[o] == 0 {
			return o
		}
		q.freq[o]--
		q.Put(main, o)
	}
}

func (q *foyerS3FIFO) remember(o policies.Object, shard int) {
	g := &q.ghosts[shard]
	if g.capacity == 0 {
		return
	}
	weight := q.Charged.Of(o)
	q.forget(g, weight)
	if len(g.queue) == cap(g.queue) && 2*g.first >= len(g.queue) { // make room where ghosts have been dropped
		g.queue = append(g.queue[:0], g.queue[g.first:]...)
		g.first = 0
	}
	g.queue = append(g.queue, foyerGhost{o, weight})
	g.weight += weight
	q.isGhost[o] = true
}

func (q *foyerS3FIFO) drop(policies.Object, int) {}

func (q *foyerS3FIFO) used(shard int) int64 {
	return q.Used[shard*foyerS3Segments+foyerSmall] + q.Used[shard*foyerS3Segments+foyerMain]
}
