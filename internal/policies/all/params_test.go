package all_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
)

func TestParseList(t *testing.T) {
	list := " lru , s3fifo( small=0.2 , ghost=0.5 ),LRU-K(k=3),arc(int=true),lfu()"
	specs := must.Get(policies.Registry.ParseList(list))(t)
	var got []string
	for _, s := range specs {
		got = append(got, s.String())
	}
	want := "lru s3fifo(small=0.2,ghost=0.5) lru-k(k=3) arc(int=true) lfu"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
	if p := specs[1].ParamString(); !strings.HasPrefix(p, "small=0.2,ghost=0.5,") {
		t.Errorf("ParamString gives %s, want every parameter", p)
	}
	if p := specs[0].ParamString(); p != "" {
		t.Errorf("lru has the parameters %s", p)
	}
}

func TestParseListErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "has an empty entry",
		"lru,":                          "has an empty entry",
		"lru,,arc":                      "has an empty entry",
		"(k=2)":                         "has an empty entry",
		"lrv":                           `unknown policy "lrv"; did you mean "lru"? (exists: lru, lrb, mru, `,
		"s3fifoo(small=0.1)":            `did you mean "s3fifo"?`,
		"lru,lru":                       "policy lru is listed twice",
		"lru-k,lru-k(k=2)":              "policy lru-k is listed twice", // 2 is the default
		"lru-k(k=2":                     "unbalanced parentheses",
		"lru-k)k=2(":                    "unbalanced parentheses",
		"lru-k(k=3)x":                   "text after the closing parenthesis",
		"lru-k(k)":                      "want name=value",
		"lru-k(=3)":                     "want name=value",
		"lru-k(k=3,)":                   "want name=value",
		"lru-k(k=3,k=3)":                "parameter k is given twice",
		"lru-k(kk=3)":                   `policy lru-k: unknown parameter "kk"; did you mean "k"?`,
		"lru(k=3)":                      `policy lru: unknown parameter "k": none is accepted here`,
		"lru-k(k=3.5)":                  "k=3.5: want a whole number",
		"lru-k(k=)":                     "k=: want a whole number",
		"lru-k(k=0)":                    "k=0: want a number from",
		"lru-k(k=-1)":                   "k=-1: want a number from",
		"lru-k(k=99999999999999999999)": "want a whole number",
		"s3fifo(small=1.5)":             "small=1.5: want a number from 0 to 1",
		"s3fifo(small=NaN)":             "small=NaN: want a number",
		"s3fifo(small=Inf)":             "small=Inf: want a number",
		"s3fifo(small=0,1)":             "want name=value",
		"arc(int=perhaps)":              "int=perhaps: want true or false",
		"lfu(ties=newest)":              "ties=newest: want one of lru, fifo",
	} {
		must.NotGet(policies.Registry.ParseList(text))(t, want, text)
	}
}

// anyValue draws a value that the parameter permits, as a user would write it.
func anyValue(t *rapid.T, p policies.Param) string {
	switch p.Default.(type) {
	case int:
		limit := int(p.Max)
		if p.Max == 0 {
			limit = 1 << 40
		}
		return fmt.Sprint(rapid.IntRange(int(p.Min), limit).Draw(t, p.Name))
	case float64:
		limit := p.Max
		if limit == 0 {
			limit = 1e12
		}
		return fmt.Sprint(rapid.Float64Range(p.Min, limit).Draw(t, p.Name))
	case bool:
		return rapid.SampledFrom([]string{"true", "false", "1", "0", "T"}).Draw(t, p.Name)
	}
	if len(p.Choices) == 0 {
		return "anything"
	}
	return rapid.SampledFrom(p.Choices).Draw(t, p.Name)
}

// String and ParseSpec round-trip to the same policy with the same parameters.
func TestSpecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(policies.Registry.All()).Draw(t, "policy")
		var args []string
		for _, p := range e.Params {
			if rapid.Bool().Draw(t, "set "+p.Name) {
				args = append(args, p.Name+"="+anyValue(t, p))
			}
		}
		spec, err := policies.Registry.Parse(e.Name + "(" + strings.Join(args, ",") + ")")
		if err != nil && e.Check != nil {
			t.Skip("values that do not go together")
		} else if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{spec.String(), strings.ToUpper(e.Name) + "(" + spec.ParamString() + ")"} {
			again := must.Get(policies.Registry.Parse(text))(t)
			if again.Entry.Name != e.Name || again.ParamString() != spec.ParamString() {
				t.Fatalf("%s is read back as %s(%s), want %s", text, again.Entry.Name, again.ParamString(), spec.ParamString())
			}
		}
	})
}

func TestEveryEntryIsComplete(t *testing.T) {
	seen := map[string]string{}
	for _, e := range policies.Registry.All() {
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			if other, ok := seen[name]; ok {
				t.Errorf("%s and %s share the name %s", e.Name, other, name)
			}
			seen[name] = e.Name
			if found, ok := policies.Registry.Find(strings.ToUpper(name)); !ok || found.Name != e.Name {
				t.Errorf("%s is not found as %s", e.Name, strings.ToUpper(name))
			}
		}
		if e.Summary == "" || e.Source == "" || strings.ContainsAny(e.Summary+e.Source, "\n\t") {
			t.Errorf("%s: summary %q and source %q, want one line each", e.Name, e.Summary, e.Source)
		}
		if (e.Kind == policies.Bound) != (e.LowerBound != nil) || e.Kind == policies.Bound && e.New != nil {
			t.Errorf("%s: a bound has LowerBound, every other entry New", e.Name)
		}
		for _, p := range e.Params {
			if got, err := p.Parse(fmt.Sprint(p.Default)); err != nil || got != p.Default {
				t.Errorf("%s: the default of %s is read as %v, %v", e.Name, p.Name, got, err)
			}
			if p.Doc == "" {
				t.Errorf("%s: parameter %s has no description", e.Name, p.Name)
			}
		}
	}
	if names := policies.Registry.Names(); !slices.Contains(names, "lru") || len(names) != len(policies.Registry.All()) {
		t.Errorf("Names gives %v", names)
	}
}
