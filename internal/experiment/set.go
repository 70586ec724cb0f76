package experiment

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// Apply turns the experiment into its quick version, if quick is set, and then changes one value after another:
// "capacities=1%,5%", "traces.zipf.alpha=0.9,1.1", "policies.s3fifo.small=0.1,0.2". The changed experiment is checked
// again. After an error it must not be used.
func (f *File) Apply(sets []string, quick bool) error {
	if !quick && len(sets) == 0 {
		return nil // it was already checked as it is
	}
	if quick {
		if err := f.makeQuick(); err != nil {
			return err
		}
	}
	for _, set := range sets {
		if err := f.set(set); err != nil {
			return fmt.Errorf("--set %s: %w", set, err)
		}
		f.Changes = append(f.Changes, "--set "+set)
	}
	if len(f.Changes) > 0 {
		f.source.body = nil
	}
	return f.validate()
}

type fileSetting struct {
	key string
	set func(f *File, value string) error
}

// settings are the keys of the experiment that --set can change, except those of the kinds of parts.
var settings = []fileSetting{
	{"policies", (*File).setPolicies},
	{"capacities", func(f *File, value string) error { f.setCapacities(splitList([]string{value})); return nil }},
	{"bytes", func(f *File, value string) error { return setBool(&f.Bytes, value) }},
	{"unit-size", func(f *File, value string) error { return setBool(&f.UnitSize, value) }},
	{"warmup", (*File).setWarmup},
	{"series", func(f *File, value string) error { f.Series = Values{value}; return nil }},
	{"seeds", (*File).setSeeds},
	{"optimum", func(f *File, value string) error { f.Optimum = new(bool); return setBool(f.Optimum, value) }},
	{"metrics", func(f *File, value string) error { f.Metrics = splitList([]string{value}); return nil }},
	{"traces-in", func(f *File, value string) error { f.TracesIn = value; return nil }},
}

func allSettings() (all []fileSetting) {
	for _, kind := range partKinds {
		all = append(all, fileSetting{kind.Plural, kind.setParts})
	}
	return append(all, settings...)
}

// Settings returns the keys that --set accepts, with those of axes.
func (f *File) Settings() (keys []string) {
	for _, s := range allSettings() {
		keys = append(keys, s.key)
	}
	for _, o := range f.owners() {
		for _, axis := range sortedKeys(o.with) {
			keys = append(keys, o.plural+"."+o.label+"."+axis)
		}
	}
	return keys
}

// set changes one value of the experiment: "key=value".
func (f *File) set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || value == "" {
		return fmt.Errorf("want key=value, for example seeds=3 or capacities=1%%,5%%")
	}
	type member struct {
		kind, plural string
		labels       []string
		set          func(i int, key, value string) error
	}
	members := []member{
		{"trace", "traces", f.traceNames(), func(i int, key, value string) error { return f.Traces[i].set(key, value) }},
		{"policy", "policies", f.labels(), func(i int, key, value string) error { return f.Policies[i].set(key, value) }},
	}
	for _, kind := range partKinds {
		members = append(members, member{kind.Name, kind.Plural, labelsOf(*kind.of(f)),
			func(i int, key, value string) error { return kind.setParam(f, i, key, value) }})
	}
	var names []string
	for _, m := range members {
		if rest, ok := strings.CutPrefix(text, m.plural+"."); ok {
			i, key, value, err := cutOwner(m.kind, rest, m.labels)
			if err != nil {
				return err
			}
			return m.set(i, key, value)
		}
		names = append(names, m.plural+".NAME.KEY")
	}
	for _, s := range allSettings() {
		if s.key == key {
			return s.set(f, value)
		}
		names = append(names, s.key)
	}
	return suggest.Unknown("key", key, names)
}

// cutOwner splits "name.key=value" and returns which of names it contains. A name may contain dots and =, so the whole
// name is searched for, and the longest match wins.
func cutOwner(kind, text string, names []string) (index int, key, value string, err error) {
	index = -1
	for i, name := range names {
		if strings.HasPrefix(text, name+".") && (index < 0 || len(name) > len(names[index])) {
			index = i
		}
	}
	if index < 0 {
		name, _, _ := strings.Cut(text, ".")
		return 0, "", "", suggest.Unknown(kind, name, names)
	}
	key, value, _ = strings.Cut(text[len(names[index])+1:], "=")
	return index, strings.TrimSpace(key), strings.TrimSpace(value), nil
}

func (f *File) setCapacities(capacities Capacities) {
	f.Capacities = capacities
	for i := range f.Traces {
		f.Traces[i].Capacities = nil
	}
}

func (f *File) setSeeds(value string) (err error) {
	if strings.Contains(value, ",") {
		f.Seeds, err = parseSeeds(splitList([]string{value}))
	} else {
		f.Seeds, err = countSeeds(value)
	}
	return err
}

// setPolicies keeps the listed policies, with their parameters, and adds those that are new.
func (f *File) setPolicies(value string) error {
	labels, err := params.Split(value, ',')
	if err != nil {
		return err
	}
	listed := chosen(f.Policies, labels, func(label string) Policy {
		delete(f.Absent, label)
		return Policy{Policy: label}
	})
	stays := records.Distinct(listed, Policy.Label)
	f.leaveOut(func(p Policy) bool { return !slices.Contains(stays, p.Label()) }, "left out by --set")
	f.Policies = listed
	return nil
}

// leaveOut removes policies from the experiment and stores the reason, so that claims about them can give it.
func (f *File) leaveOut(goes func(Policy) bool, why string) {
	f.Policies = slices.DeleteFunc(f.Policies, func(p Policy) bool {
		if goes(p) {
			if f.Absent == nil {
				f.Absent = map[string]string{}
			}
			f.Absent[p.Label()] = why
			return true
		}
		return false
	})
}

func setBool(to *bool, value string) (err error) {
	if *to, err = strconv.ParseBool(value); err != nil {
		return fmt.Errorf("want true or false, not %q", value)
	}
	return nil
}

func setCount(to *int, value string) (err error) {
	if *to, err = strconv.Atoi(value); err != nil || *to < 0 {
		return fmt.Errorf("want a whole number from 0, not %q", value)
	}
	return nil
}

// setField sets a field of the experiment.
func setField(field any, value string) (err error) {
	switch to := field.(type) {
	case *string:
		*to = value
	case *bool:
		err = setBool(to, value)
	case *int:
		err = setCount(to, value)
	case *Values:
		*to = splitList([]string{value})
	case *Capacities:
		*to = splitList([]string{value})
	}
	return err
}

// traceKeys are the keys of a trace that --set can change, besides limit, sample and the parameters of its generator.
var traceKeys = []string{"file", "files", "generate", "format", "merge", "per-file", "warmup", "tenants", "by", "kv",
	"answers", "writes", "object-sizes", "object-overhead", "embeddings", "capacities"}

// set changes a key of the trace or a parameter of its generator.
func (t *Trace) set(key, value string) error {
	switch {
	case key == axisLimit:
		return t.setLimit(value)
	case key == axisSample:
		return t.setSample(value)
	case slices.Contains(traceKeys, key):
		if slices.Contains([]string{"file", "files", "generate"}, key) {
			t.File, t.Files, t.Generate = "", nil, ""
		}
		return setField(reflect.ValueOf(t).Elem().Field(fieldIn[Trace]("yaml", key)).Addr().Interface(), value)
	}
	names := slices.Concat(traceKeys, []string{axisLimit, axisSample})
	if t.Generate != "" {
		spec, err := gen.Parse(t.Generate, "")
		if err != nil {
			return err
		}
		for _, p := range spec.Entry.AllParams() {
			names = append(names, p.Name)
		}
	}
	if !slices.Contains(names, key) {
		return suggest.Unknown("key of trace "+t.Name, key, names)
	}
	t.Generate = withoutParam(t.Generate, key)
	return setValues(&t.With, key, value)
}

func (f *File) setWarmup(value string) error {
	for i := range f.Traces {
		f.Traces[i].Warmup = 0
	}
	return setCount(&f.Warmup, value)
}

// setLimit sets the number of requests to read; several numbers make an axis.
func (t *Trace) setLimit(value string) error {
	t.Limit = 0
	if t.With[axisLimit] != nil || strings.Contains(value, ",") {
		return setValues(&t.With, axisLimit, value)
	}
	return setCount(&t.Limit, value)
}

// setSample sets the share of the objects that is replayed; several make an axis.
func (t *Trace) setSample(value string) (err error) {
	t.Sample = 0
	if t.With[axisSample] != nil || strings.Contains(value, ",") {
		return setValues(&t.With, axisSample, value)
	}
	rate, err := parseNumber(value)
	t.Sample = Number(rate)
	return err
}

// set changes a parameter of the policy.
func (p *Policy) set(key, value string) error {
	name, _, err := params.SplitCall(p.Policy)
	if err != nil {
		return err
	}
	e, _ := policies.Registry.Find(name)
	return setParameter(&p.Policy, &p.As, &p.With, "policy", e.Params, key, value)
}

// withoutParam removes a parameter from "name(param=value,...)".
func withoutParam(call, param string) string {
	name, args, err := params.SplitCall(call)
	items, splitErr := params.Split(args, ',')
	if err != nil || splitErr != nil || args == "" {
		return call
	}
	items = slices.DeleteFunc(items, func(item string) bool {
		key, _, _ := strings.Cut(item, "=")
		return strings.TrimSpace(key) == param
	})
	if len(items) == 0 {
		return name
	}
	return name + "(" + strings.Join(items, ",") + ")"
}

// setValues sets the values of a parameter, "0.1,0.2".
func setValues(with *map[string]Values, key, value string) error {
	items, err := params.Split(value, ',')
	if err != nil {
		return err
	}
	var values Values
	for _, item := range items {
		more, err := params.ExpandRange(strings.TrimSpace(item))
		if err != nil {
			return err
		}
		values = append(values, more...)
	}
	if *with == nil {
		*with = map[string]Values{}
	}
	(*with)[key] = values
	return nil
}

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
	if q.Policies != nil {
		f.leaveOut(func(p Policy) bool { return !slices.Contains(q.Policies, p.Label()) }, "left out by --quick")
	}
	if q.Capacities != nil {
		f.setCapacities(q.Capacities)
	}
	f.takeSamples(q) // with their own capacities, where they have some
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

// takeSamples leaves the traces that the quick version keeps or has a sample of.
func (f *File) takeSamples(q *Quick) {
	for name, why := range q.Without {
		if f.Without == nil {
			f.Without = map[string]string{}
		}
		f.Without[name] = why
	}
	var stay []Trace
	for _, t := range f.Traces {
		if t, ok := q.Replays(t); ok {
			stay = append(stay, t)
		}
	}
	f.Traces = stay
}

// Replays returns what the quick version replays of a trace: its sample, if it has one; false: nothing.
func (q *Quick) Replays(t Trace) (Trace, bool) {
	for _, sample := range q.Samples {
		if sample.Name == t.Name {
			t.replay(sample)
			return t, true
		}
	}
	return t, q.Traces == nil || slices.Contains(q.Traces, t.Name)
}

// replay makes a trace that of a sample: what says where its requests come from is the sample's, and so is everything
// else that the sample states.
func (t *Trace) replay(sample Trace) {
	t.File, t.Files, t.Generate, t.Format, t.Merge, t.PerFile = "", nil, "", "", false, false
	t.Embeddings, t.Limit, t.Sample, t.With = "", 0, 0, nil
	to, from := reflect.ValueOf(t).Elem(), reflect.ValueOf(sample)
	for i := range to.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// checkQuick creates the quick version of a copy, so that errors show before someone needs it.
func (f *File) checkQuick() error {
	if f.Quick == nil || f.source.body == nil {
		return nil
	}
	quick := &File{source: f.source}
	if err := decode(f.source.body, quick); err != nil {
		return yamlhint.Locate(f.source.name, err)
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
	seen := map[string]bool{}
	for i, sample := range q.Samples {
		check("trace", "samples", []string{sample.Name}, f.traceNames())
		c.distinct(seen, "samples", sample.Name, "", path{"quick", "samples", i})
	}
	for _, name := range sortedKeys(q.Without) {
		if !slices.Contains(f.traceNames(), name) {
			c.at(path{"quick", "without", name}, suggest.Unknown("trace", name, f.traceNames()))
		}
	}
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

func (f *File) labels() []string { return records.Distinct(f.Policies, Policy.Label) }
