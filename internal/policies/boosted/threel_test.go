package boosted

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// history3L is what a naive version remembers of an object while it is tracked.
type history3L struct {
	times   []int
	sampled int
	size    int64
}

// Samples have the features of their object when it was drawn and the label of the paper; the window is as many ghosts
// as residents; and a victim is the predicted resident that is expected last, or the least recently used one without a
// model.
func TestThreeLFollowsTheNaiveVersion(t *testing.T) {
	samples, kinds := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		first := rapid.SampledFrom([]int{1 << 16, 25}).Draw(t, "first batch")
		p := policytest.Drive(t, fmt.Sprintf("3l-cache(first-batch=%d,min-leaf=2,trees=3,leaves=4)", first),
			w.Config).Policy.(*threeL)
		tracked, resident, used := map[policies.Object]*history3L{}, map[policies.Object]bool{}, int64(0)
		for i, o := range w.Trace {
			r := policies.Request{Object: o, Pos: i, Size: w.Sizes[o]}
			if r.Size > w.Config.Capacity {
				continue
			}
			learned, known := p.learner.samples, tracked[o]
			if resident[o] {
				p.Hit(r)
			} else {
				p.Miss(r)
			}
			if first > 25 && known != nil && known.sampled > 0 {
				checkSample(t, p, int(learned), known)
				samples++
			}
			if known != nil {
				known.times, known.sampled = append(known.times, int(p.now)), 0
			}
			followTracked(t, p, tracked, resident)
			if resident[o] {
				continue
			}
			for used+r.Size > w.Config.Capacity {
				kinds[evict3L(t, p, r, resident)]++
				used = 0
				for other := range resident {
					used += tracked[other].size
				}
			}
			p.Insert(r)
			if resident[o] = true; tracked[o] == nil {
				tracked[o] = &history3L{times: []int{int(p.now)}}
			}
			tracked[o].size = r.Size
			used += r.Size
		}
	})
	seeded.Covers(t, samples > 0 && kinds["model"] > 0 && kinds["oldest"] > 0, "%d samples, victims %v", samples, kinds)
}

// checkSample compares the sample that a request has just labelled.
func checkSample(t *rapid.T, p *threeL, at int, h *history3L) {
	row, label := p.learner.data.Row(at)
	times := h.times
	want := []float64{float64(h.sampled - times[len(times)-1])}
	for i := range threeLDeltas {
		delta := math.NaN()
		if later := len(times) - 1 - i; later > 0 {
			delta = float64(times[later] - times[later-1])
		}
		want = append(want, delta)
	}
	want = append(want, float64(h.size), float64(len(times)))
	if time := math.Log1p(float64(int(p.now) - h.sampled)); !near(row, want) || math.Abs(label-time) > 1e-9 {
		t.Fatalf("sample %v with label %v, want %v with %v", row, label, want, time)
	}
}

// followTracked notes which object was drawn, and which ghost was forgotten: there are at most as many ghosts as
// residents, and one.
func followTracked(t *rapid.T, p *threeL, tracked map[policies.Object]*history3L, resident map[policies.Object]bool) {
	for o, h := range tracked {
		if !p.tracked.Has(o) {
			if resident[o] {
				t.Fatalf("resident %d is not tracked", o)
			}
			delete(tracked, o)
			continue
		}
		h.sampled = int(p.sampled[o])
	}
	if ghosts := len(tracked) - len(resident); ghosts > len(resident)+1 {
		t.Fatalf("%d ghosts of %d residents", ghosts, len(resident))
	}
}

// evict3L serves an eviction, and says what decided it.
func evict3L(t *rapid.T, p *threeL, r policies.Request, resident map[policies.Object]bool) (kind string) {
	oldest, _ := p.lists.Back(residentList)
	for o := range resident {
		if p.last[o] < p.last[oldest] {
			t.Fatalf("object %d was requested before %d, the end of the list", o, oldest)
		}
	}
	v := p.Victim(r)
	if !resident[v] {
		t.Fatalf("object %d is evicted, and not resident", v)
	}
	delete(resident, v)
	if p.learner.model == nil {
		if v != oldest {
			t.Fatalf("object %d is evicted without a model, want %d", v, oldest)
		}
		return "oldest"
	}
	for _, o := range p.candidates {
		if p.predicted.Has(o) && !resident[o] {
			t.Fatalf("object %d has a prediction, and is not resident", o)
		}
	}
	return "model"
}

// What returns is told from what does not.
func TestThreeLLearnsWhatReturns(t *testing.T) {
	objects, count := scans(30_000)
	for _, objective := range []string{byteMissRatio, objectMissRatio} {
		d := policytest.Drive(t, "3l-cache(first-batch=500,objective="+objective+")", policies.Config{Capacity: 30,
			Unit: true, Objects: count, Requests: len(objects), Seed: 1})
		hits, regular := 0, 0
		for i, o := range objects {
			hit, _ := d.Serve(o, 1, i)
			if 2*i > len(objects) && o < 20 {
				regular++
				if hit {
					hits++
				}
			}
		}
		if hits < regular*90/100 {
			t.Errorf("%s: %d hits of %d requests to objects that return, want 90%%; LRU has none", objective, hits, regular)
		}
	}
}
