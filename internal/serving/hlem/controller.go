package hlem

import "github.com/cachesim/cachesim/internal/cache/allocate"

// Controller is an allocator that divides the memory of a node from what the node measures. Pool 0 has the node's
// embeddings, pool 1 its users.
type Controller interface {
	allocate.Allocator
	// Decide is Allocate after an epoch in which the node measured w. Before the first epoch, w has no requests.
	Decide(s *allocate.State, w *Window, capacities []int64)
}

// Divide lets an allocator divide the memory of a node that measured w, which only a Controller sees.
func Divide(a allocate.Allocator, s *allocate.State, w *Window, capacities []int64) {
	if c, ok := a.(Controller); ok {
		c.Decide(s, w, capacities)
		return
	}
	a.Allocate(s, capacities)
}

// Trained is a Controller that was trained on some nodes, and may let something else decide on others. Only the
// controllers that were trained in advance do; others have nothing outside.
type Trained interface {
	// Outside returns how often something else decided, and in what the node first differed from those of the training.
	// guards is false if it always decides itself.
	Outside() (decisions int64, why string, guards bool)
}
