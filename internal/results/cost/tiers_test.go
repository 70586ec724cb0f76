package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

func set(r *records.Record, name string, n int64) { r.SetInt(metric.Metric{Name: name}, n) }

// inTiers is a record of a cache with a first tier hbm of a GiB and some tiers below.
func inTiers(cache string, hits int64, below map[string]int64) records.Record {
	r := rec("lru", records.Online, gib, hits)
	r.Cache = cache
	SetTier(&r, "hbm", gib, false)
	for name, bytes := range below {
		SetTier(&r, name, bytes, false)
	}
	return r
}

func pricedAs(t *testing.T, text string) Bill {
	return Bill{Prices: must.Get(Parse(text))(t), PerSecond: 1}
}

// A month has 2,628,000 requests, of which 40% miss, and 2,628 times as many bytes are moved as in the record.
func TestCostOfTiers(t *testing.T) {
	b := pricedAs(t, "hbm=30 EUR/GiB-month,host=3/GiB-month,ssd=0.1/GiB-month,ssd-write=2/GB,remote-read=3/GB,"+
		"remote=0.1/GiB-month,remote-write=9/GB,miss=1/M")
	r := inTiers("tiers", 600, map[string]int64{"host": 10 * gib, "ssd": 100 * gib})
	set(&r, "tier_written_bytes[host]", 1e9) // has no price
	set(&r, "tier_written_bytes[ssd]", 1e6)
	set(&r, "tier_read_bytes[ssd]", 1e9)
	set(&r, "tier_read_bytes[remote]", 2e5)
	set(&r, "tier_prefetched_bytes[remote]", 1e5)
	set(&r, "tier_hits[remote]", 1) // a tier of unknown size
	want := []costShare{{"hbm", 30}, {"host", 30}, {"ssd", 10}, {"remote", 0}, {"written to ssd", 5.256},
		{"read from remote", 2.3652}, {missed, 1.0512}}
	recs := []records.Record{r}
	b.Charge(recs)
	near(t, "cost", recs[0].Float(PerMonth), 30+30+10+5.256+2.3652+1.0512)
	a := b.Answers(recs, nil)[0]
	got := a.shares(a.Offers[0])
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		near(t, want[i].of, got[i].cost, want[i].cost)
		if got[i].of != want[i].of {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	text := strings.Join(a.Explanation(), "\n")
	for _, line := range []string{"78.67 EUR = hbm 30.00 + host 30.00 + ssd 10.00 + remote 0.00 + written to ssd 5.26 + " +
		"read from remote 2.37 + misses 1.05\n", "prices: hbm 30 EUR/GiB-month, host 3 EUR/GiB-month, ssd 0.1 " +
		"EUR/GiB-month, written to ssd 2 EUR/GB, remote 0.1 EUR/GiB-month, written to remote 9 EUR/GB, read from remote 3 " +
		"EUR/GB, a miss 1 EUR/M; "} {
		if !strings.Contains(text, line) {
			t.Errorf("%s\nlacks %s", text, line)
		}
	}
	again := Recorded(recs)[0]
	near(t, "cost by the records", again.Offers[0].Cost, recs[0].Float(PerMonth))
}

// Each node has tiers of its own; what all share is paid once.
func TestTiersOfNodes(t *testing.T) {
	b := pricedAs(t, "memory=30/GiB-month,host=3/GiB-month,remote=1/GiB-month,miss=1/M")
	r := rec("lru", records.Online, gib, 600)
	set(&r, "node_count", 4)
	SetTier(&r, "", gib, false)
	SetTier(&r, "host", 10*gib, false)
	SetTier(&r, "remote", 100*gib, true)
	p, _ := b.point(&r)
	near(t, "memory", p.memory, 4*30+4*30+100)
	if first := tiersOf(&r)[0]; first != memory {
		t.Errorf("the first tier of a trace without prompts is %s", first)
	}
	SetTier(&r, "host", math.MaxInt64/2, false)
	if n, _ := r.GetInt(TierBytes.Of("host")); n < math.MaxInt64/2 {
		t.Errorf("four tiers of half of all bytes have %d", n)
	}
}

// The first tier has the price of its name or, if that has none, that of memory or hbm.
func TestPriceOfTheFirstTier(t *testing.T) {
	for _, test := range []struct {
		prices, tier string
		below        []string
		name         string
	}{
		{"memory=1/GiB-month,miss=1/M", "hbm", nil, "memory"},
		{"hbm=1/GiB-month,miss=1/M", "hbm", nil, "hbm"},
		{"hbm=1/GiB-month,miss=1/M", "memory", nil, "hbm"},
		{"memory=1/GiB-month,hbm=2/GiB-month,miss=1/M", "hbm", []string{"memory"}, "hbm"},
		{"memory=1/GiB-month,hbm=2/GiB-month,miss=1/M", "memory", nil, "memory"},
		{"hbm=1/GiB-month,miss=1/M", "hbm", []string{"memory"}, "hbm"},
	} {
		p := must.Get(Parse(test.prices))(t)
		if name, price := p.first(test.tier, test.below); name != test.name || price != p.size(test.name) {
			t.Errorf("%s of %s: %s", test.prices, test.tier, name)
		}
	}
	p := must.Get(Parse("memory=1/GiB-month,miss=1/M"))(t)
	if _, price := p.first("hbm", []string{"memory"}); price.Per != "" {
		t.Errorf("the price of the tier below is that of the first one: %+v", price)
	}
}

func TestPricesOfTiersThatAreNotThere(t *testing.T) {
	for _, test := range []struct {
		prices string
		caches [][]string
		want   string
	}{
		{"memory=1/GiB-month", [][]string{{""}}, ""},
		{"hbm=1/GiB-month", [][]string{{""}, {"hbm", "host"}}, ""},
		{"memory=1/GiB-month,ssd=1/GiB-month,host-read=1/GB", [][]string{{""}, {"", "host"}, {"hbm", "ssd"}}, ""},
		{"memory=1/GiB-month,hbm=1/GiB-month", [][]string{{"hbm", "memory"}}, ""},
		{"memory=1/GiB-month,ssd=1/GiB-month", [][]string{{""}, {"", "host"}},
			"ssd=1/GiB-month is a price of the tier ssd, which no cache here has; remove it, or add the tier"},
		{"memory=1/GiB-month,host-read=1 EUR/GB", [][]string{{""}}, "host-read=1 EUR/GB is a price of the tier host, which"},
		{"memory=1/GiB-month,hbm=2/GiB-month", [][]string{{""}, {"hbm", "host"}},
			"memory=1/GiB-month and hbm=2/GiB-month are both prices of the first tier; give one of them"},
		{"memory=1/GiB-month", [][]string{{"hbm", "memory"}}, "hbm, the first tier of a cache, has no price; add hbm=3.20/"},
		{"hbm=1/GiB-month", [][]string{{"memory", "flash"}}, "memory, the first tier of a cache, has no price; add memory="},
	} {
		err := must.Get(Parse(test.prices + ",miss=1/M"))(t).Check(test.caches)
		if test.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, test.want, test.prices)
		}
	}
	for text, want := range map[string]string{
		"ssd=1/GiB-month,miss=1/M":                        "memory has no price",
		"memory=1/GiB-month,miss=1/M,sdd=1/GiB-month":     `did you mean "ssd"`,
		"memory=1/GiB-month,miss=1/M,ssd=1/GiB":           `ssd has a price per "GiB"; want a size and a time`,
		"memory=1/GiB-month,miss=1/M,ssd-write=1/GiB-day": `unknown unit of bytes "GiB-day"`,
		"memory=1/GiB-month,miss=1/M,hbm-write=1/GiB":     `unknown price "hbm-write"`,
	} {
		must.NotGet(Parse(text))(t, want, text)
	}
	text := "memory=1/GiB-month,hbm=2/GB-hour,disk=3/TB-year,ssd-write=5/TB,remote-read=6/GB,miss=1/M"
	if p := must.Get(Parse(text))(t); p.String() != text {
		t.Errorf("%s is written %s", text, p)
	}
}

// Intervals are of misses, and leave out how what tiers move differs.
func TestIntervalsWithTiers(t *testing.T) {
	b := pricedAs(t, "memory=1/GiB-month,ssd=0.1/GiB-month,ssd-write=1/MB,miss=10/K")
	s := blocks.NewSet(1)
	r := withBlocks(s, "lru", gib, 15, 9)
	SetTier(&r, "memory", gib, false)
	SetTier(&r, "ssd", 10*gib, false)
	set(&r, "tier_written_bytes[ssd]", 1e6)
	o := b.Answers([]records.Record{r}, s)[0]
	in := o.Offers[0].CostIn
	if in == nil || in[0] < 2628 || in[0] >= o.Offers[0].Cost || in[1] <= o.Offers[0].Cost {
		t.Errorf("%+v of %+v", in, o.Offers[0])
	}
	if text := strings.Join(o.Explanation(), "\n"); !strings.Contains(text, "of misses, not of what tiers read") {
		t.Error(text)
	}
}

// Several caches are compared by their cheapest capacities and policies, those of each trace on their own.
func TestCaches(t *testing.T) {
	b := pricedAs(t, "memory=1 EUR/GiB-month,host=0.5/GiB-month,ssd=0.1/GiB-month,miss=1/K")
	alone := rec("lru", records.Online, gib, 500)
	alone.Cache = "prefix"
	better := rec("arc", records.Online, gib, 600)
	better.Cache = "prefix"
	host := inTiers("tiers(host=2x)", 700, map[string]int64{"host": 2 * gib})
	ssd := inTiers("tiers(host=2x,ssd=20x)", 700, map[string]int64{"host": 2 * gib, "ssd": 20 * gib})
	recs := []records.Record{alone, better, ssd, host}
	comparisons := Caches(b.Answers(recs, nil))
	if len(comparisons) != 1 || comparisons[0].Group() != "t" {
		t.Fatalf("%+v", comparisons)
	}
	want := "cheapest cache: tiers(host=2x), 790.40 EUR a month with lru at 1 GiB; tiers(host=2x,ssd=20x) with lru at 1 " +
		"GiB: 792.40 EUR, 0.3% saved; prefix with arc at 1 GiB: 1,052.20 EUR, 24.9% saved; without a cache: " +
		"2,628.00 EUR, 69.9% saved"
	if got := comparisons[0].Sentence(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if parts := Parts(b.Answers(recs, nil)); parts[0].Answer != want {
		t.Errorf("the page begins with %+v", parts[0])
	}
	ssd.Cache = "tiers(host=2x,ssd=1x)"
	set(&ssd, "tier_bytes[ssd]", gib/10)
	close := Caches(b.Answers([]records.Record{ssd, host}, nil))[0].Sentence()
	if !strings.Contains(close, "ssd=1x) with lru at 1 GiB: 790.41 EUR, less than 0.1% saved; ") {
		t.Error(close)
	}
	other := slices.Clone(recs)
	for i := range other {
		other[i].Trace = "u"
	}
	if both := Caches(b.Answers(append(other, recs...), nil)); len(both) != 2 || both[0].Name != "u" ||
		both[1].Sentence() != want {
		t.Errorf("two traces: %+v", both)
	}
	if one := Caches(b.Answers(recs[:2], nil)); one != nil {
		t.Errorf("one cache is compared with itself: %+v", one)
	}
	offline := host
	offline.Kind = records.Offline
	if one := Caches(b.Answers([]records.Record{alone, offline}, nil)); one != nil {
		t.Errorf("a bound competes: %+v", one)
	}
}

// Caches whose tiers have no price, or whose misses are of other blocks, have no cheapest one.
func TestCachesThatCannotBeCompared(t *testing.T) {
	b := pricedAs(t, "memory=1/GiB-month,miss=1/K")
	alone := rec("lru", records.Online, gib, 500)
	alone.Cache = "prefix"
	tiers := inTiers("tiers(host=2x,ssd=20x)", 700, map[string]int64{"host": 2 * gib, "ssd": 20 * gib})
	joined := alone
	joined.Cache, joined.BlockBytes = "prefix(block=64)", 64
	for _, test := range []struct {
		r    records.Record
		want string
	}{
		{tiers, "unknown, because tiers have no price: host, ssd; add ssd=0.10/GiB-month"},
		{joined, "unknown, because a miss is a block, and the blocks of the caches have different sizes"},
	} {
		got := Caches(b.Answers([]records.Record{alone, test.r}, nil))[0].Sentence()
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// Two caches that hit in different blocks as often tie; one that hits less often in every block does not.
func TestCachesThatTie(t *testing.T) {
	s := blocks.NewSet(1)
	var recs []records.Record
	for _, c := range []struct {
		cache     string
		even, odd int64
	}{{"prefix", 15, 9}, {"sets", 8, 15}, {"exact", 13, 7}} {
		r := withBlocks(s, "lru", 2*gib, c.even, c.odd)
		of := s.Of(&r)
		r.Cache = c.cache
		s.Add(&r, of)
		recs = append(recs, r)
	}
	text := Caches(bill(t).Answers(recs, s))[0].Sentence()
	for _, want := range []string{"cheapest cache: prefix, ", "; sets with lru at 2 GiB: ", ", a tie; exact with lru",
		"% saved"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
}
