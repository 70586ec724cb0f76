package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Subject says what is to be reached: "90% of the largest hit ratio", "a hit ratio of 0.5".
func (a Answer) Subject() string {
	if a.Target.Share {
		return a.Target.String() + " of the largest hit ratio"
	}
	return "a hit ratio of " + a.Target.String()
}

// Sentence is the answer: "90% of the largest hit ratio: ~3.1 GiB with s3fifo, ~4.4 GiB with lru".
func (a Answer) Sentence() string {
	var online, others []string
	for i, n := range a.Needs {
		capacity := a.CapacityOf(n)
		if i == 0 {
			capacity = a.withNoun(capacity)
		}
		if text := capacity + " with " + n.Policy + a.InBrackets(n); n.Online {
			online = append(online, text)
		} else {
			others = append(others, text)
		}
	}
	var lists []string
	if len(online) > 0 {
		lists = append(lists, strings.Join(online, a.separator()))
	}
	if len(others) > 0 {
		lists = append(lists, "offline: "+strings.Join(others, a.separator()))
	}
	if len(a.Needs) == 0 {
		lists = []string{"unknown, because no online policy has a hit"}
	}
	return records.Printable(a.Subject() + ": " + strings.Join(lists, "; "))
}

// separator goes between two policies. Some names have a comma: "arc, next" is arc with a prefetcher.
func (a Answer) separator() string {
	if slices.ContainsFunc(a.Needs, func(n Need) bool { return strings.Contains(n.Policy, ", ") }) {
		return "; "
	}
	return ", "
}

// CapacityOf writes what a policy needs: "~3.1 GiB", "more than 4,000".
func (a Answer) CapacityOf(n Need) string {
	switch n.How {
	case Estimated:
		return "~" + records.About(n.Capacity, a.Unit)
	case AtMost:
		return "at most " + a.capacity(n.Capacity)
	case MoreThan:
		return "more than " + a.capacity(n.Capacity)
	}
	return a.capacity(n.Capacity)
}

func (a Answer) capacity(n int64) string { return records.Capacity(n, a.Unit) }

// withNoun says what a capacity counts if its text has no unit.
func (a Answer) withNoun(number string) string {
	if a.Unit == records.Bytes {
		return number
	}
	return number + " " + a.Noun
}

// Explanation says which hit ratio is the largest, and how the capacities are known, in a line each.
func (a Answer) Explanation() (lines []string) {
	if a.Largest.HitRatio > 0 {
		largest := fmt.Sprintf("largest: %s, the highest of an online policy here (%s at %s)",
			hitRatio(a.Largest.HitRatio), a.Of, a.withNoun(a.capacity(a.Largest.Capacity)))
		if a.Target.Share {
			largest += fmt.Sprintf("; %s of it: %s", a.Target, hitRatio(a.Level))
		}
		lines = append(lines, records.Printable(largest))
	}
	if a.some(Estimated) {
		lines = append(lines, "~ estimated between two replayed capacities, on a line over the logarithm of the capacity")
	}
	if a.some(AtMost) {
		lines = append(lines, "at most: the smallest capacity replayed is enough")
	}
	if a.some(MoreThan) {
		lines = append(lines, "more than: the largest capacity replayed is not enough")
	}
	if a.someInterval() {
		lines = append(lines, records.Printable("(...): 95% intervals, from how much "+
			strconv.Itoa(blocks.Count)+" blocks of the trace differ"+a.ties()))
	}
	if a.Remark != "" {
		lines = append(lines, a.Remark)
	}
	return lines
}

func hitRatio(x float64) string { return records.MetricText("hit_ratio", x) }

func (a Answer) some(how How) bool {
	return slices.ContainsFunc(a.Needs, func(n Need) bool { return n.How == how })
}

// Basis says how a need is known: "between 2 GiB (41.02%) and 4 GiB (46.73%)".
func (a Answer) Basis(n Need) string {
	point := func(p Point) string { return fmt.Sprintf("%s (%s)", a.capacity(p.Capacity), hitRatio(p.HitRatio)) }
	switch n.How {
	case Estimated:
		return "between " + point(n.Below) + " and " + point(n.Above)
	case AtMost:
		return "the smallest replayed: " + point(n.Above)
	case MoreThan:
		return "not reached at the largest replayed: " + point(n.Below)
	}
	return "replayed: " + point(n.Above)
}
