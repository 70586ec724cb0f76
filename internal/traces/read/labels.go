package read

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mostCounted is how many labels are counted while a trace loads.
const mostCounted = 1<<16 - 1

// labelling collects the labels of requests while a trace loads.
type labelling struct {
	column  string
	numbers *stream.Numbering // of their names, from 1; 0 is for those beyond mostCounted
	of      []uint16          // per request
	last    uint16
	beyond  bool // some are beyond mostCounted
}

// beginLabels prepares for the labels that the options ask for.
func (l *loader) beginLabels() error {
	switch {
	case l.opts.By == "":
		return nil
	case l.opts.Tenants != "":
		return fmt.Errorf("%s: hits by %s are counted in one cache, whose objects no tenants own: give --by or --tenant, "+
			"not both", l.paths[0], l.opts.By)
	}
	l.labels = &labelling{column: l.opts.By, numbers: stream.NewNumbering()}
	return nil
}

// check refuses a trace whose requests have no such column.
func (b *labelling) check(path string, fields stream.Fields) error {
	if b == nil || fields.Tenant {
		return nil
	}
	return fmt.Errorf("%s: the format has no columns to count hits by; tables, access logs, JSON lines, prompts in JSON "+
		"and logs of stores have them", path)
}

// add adds the label of the next request.
func (b *labelling) add(rec *stream.Record, grouped bool) {
	if !grouped || rec.Begins {
		b.last = b.number(rec.Tenant)
	}
	b.of = append(b.of, b.last)
}

func (b *labelling) number(name []byte) uint16 {
	if len(name) == 0 {
		name = []byte(unnamedTenant)
	}
	if b.numbers.Len() == mostCounted {
		if number, ok := b.numbers.FindText(name); ok {
			return uint16(number) + 1
		}
		b.beyond = true
		return 0
	}
	return uint16(b.numbers.OfText(name)) + 1
}

// finishLabels keeps the labels with the most requests; ties go to the label that comes first.
func (l *loader) finishLabels(t *traces.Trace) {
	b := l.labels
	if b == nil {
		return
	}
	counts := make([]int64, b.numbers.Len()+1)
	for pos, label := range b.of {
		if t.Written.Mode.Counts(t.Op(pos)) {
			counts[label]++
		}
	}
	order := make([]int, 0, len(counts))
	for label := 1; label < len(counts); label++ {
		order = append(order, label)
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(counts[y], counts[x]) })
	kept := order[:min(len(order), traces.MostLabels)]
	t.Labels = &traces.Labels{Column: b.column, Of: make([]uint8, len(b.of))}
	number := make([]uint8, len(counts))
	for i := range number {
		number[i] = uint8(len(kept))
	}
	for i, label := range kept {
		number[label] = uint8(i)
		t.Labels.Names = append(t.Labels.Names, terminal.Label(b.numbers.Key(uint32(label-1)).String()))
	}
	if len(kept) < len(order) || b.beyond {
		t.Labels.Names = append(t.Labels.Names, traces.OtherLabels)
	}
	for pos, label := range b.of {
		t.Labels.Of[pos] = number[label]
	}
	l.labels = nil
	switch {
	case b.beyond:
		t.Warnings = append(t.Warnings, fmt.Sprintf("more than %s values of %s: those that come first are counted, and the "+
			"%d with the most requests told apart", stream.Thousands(mostCounted), b.column, traces.MostLabels))
	case len(kept) < len(order):
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s has %s values: the %d with the most requests are told apart",
			b.column, stream.Thousands(len(order)), traces.MostLabels))
	}
}
