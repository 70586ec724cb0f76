// Package suggest writes the error for a name that does not exist: it lists what exists and names the nearest.
// Policies, parameters, trace formats and columns all use it, so that every such error reads alike.
package suggest

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Unknown returns the error for an unknown name of the given kind ("policy", "parameter").
func Unknown(kind, name string, exist []string) error {
	if len(exist) == 0 {
		return fmt.Errorf("unknown %s %q: there is none to give here", kind, name)
	}
	hint := ""
	if near, ok := Nearest(name, exist); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q%s (exists: %s)", kind, name, hint, strings.Join(exist, ", "))
}

// Nearest returns the existing name with the smallest edit distance, if it is near enough to be a slip of the hand.
func Nearest(name string, exist []string) (string, bool) {
	name = strings.ToLower(name)
	best, bestDistance := "", len(name)/2+2
	for _, e := range exist {
		if d := levenshtein.ComputeDistance(name, strings.ToLower(e)); d < bestDistance {
			best, bestDistance = e, d
		}
	}
	return best, best != ""
}
