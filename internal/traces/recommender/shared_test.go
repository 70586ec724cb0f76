package recommender

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestGroupsShareShards checks that the stated share of the own shards is owned by many users of the same group, and
// that there are so many groups.
func TestGroupsShareShards(t *testing.T) {
	p := DefaultPopulation()
	p.Nodes, p.Users, p.Shards, p.ShardAlpha, p.Groups = 2, 2000, 10_000_000, 0, 20
	for _, shared := range []float64{0, 0.5, 0.9} {
		p.SharedShare = shared
		s := must.Get(NewSynthetic(t.Context(), p, 7, nil))(t)
		owners := map[[2]int]int{} // of a shard, by group
		members := make([]int, p.Groups)
		for user := range p.Users * p.Nodes {
			g := s.group(uint32(user))
			members[g]++
			for _, shard := range s.own[user*p.OwnShards : (user+1)*p.OwnShards] {
				owners[[2]int{int(shard), g}]++
			}
		}
		for g, n := range members {
			if n < 130 || n > 270 {
				t.Errorf("group %d has %d of 4000 users, want about 200", g, n)
			}
		}
		inCommon, apart := 0, 0 // owned slots
		for _, n := range owners {
			if n > 5 {
				inCommon += n
			} else {
				apart += n
			}
		}
		if got := float64(inCommon) / float64(inCommon+apart); math.Abs(got-shared) > 0.01 {
			t.Errorf("shared=%v: %v of the own shards are those of a group", shared, got)
		}
	}
}

// TestSharingMovesNothingElse checks that users who share nothing own what they always did.
func TestSharingMovesNothingElse(t *testing.T) {
	p := DefaultPopulation()
	p.Users, p.Shards = 100, 1000
	plain := must.Get(NewSynthetic(t.Context(), p, 7, nil))(t)
	p.Groups, p.SharedShare = 3, 1e-9
	other := must.Get(NewSynthetic(t.Context(), p, 7, nil))(t)
	for i := range plain.own {
		if plain.own[i] != other.own[i] {
			t.Fatalf("own shard %d is %d, and %d if users could share", i, plain.own[i], other.own[i])
		}
	}
}
