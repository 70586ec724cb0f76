package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestFilter(t *testing.T) {
	f := mustParse(t, `
traces: [{name: a, file: a.csv}, {name: b, file: b.csv}]
policies: [lru, random, {policy: s3fifo, with: {small: [0.1, 0.2]}}, opt]
capacities: 1%, 2%
seeds: 2
`)
	all := mustExpand(t, f)
	for _, test := range []struct{ only, want string }{
		{"policy=lru trace=a capacity=2%", "a 2% lru seed=0\na 2% opt seed=0 (auxiliary)"},
		{"policy=opt trace=b capacity=1%", "b 1% opt seed=0"},
		{"policy=opt,trace!=a,capacity<2%", "b 1% opt seed=0"},
		{"policy=random,opt trace=a capacity=1%", "a 1% random seed=0\na 1% random seed=1\na 1% opt seed=0"},
		{"seed=1 trace=a capacity=1%", "a 1% lru seed=0\na 1% random seed=1\na 1% s3fifo seed=0 small=0.1\na 1% s3fifo " +
			"seed=0 small=0.2\na 1% opt seed=0"},
		// A policy without random choices runs once for all seeds, and a cell without such an axis is the same at every place
		// on it.
		{"small=0.2 trace=a capacity=1% seed=0", "a 1% lru seed=0\na 1% random seed=0\na 1% s3fifo seed=0 small=0.2\na 1% " +
			"opt seed=0"},
	} {
		f.Only = strings.Fields(test.only)
		cells := mustExpand(t, f)
		if got := strings.Join(summary(cells), "\n"); got != test.want {
			t.Errorf("--only %s gives\n%s\nwant\n%s", test.only, got, test.want)
		}
		for i, c := range cells {
			if c.Number != i {
				t.Errorf("cell %d has number %d", i, c.Number)
			}
			if !slices.ContainsFunc(all, func(other Cell) bool { return other.Hash == c.Hash }) {
				t.Errorf("--only %s changes the hash of %s", test.only, c.Label)
			}
		}
	}
	for only, want := range map[string]string{
		"policy":  "want a dimension and its places, for example policy=lru,arc",
		"policy=": "want a dimension and its places",
		"polcy=lru": `unknown dimension "polcy"; did you mean "policy"? (exists: trace, policy, capacity, ` +
			`seed, small)`,
		"policy=lur":                `unknown policy "lur"; did you mean "lru"? (exists: lru, random, s3fifo, opt)`,
		"capacity=3%":               `unknown capacity "3%"`,
		"policy=lru policy=random":  "no cell matches all of them at once",
		"small=0.3":                 `unknown small "0.3"`,
		"policy=s3fifo(small=0.1":   "unbalanced parentheses",
		"policy=random,lru seed=11": `unknown seed "11"`,
		"capacity<64MiB":            "64MiB is not a number",
		"capacity>50%":              "no capacity is > 50% (exists: 1%, 2%)",
	} {
		must.NotGet(Filter(all, strings.Fields(only)))(t, want, only)
	}
}
