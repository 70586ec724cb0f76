package route

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Recommended is a way to route requests for recommendations: the name of one of Recommenders.
type Recommended string

// The router of the paper, its two halves, and two that know nothing of caches.
const (
	Joint       Recommended = "joint"        // KV, embeddings and load
	KV          Recommended = "kv"           // KV and load
	Embeddings  Recommended = "embeddings"   // embeddings and load
	LeastLoaded Recommended = "least-loaded" // load alone
	Hash        Recommended = "hash"         // a fixed node for each user
)

// Reports are what the nodes of a recommender reported last. It is an interface so that routers need no cache.
type Reports interface {
	// Holds reports whether a user's KV is on a node.
	Holds(node int, user uint32) bool
	// Coverage returns the share of the user's profile, the shards that the user reads most, that a node holds.
	Coverage(node int, user uint32) float64
}

// RecommenderConfig describes a Recommender.
type RecommenderConfig struct {
	Kind    Recommended
	Nodes   int
	Users   int
	Weights Weights // of Joint
	// Bonus is added to the score of the node that served the user's last request.
	Bonus float64
	// Overload is the load above which the node with the least load replaces the best node. If all nodes are overloaded,
	// the best one is kept: requests sent away from their caches would only make it worse, and permanently.
	Overload float64
	// Capacity is the number of requests, running and waiting, at which the load of a node is 1.
	Capacity int
	// Sent says that the router adds to the reports of the nodes what it has sent them since.
	Sent bool
}

// Recommender routes requests for recommendations, after section IV-C of HLEM (arXiv 2605.04450): by which nodes have
// the user's keys and values (KV), which embeddings they hold, and their load. It sees what the nodes reported last.
// Its memory is 4 bytes per user.
type Recommender struct {
	RecommenderConfig
	state    Reports
	weights  Weights   // of this kind
	last     []int32   // per user: 1 + the node of the last request; 0: none
	load     []float64 // per node
	reported []int     // requests on each node
	sent     []int     // to each node since
	allSent  int
}

// NewRecommender returns a router. Before the first report all nodes are idle.
func NewRecommender(c RecommenderConfig, s Reports) *Recommender {
	r := &Recommender{RecommenderConfig: c, state: s, last: make([]int32, c.Users), load: make([]float64, c.Nodes),
		reported: make([]int, c.Nodes), sent: make([]int, c.Nodes)}
	switch c.Weights = c.Weights.normalised(); c.Kind {
	case Joint:
		r.weights = c.Weights
	case KV:
		r.weights = Weights{KV: 0.8, Load: 0.2}
	case Embeddings:
		r.weights = Weights{Embeddings: 0.8, Load: 0.2}
	}
	r.RecommenderConfig.Weights = c.Weights
	return r
}

// Report says how many requests run and wait on a node.
func (r *Recommender) Report(node, requests int) {
	r.reported[node] = requests
	r.allSent -= r.sent[node]
	r.sent[node] = 0
	r.refresh()
}

// refresh computes the loads. Of the requests sent since the reports, only the difference from the mean over the nodes
// counts: all nodes finish requests meanwhile.
func (r *Recommender) refresh() {
	for node := range r.load {
		requests := float64(r.reported[node])
		if r.Sent {
			requests += float64(r.sent[node]) - float64(r.allSent)/float64(r.Nodes)
		}
		r.load[node] = max(0, requests/float64(r.Capacity))
	}
}

// Load returns the load of a node as the router sees it: 1 if it serves Capacity requests, or more.
func (r *Recommender) Load(node int) float64 { return min(1, r.load[node]) }

// Route returns the node for a request of a user, and its score. The score has no bonus and the weights of Joint, and
// is from 0 to 1, so that routers can be compared.
func (r *Recommender) Route(user uint32) (node int, score float64) {
	switch r.Kind {
	case LeastLoaded:
		node = r.leastLoaded()
	case Hash:
		// hash*Nodes/2^64 is below Nodes, and takes no division. The nodes of a recommender never change.
		high, _ := bits.Mul64(random.Scramble(uint64(user)), uint64(r.Nodes))
		node = int(high)
	default:
		if node = r.best(user); r.Load(node) > r.Overload {
			if least := r.leastLoaded(); r.Load(least) <= r.Overload {
				node = least
			}
		}
	}
	score = r.Score(node, user, r.RecommenderConfig.Weights)
	r.last[user] = int32(node) + 1
	if r.Sent {
		r.sent[node]++
		r.allSent++
		r.refresh()
	}
	return node, score
}

// best returns the node with the highest score. Ties go to the lower load, then to the lower number.
func (r *Recommender) best(user uint32) (node int) {
	highest := -1.0
	for n := range r.Nodes {
		score := r.Score(n, user, r.weights)
		if int(r.last[user])-1 == n {
			score += r.Bonus
		}
		if score > highest || score == highest && r.load[n] < r.load[node] {
			node, highest = n, score
		}
	}
	return node
}

// Score returns the score of a node for a user by some weights, without the bonus (equation 9).
func (r *Recommender) Score(node int, user uint32, w Weights) float64 {
	score := float64(w.Load * (1 - r.Load(node)))
	if w.KV > 0 && r.state.Holds(node, user) {
		score += w.KV
	}
	if w.Embeddings > 0 {
		score += float64(w.Embeddings * r.state.Coverage(node, user))
	}
	return score
}

func (r *Recommender) leastLoaded() int {
	return leastLoaded(r.Nodes, func(n int) float64 { return r.load[n] })
}
