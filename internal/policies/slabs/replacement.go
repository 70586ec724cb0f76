package slabs

// Replacement describes replacement in the slots of sets as data, for devices that replay sets on their own.
type Replacement struct {
	// Candidates are how many objects of a full set, in the order of LRU, are candidates when room is needed. A
	// prediction chooses among them. The first number applies when a phase begins, the next ones after each decrease,
	// and the last one from then on. With a Confidence, the last number is 1, and 1 means LRU, without asking the
	// predictor. Nil: LRU.
	Candidates []int
	// Confidence says when there are fewer candidates; nil: their number is constant.
	Confidence *Confidence
}

// Confidence says when a set has fewer candidates in a phase: each time that objects evicted by a prediction in the
// same phase were requested Fallbacks times. A phase begins when an object must be evicted and all objects of the set
// were requested in the current one.
type Confidence struct {
	Fallbacks int     // requests to such objects until there are fewer candidates
	Bits      bool    // evicted objects are remembered in bits by hash, not each
	Base      float64 // each decrease divides the confidence, 1 at first, by this
}

// Tally is what a policy described by a Replacement counts.
type Tally struct {
	Phases, ByPrediction, Fallbacks, ByRecency int64   // evictions, except Phases
	Lambda                                     float64 // sum of the confidence over evictions
}
