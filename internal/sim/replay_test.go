package sim

import "testing"

// TestGroupsLongerThanAWindow replays a trace whose groups do not end where windows do, with sizes that are spread over the requests.
func TestGroupsLongerThanAWindow(t *testing.T) {
	tr := testTrace(3, 3*windowLen, 200)
	want, err := Run(t.Context(), tr, RunOptions{Policies: specs(t, "lru"), Capacities: []Capacity{{Amount: 500, Simulated: 500, Bytes: true}}})
	if err != nil {
		t.Fatal(err)
	}
	grouped := *tr
	grouped.Groups = []int{0, 10, windowLen + 7, 2*windowLen + 9}
	got, err := Run(t.Context(), &grouped, RunOptions{Policies: specs(t, "lru"), Capacities: []Capacity{{Amount: 500, Simulated: 500, Bytes: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Hits != want[0].Hits || *got[0].HitBytes != *want[0].HitBytes {
		t.Errorf("%d hits with groups, %d without", got[0].Hits, want[0].Hits)
	}
}

// TestLearnedReplaysLookUpOften: whoever interrupts a replay in which each request trains or predicts anew does not wait for thousands of them.
func TestLearnedReplaysLookUpOften(t *testing.T) {
	tr := testTrace(4, 1000, 50)
	longest := 0
	_, err := Replay(t.Context(), tr, NewExact(build(t, mustSpec("lru").Entry, tr, 10, true), 10, tr.NumObjects), ReplayOptions{
		Learned: true, Progress: func(n int) { longest = max(longest, n) },
	})
	if err != nil || longest > learnedWindowLen {
		t.Errorf("%d requests between two looks at the context, want %d at most; error %v", longest, learnedWindowLen, err)
	}
}
