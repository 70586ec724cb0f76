// Package suggest creates the error for a name that does not exist: it lists the nearest of the existing names, and
// suggests one. Policies, parameters, trace formats and columns all use it, so that all such errors read alike.
package suggest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Unknown returns the error for an unknown name of the given kind ("policy", "parameter").
func Unknown(kind, name string, exist []string) error {
	if len(exist) == 0 {
		return fmt.Errorf("unknown %s %q: none is accepted here", kind, name)
	}
	hint := ""
	if near, ok := Nearest(name, exist); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q%s (exists: %s)", kind, name, hint, List(nearestFirst(name, exist)))
}

// mostListed is how many names a message lists: more are not read.
const mostListed = 10

// List lists names in a message: up to ten of them, and how many more there are. A file may have thousands of columns.
func List(names []string) string {
	if len(names) <= mostListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
}

// nearestFirst returns names in their order or, if not all are listed, those first that contain the name or differ from
// it in the fewest letters.
func nearestFirst(name string, exist []string) []string {
	if len(exist) <= mostListed {
		return exist
	}
	name = strings.ToLower(name)
	far := map[string]int{}
	for _, e := range exist {
		other := strings.ToLower(e)
		switch {
		case len(name) > longestName || len(e) > longestName:
			far[e] = 2 * longestName
		case strings.Contains(other, name):
			far[e] = -1
		default:
			far[e] = distance(name, other)
		}
	}
	return slices.SortedStableFunc(slices.Values(exist), func(a, b string) int { return far[a] - far[b] })
}

// distance returns how many characters must be added, removed or replaced to make one text of another.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // distances of the characters of a so far to those of b up to a place
	for j := range row {
		row[j] = j
	}
	for i, c := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range to {
			if c != d {
				diagonal++
			}
			diagonal, row[j+1] = row[j+1], min(diagonal, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// longestName is more than any name has. The distance of two texts takes time with the product of their lengths.
const longestName = 200

// Nearest returns the existing name with the smallest edit distance, if it is near enough for a typing error. For a
// name as short as arc that is one letter, or two swapped letters.
func Nearest(name string, exist []string) (string, bool) {
	if len(name) > longestName {
		return "", false
	}
	name = strings.ToLower(name)
	best, bestDistance := "", len(name)/3+2
	for _, e := range exist {
		other := strings.ToLower(e)
		d := distance(name, other)
		if d > 1 && len(name) <= 3 && !sameLetters(name, other) {
			continue
		}
		if d < bestDistance {
			best, bestDistance = e, d
		}
	}
	return best, best != ""
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}
