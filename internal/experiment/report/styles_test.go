package report

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/plots"
	"github.com/cachesim/cachesim/internal/records"
)

// The lines of one figure out of many policies are as easy to tell apart as if there were no others.
func TestStylesOfFewAmongMany(t *testing.T) {
	var all []records.Record
	for i := range 3 * plots.EasilyTold {
		all = append(all, records.Record{Label: fmt.Sprintf("policy-%d", i), Kind: "online"})
	}
	if got := styles(all[:plots.EasilyTold], all[:1], records.DimPolicy); len(got) != plots.EasilyTold {
		t.Errorf("%d styles for %d policies, want the same in all figures", len(got), plots.EasilyTold)
	}
	some := []records.Record{all[0], all[6], all[12]} // the same colour, were they styled among all
	got := styles(all, some, records.DimPolicy)
	if got["policy-0"].Color == got["policy-6"].Color || got["policy-6"].Color == got["policy-12"].Color {
		t.Errorf("policies share a colour: %v", got)
	}
}
