package rac

import "math"

// sums are how much a request counts in importance and in prevalence, where both fade. Old requests are not scaled
// down; each new one counts more than the one before. So sums change only with requests, and the order of their
// products does not depend on the time of the comparison.
type sums struct {
	importance, prevalence weight
	most                   float64 // the weights at which all sums are scaled down
}

// weight is how much a request counts that is made now.
type weight struct{ now, growth float64 }

// newSums returns the weights of the first request, for values of prevalence^topicWeight * importance. With what
// lambda, 2^32 requests and the fastest fading may add, no value exceeds the range of a float64.
func newSums(topicWeight float64) sums {
	return sums{importance: weight{now: 1}, prevalence: weight{now: 1}, most: math.Exp2(400 / (1 + topicWeight))}
}

// fades reports whether importance fades.
func (s *settings) fades() bool { return s.beta > 0 }

// tick begins a request.
func (p *policy) tick() {
	p.clock++
	if !p.fades() {
		return
	}
	s := &p.sums
	s.importance.now *= s.importance.growth
	s.prevalence.now *= s.prevalence.growth
	if s.importance.now > s.most || s.prevalence.now > s.most {
		p.scaleDown()
	}
}

// scaleDown divides all sums, and the weights, by a power of two, which changes no order. It is called once in hundreds
// of half-lives.
func (p *policy) scaleDown() {
	s := &p.sums
	importance, prevalence := s.importance.scaleDown(), s.prevalence.scaleDown()
	for o := range p.entries {
		p.entries[o].importance *= importance
	}
	for t := range p.topics {
		p.topics[t].prevalence *= prevalence
	}
	p.rankAll()
}

// scaleDown makes the weight about 1, and returns by what it has multiplied it.
func (w *weight) scaleDown() float64 {
	_, exponent := math.Frexp(w.now)
	by := math.Ldexp(1, -exponent)
	w.now *= by
	return by
}

// fadeBy sets how fast importance and prevalence fade, from now on.
func (s *sums) fadeBy(beta, alpha float64) {
	s.importance.growth, s.prevalence.growth = math.Exp2(beta), math.Exp2(alpha)
}

// faded returns TP^weight * TSI of an entry, which both fade.
func (p *policy) faded(t *topic, importance float64) float64 {
	switch p.topicWeight {
	case 0.5:
		return float64(math.Sqrt(t.prevalence) * importance)
	case 1:
		return float64(t.prevalence * importance)
	}
	return float64(math.Pow(t.prevalence, p.topicWeight) * importance)
}
