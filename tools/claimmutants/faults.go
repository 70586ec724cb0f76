package main

import (
	"fmt"
	"slices"
)

// The experiments of systems: names, and how several names begin ("qsac-").
var (
	qsac    = []string{"qsac-"}
	racs    = []string{"rac-"}
	classic = []string{"classic-block", "mrc-lru", "two-optima", "zipf-skew"}
	prompts = []string{"mooncake-", "engines-", "lmcache-", "routers", "routers-"}
	routers = []string{"routers", "routers-"}
)

// The experiments that run a system, or one part of it.
var (
	reuses = []string{"qsac-fig9", "qsac-fig10", "qsac-fig12a", "qsac-published", "qsac-real", "qsac-table2",
		"qsac-table3a", "qsac-table3b", "qsac-tradeoff"}
	laruAlone    = []string{"laru-fig5", "laru-fig6", "laru-semantic"}
	laruInSets   = []string{"laru-fig9", "laru-fig10", "laru-parts"}
	laruInLeaves = []string{"laru-fig11", "laru-fig12", "laru-fig13"}
	// Dialogues that are generated have topics so far apart that a threshold does not matter: rac-factors.
	racsThatRoute = []string{"rac-adaptive", "rac-false-hits", "rac-fig2a", "rac-fig2b", "rac-fig3", "rac-fig4",
		"rac-fig5"}
	igtEvicts = []string{"igtcache-dlio-unet3d", "igtcache-fig2b", "igtcache-fig8", "igtcache-fig10",
		"igtcache-fig11", "igtcache-fig12", "igtcache-fig13", "igtcache-fig16", "igtcache-fig17", "igtcache-floors"}
	// The others have prefetch=off, or only igt beside another policy.
	igtPrefetches = []string{"igtcache-dlio-unet3d", "igtcache-fig2b", "igtcache-fig8", "igtcache-fig12",
		"igtcache-fig13", "igtcache-fig17", "igtcache-floors"}
	igtTests  = append([]string{"igtcache-fig6", "igtcache-fig9", "igtcache-fig14", "igtcache-fig15"}, igtEvicts...)
	hlemMoves = []string{"hlem-fig10", "hlem-fig11", "hlem-fig12", "hlem-fig13", "hlem-fig14", "hlem-fig15", "hlem-fig16",
		"hlem-fig17", "hlem-mixed", "hlem-real", "hlem-table3", "hlem-turns"}
	laruAnywhere = slices.Concat(laruAlone, laruInSets, laruInLeaves)
)

// faults are those that claims must notice: of the systems, and of what is recorded of them.
var faults = []fault{
	{"qsac-reuses-always", reuses, "internal/cache/kv/reuse/qsac.go",
		"Aggregate(r.kind, l.Similarities, r.weights) > r.tau", "Aggregate(r.kind, l.Similarities, r.weights) > -2"},
	{"qsac-ignores-importance", reuses, "internal/cache/kv/reuse/qsac.go",
		"weight := power(clamped(importance), p)", "weight := power(clamped(1), p)"},
	{"qsac-never-expires", []string{"qsac-real"}, "internal/cache/kv/reuse/qsac.go", "!l.expired(r.maxAge) && ", ""},
	{"laru-is-lru", laruAlone, "internal/policies/laru/laru.go",
		"if p.followed(p.wrong(o, pos), p.confidence.candidates, &p.figures) {",
		"if p.followed(p.wrong(o, pos), p.confidence.candidates, &p.figures) && p.capacity < 0 {"},
	{"laru-keeps-confidence", laruAnywhere, "internal/policies/laru/confidence.go", "\tc.power *= c.b\n", ""},
	{"laru-forgives", laruAlone, "internal/policies/laru/laru.go",
		"func (p *laru) wrong(o policies.Object, pos int) bool {",
		"func (p *laru) wrong(o policies.Object, pos int) bool {\n\tif p.capacity > 0 {\n\t\treturn false\n\t}"},
	{"laru-in-leaves-is-lru", laruInLeaves, "internal/policies/laru/leaves.go",
		"if p.marks = p.followed(wrong, candidates, &p.figures); p.marks {",
		"if p.marks = p.followed(wrong, candidates, &p.figures) && p.credit < 0; p.marks {"},
	{"laru-in-sets-is-lru", laruInSets,
		"internal/policies/laru/insets.go", "if !one.followed(one.marked(o, mark), candidates, &p.figures) {",
		"if one.followed(one.marked(o, mark), candidates, &p.figures); true {"},
	{"predictions-reversed", append([]string{"learned-"}, laruAnywhere...), "internal/oracle/predict/predictor.go",
		"\tif c.cost.Calls++; c.cost.Calls%timedEvery != 0 {\n\t\tc.Predictor.Predict(objects, pos, next)\n",
		"\tif c.cost.Calls++; c.cost.Calls%timedEvery != 0 {\n\t\tc.Predictor.Predict(objects, pos, next)\n" +
			"\t\tfor i, j := 0, len(next)-1; i < j; i, j = i+1, j-1 {\n\t\t\tnext[i], next[j] = next[j], next[i]\n\t\t}\n"},
	{"rac-threshold-ignored", racsThatRoute, "internal/policies/rac/policy.go",
		"newTopicIndex(c, s.tauRoute)", "newTopicIndex(c, 0.01)"},
	{"arc-frozen", []string{"classic-block", "zipf-skew"}, "internal/policies/adaptive/arc.go",
		"func (p *arcState) adapt(r policies.Request) {",
		"func (p *arcState) adapt(r policies.Request) {\n\tif p.capacity > 0 {\n\t\treturn\n\t}"},
	{"prefixes-not-found", routers, "internal/serving/route/prefixaware.go",
		"\treturn matchedTokens(p, blocks, t.blockTokens), node\n", "\treturn 0, node\n"},
	{"rac-tells-no-hits", racs, "internal/policies/rac/policy.go",
		"\tp.withdraw(o) // while what the heap orders it by changes\n\tp.touch(o, true)\n",
		"\tp.withdraw(o) // while what the heap orders it by changes\n"},
	{"rac-protects-nothing", racs, "internal/policies/rac/entry.go",
		"protectNew:        v.Bool(\"protect-new\"),", "protectNew: false,"},
	{"igtcache-random-is-lru", igtEvicts, "internal/cache/igtcache/eviction.go",
		"return e.pattern == streams.Random && !e.options.always", "return false"},
	{"igtcache-keeps-what-is-read", igtEvicts, "internal/cache/igtcache/eviction.go",
		"return e.pattern == streams.Sequential && !e.options.always", "return false"},
	{"igtcache-frozen", igtEvicts, "internal/cache/igtcache/rounds.go",
		"func (s *system) apply(capacities []int64) {",
		"func (s *system) apply(capacities []int64) {\n\tif len(capacities) >= 0 {\n\t\treturn\n\t}"},
	{"igtcache-prefetches-nothing", igtPrefetches, "internal/cache/igtcache/igtcache.go",
		"func (p proposer) Request(a prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {",
		"func (p proposer) Request(a prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {\n" +
			"\tif len(proposals) >= 0 {\n\t\treturn proposals\n\t}"},
	{"igtcache-threshold-doubled", igtTests, "internal/cache/streams/statistic.go",
		"return math.Sqrt(-math.Log(alpha/2)/2) /", "return 2 * math.Sqrt(-math.Log(alpha/2)/2) /"},
	{"next-file-proposes-nothing", []string{"igtcache-fig2a"}, "internal/cache/prefetch/next.go",
		"for block := range blocks {\n\t\t\tkey := x.layout.Address",
		"for block := range 0 * blocks {\n\t\t\tkey := x.layout.Address"},
	{"hlem-never-moves", hlemMoves, "internal/serving/hlem/controllers/controllers.go", "\t\t\tn.ratio = r\n", ""},
	{"hlem-without-adapter", hlemMoves, "internal/serving/hlem/controllers/hlem.go",
		" + h.adapter.correct(state, action)", ""},
	{"hlem-without-recovery", hlemMoves, "internal/serving/hlem/controllers/hlem.go",
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
	recorded("misses-1%-more", everything, `scale(r, "misses", 1.01)`),
	recorded("token-hit-ratios-1%-less", prompts, `scale(r, "token_hit_ratio", 0.99)`),
	recorded("throughput-10%-less", slices.Concat(routers, qsac), `scale(r, "throughput", 0.9)`),
	recorded("layers-10%-longer", qsac, `scale(r, "layer_ms", 1.1)`),
	recorded("loads-5%-fewer", qsac, `scale(r, "loaded_per_set", 0.95)`),
	recorded("imbalance-10%-less", routers, `scale(r, "imbalance", 0.9)`),
	swapped("rac", "lru", racs...),
	swapped("rac", "no-tsi", "rac-fig4"),
	swapped("arc", "lru", "classic-block", "zipf-skew"),
	swapped("s3fifo", "lru", "classic-block", "zipf-skew"),
	swapped("lirs", "arc", "classic-block", "zipf-skew"),
	swapped("opt", "opt-bypass", "classic-block", "two-optima"),
	swapped("laru", "lru", "laru-fig10", "laru-fig11", "laru-fig12", "laru-fig13", "laru-fig5", "laru-fig6", "laru-fig9",
		"laru-semantic"),
	swapped("laru", "fpb", "laru-fig10", "laru-fig11", "laru-fig13", "laru-fig5", "laru-fig6", "laru-fig9",
		"laru-semantic"),
	swapped("lru", "lfu", "mooncake-table1"),
	swapped("one-set", "lru", "qsac-real"),
	swapped("qsac", "threshold", "qsac-tradeoff"),
	swapped("litecache", "retroinfer", "qsac-fig10", "qsac-fig9", "qsac-table2"),
	swapped("hlem", "balance", "hlem-mixed", "hlem-real", "hlem-table3"),
	swapped("igtcache", "lru", "igtcache-dlio-unet3d", "igtcache-fig10"),
	swapped("igtcache", "juicefs", "igtcache-fig12", "igtcache-fig16", "igtcache-fig8"),
}

// everything is how the names of all experiments begin.
var everything = []string{""}

// swapped is a fault that confuses two policies, in experiments that have both.
func swapped(a, b string, experiments ...string) fault {
	return recorded(a+"-swapped-with-"+b, experiments, fmt.Sprintf(`switch r.Label {
		case %[1]q:
			r.Label = %[2]q
		case %[2]q:
			r.Label = %[1]q
		}`, a, b))
}

// recordsFile is where records go to claims.
const recordsFile = "internal/experiment/report/report.go"

// recorded is a fault in each record that claims see.
func recorded(name string, experiments []string, change string) fault {
	return fault{name, experiments, recordsFile,
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
