package prefix_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
)

// chunkStore is LMCache's store of chunks in the memory of the host, as its rules are: see docs/policies-engines.md.
type chunkStore struct {
	chunk, capacity int
	stored          map[string]*storedChunk
	clock           int
	before          func(a, b *storedChunk) int // which is evicted first
	gaps            int                         // chunks that were stored already, behind a missing one
}

type storedChunk struct {
	key                string
	found, hits, added int // found and added are times
}

var chunkOrders = map[string]func(a, b *storedChunk) int{
	"lmcache-lru": func(a, b *storedChunk) int { return cmp.Compare(a.found, b.found) },
	"lmcache-lfu": func(a, b *storedChunk) int {
		return cmp.Or(cmp.Compare(a.hits, b.hits), cmp.Compare(a.found, b.found))
	},
	"lmcache-fifo": func(a, b *storedChunk) int { return cmp.Compare(a.added, b.added) },
	"lmcache-mru":  func(a, b *storedChunk) int { return cmp.Compare(b.found, a.found) },
}

// serve looks up a prompt, and then stores it. It returns how many tokens were found.
func (s *chunkStore) serve(tokens []int) (cached int) {
	var keys []string
	for end := s.chunk; end <= len(tokens); end += s.chunk {
		keys = append(keys, fmt.Sprint(tokens[:end]))
	}
	hits := 0
	for hits < len(keys) && s.stored[keys[hits]] != nil {
		hits++
	}
	for _, key := range slices.Backward(keys[:hits]) {
		s.clock++
		c := s.stored[key]
		c.found = s.clock
		c.hits++
	}
	allocated := 0 // chunks that are not in the store yet
	for range keys[hits:] {
		if len(s.stored)+allocated == s.capacity && !s.evict() {
			break
		}
		allocated++
	}
	for _, key := range keys[hits : hits+allocated] {
		if s.clock++; s.stored[key] != nil {
			s.gaps++
			continue
		}
		s.stored[key] = &storedChunk{key: key, found: s.clock, added: s.clock, hits: 1}
	}
	return hits * s.chunk
}

func (s *chunkStore) evict() bool {
	var victim *storedChunk
	for _, c := range s.stored {
		if victim == nil || s.before(c, victim) < 0 {
			victim = c
		}
	}
	if victim == nil {
		return false
	}
	delete(s.stored, victim.key)
	return true
}

// TestLMCacheAgainstItsStore: for each prompt of 1000 workloads, ours finds the same tokens as LMCache's store.
func TestLMCacheAgainstItsStore(t *testing.T) {
	names, reused, gaps := []string{"lmcache-lru", "lmcache-lfu", "lmcache-fifo", "lmcache-mru"}, 0, 0
	forEngineWorkloads(t, 6, func(seed uint64, prompts *tokenPrompts, page, capacity int, _ func() bool) {
		name := names[seed/3%4]
		theirs := &chunkStore{chunk: page, capacity: capacity, stored: map[string]*storedChunk{}, before: chunkOrders[name]}
		ours := newEngine(t, prompts.trace, name, capacity)
		var n cache.Counts
		for i, tokens := range prompts.tokens {
			want := theirs.serve(tokens)
			if got := ours.Begin(i, &n); got != int64(want) {
				t.Fatalf("seed %d, %s, chunks of %d, capacity %d: %d tokens of prompt %d found, want %d", seed, name, page,
					capacity, got, i, want)
			}
			ours.Finish(i)
			if int(ours.Used()) != len(theirs.stored) {
				t.Fatalf("seed %d, %s, chunks of %d, capacity %d: %d chunks after prompt %d, want %d", seed, name, page, capacity,
					ours.Used(), i, len(theirs.stored))
			}
			reused += want
		}
		gaps += theirs.gaps
	})
	if reused == 0 || gaps == 0 {
		t.Errorf("%d tokens found, %d chunks behind a missing one: nothing is tested of one of them", reused, gaps)
	}
}
