package agentlogs

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// TestAgentArrivals: the starts of sessions are a Poisson process, and the same for the same seed.
func TestAgentArrivals(t *testing.T) {
	const sessions, rate = 2000, 0.5
	var gaps []float64
	for i := range sessions {
		gap := float64(sessionStart("poisson", i, rate, 3)) / 1e9
		if i > 0 {
			gap -= float64(sessionStart("poisson", i-1, rate, 3)) / 1e9
		}
		gaps = append(gaps, gap)
	}
	mean, sd := stat.MeanStdDev(gaps, nil)
	if math.Abs(mean*rate-1) > 0.1 || math.Abs(sd*rate-1) > 0.1 {
		t.Errorf("gaps of mean %v and deviation %v s, want %v of both", mean, sd, 1/rate)
	}
	if sessionStart("poisson", 5, rate, 3) == sessionStart("poisson", 5, rate, 4) ||
		sessionStart("none", 5, rate, 3) != 0 {
		t.Error("the start does not follow the seed, or the option")
	}
}
