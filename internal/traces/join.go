package traces

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// InBlocks returns the prompts of t in blocks of a number of tokens, a multiple of its own; see prompts.Columns.Join.
// The result shares the columns of prompts with t.
func (t *Trace) InBlocks(tokens int) (*Trace, error) {
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
	if t.Times != nil {
		other.Times = make([]int64, len(joined.Objects))
		for i := range joined.Groups {
			blocks, from := other.Group(i)
			for k := range blocks {
				other.Times[from+k] = t.Times[t.Groups[i]] // all blocks of a prompt have its time
			}
		}
	}
	if t.Labels != nil {
		other.Labels = &Labels{Column: t.Labels.Column, Names: t.Labels.Names, Of: make([]uint8, len(joined.Objects))}
		for i := range joined.Groups {
			blocks, from := other.Group(i)
			for k := range blocks {
				other.Labels.Of[from+k] = t.Labels.Of[t.Groups[i]]
			}
		}
	}
	if t.Keys != nil {
		other.Keys = make([]stream.Key, len(joined.Lasts))
		for o, last := range joined.Lasts {
			other.Keys[o] = t.Keys[last]
		}
	}
	if t.Tenants != nil && t.Tenants.Of != nil { // those of prompts stay as they are
		other.Tenants = &Tenants{Names: t.Tenants.Names}
		for _, last := range joined.Lasts {
			other.Tenants.Of = append(other.Tenants.Of, t.Tenants.Of[last])
		}
	}
	return &other, nil
}
