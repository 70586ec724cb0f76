package prompts

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/memory"
)

// Lines implements stream.Described.
func (p *Columns) Lines() (lines []string) {
	if p.scopes > 1 {
		lines = append(lines, fmt.Sprintf("models: prompts of %d models, adapters or salts share no blocks", p.scopes))
	}
	if p.answers.Mode != "" {
		lines = append(lines, p.answers.line())
	}
	if p.Memory.BlockBytes == 0 {
		return lines
	}
	each := memory.Bytes(int64(math.Round(p.Memory.TokenBytes))) + " per token"
	if !p.LengthsOnly {
		each += fmt.Sprintf(", %s per block of %d tokens", memory.Bytes(p.Memory.BlockBytes), p.BlockTokens)
	}
	text := fmt.Sprintf("keys and values: %s, on all GPUs (%s)", each, p.Memory.Source)
	if pool, ok := p.Memory.Pool(p.BlockTokens); ok && !p.LengthsOnly {
		text += fmt.Sprintf("; under vllm in a pool of blocks of %d tokens in the layers of a group, %s each, for %s",
			pool.Tokens, memory.Bytes(int64(pool.Bytes)), pool.About())
	}
	if p.Memory.State() > 0 && !p.LengthsOnly {
		text += "; under sglang's policies with states in 47% of the memory, where SGLang keeps them"
	}
	return append(lines, text)
}

// PromptBytes returns the bytes of the keys and values of a prompt of so many tokens that has just been computed.
func (m Memory) PromptBytes(tokens int) float64 {
	if m.every {
		return float64(m.TokenBytes*float64(tokens)) + m.values.State
	}
	return m.values.Of(tokens)
}

// Model returns what a token costs in the language model, and its name; "" if only the bytes are known.
func (m Memory) Model() (c llm.Compute, name string) { return m.values.Shape.Compute, m.values.Model }

// Pool returns the pool in which vLLM keeps the model, with blocks of at least so many tokens. ok is false if it keeps
// all layers alike, or if the user says that every layer keeps every token.
func (m Memory) Pool(tokens int) (p llm.Pool, ok bool) {
	if m.every || m.BlockBytes == 0 {
		return p, false
	}
	return m.values.Pool(tokens)
}

// State returns the bytes of a state of the model, 0 if it has none or nothing is known of it.
func (m Memory) State() float64 {
	if m.BlockBytes == 0 {
		return 0
	}
	return m.values.State
}

// maxBytes is how many bytes all requests of a trace may have together, so that sums of them fit into an int64.
const maxBytes = 1 << 62

// SetMemory sets the bytes of the blocks of a trace for a model. The trace has objects, and its prompts begin at
// groups. A block has one size, wherever it is in its prompts.
//
// Unless every is set, layers with a window keep only blocks that a prompt of this trace can continue: those of a
// window before each place where a prompt ends or forks from another. A block then has the mean of all blocks of the
// trace, so that a cache of all of them has exactly their bytes. Layers with a state keep one at each of these places.
func (p *Columns) SetMemory(k llm.KeyValues, every bool, objects []uint32, groups []int) error {
	p.Memory = Memory{TokenBytes: k.PerToken(), Source: k.Source + ": " + k.About, values: k, every: every}
	return p.setMemory(objects, groups)
}

// setMemory sets the bytes of a block, if the model is known.
func (p *Columns) setMemory(objects []uint32, groups []int) error {
	k := p.Memory.values
	if p.Memory.Source == "" {
		return nil
	}
	p.Memory.Source = k.Source + ": " + k.About
	every := p.Memory.every || p.LengthsOnly // without contents it is unknown what prompts share
	bytes := float64(float64(p.BlockTokens) * k.Full)
	for _, w := range k.Windowed {
		share := 1.0
		if !every {
			share = p.shareWithin(w.Window, objects, groups)
			p.Memory.Source += fmt.Sprintf("; the window of %d keeps %.3g%% of the blocks, those before ends and forks of "+
				"prompts", w.Window, 100*share)
		}
		bytes += float64(float64(p.BlockTokens)*w.Bytes) * share
	}
	if k.State > 0 { // whatever windows keep: no engine has a state for every block
		share := 1.0
		if !p.LengthsOnly {
			share = p.shareWithin(1, objects, groups)
			p.Memory.Source += fmt.Sprintf("; %.3g%% of the blocks have a state, those at ends and forks of prompts", 100*share)
		}
		bytes += float64(k.State * share)
	}
	bytes = math.Round(bytes)
	if most := float64(maxBytes) / float64(max(1, len(objects))); bytes < 1 || bytes > most {
		return fmt.Errorf("a block of %d tokens would have %.0f bytes (%s): want 1 byte to %.0f", p.BlockTokens, bytes,
			k.About, most)
	}
	p.Memory.BlockBytes = int64(bytes)
	return nil
}

// shareWithin returns the share of the blocks that are within a window before the end of a prompt, or before a block
// that several others follow.
func (p *Columns) shareWithin(window int, objects []uint32, groups []int) float64 {
	// Prompts can continue others only where a block ends, so that whole blocks cover a window.
	reach := int32((window + p.BlockTokens - 1) / p.BlockTokens)
	left := make([]int32, len(p.Parents)) // per block: how many from it backwards are within a window
	for i := range groups {
		end := len(objects)
		if i+1 < len(groups) {
			end = groups[i+1]
		}
		left[objects[end-1]] = reach
		if group := objects[groups[i]:end]; p.AnswerBlocks(i) > 0 { // a last, partial block may follow
			left[group[p.Full(i, group)+p.AnswerBlocks(i)-1]] = reach
		}
	}
	followed := make([]bool, len(p.Parents))
	for _, parent := range p.Parents {
		if parent < 0 {
			continue
		}
		if followed[parent] {
			left[parent] = reach
		}
		followed[parent] = true
	}
	within := 0
	// A block has a larger number than the one before it, so that each is final when its turn comes.
	for o := len(p.Parents) - 1; o >= 0; o-- {
		if left[o] == 0 {
			continue
		}
		within++
		if parent := p.Parents[o]; parent >= 0 {
			left[parent] = max(left[parent], left[o]-1)
		}
	}
	return float64(within) / float64(len(p.Parents))
}

// SharedBlocks returns how many blocks several conversations have, and how many blocks the longest prompt has. The
// trace has objects, and its prompts begin at groups.
func (p *Columns) SharedBlocks(objects []uint32, groups []int) (shared, longest int) {
	const none, several = -1, -2
	of := make([]int32, len(p.Parents)) // per block: the conversation that requests it
	for o := range of {
		of[o] = none
	}
	for i, from := range groups {
		end := len(objects)
		if i+1 < len(groups) {
			end = groups[i+1]
		}
		longest = max(longest, end-from)
		for _, o := range objects[from:end] {
			switch of[o] {
			case none:
				of[o] = p.Sessions[i]
			case several, p.Sessions[i]:
			default:
				of[o] = several
				shared++
			}
		}
	}
	return shared, longest
}
