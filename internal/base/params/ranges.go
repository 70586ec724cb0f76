package params

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// mostValues limits the values of a range, and the entries that the ranges of one give together.
const mostValues = 1000

// rangePattern is a range as ExpandRange reads it: its ends, the kind of its step, and the step.
var rangePattern = regexp.MustCompile(`^\s*(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*\.\.\s*(.*?)\s*([x+])\s*([^x+\s]*)\s*$`)

// startOfRange is how a text begins that is meant as a range, complete or not.
var startOfRange = regexp.MustCompile(`^\s*-?[0-9.]*[0-9](?:[eE][-+]?[0-9]+)?\s*\.\.`)

// aboutRange says where ranges are read, if text is meant as one.
func aboutRange(text string) string {
	if !startOfRange.MatchString(text) {
		return ""
	}
	return "; ranges work in lists, as of --policy and --cache, and under with in an experiment"
}

// ExpandRange returns the values of a range: 16..512x2 is 16, 32, 64, 128, 256, 512, and 1..7+2 is 1, 3, 5, 7. A text
// that does not begin like a range is its only value.
func ExpandRange(text string) (values []string, err error) {
	if !startOfRange.MatchString(text) {
		return []string{text}, nil
	}
	parts := rangePattern.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("range %q: want FROM..TOxFACTOR or FROM..TO+STEP, for example 16..512x2", text)
	}
	var numbers [3]float64
	for i, part := range []string{parts[1], parts[2], parts[4]} {
		if numbers[i], err = strconv.ParseFloat(part, 64); err != nil || math.IsInf(numbers[i], 0) ||
			math.IsNaN(numbers[i]) {
			return nil, fmt.Errorf("range %q: %q is not a number", text, part)
		}
	}
	first, last, step, grows := numbers[0], numbers[1], numbers[2], parts[3] == "x"
	switch {
	case grows && (step <= 1 || first <= 0):
		return nil, fmt.Errorf("range %q: want a factor above 1, and a start above 0", text)
	case !grows && step <= 0:
		return nil, fmt.Errorf("range %q: want a step above 0", text)
	case last < first:
		return nil, fmt.Errorf("range %q: ends below its start", text)
	}
	whole := grows && !strings.ContainsAny(parts[1]+parts[2], ".eE")
	for i, v := 0, first; ; i++ {
		written := strconv.FormatFloat(math.Round(v*1e9)/1e9+0, 'f', -1, 64) // -0 + 0 is 0
		if whole {                                                           // as for capacities, fractions are dropped
			written = strconv.FormatFloat(math.Floor(v+1e-9), 'f', -1, 64)
		}
		if len(values) == 0 || values[len(values)-1] != written {
			values = append(values, written)
		}
		// The tolerance keeps rounding from removing the end of 0.1..0.3+0.1.
		next, tolerance := first+float64(float64(i+1)*step), 1e-9*step
		if grows {
			next, tolerance = v*step, 1e-9*last
		}
		if next > last+tolerance {
			break
		}
		if v = next; i == mostValues {
			return nil, fmt.Errorf("range %q: has more than %d steps; choose a larger one", text, mostValues)
		}
	}
	return values, nil
}

// ExpandCalls returns the entries that a list with ranges as values of parameters stands for: "prefix(block=16..64x2)"
// is three. Kind is for error messages.
func ExpandCalls(kind string, texts []string) (all []string, err error) {
	for _, text := range texts {
		more, err := expand(text)
		if err != nil {
			return nil, fmt.Errorf("%s %w", kind, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// expand is ExpandCalls for one entry. All its ranges are combined, the last one varying fastest.
func expand(text string) ([]string, error) {
	name, args, err := SplitCall(text)
	if err != nil || !strings.Contains(args, "..") {
		return []string{text}, nil // which reports what is wrong
	}
	items, err := splitArgs(nil, args)
	if err != nil {
		return []string{text}, nil
	}
	lists := []string{""}
	for _, item := range items {
		values := []string{item}
		if key, value, given := strings.Cut(item, "="); given {
			if values, err = ExpandRange(value); err != nil {
				return nil, fmt.Errorf("%s: parameter %s: %w", name, strings.TrimSpace(key), err)
			}
			for i := range values {
				values[i] = key + "=" + values[i]
			}
		}
		var more []string
		for _, list := range lists {
			for _, value := range values {
				more = append(more, strings.TrimPrefix(list+","+value, ","))
			}
		}
		if lists = more; len(lists) > mostValues {
			return nil, fmt.Errorf("%s: its ranges give more than %d combinations; choose larger steps", name, mostValues)
		}
	}
	for i, list := range lists {
		lists[i] = name + "(" + list + ")"
	}
	return lists, nil
}
