package boosted

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/gbm"
)

// chooseRanked is choose with a model.
func (p *glCache) chooseRanked() bool {
	if float64(p.next) >= p.rankShare*float64(len(p.ranked)) {
		p.rank()
	}
	for attempt := range 2 {
		for ; p.next < len(p.ranked); p.next++ {
			if at := p.ranked[p.next]; at != 0 && p.gather(at) {
				p.next++
				return true
			}
		}
		if attempt == 0 {
			p.rank() // segments that were open then can be merged now
		}
	}
	return false
}

// gather sets merging to a segment and those to merge with it, and reports whether there are enough.
func (p *glCache) gather(at int) bool {
	p.merging = append(p.merging[:0], at)
	if p.consecutive {
		if !p.mergeable(at) {
			return false
		}
		for len(p.merging) < p.together {
			at = p.segments[at].next
			p.merging = append(p.merging, at)
		}
		return true
	}
	for i := p.next + 1; i < len(p.ranked) && len(p.merging) < p.together; i++ {
		if p.ranked[i] != 0 {
			p.merging = append(p.merging, p.ranked[i])
		}
	}
	return len(p.merging) == p.together
}

// rank orders all segments but the open one by what the model expects them to be worth per byte. Ties go to the older
// segment.
func (p *glCache) rank() {
	p.rankings++
	p.ranked, p.rows, p.next = p.ranked[:0], p.rows[:0], 0
	for at := p.first; at != 0; at = p.segments[at].next {
		if at != p.open {
			p.ranked = append(p.ranked, at)
			p.rows = p.describe(p.rows, at)
		}
	}
	p.worth = slices.Grow(p.worth[:0], len(p.ranked))[:len(p.ranked)]
	p.model.PredictRows(p.rows, p.worth)
	for i, at := range p.ranked {
		s := &p.segments[at]
		if s.worth = p.worth[i] / float64(max(s.bytes, 1)); p.worth[i] < 0 {
			s.worth = p.worth[i] * float64(max(s.bytes, 1))
		}
	}
	slices.SortStableFunc(p.ranked, func(a, b int) int {
		x, y := &p.segments[a], &p.segments[b]
		return cmp.Or(cmp.Compare(x.worth, y.worth), cmp.Compare(x.created, y.created))
	})
	for i, at := range p.ranked {
		p.segments[at].rank = i + 1
	}
}

// describe appends the features of a segment to rows.
func (p *glCache) describe(rows []float64, at int) []float64 {
	s := &p.segments[at]
	return append(rows, float64(p.now-s.created), float64(s.bytes)/float64(max(s.objects, 1)), float64(s.hits),
		float64(s.active), s.missRatio)
}

// takeSnapshot notes the features of the segments, of some of them if there are too many. What requests show them to be
// worth is their label.
func (p *glCache) takeSnapshot() {
	s := &p.snapshot
	interval := p.interval
	if interval == 0 {
		interval = int64(max(autoRetraining*p.present, 1))
	}
	s.at, s.taken = p.now, true
	s.due = int32(min(int64(p.now)+interval, math.MaxInt32))
	s.rows, s.utility, s.skip = s.rows[:0], s.utility[:0], s.skip[:0]
	clear(s.row)
	closed := 0
	for at := p.first; at != 0; at = p.segments[at].next {
		closed++
	}
	every, credit := max(float64(closed)/mostSnapshots, 1), 0.0
	for at := p.first; at != 0; at = p.segments[at].next {
		if credit++; at == p.open || credit < every || len(s.utility) == mostSnapshots {
			continue
		}
		credit -= every
		s.rows = p.describe(s.rows, at)
		s.utility = append(s.utility, 0)
		s.skip = append(s.skip, int32(p.segments[at].objects/p.together))
		for o, ok := p.objects.Front(at); ok; o, ok = p.objects.After(o) {
			s.row[o] = uint32(len(s.utility))
		}
	}
}

// train makes a model of the last snapshot, or leaves the last one if nothing was in it.
func (p *glCache) train() {
	s := &p.snapshot
	n := len(s.utility)
	if n == 0 {
		return
	}
	o := p.options
	if n >= leastValidated {
		o.Validation, o.Patience = 0.1, stableTrees
	}
	data := sure(gbm.NewData(groupFeatures, n))
	for i, utility := range s.utility {
		sure(0, data.Add(s.rows[i*len(groupFeatures):][:len(groupFeatures)], utility))
	}
	p.model = trained(o, data)
	p.next = len(p.ranked) // they are ranked again
	p.trainings++
	p.work += int64(n) * int64(len(groupFeatures)) * int64(p.model.Trees())
}
