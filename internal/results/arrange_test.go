package results

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/records"
)

// Different capacities of a trace are different places, however alike their shares are printed.
func TestSharesOfDifferentCapacitiesDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(of float64, capacities ...int64) {
		t.Helper()
		var recs []records.Record
		for i, capacity := range capacities {
			share := float64(capacity) / of
			recs = append(recs, records.Record{Trace: "t", Policy: "lru", Label: "lru", Capacity: capacity,
				CapacityText: fmt.Sprint(capacity), CapacityShare: &share,
				Values: metric.ValuesOf(map[string]float64{"hit_ratio": 0.1 * float64(i)})})
		}
		panels, err := Arrange(recs, Layout{Along: records.DimCapacityShare, Metric: "hit_ratio"})
		if err != nil {
			t.Fatalf("capacities %v of %g: %v", capacities, of, err)
		}
		if n := len(panels[0].Lines[0].Points); n != len(capacities) {
			t.Fatalf("capacities %v of %g are %d places", capacities, of, n)
		}
	}
	check(1e6, 205, 209, 213)
	// 0.0205%, 0.02051% and 0.02049%, 0.020496%, 0.02045% are 0.021% and 0.02%; with three digits 0.0205% is in both.
	check(1e8, 20500, 20510, 20490, 20496, 20450)
	// 12.345% and 12.352% are 12.35%; with three digits one is 12.3%, which is another capacity.
	check(1e5, 12345, 12352, 12300)
	for range brief.Of(20_000, 3000) {
		of, from := 1e4*float64(1+random.IntN(1000)), random.Int64N(1000)
		distinct := map[int64]bool{}
		var capacities []int64
		for range 2 + random.IntN(30) {
			if c := from + 1 + random.Int64N(1+random.Int64N(3000)); !distinct[c] {
				distinct[c] = true
				capacities = append(capacities, c)
			}
		}
		check(of, capacities...)
	}
}

// A layout along shares of a footprint tells capacities apart, too, and nothing else that it does not name.
func TestLayoutsAlongShares(t *testing.T) {
	shares, traces := Layout{Lines: records.DimPolicy, Along: records.DimCapacityShare}, Layout{Lines: records.DimPolicy,
		Along: records.DimTrace}
	for dim, want := range map[string][2]bool{
		records.DimPolicy: {true, true}, records.DimCapacityShare: {true, false}, records.DimCapacity: {true, false},
		records.DimSeed:  {false, false},
		records.DimTrace: {false, true},
	} {
		if got := [2]bool{shares.uses(dim), traces.uses(dim)}; got != want {
			t.Errorf("%s: a layout along shares and one along traces use it: %v, want %v", dim, got, want)
		}
	}
}
