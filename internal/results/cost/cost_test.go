package cost

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

const gib = 1 << 30

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// costOf is what an amount costs that has one of the prices.
func costOf(p Prices, name string, amount float64) float64 {
	b := Bill{Prices: p}
	return b.cost(b.add(nil, "", name, amount, false)[0])
}

func TestPrices(t *testing.T) {
	p := must.Get(Parse("memory=3.20 EUR/GiB-month,miss=.4/M,egress=0.08/GB"))(t)
	near(t, "2 GiB", costOf(p, "memory", 2*gib), 6.4)
	near(t, "5 M misses", costOf(p, "miss", 5e6), 2)
	near(t, "250 GB", costOf(p, "egress", 250e9), 20)
	if p.Currency != "EUR" || p.String() != "memory=3.2 EUR/GiB-month,miss=0.4 EUR/M,egress=0.08 EUR/GB" {
		t.Errorf("%q in %q", p, p.Currency)
	}
	for text, month := range map[string]float64{
		"memory=1/GB-hour,miss=1/K":     730,
		"memory=1/GB-day,miss=1/K":      730.0 / 24,
		"memory=12$/GB-year,miss=1/K":   1,
		"memory=$2/MB-month,miss=1/1":   2000,
		"memory=1/TB-month,egress=1/GB": 0.001,
	} {
		near(t, text, costOf(must.Get(Parse(text))(t), "memory", 1e9), month)
	}
}

func TestWrongPrices(t *testing.T) {
	for text, want := range map[string]string{
		"miss=3/M":                                                   "memory has no price",
		"memory=3/GiB,miss=1/M":                                      `per "GiB"; want a size and a time`,
		"memory=3/gib-month,miss=1/M":                                `per "gib-month"`,
		"memory=3/GiB-week,miss=1/M":                                 `per "GiB-week"`,
		"memory=3/GiB-month,miss=1/G":                                "want 1, K (1,000) or M",
		"memory=3/GiB-month,egress=1/G":                              "unknown unit of bytes",
		"memory=3/GiB-month,mis=1/M":                                 `did you mean "miss"`,
		"memory=0/GiB-month,miss=1/M":                                "want a number above 0",
		"memory=-3/GiB-month,miss=1/M":                               "want a number",
		"memory=3 EUR/GiB-month,miss=1USD/M":                         "one currency",
		"memory=€3EUR/GiB-month,miss=1/M":                            "want a number, a currency if you like",
		"memory=3/GiB-month,miss=1/M,miss=2/M":                       "two prices",
		"elasticash,miss=1/M":                                        `did you mean "elasticache"`,
		"memory=3/GiB-month,miss=1/M,":                               `unknown preset ""`,
		"memory=3 EUR/GiB-month,s3":                                  "one currency",
		"memory=1/GiB-month,miss=1" + strings.Repeat("0", 15) + "/M": "below 1e+15",
		"memory=1" + strings.Repeat("0", 400) + "/B":                 "want",
	} {
		must.NotGet(Parse(text))(t, want, text)
	}
}

// TestPresets reads each preset, and finds it on the page about costs.
func TestPresets(t *testing.T) {
	doc := string(must.Get(os.ReadFile("../../../docs/cost.md"))(t))
	for _, p := range Presets {
		text := p.Name
		if !strings.Contains(p.Prices, "memory=") {
			text += ",memory=1 USD/GB-hour"
		}
		if !strings.Contains(p.Prices, "miss=") {
			text = "miss=1 USD/M," + text
		}
		if got := must.Get(Parse(text))(t); got.Currency != "USD" {
			t.Errorf("%s is in %q", p.Name, got.Currency)
		}
		if row := "| `" + p.Name + "` | `" + p.Prices + "` | " + p.For + " | [" + p.Date + "](" + p.Source + ") |"; !strings.
			Contains(doc, row) {
			t.Errorf("docs/cost.md has no line %s", row)
		}
	}
	p := must.Get(Parse("miss=0.5/M,elasticache,s3"))(t)
	near(t, "a price before its preset", costOf(p, "miss", 1e6), 0.5)
	p = must.Get(Parse("elasticache,s3,miss=0.5/M"))(t)
	near(t, "a price after its preset", costOf(p, "miss", 1e6), 0.5)
}

func TestStringIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string) string { return rapid.StringMatching(`[1-9]\d{0,5}(\.\d{0,4})?`).Draw(t, name) }
		currency := rapid.SampledFrom([]string{"", "€", "EUR", "credits"}).Draw(t, "currency")
		text := "memory=" + number("memory") + currency + "/MiB-day,egress=" + number("egress") + "/kB"
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(p.String()); err != nil || again != p {
			t.Fatalf("%s became %v, %v", text, again, err)
		}
	})
}

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"1200/s": 1200, "90/min": 1.5, "7200 / h": 2, "864e2/day": 1} {
		near(t, text, must.Get(ParseRate(text))(t), want)
	}
	for _, text := range []string{"", "3", "/s", "0/s", "-1/s", "3/week", "NaN/s", "1e99/s"} {
		must.NotGet(ParseRate(text))(t, "want requests per time", text)
	}
}

// rec is a record of 1,000 requests of 1 kB.
func rec(policy, kind string, capacity, hits int64) records.Record {
	r := records.Record{Trace: "t", Policy: policy, Label: policy, Kind: kind, Capacity: capacity,
		CapacityUnit: records.Bytes, SampleRate: 1}
	r.SetInt(metric.Requests, 1000)
	r.SetInt(metric.Hits, hits)
	r.SetInt(metric.Misses, 1000-hits)
	r.Set(metric.HitRatio, float64(hits)/1000)
	r.SetInt(metric.RequestedBytes, 1_000_000)
	r.SetInt(metric.HitBytes, 1000*hits)
	return r
}

// bill pays 1 for a GiB, a request per second, 1 for a million misses and 10 for a GB of missed bytes.
func bill(t *testing.T) Bill {
	return Bill{Prices: must.Get(Parse("memory=1/GiB-month,miss=1/M,egress=10/GB"))(t), PerSecond: 1}
}

// A month has 2,628,000 requests. With 60% hits, 1,051,200 of them miss, and 1.0512 GB come from the origin.
func TestCharge(t *testing.T) {
	b := bill(t)
	recs := []records.Record{rec("lru", records.Online, 2*gib, 600), rec("pfoo-l", records.Bound, 2*gib, 900)}
	b.Charge(recs)
	near(t, "cost", recs[0].Float(PerMonth), 2+1.0512+10.512)
	near(t, "rate", recs[0].Float(RequestRate), 1)
	if recs[0].Prices != b.String() || recs[1].Has(PerMonth) || recs[1].Prices != "" {
		t.Errorf("%+v", recs)
	}
	sample := rec("lru", records.Online, 2*gib, 500)
	sample.SampleRate = 0.1
	sample.Set(metric.HitRatio, 0.6) // the sample lacks hot objects: its 500 misses are 40% of the 1,250 expected requests
	recs = []records.Record{sample}
	b.Charge(recs)
	near(t, "cost by a sample", recs[0].Float(PerMonth), 2+1.0512+10.512)
	if again, ok := recorded(recs); !ok || again.Prices != b.Prices || again.PerSecond != 1 {
		t.Errorf("the records give %+v", again)
	}
}

// All nodes have memory. What is counted is said.
func TestWhatIsCounted(t *testing.T) {
	b := bill(t)
	plain := rec("lru", records.Online, 1<<30, 500)
	one, _ := b.point(&plain)
	nodes := plain
	nodes.SetInt(metric.Metric{Name: "node_count"}, 8)
	nodes.SetInt(metric.Metric{Name: "prompts"}, 5)
	if all, _ := b.point(&nodes); one.memory != 1 || all.memory != 8 || all.misses != one.misses {
		t.Errorf("8 nodes cost %+v, one %+v", all, one)
	}
	tiers := nodes
	tiers.SetInt(metric.Metric{Name: "tier_hits[hbm]"}, 8)
	tiers.SetInt(metric.Metric{Name: "tier_hits[host]"}, 8)
	for _, test := range []struct {
		r    records.Record
		want string
	}{
		{plain, ""}, {nodes, "memory: that of all 8 nodes; requests and misses: blocks of prompts"},
		{tiers, "memory: that of all 8 nodes; tiers that they share count once; the size of tiers without a price is " +
			"left out: host; add host=0.10/GiB-month; requests and misses: blocks of prompts"},
	} {
		answers := b.Answers([]records.Record{test.r}, nil)
		if got := strings.Join(b.counted(&test.r), "; "); got != test.want ||
			test.want != "" && !strings.Contains(strings.Join(answers[0].Explanation(), "; "), test.want) {
			t.Errorf("%q, want %q in %q", got, test.want, answers[0].Explanation())
		}
	}
}

// Records of two traces, of which one has a hundredth of the requests, cost what each of them states.
func TestRecordedRatesDiffer(t *testing.T) {
	busy, quiet := rec("lru", records.Online, gib, 600), rec("lru", records.Online, gib, 600)
	quiet.Trace = "quiet"
	charged := []records.Record{busy, quiet}
	b := bill(t)
	b.Charge(charged[:1])
	b.PerSecond = 0.01
	b.Charge(charged[1:])
	answers := Recorded(charged)
	if len(answers) != 2 {
		t.Fatalf("%d answers", len(answers))
	}
	for i, a := range answers {
		near(t, a.Name, a.Offers[0].Cost, charged[i].Float(PerMonth))
	}
}

func TestAnswer(t *testing.T) {
	b := bill(t)
	b.Today, b.Span = new(int64(8*gib)), 3*time.Hour
	var recs []records.Record
	for i, hits := range [][3]int64{{300, 400, 700}, {500, 600, 900}, {550, 610, 950}, {600, 620, 950}} {
		recs = append(recs, rec("lru", records.Online, gib<<i, hits[0]), rec("s3fifo", records.Online, gib<<i, hits[1]),
			rec("opt", records.Offline, gib<<i, hits[2]))
	}
	answers := b.Answers(recs, nil)
	if len(answers) != 1 {
		t.Fatalf("%d answers", len(answers))
	}
	want := "cheapest: 13.56 a month, s3fifo at 2 GiB: 30.7% less than today (lru at 8 GiB, 19.56), 53.1% less than " +
		"without a cache (28.91); the origin gets 1.05 M requests and 1.05 GB a month, today 1.05 M requests and 1.05 GB, " +
		"without a cache 2.63 M requests and 2.63 GB"
	if got := answers[0].Sentence(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	lines := strings.Join(answers[0].Explanation(), "\n")
	for _, want := range []string{"1.00 requests/s in the 3 hours of the trace, which is less than a day",
		"offline, a bound rather than a choice: 4.89 with opt at 2 GiB"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%s\nlacks %s", lines, want)
		}
	}
	parts := Parts(answers)
	if rows := parts[2].Table.Rows; len(parts) != 3 || len(rows) != 5 || rows[3][0] != "no cache" ||
		rows[4][0] != "lru, today" {
		t.Errorf("%+v", parts)
	}
	drawn := must.Get(Draw(t.Context(), answers, look.Options{}))(t)
	if len(drawn) != 1 || !strings.Contains(string(drawn[0].SVG()), "cheapest: 13.56") {
		t.Errorf("%d figures", len(drawn))
	}
}

// Where nothing competes nothing is recommended, and the ends of the range are named.
func TestLimitsOfAnAnswer(t *testing.T) {
	b := bill(t)
	only := b.Answers([]records.Record{rec("opt", records.Offline, gib, 700)}, nil)[0]
	if got := only.Sentence(); !strings.Contains(got, "unknown, because no online policy was replayed") {
		t.Error(got)
	}
	if none := (Bill{}).Answers([]records.Record{rec("lru", records.Online, gib, 700)}, nil); none != nil {
		t.Errorf("answers without prices: %+v", none)
	}
	for _, capacities := range [][]int64{{2 * gib, 4 * gib}, {gib, 2 * gib}} {
		var recs []records.Record
		for _, c := range capacities {
			recs = append(recs, rec("arc", records.Online, c, min(600, 300*c/gib)))
		}
		a := b.Answers(recs, nil)[0]
		end := map[bool]string{true: "smallest", false: "largest"}[capacities[0] == 2*gib]
		if lines := strings.Join(a.Explanation(), "\n"); !strings.Contains(lines, "the cheapest is the "+end) {
			t.Errorf("%s\ndoes not say that it is the %s", lines, end)
		}
		if lines := a.Explanation(); lines[0] != "not compared with lru, which was not replayed" {
			t.Error(lines)
		}
	}
}

// Where parts give one policy several lines, the cheapest is compared with lru with the same parts.
func TestBaselineWithTheSameParts(t *testing.T) {
	b := bill(t)
	b.Today = new(int64(gib))
	var recs []records.Record
	for _, c := range []struct {
		policy, router, predictor string
		hits                      int64
	}{
		{"lru", "hash", "", 500}, {"lru", "random", "", 400}, {"blind", "hash", "gbm", 600}, {"blind", "random", "gbm", 700},
		{"blind", "hash", "popu", 100}, {"blind", "random", "popu", 100},
	} {
		r := rec(c.policy, records.Online, gib, c.hits)
		r.Router, r.Predictor = c.router, c.predictor
		recs = append(recs, r)
	}
	said := func(recs []records.Record) string {
		a := b.Answers(recs, nil)[0]
		return a.Sentence() + "\n" + strings.Join(a.Explanation(), "\n")
	}
	text := said(recs)
	for _, want := range []string{"blind, gbm, random at 1 GiB", "\nlru, random at its cheapest, 1 GiB: ",
		" less than today (lru, random at 1 GiB, "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	recs[1].Policy, recs[1].Label = "arc", "arc"
	if text := said(recs); !strings.Contains(text, "not compared with lru") {
		t.Error(text)
	}
	if text := said(recs[:1]); strings.Contains(text, "compared") {
		t.Error(text)
	}
}

// A capacity that holds all that the trace requests has no larger one that costs less, and one alone is not compared.
func TestEndsOfTheRange(t *testing.T) {
	all, half := 1.0, 0.5
	whole := rec("lru", records.Online, 2*gib, 900)
	whole.CapacityShare = &all
	part := rec("lru", records.Online, gib, 100)
	part.CapacityShare = &half
	for _, test := range []struct {
		recs []records.Record
		want string
	}{
		{[]records.Record{part, whole}, "the cheapest of the capacities replayed: others above 1 GiB may cost less"},
		{[]records.Record{part}, "only one capacity was replayed"},
		{[]records.Record{whole}, "smaller ones may cost less"},
	} {
		a := bill(t).Answers(test.recs, nil)[0]
		if got := a.end(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// Policies that cost the same tie without blocks, too; an offline one is never said to be saved.
func TestEqualCostsTie(t *testing.T) {
	b := bill(t)
	b.Today = new(int64(gib))
	a := b.Answers([]records.Record{rec("lru", records.Online, gib, 500), rec("arc", records.Online, gib, 500),
		rec("fifo", records.Online, gib, 400), rec("opt", records.Offline, gib, 700)}, nil)[0]
	if lines := strings.Join(a.Explanation(), "\n"); !strings.Contains(lines, "a tie: lru, arc\n") {
		t.Error(lines)
	}
	if text := a.Sentence(); !strings.HasPrefix(text, "cheapest: 15.45 a month, lru at 1 GiB: as today, ") {
		t.Error(text)
	}
	var saved []string
	for _, row := range Parts([]Answer{a})[2].Table.Rows {
		saved = append(saved, row[3])
	}
	if want := []string{"", "a tie", "15.8% saved", "", "46.5% saved", ""}; !slices.Equal(saved, want) {
		t.Errorf("saved: %q, want %q", saved, want)
	}
}

// Of several samples at a capacity the mean counts, and their cost is an estimate.
func TestSamplesAreAveraged(t *testing.T) {
	a, b := rec("arc", records.Online, gib, 400), rec("arc", records.Online, gib, 600)
	a.SampleRate, b.SampleRate, b.Seed = 0.1, 0.1, 1
	whole := bill(t).Curve("t", []records.Record{rec("arc", records.Online, gib, 500)}, nil)[0]
	of := bill(t).Curve("t", []records.Record{a, b}, nil)[0]
	near(t, "cost", of.Offers[0].Cost, whole.Offers[0].Cost)
	if !of.Offers[0].Estimated || whole.Offers[0].Estimated {
		t.Errorf("%+v, %+v", of.Offers, whole.Offers)
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{90 * time.Second: "90 seconds", 3 * time.Hour: "3 hours",
		84 * time.Hour: "3.5 days", 36 * time.Hour: "36 hours", 1500 * time.Millisecond: "1.5s"} {
		if got := Lasting(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestNoCache: no cache costs the same whatever its row's capacity, as it follows from the rows of others. It is the
// cheapest where memory costs more than it saves.
func TestNoCache(t *testing.T) {
	records.DeclareRole("none-here", records.Role{Idle: true})
	b := bill(t)
	b.Today = new(int64)
	recs := []records.Record{rec("none-here", records.Online, gib, 0), rec("none-here", records.Online, 4*gib, 0),
		rec("lru", records.Online, gib, 500), rec("lru", records.Online, 32*gib, 900)}
	b.Charge(recs)
	const none = 2.628 + 26.28
	near(t, "no cache", recs[0].Float(PerMonth), none)
	near(t, "no cache, larger", recs[1].Float(PerMonth), none)
	for _, of := range [][]records.Record{recs, recs[2:]} {
		a := b.Answers(of, nil)[0]
		near(t, "no cache", a.None.Cost, none)
		if len(a.Offers) != 1 || a.Best().Policy != "lru" {
			t.Errorf("%d offers, %s is the cheapest", len(a.Offers), a.Best().Policy)
		}
		if text := a.Sentence(); !strings.Contains(text, "lru at 1 GiB: 46.5% less than today, without a cache (28.91); ") {
			t.Error(text)
		}
	}
	a := b.Answers(recs[3:], nil)[0]
	if text := a.Sentence(); !a.Best().isNone() || !strings.HasPrefix(text, "cheapest: 28.91 a month, no cache: as "+
		"today, 17.1% less than the cheapest cache (lru at 32 GiB, 34.89); the origin gets 2.63 M requests and 2.63 GB a "+
		"month") {
		t.Error(text)
	}
}

// Requests without a size cost as many misses as the others, and no bytes: 1,000 of 1,250 have one.
func TestRequestsWithoutASize(t *testing.T) {
	b := bill(t)
	b.PerSecond, b.Sized = 1.25, 0.8
	recs := []records.Record{rec("lru", records.Online, 2*gib, 600)}
	b.Charge(recs)
	near(t, "cost", recs[0].Float(PerMonth), 2+1.25*1.0512+10.512)
	again, _ := recorded(recs)
	if lines := strings.Join(again.Answers(recs, nil)[0].Explanation(), "\n"); !strings.Contains(lines,
		"20% of the requests have no size: ") {
		t.Error(lines)
	}
	near(t, "cost by the record", again.Answers(recs, nil)[0].Offers[0].Cost, recs[0].Float(PerMonth))
}
