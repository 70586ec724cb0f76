package tracestat

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
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
	// SharedWithAnswers is SharedTokens if the cache also keeps the blocks that answers fill, and AnswerBlocks is how
	// many blocks only answers have; nil if nothing is known of answers, or they are off.
	SharedWithAnswers *int64 `json:"shared_tokens_with_answers,omitempty"`
	AnswerBlocks      *int64 `json:"answer_blocks,omitempty"`

	KeysAndValues *KeyValueSummary `json:"keys_and_values"` // nil if the model is unknown

	Lengths        *Distribution `json:"prompt_lengths"`             // tokens
	OutputLengths  *Distribution `json:"output_lengths"`             // tokens
	Turns          *Distribution `json:"prompts_per_conversation"`   //
	ForeignPrompts *Distribution `json:"foreign_prompts_in_between"` // prompts of others between two of a conversation
}

// KeyValueSummary describes the keys and values of prompts, in bytes on all GPUs of a replica.
type KeyValueSummary struct {
	Source     string  `json:"source"`      // of the shape of the model, and the shape
	TokenBytes float64 `json:"token_bytes"` // of a token that every layer keeps
	MeanPrompt float64 `json:"mean_prompt_bytes"`
	// LongestPrompt has its keys and values, with no block rounded up.
	LongestPrompt float64       `json:"longest_prompt_bytes"`
	Prompts       *Distribution `json:"prompt_bytes"`

	// Without contents of the prompts, these are unknown.

	BlockBytes *int64 `json:"block_bytes"`
	Footprint  *int64 `json:"footprint_bytes"` // of all distinct blocks
	// Reused are the bytes of the distinct blocks that are requested more than once: what a cache can make use of.
	Reused *int64 `json:"reused_bytes"`

	blocks, reused int64
}

func summarizePrompts(t *traces.Trace, p *prompts.Columns) *PromptSummary {
	s := &PromptSummary{Prompts: int64(len(t.Groups))}
	s.InputTokens, s.Lengths = sumAndDistribution(p.InputTokens)
	if !p.LengthsOnly {
		s.addTokens(t, p)
	}
	if p.Memory.BlockBytes > 0 {
		s.KeysAndValues = summarizeKeyValues(t, p)
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

// addAnswers counts what earlier prompts and their answers have of each prompt.
func (s *PromptSummary) addAnswers(t *traces.Trace) {
	p := prompts.Of(t.Kind)
	var shared int64
	var seen stream.Bitset
	for i := range t.Groups {
		blocks, _ := t.Group(i)
		asked := len(blocks)
		if n := p.AnswerBlocks(i); n > 0 {
			asked = p.Full(i, blocks)
			blocks = blocks[:asked+n]
		}
		leading := 0
		for leading < asked && seen.Has(int(blocks[leading])) {
			leading++
		}
		shared += min(int64(leading)*int64(p.BlockTokens), int64(p.InputTokens[i]))
		for _, o := range blocks {
			seen.Set(int(o))
		}
	}
	s.SharedWithAnswers, s.AnswerBlocks = &shared, new(int64(t.NumObjects-t.Requested().NumObjects))
}

func summarizeKeyValues(t *traces.Trace, p *prompts.Columns) *KeyValueSummary {
	s := &KeyValueSummary{Source: p.Memory.Source, TokenBytes: p.Memory.TokenBytes}
	h, sum := &histogram{}, 0.0
	for _, tokens := range p.InputTokens {
		bytes := p.Memory.PromptBytes(int(tokens))
		sum += bytes
		s.LongestPrompt = max(s.LongestPrompt, bytes)
		h.add(int64(math.Round(bytes)), 1)
	}
	s.MeanPrompt, s.Prompts = sum/float64(len(p.InputTokens)), h.distribution(1)
	if p.LengthsOnly {
		return s
	}
	seen, again := make([]bool, t.NumObjects), make([]bool, t.NumObjects)
	for _, object := range t.Objects {
		switch {
		case !seen[object]:
			seen[object] = true
			s.blocks++
		case !again[object]:
			again[object] = true
			s.reused++
		}
	}
	s.BlockBytes = &p.Memory.BlockBytes
	s.Footprint, s.Reused = new(s.blocks*p.Memory.BlockBytes), new(s.reused*p.Memory.BlockBytes)
	return s
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
	rows := []row{{"prompts", show.Count(s.Prompts)}}
	if s.Conversations != nil {
		rows = append(rows, row{"conversations", show.Count(*s.Conversations)})
	}
	if s.knowsContents() {
		rows = append(rows, row{"block", fmt.Sprintf("%s tokens", show.Count(int64(*s.BlockTokens)))})
	}
	rows = append(rows, row{"tokens of prompts", show.Count(s.InputTokens)})
	if s.knowsContents() {
		rows = append(rows,
			row{"shared prefixes", fmt.Sprintf("%s tokens (%s)", show.Count(*s.SharedTokens),
				show.Share(*s.SharedPrefixRatio))},
			row{"distinct tokens", show.Count(*s.DistinctTokens)})
		if s.SharedWithAnswers != nil {
			rows = slices.Insert(rows, len(rows)-1, row{"shared with answers", fmt.Sprintf("%s tokens (%s)",
				show.Count(*s.SharedWithAnswers), show.Share(float64(*s.SharedWithAnswers)/float64(s.InputTokens)))})
			rows = append(rows, row{"blocks of answers alone", show.Count(*s.AnswerBlocks)})
		}
	} else {
		rows = append(rows, row{"shared prefixes", "unknown: the trace has no contents"})
	}
	if s.OutputTokens != nil {
		rows = append(rows, row{"tokens of outputs", show.Count(*s.OutputTokens)})
	}
	if s.KeysAndValues != nil {
		rows = append(rows, s.KeysAndValues.rows()...)
	}
	return rows
}

func (s *KeyValueSummary) rows() []row {
	rows := []row{{"keys and values", writeBytes(s.TokenBytes) + " per token"}}
	if s.BlockBytes != nil {
		rows[0].value += ", " + writeBytes(float64(*s.BlockBytes)) + " per block"
		rows = append(rows,
			row{"KV of all blocks", fmt.Sprintf("%s (%s distinct blocks)", gibibytes(float64(*s.Footprint)),
				show.Count(s.blocks))},
			row{"KV requested again", fmt.Sprintf("%s (%s blocks, %s)", gibibytes(float64(*s.Reused)),
				show.Count(s.reused), show.Share(float64(s.reused)/float64(s.blocks)))})
	}
	return append(rows, row{"KV of the longest prompt", gibibytes(s.LongestPrompt)},
		row{"KV of a prompt, mean", gibibytes(s.MeanPrompt)})
}

// gibibytes writes bytes in the unit in which the memories of GPUs and hosts are sold, unless they are few.
func gibibytes(bytes float64) string {
	gib := bytes / (1 << 30)
	switch {
	case gib < 0.1:
		return writeBytes(bytes)
	case gib < 1000:
		return strconv.FormatFloat(gib, 'g', 4, 64) + " GiB"
	}
	return show.Count(int64(math.Round(gib))) + " GiB"
}

func (s *PromptSummary) distributions() []namedDistribution {
	var bytes *Distribution
	if s.KeysAndValues != nil {
		bytes = s.KeysAndValues.Prompts
	}
	return []namedDistribution{
		{"prompt_lengths", "prompt, tokens", s.Lengths, number},
		{"prompt_bytes", "prompt, keys and values", bytes, writeBytes},
		{"output_lengths", "output, tokens", s.OutputLengths, number},
		{"prompts_per_conversation", "prompts per conversation", s.Turns, number},
		{"foreign_prompts_in_between", "other prompts between turns", s.ForeignPrompts, number},
	}
}
