package claims

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestUnitsOfClaims(t *testing.T) {
	for claim, want := range map[string]string{
		"hit_ratio(arc) > hit_ratio(lru)":                                     "%",
		"hit_ratio(arc) - hit_ratio(lru) > 5%":                                "points",
		"max over capacity of (hit_ratio(arc) - hit_ratio(lru)) > 0.05":       "points",
		"(hit_ratio(arc) - hit_ratio(lru)) / hit_ratio(lru) about 30%":        "%",
		"hit_ratio(arc) / hit_ratio(lru) > 1.5":                               "x",
		"1 - misses(arc) / misses(lru) > 0.3":                                 "%",
		"misses(arc) <= 0.9 * misses(lru)":                                    "misses",
		"mean over capacity of misses(arc) == 7":                              "misses",
		"bytes(arc) > bytes(lru)":                                             "B",
		"(argmax over capacity of hit_ratio(lru)) == 100":                     "",
		"misses(lru) decreases with capacity":                                 "misses",
		"hit_ratio(arc) is first among lru, fifo":                             "%",
		"misses(arc) * misses(lru) > 4":                                       "",
		"misses(arc) / misses(lru) - misses(arc) / misses(fifo) - 0.5 > 0":    "",
		"ns_per_request(arc) + 2 * ns_per_request(lru) < max(1, misses(lru))": "ns",
	} {
		if got := must.Get(Parse(claim))(t).Unit(); got != want {
			t.Errorf("%s: unit %q, want %q", claim, got, want)
		}
	}
}
