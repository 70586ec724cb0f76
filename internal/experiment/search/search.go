// Package search finds the smallest capacities at which policies reach a hit ratio, by replays. Nothing is
// interpolated: the capacity that it gives was replayed and reaches the hit ratio, and so was a slightly smaller one,
// which does not.
//
// For LRU one pass over the trace serves hundreds of capacities, so that its answer is exact. The search for another
// policy begins at LRU's answer, and follows LRU's curve from there.
package search

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// Options say what is searched for, and by which replays.
type Options struct {
	Target   target.Target
	Trace    *traces.Trace // in memory
	Blocks   *blocks.Set   // of all replays; no intervals without
	Seed     uint64        // of the draws of blocks
	Complete bool          // every search goes on to its end, however long the trace is
	// Replay replays cells of the trace, and returns the results of those that can be replayed.
	Replay func([]experiment.Cell) (experiment.Results, error)
	Known  Known // replays that need not be repeated; receives further ones
	// InOnePass reports whether one pass over the trace serves a cell of LRU and others like it, and LRUHits is that pass.
	InOnePass func(experiment.Cell) bool
	LRUHits   func(c experiment.Cell, units []int64) (*sim.LRUHits, error)
	// Sampled, if set, returns the hit ratios of policies other than LRU from samples; a negative one if none has room for
	// a unit of the capacity.
	Sampled func([]experiment.Cell) ([]float64, error)
	Rate    float64 // of these samples
}

// Known is the results of replays, by the hashes of their cells with capacities as searches have them.
type Known map[string]experiment.Result

// Add adds the results of cells.
func (k Known) Add(cells []experiment.Cell, results experiment.Results, rate float64) {
	for _, c := range cells {
		if r, ended := results[c.Hash]; ended && !sim.HasOwnCapacity(c.Parts.Cache) {
			k[plain(c, c.Capacity.Simulated, rate).Hash] = r
		}
	}
}

// plain returns a cell with a capacity, as one of a search.
func plain(c experiment.Cell, units int64, rate float64) experiment.Cell {
	c.Capacity = capacity.Simulating(units, c.Capacity, rate)
	c.Hash, c.Against, c.Auxiliary, c.Series = "", nil, false, series.Window{}
	return c.WithHash()
}

type Policy struct {
	Label  string
	Online bool            // it competes
	Cell   experiment.Cell // one of its cells, at any capacity
	// Points are replays that exist. They bound the capacity of a policy whose search is not complete.
	Points []target.Point
}

// Group is policies that are compared with each other.
type Group struct {
	Name     string
	First    *records.Record // of any of its cells
	Policies []Policy
}

// Groups returns the groups of the records of some cells, in their order. A bound is not a policy, and a cache without
// bounds has no capacity. A policy that knows the future through a part is listed with the offline policies. Caches
// with a capacity of their own, and prompts with lengths alone, have no groups.
func Groups(cells []experiment.Cell, recs []records.Record) (groups []Group) {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c experiment.Cell) bool { return c.Auxiliary })
	named := results.NamedByParts(recs)
	for i, name := range results.GroupNames(named) {
		r := &named[i]
		online := r.Competes()
		switch {
		case r.Kind == records.Bound || r.Kind == records.Online && !online && r.Foresees() == "":
			continue
		case sim.HasOwnCapacity(cells[i].Parts.Cache) || r.Contents == records.ContentsUnknown:
			continue
		case cells[i].Parts.Policy.Entry.Idle: // no cache
			continue
		}
		at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, Group{Name: name, First: r})
		}
		g := &groups[at]
		k := slices.IndexFunc(g.Policies, func(p Policy) bool { return p.Label == r.Label })
		if k < 0 {
			k = len(g.Policies)
			g.Policies = append(g.Policies, Policy{Label: r.Label, Online: online, Cell: cells[i]})
		}
		p := &g.Policies[k]
		p.Points = append(p.Points, target.Point{Capacity: r.Capacity, HitRatio: fitting(r)})
	}
	return groups
}

// Capacities returns how many different capacities were replayed.
func (g Group) Capacities() int {
	var all []target.Point
	for _, p := range g.Policies {
		all = append(all, p.Points...)
	}
	return len(records.Distinct(all, func(at target.Point) int64 { return at.Capacity }))
}

type search struct {
	Options
	group   Group
	reads   bool // only requests that do not write count
	replays int
	lru     *shape
	all     []*policy
}

type policy struct {
	Policy
	finder
	sampled bool
}

const (
	// manyRequests is the length of a trace above which, in a search that nobody has asked for, all policies but the best
	// are replayed once.
	manyRequests = 1 << 20
	// fewRequests is the length of a trace below which every search goes on to its end.
	fewRequests = 1 << 14
	// mostRuns limits the replays of one policy.
	mostRuns = 40
)

// Answer says what capacity each policy of a group needs.
func Answer(g Group, o Options) (target.Answer, error) {
	s := &search{Options: o, group: g}
	a := target.Answer{Name: g.Name, Target: o.Target, Unit: g.First.CapacityUnit, Noun: sim.ObjectNoun(g.First),
		Everything: s.at(s.anyCell(), s.top()).Amount}
	everything, err := s.everything()
	if err != nil {
		return a, err
	}
	if o.Target.Share {
		if a.Largest = everything.ratio; a.Largest <= 0 {
			a.Largest = 0
			return a, nil
		}
	}
	a.Level = o.Target.Level(a.Largest)
	lru, err := s.findLRU(a.Level)
	if err != nil {
		return a, err
	}
	for _, p := range g.Policies {
		if isLRU(p) {
			s.all = append(s.all, &policy{Policy: p, finder: *lru})
		} else {
			s.all = append(s.all, s.policy(p, a.Level, lru))
		}
	}
	if err := s.run(); err != nil {
		return a, err
	}
	for _, p := range s.all {
		a.Needs = append(a.Needs, s.need(p))
	}
	if err := s.widen(lru, everything); err != nil {
		return a, err
	}
	s.addIntervals(&a, everything)
	a.Sort()
	a.Replays = s.replays
	return a, nil
}

// Logged returns what LRU needs for the hit ratio of the server that wrote the log. Without LRU it is the first online
// policy; nil if there is none.
func Logged(g Group, o Options) (*target.Need, error) {
	i := slices.IndexFunc(g.Policies, isLRU)
	if i < 0 {
		i = slices.IndexFunc(g.Policies, func(p Policy) bool { return p.Online })
	}
	if i < 0 || !g.First.Has(metric.LoggedHitRatio) {
		return nil, nil
	}
	level := g.First.Float(metric.LoggedHitRatio)
	s := &search{Options: o, group: g, reads: true}
	s.Complete = true
	lru, err := s.findLRU(level)
	if err != nil {
		return nil, err
	}
	p := &policy{Policy: g.Policies[i], finder: *lru}
	if !isLRU(p.Policy) {
		p = s.policy(p.Policy, level, lru)
	}
	s.all = []*policy{p}
	if err := s.run(); err != nil {
		return nil, err
	}
	need := s.need(p)
	return &need, nil
}

// isLRU reports whether a policy is LRU without further parts.
func isLRU(p Policy) bool {
	return p.Label == policies.Recency() && p.Cell.Parts.Policy.Entry.OnePass && p.Cell.Parts.Prefetcher == nil
}

// ofServer is what a server needs for itself, in bytes, however little it holds: memcached has a page for each of up to
// 63 classes.
const ofServer = 64 << 20

func (s *search) policy(p Policy, level float64, lru *finder) *policy {
	q := &policy{Policy: p, finder: s.finder(level), sampled: s.Sampled != nil}
	q.lru = s.lru
	if p.Cell.Parts.Policy.Entry.Family == policies.Servers {
		q.top += ofServer
	}
	q.first = cmp.Or(lru.high.units, lru.low.units, max(1, q.top/8))
	if q.sampled {
		q.step = max(1, int64(1/s.Rate))
	}
	return q
}

func (s *search) finder(level float64) finder {
	return finder{level: level, top: s.top(), step: 1, mostRuns: mostRuns}
}

// top returns how many units hold everything that the trace requests.
func (s *search) top() int64 {
	if !s.anyCell().Capacity.Bytes {
		return int64(s.Trace.NumObjects)
	}
	return largestFootprint(s.Trace)
}

// largestFootprint returns the bytes of all objects, each with its largest size.
func largestFootprint(t *traces.Trace) (bytes int64) {
	if t.RequestSizes == nil {
		return t.Footprint()
	}
	sizes := slices.Clone(t.ObjectSizes)
	for pos, o := range t.Objects {
		sizes[o] = max(sizes[o], t.RequestSizes[pos])
	}
	for _, size := range sizes {
		bytes += size
	}
	return bytes
}

func (s *search) anyCell() experiment.Cell { return s.group.Policies[0].Cell }

// with returns a cell of some policies with another one, without the parts that only some policies use.
func (s *search) with(name string, of []Policy) experiment.Cell {
	c := of[0].Cell
	parts := c.Parts.Parts
	inside := parts.Replayed().Cache // where all policies are short for one cache, it is that cache
	if !slices.ContainsFunc(of, func(p Policy) bool {
		return p.Cell.Parts.Replayed().Cache.String() != inside.String()
	}) {
		parts.Cache = inside
	}
	parts.Policy, _ = policies.Registry.Parse(name)
	parts.Predictor, parts.Reuse, parts.Retriever, parts.Prefetcher = nil, nil, nil, nil
	c.Parts, c.Label, c.Axes = experiment.NewParts(parts), name, ""
	c.Series = series.Window{} // a pass has none
	return c
}

// fits reports whether the parts of a cell fit together.
func fits(c experiment.Cell) bool {
	return sim.CheckParts(sim.Cell{Parts: c.Parts.Parts, Capacity: c.Capacity}) == nil
}

// everything returns the replay of a cache that holds everything: all but the first requests hit. A policy without
// bounds does not work in all caches; elsewhere it is LRU with room for everything. LRU, which curve adds to any list,
// does not change the cache that other policies are short for.
func (s *search) everything() (point, error) {
	of := slices.DeleteFunc(slices.Clone(s.group.Policies), isLRU)
	if len(of) == 0 {
		of = s.group.Policies
	}
	if c := s.with(policies.Unlimited(), of); fits(c) {
		points, err := s.replay([]experiment.Cell{c}, []int64{s.top()})
		return points[0], err
	}
	c := s.with(policies.Recency(), of)
	if !fits(c) {
		c = s.anyCell()
	}
	for units := s.top(); ; units *= 2 {
		points, err := s.replay([]experiment.Cell{c}, []int64{units})
		if err != nil {
			return point{}, err
		}
		if p := points[0]; p.record == nil || !refuses(p.record) || units >= s.top()<<growths {
			return p, nil
		}
	}
}

// findLRU searches LRU's capacity, from which the searches for the other policies begin whether LRU is among them or
// not.
func (s *search) findLRU(level float64) (*finder, error) {
	c := s.with(policies.Recency(), s.group.Policies)
	p := &policy{Policy: Policy{Cell: c}, finder: s.finder(level)}
	if !fits(c) {
		return &p.finder, nil
	}
	p.first = max(1, p.top/8)
	if err := s.pass(p); err != nil {
		return nil, err
	}
	s.all = []*policy{p}
	err := s.run()
	s.all = nil
	s.lru = newShape(p.points)
	return &p.finder, err
}

// pass narrows the search for LRU by passes over the trace, as far as these serve it.
func (s *search) pass(p *policy) error {
	c := p.Cell
	c.OnePass = true
	from := s.passFrom(c, p.top)
	if from == 0 {
		return nil
	}
	c.Capacity = s.at(c, p.top)
	for units := grid(from, max(from, p.top)); len(units) > 0; units = p.within(from) {
		hits, err := s.LRUHits(c, units)
		if err != nil {
			return err
		}
		s.replays++
		p.passed = true
		for k, n := range units {
			q := point{units: n, ratio: hits.Ratio(k)}
			if s.reads {
				q.ratio = hits.OfReads(k)
			}
			p.keep(q)
			p.narrow(q)
		}
	}
	if p.high.units == 0 {
		p.never = true
		return nil
	}
	return s.record(p)
}

// record replays LRU where the passes have found it, for a record.
func (s *search) record(p *policy) error {
	points, err := s.replay([]experiment.Cell{p.Cell}, []int64{p.high.units})
	if err == nil && points[0].record != nil {
		p.high.record = points[0].record
	}
	return err
}

// passFrom returns from which capacity on one pass over the trace serves many; 0 if none does.
func (s *search) passFrom(c experiment.Cell, top int64) int64 {
	inPass := func(units int64) bool {
		c.Capacity = s.at(c, units)
		return s.InOnePass(c)
	}
	switch {
	case cache.IsExact(c.Parts.Cache) && c.Capacity.Bytes && len(s.Trace.ObjectSizes) > 0:
		if largest := max(1, slices.Max(s.Trace.ObjectSizes)); inPass(largest) {
			return largest
		}
		return 0
	case inPass(1):
		return 1
	case !inPass(top):
		return 0
	}
	low, high := int64(1), top // prompts that run at the same time have to fit
	for high-low > 1 {
		if middle := low + (high-low)/2; inPass(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// at returns the capacity of that many units.
func (s *search) at(c experiment.Cell, units int64) capacity.Capacity {
	return capacity.Simulating(units, c.Capacity, s.Trace.SampleRate)
}

func (s *search) run() error {
	for {
		if err := s.round(); err != nil {
			return err
		}
		if s.limit(); !slices.ContainsFunc(s.all, func(p *policy) bool { return !p.ended() }) {
			return nil
		}
	}
}

func (s *search) round() error {
	var asked, onSamples []*policy
	var cells, sampled []experiment.Cell
	var units, unitsSampled []int64
	for _, p := range s.all {
		n, ok := p.next()
		switch {
		case !ok:
		case p.sampled:
			c := p.Cell
			c.Capacity = s.at(c, n)
			onSamples, sampled, unitsSampled = append(onSamples, p), append(sampled, c), append(unitsSampled, n)
		default:
			asked, cells, units = append(asked, p), append(cells, p.Cell), append(units, n)
		}
	}
	points, err := s.replay(cells, units)
	if err != nil {
		return err
	}
	for i, p := range asked {
		p.add(points[i])
	}
	if len(sampled) == 0 {
		return nil
	}
	ratios, err := s.Sampled(sampled)
	if err != nil {
		return err
	}
	s.replays += len(sampled)
	for i, p := range onSamples {
		p.add(point{units: unitsSampled[i], ratio: ratios[i]})
	}
	return nil
}

func (s *search) replay(cells []experiment.Cell, units []int64) (points []point, err error) {
	var fresh []experiment.Cell
	for i := range cells {
		cells[i] = plain(cells[i], units[i], s.Trace.SampleRate)
		c := cells[i]
		if _, known := s.Known[c.Hash]; known {
			continue
		}
		fresh = append(fresh, c)
	}
	s.replays += len(fresh)
	if len(fresh) > 0 {
		results, err := s.Replay(fresh)
		if err != nil {
			return nil, err
		}
		maps.Copy(s.Known, results)
	}
	for i, c := range cells {
		p := point{units: units[i], ratio: -1}
		if r, ok := s.Known[c.Hash]; ok {
			p.record, p.ratio = &r.Record, s.hitRatio(&r.Record)
		}
		points = append(points, p)
	}
	return points, nil
}

// hitRatio returns the hit ratio that counts: a server that takes more than its capacity reaches none with that.
func (s *search) hitRatio(r *records.Record) float64 {
	if s.reads && !r.Overruns() {
		return target.OfReads(r)
	}
	return fitting(r)
}

// fitting returns the hit ratio of a record: 0 if the cache takes more than its capacity.
func fitting(r *records.Record) float64 {
	if r.Overruns() {
		return 0
	}
	return r.Float(metric.HitRatio)
}

// refuses reports whether a cache had no room for objects: it evicted some, or bypassed them as too large. What leaves
// the file of a server is none of its evictions: it keeps the headers.
func refuses(r *records.Record) bool {
	lost, _ := r.GetInt(tiers.Evicted.Of("flash"))
	return r.Int(metric.Evictions) > 0 || r.Int(metric.Oversized) > 0 || lost > 0
}

// limit ends searches that the user has not asked for once each policy has been replayed at LRU's capacity: those for
// policies that need more than LRU, and for policies that cannot run in production. On a long trace only the search for
// the policy with the most hits goes on.
func (s *search) limit() {
	if s.Complete || s.lru == nil || len(s.Trace.Objects) < fewRequests {
		return
	}
	var best *policy
	for _, p := range s.all {
		switch {
		case isLRU(p.Policy):
		case p.runs != 1:
			return
		case p.Online && (best == nil || p.points[0].ratio > best.points[0].ratio):
			best = p
		}
	}
	for _, p := range s.all {
		switch {
		case isLRU(p.Policy):
		case !p.Online || p.points[0].ratio < p.level || p != best && len(s.Trace.Objects) > manyRequests:
			p.mostRuns = 1
		}
	}
}

// need says what the search for a policy has found.
func (s *search) need(p *policy) target.Need {
	n := target.Need{Policy: p.Label, Online: p.Online, Exact: (p.isExact() || p.passed) && !p.sampled}
	n.Below, n.Above = s.point(p, p.low), s.point(p, p.high)
	switch {
	case p.found():
		n.Capacity = n.Above.Capacity
		if r := p.high.record; r != nil {
			named := *r
			named.Cell, named.Label = "", p.Label
			n.Record = &named
		}
	case p.never:
		n.How = target.Never
	default:
		n.How, n.Exact = target.Between, false
		narrow(&n, p.Points, p.level, s.at(p.Cell, p.top).Amount)
		if above := n.Above.Capacity; above > 0 && (above-n.Below.Capacity == 1 ||
			float64(n.Below.Capacity) >= Near*float64(above)) { // replays of the table have found it
			n.How, n.Capacity, n.Exact = target.Found, above, above-n.Below.Capacity == 1 && !p.sampled
		}
	}
	return n
}

// point returns a replay with its capacity as users give it.
func (s *search) point(p *policy, at point) target.Point {
	if at.units == 0 {
		return target.Point{}
	}
	return target.Point{Capacity: s.at(p.Cell, at.units).Amount, HitRatio: max(0, at.ratio)}
}

// narrow moves the ends of an incomplete search to replays that exist. One with more room than everything needs says
// only what somebody has named.
func narrow(n *target.Need, points []target.Point, level float64, everything int64) {
	for _, p := range points {
		below, above := n.Below.Capacity, n.Above.Capacity
		switch {
		case p.Capacity > everything || p.Capacity <= below || above > 0 && p.Capacity >= above:
		case p.HitRatio >= level:
			n.Above = p
		default:
			n.Below = p
		}
	}
}
