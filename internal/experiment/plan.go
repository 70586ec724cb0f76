package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Design is an experiment in memory: the combination of all its values. Experiment files and the flags of commands
// become a Design, and from there on they are treated alike.
type Design struct {
	Inputs   []Input
	Setups   []Setup
	Entrants []Entrant
	Sizes    capacity.Mode
	Warmup   int // requests
	Series   series.Window
	// NoOptimum leaves out the offline optimum under the same rules, which otherwise is added at every point.
	NoOptimum bool
	Version   string // of the program
	// PartChecksums are known checksums of files that parts read; further files are read.
	PartChecksums workload.Checksums
}

// Input is a workload and the capacities to replay it at.
type Input struct {
	Workload   workload.Workload
	Setups     []int               // the Design.Setups that serve it; nil: all
	Capacities []capacity.Capacity // as for cells
	Seeds      []uint64
	Warmup     int // 0 for the warm-up of the Design
	Axes       string
}

// Setup is the environment of all policies: a cache, and further parts such as a model.
type Setup struct {
	Parts sim.Parts // without a policy, and without the parts that policies use
	Axes  string
}

// Entrant is a policy with the parts that it uses, such as a predictor.
type Entrant struct {
	Label string
	Spec  policies.Spec
	Asked []sim.Part
	Axes  string
	// Setups are the Design.Setups in which it runs, by index, with the axes that its cells have there; nil: all, with
	// their own axes.
	Setups     map[int]string
	Capacities []capacity.Spec // at which it runs; nil: all
	OnePass    bool            // as for cells
	Beside     bool            // it is compared with existing optima and adds none

	index int // in File.Policies
}

// Setups combines the parts of the kinds that every policy works with. Without lists the only setup is the exact cache.
func Setups(lists map[*sim.Kind][]sim.Part) (setups []Setup) {
	for _, parts := range combined(lists, func(k *sim.Kind) bool { return k.AskedBy == nil }) {
		s := Setup{Parts: sim.Parts{Cache: cache.ExactSpec()}}
		for _, part := range parts {
			part.Into(&s.Parts)
		}
		setups = append(setups, s)
	}
	return setups
}

// combined returns the combinations of the parts of some kinds.
func combined(lists map[*sim.Kind][]sim.Part, has func(*sim.Kind) bool) [][]sim.Part {
	var some [][]sim.Part
	for _, kind := range sim.Kinds {
		if has(kind) && len(lists[kind]) > 0 {
			some = append(some, lists[kind])
		}
	}
	return combinations(some)
}

// Entrants returns the policies, each with every combination of the parts that it uses.
func Entrants(specs []policies.Spec, lists map[*sim.Kind][]sim.Part) (entrants []Entrant) {
	for _, spec := range specs {
		uses := func(k *sim.Kind) bool { return k.AskedBy != nil && k.AskedBy(spec.Entry) }
		for _, asked := range combined(lists, uses) {
			entrants = append(entrants, Entrant{Label: spec.String(), Spec: spec, Asked: asked})
		}
	}
	return entrants
}

func (e *Entrant) parts(s *Setup) sim.Parts {
	p := s.Parts
	p.Policy = e.Spec
	for _, part := range e.Asked {
		part.Into(&p)
	}
	return p
}

// runsIn reports whether the entrant runs in a setup, and returns the axes of its cells there.
func (e *Entrant) runsIn(setup int, s *Setup) (axes string, ok bool) {
	if e.Setups == nil {
		return s.Axes, true
	}
	axes, ok = e.Setups[setup]
	return axes, ok
}

// runsAt reports whether the entrant runs at a capacity.
func (e *Entrant) runsAt(c capacity.Spec) bool {
	same := func(other capacity.Spec) bool { return other.String() == c.String() }
	return e.Capacities == nil || slices.ContainsFunc(e.Capacities, same)
}

// Needs returns which parts of their traces the cells need; bytes says that a capacity counts bytes.
func (d *Design) Needs(bytes bool) traces.Needs {
	var all []sim.Parts
	for s := range d.Setups {
		for e := range d.Entrants {
			if _, runs := d.Entrants[e].runsIn(s, &d.Setups[s]); runs {
				all = append(all, d.Entrants[e].parts(&d.Setups[s]))
			}
		}
	}
	needs := sim.Needs(all, bytes)
	needs.Times = needs.Times || d.Series.Span > 0
	return needs
}

func (in *Input) sizes(design capacity.Mode) capacity.Mode {
	if in.Workload.KV != "" {
		return design.OfBlocks()
	}
	return design
}

func (in *Input) isServedIn(setup int) bool {
	return in.Setups == nil || slices.Contains(in.Setups, setup)
}

// Misfit says that the parts of a cell do not fit together.
type Misfit struct {
	Capacity capacity.Spec
	Err      error
	entrant  *Entrant
}

func (m *Misfit) Error() string { return m.Err.Error() }
func (m *Misfit) Unwrap() error { return m.Err }

// Cells returns the design's numbered cells: input by input, and for each setup by setup, capacity by capacity, policy
// by policy and seed by seed. The optima that these are compared with follow the policies of their capacity, if they
// are not among them. The error is a Misfit.
//
// Cells may have the same hash (a policy under two labels); one result serves them all.
func (d *Design) Cells() ([]Cell, error) {
	p := newPlanner(d)
	if err := p.plan(); err != nil {
		return nil, err
	}
	return numberCells(p.cells), nil
}

// count returns the number of Cells without creating them.
func (d *Design) count() (int, error) {
	p := newPlanner(d)
	p.counting = true
	err := p.plan()
	return p.counted, err
}

func numberCells(cells []Cell) []Cell {
	for i := range cells {
		cells[i].Number = i
	}
	return cells
}

type planner struct {
	*Design
	fitted     map[fitKey]*fit // what is known about parts is valid for all inputs and capacities
	references map[partTexts]reference
	cells      []Cell
	counting   bool // cells are not created, only counted
	counted    int
	// For one capacity, kept here to be reused.
	asked  map[task]string      // hashes
	hashes map[reference]string // for the optima
	sums   workload.Checksums
}

func newPlanner(d *Design) *planner {
	sums := workload.Checksums{}
	maps.Copy(sums, d.PartChecksums)
	return &planner{Design: d, fitted: map[fitKey]*fit{}, references: map[partTexts]reference{}, asked: map[task]string{},
		hashes: map[reference]string{}, sums: sums}
}

// fitKey determines whether parts fit together: the places of setup and entrant, and what capacities count.
type fitKey struct {
	setup, entrant int
	bytes          bool
}

// fit is a policy in a setup: whether it fits, whether it makes random choices, and what it is compared with.
type fit struct {
	err     error
	parts   *Parts
	random  bool
	against []reference
}

// reference is what a policy is compared with.
type reference struct {
	parts *Parts
	label string
}

type task struct {
	parts partTexts
	seed  uint64
}

func (p *planner) plan() error {
	for i := range p.Inputs {
		in := &p.Inputs[i]
		for s := range p.Setups {
			if !in.isServedIn(s) {
				continue
			}
			capacities, err := p.capacities(in, s)
			if err != nil {
				return err
			}
			for _, c := range capacities {
				if err := p.add(in, s, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// capacities returns the capacities of an input in a setup: its own or, if the cache defines its capacity, only that
// one. Other capacities of the input are then an error, unless another setup uses them.
func (p *planner) capacities(in *Input, setup int) ([]capacity.Capacity, error) {
	own, ok := sim.OwnCapacity(p.Setups[setup].Parts.Cache)
	if !ok {
		return in.Capacities, nil
	}
	others := slices.ContainsFunc(p.Setups, func(s Setup) bool { return !sim.HasOwnCapacity(s.Parts.Cache) })
	for _, c := range in.Capacities {
		if !others && !c.Is(own) {
			return nil, fmt.Errorf("capacity %s: the parameters of the cache %s set its capacity, %s; remove the capacity, or "+
				"change the parameters", c, p.Setups[setup].Parts.Cache, own)
		}
	}
	return []capacity.Capacity{own}, nil
}

// add adds the cells of all policies at one capacity, and then those that they are compared with.
func (p *planner) add(in *Input, setup int, c capacity.Capacity) error {
	base := Cell{Workload: in.Workload, Capacity: c, Sizes: in.sizes(p.Sizes), Warmup: cmp.Or(in.Warmup, p.Warmup),
		Series: p.Series, Version: p.Version}
	base.Axes = joinAxes(in.Axes, p.Setups[setup].Axes)
	bytes := c.CountsBytes(base.Sizes)
	if sim.HasOwnCapacity(p.Setups[setup].Parts.Cache) { // which is read as it is written
		bytes = bytes && c.Bytes
	}
	clear(p.asked)
	clear(p.hashes)
	var optima []Cell
	var beside []besideOthers
	for i := range p.Entrants {
		e := &p.Entrants[i]
		axes, runs := e.runsIn(setup, &p.Setups[setup])
		if !runs || !e.runsAt(c.Spec) {
			continue
		}
		f := p.fit(setup, i, bytes)
		if f.err != nil {
			return &Misfit{c.Spec, f.err, e}
		}
		against := f.against
		if e.Beside {
			against = nil
			beside = append(beside, besideOthers{len(p.cells), f})
		}
		var hashes []string
		for _, r := range against {
			if _, ok := p.hashes[r]; !ok {
				optima = append(optima, p.named(r.cell(base, in.Seeds[0])))
				p.hashes[r] = optima[len(optima)-1].Hash
			}
			if !p.counting {
				hashes = append(hashes, p.hashes[r])
			}
		}
		for _, seed := range in.Seeds {
			cell := base
			cell.Parts, cell.Label, cell.Seed, cell.OnePass = f.parts, e.Label, seed, e.OnePass
			if !p.counting {
				cell.Axes, cell.Against = joinAxes(joinAxes(in.Axes, axes), e.Axes), slices.Clone(hashes)
			}
			p.addCell(cell)
			if !f.random {
				break
			}
		}
	}
	for _, cell := range optima {
		if _, ok := p.asked[cell.task()]; !ok {
			p.addCell(cell)
		}
	}
	for _, b := range beside {
		p.holdBeside(&p.cells[b.at], b.fit)
	}
	return nil
}

// besideOthers is a cell, by its index, that is compared with the optima of others.
type besideOthers struct {
	at  int
	fit *fit
}

// holdBeside compares a cell with the existing optima.
func (p *planner) holdBeside(c *Cell, f *fit) {
	for _, r := range f.against {
		if hash, ok := p.asked[r.cell(*c, c.Seed).task()]; ok {
			c.Against = append(c.Against, hash)
		}
	}
}

func (p *planner) addCell(c Cell) {
	c = p.named(c)
	p.asked[c.task()] = c.Hash
	p.counted++
	if !p.counting {
		p.cells = append(p.cells, c)
	}
}

// named sets the cell's hash. A cell that is only counted needs none.
func (p *planner) named(c Cell) Cell {
	if p.counting || c.Hash != "" {
		return c
	}
	return c.WithHash()
}

func (c Cell) task() task { return task{c.Parts.texts, c.Seed} }

func (p *planner) fit(setup, entrant int, bytes bool) *fit {
	key := fitKey{setup, entrant, bytes}
	found, ok := p.fitted[key]
	if !ok {
		found = p.findFit(p.Entrants[entrant].parts(&p.Setups[setup]), bytes)
		p.fitted[key] = found
	}
	return found
}

func (p *planner) findFit(parts sim.Parts, bytes bool) *fit {
	replay := sim.Cell{Parts: parts, Capacity: capacity.Capacity{Bytes: bytes}}
	var units error
	if own, ok := sim.OwnCapacity(parts.Cache); ok {
		replay.Capacity, replay.Capacity.Bytes = own, bytes
	} else {
		units = sim.CheckUnits(parts.Policy.Entry, bytes)
	}
	if err := cmp.Or(units, sim.CheckParts(replay)); err != nil {
		return &fit{err: err}
	}
	var err error
	if parts.Checksum, err = p.sums.Of(context.Background(), parts.Files()); err != nil {
		return &fit{err: err}
	}
	f := &fit{parts: NewParts(parts), random: replay.Random()}
	if p.NoOptimum {
		return f
	}
	for _, r := range sim.References(replay) {
		f.against = append(f.against, p.reference(r))
	}
	return f
}

// reference returns what parts are compared with: one pointer for equal parts, because references are keys of hashes.
func (p *planner) reference(c sim.Cell) reference {
	texts := textsOf(&c.Parts)
	r, ok := p.references[texts]
	if !ok {
		r = reference{&Parts{c.Parts, texts}, c.Policy.Entry.Name}
		p.references[texts] = r
	}
	return r
}

func (r reference) cell(base Cell, seed uint64) Cell {
	base.Parts, base.Label, base.Seed, base.Auxiliary = r.parts, r.label, seed, true
	base.Hash, base.Against, base.OnePass = "", nil, false
	return base
}

func joinAxes(a, b string) string { return strings.Trim(a+","+b, ",") }
