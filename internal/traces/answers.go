package traces

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// WithAnswers returns the prompts of t with the blocks that their answers fill, in one of prompts.AnswerModes; see
// prompts.Columns.Answer. Those blocks are loads without a request. The result is t itself if nothing is known of
// answers, or if they are off; Requested leads back to it.
func (t *Trace) WithAnswers(mode string) (*Trace, error) {
	p := prompts.Of(t.Kind)
	switch {
	case p == nil || p.LengthsOnly || mode == prompts.AnswersOff || t.Ops != nil || len(t.Removals) > 0:
		return t, nil
	case !p.HasAnswers():
		other := *t
		other.Kind = p.WithoutAnswers(mode)
		return &other, nil
	}
	a, err := p.Answer(mode, t.Objects, t.Groups, t.Starts)
	if err != nil {
		return nil, err
	}
	other := *t
	other.requested, other.answers = t, mode
	other.Kind, other.Objects, other.Groups, other.Starts = a.Columns, a.Objects, a.Groups, a.Starts
	other.passed = a.Passed
	other.Loads, other.NumObjects, other.StatedUses = a.Loads, a.Count, nil
	other.Times, other.Served = stream.Pick(t.Times, a.From), nil
	other.Ends = stream.Pick(t.Ends, a.From)
	if t.Keys != nil { // of blocks that only answers have
		other.Keys = slices.Clone(t.Keys)
		for o := len(t.Keys); o < a.Count; o++ {
			other.Keys = append(other.Keys, stream.Key{Num: random.Scramble(^uint64(o))})
		}
	}
	if t.Labels != nil {
		other.Labels = &Labels{t.Labels.Column, t.Labels.Names, stream.Pick(t.Labels.Of, a.From)}
	}
	return &other, nil
}

// Requested returns t without the loads of answers.
func (t *Trace) Requested() *Trace {
	if t.requested == nil {
		return t
	}
	return t.requested
}
