package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// quickFlag marks the quick version in Changes.
const quickFlag = "--quick"

// IsQuick reports whether the experiment is the quick version of another.
func (f *File) IsQuick() bool { return slices.Contains(f.Changes, quickFlag) }

// IsChanged reports whether the experiment differs from the one of its name, and from that one's quick version.
func (f *File) IsChanged() bool {
	return len(f.Only) > 0 || slices.ContainsFunc(f.Changes, func(change string) bool { return change != quickFlag })
}

// makeQuick turns the experiment into its quick version. A quick version, as stored by a sweep, stays as it is.
func (f *File) makeQuick() error {
	if f.IsQuick() {
		return nil
	}
	q := f.Quick
	if q == nil {
		return fmt.Errorf("%s: has no quick version; add one under the key quick, or run without --quick", f.describe())
	}
	f.Quick = nil
	f.Changes = append(f.Changes, quickFlag)
	if err := f.checkQuickValues(q); err != nil {
		return err
	}
	if q.Traces != nil {
		f.Traces = slices.DeleteFunc(f.Traces, func(t Trace) bool { return !slices.Contains(q.Traces, t.Name) })
	}
	if q.Policies != nil {
		f.leaveOut(func(p Policy) bool { return !slices.Contains(q.Policies, p.Label()) }, "left out by --quick")
	}
	if q.Capacities != nil {
		f.setCapacities(q.Capacities)
	}
	if q.Seeds != nil {
		f.Seeds = q.Seeds
	}
	for i := range f.Traces {
		if q.Limit > 0 {
			f.Traces[i].shorten(q.Limit)
		}
	}
	for _, set := range q.Set {
		if err := f.set(set); err != nil {
			return f.errorAt(fmt.Errorf("%s: %w", set, err), "quick", "set")
		}
	}
	return nil
}

// checkQuick creates the quick version of a copy, so that errors show before someone needs it.
func (f *File) checkQuick() error {
	if f.Quick == nil || f.source.body == nil {
		return nil
	}
	quick := &File{source: f.source}
	if err := decode(f.source.body, quick); err != nil {
		return f.source.locate(err)
	}
	quick.Only = nil // a sweep stores its --only, which may name what the quick version leaves out
	err := quick.Apply(nil, true)
	var placed *placedError
	if errors.As(err, &placed) && quick.source.body == nil {
		return f.errorAt(fmt.Errorf("the quick version: %s: %w", placed.path, placed.err), "quick")
	}
	return err
}

func (f *File) checkQuickValues(q *Quick) error {
	c := &checker{File: f}
	c.refuse(q.Limit < 0, path{"quick", "limit"}, "limit %d: want a number of requests, from 1", q.Limit)
	check := func(kind, key string, names, exist []string) {
		for i, name := range names {
			if !slices.Contains(exist, name) {
				c.at(path{"quick", key, i}, suggest.Unknown(kind, name, exist))
			}
		}
	}
	check("trace", "traces", q.Traces, f.traceNames())
	check("policy", "policies", q.Policies, f.labels())
	return c.err
}

func (t *Trace) shorten(limit int) {
	if delete(t.With, axisLimit); len(t.With) == 0 {
		t.With = nil
	}
	if t.Limit == 0 || t.Limit > limit {
		t.Limit = limit
	}
}

func (f *File) traceNames() []string {
	return records.Distinct(f.Traces, func(t Trace) string { return t.Name })
}

// labels returns the names of all policies.
func (f *File) labels() []string { return records.Distinct(f.Policies, Policy.Label) }
