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
			return (&nearest{joiner: j, NearestSearch: s}).find(ctx, each)
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

// find compares each chunk with all, itself first.
func (j *nearest) find(ctx context.Context, each int) error {
	n := j.all.Len()
	for first := 0; first < n; first += each {
		if err := j.load(&j.left, first, min(each, n-first)); err != nil {
			return err
		}
		j.begun = false
		if err := j.compare(ctx, &j.left, &j.left); err != nil {
			return err
		}
		for other := 0; other < n; other += each {
			if other == first {
				continue
			}
			if err := j.load(&j.right, other, min(each, n-other)); err != nil {
				return err
			}
			if err := j.compare(ctx, &j.left, &j.right); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare compares all vectors of left with all vectors of right, one column of squares after another. While a list is
// not full, all vectors are proposed for it: the first column begins with one tile, then 3 and then 12, so that lists
// are full soon.
func (j *nearest) compare(ctx context.Context, left, right *chunk) error {
	square := j.group * side
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
		if err := j.scope.Fill(j.counters, 0, 8); err != nil {
			return err
		}
		grid := cuda.Grid{Blocks: count * j.group * j.group, Threads: threads}
		if err := j.module.Launch("nearest_propose", grid, left.halves, right.halves, uint32(j.words), uint32(j.group),
			uint32(row), uint32(column), uint32(left.count), uint32(begin), uint32(end), uint32(left.first),
			uint32(right.first), j.bounds, j.proposed, j.counters, uint32(j.room)); err != nil {
			return err
		}
		pairs, err := j.decide(left, right, float32(math.Inf(-1)), count)
		if err != nil {
			return err
		}
		if pairs == nil {
			continue
		}
		if err := plausible(pairs, left.first+first, left.first+last, right.first+begin, right.first+end); err != nil {
			return err
		}
		if err := j.offer(ctx, pairs, left.first+first, left.first+last); err != nil {
			return err
		}
		same := max(0, min(left.first+last, right.first+end)-max(left.first+first, right.first+begin))
		j.Compared(int64(last-first)*int64(end-begin) - int64(same))
		row += count
	}
	return nil
}

// plausible returns an error unless each pair is a vector from first to last with another one from begin to end.
func plausible(pairs []similarity.Pair, first, last, begin, end int) error {
	for _, p := range pairs {
		if p.A == p.B || !within(p.A, first, last) || !within(p.B, begin, end) || !(p.Similarity <= 1) {
			return cuda.Wrong("vectors %d and %d have a similarity of %v, among pairs of %d to %d with %d to %d", p.A, p.B,
				p.Similarity, first, last-1, begin, end-1)
		}
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
