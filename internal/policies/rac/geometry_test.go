package rac

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

func TestContradictions(t *testing.T) {
	paper := Geometry{Topic: 0.45, Siblings: 0.55, Child: 0.685}
	alike := Geometry{Topic: 0.45, Siblings: 0.45, Child: 0.45}
	wide := Geometry{Topic: 0.65, Siblings: 0.7, Child: 0.78}
	for text, c := range map[string]struct {
		geometry Geometry
		want     []string
	}{
		"rac":                               {paper, []string{"0.45 similar, and tau-route is 0.6"}},
		"rac(tau-route=0.4)":                {paper, nil},
		"rac(tau-route=0.45)":               {paper, []string{"want a tau-route below 0.45"}},
		"rac(tau-route=0.4,tau-edge=0.55)":  {paper, []string{"want a tau-edge above 0.55"}},
		"rac(tau-route=0.4,tau-edge=0.685)": {paper, []string{"want a tau-edge below 0.685"}},
		"rac(tau-route=0.6,tau-edge=0.6)":   {wide, []string{"want a tau-edge above 0.7"}},
		"rac(tau-edge=0.75)":                {wide, nil},
		"rac(tau-route=0.4,tau-edge=0.44)":  {alike, []string{"0.45 similar, and no more to the anchor: no tau-edge"}},
		"rac(tau-route=0.9,tau-edge=0.9)":   {wide, []string{"tau-route", "does not link them"}},
	} {
		got := c.geometry.contradictions(must.Get(policies.Registry.Parse(text))(t).Params)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %q, want %q", text, got, c.want)
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", text, got[i], want)
			}
		}
	}
}
