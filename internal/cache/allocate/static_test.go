package allocate

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestStatic(t *testing.T) {
	tenants := []string{"web", "db", "a:b"}
	for text, want := range map[string][]int64{
		"static(shares=3;1;1)":               {60, 20, 20},
		"static(shares=db:1;web:3,rest=1)":   {60, 20, 20},
		"static(shares=a:b:1;web:0;db: 1)":   {0, 50, 50},
		"static(shares=1,rest=2)":            {20, 40, 40},
		"STATIC(shares= web:1,rest=0.00005)": {100, 0, 0},
	} {
		a := build(t, text, tenants)
		got := make([]int64, 3)
		a.Allocate(&State{Capacity: 100, Pools: make([]Pool, 3)}, got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestStaticRatio checks the share of the first of two pools.
func TestStaticRatio(t *testing.T) {
	got := make([]int64, 2)
	build(t, "static(r=0.4)", []string{"embeddings", "users"}).Allocate(&State{Capacity: 100}, got)
	if !slices.Equal(got, []int64{40, 60}) {
		t.Errorf("%v, want 40 and 60", got)
	}
	s, err := Registry.Parse("static(r=0.4)")
	if err == nil {
		_, err = New(s, []string{"a", "b", "c"})
	}
	must.Fail(t, err, "between two pools, but there are 3", "three pools")
}

// Shares without names go by the order of first requests, which a remark spells out.
func TestStaticSaysWhoHasWhich(t *testing.T) {
	many := strings.Split("abcdefghijkl", "")
	for text, want := range map[string]string{
		"static(shares=3;1)":                     "first requests: a:3;b:1; names",
		"static(shares=1;1;1;1;1;1;1;1;1;1;1;1)": "j:1;and 2 more; names",
		"static(shares=b:3,rest=1)":              "",
		"static(r=0.5)":                          "",
	} {
		s := must.Get(Registry.Parse(text))(t)
		if got := s.Entry.Remark(s.Params, many); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: remark %q, want one with %q", text, got, want)
		}
	}
}

func TestStaticErrors(t *testing.T) {
	for text, want := range map[string]string{
		"static":                         "shares is missing; want shares=3;1",
		"static(r=0)":                    "or static(r=0.4) on serving nodes",
		"static(shares=1;x)":             `"x" is not a share`,
		"static(shares=1;;2)":            `"" is not a share`,
		"static(shares=-1)":              `"-1" is not a share`,
		"static(shares=web:NaN)":         "is not a share",
		"static(shares=web:1;2)":         "for every share, or for none",
		"static(shares=web:1;web:2)":     "tenant web is given twice",
		"static(shares=:1)":              "no name before the colon",
		"static(shares=wep:1,rest=1)":    `did you mean "web"`,
		"static(shares=1;1;1)":           "shares has 3 items, want one for each of the trace's 2 tenants",
		"static(shares=web:1)":           "tenant db has no share",
		"static(shares=0;0)":             "want a sum above 0",
		"static(shares=1e308;1e308)":     "want a sum above 0",
		"static(shares=1,rest=-1)":       "rest=-1",
		"static(shares=web:1;db:1,x=1)":  "unknown parameter",
		"static(shares=web:1;db:1,rest)": "want name=value",
		"static(shares=web:1;db:1,r=.4)": "exclude each other",
		"static(r=1.1)":                  "want a number from 0 to 1",
	} {
		s, err := Registry.Parse(text)
		if err == nil {
			_, err = New(s, []string{"web", "db"})
		}
		must.Fail(t, err, want, text)
	}
}

func FuzzParseShares(f *testing.F) {
	for _, seed := range []string{"3;1", "web:3;db:1", "", ";", ":", "a:b:1", "1e999", "-0", "web:1;2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shares, err := parseShares(text)
		if err == nil && (len(shares) == 0 || len(shares) > strings.Count(text, ";")+1) {
			t.Errorf("%q: %d shares", text, len(shares))
		}
		for _, s := range shares {
			if err == nil && !(s.weight >= 0) {
				t.Errorf("%q: a share of %v", text, s.weight)
			}
		}
	})
}
