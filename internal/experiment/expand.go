package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/workload"
)

// maxCells bounds what an experiment may expand to.
const maxCells = 100_000

// CellOptions are what the cells depend on besides the experiment.
type CellOptions struct {
	Version string
	// Checksum returns that of a trace's files; it is asked once for each trace. Where it is nil, the cells have no
	// checksum, and their hashes, which then depend on the paths, are those of no result.
	Checksum func(workload.Workload) (string, error)
}

// Cells expands the experiment: trace by trace, and for each of its workloads capacity by capacity, policy by policy
// and seed by seed, with the optima that these are held against, as far as they are not among them, behind the policies
// of their capacity. What Only leaves out is not there.
//
// Cells may have the same hash (a policy under two labels); one result serves them all.
func (f *File) Cells(options CellOptions) ([]Cell, error) {
	e := expansion{file: f, options: options}
	if err := e.expand(); err != nil {
		return nil, err
	}
	cells, err := Filter(e.cells, f.Only)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.describe(), err)
	}
	for i := range cells {
		cells[i].Number = i
	}
	return cells, nil
}

// Extent is how much an experiment is.
type Extent struct {
	Cells     int
	Workloads []workload.Workload // without their checksums
}

// Extent counts the cells of the experiment, before Only leaves out some, and refuses the same as Cells. It makes none
// of them, which would take most of the time.
func (f *File) Extent() (Extent, error) {
	e := expansion{file: f, counting: true}
	err := e.expand()
	return e.extent, err
}

// expand goes through the experiment.
func (e *expansion) expand() error {
	e.fitted, e.asked, e.hashes = map[fitKey]fit{}, map[task]bool{}, map[reference]string{}
	for i := range e.file.Policies {
		more, err := e.file.variants(i)
		if err != nil {
			return err
		}
		e.policies = append(e.policies, more...)
	}
	if err := e.combine(); err != nil {
		return err
	}
	for i := range e.file.Traces {
		if err := e.addTrace(i); err != nil {
			return err
		}
	}
	return nil
}

// Dim returns the cell's place on a dimension, as that of its record.
func (c *Cell) Dim(name string) (records.Value, bool) {
	rec := c.names()
	return rec.Dim(name)
}

// names returns a record with the cell's places alone.
func (c *Cell) names() records.Record {
	return records.Record{Trace: c.Workload.Name, Label: c.Label, CapacityText: c.Capacity, Seed: c.Seed, Axes: c.Axes}
}

// setting is one place on one axis.
type setting struct{ name, value string }

// variant is a policy at one place on its axes, with one predictor if it asks any.
type variant struct {
	index     int // in File.Policies
	label     string
	spec      policies.Spec
	full      string // spec with every parameter
	predictor partVariant
	axesText  string
}

// variants returns a policy at every place on its axes, with each of its predictors.
func (f *File) variants(index int) (all []variant, err error) {
	p := f.Policies[index]
	predictors, err := f.predictorsOf(index)
	if err != nil {
		return nil, err
	}
	for axes := range places(p.With) {
		spec, err := p.spec(axes)
		if err != nil {
			return nil, f.errorAt(err, "policies", index, "policy")
		}
		for _, predictor := range predictors {
			both := append(f.qualify("policy", slices.Clone(axes)), predictor.axes...)
			all = append(all, variant{index, p.Label(), spec, spec.Full(), predictor, formatAxes(both)})
		}
	}
	return all, nil
}

// predictorsOf returns the predictors that a policy is run with; an empty one for a policy that asks none.
func (f *File) predictorsOf(index int) ([]partVariant, error) {
	p := f.Policies[index]
	spec, err := p.spec(firstPlace(p.With))
	if err != nil {
		return nil, f.errorAt(err, "policies", index, "policy")
	}
	switch {
	case !spec.Entry.Predicts && len(p.Predictors) > 0:
		return nil, f.errorAt(fmt.Errorf("policy %s asks no predictor; leave its predictors out",
			p.Label()), "policies", index, "predictors")
	case !spec.Entry.Predicts:
		return []partVariant{{}}, nil
	case len(f.Predictors) == 0:
		return nil, f.errorAt(fmt.Errorf("policy %s needs a predictor; write some for all policies, for example "+
			"predictors: [oracle]", p.Label()), "policies", index)
	}
	all, err := f.partVariants(predictorKind)
	if err != nil || len(p.Predictors) == 0 {
		return all, err
	}
	return slices.DeleteFunc(all, func(v partVariant) bool { return !slices.Contains(p.Predictors, v.label) }), nil
}

// Label returns the name of the policy in figures, tables and claims.
func (p Policy) Label() string {
	if p.As != "" {
		return p.As
	}
	return p.Policy
}

// spec returns the policy at a place on its axes.
func (p Policy) spec(axes []setting) (policies.Spec, error) {
	return policies.ParseSpec(withArgs(p.Policy, axes))
}

// joinArgs writes further parameters behind those in parentheses.
func joinArgs(args string, more []setting) string {
	var all []string
	if strings.TrimSpace(args) != "" {
		all = append(all, args)
	}
	for _, s := range more {
		all = append(all, s.name+"="+s.value)
	}
	return strings.Join(all, ",")
}

// places goes through every combination of values, those of the last name first. Without parameters there is one, which
// is empty.
func places(with map[string]Values) func(yield func([]setting) bool) {
	names := sortedKeys(with)
	return func(yield func([]setting) bool) {
		at := make([]setting, len(names))
		var visit func(depth int) bool
		visit = func(depth int) bool {
			if depth == len(names) {
				return yield(slices.Clone(at))
			}
			for _, value := range with[names[depth]] {
				at[depth] = setting{names[depth], value}
				if !visit(depth + 1) {
					return false
				}
			}
			return true
		}
		visit(0)
	}
}

// qualify gives axes the names that they have in records: those of the parameters, with what they belong to before them
// ("trace.", "policy.", "cache.") where something else has an axis of that name, or where it is
// the name of another dimension.
func (f *File) qualify(owner string, axes []setting) []setting {
	for i, axis := range axes {
		if f.isAmbiguous(axis.name) {
			axes[i].name = owner + "." + axis.name
		}
	}
	return axes
}

func (f *File) isAmbiguous(axis string) bool {
	owners := 0
	count := func(has bool) {
		if has {
			owners++
		}
	}
	count(slices.ContainsFunc(f.Traces, func(t Trace) bool { return t.With[axis] != nil }))
	count(slices.ContainsFunc(f.Policies, func(p Policy) bool { return p.With[axis] != nil }))
	reserved := slices.Contains(dimensions, axis)
	for _, kind := range partKinds {
		count(slices.ContainsFunc(*kind.of(f), func(p Part) bool { return p.With[axis] != nil }))
		reserved = reserved || kind.Name == axis
	}
	return owners > 1 || reserved
}

// dimensions are those that every record has.
var dimensions = []string{records.DimTrace, records.DimPolicy, records.DimCapacity, records.DimSeed}

// formatAxes writes axes as they stand in records.
func formatAxes(axes []setting) string { return joinArgs("", axes) }

// seeds returns the seeds of the experiment: 0 unless it names others.
func (f *File) seeds() []uint64 {
	if len(f.Seeds) == 0 {
		return []uint64{0}
	}
	return f.Seeds
}

// mode returns which sizes count.
func (f *File) mode() capacity.Mode {
	switch {
	case f.UnitSize:
		return capacity.UnitSize
	case f.Bytes:
		return capacity.Bytes
	}
	return capacity.AsWritten
}

// capacitiesOf returns the capacities that a trace is replayed at.
func (f *File) capacitiesOf(index int) ([]capacity.Spec, error) {
	own, path := f.Traces[index].Capacities, []any{"traces", index, "capacities"}
	if len(own) == 0 {
		own, path = f.Capacities, []any{"capacities"}
	}
	if len(own) == 0 {
		return nil, f.errorAt(fmt.Errorf("trace %s has no capacities; write some for all traces, for example capacities: "+
			"[1%%, 10%%]",
			f.Traces[index].Name), "traces", index)
	}
	specs, err := capacity.ParseList(strings.Join(own, ","))
	if err != nil {
		return nil, f.errorAt(err, path...)
	}
	seen := map[string]bool{}
	for _, spec := range specs {
		if seen[spec.String()] {
			return nil, f.errorAt(fmt.Errorf("capacity %s is there twice", spec), path...)
		}
		seen[spec.String()] = true
	}
	return specs, nil
}

// expansion collects the cells of an experiment.
type expansion struct {
	file     *File
	options  CellOptions
	policies []variant
	setups   []setup
	fitted   map[fitKey]fit // what has been found out about a policy once holds for all traces and capacities
	cells    []Cell
	counting bool // there are no cells, only the extent
	extent   Extent
	// Of one capacity, here to be used again.
	asked  map[task]bool
	hashes map[reference]string
}

// fitKey is what decides whether a policy fits the rest of a cell, and what it is held against.
type fitKey struct {
	parts partTexts
	bytes bool
}

// fit says whether a policy fits the rest of a cell, whether it makes random choices there, and what it is held
// against.
type fit struct {
	err     error
	random  bool
	against []reference
}

// reference is what a policy is held against.
type reference struct {
	parts partTexts
	label string
}

// setup is what all policies of an experiment work in: a cache, and what stands beside it, a model say.
type setup struct {
	cache string // its label
	parts partTexts
	axes  []setting
}

// combine puts every part of each kind together with those of the others, the last kind first.
func (e *expansion) combine() error {
	e.setups = []setup{{parts: partTexts{Cache: cache.ExactSpec().Full()}}}
	for _, kind := range setupKinds() {
		parts, err := e.file.partVariants(kind)
		if err != nil {
			return err
		}
		var more []setup
		for _, s := range e.setups {
			for _, p := range parts {
				more = append(more, s.with(kind, p))
			}
		}
		e.setups = more
	}
	return nil
}

// with returns the setup with a part of a kind.
func (s setup) with(kind partKind, p partVariant) setup {
	if p.full == "" {
		return s
	}
	*kind.text(&s.parts) = p.full
	s.axes = slices.Concat(s.axes, p.axes)
	if kind.Kind == sim.CacheKind {
		s.cache = p.label
	}
	return s
}

// addTrace adds the cells of a trace at every place on its axes.
func (e *expansion) addTrace(index int) error {
	t := e.file.Traces[index]
	capacities, err := e.file.capacitiesOf(index)
	if err != nil {
		return err
	}
	checksum := ""
	if e.options.Checksum != nil && t.Generate == "" {
		if checksum, err = e.options.Checksum(workload.Workload{Files: t.paths(), Embeddings: t.Embeddings}); err != nil {
			return e.file.errorAt(err, "traces", index)
		}
	}
	for axes := range places(t.With) {
		for _, seeds := range e.workloadSeeds(t, axes) {
			w, err := t.workload(axes, seeds[0])
			if err != nil {
				return e.file.errorAt(fmt.Errorf("trace %s: %w", t.Name, err), "traces", index)
			}
			w.Checksum = checksum
			e.extent.Workloads = append(e.extent.Workloads, w)
			for _, setup := range e.setups {
				if !t.isServedBy(setup.cache) {
					continue
				}
				all := slices.Concat(e.file.qualify("trace", slices.Clone(axes)), setup.axes)
				base := Cell{
					partTexts: setup.parts,
					Workload:  w,
					Sizes:     e.file.mode().String(),
					Warmup:    e.file.Warmup,
					Axes:      formatAxes(all),
					Version:   e.options.Version,
				}
				for _, capacity := range capacities {
					if err := e.addCapacity(base, capacity, seeds); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// isServedBy reports whether the trace is replayed in the caches of that name.
func (t Trace) isServedBy(cache string) bool {
	return len(t.Caches) == 0 || slices.Contains(t.Caches, cache)
}

// workloadSeeds returns the seeds of the experiment in groups that share a workload.
func (e *expansion) workloadSeeds(t Trace, axes []setting) (groups [][]uint64) {
	if !t.dependsOnSeed(axes) {
		return [][]uint64{e.file.seeds()}
	}
	for _, seed := range e.file.seeds() {
		groups = append(groups, []uint64{seed})
	}
	return groups
}

// addCapacity adds the cells of all policies at one capacity of a workload, and then those that they are held against.
func (e *expansion) addCapacity(base Cell, capacity capacity.Spec, seeds []uint64) error {
	base.Capacity = capacity.String()
	bytes := capacity.CountsBytes(e.file.mode())
	clear(e.asked)
	clear(e.hashes)
	var references []Cell
	for _, v := range e.policies {
		fit := e.fit(base, v, bytes)
		if fit.err != nil {
			return e.file.errorAt(fmt.Errorf("capacity %s: %w", capacity, fit.err), "policies", v.index)
		}
		var against []string
		for _, r := range fit.against {
			if _, ok := e.hashes[r]; !ok {
				references = append(references, e.named(r.cell(base, seeds[0])))
				e.hashes[r] = references[len(references)-1].Hash
			}
			if !e.counting {
				against = append(against, e.hashes[r])
			}
		}
		for _, seed := range seeds {
			c := v.cell(base, seed)
			c.Against = slices.Clone(against)
			e.add(c)
			if !fit.random {
				break
			}
		}
	}
	for _, c := range references {
		if !e.asked[c.task()] {
			e.add(c)
		}
	}
	return nil
}

// add adds a cell, or counts it.
func (e *expansion) add(c Cell) {
	e.asked[c.task()] = true
	e.extent.Cells++
	if !e.counting {
		e.cells = append(e.cells, e.named(c))
	}
}

// named gives the cell its hash. One that is only counted needs none.
func (e *expansion) named(c Cell) Cell {
	if e.counting || c.Hash != "" {
		return c
	}
	return c.WithHash()
}

// task is what tells the cells of one workload and capacity apart.
type task struct {
	parts partTexts
	seed  uint64
}

func (c *Cell) task() task { return task{c.partTexts, c.Seed} }

// cell returns the cell of a policy in the rest of a cell.
func (v *variant) cell(base Cell, seed uint64) Cell {
	base.Policy, base.Predictor, base.Label, base.Seed = v.full, v.predictor.full, v.label, seed
	if v.axesText != "" {
		base.Axes = strings.Trim(base.Axes+","+v.axesText, ",")
	}
	return base
}

// fit finds out about a policy in the rest of a cell.
func (e *expansion) fit(base Cell, v variant, bytes bool) fit {
	parts := base.partTexts
	parts.Policy, parts.Predictor = v.full, v.predictor.full
	key := fitKey{parts, bytes}
	found, ok := e.fitted[key]
	if !ok {
		found = e.findFit(parts, v, bytes)
		e.fitted[key] = found
	}
	return found
}

func (e *expansion) findFit(texts partTexts, v variant, bytes bool) (f fit) {
	parts, err := texts.parse()
	if err != nil {
		return fit{err: err}
	}
	replay := sim.Cell{Parts: parts, Capacity: capacity.Capacity{Bytes: bytes}}
	if err := cmp.Or(sim.CheckUnits(v.spec.Entry, bytes), sim.CheckParts(replay)); err != nil {
		return fit{err: err}
	}
	f.random = replay.Random()
	if e.file.Optimum != nil && !*e.file.Optimum {
		return f
	}
	for _, r := range sim.References(replay) {
		f.against = append(f.against, reference{textsOf(&r.Parts), r.Policy.Entry.Name})
	}
	return f
}

// cell returns the cell of a reference beside others.
func (r reference) cell(base Cell, seed uint64) Cell {
	base.partTexts = r.parts
	base.Label, base.Seed, base.Auxiliary = r.label, seed, true
	return base
}

// paths returns the files of the trace; none for a generator.
func (t Trace) paths() []string {
	if t.File != "" {
		return []string{t.File}
	}
	return t.Files
}

// Names of the axes that are not parameters of a generator.
const (
	axisLimit  = "limit"
	axisSample = "sample"
)

// sampleRate returns the share of the objects that stay; 1 for all.
func (t Trace) sampleRate(axes []setting) (float64, error) {
	for _, axis := range axes {
		if axis.name == axisSample {
			rate, err := parseNumber(axis.value)
			if err != nil || !(rate > 0 && rate <= 1) {
				return 0, fmt.Errorf("sample=%s: want a share above 0, and up to 1", axis.value)
			}
			return rate, nil
		}
	}
	if t.Sample == 0 {
		return 1, nil
	}
	return float64(t.Sample), nil
}

// dependsOnSeed reports whether the requests differ from seed to seed: those of a generator that has none of its own,
// and those of a sample.
func (t Trace) dependsOnSeed(axes []setting) bool {
	rate, err := t.sampleRate(axes)
	return err == nil && rate < 1 || t.Generate != "" && !gen.FixesSeed(t.Generate)
}

// workload returns what is replayed at a place on the trace's axes, without its checksum. A generator and a sample that
// have no seed of their own take this one.
func (t Trace) workload(axes []setting, seed uint64) (w workload.Workload, err error) {
	w = workload.Workload{Name: t.Name, Files: t.paths(), Embeddings: t.Embeddings, Selection: traces.Selection{
		Format: t.Format, Merge: t.Merge, PerFile: t.PerFile, Limit: t.Limit}}
	if w.SampleRate, err = t.sampleRate(axes); err != nil {
		return w, err
	}
	if w.SampleRate < 1 {
		w.SampleSeed = seed
	}
	var ofGenerator []setting
	for _, axis := range axes {
		switch axis.name {
		case axisSample:
		case axisLimit:
			if w.Limit, err = strconv.Atoi(axis.value); err != nil || w.Limit < 1 {
				return w, fmt.Errorf("limit=%s: want a number of requests, from 1", axis.value)
			}
		default:
			ofGenerator = append(ofGenerator, axis)
		}
	}
	if t.Generate == "" {
		return w, nil
	}
	if !gen.FixesSeed(t.Generate) {
		ofGenerator = append(ofGenerator, setting{"seed", strconv.FormatUint(seed, 10)})
	}
	spec, err := gen.Parse(t.Generate, joinArgs("", ofGenerator))
	if err != nil {
		return w, err
	}
	w.Generator = spec.Full()
	return w, nil
}
