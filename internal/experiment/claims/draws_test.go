package claims

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results"
)

// A claim that holds whatever is measured is found, even where no policy is compared with itself.
func TestClaimsThatCannotFail(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 30/100 x=1\nt a 1 40/100 x=2\nt b 1 20/100\n")}
	in.References = map[string]results.Published{"paper": {Points: []results.PublishedPoint{{Value: 793872}}}}
	for claim, want := range map[string]bool{
		"hit_ratio(a) > hit_ratio(b)":                               false,
		"hit_ratio(a) <= 1":                                         true,
		"hits(a) < paper":                                           true,
		"hits(a) < paper / 10000":                                   false,
		"misses(b) <= requests(b)":                                  false, // both are drawn
		"max over x of hit_ratio(a) >= hit_ratio(a at x = 2)":       true,
		"max over x of hit_ratio(a) > hit_ratio(a at x = 2)":        false,
		"max over a, b of hit_ratio >= hit_ratio(b)":                true,
		"abs(hit_ratio(a) - hit_ratio(b)) <= 1":                     true,
		"hit_ratio(a) > hit_ratio(b) at 1% of points":               false,
		"hits(b) / hits(a) > 10":                                    false, // and does not hold
		"hits(a) < capacity * 1000":                                 true,
		"hit_ratio(b) > hit_ratio(lirs)":                            false, // cannot be checked
		"min over x of hit_ratio(a) <= mean over x of hit_ratio(a)": true,
	} {
		c := must.Get(Parse(claim))(t)
		d := NewData(in)
		if got := c.CannotFail(d); got != want {
			t.Errorf("%s: cannot fail: %t, want %t", claim, got, want)
		}
		if x := d.column("hits")[0]; x != 30 {
			t.Errorf("%s: the measured value became %g", claim, x)
		}
	}
}

// A claim that a result can fail is no empty one, even if independent values never fail it.
func TestClaimsThatFewResultsFail(t *testing.T) {
	var lines strings.Builder
	for x := range 60 {
		fmt.Fprintf(&lines, "t a 1 %d/100 x=%d\nt b 1 %d/100 x=%d\n", 30+x, x, 20+x, x)
	}
	d := NewData(Input{Records: recs(t, lines.String())})
	for _, claim := range []string{
		"hits(a) != hits(b)", "hit_ratio(a) > hit_ratio(b) at 1% of points",
		"max over x of (hit_ratio(a) - hit_ratio(b)) >= 5%",
		"(max over x of hit_ratio(a)) - (min over x of hit_ratio(a)) >= 50%",
		"max over x of hit_ratio(a) >= 20%",
	} {
		c := must.Get(Parse(claim))(t)
		if r := c.Evaluate(d); r.Verdict != Reproduced {
			t.Errorf("%s: %+v", claim, r)
		}
		if c.CannotFail(d) {
			t.Errorf("%s: it cannot fail", claim)
		}
	}
}
