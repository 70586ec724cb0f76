// Package billing has the flags with which users say what memory and misses cost. It reads how often requests come
// from the clock of the trace.
package billing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// Flags are --cost, --rate and --today.
type Flags struct {
	cost, rate, today string

	bill cost.Bill // without what the trace says
}

// Register adds the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	var presets []string
	for _, p := range cost.Presets {
		presets = append(presets, fmt.Sprintf("%s (%s, %s)", p.Name, p.Prices, p.Date))
	}
	flags.StringVar(&f.cost, "cost", "", "what memory, misses and missed bytes cost, for the cost per month: "+
		"'memory=3.20 EUR/GiB-month,miss=0.40/M,egress=0.08/GB', with the cache tiers also those below the first one: "+
		"'host=3.20/GiB-month,ssd=0.10/GiB-month,ssd-write=0.09/TB', or presets and prices that override theirs: "+
		strings.Join(presets, ", "))
	flags.StringVar(&f.rate, "rate", "", "with --cost: how often requests come (1200/s, or per min, h, day), for "+
		"traces without a clock or instead of it")
	flags.StringVar(&f.today, "today", "", "with --cost: the capacity in use today (16GiB), replayed and compared with "+
		"the cheapest")
}

// Asked reports whether the user has given prices.
func (f *Flags) Asked() bool { return f.cost != "" }

// NeedsTimes reports whether the trace's clock must be loaded.
func (f *Flags) NeedsTimes() bool { return f.Asked() && f.rate == "" }

// Check reads the flags for some capacities, which it returns with today's. It changes the mode of none.
func (f *Flags) Check(specs []capacity.Spec, mode capacity.Mode) (_ []capacity.Spec, err error) {
	if !f.Asked() {
		for _, flag := range []struct{ name, value string }{{"rate", f.rate}, {"today", f.today}} {
			if flag.value != "" {
				return nil, fmt.Errorf("--%s %s needs --cost, which says what memory and misses cost", flag.name, flag.value)
			}
		}
		return specs, nil
	}
	if f.bill.Prices, err = cost.Parse(f.cost); err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}
	if f.rate != "" {
		if f.bill.PerSecond, err = cost.ParseRate(f.rate); err != nil {
			return nil, fmt.Errorf("--rate: %w", err)
		}
	}
	for _, s := range specs {
		if err := f.checkUnit(s, mode); err != nil {
			return nil, err
		}
	}
	if f.today == "" {
		return specs, nil
	}
	if f.bill.Today, err = capacity.ParseBytes(f.today); err != nil {
		return nil, fmt.Errorf("--today: %w", err)
	}
	today, err := capacity.Parse(f.today)
	return append(slices.Clip(specs), today), err
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
		of := []string{""} // a cache without tiers is one whose name is not known
		if len(tiers) > 0 {
			of = nil
		}
		for _, t := range tiers {
			of = append(of, t.Name)
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
	if err := f.checkUnit(own.Spec, mode); err != nil || f.today == "" || own.Is(capacity.OfBytes(f.bill.Today)) {
		return err
	}
	return fmt.Errorf("--today %s: the cache %s has a capacity of its own, %s by its parameters; remove --today, and "+
		"write a cache of today's capacity beside it", f.today, c, own)
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

// addTiers adds the sizes of the tiers to a record.
func addTiers(r *records.Record, t *traces.Trace) error {
	c, err := cache.Registry.Parse(r.Cache)
	if err != nil || r.CapacityUnit != records.Bytes {
		return err
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
	return fmt.Errorf("--cost %s: capacity %s counts objects, whose memory is unknown; add --bytes, or give sizes such "+
		"as 64MiB, or --kv for prompts", f.cost, s)
}

// Place moves today's capacity, which is the last, before the first larger one.
func (f *Flags) Place(resolved []capacity.Capacity) []capacity.Capacity {
	last := len(resolved) - 1
	if f.today == "" || last < 0 || resolved[last].Amount != f.bill.Today {
		return resolved
	}
	today := resolved[last]
	at := slices.IndexFunc(resolved, func(c capacity.Capacity) bool { return c.Amount >= today.Amount })
	return slices.Insert(resolved[:last:last], at, today)
}

// counted returns how many requests hit or miss where capacities count bytes: those without a size do not, nor writes
// that fill the cache.
func counted(t *traces.Trace) (n int) {
	if !t.Fills() || !t.HasSizes() {
		return len(t.Objects) - t.EmptyRequests()
	}
	for pos := range t.Objects {
		if t.Size(pos) > 0 && !t.IsWrite(pos) {
			n++
		}
	}
	return n
}

// Bill returns what is paid for the requests of a trace.
func (f *Flags) Bill(t *traces.Trace) (cost.Bill, error) {
	b := f.bill
	if !f.NeedsTimes() {
		return b, nil
	}
	switch {
	case t.Starts != nil:
		return b, errors.New("--cost with --per-file: each file has a clock of its own; say how often requests come with " +
			"--rate, such as --rate 1200/s")
	case t.Times == nil:
		return b, fmt.Errorf("--cost: %s has no times, so it is unknown how often requests come; say it with --rate, "+
			"such as --rate 1200/s", t.Name)
	}
	b.Span = time.Duration(slices.Max(t.Times) - slices.Min(t.Times))
	requests := float64(counted(t))
	if t.SampledFrom > 0 {
		requests *= float64(t.SampledFrom) / float64(len(t.Objects))
	}
	if b.Span <= 0 || requests < 2 {
		return b, fmt.Errorf("--cost: all requests of %s have the same time, so it is unknown how often they come; say it "+
			"with --rate, such as --rate 1200/s", t.Name)
	}
	b.PerSecond = (requests - 1) / b.Span.Seconds()
	return b, nil
}
