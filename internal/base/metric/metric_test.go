package metric

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestRegisterRefuses(t *testing.T) {
	good := Metric{Name: "flights", Unit: Count, Doc: "takes off"}
	otherDoc := good
	otherDoc.Doc = "lands"
	tests := map[string]struct {
		m    Metric
		want string
	}{
		"another meaning":      {otherDoc, "flights is declared differently by test"},
		"a name with spaces":   {Metric{Name: "two words", Unit: Count, Doc: "d"}, "want a name of lower-case letters"},
		"no name":              {Metric{Unit: Count, Doc: "d"}, "want a name"},
		"no doc":               {Metric{Name: "a", Unit: Count}, "no line of documentation"},
		"no unit":              {Metric{Name: "a", Doc: "d"}, "no unit"},
		"digits of a count":    {Metric{Name: "a", Unit: Count, Digits: 1, Doc: "d"}, "1 digits after the point"},
		"mean of a count":      {Metric{Name: "a", Unit: Count, Merge: MeanBy(Requests), Doc: "d"}, "has fractions"},
		"too heavy":            {Metric{Name: "a", Unit: Count, Doc: "d", Column: Column{Weight: 100}}, "want 0 to 99"},
		"merged by itself":     {Metric{Name: "hit_ratio", Unit: Share, Merge: MeanBy(HitRatio), Doc: "d"}, "by itself"},
		"a common one changed": {Metric{Name: "hits", Unit: Count, Doc: "d"}, "hits is declared differently by every replay"},
	}
	must.Do(t, register("test", good))
	t.Cleanup(func() {
		registry = registry[:len(registry)-1]
		delete(index, good.Name)
	})
	for name, test := range tests {
		must.Fail(t, register("other", test.m), test.want, name)
	}
	if err := register("other", good); err != nil {
		t.Errorf("two parts cannot declare the same: %v", err)
	}
	all := All()
	if d := all[len(all)-1]; d.Name != "flights" || len(d.By) != 2 {
		t.Errorf("the last metric is %s by %v, want flights by two parts", d.Name, d.By)
	}
}

func TestLookupOfLabels(t *testing.T) {
	Register("test", Metric{Name: "tenant_hits", Unit: Count, Labels: "tenant", Doc: "d"})
	t.Cleanup(func() {
		registry = registry[:len(registry)-1]
		delete(index, "tenant_hits")
	})
	for name, want := range map[string]bool{
		"tenant_hits[web]": true, "tenant_hits[a[1]]": true, "tenant_hits": false, "tenant_hits[]": false,
		"tenant_hits[web": false, "hits[web]": false, "hits": true, "hit": false, "": false,
	} {
		if _, ok := Lookup(name); ok != want {
			t.Errorf("Lookup(%q) says %v, want %v", name, ok, want)
		}
	}
}

func TestCopiesOfValuesAreIndependent(t *testing.T) {
	var a Values
	a.SetInt(Hits, 1)
	b, c := a, a
	b.SetInt(Hits, 2)
	b.SetInt(Requests, 3)
	c.SetInt(Misses, 4)
	c.Delete(Hits)
	if a.Int(Hits) != 1 || a.Len() != 1 || b.Int(Hits) != 2 || b.Has(Misses) || c.Has(Hits) || c.Int(Misses) != 4 {
		t.Errorf("a is %v, b %v, c %v", a, b, c)
	}
}

func TestMerge(t *testing.T) {
	largestOf := Metric{Name: "test_largest", Unit: Count, Merge: Max, Doc: "d"}
	last := Metric{Name: "test_last", Unit: Milliseconds, Merge: Apart, Doc: "d"}
	Register("test", largestOf, last)
	t.Cleanup(func() {
		registry = registry[:len(registry)-2]
		delete(index, largestOf.Name)
		delete(index, last.Name)
	})
	part := func(requests, hitBytes, bytes, largest int64, ns, ms float64) (v Values) {
		v.SetInt(Requests, requests)
		v.SetInt(HitBytes, hitBytes)
		v.SetInt(RequestedBytes, bytes)
		v.SetInt(largestOf, largest)
		v.Set(NsPerRequest, ns)
		v.Set(last, ms)
		v.Set(ByteHitRatio, float64(hitBytes)/float64(bytes))
		return v
	}
	v := part(1, 1, 2, 7, 10, 5).Merge(part(3, 1, 6, 4, 30, 6))
	for name, want := range map[string]float64{
		"requests": 4, "bytes": 8, "hit_bytes": 2, "byte_hit_ratio": 0.25, "test_largest": 7, "ns_per_request": 25,
		"test_last": 6,
	} {
		if got, ok := v.Get(name); !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	var alone Values
	alone.SetInt(Evictions, 9)
	if both := v.Merge(alone); both.Int(Evictions) != 9 || both.Int(Requests) != 4 {
		t.Errorf("what one part lacks is not the other's: %v", both)
	}
}

// TestMergeKeepsWholeNumbers that a float64 cannot represent exactly.
func TestMergeKeepsWholeNumbers(t *testing.T) {
	var a, b Values
	a.SetInt(RequestedBytes, 1<<53)
	b.SetInt(RequestedBytes, 1)
	if got := a.Merge(b).Int(RequestedBytes); got != 1<<53+1 {
		t.Errorf("2^53 and 1 are %d", got)
	}
}

// TestMergeInAnyGroups: merging parts in any grouping gives the same.
func TestMergeInAnyGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := func(name string) (v Values) {
			for _, m := range []Metric{Requests, Hits, Misses, Evictions, RequestedBytes, HitBytes} {
				if rapid.Bool().Draw(t, name+m.Name) {
					v.SetInt(m, rapid.Int64Range(0, 1<<40).Draw(t, name+m.Name))
				}
			}
			return v
		}
		a, b, c := part("a"), part("b"), part("c")
		left, right := a.Merge(b).Merge(c), a.Merge(b.Merge(c))
		for _, m := range []Metric{Requests, Hits, Misses, Evictions, RequestedBytes, HitBytes} {
			if left.Int(m) != right.Int(m) || left.Has(m) != right.Has(m) {
				t.Fatalf("%s is %d or %d", m.Name, left.Int(m), right.Int(m))
			}
		}
	})
}

func TestText(t *testing.T) {
	latency := Metric{Unit: Milliseconds, Digits: 3}
	tests := []struct {
		m    Metric
		x    float64
		want string
	}{
		{Hits, 914145, "914,145"},
		{HitRatio, 0.471234, "47.12%"},
		{latency, 1.155, "1.155"},
		{latency, 0.001234, "0.00123"},
		{latency, 12345.678, "12,345.678"},
		{NsPerRequest, 158.04, "158.0"},
		{LowerBoundMisses, 12345.4, "12,345"},
		{latency, 0, "0.000"},
		{Metric{Unit: Ratio, Digits: 3}, 0.0321, "0.0321"},
		{Metric{Unit: Ratio, Digits: 3}, 0.00000164, "0.000"},
	}
	for _, test := range tests {
		if got := test.m.Text(test.x); got != test.want {
			t.Errorf("%+v writes %v as %q, want %q", test.m, test.x, got, test.want)
		}
	}
	for x, want := range map[float64]string{0.0012: "+0.12", -0.5: "−50.00", 0.00001: "0"} {
		if got := HitRatio.DifferenceText(x); got != want {
			t.Errorf("a difference of %v is %q, want %q", x, got, want)
		}
	}
	if got := NsPerRequest.Label() + ", " + HitRatio.Label(); got != "ns/request, hit ratio" {
		t.Errorf("labels are %q", got)
	}
}

// Values are merged only with values of the same label.
func TestMergeOfLabels(t *testing.T) {
	hits := Metric{Name: "label_hits", Unit: Count, Labels: "tenant", Doc: "d"}
	requests := Metric{Name: "label_requests", Unit: Count, Labels: "tenant", Doc: "d"}
	share := Metric{Name: "label_ratio", Unit: Share, Labels: "tenant", Merge: Quotient(hits, requests), Doc: "d"}
	Register("test", hits, requests, share)
	t.Cleanup(func() {
		registry = registry[:len(registry)-3]
		for _, m := range []Metric{hits, requests, share} {
			delete(index, m.Name)
		}
	})
	first := ValuesOf(map[string]float64{"label_hits[a]": 1, "label_requests[a]": 4, "label_ratio[a]": 0.25})
	second := ValuesOf(map[string]float64{"label_hits[a]": 2, "label_requests[a]": 4, "label_ratio[a]": 0.5,
		"label_hits[b]": 3, "label_requests[b]": 3, "label_ratio[b]": 1})
	both := (Values{}).Merge(first).Merge(second)
	for name, want := range map[string]float64{"label_hits[a]": 3, "label_requests[a]": 8, "label_ratio[a]": 0.375,
		"label_ratio[b]": 1} {
		if got, _ := both.Get(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
