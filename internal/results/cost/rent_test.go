package cost

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/target"
)

// Where misses have no price, the answer is the cheapest way to reach the target: what is taken counts, not what is
// set, and what an offline policy needs does not.
func TestRents(t *testing.T) {
	taking := records.Record{Policy: "memcached", Capacity: 2 * gib, CapacityUnit: records.Bytes}
	taking.Set(metric.Taken, 5*gib)
	today := records.Record{Policy: "lru", Label: "lru", Capacity: 6 * gib, CapacityUnit: records.Bytes}
	need := func(policy string, capacity int64) target.Need {
		return target.Need{Policy: policy, Online: true, How: target.Found, Capacity: capacity}
	}
	offline, costly, tied := need("opt", gib), need("memcached", 2*gib), need("lru", 4*gib)
	offline.Online, costly.Record, tied.Tied = false, &taking, true
	never := target.Need{Policy: "fifo", Online: true, How: target.Never}
	answer := target.Answer{Target: target.Target{Value: 0.9, Share: true},
		Needs: []target.Need{costly, need("arc", 3*gib), tied, never, offline}}
	b := Bill{Prices: must.Get(Parse("memory=3 EUR/GiB-month"))(t), Today: &today.Capacity}
	rents := b.Rents([]target.Answer{answer}, []records.Record{today})
	if len(rents) != 1 {
		t.Fatalf("%d answers, want 1", len(rents))
	}
	want := "cheapest for 90% of the largest hit ratio: 9.00 EUR a month, arc at 3 GiB; today (lru at 6 GiB) 18.00 EUR; " +
		"lru at 4 GiB: 12.00 EUR, a tie; memcached at 2 GiB: 15.00 EUR, 40% saved"
	if got := rents[0].Sentence(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.TodayPolicy = "memcached"
	taking.Label = "memcached"
	b.Today = &taking.Capacity
	if got := b.Rents([]target.Answer{answer}, []records.Record{today, taking})[0].Sentence(); !strings.Contains(got,
		"; today (memcached at 2 GiB) 15.00 EUR; ") {
		t.Errorf("%s, want today's memcached with what it takes", got)
	}
	b.Prices = must.Get(Parse("memory=3 EUR/GiB-month,miss=1/M"))(t)
	if rents := b.Rents([]target.Answer{answer}, nil); rents != nil {
		t.Errorf("%v although misses have a price", rents)
	}
}

// What requests do has no price if only memory has one: then no rate is needed.
func TestNeedRate(t *testing.T) {
	for text, want := range map[string]bool{
		"memory=3/GiB-month": false, "hbm=3/GiB-month,host=1/GiB-month": false, "elasticache": false,
		"memory=3/GiB-month,egress=1/GB": true, "hbm=3/GiB-month,ssd=1/GiB-month,ssd-write=1/TB": true,
		"elasticache,s3": true,
	} {
		if got := must.Get(Parse(text))(t).NeedRate(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
