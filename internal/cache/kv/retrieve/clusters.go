package retrieve

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// What clusters are ranked by.
const (
	byProbability = "probability"
	byCentroid    = "centroid"
)

var clustersEntry = Entry{
	Name: "clusters",
	Summary: "the clusters of similar keys with the greatest sum of probabilities over the group, or with the most " +
		"probable centroids: the fewest of them that have k tokens",
	Source: "RetroInfer (Chen et al., 2025), retroinfer_cache.py of microsoft/RetrievalAttention: k-means on the " +
		"directions of keys from their mean, in segments; ranking by probability is ours, which no system knows",
	Sums:    true,
	Divided: true,
	Random:  true,
	Params: []params.Param{
		{Name: "size", Default: 16, Min: 1, Max: 1 << 16, Doc: "tokens of a cluster in the mean"},
		{Name: "by", Default: byProbability, Choices: []string{byProbability, byCentroid},
			Doc: "what ranks a cluster, summed over the group: the probability of its tokens, or that of its centroid, the " +
				"mean of its keys, among the centroids, as in RetroInfer"},
		{Name: "segment", Default: 8192, Min: 1, Max: 1 << 22,
			Doc: "tokens in the mean that are clustered together, adjacent ones"},
	},
	Resolve: func(e *Entry, v params.Values) { e.Sums = v.Text("by") == byProbability },
	New: func(v params.Values) Retriever {
		return &clusters{size: v.Int("size"), segment: v.Int("segment"), byCentroid: v.Text("by") == byCentroid}
	},
}

// clusters are made of the first candidates when a head begins, and never change, so that a store can hold them. What
// is generated later forms a cluster of its own for every size tokens in order. RetroInfer divides 1024 of them into
// clusters, and attends to all until then; here fewer wait, as the cache may not do so.
type clusters struct {
	size, segment int
	byCentroid    bool
	head          Head
	tokens        []int32 // cluster by cluster, in ascending order
	sizes         []int
	ends          []int // in tokens
	centroids     []float32
	end           int // the first token that is in no cluster yet

	means         means
	ranking       ranking
	ranked        []uint32
	probabilities []float32 // of centroids, a row per query head
}

func (c *clusters) Begin(h Head) {
	c.head, c.end = h, h.From
	c.tokens, c.sizes, c.ends, c.centroids = c.tokens[:0], c.sizes[:0], c.ends[:0], c.centroids[:0]
	n := h.To - h.From
	segments := max(1, (n+c.segment/2)/c.segment)
	vectors := c.means.prepare(h.Keys[h.From*h.Dim:h.To*h.Dim], h.Dim)
	source := random.Stream(h.Seed, clusterDraws)
	for i := range segments {
		from, to := n*i/segments, n*(i+1)/segments
		of := c.means.divide(vectors[from*h.Dim:to*h.Dim], max(1, (to-from+c.size/2)/c.size), source)
		c.add(h.From+from, of)
	}
	c.end = h.To
}

// add adds the clusters of the tokens from first on. Clusters without tokens are left out.
func (c *clusters) add(first int, clusterOf []int32) {
	if len(clusterOf) == 0 {
		return
	}
	by := make([][]int32, slices.Max(clusterOf)+1)
	for i, cluster := range clusterOf {
		by[cluster] = append(by[cluster], int32(first+i))
	}
	for _, tokens := range by {
		if len(tokens) > 0 {
			c.addOne(tokens)
		}
	}
}

func (c *clusters) addOne(tokens []int32) {
	c.tokens, c.sizes = append(c.tokens, tokens...), append(c.sizes, len(tokens))
	c.ends = append(c.ends, len(c.tokens))
	sum := make([]float64, c.head.Dim)
	for _, token := range tokens {
		for i, x := range c.head.Keys[int(token)*c.head.Dim:][:c.head.Dim] {
			sum[i] += float64(x)
		}
	}
	for _, x := range sum {
		c.centroids = append(c.centroids, float32(x/float64(len(tokens))))
	}
}

func (c *clusters) Retrieve(dst []int32, s Step) []int32 {
	c.ranked = c.Rank(c.ranked[:0], s)
	return Tokens(dst, c, c.ranked)
}

func (c *clusters) Rank(dst []uint32, s Step) []uint32 {
	for ; c.end+c.size <= s.To; c.end += c.size {
		c.addOne(consecutive(nil, c.end, c.size))
	}
	c.score(s)
	// As clusters differ in size, how many are enough is not known.
	for n := s.K/c.size + 1; ; n *= 2 {
		ranked := c.ranking.ranked(n)
		if first, enough := c.firstWith(ranked, s.K); enough || n >= len(c.sizes) {
			for _, cluster := range first {
				dst = append(dst, uint32(cluster))
			}
			return dst
		}
	}
}

// firstWith returns the fewest of the first clusters of a list that have k tokens, and whether there are as many.
func (c *clusters) firstWith(list []int32, k int) (first []int32, enough bool) {
	tokens := 0
	for i, cluster := range list {
		if tokens += c.sizes[cluster]; tokens >= k {
			return list[:i+1], true
		}
	}
	return list, false
}

func (c *clusters) score(s Step) {
	scores := c.ranking.reset(len(c.sizes))
	if c.byCentroid {
		n := len(s.Queries) / c.head.Dim * len(scores)
		c.probabilities = slices.Grow(c.probabilities[:0], n)[:n]
		softmax.Probabilities(c.probabilities, s.Queries, c.centroids, c.head.Dim, float32(c.head.Scale))
		softmax.SumQueries(scores, c.probabilities)
		return
	}
	for i := range scores {
		var sum float32
		for _, token := range c.of(i) {
			sum += s.Sums[token]
		}
		scores[i] = sum
	}
}

func (c *clusters) of(cluster int) []int32 {
	return c.tokens[c.ends[cluster]-c.sizes[cluster] : c.ends[cluster]]
}

func (c *clusters) Tokens(dst []int32, cluster uint32) []int32 {
	return append(dst, c.of(int(cluster))...)
}

func (c *clusters) Size() int    { return 0 }
func (c *clusters) Sizes() []int { return c.sizes }
