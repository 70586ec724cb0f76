package fluid

import "math"

// class is a number of users or shards of the same popularity.
type class struct {
	count float64
	share float64 // of the requests, of each of them
}

// zipf returns n ranks with the Zipf exponent alpha and shares that sum to 1, in about `points` classes of neighbouring
// ranks at most. The size of a class grows in proportion to the rank.
func zipf(n int, alpha float64, points int) []class {
	factor := math.Exp(math.Log(float64(n)+1) / float64(points))
	var classes []class
	sum := 0.0
	for from := 1; from <= n; {
		to := min(n+1, max(from+1, int(float64(from)*factor)))
		c := class{count: float64(to - from)}
		total := powers(from, to, alpha)
		c.share = total / c.count
		sum += total
		classes = append(classes, c)
		from = to
	}
	for i := range classes {
		classes[i].share /= sum
	}
	return classes
}

// powers returns the sum of i^-alpha over from <= i < to. Beyond the first ranks it is the integral between the
// middles.
func powers(from, to int, alpha float64) (sum float64) {
	const exact = 200
	for ; from < to && from < exact; from++ {
		sum += math.Pow(float64(from), -alpha)
	}
	if from >= to {
		return sum
	}
	a, b := float64(from)-0.5, float64(to)-0.5
	if math.Abs(alpha-1) < 1e-9 {
		return sum + math.Log(b/a)
	}
	return sum + (math.Pow(b, 1-alpha)-math.Pow(a, 1-alpha))/(1-alpha)
}

// shard is a number of shards of the same popularity.
type shard struct {
	count      float64
	own, other float64 // of the slots of users, and of the other draws, the share that is of each of these shards
	// rivals and others are what remains of these shares without one user, and without one draw.
	rivals, others float64
}

// drawn returns shards that are owned, and drawn otherwise, by the same popularity. One of many users makes no
// difference.
func drawn(classes []class) []shard {
	shards := make([]shard, len(classes))
	for i, c := range classes {
		shards[i] = shard{c.count, c.share, c.share, c.share, c.share}
	}
	return shards
}

// occupied returns how many shards are drawn by some touches of owners or by some other draws.
func occupied(shards []shard, touches, draws float64) (occupied float64) {
	for _, s := range shards {
		// -Expm1(-x) is 1 - exp(-x) without the cancellation at small x.
		occupied += float64(s.count * -math.Expm1(float64(-s.own*touches)-float64(s.other*draws)))
	}
	return occupied
}

// missedBy returns the misses of one more user, and of one more draw.
func missedBy(shards []shard, touches, draws float64) (m misses) {
	for _, s := range shards {
		m.own += float64(s.count * s.own * math.Exp(float64(-s.rivals*touches)-float64(s.other*draws)))
		m.other += float64(s.count * s.other * math.Exp(float64(-s.own*touches)-float64(s.others*draws)))
	}
	return m
}

// users are users whose request shares sum to what they are of their class, hot or not, as functions of a time: they
// are tabulated over its logarithm.
type users struct{ active, hits curve }

// curve is a rising function, between values at logarithms of equal distance.
type curve []float64

// The times at which users are tabulated, from a request of no user to all requests of all users.
const (
	firstTime = -12.0 // logarithms
	lastTime  = 36.0
	timeSteps = 2048
)

func (c curve) at(logTime float64) float64 {
	at := float64((logTime - firstTime) * (timeSteps / (lastTime - firstTime)))
	if !(at > 0) {
		return c[0] * math.Exp(logTime-firstTime) // in proportion to the time
	}
	if at >= timeSteps {
		return c[timeSteps]
	}
	i := int(at)
	return c[i] + float64((at-float64(i))*(c[i+1]-c[i]))
}

// tabulate returns users of the classes `active`, whose hits come from the classes `hitting`.
func tabulate(active, hitting []class) *users {
	u := &users{make(curve, timeSteps+1), make(curve, timeSteps+1)}
	for i := range u.active {
		time := math.Exp(firstTime + float64(float64(i)*(lastTime-firstTime)/timeSteps))
		for _, c := range active {
			u.active[i] += float64(c.count * -math.Expm1(-c.share*time))
		}
		for _, c := range hitting {
			u.hits[i] += float64(c.count * c.share * -math.Expm1(-c.share*time))
		}
	}
	return u
}
