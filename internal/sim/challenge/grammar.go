package challenge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Workload is phases of requests, one after the other.
type Workload []phase

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

// kinds are the generators of phases; those that are there twice are drawn twice as often.
var kinds = []string{"zipf", "zipf", "zipf-drift", "zipf-scan", "loop", "loop", "zigzag", "uniform", "scan"}

// mostPhases is how many phases a workload has at most.
const mostPhases = 5

// grammar draws workloads for a cache.
type grammar struct {
	*rand.Rand
	Options
}

func (g grammar) workload() Workload {
	w := make(Workload, 1+g.IntN(mostPhases))
	for i := range w {
		w[i] = g.phase()
	}
	return g.fitted(w)
}

// phase draws a phase whose objects are half as many to 30 times as many as fit.
func (g grammar) phase() phase {
	p := phase{kind: kinds[g.IntN(len(kinds))]}
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

// between draws a whole number whose logarithm is uniform.
func (g grammar) between(low, high int) int {
	return int(math.Round(float64(low) * random.Exp(g.Float64()*random.Log(float64(high)/float64(low)))))
}

// change returns a workload that differs in one phase: it is new, gone, there again, or has another length.
func (g grammar) change(w Workload) Workload {
	w = slices.Clone(w)
	at := g.IntN(len(w))
	switch change := g.IntN(5); {
	case change == 0 && len(w) > 1:
		w = slices.Delete(w, at, at+1)
	case change == 1 && len(w) < mostPhases:
		w = slices.Insert(w, at, g.phase())
	case change == 2 && len(w) < mostPhases:
		w = append(w, w[at])
	case change == 3:
		w[at].requests = g.between(min(2*g.Capacity, g.Requests), g.Requests)
	default:
		fresh := g.phase()
		fresh.kind, fresh.requests = w[at].kind, w[at].requests
		w[at] = fresh
	}
	return g.fitted(w)
}

// least is the number of requests of a workload, at least. In a shorter one a policy that starts badly would be found
// before one that stays bad.
func (o Options) least() int { return max(1, o.Requests/2) }

// fitted changes the lengths of phases in proportion, so that they are together as long as a workload may be.
func (g grammar) fitted(w Workload) Workload {
	sum := w.Requests()
	want := max(min(sum, g.Requests), g.least())
	for i := range w {
		if want != sum {
			w[i].requests = max(1, int(float64(w[i].requests)*float64(want)/float64(sum)))
		}
	}
	return w
}

// Requests is the length of the workload.
func (w Workload) Requests() (n int) {
	for _, p := range w {
		n += p.requests
	}
	return n
}

// Generator returns the workload as one of the generators that commands read, with a seed.
func (w Workload) Generator(seed uint64) string {
	parts := make([]string, len(w))
	for i, p := range w {
		parts[i] = fmt.Sprintf("%s:%d", p.generator(), p.requests)
	}
	return fmt.Sprintf("mixed(phases=%s,requests=%d,seed=%d)", strings.Join(parts, ";"), w.Requests(), seed)
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
