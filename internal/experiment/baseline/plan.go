package baseline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type planned struct {
	was     records.Record
	cell    experiment.Cell
	against []experiment.Cell // the optima that the record was compared with
	problem error             // why nothing can be replayed
	change  *workload.ChangedError
}

// plan returns the cells to replay for the records. It is an error if no program could replay a record; if only this
// program no longer has its policy, that is a problem of the record.
func plan(recs []records.Record, version string) ([]planned, error) {
	all := make([]planned, len(recs))
	for i, rec := range recs {
		w, err := workload.FromRecord(&rec)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		all[i] = newPlanned(rec, w, version)
	}
	usePasses(all)
	for i := range all {
		all[i].name()
	}
	return all, checkRepetitions(all)
}

func newPlanned(rec records.Record, w workload.Workload, version string) planned {
	p := planned{was: rec, cell: experiment.Cell{
		Workload: w,
		Label:    rec.Label,
		Sizes:    capacity.UnitSize,
		Seed:     rec.Seed,
		Warmup:   int(rec.Warmup),
		Axes:     rec.Axes,
		Version:  version,
	}}
	if rec.Series != "" {
		var err error
		if p.cell.Series, err = series.ParseWindow(rec.Series); err != nil {
			p.problem = err
		}
	}
	bytes := rec.CapacityUnit == records.Bytes
	switch {
	case rec.BlockBytes > 0:
		bytes, p.cell.Sizes = false, capacity.BlockBytes
	case bytes:
		p.cell.Sizes = capacity.Bytes
	}
	parts, err := sim.PartsOf(&rec)
	if err == nil {
		p.cell.Capacity.Spec, err = capacity.Parse(capacityText(&rec))
	}
	if err != nil {
		p.problem = err
		return p
	}
	p.cell.Parts = experiment.NewParts(parts)
	if !slices.ContainsFunc(comparisons, func(m metric.Metric) bool { return rec.Has(m) }) {
		return p // it was compared with nothing
	}
	for _, r := range sim.References(sim.Cell{Parts: parts, Capacity: capacity.Capacity{Bytes: bytes}}) {
		c := p.cell
		c.Parts, c.Label, c.Auxiliary = experiment.NewParts(r.Parts), r.Policy.String(), true
		p.against = append(p.against, c)
	}
	return p
}

// comparisons are the metrics of a record that was compared with others.
var comparisons = []metric.Metric{metric.OptMisses, metric.CompetitiveRatioMax, metric.NormalizedHitRatio}

// capacityText returns the capacity as written, so that the meaning of a share is checked as well. For a sample it
// returns the number: the share may have referred to the whole trace, which is not replayed. So it does for a number of
// blocks, where the record has their bytes.
func capacityText(rec *records.Record) string {
	_, err := strconv.ParseInt(rec.CapacityText, 10, 64)
	if ofBlocks := rec.BlockBytes > 0 && err == nil; rec.CapacityText != "" && rec.SampleRate == 1 && !ofBlocks {
		return rec.CapacityText
	}
	return strconv.FormatInt(rec.Capacity, 10)
}

func (p *planned) name() {
	if p.problem != nil {
		return
	}
	p.cell = p.cell.WithHash()
	for i := range p.against {
		p.against[i] = p.against[i].WithHash()
	}
}

// manyCapacities is the number of capacities of LRU, as in a curve, from which one pass over reuse distances replaces
// the replays.
const manyCapacities = 16

func usePasses(all []planned) {
	var sharing []int
	for i, p := range all {
		if p.problem == nil && p.cell.Parts.Policy.Entry.OnePass {
			sharing = append(sharing, i)
		}
	}
	for _, same := range records.GroupBy(sharing, func(i int) string {
		c := all[i].cell
		c.Capacity = capacity.Capacity{} // the hash is then the same at all capacities
		return c.WithHash().Hash
	}) {
		for _, i := range same {
			all[i].cell.OnePass = len(same) >= manyCapacities
		}
	}
}

// checkRepetitions rejects records of one cell that contradict each other.
func checkRepetitions(all []planned) error {
	first := map[string]int{}
	for i, p := range all {
		if p.problem != nil {
			continue // a record that cannot be replayed has no cell
		}
		at, repeated := first[p.cell.Hash]
		if !repeated {
			first[p.cell.Hash] = i
			continue
		}
		if differences := compare(&all[at].was, &p.was, tolerances{}); len(differences) > 0 {
			d := differences[0]
			return fmt.Errorf("records %d and %d are of the same cell, %s, and contradict each other: %s is %s and %s",
				at+1, i+1, p.cell, d.Figure, exact(d.Was), exact(d.Is))
		}
	}
	return nil
}

func exact(x *float64) string {
	if x == nil {
		return "none"
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
