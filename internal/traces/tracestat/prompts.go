package tracestat

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// PromptSummary describes the prompts of a trace, besides their blocks, which are its objects.
type PromptSummary struct {
	Prompts       int64  `json:"prompts"`
	Conversations *int64 `json:"conversations"`
	BlockTokens   *int   `json:"block_tokens"`
	InputTokens   int64  `json:"input_tokens"`
	OutputTokens  *int64 `json:"output_tokens"`

	// Without contents of the prompts, these three and BlockTokens are unknown.

	// SharedTokens are the tokens of the leading blocks of each prompt that an earlier prompt began with: the hits of a
	// prefix cache without bounds.
	SharedTokens      *int64   `json:"shared_tokens"`
	SharedPrefixRatio *float64 `json:"shared_prefix_ratio"` // SharedTokens / InputTokens
	DistinctTokens    *int64   `json:"distinct_tokens"`     // of all blocks, each counted once: the footprint

	Lengths        *Distribution `json:"prompt_lengths"`             // tokens
	OutputLengths  *Distribution `json:"output_lengths"`             // tokens
	Turns          *Distribution `json:"prompts_per_conversation"`   //
	ForeignPrompts *Distribution `json:"foreign_prompts_in_between"` // prompts of others between two of a conversation
}

func summarizePrompts(t *traces.Trace, p *prompts.Columns) *PromptSummary {
	s := &PromptSummary{Prompts: int64(len(t.Groups))}
	s.InputTokens, s.Lengths = sumAndDistribution(p.InputTokens)
	if !p.LengthsOnly {
		s.addTokens(t, p)
	}
	if p.OutputTokens != nil {
		var sum int64
		sum, s.OutputLengths = sumAndDistribution(p.OutputTokens)
		s.OutputTokens = &sum
	}
	if p.Sessions != nil {
		s.addConversations(p)
	}
	return s
}

// knowsContents reports whether it is known what the prompts share.
func (s *PromptSummary) knowsContents() bool { return s.SharedTokens != nil }

// addTokens counts the tokens of shared prefixes and of distinct blocks.
func (s *PromptSummary) addTokens(t *traces.Trace, p *prompts.Columns) {
	var shared, distinct int64
	size := p.BlockTokens
	known := 0 // objects requested so far: their numbers are below this, being in order of first appearance
	for i := range t.Groups {
		blocks, _ := t.Group(i)
		tokens, leading := int64(p.InputTokens[i]), 0
		for block, object := range blocks {
			if int(object) < known {
				leading = block + 1
				continue
			}
			known++
			distinct += min(int64(size), tokens-int64(block*size))
		}
		shared += min(int64(leading*size), tokens)
	}
	ratio := float64(shared) / float64(s.InputTokens)
	s.BlockTokens, s.SharedTokens, s.DistinctTokens, s.SharedPrefixRatio = &size, &shared, &distinct, &ratio
}

func (s *PromptSummary) addConversations(p *prompts.Columns) {
	turns, between := &histogram{}, &histogram{}
	counts := make([]int64, len(p.SessionKeys))
	last := make([]int, len(p.SessionKeys))
	for i, session := range p.Sessions {
		if counts[session] > 0 {
			between.add(int64(i-last[session]-1), 1)
		}
		counts[session]++
		last[session] = i
	}
	var conversations int64
	for _, n := range counts {
		if n > 0 {
			conversations++
			turns.add(n, 1)
		}
	}
	s.Conversations, s.Turns, s.ForeignPrompts = &conversations, turns.distribution(1), between.distribution(1)
}

func sumAndDistribution(column []int32) (sum int64, d *Distribution) {
	h := &histogram{}
	for _, n := range column {
		sum += int64(n)
		h.add(int64(n), 1)
	}
	return sum, h.distribution(1)
}

func (s *PromptSummary) rows() []row {
	rows := []row{{"prompts", records.Count(s.Prompts)}}
	if s.Conversations != nil {
		rows = append(rows, row{"conversations", records.Count(*s.Conversations)})
	}
	if s.knowsContents() {
		rows = append(rows, row{"block", fmt.Sprintf("%s tokens", records.Count(int64(*s.BlockTokens)))})
	}
	rows = append(rows, row{"tokens of prompts", records.Count(s.InputTokens)})
	if s.knowsContents() {
		rows = append(rows,
			row{"shared prefixes", fmt.Sprintf("%s tokens (%s)", records.Count(*s.SharedTokens),
				records.Share(*s.SharedPrefixRatio))},
			row{"distinct tokens", records.Count(*s.DistinctTokens)})
	} else {
		rows = append(rows, row{"shared prefixes", "unknown: the trace has no contents"})
	}
	if s.OutputTokens != nil {
		rows = append(rows, row{"tokens of outputs", records.Count(*s.OutputTokens)})
	}
	return rows
}

func (s *PromptSummary) distributions() []namedDistribution {
	return []namedDistribution{
		{"prompt_lengths", "prompt, tokens", s.Lengths, number},
		{"output_lengths", "output, tokens", s.OutputLengths, number},
		{"prompts_per_conversation", "prompts per conversation", s.Turns, number},
		{"foreign_prompts_in_between", "other prompts between turns", s.ForeignPrompts, number},
	}
}
