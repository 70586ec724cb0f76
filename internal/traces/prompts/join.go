package prompts

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Joined are prompts whose blocks were joined into larger ones.
type Joined struct {
	Columns *Columns
	Objects []uint32 // of the requests
	Groups  []int    // at which prompts begin
	Lasts   []uint32 // per object: the last of the joined blocks, which stands for all before it
	Starts  []int    // as Join got them, among the joined requests
}

// CheckJoin rejects numbers of tokens that blocks cannot be joined to.
func (p *Columns) CheckJoin(tokens int) error {
	if p.LengthsOnly {
		return fmt.Errorf("blocks of %d tokens: the trace has lengths of prompts and no contents, so no blocks; remove it",
			tokens)
	}
	if tokens >= p.BlockTokens && tokens%p.BlockTokens == 0 {
		return nil
	}
	return fmt.Errorf("blocks of %d tokens: the trace has blocks of %d, which cannot be divided; want a multiple of %d, "+
		"or read the log with a smaller option block",
		tokens, p.BlockTokens, p.BlockTokens)
}

// Join returns the prompts in blocks of a number of tokens, as CheckJoin accepts it. A prompt is cut from its
// beginning, so that its last block may be partial: it stands for exactly these tokens, and is no part of a larger
// block. Files that begin at starts are replayed one by one.
func (p *Columns) Join(tokens int, objects []uint32, groups, starts []int) (Joined, error) {
	if err := p.CheckJoin(tokens); err != nil {
		return Joined{}, err
	}
	columns := *p
	joined := Joined{Columns: &columns}
	columns.BlockTokens, columns.Parents, columns.Rounded = tokens, nil, make([]int32, len(groups))
	columns.Unjoined = p
	n := tokens / p.BlockTokens
	numbers := make([]uint32, len(p.Parents)) // per block: the number plus 1 of the joined block that it ends
	var before, after stream.Bitset           // blocks of earlier prompts, and joined ones
	for i, from := range groups {
		if len(starts) > 0 && starts[0] == from {
			clear(before)
			clear(after)
			joined.Starts, starts = append(joined.Starts, len(joined.Objects)), starts[1:]
		}
		end := len(objects)
		if i+1 < len(groups) {
			end = groups[i+1]
		}
		prompt := objects[from:end]
		joined.Groups = append(joined.Groups, len(joined.Objects))
		parent := int32(-1)
		for at := range slices.Chunk(prompt, n) {
			last := at[len(at)-1]
			if numbers[last] == 0 {
				joined.Lasts, columns.Parents = append(joined.Lasts, last), append(columns.Parents, parent)
				numbers[last] = uint32(len(joined.Lasts))
			}
			parent = int32(numbers[last] - 1)
			joined.Objects = append(joined.Objects, uint32(parent))
		}
		known, whole := leading(&before, prompt), leading(&after, joined.Objects[joined.Groups[i]:])
		columns.Rounded[i] = columns.tokensIn(i, known*p.BlockTokens) - columns.tokensIn(i, whole*tokens)
	}
	columns.stated = p.stated.joined(p, n, numbers, len(joined.Lasts), func(i int) []uint32 {
		end := len(objects)
		if i+1 < len(groups) {
			end = groups[i+1]
		}
		return objects[groups[i]:end]
	})
	return joined, columns.setMemory(joined.Objects, joined.Groups)
}

// tokensIn returns how many of a prompt's tokens are among so many.
func (p *Columns) tokensIn(prompt, tokens int) int32 {
	return int32(min(int64(tokens), int64(p.InputTokens[prompt])))
}

// EmptyTokens returns how many tokens would still fit into the last of a prompt's blocks.
func (p *Columns) EmptyTokens(prompt, blocks int) int64 {
	return max(0, int64(blocks)*int64(p.BlockTokens)-int64(p.InputTokens[prompt]))
}

// leading returns how many leading blocks of a prompt earlier ones had, and adds its blocks to theirs.
func leading(seen *stream.Bitset, prompt []uint32) (known int) {
	for i, o := range prompt {
		if known == i && seen.Has(int(o)) {
			known++
		}
		seen.Set(int(o))
	}
	return known
}
