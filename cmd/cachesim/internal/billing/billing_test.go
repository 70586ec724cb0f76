package billing

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/tiers"
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
