package policies

import (
	"slices"
	"strings"
	"testing"
)

func TestLFUEqualsNaive(t *testing.T) {
	for _, spec := range []string{"lfu", "lfu(ties=fifo)", "lfu(perfect=true)", "lfu(ties=fifo,perfect=true)"} {
		t.Run(spec, func(t *testing.T) {
			checkAgainstNaive(t, spec, func(capacity int64) *naive {
				c := newNaive(capacity)
				c.rank = func(s *naiveObject, _ int) float64 { return float64(s.requests) }
				if strings.Contains(spec, "perfect") {
					c.rank = func(s *naiveObject, _ int) float64 { return float64(s.past + s.requests) }
				}
				if strings.Contains(spec, "fifo") {
					c.tie = func(s *naiveObject) int { return s.loaded }
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
		trace    []Object
		want     []Object // victims in order
	}{
		// 0 and 1 have two requests, 0 reached two first; 2 has one.
		{"lfu", 3, []Object{0, 1, 2, 0, 1, 3, 3, 4}, []Object{2, 0}},
		// As above, but 0 was loaded before 1 and requested after it.
		{"lfu", 2, []Object{0, 1, 1, 0, 2}, []Object{1}},
		{"lfu(ties=fifo)", 2, []Object{0, 1, 1, 0, 2}, []Object{0}},
		// The requests of 0 before its eviction count only for perfect LFU.
		{"lfu", 2, []Object{0, 0, 1, 1, 1, 2, 0, 3}, []Object{0, 2, 0}},
		{"lfu(perfect=true)", 2, []Object{0, 0, 1, 1, 1, 2, 0, 3}, []Object{0, 2, 1}},
	} {
		d := drive(t, test.spec, Config{Capacity: test.capacity, Unit: true, Objects: 5, Requests: len(test.trace)})
		if got := d.serveAll(test.trace...); !slices.Equal(got, test.want) {
			t.Errorf("%s, trace %v: victims %v, want %v", test.spec, test.trace, got, test.want)
		}
	}
}
