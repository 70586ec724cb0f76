package traces

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// InBlocks returns the prompts of t in blocks of a number of tokens, a multiple of its own; see prompts.Columns.Join.
// The result shares the columns of prompts with t.
func (t *Trace) InBlocks(tokens int) (*Trace, error) {
	if t.requested != nil {
		joined, err := t.requested.InBlocks(tokens)
		if err != nil {
			return nil, err
		}
		return joined.WithAnswers(t.answers)
	}
	p := prompts.Of(t.Kind)
	switch {
	case p == nil:
		return nil, fmt.Errorf("%s has no prompts, whose blocks could be joined", t.Name)
	case t.Ops != nil || len(t.Removals) > 0:
		return nil, fmt.Errorf("%s has requests that write, and no blocks to join", t.Name)
	}
	joined, err := p.Join(tokens, t.Objects, t.Groups, t.Starts)
	if err != nil {
		return nil, err
	}
	other := *t
	other.Kind, other.Objects, other.Groups, other.Starts = joined.Columns, joined.Objects, joined.Groups, joined.Starts
	other.NumObjects, other.StatedUses, other.Served = len(joined.Lasts), nil, nil
	other.ObjectSizes, other.RequestSizes = nil, nil
	first := make([]uint32, len(joined.Objects)) // per request: the first of its prompt, whose time and label it has
	for i := range joined.Groups {
		blocks, from := other.Group(i)
		for k := range blocks {
			first[from+k] = uint32(t.Groups[i])
		}
	}
	other.Times = stream.Pick(t.Times, first)
	if t.Labels != nil {
		other.Labels = &Labels{t.Labels.Column, t.Labels.Names, stream.Pick(t.Labels.Of, first)}
	}
	other.Keys = stream.Pick(t.Keys, joined.Lasts)
	if t.Tenants != nil && t.Tenants.Of != nil { // those of prompts stay as they are
		other.Tenants = &Tenants{Names: t.Tenants.Names, Of: stream.Pick(t.Tenants.Of, joined.Lasts)}
	}
	return &other, nil
}
