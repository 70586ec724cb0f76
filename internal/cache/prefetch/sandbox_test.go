package prefetch

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

// proposed returns how many proposals follow from requests after the first ones, and how many of them are the next
// request.
func proposed(p Prefetcher, keys []uint64, from int) (all, right int) {
	for i, key := range keys {
		got := p.Request(Access{Key: key, Pos: i, At: i}, nil)
		if i < from || i+1 == len(keys) {
			continue
		}
		all += len(got)
		for _, proposal := range got {
			if proposal.Key == keys[i+1] {
				right++
			}
		}
	}
	return all, right
}

func TestSandboxProposesWhatItHasSeenRequested(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	var inOrder, strides, anywhere, mixed []uint64
	for i := range uint64(n) {
		inOrder = append(inOrder, 1000+i)
		strides = append(strides, 1<<40+7*i)
		anywhere = append(anywhere, random.Uint64N(1<<40))
		mixed = append(mixed, []uint64{1000 + i/2, random.Uint64N(1 << 40)}[i%2])
	}
	for name, test := range map[string]struct {
		keys  []uint64
		right bool
	}{"in order": {inOrder, true}, "strides": {strides, true}, "anywhere": {anywhere, false}} {
		all, right := proposed(newSandbox(4, 8192, 0.2), test.keys, 1000)
		if test.right && right < n-1000-n/100 || !test.right && all > 0 {
			t.Errorf("%s: %d proposals, %d of them the next request", name, all, right)
		}
	}
	// Half of the requests are anywhere: each address ahead is requested after half of them.
	if all, _ := proposed(newSandbox(4, 8192, 0.2), mixed, 1000); all < n {
		t.Errorf("mixed: %d proposals", all)
	}
	if all, _ := proposed(newSandbox(4, 8192, 0.9), mixed, 1000); all > n/100 {
		t.Errorf("mixed, with an accuracy of 0.9: %d proposals", all)
	}
}

// Requests that hit anyway show nothing: what is proposed would be resident already.
func TestSandboxCountsOnlyWhatIsNotResident(t *testing.T) {
	s := newSandbox(4, 8192, 0.2)
	for i := range uint64(5000) {
		if got := s.Request(Access{Key: i, Hit: true}, nil); len(got) > 0 {
			t.Fatalf("after %d hits: %d proposals", i, len(got))
		}
	}
}

// A transfer that delays others has to be worth it more often.
func TestAccuracyFollowsWhetherTransfersTakeTime(t *testing.T) {
	for _, test := range []struct {
		text  string
		later bool
		want  float64
	}{
		{"igt", true, 0.2}, {"igt(accuracy=0.4)", true, 0.4},
		{"igt(accuracy=0)", false, 0.2}, {"igt(accuracy=0)", true, 0.8},
	} {
		c := Config{Layout: streams.NewLayout(nil, 10, 16), Asynchronous: test.later}
		s := New(must.Get(Registry.Parse(test.text))(t), c).(*Streams)
		if got := s.beside.(*sandbox).accuracy; got != test.want {
			t.Errorf("%s, later %v: %v, want %v", test.text, test.later, got, test.want)
		}
	}
}
