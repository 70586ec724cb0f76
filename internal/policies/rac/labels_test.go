package rac

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
)

// countersOf returns the counters of a policy by name.
func countersOf(p *policy) map[string]float64 {
	all := map[string]float64{}
	for _, c := range p.Counters() {
		all[c.Name()] = c.Value
	}
	return all
}

// TestTopicsPerLabel: queries 0 to 3 have label 0, in two groups that are not similar enough; 4 and 5 have label 1, and
// 4 is similar to 0; 6 has no label.
func TestTopicsPerLabel(t *testing.T) {
	g := &graph{n: 7, from: 0.2, sims: map[[2]uint32]float32{
		{0, 1}: 0.7, {2, 3}: 0.7, {0, 2}: 0.5, {0, 4}: 0.65, {0, 5}: 0.3, {0, 6}: 0.7,
	}}
	labels := []int32{0, 0, 0, 0, 1, 1, -1}
	for text, want := range map[string]map[string]float64{
		// The topics are those of 0 (with 1, 4 and 6), of 2 (with 3) and of 5.
		"rac(tau-route=0.6)": {"labelled_topics": 3, "topic_labels": 2, "topics_per_label": 1.5,
			"routed_across_labels": 1},
		// 2 joins the topic of 0, too. 3 is similar to 2 alone, which represents no topic, and founds one.
		"rac(tau-route=0.5)": {"labelled_topics": 3, "topic_labels": 2, "topics_per_label": 1.5,
			"routed_across_labels": 1},
		"topic-lru(tau-route=0.9)":             {"labelled_topics": 6, "topic_labels": 2, "topics_per_label": 3},
		"rac(routing=label)":                   {},
		"rac(tau-route=0.6,variant=no-tp)":     {"labelled_topics": 3, "topics_per_label": 1.5},
		"topic-lfu(tau-route=0.6,shortlist=1)": {"labelled_topics": 3, "routed_across_labels": 1},
	} {
		p := newFor(t, text, 7, g, 0.95, labels)
		c := &cacheOf{policy: p, graph: g, tauHit: 0.95, capacity: 7, resident: map[policies.Object]bool{}}
		for q := range policies.Object(7) {
			c.serve(q)
		}
		got := countersOf(p)
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %v, want %v", text, name, got[name], value)
			}
		}
		if _, ok := got["topics_per_label"]; ok != (len(want) > 0) {
			t.Errorf("%s: counters %v", text, got)
		}
	}
}

// TestLabelsDecideNothing: the same requests have the same hits and victims with and without labels, and the topics of
// labels are never more than all.
func TestLabelsDecideNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := randomGraph(rapid.Uint64().Draw(rt, "graph"), 30)
		labels := rapid.SliceOfN(rapid.Int32Range(-1, 3), 30, 30).Draw(rt, "labels")
		labels[0] = 0
		capacity := rapid.IntRange(1, 12).Draw(rt, "capacity")
		text := rapid.SampledFrom([]string{"rac", "rac(keep-tp=0)", "topic-lru", "topic-lfu"}).Draw(rt, "policy")
		play := func(labels []int32, requests []policies.Object) (victims []policies.Object, counters map[string]float64) {
			p := newFor(rt, text, capacity, g, 0.9, labels)
			c := &cacheOf{policy: p, graph: g, tauHit: 0.9, capacity: capacity, resident: map[policies.Object]bool{}}
			for _, q := range requests {
				_, _, evicted := c.serve(q)
				victims = append(victims, evicted...)
			}
			return victims, countersOf(p)
		}
		requests := rapid.SliceOfN(rapid.Uint32Range(0, 29), 1, 200).Draw(rt, "requests")
		without, plain := play(nil, requests)
		with, counted := play(labels, requests)
		if !slices.Equal(with, without) {
			rt.Errorf("victims %v with labels, %v without", with, without)
		}
		labelled, all := counted["labelled_topics"], counted["topics_alive"]+counted["topics_dead"]
		if labelled > all || counted["topic_labels"] > labelled || counted["routed_across_labels"] > counted["routed"] {
			rt.Errorf("counters %v", counted)
		}
		maps.DeleteFunc(counted, func(name string, _ float64) bool { _, ok := plain[name]; return !ok })
		if !maps.Equal(counted, plain) {
			rt.Errorf("counters %v with labels, %v without", counted, plain)
		}
	})
}
