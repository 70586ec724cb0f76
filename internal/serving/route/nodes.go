package route

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MostNodes is the largest number of nodes.
const MostNodes = 1024

// Change says that there are some nodes from a time on: nodes with the highest numbers are removed, new ones added
// after them.
type Change struct {
	At    time.Duration // since the first prompt
	Nodes int
}

// Most returns the largest number of nodes at any time.
func Most(changes []Change) (most int) {
	for _, c := range changes {
		most = max(most, c.Nodes)
	}
	return most
}

// ParseNodes reads a number of nodes, "8", or numbers with the times from which they apply, "4@0s,8@600s". Commas may
// be written as plus signs. The first time is 0.
func ParseNodes(text string) (changes []Change, err error) {
	for i, item := range strings.Split(canonical(text), "+") {
		number, time, timed := strings.Cut(strings.TrimSpace(item), "@")
		c, err := parseChange(text, number, time, timed)
		switch {
		case err != nil:
			return nil, err
		case i == 0 && c.At != 0:
			return nil, fmt.Errorf("%q: it does not say how many nodes there are before %s; begin with 4@0s", text, time)
		case i > 0 && !timed:
			return nil, fmt.Errorf("%q: %s nodes from which time on? write %[2]s@600s", text, number)
		case i > 0 && c.At <= changes[i-1].At:
			return nil, fmt.Errorf("%q: the time %s is not after %s; list the numbers of nodes in the order of their times",
				text, time, changes[i-1].At)
		case i > 0 && c.Nodes == changes[i-1].Nodes:
			return nil, fmt.Errorf("%q: %s nodes already before %s; remove that entry", text, number, time)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func parseChange(text, number, at string, timed bool) (c Change, err error) {
	if c.Nodes, err = strconv.Atoi(number); err != nil || c.Nodes < 1 || c.Nodes > MostNodes {
		return c, fmt.Errorf("%q: %q is no number of nodes; want a whole number from 1 to %d, or several with their times, "+
			"as in 4@0s,8@600s", text, number, MostNodes)
	}
	if !timed {
		return c, nil
	}
	if c.At, err = time.ParseDuration(at); err != nil || c.At < 0 {
		return c, fmt.Errorf("%q: %q is no time since the first prompt; want one like 600s, 10m or 1h30m", text, at)
	}
	return c, nil
}

// canonical is the text as parameters have it, where commas separate parameters.
func canonical(text string) string { return strings.ReplaceAll(text, ",", "+") }
