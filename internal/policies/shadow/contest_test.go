package shadow

import "testing"

// The policy with a handicap of 10 misses leads once it is ahead by more, and loses the lead when it is no longer.
func TestHandicap(t *testing.T) {
	const requests, comparisons = 100, 100 // compared after each request, and a hundredth of all misses fades
	c := NewContest(2, 0, comparisons)
	c.Handicap(1, 10)
	ahead := 0.0
	for at := range 200 {
		misses := 0
		if at >= 50 {
			misses = 1
		}
		c.Miss(misses)
		ahead += float64(1 - 2*misses)
		changed := c.End(requests)
		if want := ahead > 10; (c.Leader == 1) != want || changed && at != 10 && at < 50 {
			t.Fatalf("request %d: policy %d leads where the second is ahead by %v", at, c.Leader, ahead)
		}
		ahead *= 0.99
	}
	if c.Changes != 2 {
		t.Errorf("the lead changed %d times, want 2", c.Changes)
	}
}
