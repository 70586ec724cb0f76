package sim_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Ties go to the smallest key as an integer with a sign: as a file of text states it, "-5", and as a binary file does,
// 2^64-5. A naive cache of equal objects under GDSF, whose new object competes, decides by such integers.
func TestTiesFollowKeysWithASign(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const capacity = 20
	for _, asText := range []bool{true, false} {
		keys := map[int64]uint32{}
		tr := &traces.Trace{Name: "keys", SampleRate: 1}
		var priority = map[int64]float64{}
		requests := map[int64]int{}
		age, hits := 0.0, int64(0)
		for range 3000 {
			key := int64(rng.ExpFloat64()*40) - 60
			o, known := keys[key]
			if !known {
				o = uint32(len(keys))
				keys[key] = o
				named := stream.Key{Num: uint64(key)}
				if asText && key < 0 {
					named = stream.Key{Text: strconv.FormatInt(key, 10)}
				}
				tr.Keys = append(tr.Keys, named)
			}
			tr.Objects = append(tr.Objects, o)
			if _, resident := priority[key]; resident {
				hits++
				requests[key]++
			} else {
				requests[key] = 1
			}
			priority[key] = age + float64(requests[key])
			if len(priority) <= capacity {
				continue
			}
			var all []int64
			for k := range priority {
				all = append(all, k)
			}
			victim := slices.MinFunc(all, func(a, b int64) int {
				return cmp.Or(cmp.Compare(priority[a], priority[b]), cmp.Compare(a, b))
			})
			if victim != key {
				age = priority[victim]
			}
			delete(priority, victim)
		}
		tr.NumObjects = len(keys)
		rec := simtest.Run(t, tr, simtest.Options{Policies: "gdsf(rule=caffeine)",
			Capacities: simtest.Objects(capacity)})[0]
		if got := rec.Int(metric.Hits); got != hits {
			t.Errorf("negative keys as text %v: %d hits, want %d", asText, got, hits)
		}
	}
}
