package records

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Condition says at which places on a dimension records are: capacity in 250, 500. Claims, --only, tolerances and
// floors have the same conditions.
type Condition struct {
	Dimension string
	Op        string // = != < <= > >= in, not in, between
	Values    []string
}

// conditionForm matches a condition: its dimension, operator and values.
var conditionForm = regexp.MustCompile(`^\s*([^=!<>,]*?)\s*(==|=|!=|<=|>=|<|>|\s(?:not\s+in|in|between)\s)\s*(.*?)\s*$`)

// nextCondition matches what separates two conditions besides a comma.
var nextCondition = regexp.MustCompile(`\s+and\s+([\w-]+\s*(?:[=!<>]|\s(?:not\s+in|in|between)\s))`)

// ParseConditions parses a list such as "policy=lhd,arc and capacity>=1%". Dimensions are trace, policy, capacity, seed
// and the axes of an experiment. A comma precedes a further condition, or a further value of the last one.
func ParseConditions(text string) (all []Condition, err error) {
	items, err := params.Split(nextCondition.ReplaceAllString(text, ",$1"), ',')
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		parts := conditionForm.FindStringSubmatch(item)
		last := len(all) - 1
		switch value := strings.TrimSpace(item); {
		case parts != nil && parts[1] != "" && parts[3] != "":
			op := strings.Replace(strings.Join(strings.Fields(parts[2]), " "), "==", "=", 1)
			c := Condition{parts[1], op, []string{parts[3]}}
			if op == "between" {
				c.Values = strings.SplitN(parts[3], " and ", 2)
			}
			all = append(all, c)
		case parts == nil && value != "" && last >= 0 && slices.Contains([]string{"=", "in", "not in"}, all[last].Op):
			all[last].Op = strings.Replace(all[last].Op, "=", "in", 1)
			all[last].Values = append(all[last].Values, value)
		default:
			err := errors.New("want a dimension and its places, for example policy=lru,arc")
			if len(items) > 1 {
				err = fmt.Errorf("%q is not a condition; %w", item, err)
			}
			return nil, err
		}
	}
	return all, nil
}

// MeetsIfPlaced reports whether the record is at the places of all conditions. A record without a dimension is at all
// places on it.
func (r *Record) MeetsIfPlaced(all []Condition) bool {
	return !slices.ContainsFunc(all, func(c Condition) bool {
		place, ok := r.Dim(c.Dimension)
		return ok && !c.holds(place, r)
	})
}

func (c Condition) holds(place Value, r *Record) bool {
	f, err := c.Filter(nil)
	return err == nil && f.Holds(place, r)
}

// CheckConditions rejects a dimension or a place that none of recs has.
func CheckConditions(all []Condition, recs []Record) error {
	for _, c := range all {
		if err := c.check(recs, false); err != nil {
			return err
		}
	}
	return nil
}

// check rejects a dimension or a place that none of recs has; parts says that those of a record are dimensions.
func (c Condition) check(recs []Record, parts bool) error {
	placeOf := (*Record).Dim
	if parts {
		placeOf = (*Record).Place
	}
	f, err := c.Filter(nil)
	if err != nil {
		return err
	}
	var places []string
	met := false
	for i := range recs {
		place, ok := placeOf(&recs[i], c.Dimension)
		if !ok {
			continue
		}
		met = f.Holds(place, &recs[i]) || met
		if !slices.Contains(places, place.Text) {
			places = append(places, place.Text)
		}
	}
	switch missing := f.Missing(); {
	case len(places) == 0:
		return unknownDimension(c.Dimension, recs, parts)
	case len(missing) > 0:
		return suggest.Unknown(c.Dimension, missing[0], places)
	case !met:
		return fmt.Errorf("no %s is %s %s (exists: %s)", c.Dimension, c.Op, strings.Join(c.Values, ", "),
			strings.Join(places, ", "))
	}
	return nil
}

// Filter is a condition prepared for many records.
type Filter struct {
	Condition
	limits []limit
}

// limit is one value of a condition.
type limit struct {
	text     string
	x        float64
	isNumber bool
	isShare  bool
	occurs   bool // on some record
}

// Filter prepares a condition. Limits of an order are numbers, or capacities as some of recs write them.
func (c Condition) Filter(recs []Record) (f Filter, err error) {
	f.Condition = c
	for _, text := range c.Values {
		x, isNumber := NumberOf(text)
		l := limit{text: text, x: x, isNumber: isNumber, isShare: strings.HasSuffix(text, "%")}
		if !l.isNumber && !slices.Contains([]string{"=", "!=", "in", "not in"}, c.Op) { // an order
			i := slices.IndexFunc(recs, func(r Record) bool { return c.Dimension == DimCapacity && r.CapacityText == text })
			if i < 0 {
				err = cmp.Or(err, fmt.Errorf("%s is not a number, so %s %s %s cannot be compared", text, c.Dimension, c.Op, text))
			} else {
				l.x, l.isNumber = float64(recs[i].Capacity), true
			}
		}
		f.limits = append(f.limits, l)
	}
	if c.Op == "between" && len(c.Values) != 2 {
		err = errors.New("want two values after between, as in capacity between 1% and 5%")
	}
	return f, err
}

// Missing returns the values of = and in that no record had for which Holds was called.
func (f *Filter) Missing() (texts []string) {
	for _, l := range f.limits {
		if (f.Op == "=" || f.Op == "in") && !l.occurs {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// Holds reports whether a record that is at a place on the condition's dimension meets it. A policy or another part
// is named with or without its parameters.
func (f *Filter) Holds(place Value, r *Record) bool {
	equal := false
	for i := range f.limits {
		l := &f.limits[i]
		if place.Text == l.text || f.Dimension == DimPolicy && r.Policy == l.text ||
			isPart(f.Dimension, place.Text, l.text) || f.order(place, r, *l) == equalTo {
			equal, l.occurs = true, true
		}
	}
	switch first := f.order(place, r, f.limits[0]); f.Op {
	case "=", "in":
		return equal
	case "!=", "not in":
		return !equal
	case "between":
		second := f.order(place, r, f.limits[1])
		return (first == above || first == equalTo) && (second == below || second == equalTo)
	case "<":
		return !equal && first == below
	case "<=":
		return equal || first == below
	case ">":
		return !equal && first == above
	default: // >=
		return equal || first == above
	}
}

// order is the order of a place relative to a limit.
type order int

const (
	incomparable order = iota
	below
	equalTo
	above
)

// order compares a record's place with a limit numerically.
func (f *Filter) order(place Value, r *Record, l limit) order {
	x, ok := NumberOf(place.Text)
	if f.Dimension == DimCapacity {
		x, ok = r.capacityBeside(place.Text, l)
	}
	if !ok || !l.isNumber {
		return incomparable
	}
	return order(CompareNumbers(x, l.x)) + equalTo // from -1, 0 and 1
}

// capacityBeside returns the record's capacity in the unit of the limit: as a share if the limit is one, otherwise in
// objects or bytes.
func (r *Record) capacityBeside(text string, l limit) (float64, bool) {
	switch {
	case !l.isShare && r.Capacity == 0: // not resolved yet
		return NumberOf(text)
	case !l.isShare:
		return float64(r.Capacity), true
	case strings.HasSuffix(text, "%"):
		return NumberOf(text)
	case r.CapacityShare != nil:
		return *r.CapacityShare, true
	}
	return 0, false
}

// NumberOf parses a number; 5% is 0.05.
func NumberOf(text string) (float64, bool) {
	bare, isShare := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(bare, 64)
	if isShare {
		x /= 100
	}
	return x, err == nil
}

// CompareNumbers returns -1, 0 or 1. Values that differ by the rounding of a few operations are equal; whole numbers up
// to 10^13 never are.
func CompareNumbers(a, b float64) int {
	switch {
	case math.Abs(a-b) <= 1e-14*max(math.Abs(a), math.Abs(b)):
		return 0
	case a < b:
		return -1
	}
	return 1
}
