package search

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/results/target"
)

// addIntervals adds intervals to the capacities, if blocks of their replays are known. The needs are in the order of
// the policies.
//
// In a draw of blocks both hit ratios differ: that of the cache that holds everything, and so the level, and that of
// the policy at the capacity found. The draw needs the capacity at which the policy's curve is higher or lower by this
// difference.
func (s *search) addIntervals(a *target.Answer, everything point) {
	drawn, set := make([][]float64, len(s.all)), s.ofAnswers(everything) // capacities
	for i, p := range s.all {
		n := &a.Needs[i]
		noise := s.noise(set, p, a.Target, everything)
		if n.How != target.Found || noise == nil {
			continue
		}
		needs := p.needs()
		for _, x := range noise {
			drawn[i] = append(drawn[i], needs(p.level-x))
		}
		low, high := blocks.Interval(float64(p.high.units), drawn[i])
		units := func(x float64) int64 { return s.at(p.Cell, max(1, int64(x))).Amount }
		n.Interval = &target.Interval{Low: min(units(low), units(float64(p.low.units+1))), High: units(high)}
		if n.Interval.Low == n.Interval.High {
			n.Interval = nil
		}
	}
	s.addTies(a, drawn)
}

// mostWidened limits the replays that only an interval needs.
const mostWidened = 24

// widen replays LRU at further capacities where no pass has its curve: those that an interval may reach, none more than
// twice the one before. The search itself knows the curve only beside the answer.
func (s *search) widen(lru *finder, everything point) error {
	c := s.with(policies.Recency(), s.group.Policies)
	if len(lru.points) == 0 || len(lru.points) > mostRuns || !fits(c) {
		return nil
	}
	low, high, ok := s.levels(everything)
	for range mostWidened {
		units := lru.gap(low, high)
		if !ok || units == 0 {
			break
		}
		points, err := s.replay([]experiment.Cell{c}, []int64{units})
		if err != nil {
			return err
		}
		lru.keep(points[0])
	}
	s.lru = newShape(lru.points)
	for _, p := range s.all {
		if p.lru = s.lru; isLRU(p.Policy) {
			p.points = lru.points
		}
	}
	return nil
}

// levels returns between which hit ratios the draws of all policies lie; false if none has draws.
func (s *search) levels(everything point) (low, high float64, ok bool) {
	set := s.ofAnswers(everything)
	low, high = 1, 0
	for _, p := range s.all {
		if !p.found() {
			continue
		}
		drawn := s.noise(set, p, s.Target, everything)
		if drawn == nil {
			continue
		}
		for k, x := range drawn {
			drawn[k] = p.level - x
		}
		from, to := blocks.Interval(p.level, drawn)
		low, high, ok = min(low, from), max(high, to), true
	}
	return low, high, ok
}

// gap returns a capacity, between two replays or beside all, where the curve between two hit ratios is poorly known; 0
// if there is none.
func (f *finder) gap(low, high float64) int64 {
	first, last := f.points[0], f.points[len(f.points)-1]
	switch {
	case first.ratio > low && first.units > 1:
		return first.units / 2
	case last.ratio < high && last.units < f.top:
		return min(f.top, 2*last.units)
	}
	for i, p := range f.points[1:] {
		before := f.points[i]
		if inside := max(before.ratio, p.ratio) >= low && min(before.ratio, p.ratio) <= high; !inside {
			continue
		}
		if p.units > 2*before.units+1 {
			return int64(math.Sqrt(float64(before.units) * float64(p.units)))
		}
	}
	return 0
}

// ofAnswers returns the blocks of the replays that give the answer, and of no others: how they are drawn does not
// depend on the capacities that somebody has named.
func (s *search) ofAnswers(everything point) *blocks.Set {
	set := blocks.NewSet(s.Seed)
	add := func(r *records.Record) {
		if r != nil {
			set.Add(r, s.Blocks.Of(r))
		}
	}
	add(everything.record)
	for _, p := range s.all {
		if p.found() {
			add(p.high.record)
		}
	}
	return set
}

// noise returns by how much a policy is further above the level in each draw than in the trace; nil if that is unknown.
func (s *search) noise(set *blocks.Set, p *policy, t target.Target, everything point) []float64 {
	if p.sampled || p.high.record == nil {
		return nil
	}
	here, ok := set.Drawn(p.high.record)
	if !ok {
		return nil
	}
	levels := slices.Repeat([]float64{p.level}, len(here.HitRatios))
	if t.Share {
		all, ok := set.Drawn(everything.record)
		if !ok {
			return nil
		}
		for k, largest := range all.HitRatios {
			levels[k] = t.Level(largest)
		}
	}
	noise := make([]float64, len(levels))
	for k := range noise {
		noise[k] = (here.HitRatios[k] - p.high.ratio) - (levels[k] - p.level)
	}
	return noise
}

// addTies finds the online policies whose capacities differ from the smallest by no more than draws do.
func (s *search) addTies(a *target.Answer, drawn [][]float64) {
	first := -1
	for i, n := range a.Needs {
		if n.Online && n.How == target.Found && (first < 0 || n.Capacity < a.Needs[first].Capacity) {
			first = i
		}
	}
	if first < 0 || drawn[first] == nil {
		return
	}
	for i := range a.Needs {
		n := &a.Needs[i]
		if i == first || !n.Online || drawn[i] == nil {
			continue
		}
		differences := slices.Clone(drawn[i])
		for k := range differences {
			differences[k] -= drawn[first][k]
		}
		n.Tied = blocks.Tie(differences)
	}
}
