package cost

import (
	"fmt"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Amount writes an amount of money with its currency: "41.30 EUR".
func (b Bill) Amount(x float64) string {
	text := PerMonth.Text(x)
	if b.Currency != "" {
		text += " " + b.Currency
	}
	return text
}

// Sentence is the answer: "cheapest: 41.30 EUR a month, s3fifo at 64 MiB; lru at its cheapest, 128 MiB: 45.10 EUR,
// 8.4% saved".
func (a Answer) Sentence() string {
	if !a.Offers[0].Competes {
		return "cheapest: unknown, because no online policy was replayed; add one with --policy"
	}
	best := a.Offers[0]
	parts := []string{fmt.Sprintf("cheapest: %s a month%s, %s at %s", a.Amount(best.Cost), costIn(best), best.Policy,
		capacityOf(best)+capacityIn(best))}
	switch other := a.offerOf(a.baselineOf(best.Policy)); {
	case other != nil && other.Policy == best.Policy:
	case other == nil:
		parts = append(parts, "not compared with "+baseline+", which was not replayed")
	default:
		parts = append(parts, fmt.Sprintf("%s at its cheapest, %s: %s, %s", other.Policy, capacityOf(*other),
			a.Amount(other.Cost), saved(best, *other)))
	}
	if a.Now != nil {
		parts = append(parts, fmt.Sprintf("today, %s at %s: %s, %s", a.Now.Policy, capacityOf(*a.Now),
			a.Amount(a.Now.Cost), saved(best, *a.Now)))
	}
	return records.Printable(strings.Join(parts, "; "))
}

func capacityOf(o Offer) string {
	if o.Estimated {
		return "~" + records.About(o.Capacity, records.Bytes)
	}
	return records.Capacity(o.Capacity, records.Bytes)
}

// saved says how much less one offer costs than another.
func saved(best, other Offer) string {
	switch {
	case other.Tied:
		return "a tie"
	case other.Cost <= best.Cost:
		return "nothing saved"
	}
	thousandths := int(1000*(1-best.Cost/other.Cost) + 0.5)
	if thousandths == 0 {
		return "less than 0.1% saved"
	}
	return records.Share(float64(thousandths)/1000) + " saved"
}

// costIn writes the interval of a cost: " (340.12 to 363.01)"; "" if it is unknown.
func costIn(o Offer) string {
	if o.CostIn == nil {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", PerMonth.Text(o.CostIn[0]), PerMonth.Text(o.CostIn[1]))
}

// capacityIn writes the interval of a capacity: " (1.5 MiB to 2.1 MiB)"; "" if all draws have the same.
func capacityIn(o Offer) string {
	if o.CapacityIn == nil || o.CapacityIn[0] == o.CapacityIn[1] {
		return ""
	}
	return " (" + records.Between(records.About(o.CapacityIn[0], records.Bytes),
		records.About(o.CapacityIn[1], records.Bytes)) + ")"
}

// Explanation says how the costs are computed and what limits them, in a line each.
func (a Answer) Explanation() (lines []string) {
	if line := a.parts(); line != "" {
		lines = append(lines, line)
	}
	rate := RequestRate.Text(a.PerSecond) + " requests/s, as given"
	if a.Span > 0 {
		rate = fmt.Sprintf("%s requests/s in the %s of the trace", RequestRate.Text(a.PerSecond), Lasting(a.Span))
		if a.Span < 24*time.Hour {
			rate += ", which is less than a day: a month may have other rates"
		}
	}
	style := a.curves[0].style
	lines = append(lines, "prices: "+strings.Join(a.applied(style), ", ")+"; "+rate)
	lines = append(lines, a.counted(style)...)
	for _, line := range []string{a.certainty(), a.end()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	for _, o := range a.Offers {
		if !o.Competes {
			lines = append(lines, fmt.Sprintf("offline, a bound rather than a choice: %s with %s at %s", a.Amount(o.Cost),
				o.Policy, capacityOf(o)))
		}
	}
	return lines
}

// parts says what the cost of the cheapest consists of, where that is more than memory and misses; "" if it is not.
func (a Answer) parts() string {
	best := a.Offers[0]
	if !best.Competes || len(best.shares) <= 2 {
		return ""
	}
	var texts []string
	for _, s := range best.shares {
		texts = append(texts, s.of+" "+PerMonth.Text(s.cost))
	}
	return a.Amount(best.Cost) + " = " + strings.Join(texts, " + ")
}

// end says that the cheapest capacity is at an end of those that were replayed; "" if it is not.
func (a Answer) end() string {
	switch best := a.Offers[0]; {
	case !best.Competes:
		return ""
	case best.AtSmallest && best.AtLargest:
		return "only one capacity was replayed: others may cost less"
	case best.AtSmallest:
		return "the cheapest is the smallest capacity replayed: smaller ones may cost less"
	case best.AtLargest:
		return "the cheapest is the largest capacity replayed: larger ones may cost less"
	}
	return ""
}

// certainty says what the brackets are, and which policies may be as cheap as the cheapest; "" if nothing is known.
func (a Answer) certainty() string {
	var parts []string
	if a.Offers[0].CostIn != nil {
		line := fmt.Sprintf("(...): 95%% intervals, from how much %d blocks of the trace differ", blocks.Count)
		if a.Offers[0].moves() {
			line += " in misses, not in what tiers read and write"
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
	names := []string{a.Offers[0].Policy}
	for _, o := range a.Offers {
		if o.Competes && o.Tied {
			names = append(names, o.Policy)
		}
	}
	if len(names) == 1 {
		return ""
	}
	return "a tie: " + strings.Join(names, ", ")
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
