package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// Value is a value as claims compare them, alone: hit_ratio(rac) / max over baselines of hit_ratio where long = 0.5.
type Value struct{ claim *Claim }

// ParseValue parses a value, possibly with conditions. Errors are as those of Parse.
func ParseValue(text string) (*Value, error) {
	p, err := newParser(text, "value")
	if err != nil {
		return nil, err
	}
	of := p.expression()
	c := &Claim{says: comparison{values: []expr{of}}, share: 1}
	if p.accept("where") {
		c.conditions = p.conditions()
	}
	if p.err == nil && p.tok.kind != endToken {
		p.unexpected("the end or where", "where")
	}
	if p.err != nil {
		return nil, p.err
	}
	if len(c.Figures()) == 0 {
		return nil, fmt.Errorf("it names no metric of a policy")
	}
	return &Value{c}, nil
}

// Check returns an error for a name that the experiment does not have.
func (v *Value) Check(n Names) error { return v.claim.Check(n) }

// CheckValues returns an error for the first value, by name, that cannot be parsed or has a name that the experiment
// does not have.
func CheckValues(values map[string]string, n Names) (name string, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v, err := ParseValue(values[name])
		if err == nil {
			err = v.Check(n)
		}
		if err != nil {
			return name, err
		}
	}
	return "", nil
}

// Figures returns the names in the value that are metrics or references, with duplicates.
func (v *Value) Figures() []string { return v.claim.Figures() }

// Replays returns the records that the value looks at.
func (v *Value) Replays() Replays { return v.claim.Replays() }

// IsShare reports whether the value is written as a percentage: a share, a difference of shares, a ratio minus 100%.
func (v *Value) IsShare() bool { return unitOfAll(v.claim.says.operands()) == share }

// ValuePoint is a value at one point, a mean over the seeds unless the value speaks of seeds.
type ValuePoint struct {
	X      float64
	Record *records.Record // one of those from which it was computed
	Axes   string          // its places on axes, as records write them
	Over   []string        // of trace and capacity, those on which it has no place, because it combines them
}

// At returns the value at all points at which it can be computed, or the reason why there is none.
func (v *Value) At(d *Data) (points []ValuePoint, reason string) {
	e := v.claim.evaluator(d)
	all := e.collapse(v.claim.says.(comparison).judge(e))
	if e.reason != "" {
		return nil, e.reason
	}
	for _, o := range all {
		if o.why == "" {
			points = append(points, e.valuePoint(o))
		}
	}
	if len(points) == 0 {
		reason = commonest(all)
	}
	return points, reason
}

func (e *evaluator) valuePoint(o outcome) ValuePoint {
	p := e.points[o.point]
	v := ValuePoint{X: o.values[0]}
	for i, c := range p.cells {
		if c != absent {
			v.Record = &e.d.in.Records[e.slots[i].cells[c].recs[0]]
			break
		}
	}
	var axes []string
	for d, dimension := range e.d.dimensions {
		isShown := slices.Contains(e.shown, d)
		switch {
		case (d == traceDimension || d == capacityDimension) && !isShown:
			v.Over = append(v.Over, dimension.name)
		case d > seedDimension && isShown && p.at[d] != anywhere:
			axes = append(axes, dimension.name+"="+dimension.places[p.at[d]].Text)
		}
	}
	v.Axes = strings.Join(axes, ",")
	return v
}
