package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

// Subject says what is to be reached: "90% of the largest hit ratio", "a hit ratio of 0.5".
func (a Answer) Subject() string {
	if a.Target.Share {
		return a.Target.String() + " of the largest hit ratio"
	}
	return "a hit ratio of " + a.Target.String()
}

// Sentence is the answer: "90% of the largest hit ratio: 3.1 GiB with s3fifo, 4.4 GiB with lru; not with ttl at any
// capacity".
func (a Answer) Sentence() string {
	var online, others, never []string
	withNoun := false
	for _, n := range a.Needs {
		if n.How == Never {
			never = append(never, n.Policy)
			continue
		}
		capacity := a.CapacityOf(n)
		if !withNoun {
			capacity, withNoun = a.withNoun(capacity), true
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
	if a.others > 0 {
		lists = append(lists, fmt.Sprintf("the other %d need as much or more", a.others))
	}
	if len(others) > 0 {
		lists = append(lists, "offline: "+strings.Join(others, a.separator()))
	}
	if len(never) > 0 {
		lists = append(lists, "not with "+strings.Join(never, " or ")+" at any capacity")
	}
	if len(a.Needs) == 0 {
		lists = []string{"unknown, because no cache has a hit, however large"}
	}
	return show.Printable(a.Subject() + ": " + strings.Join(lists, "; "))
}

// shortest is how many online policies Short keeps apart from lru, beside which others are judged.
const shortest = 2

// Short returns the answer for the online policies that need least, for lru and for those that miss the target.
func (a Answer) Short() Answer {
	var kept []Need
	reach := 0
	for _, n := range a.Needs {
		if n.Online && n.How != Never {
			if reach++; reach > shortest && n.Policy != "lru" {
				a.others++
				continue
			}
		}
		if n.Online {
			kept = append(kept, n)
		}
	}
	if a.others < 2 {
		a.others = 0
		return a
	}
	a.Needs = kept
	return a
}

// separator goes between two policies. Some names have a comma: "arc, next" is arc with a prefetcher.
func (a Answer) separator() string {
	if slices.ContainsFunc(a.Needs, func(n Need) bool { return strings.Contains(n.Policy, ", ") }) {
		return "; "
	}
	return ", "
}

// CapacityOf writes what a policy needs: "3.1 GiB", "between 16 GiB and 64 GiB".
func (a Answer) CapacityOf(n Need) string {
	below, above := n.Below.Capacity, n.Above.Capacity
	switch {
	case n.How == Never:
		return "none"
	case n.How == Found:
		return a.capacity(n.Capacity)
	case above == 0:
		return "more than " + a.capacity(below)
	case below == 0:
		return "at most " + a.capacity(above)
	}
	return "between " + a.capacity(below) + " and " + a.capacity(above)
}

func (a Answer) capacity(n int64) string { return show.Capacity(n, a.Unit) }

// withNoun says what a capacity counts if its text has no unit.
func (a Answer) withNoun(number string) string {
	switch {
	case a.Unit == records.Bytes:
		return number
	case number == "1":
		return number + " " + strings.TrimSuffix(a.Noun, "s")
	}
	return number + " " + a.Noun
}

// Explanation says which hit ratio is the largest, and how the capacities are known, in a line each.
func (a Answer) Explanation() (lines []string) {
	if a.Largest > 0 {
		largest := "largest: " + hitRatio(a.Largest) + ", of a cache that holds everything"
		if a.Target.Share {
			largest += fmt.Sprintf("; %s of it: %s", a.Target, hitRatio(a.Level))
		}
		lines = append(lines, largest)
	}
	lines = append(lines, a.basis()...)
	if slices.ContainsFunc(a.Needs, func(n Need) bool { return n.Interval != nil }) {
		lines = append(lines, show.Printable("(...): 95% confidence intervals (bootstrap over "+
			strconv.Itoa(blocks.Count)+" blocks of the trace)"+a.ties()))
	}
	if a.Remark != "" {
		lines = append(lines, a.Remark)
	}
	return lines
}

// basis says how the capacities were found.
func (a Answer) basis() (lines []string) {
	var exact, near []string
	for _, n := range a.Needs {
		switch {
		case n.How != Found:
		case n.Exact:
			exact = append(exact, n.Policy)
		default:
			near = append(near, n.Policy)
		}
	}
	var found []string
	if len(exact) > 0 {
		found = append(found, strings.Join(exact, a.separator())+": exact")
	}
	if len(near) > 0 {
		found = append(found, strings.Join(near, a.separator())+": a replay reaches it here, and misses it at 2% less")
	}
	if len(found) > 0 {
		text := strings.Join(found, "; ")
		if a.Replays > 0 {
			text += fmt.Sprintf(" (%s)", show.Counted(a.Replays, "more replay"))
		}
		lines = append(lines, show.Printable(text))
	}
	if slices.ContainsFunc(a.Needs, func(n Need) bool { return n.How == Between }) {
		lines = append(lines, "between, at most, more than: replays there; --target "+a.Target.String()+" searches further")
	}
	return lines
}

func hitRatio(x float64) string { return records.MetricText("hit_ratio", x) }

// Basis says how a need is known: "2 GiB has 61.20%, 1.96 GiB has 60.10%".
func (a Answer) Basis(n Need) string {
	has := func(p Point) string { return fmt.Sprintf("%s has %s", a.capacity(p.Capacity), hitRatio(p.HitRatio)) }
	var parts []string
	if n.Above.Capacity > 0 {
		parts = append(parts, has(n.Above))
	}
	switch {
	case n.Exact && n.Above.Capacity > 0 && a.capacity(n.Below.Capacity) == a.capacity(n.Above.Capacity):
		parts = append(parts, "less has less") // the two differ in bytes that are not written
	case n.Below.Capacity > 0:
		parts = append(parts, has(n.Below))
	}
	return strings.Join(parts, ", ")
}

// InBrackets writes the interval of a need: " (3,050 to 3,390)"; "" if there is none.
func (a Answer) InBrackets(n Need) string {
	if n.Interval == nil {
		return ""
	}
	most := max(a.Everything, n.Interval.High)
	return " (" + show.Between(show.Within(n.Interval.Low, 1, n.Capacity, a.Unit),
		show.Within(n.Interval.High, n.Capacity, most, a.Unit)) + ")"
}

// ties names the policies that may need as little as the first one.
func (a Answer) ties() string {
	names := []string{a.Needs[0].Policy}
	for _, n := range a.Needs {
		if n.Tied {
			names = append(names, n.Policy)
		}
	}
	if len(names) == 1 {
		return ""
	}
	return "; a tie: " + strings.Join(names, a.separator())
}
