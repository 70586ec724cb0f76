package read

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

func TestMixed(t *testing.T) {
	column := []uint32{0, 0, 0, 0, 1, 1} // four requests, and then two
	for mix, want := range map[string][]uint32{
		"spread": {0, 4, 1, 2, 5, 3}, // at 1/8, 3/8, 5/8, 7/8, and 1/4, 3/4
		"turns":  {0, 4, 1, 5, 2, 3},
	} {
		if got := mixed(column, 2, mix); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", mix, got, want)
		}
	}
}

// With spread, at any time each tenant has had its share of the requests, within one.
func TestSpreadIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var column []uint32
		counts := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 5).Draw(t, "counts")
		for tenant, n := range counts {
			for range n {
				column = append(column, uint32(tenant))
			}
		}
		had := make([]float64, len(counts))
		last := make([]int, len(counts))
		for i, pos := range mixed(column, len(counts), "spread") {
			tenant := column[pos]
			if int(pos) < last[tenant] {
				t.Fatalf("request %d of tenant %d comes after request %d", pos, tenant, last[tenant])
			}
			last[tenant] = int(pos)
			had[tenant]++
			for other, n := range counts {
				share := float64(n) * float64(i+1) / float64(len(column))
				if had[other] < share-float64(len(counts)) || had[other] > share+float64(len(counts)) {
					t.Fatalf("after %d requests tenant %d has had %v of %d", i+1, other, had[other], n)
				}
			}
		}
	})
}

func TestFileTenants(t *testing.T) {
	got := fileTenants([]string{"a/x.csv", "b/x.csv", "y.csv", "y.csv", "a/x.csv", "-"})
	if want := []string{"a/x.csv", "b/x.csv", "y.csv", "y.csv#2", "a/x.csv#2", "-"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParseTenantsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"colum":                 `did you mean "column"`,
		"prefix(sep=)":          "sep is empty",
		"prefix(shift=64)":      "from 0 to 63",
		"prefix(sep=:,shift=3)": "numbers (shift) or texts (sep): leave one out",
		"file(mix=shuffle)":     "want one of spread, turns, none",
		"column(nam=x)":         "unknown parameter",
		"":                      "empty entry",
	} {
		must.NotGet(ParseTenants(text))(t, want, text)
	}
}

// Pairs of tenant and object become the objects, with their sizes and keys.
func TestDivide(t *testing.T) {
	tr := &traces.Trace{
		Objects: []uint32{0, 1, 0, 1, 0}, NumObjects: 2, ObjectSizes: []int64{5, 7},
		RequestSizes: []int64{5, 7, 6, 8, 9}, Keys: []stream.Key{{Num: 10}, {Text: "x"}},
	}
	c := newTenantNumbers()
	for _, name := range []string{"web", "web", "db", "", "web"} {
		must.Do(t, c.add([]byte(name)))
	}
	must.Do(t, divide(tr, c))
	if want := []uint32{0, 1, 2, 3, 0}; !slices.Equal(tr.Objects, want) || tr.NumObjects != 4 {
		t.Errorf("objects %v of %d, want %v of 4", tr.Objects, tr.NumObjects, want)
	}
	if want := []string{"web", "db", "-"}; !slices.Equal(tr.Tenants.Names, want) {
		t.Errorf("tenants %q, want %q", tr.Tenants.Names, want)
	}
	if want := []uint32{0, 0, 1, 2}; !slices.Equal(tr.Tenants.Of, want) {
		t.Errorf("owners %v, want %v", tr.Tenants.Of, want)
	}
	if want := []int64{5, 7, 6, 8}; !slices.Equal(tr.ObjectSizes, want) {
		t.Errorf("first sizes %v, want %v", tr.ObjectSizes, want)
	}
	if want := []stream.Key{{Num: 10}, {Text: "x"}, {Num: 10}, {Text: "x"}}; !slices.Equal(tr.Keys, want) {
		t.Errorf("keys %v, want %v", tr.Keys, want)
	}
}

func TestTenantOfKey(t *testing.T) {
	for _, c := range []struct {
		rule string
		key  stream.Key
		want string
	}{
		{"prefix", stream.Key{Text: "web/a/b"}, "web"},
		{"prefix", stream.Key{Text: "plain"}, ""},
		{"prefix", stream.Key{Text: "/root"}, ""},
		{"prefix(sep=::)", stream.Key{Text: "a:b::c"}, "a:b"},
		{"prefix(shift=32)", stream.Key{Num: 5<<32 + 7}, "5"},
	} {
		rule := must.Get(ParseTenants(c.rule))(t)
		if got, err := tenantOfKey(c.key, rule.Params); err != nil || got != c.want {
			t.Errorf("%s of %v: %q, %v, want %q", c.rule, c.key, got, err, c.want)
		}
	}
	rule, _ := ParseTenants("prefix(shift=3)")
	if _, err := tenantOfKey(stream.Key{Text: "x"}, rule.Params); err == nil || !strings.Contains(err.Error(),
		"is not a number") {
		t.Errorf("error %v", err)
	}
}
