package frequency

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLFUEqualsNaive(t *testing.T) {
	for _, spec := range []string{"lfu", "lfu(ties=fifo)", "lfu(perfect=true)", "lfu(ties=fifo,perfect=true)"} {
		t.Run(spec, func(t *testing.T) {
			policytest.CheckAgainstNaive(t, spec, func(capacity int64) *policytest.Naive {
				c := policytest.NewNaive(capacity)
				c.Rank = func(s *policytest.NaiveObject, _ int) float64 { return float64(s.Requests) }
				if strings.Contains(spec, "perfect") {
					c.Rank = func(s *policytest.NaiveObject, _ int) float64 { return float64(s.Past + s.Requests) }
				}
				if strings.Contains(spec, "fifo") {
					c.Tie = func(s *policytest.NaiveObject) int { return s.Loaded }
				}
				return c
			})
		})
	}
}

func TestLFUExamples(t *testing.T) {
	for _, test := range []struct {
		spec     string
		capacity int64
		trace    []uint32
		want     []uint32 // victims in order
	}{
		// 0 and 1 have two requests, 0 reached two first; 2 has one.
		{"lfu", 3, []uint32{0, 1, 2, 0, 1, 3, 3, 4}, []uint32{2, 0}},
		// As above, but 0 was loaded before 1 and requested after it.
		{"lfu", 2, []uint32{0, 1, 1, 0, 2}, []uint32{1}},
		{"lfu(ties=fifo)", 2, []uint32{0, 1, 1, 0, 2}, []uint32{0}},
		// The requests of 0 before its eviction count only for perfect LFU.
		{"lfu", 2, []uint32{0, 0, 1, 1, 1, 2, 0, 3}, []uint32{0, 2, 0}},
		{"lfu(perfect=true)", 2, []uint32{0, 0, 1, 1, 1, 2, 0, 3}, []uint32{0, 2, 1}},
	} {
		d := policytest.Drive(t, test.spec, policies.Config{Capacity: test.capacity, Unit: true, Objects: 5,
			Requests: len(test.trace)})
		if got := d.ServeAll(test.trace...); !slices.Equal(got, test.want) {
			t.Errorf("%s, trace %v: victims %v, want %v", test.spec, test.trace, got, test.want)
		}
	}
}
