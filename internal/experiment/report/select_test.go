package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
)

func TestSelected(t *testing.T) {
	recs := []records.Record{
		{Label: "lru"}, {Label: "random"}, {Label: "random", Seed: 1}, {Label: "s3fifo", Axes: "small=0.1"}, {Label: "s3fifo",
			Axes: "small=0.2"},
	}
	groups := map[string][]string{"queues": {"s3fifo"}}
	for _, test := range []struct {
		only map[string]experiment.Values
		want []int
	}{
		{nil, []int{0, 1, 2, 3, 4}},
		{map[string]experiment.Values{"policy": {"lru", "queues"}}, []int{0, 3, 4}},
		{map[string]experiment.Values{"small": {".1"}}, []int{0, 1, 2, 3}}, // the others have no place on it
		{map[string]experiment.Values{"seed": {"1"}}, []int{0, 2, 3, 4}},   // the others run once, for all seeds
		{map[string]experiment.Values{"seed": {"0"}, "small": {"0.2"}}, []int{0, 1, 4}},
		{map[string]experiment.Values{"policy": {"arc"}}, nil},
	} {
		var want []string
		for _, i := range test.want {
			want = append(want, fmt.Sprint(recs[i]))
		}
		var got []string
		for _, r := range selected(recs, test.only, groups) {
			got = append(got, fmt.Sprint(r))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", test.only, got, want)
		}
	}
}
