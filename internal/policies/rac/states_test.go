package rac

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

// TestStatesOfTheDocumentation: docs/policies-learned.md states how many states a few requests lead to. Two states
// differ if some further requests have different hits. Those of rac-adaptive go on growing, so that its worst case is
// not found by trying all of them.
func TestStatesOfTheDocumentation(t *testing.T) {
	for _, c := range []struct {
		policy string
		want   []int // after 2, 4, 6 requests
	}{
		{"lru", []int{2, 7, 7}},
		{"rac-adaptive", []int{2, 12, 83}},
	} {
		spec := must.Get(policies.Registry.Parse(c.policy))(t)
		for i, want := range c.want {
			states := map[string]bool{}
			for _, history := range histories(2*i+2, 3) {
				states[hitsAfter(t, spec, history)] = true
			}
			if len(states) != want {
				t.Errorf("%s has %d states after %d requests, want %d", c.policy, len(states), 2*i+2, want)
			}
		}
	}
}

// histories returns all sequences of requests to a few objects, but for their names.
func histories(length, objects int) (all [][]int) {
	all = [][]int{nil}
	for range length {
		var longer [][]int
		for _, h := range all {
			seen := 0
			for _, o := range h {
				seen = max(seen, o+1)
			}
			for o := range min(seen+1, objects) {
				longer = append(longer, append(h[:len(h):len(h)], o))
			}
		}
		all = longer
	}
	return all
}

// hitsAfter returns the hits of all sequences of five requests to 3 objects after a history, with room for 2.
func hitsAfter(t *testing.T, spec policies.Spec, history []int) (hits string) {
	t.Helper()
	for next := range 3 * 3 * 3 * 3 * 3 {
		requests := history[:len(history):len(history)]
		for range 5 {
			requests = append(requests, next%3)
			next /= 3
		}
		p := must.Get(spec.Entry.New(policies.Config{Capacity: 2, Objects: 3, Params: spec.Params}))(t)
		resident := map[policies.Object]bool{}
		for i, o := range requests {
			r := policies.Request{Object: policies.Object(o), Query: policies.Object(o), Size: 1}
			hit := resident[r.Object]
			if i >= len(history) {
				hits += fmt.Sprint(hit)[:1]
			}
			if hit {
				p.Hit(r)
				continue
			}
			p.Miss(r)
			if len(resident) == 2 {
				delete(resident, p.Victim(r))
			}
			p.Insert(r)
			resident[r.Object] = true
		}
	}
	return hits
}
