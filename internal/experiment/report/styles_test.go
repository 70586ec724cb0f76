package report

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// lookOf is how a reader recognises a line.
func lookOf(s plots.Style) string { return fmt.Sprintf("%v %T %v", s.Color, s.Marker, s.Dashes) }

// Each of the program's policies has its own look.
func TestNoTwoPoliciesLookAlike(t *testing.T) {
	seen := map[string]string{}
	for _, name := range policies.Registry.Names() {
		e, _ := policies.Registry.Find(name)
		if e.Kind == policies.Bound {
			continue // a figure shows it
		}
		style := plots.PolicyStyle(name, name, e.Kind.String())
		if other, ok := seen[lookOf(style)]; ok && e.Kind == policies.Online {
			t.Errorf("%s looks like %s; give its entry a Look of its own", name, other)
		}
		seen[lookOf(style)] = name
	}
}

// So does each policy of an experiment, whatever its name there.
func TestNoTwoPoliciesOfAnExperimentLookAlike(t *testing.T) {
	for _, name := range configs.Names() {
		f := loaded(t, name)
		seen, kinds := map[string]string{}, map[string]policies.Kind{}
		var recs []records.Record
		for _, p := range f.Policies {
			spec, err := policies.Registry.Parse(p.Policy)
			if err != nil {
				continue // its parameters are axes
			}
			kinds[p.Label()] = spec.Entry.Kind
			recs = append(recs, records.Record{Policy: spec.Entry.Name, Label: p.Label(), Kind: spec.Entry.Kind.String()})
		}
		styles := plots.StylesOf(recs, records.DimPolicy)
		for _, r := range recs {
			style := lookOf(styles[r.Label])
			if other, ok := seen[style]; ok && other != r.Label && kinds[r.Label] == policies.Online {
				t.Errorf("%s: %s looks like %s", name, r.Label, other)
			}
			seen[style] = r.Label
		}
	}
}
