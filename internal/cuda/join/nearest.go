package join

import (
	"context"
	"math"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/similarity"
)

// FindNearest implements similarity.Backend. The kernel proposes what may belong to the list of a vector by a bound of
// its own; lists and bounds are on the host.
func (b backend) FindNearest(ctx context.Context, s *similarity.NearestSearch) error {
	l := b.limits
	l.further = boundBytes
	return b.do(ctx, func(d cuda.Device) error {
		return withJoiner(d, l, s.Vectors, float32(math.Inf(-1)), func(j *joiner, each int) error {
			search := &nearest{joiner: j, NearestSearch: s}
			return j.eachTwo(each, false, func(left, right *chunk) error { return search.compare(ctx, left, right) })
		})
	})
}

const boundBytes = 4

// nearest is a search for the most similar vectors under way on a device.
type nearest struct {
	*joiner
	*similarity.NearestSearch
	current []float32 // for the squares of a launch
	begun   bool      // all vectors of the left chunk have been compared with some
}

// compare compares all vectors of left with all vectors of right, one column of squares after another. While a list is
// not full, all vectors are proposed for it: the first column begins with one tile, then 3 and then 12, so that lists
// are full soon.
func (j *nearest) compare(ctx context.Context, left, right *chunk) error {
	square := j.group * side
	j.begun = j.begun && left != right
	for column := 0; column*square < right.count; column++ {
		begin, end := column*square, min((column+1)*square, right.count)
		for width := side; !j.begun && begin+width < end; width *= 4 {
			if err := j.compareColumn(ctx, left, right, column, begin, begin+width); err != nil {
				return err
			}
			begin += width
		}
		if err := j.compareColumn(ctx, left, right, column, begin, end); err != nil {
			return err
		}
		j.begun = true
	}
	return nil
}

// compareColumn compares all vectors of left with the vectors of right from begin to end, which are in one column.
func (j *nearest) compareColumn(ctx context.Context, left, right *chunk, column, begin, end int) error {
	square := j.group * side
	rows := (left.count + square - 1) / square
	for row := 0; row < rows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(j.atOnce, rows-row)
		first, last := row*square, min((row+count)*square, left.count)
		if err := j.putBounds(left, first, last); err != nil {
			return err
		}
		b := bounds{left.first + first, left.first + last, right.first + begin, right.first + end, float32(math.Inf(-1))}
		pairs, err := j.pairs("nearest_propose", left, right, b, count, uint32(row), uint32(column), uint32(left.count),
			uint32(begin), uint32(end), uint32(left.first), uint32(right.first), j.bounds)
		if err != nil {
			return err
		}
		if pairs == nil {
			continue
		}
		if err := j.offer(ctx, pairs, b.firstA, b.endA); err != nil {
			return err
		}
		same := max(0, min(b.endA, b.endB)-max(b.firstA, b.firstB))
		j.Compared(int64(last-first)*int64(end-begin) - int64(same))
		row += count
	}
	return nil
}

// putBounds copies the bounds of the vectors of left from first to last to the device.
func (j *nearest) putBounds(left *chunk, first, last int) error {
	j.current = j.current[:0]
	for i := first; i < last; i++ {
		j.current = append(j.current, j.halves.Lower(j.Bound(left.first+i)))
	}
	return cuda.Put(j.scope, j.bounds+cuda.Pointer(first*boundBytes), j.current)
}

// offer lists the pairs, whose left vectors are from first to last. Each goroutine reads all pairs, and fills the lists
// of a range of the vectors.
func (j *nearest) offer(ctx context.Context, pairs []similarity.Pair, first, last int) error {
	return parallel.For(ctx, j.Jobs, j.Jobs, func(_ context.Context, _, i int) error {
		from, end := first+i*(last-first)/j.Jobs, first+(i+1)*(last-first)/j.Jobs
		for _, p := range pairs {
			if p.A-uint32(from) < uint32(end-from) {
				j.Offer(p.A, p.B, p.Similarity)
			}
		}
		return nil
	})
}
