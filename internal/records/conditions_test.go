package records

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestParseConditions(t *testing.T) {
	for text, want := range map[string][]Condition{
		"policy=lru":                     {{"policy", "=", []string{"lru"}}},
		"policy = lru, arc, trace=oltp":  {{"policy", "in", []string{"lru", "arc"}}, {"trace", "=", []string{"oltp"}}},
		"policy=lru-k(k=2,kept=1)":       {{"policy", "=", []string{"lru-k(k=2,kept=1)"}}},
		"capacity>=1% and noise != 0.5":  {{"capacity", ">=", []string{"1%"}}, {"noise", "!=", []string{"0.5"}}},
		"capacity not in 1%,2%,seed==1":  {{"capacity", "not in", []string{"1%", "2%"}}, {"seed", "=", []string{"1"}}},
		"capacity between 1% and 5%":     {{"capacity", "between", []string{"1%", "5%"}}},
		"trace=this and that.csv,seed<3": {{"trace", "=", []string{"this and that.csv"}}, {"seed", "<", []string{"3"}}},
	} {
		if got := must.Get(ParseConditions(text))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"policy", "policy=", "=lru", "seed<3,4", "policy=lru(,"} {
		if got, err := ParseConditions(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}

func TestMeets(t *testing.T) {
	share := 0.02
	r := Record{Trace: "oltp", Policy: "lru-k", Label: "lru-k(k=2)", Capacity: 200, CapacityUnit: Objects,
		CapacityText:  "2%",
		CapacityShare: &share, Seed: 3, Axes: "noise=0.5"}
	for text, want := range map[string]bool{
		"policy=lru-k": true, "policy=lru-k(k=2),arc": true, "policy!=lru-k": false, "trace in a, oltp": true,
		"capacity=2%": true, "capacity=200": true, "capacity<=200": true, "capacity<2%": false, "capacity>1%": true,
		"capacity between 1% and 5%": true, "capacity between 300 and 500": false, "capacity<1KiB": false,
		"noise=0.50": true, "noise not in 0.1,0.5": false, "alpha=1": false, "seed>=3,noise<1": true, "seed>3,noise<1": false,
	} {
		if got := r.Meets(must.Get(ParseConditions(text))(t)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	if all := must.Get(ParseConditions("alpha=1"))(t); !r.MeetsIfPlaced(all) {
		t.Error("a record without an axis is not at all of its places")
	}
}

func TestCheckConditions(t *testing.T) {
	recs := []Record{{Trace: "a", Label: "lru", CapacityText: "1%"}, {Trace: "b", Label: "arc", CapacityText: "2%"}}
	for text, want := range map[string]string{
		"polcy=lru": `unknown dimension "polcy"`, "policy=lru,mru": `unknown policy "mru"`,
		"capacity>5%": "no capacity is > 5% (exists: 1%, 2%)", "capacity<1MiB": "1MiB is not a number",
		"capacity between 1%": "want two values after between",
	} {
		must.Fail(t, CheckConditions(must.Get(ParseConditions(text))(t), recs), want, text)
	}
	must.Do(t, CheckConditions(must.Get(ParseConditions("policy=lru,arc,capacity>1%,trace!=c"))(t), recs))
}
