package records

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Condition is a place on a dimension, as users name it: policy=lru.
type Condition struct{ Dimension, Value string }

// ParseConditions parses a list such as "policy=lhd,trace=oltp". Dimensions are trace, policy, capacity, seed and the
// axes of an experiment.
func ParseConditions(text string) (all []Condition, err error) {
	items, err := params.Split(text, ',')
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		dimension, value, ok := strings.Cut(item, "=")
		c := Condition{strings.TrimSpace(dimension), strings.TrimSpace(value)}
		if !ok || c.Dimension == "" || c.Value == "" {
			return nil, fmt.Errorf("%q is not a condition; want DIMENSION=VALUE, for example policy=lhd", item)
		}
		all = append(all, c)
	}
	return all, nil
}

func (r *Record) Meets(all []Condition) bool {
	return !slices.ContainsFunc(all, func(c Condition) bool { return !c.holds(r) })
}

// holds reports whether the record is at the place; a policy is named with or without its parameters.
func (c Condition) holds(rec *Record) bool {
	place, ok := rec.Dim(c.Dimension)
	switch {
	case !ok:
		return false
	case place.Text == c.Value, c.Dimension == DimPolicy && rec.Policy == c.Value:
		return true
	case !place.IsNumber:
		return false
	}
	x, err := strconv.ParseFloat(c.Value, 64)
	return err == nil && x == place.Number
}

// CheckConditions rejects a dimension or a place that none of recs has.
func CheckConditions(all []Condition, recs []Record) error {
	for _, c := range all {
		if err := c.check(recs); err != nil {
			return err
		}
	}
	return nil
}

func (c Condition) check(recs []Record) error {
	var places []string
	for i := range recs {
		if c.holds(&recs[i]) {
			return nil
		}
		if place, ok := recs[i].Dim(c.Dimension); ok && !slices.Contains(places, place.Text) {
			places = append(places, place.Text)
		}
	}
	if len(places) > 0 {
		return suggest.Unknown(c.Dimension, c.Value, places)
	}
	dimensions := append([]string{DimTrace, DimPolicy, DimCapacity, DimSeed}, AxisNames(recs)...)
	return suggest.Unknown("dimension", c.Dimension, dimensions)
}
