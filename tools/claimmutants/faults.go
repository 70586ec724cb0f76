package main

import "fmt"

// The systems, by how the names of their experiments begin.
var (
	qsac     = []string{"qsac-"}
	laru     = []string{"laru-"}
	racs     = []string{"rac-"}
	igtcache = []string{"igtcache-"}
	hlem     = []string{"hlem-"}
	classic  = []string{"classic-block", "mrc-lru", "two-optima", "zipf-skew"}
)

// faults are those that claims must notice: of the systems, and of what is recorded of them.
var faults = []fault{
	{"qsac-reuses-always", qsac, "internal/cache/kv/reuse/qsac.go",
		"Aggregate(r.kind, l.Similarities, r.weights) > r.tau", "Aggregate(r.kind, l.Similarities, r.weights) > -2"},
	{"qsac-ignores-importance", qsac, "internal/cache/kv/reuse/qsac.go",
		"weight := power(clamped(importance), p)", "weight := power(clamped(1), p)"},
	{"qsac-never-expires", qsac, "internal/cache/kv/reuse/qsac.go", "!l.expired(r.maxAge) && ", ""},
	{"laru-is-lru", laru, "internal/policies/laru/laru.go",
		"if p.followed(p.wrong(o, pos), p.confidence.candidates, &p.figures) {",
		"if p.followed(p.wrong(o, pos), p.confidence.candidates, &p.figures) && p.capacity < 0 {"},
	{"laru-keeps-confidence", laru, "internal/policies/laru/confidence.go", "\tc.power *= c.b\n", ""},
	{"laru-forgives", laru, "internal/policies/laru/laru.go",
		"func (p *laru) wrong(o policies.Object, pos int) bool {",
		"func (p *laru) wrong(o policies.Object, pos int) bool {\n\tif p.capacity > 0 {\n\t\treturn false\n\t}"},
	{"rac-tells-no-hits", racs, "internal/policies/rac/policy.go",
		"\tp.withdraw(o) // while what the heap orders it by changes\n\tp.touch(o, true)\n",
		"\tp.withdraw(o) // while what the heap orders it by changes\n"},
	{"rac-protects-nothing", racs, "internal/policies/rac/policy.go",
		"\tif !p.protectNew {\n\t\tp.add(o)", "\tif false {\n\t\tp.add(o)"},
	{"igtcache-random-is-lru", igtcache, "internal/cache/igtcache/eviction.go",
		"return e.pattern == streams.Random && !e.options.always", "return false"},
	{"igtcache-keeps-what-is-read", igtcache, "internal/cache/igtcache/eviction.go",
		"return e.pattern == streams.Sequential && !e.options.always", "return false"},
	{"igtcache-frozen", igtcache, "internal/cache/igtcache/rounds.go",
		"func (s *system) apply(capacities []int64) {",
		"func (s *system) apply(capacities []int64) {\n\tif len(capacities) >= 0 {\n\t\treturn\n\t}"},
	{"igtcache-prefetches-nothing", igtcache, "internal/cache/igtcache/igtcache.go",
		"func (p proposer) Request(a prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {",
		"func (p proposer) Request(a prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {\n" +
			"\tif len(proposals) >= 0 {\n\t\treturn proposals\n\t}"},
	{"hlem-never-moves", hlem, "internal/serving/hlem/controllers/controllers.go", "\t\t\tn.ratio = r\n", ""},
	{"hlem-without-adapter", hlem, "internal/serving/hlem/controllers/hlem.go",
		" + h.adapter.correct(state, action)", ""},
	{"hlem-without-recovery", hlem, "internal/serving/hlem/controllers/hlem.go",
		"h.recovery.override(w); ok {", "h.recovery.override(w); ok && ratio < 0 {"},
	recorded("lru-hits-3%-more", append(classic, racs...), `if r.Policy == "lru" {
			scale(r, "hits", 1.03)
			scale(r, "hit_ratio", 1.03)
		}`),
	recorded("hit-ratios-1%-more", everything, `scale(r, "hit_ratio", 1.01)`),
	recorded("hit-ratios-1%-less", everything, `scale(r, "hit_ratio", 0.99)`),
	recorded("times-10%-longer", everything, `for name := range r.Values.Names() {
			if strings.HasSuffix(name, "_ns") || strings.Contains(name, "latency") || strings.Contains(name, "completion") {
				scale(r, name, 1.1)
			}
		}`),
	swapped("rac", "lru", racs),
	swapped("arc", "lru", classic),
}

// everything is how the names of all experiments begin.
var everything = []string{""}

// swapped is a fault that confuses two policies.
func swapped(a, b string, experiments []string) fault {
	return recorded(a+"-swapped-with-"+b, experiments, fmt.Sprintf(`switch r.Label {
		case %[1]q:
			r.Label = %[2]q
		case %[2]q:
			r.Label = %[1]q
		}`, a, b))
}

// recorded is a fault in each record that claims see.
func recorded(name string, experiments []string, change string) fault {
	return fault{name, experiments, "internal/experiment/report/report.go",
		"func InputOf(s *sweep.Sweep, c *sweep.Collection, version string) Input {\n\trecs := c.Records\n",
		`func scale(r *records.Record, name string, by float64) {
	if x, ok := r.Values.Get(name); ok {
		r.SetNamed(name, by*x)
	}
}

var _ = strings.HasSuffix

func InputOf(s *sweep.Sweep, c *sweep.Collection, version string) Input {
	recs := c.Records
	for i := range recs {
		r := &recs[i]
		` + change + `
	}
`}
}
