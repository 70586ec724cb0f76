package fluid

import "math"

// The times at which Latencies counts: from a nanosecond to three years, each 3% longer than the previous one.
const (
	shortest  = 1e-9
	timesEach = 80 // of a factor of 10
	times     = 17*timesEach + 1
)

// Latencies sums up the latencies of many epochs. The zero value is empty.
type Latencies struct {
	requests float64
	seconds  float64        // sum
	above    [times]float64 // requests above each time
}

var timeOf = func() (at [times]float64) {
	for i := range at {
		at[i] = shortest * math.Pow(10, float64(i)/timesEach)
	}
	return at
}()

// add adds requests with latencies of a distribution and a mean.
func (l *Latencies) add(t *tail, requests, mean float64) {
	l.requests += requests
	l.seconds += float64(requests * mean)
	fastest := t.fastest()
	for i := range l.above {
		share := 1.0
		if timeOf[i] > fastest {
			share = t.above(timeOf[i])
		}
		if share < 1e-9 {
			break
		}
		l.above[i] += float64(requests * share)
	}
}

// fastest returns a time that every request takes.
func (t *tail) fastest() float64 {
	fastest := math.Inf(1)
	for i := range t.n {
		x := &t.mixtures[t.of[i]]
		step := 0
		for step < steps-1 && x.weight[step] == 0 {
			step++
		}
		fastest = min(fastest, t.queues[i].Delay+float64(float64(step)*x.width))
	}
	return fastest
}

// Mean returns the mean in seconds.
func (l *Latencies) Mean() float64 { return l.seconds / l.requests }

// Above returns the time in seconds that a share of the requests exceeds, by interpolation between two times; at most
// 10^8 s.
func (l *Latencies) Above(share float64) float64 {
	wanted := float64(share * l.requests)
	for i, above := range l.above {
		if above > wanted {
			continue
		}
		if i == 0 {
			return shortest
		}
		before := l.above[i-1]
		return timeOf[i-1] * math.Pow(10, (before-wanted)/(before-above)/timesEach)
	}
	return timeOf[times-1]
}
