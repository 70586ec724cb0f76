package turns

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Turn is a prompt with its answer, of which a log has the lengths and the turn before.
type Turn struct {
	Before *Turn // that the prompt goes on from; nil for the first of a conversation
	Tokens int64 // of the prompt
	Output int64 // of the answer
	Cached int64 // tokens of the prompt that the server had
	Model  string
	Own    uint64 // makes its tokens different from all others
	shared int64  // tokens that are those of the turn before, and of its answer; of a first one, of its model
}

// most is more tokens than any model takes: what a file claims does not decide how much memory it gets.
const most = 1 << 24

// IsHuge reports whether the lengths are more than 16 million tokens, which no model takes.
func (t *Turn) IsHuge() bool { return max(t.Tokens, t.Output) > most }

// counted returns the turn or, if the log does not say how long it is, the last one before it of which it does: an
// error of the API is a line between two turns.
func (t *Turn) counted() *Turn {
	for t != nil && (t.Tokens <= 0 || t.IsHuge()) {
		t = t.Before
	}
	return t
}

// Files has the file that an answer is in, by its name: a session that goes on in another file is copied there.
type Files map[string]string

// Claim reports whether another file has the answer, and otherwise says that this one has it.
func (f Files) Claim(answer, file string) (isOthers bool) {
	first, known := f[answer]
	if !known {
		f[answer] = file
	}
	return known && first != file
}

// Continue finds out which tokens the prompt has from the turn before, whose own are known. If it is longer than that
// prompt and its answer, it goes on from there, and if it is longer than the prompt alone, the answer is not in it.
// After a compaction it is shorter: what the server had of it is what stayed. So it is with the first prompt of a
// conversation, whose beginning is what the server had of it: the system prompt and the tools.
func (t *Turn) Continue() {
	t.Before = t.Before.counted()
	switch b := t.Before; {
	case b != nil && t.Tokens >= b.Tokens+b.Output:
		t.shared = b.Tokens + b.Output
	case b != nil && t.Tokens >= b.Tokens:
		t.shared = b.Tokens
	default:
		t.shared = min(max(0, t.Cached), t.Tokens)
	}
}

// answer makes the tokens of the answer different from all others.
func (t *Turn) answer() uint64 { return random.Scramble(t.Own) }

// AppendTokens appends a number for each token of the prompt.
func (t *Turn) AppendTokens(to []uint64) []uint64 {
	n := len(to)
	to = append(to, make([]uint64, t.Tokens)...)
	tokens := to[n:]
	for end := t.Tokens; end > 0; t = t.Before {
		if end > t.shared {
			number(tokens[t.shared:end], t.Own, t.shared)
			end = t.shared
		}
		if t.Before == nil {
			number(tokens[:end], stream.HashText([]byte("model "+t.Model)), 0)
			break
		}
		if from := t.Before.Tokens; end > from {
			number(tokens[from:end], t.Before.answer(), 0)
			end = from
		}
	}
	return to
}

// AppendAnswer appends a number for each token of the answer.
func (t *Turn) AppendAnswer(to []uint64) []uint64 {
	n := len(to)
	to = append(to, make([]uint64, t.Output)...)
	number(to[n:], t.answer(), 0)
	return to
}

// number numbers tokens of one origin by their places there.
func number(tokens []uint64, origin uint64, from int64) {
	for i := range tokens {
		tokens[i] = origin + uint64(from) + uint64(i)
	}
}
