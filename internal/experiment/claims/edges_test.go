package claims

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestTheLongestClaim(t *testing.T) {
	claim := "hits(a) > 1"
	for length, ok := range map[int]bool{maxLength: true, maxLength + 1: false} {
		text := claim + strings.Repeat(" ", length-len(claim))
		if _, err := Parse(text); (err == nil) != ok {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// A place that is no number is not 0.
func TestTextsAreNotNumbers(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 4/10 mode=sync\nt a 1 2/10 mode=1\n")}
	checkResult(t, in, "hits(a) > 3 where mode != 0 and mode != 1", "reproduced: 4 > 3 (t, capacity 1, mode sync)")
	checkResult(t, in, "hits(a) > 3 where mode = 0",
		"not testable here: no record where mode = 0, but at mode sync, 1")
}

// A name after "over" that is a policy is not the dimension of that name, whichever comes first in the records.
func TestAPolicyComesBeforeADimensionOfItsName(t *testing.T) {
	in := Input{Records: recs(t, "t x 1 3/10 x=1\nt x 1 5/10 x=2\n")}
	checkResult(t, in, "max over x of hits == 5",
		"refuted: 3 to 5, fails at 1 of 2 points; worst at t, capacity 1, x 1: 3 < 5")
}

func TestUnitsOfOperations(t *testing.T) {
	for text, want := range map[string]unit{
		"2 / hit_ratio(a)":                   anyUnit,
		"hit_ratio(a) / 2":                   share,
		"2 * hit_ratio(a)":                   share,
		"hit_ratio(a) * 2":                   share,
		"hits(a) / hits(b)":                  plain,
		"hits(a) / hit_ratio(b)":             anyUnit,
		"hits(a) * hit_ratio(b)":             anyUnit,
		"hit_ratio(a) / (hits(a) / hits(b))": share,
		"hit_ratio(a) * (hits(a) / hits(b))": share,
		"(hits(a) / hits(b)) * hits(a)":      count,
		"(hits(a) / hits(b)) / hits(a)":      anyUnit,
		"hits(a) + hits(b)":                  count,
		"1 - hit_ratio(a)":                   share,
	} {
		c := must.Get(Parse(text + " > 1"))(t)
		if got := unitOf(c.says.operands()[0]); got != want {
			t.Errorf("%s: unit %d, want %d", text, got, want)
		}
	}
}
