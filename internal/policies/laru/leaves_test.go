package laru

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// naiveLeaves is what onLeaves documents, with a list and maps.
type naiveLeaves struct {
	predictor  predict.Predictor
	b          float64
	decayEvery int

	order   []policies.Object // resident, least recently used first
	held    map[policies.Object]bool
	o, e    map[policies.Object]bool // as in algorithm 1 of LCR
	power   float64                  // 1/lambda
	n14     int
	missing []policies.Object // of the group, until the first eviction for it
	current []policies.Object // the residents of the group
	credit  int
	figures figures
}

func (n *naiveLeaves) begin(hits, missing []policies.Object) {
	n.current, n.missing, n.credit = slices.Clone(hits), missing, 0
}

func (n *naiveLeaves) request(o policies.Object, pos int) {
	delete(n.o, o)
	n.load(o)
	n.predictor.Observe(o, pos)
}

func (n *naiveLeaves) load(o policies.Object) {
	n.order = append(slices.DeleteFunc(n.order, func(x policies.Object) bool { return x == o }), o)
}

// leaves returns the objects that may leave, least recently used first.
func (n *naiveLeaves) leaves() (leaves []policies.Object) {
	for _, o := range n.order {
		if !n.held[o] {
			leaves = append(leaves, o)
		}
	}
	return leaves
}

func (n *naiveLeaves) victim(pos int) policies.Object {
	if len(n.o) == 0 {
		n.o, n.e, n.power, n.n14, n.credit = map[policies.Object]bool{}, map[policies.Object]bool{}, 1, 0, 0
		for _, o := range n.order {
			if !slices.Contains(n.current, o) {
				n.o[o] = true
			}
		}
		n.figures.Phases++
	}
	for _, o := range n.missing {
		if n.e[o] && !slices.Contains(n.order, o) { // free room costs nothing, as in the exact cache
			n.credit++
		}
	}
	n.missing = nil
	n.figures.Lambda += 1 / n.power
	leaves := n.leaves()
	candidates := n.candidates(leaves)
	switch {
	case n.credit > 0:
		n.credit--
		n.figures.Fallbacks++
		if n.n14++; n.n14 == n.decayEvery {
			n.power, n.n14 = n.power*n.b, 0
		}
		return n.remove(leaves[0])
	case len(candidates) == 1:
		n.figures.ByRecency++
		return n.remove(leaves[0])
	}
	n.figures.ByPrediction++
	v := n.remove(n.latest(candidates, pos))
	n.e[v] = true
	return v
}

// giveUp returns what leaves without a request.
func (n *naiveLeaves) giveUp(pos int) policies.Object {
	return n.remove(n.latest(n.candidates(n.leaves()), pos))
}

func (n *naiveLeaves) candidates(leaves []policies.Object) []policies.Object {
	return leaves[:max(1, int(float64(len(leaves))/n.power))]
}

func (n *naiveLeaves) latest(candidates []policies.Object, pos int) policies.Object {
	next := make([]float64, len(candidates))
	n.predictor.Predict(candidates, pos, next)
	return candidates[slices.Index(next, slices.Max(next))]
}

func (n *naiveLeaves) remove(o policies.Object) policies.Object {
	delete(n.o, o)
	delete(n.e, o)
	n.order = slices.DeleteFunc(n.order, func(x policies.Object) bool { return x == o })
	return o
}

// byGroup changes its mind with every group, and has ties.
type byGroup struct {
	seed   uint64
	groups []int
}

func (byGroup) Observe(policies.Object, int) {}

func (g byGroup) Predict(objects []policies.Object, pos int, next []float64) {
	group, found := slices.BinarySearch(g.groups, pos)
	if !found {
		group--
	}
	for i, o := range objects {
		next[i] = float64(rand.New(rand.NewPCG(g.seed+uint64(o), uint64(group))).IntN(30))
	}
}

func (byGroup) Steady() bool { return false }

// leavesRun replays groups through the policy and naive, which must evict the same.
type leavesRun struct {
	t        *testing.T
	name     string
	policy   *onLeaves
	naive    *naiveLeaves
	rng      *rand.Rand
	capacity int
	running  [][]policies.Object // groups whose objects are held
}

// TestLeavesEqualTheDocumentedRules has groups of which some stay held while others run, as running prompts do, objects
// that are loaded without a request, and capacities that change.
func TestLeavesEqualTheDocumentedRules(t *testing.T) {
	var total figures
	for run := range brief.Of(200, 60) {
		rng := rand.New(rand.NewPCG(uint64(run), 3))
		capacity := 4 + rng.IntN(60)
		if run%10 == 0 {
			capacity = 150 + rng.IntN(100)
		}
		objects, count := randomTrace(rng, 300+rng.IntN(1500), 2+capacity*(1+rng.IntN(3)))
		groups := groupsOf(rng, objects)
		b, decay := []float64{2, 1.5, 3}[rng.IntN(3)], 1+rng.IntN(3)
		asked := predictions[rng.IntN(len(predictions))]
		newPredictor := func() predict.Predictor {
			switch run % 4 {
			case 0:
				return byGroup{uint64(run), groups}
			case 1:
				return unsteady{predictor(t, asked, objects, count)}
			}
			return predictor(t, asked, objects, count)
		}
		policy := must.Get(newOnLeaves(policies.Config{
			Capacity: int64(capacity), Unit: true, Objects: count, Holds: true, Predictor: newPredictor(),
			Params: parse(t, fmt.Sprintf("laru(b=%v,decay=%d)", b, decay)),
		}))(t)
		l := leavesRun{
			t: t, name: fmt.Sprintf("run %d, capacity %d, b %v, decay %d, %s", run, capacity, b, decay, asked),
			policy: policy, rng: rng, capacity: capacity,
			naive: &naiveLeaves{predictor: newPredictor(), b: b, decayEvery: decay, power: 1,
				held: map[policies.Object]bool{}},
		}
		for i, first := range groups {
			end := len(objects)
			if i+1 < len(groups) {
				end = groups[i+1]
			}
			l.group(objects[first:end], first)
			l.between(count, end-1)
		}
		l.checkFigures()
		total.Fallbacks += policy.figures.Fallbacks
		total.ByPrediction += policy.figures.ByPrediction
		total.ByRecency += policy.figures.ByRecency
	}
	if total.Fallbacks < 1000 || total.ByPrediction < 1000 || total.ByRecency < 1000 {
		t.Errorf("too little is tested: %+v", total)
	}
}

// groupsOf cuts a trace into groups without duplicates and returns where each begins.
func groupsOf(rng *rand.Rand, objects []policies.Object) (groups []int) {
	first, length := 0, 0
	for i, o := range objects {
		if i >= first+length || slices.Contains(objects[first:i], o) {
			first, length = i, 1+rng.IntN(8)
			groups = append(groups, i)
		}
	}
	return groups
}

// group requests the objects of a group, first those that are resident, and holds them.
func (l *leavesRun) group(objects []policies.Object, pos int) {
	var hits, missing []policies.Object
	for _, o := range objects {
		if slices.Contains(l.naive.order, o) {
			hits = append(hits, o)
		} else {
			missing = append(missing, o)
		}
	}
	holds := slices.Clone(hits)
	for _, o := range hits {
		l.hold(o)
	}
	room := max(0, l.capacity-len(l.naive.held))
	missing = missing[:min(len(missing), room)]
	for _, o := range hits {
		l.policy.Hit(policies.Request{Object: o, Pos: pos, Size: 1})
		l.naive.request(o, pos)
		pos++
	}
	if len(missing) > 0 {
		l.policy.MissGroup(missing, len(hits))
	}
	l.naive.begin(hits, missing)
	for _, o := range missing {
		r := policies.Request{Object: o, Pos: pos, Size: 1}
		l.policy.Miss(r)
		if len(l.naive.order) == l.capacity {
			l.same(l.policy.Victim(r), l.naive.victim(pos), pos)
		}
		l.policy.Insert(r)
		l.naive.request(o, pos)
		l.naive.current = append(l.naive.current, o)
		l.naive.held[o] = true
		holds = append(holds, o)
		pos++
	}
	l.running = append(l.running, holds)
}

// between ends some of the running groups, and now and then loads an object or changes the capacity.
func (l *leavesRun) between(count, pos int) {
	for len(l.running) > 0 && (l.rng.IntN(3) > 0 || len(l.naive.held) > l.capacity/2) {
		ended := l.running[0]
		l.running = l.running[1:]
		for _, o := range ended {
			l.release(o)
		}
	}
	switch l.rng.IntN(12) {
	case 0:
		l.prefetch(policies.Object(l.rng.IntN(count)), pos)
	case 1:
		l.capacity = max(2, l.capacity+l.rng.IntN(9)-4)
		l.policy.Resize(int64(l.capacity))
		r := policies.Request{Object: policies.NoObject, Pos: pos, Reason: policies.Shrink}
		for len(l.naive.order) > l.capacity && len(l.naive.leaves()) > 0 {
			l.same(l.policy.Victim(r), l.naive.giveUp(pos), pos)
		}
		l.capacity = max(l.capacity, len(l.naive.order))
		l.policy.Resize(int64(l.capacity))
	}
}

// prefetch loads an object that is not requested and may leave at once.
func (l *leavesRun) prefetch(o policies.Object, pos int) {
	if slices.Contains(l.naive.order, o) {
		return
	}
	r := policies.Request{Object: o, Pos: pos, Size: 1, Reason: policies.Prefetch}
	if len(l.naive.order) == l.capacity {
		if len(l.naive.leaves()) == 0 {
			return
		}
		l.same(l.policy.Victim(r), l.naive.giveUp(pos), pos)
	}
	l.policy.Insert(r)
	l.naive.load(o)
	l.policy.Release(o)
}

func (l *leavesRun) hold(o policies.Object) {
	if !l.naive.held[o] {
		l.policy.Hold(o)
		l.naive.held[o] = true
	}
}

// release releases o unless another running group holds it.
func (l *leavesRun) release(o policies.Object) {
	if !slices.ContainsFunc(l.running, func(g []policies.Object) bool { return slices.Contains(g, o) }) {
		l.policy.Release(o)
		delete(l.naive.held, o)
	}
}

func (l *leavesRun) same(got, want policies.Object, pos int) {
	l.t.Helper()
	if got != want {
		l.t.Fatalf("%s: at request %d it evicts %d, the documented rules evict %d", l.name, pos, got, want)
	}
}

func (l *leavesRun) checkFigures() {
	l.t.Helper()
	got, want := l.policy.figures, l.naive.figures
	if math.Abs(got.Lambda-want.Lambda) > 1e-9*(1+want.Lambda) {
		l.t.Fatalf("%s: sum of lambda %v, want %v", l.name, got.Lambda, want.Lambda)
	}
	if got.Lambda = want.Lambda; got != want {
		l.t.Fatalf("%s: figures %+v, want %+v", l.name, got, want)
	}
}
