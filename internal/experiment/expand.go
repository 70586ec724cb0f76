package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

const maxCells = 100_000

// CellOptions are what the cells depend on in addition to the experiment.
type CellOptions struct {
	Version string
	// Checksum returns the checksum of a trace's files; it is called once per trace. Without it cells have no checksum,
	// and hashes that depend on paths match no result.
	Checksum      func(workload.Workload) (string, error)
	PartChecksums workload.Checksums // as in Design
}

// Cells expands the experiment: trace by trace, for each of its workloads capacity by capacity, policy by policy and
// seed by seed. The optima that these are compared with follow the policies of their capacity, if they are not among
// them. Cells that Only or Unmet exclude are left out.
//
// Cells may have the same hash (a policy under two labels); one result serves them all.
func (f *File) Cells(options CellOptions) ([]Cell, error) {
	d, err := f.design(options)
	if err != nil {
		return nil, err
	}
	cells, err := d.Cells()
	if err != nil {
		return nil, f.misfit(err)
	}
	if cells, err = Filter(cells, f.Only); err != nil {
		return nil, fmt.Errorf("%s: %w", f.describe(), err)
	}
	if cells, err = f.WithoutUnmet(cells); err != nil {
		return nil, fmt.Errorf("%s: %w", f.describe(), err)
	}
	return numberCells(cells), nil
}

// misfit says which of the file's policies does not fit.
func (f *File) misfit(err error) error {
	var m *Misfit
	if errors.As(err, &m) {
		return f.errorAt(fmt.Errorf("capacity %s: %w", m.Capacity, m.Err), "policies", m.entrant.index)
	}
	return err
}

// count returns the number of the experiment's cells, before Only leaves out some, and rejects the same as Cells. It
// does not create the cells, which would take most of the time.
func (f *File) count() (int, error) {
	d, err := f.design(CellOptions{})
	if err != nil {
		return 0, err
	}
	cells, err := d.count()
	return cells, f.misfit(err)
}

func (f *File) window() (series.Window, error) {
	switch len(f.Series) {
	case 0:
		return series.Window{}, nil
	case 1:
		return series.ParseWindow(f.Series[0])
	}
	return series.Window{}, fmt.Errorf("series: want one window, not %d", len(f.Series))
}

func (f *File) design(options CellOptions) (*Design, error) {
	d := &Design{Sizes: f.mode(), Warmup: f.Warmup, NoOptimum: f.Optimum != nil && !*f.Optimum, Version: options.Version,
		PartChecksums: options.PartChecksums}
	var err error
	if d.Series, err = f.window(); err != nil {
		return nil, err
	}
	setups, err := f.setups()
	if err != nil {
		return nil, err
	}
	for i := range f.Policies {
		more, err := f.entrants(i)
		if err != nil {
			return nil, err
		}
		chosen := f.setupsOf(&f.Policies[i], setups)
		for e := range more {
			more[e].Setups = chosen
		}
		d.Entrants = append(d.Entrants, more...)
	}
	for _, s := range setups {
		d.Setups = append(d.Setups, s.Setup)
	}
	for i := range f.Traces {
		more, err := f.inputs(i, setups, options)
		if err != nil {
			return nil, err
		}
		d.Inputs = append(d.Inputs, more...)
	}
	return d, nil
}

type setting struct{ name, value string }

// entrants returns a policy at every place on its axes, with each combination of the parts that it works with.
func (f *File) entrants(index int) (entrants []Entrant, err error) {
	p := f.Policies[index]
	var asked [][]partVariant // of the kinds that the policy works with, the last one varying fastest
	for _, kind := range askedKinds() {
		variants, err := f.variantsOf(kind, index)
		if err != nil {
			return nil, err
		}
		if variants != nil {
			asked = append(asked, variants)
		}
	}
	capacities, err := p.capacities()
	if err != nil {
		return nil, f.errorAt(err, "policies", index, "capacities")
	}
	for _, axes := range places(p.With) {
		spec, err := p.spec(axes)
		if err != nil {
			return nil, f.errorAt(err, "policies", index, "policy")
		}
		axes = f.qualify("policy", axes)
		for _, variants := range combinations(asked) {
			e := Entrant{Label: p.Label(), Spec: spec, Capacities: capacities, index: index}
			all := slices.Clone(axes)
			for _, v := range variants {
				e.Asked, all = append(e.Asked, v.part), append(all, v.axes...)
			}
			e.Axes = formatAxes(all)
			entrants = append(entrants, e)
		}
	}
	return entrants, nil
}

// combinations returns every way to take one item of each list; the last list varies fastest. Without lists there is
// one empty combination.
func combinations[T any](lists [][]T) [][]T {
	all := [][]T{nil}
	for _, list := range lists {
		var more [][]T
		for _, before := range all {
			for _, item := range list {
				more = append(more, append(slices.Clip(before), item))
			}
		}
		all = more
	}
	return all
}

// variantsOf returns the parts of a kind that a policy runs with; nil if it does not work with any.
func (f *File) variantsOf(kind partKind, index int) ([]partVariant, error) {
	p := f.Policies[index]
	spec, err := p.spec(firstPlace(p.With))
	if err != nil {
		return nil, f.errorAt(err, "policies", index, "policy")
	}
	chosen := kind.chosen(&p)
	switch {
	case !kind.AskedBy(spec.Entry) && len(chosen) > 0:
		return nil, f.errorAt(fmt.Errorf("policy %s uses no %s; remove its %s", p.Label(), kind.Name, kind.Plural),
			"policies", index, kind.Plural)
	case !kind.AskedBy(spec.Entry):
		return nil, nil
	case len(*kind.of(f)) == 0:
		return nil, f.errorAt(fmt.Errorf("policy %s needs a %s; add some for all policies, for example %s: [%s]", p.Label(),
			kind.Name, kind.Plural, kind.Names()[0]), "policies", index)
	}
	all, err := f.partVariants(kind)
	if err != nil || len(chosen) == 0 {
		return all, err
	}
	all = slices.DeleteFunc(all, func(v partVariant) bool { return !slices.Contains(chosen, v.label) })
	if len(chosen) == 1 { // the policy counts at every place on the axis of the kind
		for i := range all {
			all[i].axes = slices.DeleteFunc(all[i].axes, func(s setting) bool { return s.name == kind.Name })
		}
	}
	return all, nil
}

// Label returns the name of the policy in figures, tables and claims.
func (p Policy) Label() string { return cmp.Or(p.As, p.Policy) }

// capacities returns those that the policy chooses; nil if it does not choose.
func (p Policy) capacities() ([]capacity.Spec, error) {
	if len(p.Capacities) == 0 {
		return nil, nil
	}
	return capacity.ParseList(strings.Join(p.Capacities, ","))
}

// AtOneCapacity reports whether the policy chooses one capacity, so that it counts at all of the experiment.
func (p Policy) AtOneCapacity() bool {
	specs, _ := p.capacities()
	return len(specs) == 1
}

// spec returns the policy at a place on its axes.
func (p Policy) spec(axes []setting) (policies.Spec, error) {
	return policies.Registry.Parse(withArgs(p.Policy, axes))
}

// joinArgs adds further parameters to those in parentheses.
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

// places returns every combination of values; the last name varies fastest.
func places(with map[string]Values) [][]setting {
	var lists [][]setting
	for _, name := range sortedKeys(with) {
		var list []setting
		for _, value := range with[name] {
			list = append(list, setting{name, value})
		}
		lists = append(lists, list)
	}
	return combinations(lists)
}

// owner is what has parameters that are axes: a trace, a policy or a part.
type owner struct {
	kind, plural, label string
	with                map[string]Values
}

func (f *File) owners() (all []owner) {
	for _, t := range f.Traces {
		all = append(all, owner{"trace", "traces", t.Name, t.With})
	}
	for _, p := range f.Policies {
		all = append(all, owner{"policy", "policies", p.Label(), p.With})
	}
	for _, kind := range partKinds {
		for _, p := range *kind.of(f) {
			all = append(all, owner{kind.Name, kind.Plural, p.Label(), p.With})
		}
	}
	return all
}

// qualify gives axes the names that they have in records: the names of the parameters. A prefix ("trace.", "policy.",
// "cache.") is added if something else has an axis of that name, or if it is the name of another dimension.
func (f *File) qualify(owner string, axes []setting) []setting {
	for i, axis := range axes {
		if f.isAmbiguous(axis.name) {
			axes[i].name = owner + "." + axis.name
		}
	}
	return axes
}

func (f *File) isAmbiguous(axis string) bool {
	having := slices.DeleteFunc(f.owners(), func(o owner) bool { return o.with[axis] == nil })
	return len(records.Distinct(having, func(o owner) string { return o.kind })) > 1 ||
		slices.Contains(dimensions, axis) || metric.IsLabels(axis) ||
		slices.ContainsFunc(partKinds, func(k partKind) bool { return k.Name == axis })
}

// dimensions are the dimensions that every record has.
var dimensions = []string{records.DimTrace, records.DimPolicy, records.DimCapacity, records.DimSeed}

func formatAxes(axes []setting) string { return joinArgs("", axes) }

// seeds returns the seeds of the experiment: 0 unless it names others.
func (f *File) seeds() []uint64 {
	if len(f.Seeds) == 0 {
		return []uint64{0}
	}
	return f.Seeds
}

func (f *File) mode() capacity.Mode {
	switch {
	case f.UnitSize:
		return capacity.UnitSize
	case f.Bytes:
		return capacity.Bytes
	}
	return capacity.AsWritten
}

func (f *File) modeOf(t Trace) capacity.Mode {
	in := Input{Workload: workload.Workload{KV: t.KV}}
	return in.sizes(f.mode())
}

// capacitiesOf returns the capacities that a trace is replayed at: none if all caches that replay it have their own.
func (f *File) capacitiesOf(index int) ([]capacity.Spec, error) {
	own, path := f.Traces[index].Capacities, []any{"traces", index, "capacities"}
	if len(own) == 0 {
		own, path = f.Capacities, []any{"capacities"}
	}
	if len(own) == 0 && f.replayedBy(f.Traces[index], sim.HasOwnCapacity) {
		return nil, nil
	}
	if len(own) == 0 {
		return nil, f.errorAt(fmt.Errorf("trace %s has no capacities; add some for all traces, for example capacities: "+
			"[1%%, 10%%]", f.Traces[index].Name), "traces", index)
	}
	specs, err := capacity.ParseList(strings.Join(own, ","))
	if err != nil {
		return nil, f.errorAt(err, path...)
	}
	seen := map[string]bool{}
	for _, spec := range specs {
		if seen[spec.String()] {
			return nil, f.errorAt(fmt.Errorf("capacity %s is listed twice", spec), path...)
		}
		seen[spec.String()] = true
	}
	return specs, nil
}

// replayedBy reports whether all caches that replay a trace have a property. The default cache has none of the
// properties that callers ask for.
func (f *File) replayedBy(t Trace, property func(cache.Spec) bool) bool {
	return len(f.Caches) > 0 && !slices.ContainsFunc(f.Caches, func(p Part) bool {
		spec, err := cache.Registry.Parse(withArgs(p.Use, firstPlace(p.With)))
		return t.isServedBy(p.Label()) && (err != nil || !property(spec))
	})
}

// fileSetup is a setup with its parts, one for each of setupKinds.
type fileSetup struct {
	Setup
	parts []partVariant
}

func (s *fileSetup) cache() string { return s.parts[0].label }

// axes returns the axes of the parts, without the axes of kinds that a function does not want.
func (s *fileSetup) axes(wants func(kind partKind) bool) string {
	axes := ""
	for i, kind := range setupKinds() {
		own := s.parts[i].axes
		if !wants(kind) {
			own = slices.DeleteFunc(slices.Clone(own), func(a setting) bool { return a.name == kind.Name })
		}
		axes = joinAxes(axes, formatAxes(own))
	}
	return axes
}

// setupsOf returns the setups in which a policy runs, by index, with the axes of its cells there; nil if it does not
// choose. If the policy has one part of a kind, it has no place on that axis, because it is the same at all of them.
// Axes of the part's parameters stay.
func (f *File) setupsOf(p *Policy, setups []fileSetup) map[int]string {
	if !slices.ContainsFunc(setupKinds(), func(k partKind) bool { return len(k.chosen(p)) > 0 }) {
		return nil
	}
	runs := map[int]string{}
	for at := range setups {
		s := &setups[at]
		fits := true
		for i, kind := range setupKinds() {
			names := kind.chosen(p)
			fits = fits && (len(names) == 0 || slices.Contains(names, s.parts[i].label))
		}
		if fits {
			runs[at] = s.axes(func(k partKind) bool { return len(k.chosen(p)) != 1 })
		}
	}
	return runs
}

// setups combines the parts of all kinds, the last kind varying fastest.
func (f *File) setups() (setups []fileSetup, err error) {
	var lists [][]partVariant
	for _, kind := range setupKinds() {
		parts, err := f.partVariants(kind)
		if err != nil {
			return nil, err
		}
		lists = append(lists, parts)
	}
	for _, parts := range combinations(lists) {
		s := fileSetup{Setup{Parts: sim.Parts{Cache: cache.ExactSpec()}}, parts}
		for _, p := range parts {
			if p.part != nil {
				p.part.Into(&s.Parts)
			}
		}
		s.Axes = s.axes(func(partKind) bool { return true })
		setups = append(setups, s)
	}
	return setups, nil
}

// inputs returns the workloads of a trace at every place on its axes.
func (f *File) inputs(index int, setups []fileSetup, options CellOptions) (all []Input, err error) {
	t := f.Traces[index]
	specs, err := f.capacitiesOf(index)
	if err != nil {
		return nil, err
	}
	capacities := make([]capacity.Capacity, len(specs))
	for i, s := range specs {
		capacities[i].Spec = s
	}
	known := checksums{}
	serving := []int{}
	for i, s := range setups {
		if t.isServedBy(s.cache()) {
			serving = append(serving, i)
		}
	}
	for _, axes := range places(t.With) {
		for _, seeds := range f.workloadSeeds(t, axes) {
			w, err := t.workload(axes, seeds[0])
			if err != nil {
				return nil, f.errorAt(fmt.Errorf("trace %s: %w", t.Name, err), "traces", index)
			}
			if options.Checksum != nil {
				if w.Checksum, err = known.of(w, options); err == nil {
					err = t.checkSum(w.Checksum)
				}
				if err != nil {
					return nil, f.errorAt(t.sourced(err), "traces", index)
				}
			}
			all = append(all, Input{Workload: w, Setups: serving, Capacities: capacities, Seeds: seeds,
				Warmup: t.Warmup, Axes: formatAxes(f.qualify("trace", slices.Clone(axes)))})
		}
	}
	return all, nil
}

// checksums are the checksums of workloads, by their files.
type checksums map[string]string

// of returns the checksum of a workload, "" if it has no files.
func (known checksums) of(w workload.Workload, options CellOptions) (sum string, err error) {
	files := strings.Join(w.Paths(), "\n")
	if sum, ok := known[files]; ok || files == "" {
		return sum, nil
	}
	known[files], err = options.Checksum(w)
	return known[files], err
}

// checkSum compares the checksum of the files, "" where that is not known, with the one that the experiment states.
func (t Trace) checkSum(is string) error {
	want := "sha256:" + strings.TrimPrefix(t.SHA256, "sha256:")
	if t.SHA256 == "" || is == "" || is == want {
		return nil
	}
	return fmt.Errorf("trace %s: %s has the checksum %s, want %s; the experiment is for another file%s", t.Name,
		strings.Join(t.paths(), ", "), is, want, t.from())
}

// sourced tells a missing file where it can be had.
func (t Trace) sourced(err error) error {
	if missing := (*workload.MissingError)(nil); errors.As(err, &missing) {
		if missing.From = t.from(); t.SHA256 != "" {
			missing.From += ", with the checksum sha256:" + strings.TrimPrefix(t.SHA256, "sha256:")
		}
	}
	return err
}

// from says where the files can be had, "" if that is not stated.
func (t Trace) from() string {
	switch {
	case t.Source == "":
		return ""
	case t.Licence == "":
		return "; it is from " + t.Source
	}
	return fmt.Sprintf("; it is from %s (licence: %s)", t.Source, t.Licence)
}

func (t Trace) isServedBy(cache string) bool {
	return len(t.Caches) == 0 || slices.Contains(t.Caches, cache)
}

// workloadSeeds returns the seeds of the experiment in groups that share a workload.
func (f *File) workloadSeeds(t Trace, axes []setting) (groups [][]uint64) {
	if !t.dependsOnSeed(axes) {
		return [][]uint64{f.seeds()}
	}
	for _, seed := range f.seeds() {
		groups = append(groups, []uint64{seed})
	}
	return groups
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

// at returns the trace at a place on its axes, and the settings that are parameters of its generator.
func (t Trace) at(axes []setting) (at Trace, ofGenerator []setting, err error) {
	for _, axis := range axes {
		switch axis.name {
		case axisSample:
			rate, err := parseNumber(axis.value)
			if err != nil || !(rate > 0 && rate <= 1) {
				return t, nil, fmt.Errorf("sample=%s: want a share above 0, and up to 1", axis.value)
			}
			t.Sample = Number(rate)
		case axisLimit:
			if t.Limit, err = strconv.Atoi(axis.value); err != nil || t.Limit < 1 {
				return t, nil, fmt.Errorf("limit=%s: want a number of requests, from 1", axis.value)
			}
		default:
			ofGenerator = append(ofGenerator, axis)
		}
	}
	return t, ofGenerator, nil
}

// dependsOnSeed reports whether the requests differ from seed to seed: for a generator or a format without its own
// seed, and for a sample.
func (t Trace) dependsOnSeed(axes []setting) bool {
	at, _, err := t.at(axes)
	return err == nil && at.Sample > 0 && at.Sample < 1 || t.Generate != "" && !gen.FixesSeed(t.Generate) ||
		!t.Workload().FixesSeed()
}

// Workload returns the trace's files and how they are read; it has no requests of a generator.
func (t Trace) Workload() workload.Workload {
	return workload.Workload{Name: t.Name, Files: t.paths(), Embeddings: t.Embeddings, KV: t.KV,
		Answers: prompts.Answers(t.Answers),
		Selection: traces.Selection{Format: t.Format, Merge: t.Merge, PerFile: t.PerFile, Limit: t.Limit,
			Tenants: t.Tenants, By: t.By, Writes: t.Writes, ObjectSizes: t.ObjectSizes, ObjectOverhead: t.ObjectOverhead}}
}

// workload returns the workload at a place on the trace's axes, without its checksum. A generator, a format and a
// sample without their own seed use this one.
func (t Trace) workload(axes []setting, seed uint64) (w workload.Workload, err error) {
	t, ofGenerator, err := t.at(axes)
	if err != nil {
		return w, err
	}
	w = t.Workload().Seeded(seed)
	if w.SampleRate = cmp.Or(float64(t.Sample), 1); w.SampleRate < 1 {
		w.SampleSeed = seed
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
