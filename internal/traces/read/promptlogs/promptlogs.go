// Package promptlogs reads prompts to language models from the logs of servers and proxies, from data sets of
// conversations, and from traces of blocks.
package promptlogs

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// maxTokens is the largest number of tokens in a prompt or an output.
const maxTokens = math.MaxInt32

// Formats are the formats of prompts.
var Formats = []source.Format{mooncakeFormat, bailianFormat, chatFormat, openaiFormat, litellmFormat,
	vllmFormat, sglangFormat, conversationsFormat, aibrixFormat}

// OnlyLengths are prompts without contents.
func OnlyLengths(sessions bool) prompts.Kind {
	return prompts.Kind{BlockTokens: 1, Sessions: sessions, LengthsOnly: true}
}

// prompt is one prompt as a file states it.
type prompt struct {
	prompts.Head
	time   int64    // nanoseconds
	blocks []uint64 // ids
	tenant string   // "" if it names none
}

// promptSource reads prompts. next fills p, appends to its empty blocks, and returns io.EOF after the last.
type promptSource interface {
	next(p *prompt) error
}

// reader returns the blocks of prompts as records, one after another. It implements Reader.
type reader struct {
	source  promptSource
	prompt  prompt
	at      int    // next block
	tenant  []byte // of the prompt
	scope   uint64 // keeps the own blocks of different files apart
	ownUsed uint64 // own blocks made so far
	answers bool   // the tokens of some answers are known
}

// opened returns the reader of a file's prompts.
func opened(number int, from promptSource, kind prompts.Kind, clock bool, tenant *tenantField) (stream.Reader,
	stream.Fields, error) {
	fields := prompts.FieldsOf(kind, clock)
	fields.Tenant = tenant != nil
	return &reader{source: from, scope: scopeOf(number), answers: kind.Answers}, fields, nil
}

// scopeOf returns a value that keeps the ids of files apart. It is mixed with an id by xor and random.Scramble.
func scopeOf(file int) uint64 { return random.Scramble(uint64(file) + 1) }

func (r *reader) Read(rec *stream.Record) error {
	begins := r.at == len(r.prompt.blocks)
	if begins {
		r.prompt.blocks, r.at = r.prompt.blocks[:0], 0
		if err := r.source.next(&r.prompt); err != nil {
			r.prompt.blocks = r.prompt.blocks[:0]
			return err
		}
		r.addOwnBlock()
		if r.answers {
			r.prompt.IDs = r.prompt.blocks
		}
		r.tenant = append(r.tenant[:0], r.prompt.tenant...)
	}
	*rec = stream.Record{Time: r.prompt.time, Num: r.prompt.blocks[r.at], Begins: begins, Tenant: r.tenant}
	if begins {
		r.prompt.Blocks = len(r.prompt.blocks)
		rec.Extra = &r.prompt.Head
	}
	r.at++
	return nil
}

// addOwnBlock gives a prompt shorter than a block, for which its file states no block, a block of its own, so that it
// is requested at all.
func (r *reader) addOwnBlock() {
	if len(r.prompt.blocks) == 0 {
		r.ownUsed++
		r.prompt.blocks = append(r.prompt.blocks, random.Scramble(r.scope^random.Scramble(^r.ownUsed)))
	}
}

// oddCount stands for a number of tokens that cannot be: below 0, above maxTokens, or not whole.
const oddCount = -2

const oddCounts = "with tokens below 0 or above 2^31-1, which count as unknown"

// known returns a number of tokens, -1 for one that cannot be, which is counted.
func known(n int32, reading *stream.Reading) int32 {
	if n != oddCount {
		return n
	}
	reading.Notable = stream.Count(reading.Notable, oddCounts, 1)
	return -1
}

// countOf returns a number of tokens, oddCount for one that cannot be.
func countOf(text []byte) int32 {
	if n, ok := source.ParseWhole(text); ok && n <= maxTokens {
		return int32(n)
	}
	return oddCount
}

// parseTokens reads a number of tokens, at least least.
func parseTokens(text []byte, least int32) (int32, error) {
	n, ok := source.ParseWhole(text)
	if !ok || n > maxTokens || int32(n) < least {
		return 0, fmt.Errorf("%.40q tokens: want a whole number from %d to 2^31-1", text, least)
	}
	return int32(n), nil
}

// fitsBlocks reports whether a prompt of this many tokens can have this many blocks, with or without a last, partial
// one.
func fitsBlocks(blockTokens int, tokens int32, blocks int) bool {
	full := int(tokens) / blockTokens
	partial := min(int(tokens)%blockTokens, 1)
	return blocks == full || blocks == full+partial
}

// checkBlocks refuses a prompt whose length contradicts its number of blocks.
func checkBlocks(blockTokens int, tokens int32, blocks int) error {
	if fitsBlocks(blockTokens, tokens, blocks) {
		return nil
	}
	full := int(tokens) / blockTokens
	want := fmt.Sprint(full)
	if int(tokens)%blockTokens > 0 {
		want += fmt.Sprintf(", or %d with the last partial one", full+1)
	}
	return fmt.Errorf("%d block ids for a prompt of %d tokens: with %d tokens in a block it has %s", blocks, tokens,
		blockTokens, want)
}

// readTokens is parseTokens for a number in JSON.
func readTokens(s *source.JSONScanner, least int32) (int32, error) {
	text, err := s.Number()
	if err != nil {
		return 0, err
	}
	return parseTokens(text, least)
}
