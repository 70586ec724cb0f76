package sim

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

// TestLRUInOnePassEqualsReplay holds the records of one pass over reuse distances to those of replaying each capacity.
func TestLRUInOnePassEqualsReplay(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		for seed := range uint64(10) {
			tr := testTrace(seed, 3000, 100)
			if bytes && seed == 9 {
				changeSizes(tr)
			}
			var capacities []Capacity
			for _, c := range []int64{500, 1, 7, 21, 60, 100, 180, 2000} {
				capacities = append(capacities, Capacity{Amount: c, Bytes: bytes, Simulated: c})
			}
			options := RunOptions{Capacities: capacities, Warmup: int(seed) * 100}
			options.Policies = []policies.Spec{mustSpec("lru")}
			want := mustRun(t, tr, options)
			options.Policies, options.LRUCapacities = []policies.Spec{mustSpec("opt")}, capacities
			got := slices.DeleteFunc(mustRun(t, tr, options), func(r records.Record) bool { return r.Policy != "lru" })
			if len(got) != len(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			for i := range got {
				got[i].NsPerRequest, want[i].NsPerRequest = nil, nil
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("bytes=%v, seed %d:\none pass %+v\nreplayed %+v", bytes, seed, got[i], want[i])
				}
			}
		}
	}
}

func TestLRUInOnePassIsOneJob(t *testing.T) {
	tr := testTrace(1, 1000, 50)
	var capacities []Capacity
	for c := int64(1); c <= 50; c++ {
		capacities = append(capacities, Capacity{Amount: c, Simulated: c})
	}
	var planned int64
	options := RunOptions{LRUCapacities: capacities, Planned: func(n int64) { planned = n }}
	if got := len(mustRun(t, tr, options)); got != 50 {
		t.Errorf("%d records, want 50", got)
	}
	if planned != 1000 {
		t.Errorf("%d requests for 50 capacities, want one pass of 1000", planned)
	}
}
