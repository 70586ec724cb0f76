package lists

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

func defaultsOf(ps []params.Param) string { return params.Format(ps, params.Defaults(ps)) }

// breakable makes parameters breakable between lines, which is possible only at a space.
func breakable(defaults string) string { return strings.ReplaceAll(defaults, ",", ", ") }

// aboutParams says what parameters mean and which values they take, a line each.
func aboutParams(ps []params.Param) (lines []string) {
	for _, p := range ps {
		lines = append(lines, fmt.Sprintf("  %s=%v: %s (%s)", p.Name, p.Default, p.Doc, permitted(p)))
	}
	return lines
}

// permitted says which values a parameter takes.
func permitted(p params.Param) string {
	switch p.Default.(type) {
	case bool:
		return "true or false"
	case string:
		if len(p.Choices) == 0 {
			return "any text"
		}
		if p.File {
			return strings.Join(p.Choices, " or ") + " or the path of a file"
		}
		return strings.Join(p.Choices, " or ")
	case int:
		return "a whole number " + p.Range()
	}
	return "a number " + p.Range()
}

type paramJSON struct {
	Name    string   `json:"name"`
	Default any      `json:"default"`
	Doc     string   `json:"doc"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

// paramsJSON returns an empty list, which JSON does not write as null, if there are no parameters.
func paramsJSON(ps []params.Param) []paramJSON {
	list := []paramJSON{}
	for _, p := range ps {
		list = append(list, newParamJSON(p))
	}
	return list
}

func newParamJSON(p params.Param) paramJSON {
	j := paramJSON{Name: p.Name, Default: p.Default, Doc: p.Doc, Choices: p.Choices}
	switch p.Default.(type) {
	case int, float64:
		j.Min = &p.Min
		if p.Max != 0 {
			j.Max = &p.Max
		}
	}
	return j
}
