package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
)

// naive evaluates claims literally, as docs/claims.md describes them: it looks through all records for every place,
// without indexes or joins.
type naive struct {
	recs    []records.Record
	group   []string
	noisy   bool     // a policy of the claim has places on noise
	without []uint64 // seeds whose records are left out where there are others
}

// place is a trace, a capacity and, if noisy, a noise.
type place [3]string

var naivePolicies = []string{"a", "b", "c"}

// drawRecords makes records of three policies: some are missing, c has the axis noise, and b three seeds.
func drawRecords(t *rapid.T) (recs []records.Record) {
	add := func(r records.Record) {
		if rapid.IntRange(0, 3).Draw(t, "present") > 0 {
			r.SetInt(metric.Requests, 6)
			r.SetInt(metric.Hits, int64(rapid.IntRange(0, 6).Draw(t, "hits")))
			r.SetInt(metric.Misses, r.Int(metric.Requests)-r.Int(metric.Hits))
			r.Set(metric.HitRatio, float64(r.Int(metric.Hits))/6)
			r.Kind = "online"
			recs = append(recs, r)
		}
	}
	for _, trace := range []string{"x", "y"} {
		for capacity := range int64(2) {
			r := records.Record{Trace: trace, Capacity: capacity + 1, Label: "a"}
			add(r)
			r.Label = "b"
			add(r)
			for r.Seed = 1; r.Seed < 3; r.Seed++ {
				add(r)
			}
			r.Label, r.Seed = "c", 0
			for _, noise := range []string{"noise=0", "noise=0.5"} {
				r.Axes = noise
				add(r)
			}
		}
	}
	return recs
}

func (n naive) at(policy string, p place) (matching []records.Record) {
	for _, r := range n.recs {
		capacity, _ := r.Dim("capacity")
		noise, hasNoise := r.Dim("noise")
		if r.Label == policy && r.Trace == p[0] && capacity.Text == p[1] && (!hasNoise || noise.Text == p[2]) {
			matching = append(matching, r)
		}
	}
	return matching
}

// places lists the places where all policies of the claim have records.
func (n naive) places(policies []string) (all []place) {
	noises := []string{""}
	if n.noisy {
		noises = []string{"0", "0.5"}
	}
	for _, trace := range []string{"x", "y"} {
		for _, capacity := range []string{"1", "2"} {
			for _, noise := range noises {
				p := place{trace, capacity, noise}
				if !slices.ContainsFunc(policies, func(policy string) bool { return len(n.at(policy, p)) == 0 }) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// value computes an expression at a place, for policy where it stands within "over g of". ok is false where it divides
// by zero.
func (n naive) value(x expr, p place, all []place, policy string) (v float64, ok bool) {
	switch x := x.(type) {
	case number:
		return x.value, true
	case name:
		return n.metric(string(x), policy, p), true
	case figure:
		return n.metric(x.name, x.policy, p), true
	case operation:
		left, leftOK := n.value(x.left, p, all, policy)
		right, rightOK := n.value(x.right, p, all, policy)
		return map[byte]float64{'+': left + right, '-': left - right, '*': left * right, '/': left / right}[x.op], leftOK &&
			rightOK && (x.op != '/' || right != 0)
	case over:
		return n.over(x, p, all, policy)
	}
	panic(fmt.Sprintf("%T", x))
}

func (n naive) metric(metric, policy string, p place) float64 {
	total := 0.0
	matching := n.at(policy, p)
	rest := slices.DeleteFunc(slices.Clone(matching), func(r records.Record) bool {
		return slices.Contains(n.without, r.Seed)
	})
	if len(matching) == 1 || len(rest) == 0 {
		rest = matching
	}
	for _, r := range rest {
		x, _ := r.Metric(metric)
		total += x
	}
	return total / float64(len(rest))
}

func (n naive) over(x over, p place, all []place, policy string) (float64, bool) {
	var values []float64
	allOK := true
	add := func(p place, policy string) {
		v, ok := n.value(x.of, p, all, policy)
		values, allOK = append(values, v), allOK && ok
	}
	if x.names[0] == "g" {
		for _, member := range n.group {
			add(p, member)
		}
	} else {
		for _, other := range all {
			if other[1] == p[1] && other[2] == p[2] {
				add(other, policy)
			}
		}
	}
	slices.Sort(values)
	switch x.take {
	case "min":
		return values[0], allOK
	case "max":
		return values[len(values)-1], allOK
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total / float64(len(values)), allOK
}

func drawNaiveExpr(t *rapid.T, depth int, open bool) expr {
	kinds := []string{"figure", "figure", "number", "operation", "over g", "over trace"}
	if open {
		kinds = append(kinds, "name", "name")
	}
	if depth == 0 {
		kinds = []string{"figure"}
	}
	metric := rapid.SampledFrom([]string{"hits", "misses", "hit_ratio"})
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "name":
		return name(metric.Draw(t, "metric"))
	case "number":
		return number{"3", 3}
	case "operation":
		return operation{rapid.SampledFrom([]byte("+-*/")).Draw(t, "op"), drawNaiveExpr(t, depth-1, open), drawNaiveExpr(t,
			depth-1, open)}
	case "over g":
		return over{rapid.SampledFrom([]string{"min", "max", "mean"}).Draw(t,
			"take"), []string{"g"}, drawNaiveExpr(t, depth-1, true)}
	case "over trace":
		// One level only: for nested groups the naive reading would have to know which traces the outer one keeps.
		return over{rapid.SampledFrom([]string{"min", "max", "mean"}).Draw(t,
			"take"), []string{"trace"}, drawNaiveExpr(t, 0, open)}
	}
	return figure{metric.Draw(t, "metric"), rapid.SampledFrom(naivePolicies).Draw(t, "policy")}
}

func (n naive) judge(c comparison, policies []string) map[Verdict]int {
	all := n.places(policies)
	seeds := n.seedsOf(policies)
	verdicts := map[Verdict]int{}
	for _, p := range all {
		if difference, ok := n.difference(c, p, all); ok {
			verdicts[naiveVerdict(c.ops[0], difference, n.half(c, p, all, seeds))]++
		}
	}
	return verdicts
}

func (n naive) difference(c comparison, p place, all []place) (float64, bool) {
	left, leftOK := n.value(c.values[0], p, all, "")
	right, rightOK := n.value(c.values[1], p, all, "")
	return left - right, leftOK && rightOK
}

// seedsOf lists the seeds between which records of the policies differ.
func (n naive) seedsOf(policies []string) (seeds []uint64) {
	for _, policy := range policies {
		for _, p := range n.places([]string{policy}) {
			if matching := n.at(policy, p); len(matching) > 1 {
				for _, r := range matching {
					seeds = append(seeds, r.Seed)
				}
			}
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// half is half of the interval of the difference, from the differences without each of the seeds.
func (n naive) half(c comparison, p place, all []place, seeds []uint64) float64 {
	if len(seeds) < 2 {
		return 0
	}
	total, squares := 0.0, 0.0
	for _, seed := range seeds {
		less := n
		less.without = append(slices.Clone(n.without), seed)
		x, ok := less.difference(c, p, all)
		if !ok {
			return math.Inf(1)
		}
		total, squares = total+x, squares+x*x
	}
	k := float64(len(seeds))
	quantile := map[int]float64{2: 12.7062, 3: 4.30265}[len(seeds)] // of Student's t, from a table
	return quantile * math.Sqrt(max(0, (k-1)/k*(squares-total*total/k)))
}

func naiveVerdict(op string, difference, half float64) Verdict {
	const rounding = 1e-7
	if half < rounding {
		equal := math.Abs(difference) < rounding
		holds := map[string]bool{"==": equal, "!=": !equal, "<": !equal && difference < 0, "<=": equal || difference < 0,
			">": !equal && difference > 0, ">=": equal || difference > 0}[op]
		return map[bool]Verdict{true: Reproduced, false: Refuted}[holds]
	}
	switch below, above := difference+half < 0, difference-half > 0; {
	case !below && !above:
		return Undecided
	case op == "!=" || below && (op == "<" || op == "<=") || above && (op == ">" || op == ">="):
		return Reproduced
	}
	return Refuted
}

func TestEvaluateAgreesWithNaiveReading(t *testing.T) {
	verdicts := map[Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := naive{recs: drawRecords(t), group: rapid.SliceOfNDistinct(rapid.SampledFrom(naivePolicies), 1, 3,
			rapid.ID[string]).Draw(t, "group")}
		says := comparison{values: []expr{drawNaiveExpr(t, 3, false), drawNaiveExpr(t, 2, false)},
			ops: []string{rapid.SampledFrom(comparisons).Draw(t, "op")}}
		c, err := Parse((&Claim{says: says, share: 1}).String())
		if err != nil {
			t.Skip(err)
		}
		var policies []string
		for _, x := range c.says.operands() {
			policies = append(policies, policiesOf(x)...)
		}
		c.visitAll(func(x expr) {
			if o, ok := x.(over); ok && o.names[0] == "g" {
				policies = append(policies, n.group...)
			}
		})
		n.noisy = slices.Contains(policies, "c")
		at := n.judge(says, policies)
		want := NotTestable
		for _, verdict := range []Verdict{Reproduced, Undecided, Refuted} { // the last that occurs decides
			if at[verdict] > 0 {
				want = verdict
			}
		}
		got := c.Evaluate(NewData(Input{Records: n.recs, Groups: map[string][]string{"g": n.group}}))
		if got.Verdict != want {
			t.Fatalf("%s, g = %v: got %+v, want %s: %v", c, n.group, got, want, at)
		}
		verdicts[want]++
	})
	for _, verdict := range []Verdict{Reproduced, Refuted, Undecided} {
		seeded.Covers(t, verdicts[verdict] > 0, "no claim has the verdict %s: %v", verdict, verdicts)
	}
}

// The order of the records does not matter.
func TestEvaluateKnowsNoOrder(t *testing.T) {
	in := exampleInput(t)
	backwards := in
	backwards.Records = slices.Clone(in.Records)
	slices.SortStableFunc(backwards.Records, func(a, b records.Record) int { return cmp.Compare(b.Label, a.Label) })
	for _, text := range []string{"hit_ratio(arc) > hit_ratio(lru)", "hit_ratio(lru) never decreases with capacity",
		"hit_ratio(arc) is first among all"} {
		c := must.Get(Parse(text))(t)
		a, b := c.Evaluate(NewData(in)), c.Evaluate(NewData(backwards))
		if a.Verdict != b.Verdict || a.Held != b.Held || len(a.Points) != len(b.Points) {
			t.Errorf("%s: %+v and %+v", text, a, b)
		}
	}
}
