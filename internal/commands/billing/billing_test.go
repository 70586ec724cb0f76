package billing

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/cost"
)

// TestEachTierHasAPrice: package cost knows the tiers that caches have, by their names.
func TestEachTierHasAPrice(t *testing.T) {
	for _, name := range tiers.Names() {
		text := "miss=1/M," + name + "=2/GiB-month"
		if name != "memory" && name != "hbm" {
			text += ",memory=1/GiB-month"
		}
		p := must.Get(cost.Parse(text))(t)
		of := []string{name}
		if name != "memory" && name != "hbm" {
			of = []string{"", name}
		}
		must.Do(t, p.Check([][]string{of}))
	}
}

// Prices are checked against the tiers of the caches before the trace is read.
func TestCachesOfPrices(t *testing.T) {
	for _, test := range []struct{ cost, today, cache, want string }{
		{"memory=1/GiB-month,host=2/GiB-month,miss=1/M", "", "tiers(host=10x)", ""},
		{"memory=1/GiB-month,host=2/GiB-month,miss=1/M", "", "prefix", "the tier host, which no cache here has"},
		{"memory=1/GiB-month,hbm=2/GiB-month,miss=1/M", "", "prefix", "both prices of the first tier"},
		{"memory=1/GiB-month,miss=1/M", "16GiB", "tiers(hbm=8GiB,host=10x)", "--today 16GiB: the parameters of the cache"},
		{"memory=1/GiB-month,miss=1/M", "", "tiers(memory=8,disk=10x)", "capacity 8 counts objects"},
		{"", "", "tiers(memory=8,disk=10x)", ""},
	} {
		f := Flags{cost: test.cost, today: test.today}
		_, err := f.Check(nil, capacity.AsWritten)
		must.Do(t, err)
		err = f.CheckCaches([]cache.Spec{must.Get(cache.Registry.Parse(test.cache))(t)}, capacity.AsWritten)
		if test.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, test.want, test.cache)
		}
	}
}

// TestFileOfAServer: of a server with a file its bytes are priced, and one without has none.
func TestFileOfAServer(t *testing.T) {
	for label, want := range map[string]int64{"memcached": 0, "memcached(ext_path=/d/ext:1g)": 1 << 30,
		"memcached(ext_path=/d/ext:1000m,ext_page_size=100,ext_wbuf_size=10)": 1000 << 20} {
		policy := must.Get(policies.Registry.Parse(label))(t)
		r := records.Record{Policy: policy.Entry.Name, Params: policy.ParamString(), Cache: "exact",
			Capacity: 16 << 20, CapacityUnit: records.Bytes}
		must.Do(t, addTiers(&r, nil))
		if got, has := r.GetInt(cost.TierBytes.Of("flash")); has != (want > 0) || got != want {
			t.Errorf("%s: %d bytes of flash are priced, want %d", label, got, want)
		}
	}
}
