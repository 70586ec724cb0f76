package retrieve

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestClusters checks that every candidate of the first step is in one cluster, and of those that follow each whole
// size in one more; that a cluster has tokens of one segment; and compares the ranking with its definition.
func TestClusters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		c := &clusters{size: rapid.IntRange(1, 9).Draw(t, "size"), segment: rapid.IntRange(1, 100).Draw(t, "segment")}
		c.Begin(d.head)
		for _, s := range d.steps {
			got := c.Rank(nil, s)
			later := (s.To - d.head.To) / c.size * c.size
			all := slices.Clone(c.tokens)
			slices.Sort(all)
			if want := consecutive(nil, d.head.From, d.head.To-d.head.From+later); !slices.Equal(all, want) {
				t.Fatalf("clusters have the tokens %v, want %v", all, want)
			}
			sum := func(cluster int) (sum float64) {
				for _, token := range c.of(cluster) {
					sum += float64(s.Sums[token])
				}
				return sum
			}
			checkFewest(t, c, got, naiveBest(0, len(c.sizes), len(c.sizes), sum), s.K)
		}
		checkSegments(t, c, d)
	})
}

// checkFewest checks that clusters are the first of a list, as many as have k tokens.
func checkFewest(t *rapid.T, c *clusters, got []uint32, list []int32, k int) {
	tokens, n := 0, 0
	for n < len(list) && tokens < k {
		tokens += len(c.Tokens(nil, uint32(list[n])))
		n++
	}
	if !slices.EqualFunc(got, list[:n], func(a uint32, b int32) bool { return a == uint32(b) }) {
		t.Fatalf("clusters %v, want %v for %d tokens", got, list[:n], k)
	}
}

// checkSegments checks that no cluster has tokens of several segments, of which there are as many as stated.
func checkSegments(t *rapid.T, c *clusters, d drawn) {
	n := d.head.To - d.head.From
	segments := max(1, int(math.Round(float64(n)/float64(c.segment))))
	for i := range c.sizes {
		tokens := c.of(i)
		if tokens[0] >= int32(d.head.To) {
			continue
		}
		for s := range segments {
			from, to := int32(d.head.From+n*s/segments), int32(d.head.From+n*(s+1)/segments)
			if from <= tokens[0] && tokens[0] < to && tokens[len(tokens)-1] >= to {
				t.Fatalf("cluster %v reaches beyond the segment from %d to %d", tokens, from, to)
			}
		}
	}
}

// TestClustersByCentroid compares the ranking with the softmax of the queries' products with the means of the keys.
func TestClustersByCentroid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		c := &clusters{size: rapid.IntRange(1, 9).Draw(t, "size"), segment: 1000, byCentroid: true}
		c.Begin(d.head)
		for _, s := range d.steps {
			got := c.Rank(nil, s)
			want := make([]float64, len(c.sizes))
			for query := range slices.Chunk(s.Queries, d.head.Dim) {
				p, total := make([]float64, len(want)), 0.0
				for cluster := range p {
					product := product(query, c.meanOf(cluster))
					p[cluster] = math.Exp(product * d.head.Scale)
					total += p[cluster]
				}
				for cluster := range p {
					want[cluster] += p[cluster] / total
				}
			}
			for cluster, score := range c.ranking.scores {
				if math.Abs(float64(score)/want[cluster]-1) > 1e-5 {
					t.Fatalf("cluster %d has the score %v, want %v", cluster, score, want[cluster])
				}
			}
			list := naiveBest(0, len(c.sizes), len(c.sizes), func(i int) float64 { return float64(c.ranking.scores[i]) })
			checkFewest(t, c, got, list, s.K)
		}
	})
}

// meanOf returns the mean of a cluster's keys.
func (c *clusters) meanOf(cluster int) []float32 {
	mean := make([]float32, c.head.Dim)
	for i := range mean {
		sum := 0.0
		for _, token := range c.of(cluster) {
			sum += float64(c.head.Keys[int(token)*c.head.Dim+i])
		}
		mean[i] = float32(sum / float64(c.sizes[cluster]))
	}
	return mean
}

// TestClustersByHand has keys in two directions from their mean, (1,1): tokens 1, 3 and 4 in one, 2 and 5 in the other.
// With a centroid at each of them, three clusters remain empty and are left out.
func TestClustersByHand(t *testing.T) {
	keys := []float32{9, 9, 3, 1, -2, 1, 2, 1, 4, 1, -2, 1}
	for seed := range uint64(20) {
		c := retriever(t, "clusters(size=1)").(Divided)
		c.Begin(Head{Keys: keys, Dim: 2, From: 1, To: 6, Scale: 1, Seed: seed})
		lists := [][]int32{c.Tokens(nil, 0), c.Tokens(nil, 1)}
		slices.SortFunc(lists, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
		if len(c.Sizes()) != 2 || !slices.Equal(lists[0], []int32{1, 3, 4}) || !slices.Equal(lists[1], []int32{2, 5}) {
			t.Errorf("seed %d: %d clusters, the first are %v, want 1, 3, 4 and 2, 5", seed, len(c.Sizes()), lists)
		}
		sums := []float32{0, 1, 1, 1, 1, 1}
		if got := c.Retrieve(nil, Step{Sums: sums, To: 6, K: 2}); !slices.Equal(got, []int32{1, 3, 4}) {
			t.Errorf("seed %d: tokens %v, want 1, 3, 4", seed, got)
		}
	}
}

// TestGeneratedTokens become a cluster when there are as many as a cluster has in the mean.
func TestGeneratedTokens(t *testing.T) {
	c := retriever(t, "clusters(size=3)").(Divided)
	head := normalKeys(20, 4, 1)
	head.From, head.To = 2, 10
	c.Begin(head)
	sums, first := make([]float32, 20), len(c.Sizes())
	sums[10], sums[15] = 5, 9
	for to, want := range map[int][]int32{13: {10, 11, 12}, 15: {10, 11, 12}, 16: {13, 14, 15}} {
		c.Begin(head)
		if got := c.Retrieve(nil, Step{Sums: sums, To: to, K: 1}); !slices.Equal(got, want) {
			t.Errorf("of %d tokens %v, want %v", to, got, want)
		}
		if got := c.Sizes()[first:]; !slices.Equal(got, slices.Repeat([]int{3}, (to-10)/3)) {
			t.Errorf("of %d tokens the new clusters have %v, want 3 each", to, got)
		}
	}
}

// TestMeansImprove checks that every iteration brings vectors nearer to their centroids, that each vector is with the
// nearest one, and that equal vectors stay together.
func TestMeansImprove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := normalKeys(rapid.IntRange(1, 80).Draw(t, "vectors"), rapid.IntRange(1, 6).Draw(t, "dim"),
			rapid.Uint64().Draw(t, "seed"))
		copy(head.Keys[head.To/2*head.Dim:], head.Keys[:head.To/2*head.Dim]) // each twice
		var m means
		vectors := m.prepare(head.Keys, head.Dim)
		n := rapid.IntRange(1, 10).Draw(t, "clusters")
		m.divide(vectors, n, random.Stream(1, 1))
		closeness := func() (sum float64) {
			for i, cluster := range m.of {
				vector := vectors[i*head.Dim:][:head.Dim]
				nearness := product(vector, m.centroids[int(cluster)*head.Dim:][:head.Dim])
				for centroid := range slices.Chunk(m.centroids, head.Dim) {
					if p := product(vector, centroid); p > nearness+1e-5 {
						t.Fatalf("vector %d has the product %v with its centroid, %v with another", i, nearness, p)
					}
				}
				sum += nearness
			}
			return sum
		}
		for i := range head.To / 2 {
			if m.of[i] != m.of[head.To/2+i] {
				t.Fatalf("equal vectors are in the clusters %d and %d", m.of[i], m.of[head.To/2+i])
			}
		}
		m.assign(vectors)
		for range 3 {
			before := closeness()
			m.update(vectors)
			m.assign(vectors)
			if after := closeness(); after < before-1e-4 {
				t.Fatalf("an iteration went from %v to %v", before, after)
			}
		}
	})
}

// TestEqualKeys have no direction from their mean. They are in one cluster.
func TestEqualKeys(t *testing.T) {
	c := must.Get(Registry.Parse("clusters(size=2)"))(t)
	r := New(c).(Divided)
	r.Begin(Head{Keys: slices.Repeat([]float32{1, 2}, 9), Dim: 2, From: 1, To: 9, Scale: 1})
	if got := r.Sizes(); !slices.Equal(got, []int{8}) {
		t.Errorf("clusters of %v tokens, want one of 8", got)
	}
}
