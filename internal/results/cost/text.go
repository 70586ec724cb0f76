package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

// Amount writes an amount of money with its currency: "41.30 EUR".
func (b Bill) Amount(x float64) string {
	text := PerMonth.Text(x)
	if b.Currency != "" {
		text += " " + b.Currency
	}
	return text
}

// Sentence is the answer: "cheapest: 41.30 EUR a month, s3fifo at 64 MiB: 8.4% less than today (lru at 128 MiB, 45.10
// EUR), 60.2% less than without a cache (103.70 EUR); the origin gets 12.1 M requests and 402 GB a month, today 13.4 M
// requests and 431 GB, without a cache 40.3 M requests and 1.31 TB".
func (a Answer) Sentence() string {
	if !a.Offers[0].Competes {
		return "cheapest: unknown, because no online policy was replayed; add one with --policy"
	}
	best := a.Best()
	text := fmt.Sprintf("cheapest: %s a month%s, %s", a.Amount(best.Cost), costIn(*best), best.name())
	if !best.isNone() {
		text += capacityIn(*best)
	}
	return show.Printable(text + ": " + strings.Join(a.compared(), ", ") + "; " + a.reaching())
}

// name is what an offer is called in a sentence: "s3fifo at 64 MiB".
func (o Offer) name() string {
	if o.isNone() {
		return "no cache"
	}
	return o.Policy + " at " + capacityOf(o)
}

// compared says how much less than today, and than without a cache, the best costs.
func (a Answer) compared() (texts []string) {
	best, none := a.Best(), a.Amount(a.None.Cost)
	switch now := a.Now; {
	case now == nil:
	case now.isAt(*best):
		texts = append(texts, "as today")
	case now.isNone():
		return append(texts, less(*best, *now, "today, without a cache ("+none+")"))
	default:
		texts = append(texts, less(*best, *now, "today ("+now.name()+", "+a.Amount(now.Cost)+")"))
	}
	if best.isNone() {
		cache := a.Offers[0]
		return append(texts, less(*best, cache, "the cheapest cache ("+cache.name()+", "+a.Amount(cache.Cost)+")"))
	}
	return append(texts, less(*best, a.None, "without a cache ("+none+")"))
}

// less says how much less one offer costs than another, which has a text.
func less(best, other Offer, than string) string {
	if other.Tied {
		return "a tie with " + than
	}
	text := savedShare(best, other)
	if low, high, ok := savedIn(best, other); ok {
		number, _ := strings.CutSuffix(share(low), "%")
		text += fmt.Sprintf(" (%s to %s)", number, share(high))
	}
	return text + " less than " + than
}

// reaching says what reaches the origin with the best, today and without a cache.
func (a Answer) reaching() string {
	best := a.Best()
	nouns, does := "requests", "the origin gets "
	if isOfPrompts(a.curves[0].style) {
		nouns, does = "blocks of prompts", "to compute: "
	}
	of := func(o *Offer) string {
		if nouns != "requests" {
			o.origin.bytes = 0 // of keys and values, which nobody sends
		}
		return o.origin.text(nouns)
	}
	text := does + of(best) + " a month"
	if now := a.Now; now != nil && !now.isNone() && !now.isAt(*best) {
		text += ", today " + of(now)
	}
	if !best.isNone() {
		text += ", without a cache " + of(&a.None)
	}
	return text
}

// against says what lru costs at its cheapest; "" if lru is the best, or nothing is.
func (a Answer) against() string {
	best := a.Offers[0]
	if !best.Competes {
		return ""
	}
	switch other := a.offerOf(a.baselineOf(best.Policy)); {
	case other == nil:
		return "not compared with " + baseline + ", which was not replayed"
	case other.Policy != best.Policy:
		return fmt.Sprintf("%s at its cheapest, %s: %s, %s", other.Policy, capacityOf(*other), a.Amount(other.Cost),
			saved(*a.Best(), *other))
	}
	return ""
}

func capacityOf(o Offer) string {
	if o.Estimated {
		return "~" + show.About(o.Capacity, records.Bytes)
	}
	return show.Capacity(o.Capacity, records.Bytes)
}

// saved says how much less one offer costs than another.
func saved(best, other Offer) string {
	switch {
	case other.Tied:
		return "a tie"
	case other.Cost <= best.Cost:
		return "nothing saved"
	}
	return savedShare(best, other) + " saved"
}

// savedShare is the share of the other's cost that the best saves.
func savedShare(best, other Offer) string {
	if text := share(1 - best.Cost/other.Cost); text != "0%" {
		return text
	}
	return "less than 0.1%"
}

// share writes a share in tenths of a percent, halves up whatever rounding makes of them.
func share(x float64) string { return show.Share(math.Floor(1000*x+0.5+1e-9) / 1000) }

// costIn writes the interval of a cost: " (340.12 to 363.01)"; "" if it is unknown, or of one value.
func costIn(o Offer) string {
	if o.CostIn == nil {
		return ""
	}
	low, high := PerMonth.Text(o.CostIn[0]), PerMonth.Text(o.CostIn[1])
	if low == high {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", low, high)
}

// capacityIn writes the interval of a capacity: " (1.5 MiB to 2.1 MiB)"; "" if all draws have the same.
func capacityIn(o Offer) string {
	if o.CapacityIn == nil || o.CapacityIn[0] == o.CapacityIn[1] {
		return ""
	}
	return " (" + show.Between(show.Within(o.CapacityIn[0], 0, o.Capacity, records.Bytes),
		show.Within(o.CapacityIn[1], o.Capacity, math.MaxInt64, records.Bytes)) + ")"
}

// Explanation says how the costs are computed and what limits them, in a line each.
func (a Answer) Explanation() (lines []string) {
	lines = append(lines, show.Printable(a.against()), show.Printable(a.parts()))
	style := a.curves[0].style
	nouns := "requests"
	if isOfPrompts(style) {
		nouns = "blocks"
	}
	rate := fmt.Sprintf("%s %s/s, as given", RequestRate.Text(a.PerSecond), nouns)
	if a.Span > 0 {
		rate = fmt.Sprintf("%s %s/s in the %s of the trace", RequestRate.Text(a.PerSecond), nouns, Lasting(a.Span))
		if a.Span < 24*time.Hour {
			rate += ", which is less than a day: a month may have other rates"
		}
	}
	lines = append(lines, "prices: "+strings.Join(a.applied(style), ", ")+"; "+rate)
	if a.Sized > 0 {
		lines = append(lines, share(1-a.Sized)+" of the requests have no size: they are not replayed, and counted as "+
			"missing as often as the others")
	}
	lines = append(lines, a.counted(style)...)
	lines = append(lines, a.certainty(), a.end())
	for _, o := range a.Offers {
		if !o.Competes {
			lines = append(lines, fmt.Sprintf("offline, a bound rather than a choice: %s with %s at %s", a.Amount(o.Cost),
				o.Policy, capacityOf(o)))
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// parts lists what the cost of the cheapest consists of; "" for memory and misses alone.
func (a Answer) parts() string {
	best := a.Offers[0]
	shares := a.shares(best)
	if !best.Competes || len(shares) <= 2 {
		return ""
	}
	var texts []string
	for _, s := range shares {
		texts = append(texts, s.of+" "+PerMonth.Text(s.cost))
	}
	return a.Amount(best.Cost) + " = " + strings.Join(texts, " + ")
}

// costShare is a part of what an offer costs in a month.
type costShare struct {
	of   string
	cost float64
}

// shares returns what an offer is paid for: misses and missed bytes are one share.
func (a Answer) shares(o Offer) (shares []costShare) {
	for _, u := range o.uses {
		if n := len(shares); n > 0 && shares[n-1].of == u.of {
			shares[n-1].cost += a.cost(u)
		} else {
			shares = append(shares, costShare{u.of, a.cost(u)})
		}
	}
	return shares
}

// end says that the cheapest capacity is at an end of those that were replayed; "" if it is not.
func (a Answer) end() string {
	offer, what := a.Offers[0], "the cheapest"
	if a.Best().isNone() {
		what = "the cheapest cache"
	}
	switch {
	case !offer.Competes:
	case offer.AtSmallest && offer.AtLargest:
		return "only one capacity was replayed: others may cost less"
	case offer.AtSmallest:
		return what + " is the smallest capacity replayed: smaller ones may cost less"
	case offer.AtLargest:
		return what + " is the largest capacity replayed: larger ones may cost less"
	case offer.above > 0:
		return fmt.Sprintf("%s of the capacities replayed: others from %s may cost less", what,
			show.Between(show.Capacity(offer.below, records.Bytes), show.Capacity(offer.above, records.Bytes)))
	default: // everything fits
		return fmt.Sprintf("%s of the capacities replayed: others above %s may cost less", what,
			show.Capacity(offer.below, records.Bytes))
	}
	return ""
}

// certainty says what the brackets are, and what may be as cheap as the cheapest; "" if nothing is known.
func (a Answer) certainty() string {
	var parts []string
	if best := a.Best(); best.CostIn != nil {
		line := fmt.Sprintf("(...): 95%% confidence intervals (bootstrap over %d blocks of the trace)", blocks.Count)
		if best.moves() {
			line += " of misses, not of what tiers read and write"
		}
		parts = append(parts, line)
	}
	if ties := a.ties(); ties != "" {
		parts = append(parts, ties)
	}
	return strings.Join(parts, "; ")
}

// ties names the policies that may be as cheap as the cheapest; "" if there are none.
func (a Answer) ties() string {
	name := func(o Offer) string { return cmp.Or(o.Policy, o.name()) }
	best := a.Best()
	names := []string{name(*best)}
	for _, o := range a.others() {
		if o.Competes && o.Tied && o != a.Now && !slices.Contains(names, name(*o)) {
			names = append(names, name(*o))
		}
	}
	if len(names) == 1 {
		return ""
	}
	return show.Printable("a tie: " + strings.Join(names, ", "))
}

// Lasting writes a duration in the largest unit of which there are two: "36 hours", "3.5 days".
func Lasting(d time.Duration) string {
	for _, u := range []struct {
		name string
		long time.Duration
	}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}, {"seconds", time.Second}} {
		if d >= 2*u.long {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(u.long), u.name)
		}
	}
	return d.Round(time.Millisecond).String()
}

// Group returns the name of the group of records.
func (a Answer) Group() string { return a.Name }
