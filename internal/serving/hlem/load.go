package hlem

// Load is what one node serves in an epoch.
type Load struct {
	Rate       float64 // requests per second
	HotShare   float64 // of the requests, which are of hot users
	MeanTokens float64 // of the sequences; 0 for the population's mean
	Turned     bool    // most requests are of the population's other turn
	Refill     float64 // bytes per second of a GPU's link that the refill of embeddings takes
}
