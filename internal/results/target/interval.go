package target

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
)

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
