package hlem

// Refill says how fast embeddings are loaded for which the border between the caches has made room.
type Refill string

// Ways to refill.
const (
	// Throttled leaves room for misses: LinkShare of the link less what they take, at most MostRefill.
	Throttled Refill = "throttled"
	// Naive takes half of the link as long as anything is missing.
	Naive Refill = "naive"
	// Off refills nothing: misses do.
	Off Refill = "off"
)

// Constants of the throttle: the share of the link for misses and refill together, and the most bytes per second of a
// GPU for refill, which refills 4% of 80 GB in a second (HLEM, section IV-B).
const (
	LinkShare  = 0.8
	MostRefill = 3.2e9
)

// Rate returns the bytes per second of a GPU's link that refill embeddings beside misses, which take some.
func (r Refill) Rate(c Costs, misses float64) float64 {
	switch r {
	case Off:
		return 0
	case Naive:
		return c.PCIe / 2
	}
	return c.Spare(misses)
}

// Spare returns the bytes per second of a GPU's link that misses leave for refill and prefetches.
func (c Costs) Spare(misses float64) float64 {
	return max(0, min(MostRefill, float64(LinkShare*c.PCIe)-misses))
}
