package fluid

import "math"

// Queue is the waiting time of a request: 0 with probability 1-Busy, otherwise Delay and a time that is exponential
// with the mean Wait. Times are in seconds.
type Queue struct{ Busy, Delay, Wait float64 }

// Inflow is the work that comes to a node.
type Inflow struct {
	drift, variance float64 // per second: work that is not done, and the variance, in seconds
	busy, stable    float64 // in the long run; stable is infinite under overload
}

// NewInflow returns work that keeps so many servers busy for a share of the time, the utilisation; variance is that of
// the work per second of a node that is just fully loaded, per server.
func NewInflow(servers int, utilisation, variance float64) Inflow {
	f := Inflow{drift: utilisation - 1, variance: variance, busy: Erlang(servers, utilisation), stable: math.Inf(1)}
	if utilisation < 1 {
		f.stable = variance / (2 * (1 - utilisation))
	}
	return f
}

// Begin makes the queue that of the inflow in the long run. Under overload it stays as it is.
func (q *Queue) Begin(f Inflow) {
	if !math.IsInf(f.stable, 1) {
		*q = Queue{Wait: f.stable}
	}
}

// Follow lets work wait for some seconds. Work that comes faster than it is done is a delay that grows. The rest of the
// queue is taken to be exponential with a mean w, for which dw/dt = (rho-1) + v/(2w): Brownian motion with a
// reflection, whose variance per second is v. In the long run w = v/(2(1-rho)), as in package doc; without drift it
// grows with the root of time.
func (q *Queue) Follow(f Inflow, seconds float64) {
	grows := f.drift
	if q.Delay > 0 || f.drift > 0 {
		q.Delay = max(0, q.Delay+float64(f.drift*seconds))
		grows = 0
	}
	from := q.Wait + float64(grows*seconds)
	q.Wait = (from + math.Sqrt(float64(from*from)+float64(2*f.variance*seconds))) / 2
	q.Busy = min(1, f.busy*max(1, q.Wait/f.stable))
	if q.Delay > 0 {
		q.Busy = 1
	}
}

// drift returns the variance of the work that arrives per second of a node that is just fully loaded, per server: what
// makes a queue of a stable load.
func (x *mixture) drift(servers int) float64 { return x.square / x.mean / float64(servers) }

// stationary returns the queue of a stable load in the long run.
func (x *mixture) stationary(rate float64, servers int) Queue {
	utilisation := rate * x.mean / float64(servers)
	return Queue{Busy: Erlang(servers, utilisation), Wait: x.drift(servers) / (2 * (1 - utilisation))}
}

// Erlang returns the probability that all servers of M/M/c are busy: Erlang's C formula. It is 1 from a utilisation of
// 1 on.
func Erlang(servers int, utilisation float64) float64 {
	if utilisation >= 1 {
		return 1
	}
	load := utilisation * float64(servers)
	blocked := 1.0 // Erlang's B formula
	// The recursion over servers needs no factorials, which overflow with many of them.
	for i := 1; i <= servers; i++ {
		blocked = load * blocked / (float64(i) + float64(load*blocked))
	}
	return blocked / (1 - float64(utilisation*(1-blocked)))
}

// mostParts is the largest number of parts of an epoch.
const mostParts = 8

// tail is the distribution of the latency in an epoch whose parts have service times and queues of their own.
type tail struct {
	mixtures [2]mixture
	of       [mostParts]int // which of the mixtures
	queues   [mostParts]Queue
	share    [mostParts]float64 // of the requests; 1 in all
	n        int
	// over has, for each part, the share of the requests above the time of a step, without the delay.
	over [mostParts][steps + 1]float64
}

func (t *tail) add(mixture int, q Queue, share float64) {
	t.of[t.n], t.queues[t.n], t.share[t.n] = mixture, q, share
	t.n++
}

// build fills in the tail of each part.
func (t *tail) build() {
	for i := range t.n {
		x, q := &t.mixtures[t.of[i]], &t.queues[i]
		decay, half := 0.0, 0.0
		if q.Wait > 0 {
			decay, half = math.Exp(-x.width/q.Wait), math.Exp(-x.width/q.Wait/2)
		}
		served, late := 0.0, 0.0 // by the time of the step; of those, later answered because of the wait
		for step := range x.weight {
			weight := x.weight[step]
			t.over[i][step] = max(0, 1-served) + float64(q.Busy*late)
			served += weight
			// A step counts as served at its middle, so that half of it remains of the wait.
			late = float64(late*decay) + float64(weight*half)
		}
		t.over[i][steps] = max(0, 1-served) + float64(q.Busy*late)
	}
}

// above returns the share of the requests with a latency above a time.
func (t *tail) above(time float64) (share float64) {
	for i := range t.n {
		x, q := &t.mixtures[t.of[i]], &t.queues[i]
		since := time - q.Delay
		at := since / x.width
		switch {
		case at <= 0:
			share += t.share[i]
		case at < steps:
			step := int(at)
			over := &t.over[i]
			share += float64(t.share[i] * (over[step] + float64((at-float64(step))*(over[step+1]-over[step]))))
		case q.Wait > 0:
			share += float64(t.share[i] * t.over[i][steps] * math.Exp((float64(steps*x.width)-since)/q.Wait))
		}
	}
	return min(1, share)
}

// quantile returns the time above which a share of the requests is.
func (t *tail) quantile(share float64) float64 {
	low, high := 0.0, 0.0
	for i := range t.n {
		x, q := &t.mixtures[t.of[i]], &t.queues[i]
		reach := q.Delay + float64(steps*x.width)
		if over := t.over[i][steps]; over > share {
			reach += float64(q.Wait * math.Log(over/share))
		}
		high = max(high, reach)
	}
	// 40 halvings narrow the range to 1e-12 of its length.
	for range 40 {
		if middle := (low + high) / 2; t.above(middle) > share {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// slow returns which shares of the latency of requests above a time are transfer and computation.
func (t *tail) slow(time float64) (emb, kv float64) {
	var transfer, compute, total float64
	for i := range t.n {
		x, q := &t.mixtures[t.of[i]], &t.queues[i]
		add := func(step int, slow, latency float64) {
			slow *= t.share[i]
			transfer += float64(slow * x.transfer[step])
			compute += float64(slow * x.compute[step])
			total += float64(slow * x.weight[step] * latency)
		}
		since := time - q.Delay
		first := max(0, min(steps, int(math.Ceil(since/x.width-0.5)))) // the first step above the time without waiting
		for step := first; step < steps; step++ {
			add(step, 1, q.Delay+float64((float64(step)+0.5)*x.width)+float64(q.Busy*q.Wait))
		}
		if q.Wait == 0 {
			continue
		}
		slow, decay := q.Busy*math.Exp((float64((float64(first)-0.5)*x.width)-since)/q.Wait), math.Exp(-x.width/q.Wait)
		for step := first - 1; step >= 0; step-- {
			add(step, slow, time+q.Wait)
			slow *= decay
		}
	}
	if total == 0 {
		return 0, 0
	}
	return min(1, transfer/total), min(1, compute/total)
}
