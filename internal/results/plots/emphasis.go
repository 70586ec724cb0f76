package plots

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/records"
)

const (
	// mostColoured is the number of lines up to which each is in its colour.
	mostColoured = 8
	// leastBest is the least number of the best that are in colour, however many references there are.
	leastBest = 3
)

// ranked is a line with what decides whether it is in colour.
type ranked struct {
	name      string
	reference bool
	values    map[string]float64 // by place
}

// fadedOf returns the names of the grey lines: none if there are at most mostColoured lines, otherwise all except the
// references and the lines with the best mean ranks.
func fadedOf(lines []ranked, metric string) map[string]bool {
	grey := map[string]bool{}
	if len(lines) <= mostColoured {
		return grey
	}
	competing := slices.DeleteFunc(slices.Clone(lines), func(l ranked) bool { return l.reference })
	best := max(leastBest, mostColoured-(len(lines)-len(competing)))
	order := meanRanks(competing, records.LowerIsBetter(metric))
	slices.SortStableFunc(competing, func(a, b ranked) int { return cmp.Compare(order[a.name], order[b.name]) })
	for _, l := range competing[min(best, len(competing)):] {
		grey[l.name] = true
	}
	return grey
}

// meanRanks returns the rank of each line, from 0 for the best, averaged over the places at which it has a value. With
// ranks each place has the same weight; with values the place with the largest differences would decide.
func meanRanks(lines []ranked, lowest bool) map[string]float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	places := map[string]bool{}
	for _, l := range lines {
		for place := range l.values {
			places[place] = true
		}
	}
	for place := range places { // in any order: the sums are of whole numbers
		for _, l := range lines {
			x, ok := l.values[place]
			if !ok {
				continue
			}
			count[l.name]++
			for _, other := range lines {
				if y, ok := other.values[place]; ok && (lowest && y < x || !lowest && y > x) {
					sum[l.name]++
				}
			}
		}
	}
	for _, l := range lines {
		sum[l.name] /= max(count[l.name], 1)
	}
	return sum
}
