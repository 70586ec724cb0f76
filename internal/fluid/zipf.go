package fluid

import "math"

// class is a number of users or shards of the same popularity.
type class struct {
	count float64
	share float64 // of the requests, of each of them
}

// zipf returns n ranks with the Zipf exponent alpha, whose shares sum to 1, in at most about `points` classes of
// neighbouring ranks, whose numbers grow in proportion to the rank.
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

// seen returns how many objects of the classes are requested within x requests, and which share of the requests is of
// others.
func seen(classes []class, x float64) (objects, missed float64) {
	for _, c := range classes {
		absent := math.Exp(-c.share * x)
		objects += c.count * (1 - absent)
		missed += c.count * c.share * absent
	}
	return objects, missed
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
	at := (logTime - firstTime) * (timeSteps / (lastTime - firstTime))
	if !(at > 0) {
		return c[0] * math.Exp(logTime-firstTime) // in proportion to the time
	}
	if at >= timeSteps {
		return c[timeSteps]
	}
	i := int(at)
	return c[i] + (at-float64(i))*(c[i+1]-c[i])
}

func tabulate(classes []class) *users {
	u := &users{make(curve, timeSteps+1), make(curve, timeSteps+1)}
	for i := range u.active {
		time := math.Exp(firstTime + float64(i)*(lastTime-firstTime)/timeSteps)
		for _, c := range classes {
			there := -math.Expm1(-c.share * time)
			u.active[i] += c.count * there
			u.hits[i] += c.count * c.share * there
		}
	}
	return u
}
