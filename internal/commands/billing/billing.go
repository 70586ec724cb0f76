// Package billing has the flags with which users say what memory and misses cost. It reads how often requests come
// from the clock of the trace.
package billing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// Flags are --cost, --rate and --today.
type Flags struct {
	cost, rate, today string
	Policy            string // of today's capacity; "" if --today does not say
	Timed             bool   // --rate is the clock of a server, whether prices need it or not

	bill cost.Bill // without what the trace says
	now  capacity.Spec
}

// noCache is what --today takes for no cache.
const noCache = "0"

// Register adds the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.RegisterPrices(flags)
	flags.StringVar(&f.today, "today", "", "the capacity in use today (16GiB), the server ('redis(maxmemory=4gb)'), or 0 "+
		"for no cache, replayed and compared with the cheapest one or, without --cost, with that of --target")
}

// RegisterPrices adds --cost and --rate.
func (f *Flags) RegisterPrices(flags *pflag.FlagSet) {
	var presets []string
	for _, p := range cost.Presets {
		presets = append(presets, fmt.Sprintf("%s (%s, %s)", p.Name, p.Prices, p.Date))
	}
	flags.StringVar(&f.cost, "cost", "", "what memory, misses and missed bytes cost, for the cost per month: "+
		"'memory=3.20 EUR/GiB-month,miss=0.40/M,egress=0.08/GB', with the cache tiers also those below the first one: "+
		"'host=3.20/GiB-month,ssd=0.10/GiB-month,ssd-write=0.09/TB', or presets and prices that override theirs: "+
		strings.Join(presets, ", "))
	flags.StringVar(&f.rate, "rate", "", "how often requests come (1200/s, or per min, h, day), for traces without a "+
		"clock or instead of it: with --cost, or with --server, which goes by it")
}

// Asked reports whether the user has given prices.
func (f *Flags) Asked() bool { return f.cost != "" }

// AsksTarget reports whether prices are of memory alone: then the question is what reaches a target at the least cost.
func (f *Flags) AsksTarget() bool { return f.Asked() && !f.bill.NeedRate() }

// NeedsTimes reports whether the trace's clock must be loaded for flags that Check has read.
func (f *Flags) NeedsTimes() bool { return f.bill.NeedRate() && f.rate == "" }

// Check reads the flags for some capacities, which it returns with today's. It changes the mode of none.
func (f *Flags) Check(specs []capacity.Spec, mode capacity.Mode) (_ []capacity.Spec, err error) {
	if !f.Asked() {
		if f.rate != "" && !f.Timed {
			return nil, fmt.Errorf("--rate %s needs --cost, which says what memory and misses cost, or a --server that goes "+
				"by a clock", f.rate)
		}
		return f.withToday(specs, mode)
	}
	if f.bill.Prices, err = cost.Parse(f.cost); err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}
	if f.rate != "" {
		if f.bill.PerSecond, err = cost.ParseRate(f.rate); err != nil {
			return nil, fmt.Errorf("--rate: %w", err)
		}
		if !f.bill.NeedRate() && !f.Timed {
			return nil, fmt.Errorf("--rate %s: --cost %s prices memory alone, which no rate changes; add miss=0.40/M or "+
				"egress=0.08/GB, or leave --rate out", f.rate, f.cost)
		}
	}
	for _, s := range specs {
		if err := f.checkUnit(s, mode); err != nil {
			return nil, err
		}
	}
	if _, err := capacity.ParseBytes(f.today); err != nil && f.hasToday() {
		return nil, fmt.Errorf("--today: %w, or 0 for no cache", err)
	}
	return f.withToday(specs, mode)
}

func (f *Flags) hasToday() bool { return f.today != "" && f.today != noCache }

// HasNoCache reports whether what happens without a cache is asked for: by prices of what it would save, or today.
func (f *Flags) HasNoCache() bool { return f.bill.NeedRate() || f.today != "" }

func (f *Flags) withToday(specs []capacity.Spec, mode capacity.Mode) (_ []capacity.Spec, err error) {
	if f.today == noCache {
		f.bill.Today = new(int64)
	}
	if !f.hasToday() {
		return specs, nil
	}
	if f.now, err = capacity.Parse(f.today); err != nil {
		return nil, fmt.Errorf("--today: %w", err)
	}
	for _, s := range specs {
		if s.InBytes(mode) != f.now.InBytes(mode) {
			return nil, fmt.Errorf("--today %s and capacity %s: one counts bytes and the other objects; give both in the same "+
				"unit, or add --bytes", f.today, s)
		}
	}
	return append(slices.Clip(specs), f.now), nil
}

// CachesOf returns the caches in which policies are replayed: some bring their own.
func CachesOf(p sim.Parts, specs []policies.Spec) []cache.Spec {
	caches := []cache.Spec{p.Cache}
	for _, p.Policy = range specs {
		if own := p.Replayed().Cache; own.Entry.Tiers != nil && p.Policy.Entry.ShortFor != nil {
			caches = append(caches, own)
		}
	}
	return caches
}

// CheckCaches rejects prices of tiers that none of the caches has, and caches whose own capacity counts objects.
func (f *Flags) CheckCaches(caches []cache.Spec, mode capacity.Mode) error {
	if !f.Asked() {
		return nil
	}
	var names [][]string
	for _, c := range caches {
		if own, ok := sim.OwnCapacity(c); ok {
			if err := f.checkOwn(c, own, mode); err != nil {
				return err
			}
		}
		tiers, err := tiersOf(c)
		if err != nil {
			return err
		}
		var of []string
		for _, t := range tiers {
			of = append(of, t.Name)
		}
		if of == nil {
			of = []string{""} // of a cache without tiers, whose name is not known
		}
		names = append(names, of)
	}
	if err := f.bill.Prices.Check(names); err != nil {
		return fmt.Errorf("--cost: %w", err)
	}
	return nil
}

// checkOwn rejects a capacity of a cache's own that counts objects, or is not today's.
func (f *Flags) checkOwn(c cache.Spec, own capacity.Capacity, mode capacity.Mode) error {
	if err := f.checkUnit(own.Spec, mode); err != nil || !f.hasToday() || own.Is(f.now.Amount()) {
		return err
	}
	return fmt.Errorf("--today %s: the parameters of the cache %s set its capacity, %s; remove --today, and add a cache "+
		"of today's capacity", f.today, c, own)
}

func tiersOf(c cache.Spec) ([]cache.Tier, error) {
	if c.Entry.Tiers == nil {
		return nil, nil
	}
	return c.Entry.Tiers(c.Params)
}

// Charge adds the prices, and what they come to, to records of a trace.
func (f *Flags) Charge(b cost.Bill, recs []records.Record, t *traces.Trace) error {
	if !f.Asked() {
		return nil
	}
	for i := range recs {
		if err := addTiers(&recs[i], t); err != nil {
			return err
		}
	}
	b.Charge(recs)
	return nil
}

// Rents prices what answers need for a trace, with the tiers of their caches.
func (f *Flags) Rents(b cost.Bill, answers []target.Answer, recs []records.Record, t *traces.Trace) ([]cost.Rent,
	error) {
	if !f.AsksTarget() {
		return nil, nil
	}
	for _, a := range answers {
		for _, n := range a.Needs {
			if n.Record != nil {
				if err := addTiers(n.Record, t); err != nil {
					return nil, err
				}
			}
		}
	}
	return b.Rents(answers, recs), nil
}

func addTiers(r *records.Record, t *traces.Trace) error {
	c, err := cache.Registry.Parse(r.Cache)
	if err != nil || r.CapacityUnit != records.Bytes {
		return err
	}
	// Only policies that are short for a cache change it, by their parameters.
	if entry, ok := policies.Registry.Find(r.Policy); ok && entry.ShortFor != nil {
		policy, err := policies.Registry.Parse(r.Policy + "(" + r.Params + ")")
		if err != nil {
			return err
		}
		c = sim.Parts{Cache: c, Policy: policy}.Replayed().Cache
	}
	tiers, err := tiersOf(c)
	if err != nil {
		return err
	}
	for _, tier := range tiers {
		bytes, err := tier.Bytes(t, r.Capacity)
		if err != nil {
			return err
		}
		cost.SetTier(r, tier.Name, bytes, tier.Shared)
	}
	return nil
}

// checkUnit rejects prices where a capacity counts objects.
func (f *Flags) checkUnit(s capacity.Spec, mode capacity.Mode) error {
	if s.InBytes(mode) {
		return nil
	}
	return fmt.Errorf("--cost %s: capacity %s counts objects, not bytes; add --bytes, write sizes such as 64MiB, or add "+
		"--kv for prompts", f.cost, s)
}

// Place moves today's capacity, which is the last unless another one is the same, before the first larger one.
func (f *Flags) Place(resolved []capacity.Capacity, mode capacity.Mode, t *traces.Trace) ([]capacity.Capacity, error) {
	if !f.hasToday() {
		return resolved, nil
	}
	today, err := f.now.On(t, mode)
	if err != nil {
		return nil, err
	}
	f.bill.Today = &today.Amount
	at := slices.IndexFunc(resolved, today.Same)
	if at < len(resolved)-1 {
		return resolved, nil
	}
	larger := slices.IndexFunc(resolved, func(c capacity.Capacity) bool { return c.Amount >= today.Amount })
	return slices.Insert(resolved[:at:at], larger, resolved[at]), nil
}

// Bill returns what is paid for the requests of a trace, with its rate and the share of them that have a size.
func (f *Flags) Bill(t *traces.Trace) (cost.Bill, error) {
	b := f.bill
	b.TodayPolicy = f.Policy
	if !f.Asked() {
		return b, nil
	}
	r := rateOf(t)
	if r.sized < r.requests {
		b.Sized = r.sized / r.requests
	}
	if t.BytesFrom > 0 && r.sized > 0 {
		b.Bytes = math.Round(float64(t.BytesFrom) / float64(t.SampledFrom) * r.requests / r.sized)
	}
	if !f.NeedsTimes() {
		return b, nil
	}
	switch {
	case t.Starts != nil:
		return b, errors.New("--cost with --per-file: each file has a clock of its own; add the rate of requests, as in " +
			"--rate 1200/s")
	case t.Times == nil:
		return b, fmt.Errorf("--cost: %s has no times, so its rate of requests is unknown; add it, as in --rate 1200/s",
			t.Name)
	}
	b.Span, b.PerSecond = r.span, r.perSecond()
	if b.PerSecond == 0 {
		return b, fmt.Errorf("--cost: all requests of %s have the same time, so their rate is unknown; add it, as in "+
			"--rate 1200/s", t.Name)
	}
	return b, nil
}

// rate is what the rate of a trace follows from. Writes that fill the cache are no requests.
type rate struct {
	requests float64 // all of them
	sized    float64 // those with a size, if there are sizes
	atEnds   float64 // those at the first and the last instant of the clock
	span     time.Duration
	scale    float64 // of a sample to the whole trace
}

func rateOf(t *traces.Trace) (r rate) {
	var first, last int64
	if t.Times != nil {
		first, last = slices.Min(t.Times), slices.Max(t.Times)
		r.span = time.Duration(last - first)
	}
	fills := t.Fills()
	for pos := range t.Objects {
		if fills && t.IsWrite(pos) {
			continue
		}
		r.requests++
		if !t.HasSizes() || t.Size(pos) > 0 {
			r.sized++
		}
		if t.Times != nil && (t.Times[pos] == first || t.Times[pos] == last) {
			r.atEnds++
		}
	}
	r.scale = 1
	if t.SampledFrom > 0 && r.requests > 0 {
		r.scale = float64(t.SampledFrom) / r.requests
	}
	return r
}

// perSecond returns how often requests come; 0 if that is unknown. A trace begins and ends with a request: n requests
// that are d apart take (n - 1) d, so that the two at the ends count half each. So do all that share the first or the
// last instant: the blocks of a prompt, or the requests of a second where the clock has only seconds.
func (r rate) perSecond() float64 {
	if r.span <= 0 {
		return 0
	}
	return (r.requests - r.atEnds/2) / r.span.Seconds() * r.scale
}

// AddNoCache adds the row without a cache to a design: one at the smallest capacity, as all would be alike, in each
// setup that it fits. A design that has such a policy already stays as it is.
func AddNoCache(d *experiment.Design, resolved []capacity.Capacity) {
	if slices.ContainsFunc(d.Entrants, func(e experiment.Entrant) bool { return e.Spec.Entry.Idle }) {
		return
	}
	spec, _ := policies.Registry.Parse(records.NoCache())
	none := experiment.Entrants([]policies.Spec{spec}, nil)[0]
	none.Beside, none.Setups = true, map[int]string{}
	for i, s := range d.Setups {
		parts := s.Parts
		parts.Policy = none.Spec
		if own, ok := sim.OwnCapacity(parts.Cache); ok {
			none.Capacities = append(none.Capacities, own.Spec)
		}
		if sim.CheckParts(sim.Cell{Parts: parts}) == nil {
			none.Setups[i] = s.Axes
		}
	}
	if len(resolved) > 0 {
		smallest := slices.MinFunc(resolved, func(x, y capacity.Capacity) int {
			return cmp.Or(cmp.Compare(x.Unit(), y.Unit()), cmp.Compare(x.Amount, y.Amount))
		})
		none.Capacities = append(none.Capacities, smallest.Spec)
	}
	d.Entrants = append([]experiment.Entrant{none}, d.Entrants...)
}
