// Package join finds similar pairs of vectors on a GPU: tensor cores propose pairs by products in half precision, and
// the GPU decides about each in float64 as similarity.Vectors.Similarity does, bit by bit. Backend makes a
// similarity.Backend of a device; Supports says whether the device can join.
package join

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	"github.com/cachesim/cachesim/internal/similarity"
)

// Sizes that the kernels are written for.
const (
	side    = 128 // vectors per side of a tile
	step    = 32  // numbers of a vector that a tile loads at a time
	threads = 256
)

// pairBytes is the memory for a pair on the device: what is proposed, and what is decided to be similar.
const pairBytes = 8 + 12

// limits bound the memory and the launches of a join. Tests have smaller ones.
type limits struct {
	group int // tiles per side of a square, whose vectors the cache of the device holds
	rows  int // most squares of a launch
	room  int // most pairs of a launch
	bytes int64
	// further is memory per vector in addition to a join's.
	further int64
}

// A launch of 512 squares of 16 x 16 tiles is 2 billion pairs: milliseconds on a large GPU, and a tenth of a second on
// a small one, which does not disturb its display.
var standard = limits{group: 16, rows: 512, room: 1 << 23, bytes: 1 << 62}

// Backend returns the backend of joins that runs on a device.
func Backend(d *cuda.Shared) similarity.Backend { return backend{d, standard, SelfTest} }

// backend implements similarity.Backend.
type backend struct {
	device *cuda.Shared
	limits limits
	test   *cuda.SelfTest
}

func (b backend) Name() string { return b.device.Name() }

func (b backend) Find(ctx context.Context, s *similarity.Search) error {
	return b.do(ctx, func(d cuda.Device) error { return find(ctx, d, b.limits, s) })
}

// do calls compute with the device, which must be able to join, after its self-test. It returns as soon as ctx ends,
// even if a kernel is still running.
func (b backend) do(ctx context.Context, compute func(cuda.Device) error) error {
	if err := Supports(b.device); err != nil {
		return err
	}
	_, err := parallel.Await(ctx, func() (struct{}, error) { return struct{}{}, b.device.Compute(ctx, b.test, compute) })
	return err
}

// Supports returns an error if a GPU cannot join: it needs the tensor cores of compute capability 8.0.
func Supports(d interface{ Capability() cuda.Capability }) error {
	needs := cuda.SimilarityJoin.Needs
	if has := d.Capability(); !has.AtLeast(needs) {
		return fmt.Errorf("queries are compared by GPUs of compute capability %s or newer, this one has %s", needs, has)
	}
	return nil
}

// search is a join under way on a device.
type search struct {
	*joiner
	*similarity.Search
	finder *similarity.Finder
}

// joiner compares vectors on a device.
type joiner struct {
	limits
	all    similarity.Vectors
	scope  *cuda.Scope
	module cuda.Module
	halves similarity.Halves
	words  int // per vector in half precision, padded
	// memory of the device
	left, right chunk
	proposed    cuda.Pointer // room pairs
	similar     cuda.Pointer // room pairs with their similarities
	counters    cuda.Pointer // of proposed and similar pairs
	bounds      cuda.Pointer // per vector of the left chunk, in a search for the nearest
	atOnce      int          // squares of the next launch
}

// chunk is a part of the vectors in the memory of the device.
type chunk struct {
	first, count    int
	vectors, halves cuda.Pointer
}

// withJoiner calls work with a joiner of vectors for a least similarity, and the number of vectors of a chunk.
func withJoiner(d cuda.Device, l limits, v similarity.Vectors, from float32,
	work func(j *joiner, each int) error) (err error) {
	scope := cuda.NewScope(d)
	defer func() {
		if e := scope.Close(); err == nil {
			err = e
		}
	}()
	j := &joiner{limits: l, all: v, scope: scope, words: words(v.Dim), atOnce: 1}
	if j.halves, err = v.Halves(from); err != nil {
		return err
	}
	if j.module, err = d.Load(kernels.Join()); err != nil {
		return err
	}
	each, err := j.alloc()
	if err != nil {
		return err
	}
	return work(j, each)
}

// find lists the similar pairs of s.
func find(ctx context.Context, d cuda.Device, l limits, s *similarity.Search) (err error) {
	return withJoiner(d, l, s.Vectors, s.From, func(j *joiner, each int) error {
		search := &search{j, s, s.Finder()}
		return j.eachTwo(each, true, func(left, right *chunk) error { return search.compare(ctx, left, right) })
	})
}

// eachTwo calls compare with each chunk of so many vectors and itself, and then with each other one; only with later
// ones if once.
func (j *joiner) eachTwo(each int, once bool, compare func(left, right *chunk) error) error {
	n := j.all.Len()
	for first := 0; first < n; first += each {
		if err := j.load(&j.left, first, min(each, n-first)); err != nil {
			return err
		}
		if err := compare(&j.left, &j.left); err != nil {
			return err
		}
		for other := 0; other < n; other += each {
			if other == first || once && other < first {
				continue
			}
			if err := j.load(&j.right, other, min(each, n-other)); err != nil {
				return err
			}
			if err := compare(&j.left, &j.right); err != nil {
				return err
			}
		}
	}
	return nil
}

// plan says what a join keeps in the memory of the device.
type plan struct {
	chunks int // 1 with all vectors, or 2 of those that fit
	each   int // vectors per chunk, whole squares
	room   int // pairs
}

func (p plan) bytes(perVector int64) int64 {
	return int64(p.chunks)*int64(p.each)*perVector + int64(p.room)*pairBytes + margin
}

// plan divides usable bytes between n vectors and pairs. The pairs of one square always have room.
func (l limits) plan(usable int64, n, dim int) (plan, error) {
	square, possible := l.group*side, int64(n)*int64(n-1) // pairs in both directions, as the nearest have them
	least, perVector := min(int64(square*square), possible), vectorBytes(dim)+l.further
	p := plan{chunks: 1, each: (n + square - 1) / square * square,
		room: int(max(least, min(int64(l.room), usable/4/pairBytes, possible)))}
	if p.bytes(perVector) <= usable {
		return p, nil
	}
	p.chunks = 2
	p.each = int(max(0, usable-int64(p.room)*pairBytes-margin)/(2*perVector)) / square * square
	if p.each == 0 {
		needed := plan{2, square, int(least)}.bytes(perVector)
		return p, cuda.TooLarge("comparing vectors of %d numbers needs at least %d MiB on the GPU, of which %d MiB are "+
			"free; end other programs on the GPU, or use --device cpu", dim, needed>>20+1, usable>>20)
	}
	return p, nil
}

// words returns how many words a vector has in half precision: two numbers in each, padded to what a tile loads.
func words(dim int) int { return (dim + step - 1) / step * step / 2 }

// vectorBytes returns the memory for a vector, in float32 and in half precision.
func vectorBytes(dim int) int64 { return 4*int64(dim) + 4*int64(words(dim)) }

// alloc allocates memory for the vectors, and returns how many a chunk has. If an allocation fails although the memory
// was free, it tries with fewer.
func (j *joiner) alloc() (each int, err error) {
	usable := j.limits.bytes
	p, err := cuda.Fit(func(tooLarge *plan) (*plan, error) {
		if tooLarge != nil {
			usable = usable * 7 / 8
		}
		free, err := cuda.Usable(j.scope)
		if err != nil {
			return nil, err
		}
		usable = min(usable, free)
		p, err := j.plan(usable, j.all.Len(), j.all.Dim)
		return &p, err
	}, j.allocPlan, func(*plan) error { return j.scope.Close() })
	if err != nil {
		return 0, err
	}
	return p.each, nil
}

// allocPlan allocates the memory of a plan.
func (j *joiner) allocPlan(p *plan) (err error) {
	j.room = p.room
	for _, c := range []*chunk{&j.left, &j.right}[:p.chunks] {
		err := j.scope.AllocAll(cuda.Undefined(&c.vectors, int64(p.each)*4*int64(j.all.Dim)),
			cuda.Undefined(&c.halves, int64(p.each)*4*int64(j.words)))
		if err != nil {
			return err
		}
	}
	if j.limits.further > 0 {
		if j.bounds, err = j.scope.Alloc(int64(p.each) * j.limits.further); err != nil {
			return err
		}
	}
	return j.scope.AllocAll(cuda.Undefined(&j.proposed, int64(j.room)*8),
		cuda.Undefined(&j.similar, int64(j.room)*12), cuda.Undefined(&j.counters, 8))
}

// margin is for the counters and the alignment of allocations.
const margin = 8 << 10

// load copies vectors to a chunk, and rounds them to half precision.
func (j *joiner) load(c *chunk, first, count int) error {
	c.first, c.count = first, count
	dim := j.all.Dim
	if err := cuda.Put(j.scope, c.vectors, j.all.Data[first*dim:(first+count)*dim]); err != nil {
		return err
	}
	square := j.group * side
	rows := (count + square - 1) / square * square
	grid := cuda.Grid{Blocks: min((rows*j.words+threads-1)/threads, 1<<16), Threads: threads}
	return j.module.Launch("join_halve", grid, c.vectors, uint32(count), uint32(dim), j.halves.Scale, c.halves,
		uint32(rows), uint32(j.words))
}

// compare lists the similar pairs with their lower number in left and the other in right, column by column of squares.
func (j *search) compare(ctx context.Context, left, right *chunk) error {
	square := j.group * side
	rows, columns := (left.count+square-1)/square, (right.count+square-1)/square
	for column := range columns {
		end := rows
		if left == right {
			end = column + 1
		}
		for row := 0; row < end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			count := min(j.atOnce, end-row)
			done, err := j.launch(left, right, row, count, column)
			if err != nil {
				return err
			}
			if !done {
				continue
			}
			compared := pairsOf(left, right, row*square, (row+count)*square, column*square, square)
			if err := j.finder.Compared(compared); err != nil {
				return err
			}
			row += count
		}
	}
	return nil
}

// pairsOf returns how many pairs rows from first to end have with the vectors of the column that begins at column.
func pairsOf(left, right *chunk, first, end, column, square int) int64 {
	columnEnd := min(column+square, right.count)
	if left != right {
		return int64(min(end, left.count)-first) * int64(columnEnd-column)
	}
	above := int64(min(end, column)-first) * int64(columnEnd-column)
	if end <= column {
		return above
	}
	n := int64(columnEnd - column)
	return above + n*(n-1)/2
}

// launch lists the similar pairs of count squares of a column. It reports false, having listed none, if they propose
// more pairs than fit: the next launch has fewer squares.
func (j *search) launch(left, right *chunk, row, count, column int) (done bool, err error) {
	square := j.group * side
	firstA, firstB := left.first+row*square, right.first+column*square
	pairs, err := j.pairs("join_propose", left, right, bounds{
		firstA, min(firstA+count*square, left.first+left.count), firstB, min(firstB+square, right.first+right.count), j.From,
	}, count, uint32(row), uint32(column), uint32(left.count), uint32(right.count), uint32(left.first),
		uint32(right.first), j.halves.From)
	if pairs == nil || err != nil {
		return false, err
	}
	for _, p := range pairs {
		if p.A >= p.B {
			return false, cuda.Wrong("vectors %d and %d are a pair in this order", p.A, p.B)
		}
	}
	j.finder.AddAll(pairs)
	return true, nil
}

// bounds is what the pairs of a launch are: vectors from firstA with others from firstB on, and their least similarity.
type bounds struct {
	firstA, endA, firstB, endB int
	from                       float32
}

// check refuses pairs beyond the bounds: later code uses them as indices, and they come from a device that may be
// broken.
func (b bounds) check(pairs []similarity.Pair) error {
	for _, p := range pairs {
		if p.A == p.B || !within(p.A, b.firstA, b.endA) || !within(p.B, b.firstB, b.endB) || !(p.Similarity >= b.from) ||
			p.Similarity > 1 {
			return cuda.Wrong("vectors %d and %d have a similarity of %v, among pairs of %d to %d with %d to %d and at least %v",
				p.A, p.B, p.Similarity, b.firstA, b.endA-1, b.firstB, b.endB-1, b.from)
		}
	}
	return nil
}

func within(i uint32, first, end int) bool { return int64(i) >= int64(first) && int64(i) < int64(end) }

// pairs lets a kernel with these arguments propose pairs of count squares, and returns those within bounds. It returns
// nil if more are proposed than fit; the next launch then has fewer squares.
func (j *joiner) pairs(kernel string, left, right *chunk, b bounds, count int, arguments ...any) ([]similarity.Pair,
	error) {
	if err := j.scope.Fill(j.counters, 0, 8); err != nil {
		return nil, err
	}
	propose := cuda.Grid{Blocks: count * j.group * j.group, Threads: threads}
	arguments = append([]any{left.halves, right.halves, uint32(j.words), uint32(j.group)}, arguments...)
	arguments = append(arguments, j.proposed, j.counters, uint32(j.room))
	if err := j.module.Launch(kernel, propose, arguments...); err != nil {
		return nil, err
	}
	decide := cuda.Grid{Blocks: 8 * j.scope.Processors(), Threads: threads} // enough to fill the device
	if err := j.module.Launch("join_decide", decide, left.vectors, right.vectors, uint32(j.all.Dim), uint32(left.first),
		uint32(right.first), b.from, j.proposed, j.counters, uint32(j.room), j.similar, j.counters+4); err != nil {
		return nil, err
	}
	var counts [2]uint32
	if err := cuda.Download(j.scope, counts[:], j.counters); err != nil {
		return nil, err
	}
	proposed, similar := int(counts[0]), int(counts[1])
	switch {
	case proposed > j.room && count == 1:
		return nil, cuda.Wrong("%d pairs may be similar, of %d at most", proposed, j.room)
	case proposed > j.room:
		j.atOnce = count / 2
		return nil, nil
	case similar > proposed:
		return nil, cuda.Wrong("%d pairs are similar, of %d that may be", similar, proposed)
	// Twice as many squares propose about twice as many pairs, which leaves half of the room as a margin.
	case proposed < j.room/4:
		j.atOnce = min(2*j.atOnce, j.rows)
	}
	pairs := make([]similarity.Pair, similar)
	if err := j.scope.Read(pairBytesOf(pairs), j.similar); err != nil {
		return nil, err
	}
	return pairs, b.check(pairs)
}

// pairBytesOf returns the memory of pairs, in the layout that join_decide writes: two numbers and a float32.
func pairBytesOf(pairs []similarity.Pair) []byte {
	const size = int(unsafe.Sizeof(similarity.Pair{}))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(pairs))), len(pairs)*size)
}
