package all_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// keptByOpt replays opt one by one and returns for each position whether the object stays until it is requested next.
func keptByOpt(next []uint32, objects []uint32, capacity int) []bool {
	kept := make([]bool, len(objects))
	resident := map[uint32]int{} // position of the last request
	for pos, o := range objects {
		if at, ok := resident[o]; ok {
			kept[at] = true
		} else if len(resident) == capacity {
			victim, latest := uint32(0), -1
			for other, at := range resident {
				if due := int(next[at]); due > latest {
					victim, latest = other, due
				}
			}
			delete(resident, victim)
		}
		resident[o] = pos
	}
	return kept
}

func TestLabelsAreThoseOfTheOptimum(t *testing.T) {
	for seed := range uint64(20) {
		tr := policytest.Trace(seed, 400, 60)
		next := policytest.NextUse(tr)
		kept := keptByOpt(next, tr.Objects, 10)
		for pos, evicts := range policies.OptEvicts(tr.Objects, tr.NumObjects, next, 10) {
			if evicts != !kept[pos] {
				t.Fatalf("seed %d, request %d: label %v, but the optimum keeps it until its next request: %v", seed,
					pos, evicts, kept[pos])
			}
			if next[pos] == policies.Never && !evicts {
				t.Fatalf("seed %d, request %d is the last of its object, but its label says to keep it", seed, pos)
			}
		}
	}
}
