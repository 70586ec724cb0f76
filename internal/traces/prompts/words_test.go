package prompts

import "testing"

// TestOneAnswerIsOne: what is said of answers has the number of its subject.
func TestOneAnswerIsOne(t *testing.T) {
	for _, c := range []struct {
		counts AnswerCounts
		want   string
	}{
		{AnswerCounts{Prompts: 5, Stated: 4, Sized: 1, Strange: 1}, "answers: 4 of 5 kept, as the log has them, 1 takes " +
			"room for its length and cannot hit; 1 turn does not begin with an earlier one of its conversation"},
		{AnswerCounts{Prompts: 5, Stated: 3, Sized: 2, Strange: 2}, "answers: 3 of 5 kept, as the log has them, 2 take " +
			"room for their length and cannot hit; 2 turns do not begin with an earlier one of their conversation"},
		{AnswerCounts{Prompts: 1, Sized: 1}, "answers: 1 of 1 takes room for its length, and none can hit"},
		{AnswerCounts{Prompts: 2, Shorter: 1, TooLong: 1}, "answers: unknown, so that none is kept; 1 next turn is shorter " +
			"than the prompt and the answer before; 1 answer of more than 1,048,576 tokens is taken as unknown"},
	} {
		if got := c.counts.line(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
