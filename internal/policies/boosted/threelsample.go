package boosted

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
)

// predict chooses candidates at both ends of the LRU list and predicts them. It returns their number.
func (p *threeL) predict() int {
	if p.length == 0 {
		p.length = p.tracked.Front
	}
	rate := p.limitedRate()
	p.candidates = p.candidates[:0]
	p.demote(rate)
	if p.newUsed*10 < p.used*p.reserved || len(p.candidates) == 0 {
		p.sampleOld(rate)
	}
	p.score()
	return len(p.candidates)
}

// limitedRate returns how many residents are sampled at the old end.
func (p *threeL) limitedRate() int { return max(1, min(p.sampleRate, p.length/100+p.evictionRate)) }

// demote makes candidates of those that were loaded first of the new objects, until these take no more than the
// reserved space (quick demotion).
func (p *threeL) demote(rate int) {
	most := int(demotedAtOnce * float64(rate))
	for p.newUsed > p.used*p.reserved/100 && len(p.candidates) < most && p.firstNew < len(p.newcomers) {
		o := p.newcomers[p.firstNew]
		p.firstNew++
		p.newUsed -= p.sizes.Of(o)
		if p.isResident(o) {
			p.candidates = append(p.candidates, o)
		}
	}
	if p.firstNew == len(p.newcomers) {
		p.newcomers, p.firstNew, p.newUsed = p.newcomers[:0], 0, 0
	} else if p.firstNew > len(p.newcomers)/2 {
		n := copy(p.newcomers, p.newcomers[p.firstNew:])
		p.newcomers, p.firstNew = p.newcomers[:n], 0
	}
}

// sampleOld makes candidates of residents from the pointer on: of all that are in the share of the list that is always
// sampled, and behind it of those that were requested seldom.
func (p *threeL) sampleOld(rate int) {
	rounds, taken := 0, 0
	for taken < rate && len(p.candidates) < p.length && rounds < 3 {
		if p.pointer == policies.NoObject {
			p.pointer, _ = p.lists.Back(residentList)
		}
		share := p.length * p.lruShare / 100
		if p.sampledLRU == 0 && p.scanned > share {
			p.evictedLRU, p.sampledLRU = p.evictedNow, p.sampledNow
			p.evictedNow, p.sampledNow = 0, 0
		}
		o := p.pointer
		if p.freq[o]-1 < p.least || p.scanned <= share+p.evictionRate {
			p.candidates = append(p.candidates, o)
			p.atPointer = p.last[o]
			taken++
		}
		if p.scanned++; p.scanned >= p.length {
			p.endRound()
			rate, taken, rounds = p.limitedRate(), 0, rounds+1
			continue
		}
		p.pointer = p.after(o)
	}
	p.sampledNow += int64(taken)
}

// endRound begins again at the old end, and adapts what is sampled to what was evicted.
func (p *threeL) endRound() {
	p.length, p.pointer, p.scanned = p.tracked.Front, policies.NoObject, 0
	p.predicted.Clear()
	if p.objects {
		return
	}
	p.least = p.usualRequests()
	switch {
	case p.evictedLRU*p.sampledNow > p.evictedNow*p.sampledLRU:
		p.lruShare = min(p.lruShare+1, 100)
	case p.lruShare > 1:
		p.lruShare--
	}
	switch {
	case p.evictedNow+p.evictedLRU > int64(len(p.newcomers)-p.firstNew):
		p.reserved = min(p.reserved+1, 100)
	case p.reserved > 1:
		p.reserved /= 2
	}
	p.evictedNow, p.sampledNow, p.evictedLRU, p.sampledLRU = 0, 0, 0, 0
	clear(p.evictedBy[:])
}

// usualRequests returns the requests that 99% of the evicted objects do not exceed, interpolated within a power of two.
func (p *threeL) usualRequests() uint16 {
	sum, below := int64(0), int64(0)
	for _, n := range p.evictedBy {
		sum += n
	}
	if sum == 0 {
		return p.least
	}
	wanted := float64(0.99 * float64(sum))
	for class, n := range p.evictedBy {
		if float64(below+n) < wanted {
			below += n
			continue
		}
		if class <= 1 {
			return 1
		}
		half := float64(int64(1) << (class - 2))
		return uint16(min(half+math.Ceil(half*((wanted-float64(below))/float64(n))), 1<<16-1))
	}
	return p.least
}

// score predicts the candidates. Times are from the training of the model on, so that earlier predictions of the same
// model compare with later ones.
func (p *threeL) score() {
	p.scored += int64(len(p.candidates))
	width := p.learner.width()
	for len(p.rows) < len(p.candidates)*width {
		p.rows, p.scores = append(p.rows, make([]float64, width)...), append(p.scores, 0)
	}
	for i, o := range p.candidates {
		p.describe(o, p.now, p.rows[i*width:][:width])
	}
	scores := p.scores[:len(p.candidates)]
	p.learner.model.PredictRows(p.rows[:len(p.candidates)*width], scores)
	for i, o := range p.candidates {
		time := random.Exp(scores[i])
		if p.objects {
			time *= float64(p.sizes.Of(o))
		} else {
			time += float64(p.now - p.born)
		}
		p.predicted.Set(o, -time, uint64(p.last[o]))
	}
}
