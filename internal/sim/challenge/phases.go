package challenge

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// phases are a workload of requests to single objects, one phase after the other.
type phases []phase

// phase is requests of one generator. Popularity, where it has one, is by Zipf's law.
type phase struct {
	kind     string
	requests int
	objects  int
	alpha    float64
	period   int     // zipf-drift: requests until ranks move
	shift    int     // zipf-drift: by how many
	share    float64 // zipf-scan: of the requests that belong to scans
	length   int     // zipf-scan: of a scan
	again    int     // zipf-scan: objects that scans go through in turn; 0: they request new ones
}

// phaseKinds are the generators of phases; those that are there twice are drawn twice as often.
var phaseKinds = []string{"zipf", "zipf", "zipf-drift", "zipf-scan", "loop", "loop", "zigzag", "uniform", "scan"}

// mostPhases is how many phases a workload has at most.
const mostPhases = 5

func drawPhases(g draws) Workload {
	w := make(phases, 1+g.IntN(mostPhases))
	for i := range w {
		w[i] = drawPhase(g)
	}
	return w.fitted(g)
}

// drawPhase draws a phase whose objects are half as many to 30 times as many as fit.
func drawPhase(g draws) phase {
	p := phase{kind: phaseKinds[g.IntN(len(phaseKinds))]}
	p.requests = g.between(min(2*g.Capacity, g.Requests), g.Requests)
	p.objects = g.between(max(1, g.Capacity/2), 30*g.Capacity)
	p.alpha = math.Round(20*(0.4+g.Float64())) / 20
	p.period = g.between(max(1, g.Capacity/4), 20*g.Capacity)
	p.shift = g.between(1, max(1, p.objects/4))
	p.share = math.Round(20*(0.1+float64(0.6*g.Float64()))) / 20
	p.length = g.between(max(1, g.Capacity/4), 4*g.Capacity)
	if g.IntN(2) == 0 {
		p.again = g.between(max(1, g.Capacity/2), 4*g.Capacity)
	}
	return p
}

// changed implements Workload: a phase is new, gone, there again, or has another length.
func (w phases) changed(g draws) Workload {
	w = slices.Clone(w)
	at := g.IntN(len(w))
	switch change := g.IntN(5); {
	case change == 0 && len(w) > 1:
		w = slices.Delete(w, at, at+1)
	case change == 1 && len(w) < mostPhases:
		w = slices.Insert(w, at, drawPhase(g))
	case change == 2 && len(w) < mostPhases:
		w = append(w, w[at])
	case change == 3:
		w[at].requests = g.between(min(2*g.Capacity, g.Requests), g.Requests)
	default:
		fresh := drawPhase(g)
		fresh.kind, fresh.requests = w[at].kind, w[at].requests
		w[at] = fresh
	}
	return w.fitted(g)
}

// fitted changes the lengths of phases in proportion, so that they are together as long as a workload may be.
func (w phases) fitted(g draws) phases {
	sum := w.requests()
	want := max(min(sum, g.Requests), g.least())
	for i := range w {
		if want != sum {
			w[i].requests = max(1, int(float64(w[i].requests)*float64(want)/float64(sum)))
		}
	}
	return w
}

func (w phases) requests() (n int) {
	for _, p := range w {
		n += p.requests
	}
	return n
}

// simpler implements Workload: a phase is gone, or half as long.
func (w phases) simpler(at int) (all []Workload, ok bool) {
	if at >= len(w) {
		return nil, false
	}
	if len(w) > 1 {
		all = append(all, slices.Delete(slices.Clone(w), at, at+1))
	}
	if w[at].requests > 1 {
		half := slices.Clone(w)
		half[at].requests /= 2
		all = append(all, half)
	}
	return all, true
}

// Generator implements Workload.
func (w phases) Generator(seed uint64) string {
	parts := make([]string, len(w))
	for i, p := range w {
		parts[i] = fmt.Sprintf("%s:%d", p.generator(), p.requests)
	}
	return fmt.Sprintf("mixed(phases=%s,requests=%d,seed=%d)", strings.Join(parts, ";"), w.requests(), seed)
}

func (p phase) generator() string {
	switch p.kind {
	case "scan":
		return "scan"
	case "zipf":
		return fmt.Sprintf("zipf(objects=%d,alpha=%g)", p.objects, p.alpha)
	case "zipf-drift":
		return fmt.Sprintf("zipf-drift(objects=%d,alpha=%g,period=%d,shift=%d)", p.objects, p.alpha, p.period, p.shift)
	case "zipf-scan":
		return fmt.Sprintf("zipf-scan(objects=%d,alpha=%g,scan-share=%g,scan-length=%d,scan-objects=%d)", p.objects, p.alpha,
			p.share, p.length, p.again)
	}
	return fmt.Sprintf("%s(objects=%d)", p.kind, p.objects)
}
