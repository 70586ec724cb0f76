package traces

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/random"
)

// maxTokens is the most tokens that a prompt or an output may have.
const maxTokens = math.MaxInt32

// PromptHead is what is known of a prompt beside its blocks.
type PromptHead struct {
	Blocks       int
	InputTokens  int32
	OutputTokens int32 // -1 where it is not known
	// Session is the key of its conversation, a number or the hash of a text; only where Fields.Sessions.
	Session uint64
}

// prompt is one prompt as a file states it.
type prompt struct {
	PromptHead
	time   int64    // nanoseconds
	blocks []uint64 // ids
}

// promptSource reads prompts. next fills p, whose blocks are empty and may be appended to, and returns io.EOF after the
// last.
type promptSource interface {
	next(p *prompt) error
}

// promptReader gives the blocks of prompts as records, one after another.
type promptReader struct {
	source  promptSource
	prompt  prompt
	at      int    // next block
	scope   uint64 // tells the own blocks of this file from those of others
	ownUsed uint64 // own blocks that were made
}

// newPromptReader reads the prompts of the file with that number.
func newPromptReader(number int, source promptSource) *promptReader {
	return &promptReader{source: source, scope: scopeOf(number)}
}

// scopeOf returns what makes ids that only mean something within one file differ from those of other files. It is mixed
// with an id by xor and random.Scramble.
func scopeOf(file int) uint64 { return random.Scramble(uint64(file) + 1) }

// Read implements Reader.
func (r *promptReader) Read(rec *Record) error {
	begins := r.at == len(r.prompt.blocks)
	if begins {
		r.prompt.blocks, r.at = r.prompt.blocks[:0], 0
		if err := r.source.next(&r.prompt); err != nil {
			r.prompt.blocks = r.prompt.blocks[:0]
			return err
		}
		r.addOwnBlock()
	}
	*rec = Record{Time: r.prompt.time, Num: r.prompt.blocks[r.at], Begins: begins}
	if begins {
		r.prompt.Blocks = len(r.prompt.blocks)
		rec.Prompt = &r.prompt.PromptHead
	}
	r.at++
	return nil
}

// addOwnBlock gives a prompt that is shorter than a block, and for which its file states none, a block of its own, so
// that it is requested at all.
func (r *promptReader) addOwnBlock() {
	if len(r.prompt.blocks) == 0 {
		r.ownUsed++
		r.prompt.blocks = append(r.prompt.blocks, random.Scramble(r.scope^random.Scramble(^r.ownUsed)))
	}
}

// parseTokens reads a number of tokens of at least least.
func parseTokens(text []byte, least int32) (int32, error) {
	n, ok := parseWhole(text)
	if !ok || n > maxTokens || int32(n) < least {
		return 0, fmt.Errorf("%.40q tokens: want a whole number from %d to 2^31-1", text, least)
	}
	return int32(n), nil
}

// fitsBlocks says whether a prompt of so many tokens has so many blocks: its last, partial one counted or left out.
func fitsBlocks(blockTokens int, tokens int32, blocks int) bool {
	full := int(tokens) / blockTokens
	partial := min(int(tokens)%blockTokens, 1)
	return blocks == full || blocks == full+partial
}

// checkBlocks refuses a prompt whose length contradicts the number of its blocks.
func checkBlocks(blockTokens int, tokens int32, blocks int) error {
	if fitsBlocks(blockTokens, tokens, blocks) {
		return nil
	}
	full, partial := int(tokens)/blockTokens, int(tokens)%blockTokens
	want := fmt.Sprint(full)
	if partial > 0 {
		want += fmt.Sprintf(", or %d with the last partial one", full+1)
	}
	return fmt.Errorf(
		"%d block ids for a prompt of %d tokens: with %d tokens in a block it has %s",
		blocks,
		tokens,
		blockTokens,
		want,
	)
}

// promptColumns collects the prompts of a trace while it loads.
type promptColumns struct {
	Prompts
	fields   Fields
	last     uint32           // object of the block before
	sessions map[uint64]int32 // dense number by key
	unknown  bool             // the length of some output is not known
}

func newPromptColumns(fields Fields) *promptColumns {
	return &promptColumns{Prompts: Prompts{BlockTokens: fields.BlockTokens}, fields: fields, sessions: map[uint64]int32{}}
}

// add takes the next block, which is an object.
func (c *promptColumns) add(rec *Record, object uint32) {
	if rec.Begins {
		c.addPrompt(rec)
	}
	if int(object) == len(c.Parents) {
		parent := int32(-1)
		if !rec.Begins {
			parent = int32(c.last)
		}
		c.Parents = append(c.Parents, parent)
	}
	c.last = object
}

func (c *promptColumns) addPrompt(rec *Record) {
	c.InputTokens = append(c.InputTokens, rec.Prompt.InputTokens)
	c.OutputTokens = append(c.OutputTokens, rec.Prompt.OutputTokens)
	c.unknown = c.unknown || rec.Prompt.OutputTokens < 0
	if c.fields.Time {
		c.Arrivals = append(c.Arrivals, rec.Time)
	}
	if c.fields.Sessions {
		c.Sessions = append(c.Sessions, c.session(rec.Prompt.Session))
	}
}

// session returns the dense number of a conversation.
func (c *promptColumns) session(key uint64) int32 {
	number, ok := c.sessions[key]
	if !ok {
		number = int32(len(c.SessionKeys))
		c.sessions[key] = number
		c.SessionKeys = append(c.SessionKeys, key)
	}
	return number
}

func (c *promptColumns) finish() *Prompts {
	if c.unknown {
		c.OutputTokens = nil
	}
	return &c.Prompts
}
