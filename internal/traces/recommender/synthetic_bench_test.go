package recommender

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// BenchmarkSyntheticLookups draws the lookups of requests of all users in turn: 244 draws for 10 000 tokens.
func BenchmarkSyntheticLookups(b *testing.B) {
	p := DefaultPopulation()
	s := must.Get(NewSynthetic(b.Context(), p, 1, nil))(b)
	var read []Lookup
	read = s.append(place{}, 10_000, read)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		user := uint32(i * 7919 % (p.Users * p.Nodes))
		read = s.append(place{uint32(i), user}, 10_000, read[:0])
	}
}
