package promptlogs

import (
	"bytes"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// tail is where the tokens of a prompt end, so that those of its answer can follow.
type tail struct {
	before uint64 // hash of all tokens but the last
	last   uint64 // token
	tokens int32
	text   bool // the tokens are 4 bytes of a text each, so that a shorter last one grows if the text continues
}

// open reports whether the last token grows if the text continues.
func (t tail) open() bool { return t.text && t.last>>32&0xff < bytesPerToken }

// lastText returns the bytes of an open last token.
func (t tail) lastText() (text []byte) {
	for i := range t.last >> 32 & 0xff {
		text = append(text, byte(t.last>>(8*i)))
	}
	return text
}

// answerTokens sets the tokens of an answer that follows a prompt, those of an open last token of the prompt included.
// known is false if the log lacks them.
func (c *collector) answerTokens(t tail, q *request) (known bool, err error) {
	c.tokens = c.tokens[:0]
	switch {
	case len(q.answerIDs) > 0 && (!t.text || c.tokenizer != nil):
		c.tokens = append(c.tokens, q.answerIDs...)
	case q.answer == nil || q.calls || !t.text && c.tokenizer == nil:
		return false, nil
	case t.open():
		c.tokens, err = c.encode(c.tokens, append(t.lastText(), q.answer...))
	default:
		c.tokens, err = c.encode(c.tokens, q.answer)
	}
	return err == nil, err
}

// answerBlocks returns the ids of the blocks that an answer fills behind a prompt, from the block with its last token
// if that is open, or not full. Servers never compute the last token of an answer.
func (c *collector) answerBlocks(t tail) []uint64 {
	hash, count := t.before, int(t.tokens)-1
	if !t.open() {
		hash, count = random.Scramble(hash^random.Scramble(t.last)), count+1
	}
	blocks := []uint64{}
	for _, token := range c.tokens[:max(0, len(c.tokens)-1)] {
		hash = random.Scramble(hash ^ random.Scramble(token))
		if count++; count%c.size == 0 {
			blocks = append(blocks, hash)
		}
	}
	return blocks
}

// setAnswer sets the answer to a prompt: its length, and its blocks if the log has its tokens.
func (c *collector) setAnswer(p *collected, q *request) error {
	output, err := c.outputOf(q)
	if err != nil {
		return err
	}
	p.OutputTokens = output
	if q.most > 0 && output > q.most && (q.output >= 0 || len(q.answerIDs) > 0 || c.tokenizer != nil) {
		c.src.Reading.Notable = stream.Count(c.src.Reading.Notable, "with an answer of more than max_tokens", 1)
	}
	known, err := c.answerTokens(p.tail, q)
	if err != nil || !known {
		return err
	}
	p.Answer = c.answerBlocks(p.tail)
	c.stated++
	return c.checkBudget(int64(8 * len(p.Answer)))
}

// thinks puts what a model has thought before its answer, as templates do.
func thinks(thought, answer []byte) []byte {
	if len(bytes.TrimSpace(thought)) == 0 {
		return answer
	}
	return fmt.Appendf(nil, "<think>\n%s\n</think>\n\n%s", bytes.Trim(thought, "\n"), bytes.TrimLeft(answer, "\n"))
}
