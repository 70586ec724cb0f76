package cost_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestReachIsThatOfAnExhaustiveReplay: at the recommended capacity, and at today's, as many requests and bytes reach
// the origin as a naive replay has misses. Where no capacity is recommended, it is that with the most hits.
func TestReachIsThatOfAnExhaustiveReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, total := smallTrace(t)
		r := sim.NewReplayer(tr, sim.ReplayerOptions{})
		var recs []records.Record
		for room := int64(1); room <= total; room++ {
			recs = append(recs, simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(room, true))).Record)
		}
		today := rapid.Int64Range(0, total).Draw(t, "today")
		n := int64(len(tr.Objects))
		all := int64(0)
		for _, o := range tr.Objects {
			all += tr.ObjectSizes[o]
		}
		best := rapid.Int64Range(1, total).Draw(t, "recommended")
		misses, bytes := missesOfLRU(tr.Objects, tr.ObjectSizes, best)
		ratio := float64(n-misses) / float64(n)
		need := target.Need{Policy: "lru", Online: true, Above: target.Point{Capacity: best, HitRatio: ratio}}
		answers := []target.Answer{{Name: tr.Name, Level: ratio, Needs: []target.Need{need}}}
		isAsked := misses == n // no target can be reached, and the first capacity has the most hits
		if isAsked {
			best = 1
			for room := int64(1); room <= total; room++ {
				fewer, size := missesOfLRU(tr.Objects, tr.ObjectSizes, room)
				if fewer < misses {
					best, misses, bytes = room, fewer, size
				}
			}
		}
		reaches := cost.Bill{Today: &today}.Reaches(answers, recs, isAsked)
		if len(reaches) != 1 {
			t.Fatalf("%d sentences", len(reaches))
		}
		wants := []string{fmt.Sprintf("lru at %d B: ", best), fmt.Sprintf(" of the requests (%d of %d) and ", misses, n),
			fmt.Sprintf(" of the bytes (%d B of %d B) reach the origin", bytes, all)}
		switch now, _ := missesOfLRU(tr.Objects, tr.ObjectSizes, max(1, today)); {
		case today == 0:
			wants = append(wants, "origin, today, without a cache, all of them")
		case today == best:
			wants = append(wants, "origin as today, without a cache all of them")
		default:
			wants = append(wants, fmt.Sprintf("origin, today (lru at %d B) %s and ", today,
				show.Share(float64(int64(1000*float64(now)/float64(n)+0.5+1e-9))/1000)))
		}
		for _, want := range wants {
			if text := reaches[0].Sentence(); !strings.Contains(text, want) {
				t.Fatalf("%q lacks %q", text, want)
			}
		}
	})
}
