package baseline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

// Tolerance is how far hit ratios, or the values of a metric, may change. The zero value allows no change.
type Tolerance struct {
	Points   float64 // absolute, in percentage points of the hit ratio: 0.1 lets 50% become 50.1%
	Relative float64 // percent of the recorded hit ratio: 1 lets 50% become 50.5%
}

const (
	pointsSuffix   = "pp"
	relativeSuffix = "%rel"
)

// ParseTolerance parses "0.1pp" (percentage points of the hit ratio), "1%rel" (percent of the recorded hit ratio) or
// "exact".
func ParseTolerance(text string) (t Tolerance, err error) {
	text = strings.TrimSpace(text)
	points, inPoints := strings.CutSuffix(text, pointsSuffix)
	relative, isRelative := strings.CutSuffix(text, relativeSuffix)
	switch {
	case text == "exact":
		return t, nil
	case inPoints:
		t.Points, err = parseAmount(points)
	case isRelative:
		t.Relative, err = parseAmount(relative)
	default:
		err = errors.New("want percentage points of the hit ratio (0.1pp), percent of the recorded hit ratio (1%rel), or " +
			"exact")
	}
	if err != nil {
		return Tolerance{}, fmt.Errorf("tolerance %q: %w", text, err)
	}
	return t, nil
}

func parseAmount(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(x >= 0 && x <= 100) { // as NaN is
		return 0, errors.New("want a number from 0 to 100 before the unit")
	}
	return x, nil
}

// String formats t so that ParseTolerance reads it.
func (t Tolerance) String() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case t.Points > 0:
		return number(t.Points) + pointsSuffix
	case t.Relative > 0:
		return number(t.Relative) + relativeSuffix
	}
	return "exact"
}

// rounding is a bound on the rounding error of 0.501 - 0.5 relative to 0.001.
const rounding = 1e-12

// Allows reports whether a hit ratio, or a value of a metric, may change from was to is.
func (t Tolerance) Allows(was, is float64) bool {
	if t == (Tolerance{}) {
		return was == is
	}
	return math.Abs(is-was) <= max(t.Points/100, t.Relative/100*math.Abs(was))+rounding
}

// Rule is a tolerance for the cells that match its conditions.
type Rule struct {
	Tolerance
	checks.Rule
	metric string // "": hit ratios and what follows from them
}

// metricCondition is the key for a metric among the conditions of a rule.
const metricCondition = "metric"

// ParseRule parses a tolerance for all cells, "0.1pp", or for those at places on dimensions:
// "policy=lhd,trace=oltp:0.1pp". Dimensions are trace, policy, capacity, seed and the axes of an experiment; a policy
// is named with or without its parameters. With "metric=phases:1%rel" the tolerance applies to that metric, which is
// then compared even if it otherwise would not be, and only by this rule.
func ParseRule(text string) (r Rule, err error) {
	var wrong error
	r.Rule, err = checks.ParseRule(text, func(value string) error {
		r.Tolerance, wrong = ParseTolerance(value)
		return wrong
	})
	switch {
	case wrong != nil:
		return r, wrong
	case err != nil:
		return r, fmt.Errorf("tolerance %q: %w", text, err)
	}
	all := r.Where
	r.Where = nil
	for _, c := range all {
		if c.Dimension != metricCondition {
			r.Where = append(r.Where, c)
			continue
		}
		if r.metric != "" || c.Op != "=" {
			return r, fmt.Errorf("tolerance %q names two metrics", text)
		}
		r.metric = c.Values[0]
	}
	return r, r.checkMetric()
}

// checkMetric rejects a metric that does not exist, or a tolerance that it cannot have.
func (r Rule) checkMetric() error {
	if r.metric == "" {
		return nil
	}
	if err := records.CheckMetric(r.metric); err != nil {
		return fmt.Errorf("tolerance %q: %w", r.Text, err)
	}
	m, _ := metric.Lookup(r.metric)
	switch {
	case m.OfMachine:
		return fmt.Errorf("tolerance %q: %s depends on the machine and cannot be compared", r.Text, r.metric)
	case r.Points > 0 && m.Unit != metric.Share:
		return fmt.Errorf("tolerance %q: %s is not a ratio; want percent of the recorded value (1%%rel), or exact", r.Text,
			r.metric)
	}
	return nil
}

func (r Rule) fits(rec *records.Record) bool { return rec.Meets(r.Where) }

type tolerances struct {
	Tolerance                      // of hit ratios and what follows from them
	of        map[string]Tolerance // of metrics that rules name
}

// tolerancesOf returns the tolerances of a cell, from the last rules that match it.
func tolerancesOf(rules []Rule, rec *records.Record) tolerances {
	t := tolerances{of: map[string]Tolerance{}}
	for _, r := range rules {
		switch {
		case !r.fits(rec):
		case r.metric == "":
			t.Tolerance = r.Tolerance
		default:
			t.of[r.metric] = r.Tolerance
		}
	}
	return t
}

// checkRules rejects a rule that matches no record, because that is probably a mistake.
func checkRules(rules []Rule, recs []records.Record) error {
	for _, r := range rules {
		if slices.ContainsFunc(recs, func(rec records.Record) bool { return r.fits(&rec) && r.measured(&rec) }) {
			continue
		}
		if err := records.CheckRows(r.Where, recs); err != nil {
			return fmt.Errorf("tolerance %q: %w", r.Text, err)
		}
		if r.metric != "" {
			return fmt.Errorf("tolerance %q: no matching record of the baseline has %s", r.Text, r.metric)
		}
		return fmt.Errorf("tolerance %q matches no record of the baseline", r.Text)
	}
	return nil
}

// measured reports whether the record has the metric that the rule is for.
func (r Rule) measured(rec *records.Record) bool {
	return r.metric == "" || figureOf(rec, r.metric) != nil
}

// ToleranceFor returns how far a metric of a record may change: by the last rule that matches the record and names the
// metric or none.
func ToleranceFor(rules []Rule, rec *records.Record, name string) (t Tolerance) {
	for _, r := range rules {
		if r.fits(rec) && (r.metric == "" || r.metric == name) {
			t = r.Tolerance
		}
	}
	return t
}

// CheckFor rejects rules for a metric that is not compared, percentage points of a metric that is no ratio, and rules
// that match none of recs.
func CheckFor(rules []Rule, recs []records.Record, name string) error {
	m, _ := metric.Lookup(name)
	for _, r := range rules {
		switch {
		case r.metric != "" && r.metric != name:
			return fmt.Errorf("tolerance %q is for %s, and %s is compared", r.Text, r.metric, name)
		case r.Points > 0 && m.Unit != metric.Share:
			return fmt.Errorf("tolerance %q: %s is not a ratio; want percent of the value (1%%rel), or exact", r.Text, name)
		}
	}
	return checkRules(rules, recs)
}
