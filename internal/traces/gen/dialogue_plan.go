package gen

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle"
)

// Sessions have from shortest to longest queries, and up to maxAnchors of them are anchors.
const (
	shortest   = 4
	longest    = 12
	meanLength = (shortest + longest) / 2
	maxAnchors = 2
)

// within is how far the measured share of long reuses, and the measured exponent of Zipf's law, may be from the target.
// The search for the former ends when it is closeEnough, and at the latest after maxSteps of bisection with each of
// maxDraws streams of choices.
const (
	within      = 0.01
	closeEnough = 0.001
	maxSteps    = 12
	maxDraws    = 5
)

// dialoguePlan is the order of the sessions.
//
// Questions are numbered: first the anchors, maxAnchors for each family even if it has fewer, then the questions
// private to a session.
type dialoguePlan struct {
	topics, families, sessions int
	zipf, long, repeats, drift float64
	capacity                   int

	anchors []uint8 // per family: number of anchors
	topicOf []int32 // per place in the order
	gotZipf float64
	sessionOrder
}

// sessionOrder is one order of the sessions.
type sessionOrder struct {
	pool  []poolSession // sessions of topic 0, of topic 1, ...
	order []int32       // the sessions in the order of their use

	share            float64 // of long reuses among the reuses
	reuses, distinct int     // questions
}

// poolSession is a session that may be used once or often.
type poolSession struct {
	topic   int32
	family  int32 // index among the families of all topics
	length  int32 // queries, including anchors
	private int32 // number of its first private question
}

func newDialoguePlan(v params.Values) (*dialoguePlan, error) {
	p := &dialoguePlan{topics: v.Int("topics"), families: v.Int("families"), sessions: v.Int("sessions"),
		zipf: v.Float("zipf"), long: v.Float("long"), repeats: v.Float("repeats"), drift: v.Float("drift"),
		capacity: v.Int("capacity")}
	seed, requests := uint64(v.Int("seed")), v.Int("requests")
	p.drawPool(seed)
	if err := p.drawTopics(max(1, (requests+meanLength/2)/meanLength), seed); err != nil {
		return nil, err
	}
	return p, p.search(requests, seed)
}

func (p *dialoguePlan) drawPool(seed uint64) {
	families, lengths := random.Stream(seed, familyBits), random.Stream(seed, lengthBits)
	p.anchors = make([]uint8, p.topics*p.families)
	for i := range p.anchors {
		n, _ := random.Below(families, maxAnchors)
		p.anchors[i] = uint8(1 + n)
	}
	p.pool = make([]poolSession, p.topics*p.sessions)
	for i := range p.pool {
		topic := i / p.sessions
		family, _ := random.Below(families, p.families)
		more, _ := random.Below(lengths, longest-shortest+1)
		p.pool[i] = poolSession{topic: int32(topic), family: int32(topic*p.families + family), length: int32(shortest + more)}
	}
}

// drawTopics assigns a topic to each of n places in the order. It takes shares of the cumulated popularity at equal
// steps from a random start, so that every topic gets its expected number of places up to rounding, and then shuffles
// them.
func (p *dialoguePlan) drawTopics(n int, seed uint64) error {
	bits := random.Stream(seed, topicBits)
	weights := make([]float64, p.topics)
	sum := 0.0
	for i := range weights {
		weights[i] = random.Exp(-p.zipf * random.Log(float64(i+1)))
		sum += weights[i]
	}
	counts := make([]int, p.topics)
	start := random.Unit(bits)
	topic, upTo := 0, weights[0]
	for i := range n {
		for at := (float64(i) + start) / float64(n) * sum; at >= upTo && topic < p.topics-1; {
			topic++
			upTo += weights[topic]
		}
		counts[topic]++
		p.topicOf = append(p.topicOf, int32(topic))
	}
	random.Shuffle(bits, p.topicOf)
	for i, rank := range p.topicOf { // whose topic is another one by then
		moved := int(float64(p.drift*float64(p.topics)) * float64(i) / float64(n))
		p.topicOf[i] = int32((int(rank) + moved) % p.topics)
	}
	p.gotZipf = p.zipf
	if p.topics > 1 {
		p.gotZipf = likelyExponent(counts)
	}
	if math.Abs(p.gotZipf-p.zipf) > within {
		return fmt.Errorf("zipf=%v: the topics of %d sessions reach only the exponent %.3f; use more requests or fewer "+
			"topics", p.zipf, n, p.gotZipf)
	}
	return nil
}

// likelyExponent returns the exponent of Zipf's law with the highest likelihood, given these counts by rank: the
// exponent whose expected logarithm of the rank equals the mean over the draws.
func likelyExponent(counts []int) float64 {
	var sum, n float64
	for i, c := range counts {
		sum += float64(float64(c) * random.Log(float64(i+1)))
		n += float64(c)
	}
	low, high := -20.0, 20.0
	for high-low > 1e-6 {
		middle := (low + high) / 2
		if meanLogRank(len(counts), middle) > sum/n {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// meanLogRank returns the expected logarithm of a rank drawn from n by Zipf's law.
func meanLogRank(n int, exponent float64) float64 {
	var sum, weights float64
	for i := range n {
		log := random.Log(float64(i + 1))
		w := random.Exp(-exponent * log)
		sum += float64(w * log)
		weights += w
	}
	return sum / weights
}

// search orders the sessions repeatedly until the share of long reuses reaches its target, and keeps the order that
// comes nearest.
func (p *dialoguePlan) search(requests int, seed uint64) error {
	drawn, best := p.pool, sessionOrder{share: math.Inf(1)}
	for draw := range maxDraws {
		if p.missedBy(best) <= closeEnough {
			break
		}
		if err := p.bisect(drawn, &best, requests, seed, repeatBits|uint64(draw)<<32); err != nil {
			return err
		}
	}
	if p.missedBy(best) > within {
		return fmt.Errorf("long=%v: the share of long reuses reaches only %.3f; use %s", p.long, best.share,
			p.remedy(best.share))
	}
	p.sessionOrder = best
	return nil
}

// missedBy returns how far the share of long reuses of an order is from its target.
func (p *dialoguePlan) missedBy(o sessionOrder) float64 { return math.Abs(o.share - p.long) }

// bisect searches for the lateness of the choices. The share of long reuses grows with it, but with jumps, since each
// choice changes what can be chosen later: so the best order is kept, not the last.
func (p *dialoguePlan) bisect(drawn []poolSession, best *sessionOrder, requests int, seed, purpose uint64) error {
	low, high, lateness := 0.0, 2.0, p.long
	for range maxSteps {
		if err := p.try(drawn, lateness, requests, random.Stream(seed, purpose)); err != nil {
			return err
		}
		if p.missedBy(p.sessionOrder) < p.missedBy(*best) {
			*best = p.sessionOrder
		}
		if p.missedBy(*best) <= closeEnough {
			return nil
		}
		if p.share < p.long {
			low = lateness
		} else {
			high = lateness
		}
		lateness = (low + high) / 2
	}
	return nil
}

// remedy says what could bring the share of long reuses nearer to its target.
func (p *dialoguePlan) remedy(share float64) string {
	if share < p.long {
		return "more requests, a smaller capacity, a smaller zipf or more families"
	}
	return "a larger capacity, a larger zipf or fewer topics"
}

// try orders the drawn sessions and measures the share of long reuses. Lateness up to 1 is the probability that a
// repeat should be long. The part above 1 is the probability that a session should also be one whose anchors were not
// used recently.
func (p *dialoguePlan) try(drawn []poolSession, lateness float64, requests int, bits *rand.PCG) error {
	p.sessionOrder = sessionOrder{pool: slices.Clone(drawn)}
	places := newPlacement(p)
	for _, topic := range p.topicOf {
		repeat, late := random.Unit(bits) < p.repeats, random.Unit(bits)
		p.order = append(p.order, places.take(int(topic), repeat, late < lateness, late < lateness-1, random.Unit(bits)))
	}
	p.fit(requests, bits)
	p.number()
	return p.measure()
}

// fit changes the lengths of randomly chosen sessions by one query at a time until the number of requests is right, or
// as near as whole sessions allow: a session that is used often changes it by more than one.
func (p *dialoguePlan) fit(requests int, bits *rand.PCG) {
	times := make([]int, len(p.pool))
	missing := requests
	var asked []int32
	for _, number := range p.order {
		if times[number]++; times[number] == 1 {
			asked = append(asked, number)
		}
		missing -= int(p.pool[number].length)
	}
	for missing != 0 && len(asked) > 0 {
		i, _ := random.Below(bits, len(asked))
		s, n := &p.pool[asked[i]], times[asked[i]]
		switch {
		case missing > 0 && n < 2*missing && s.length < longest:
			s.length++
			missing -= n
		case missing < 0 && n < -2*missing && s.length > shortest:
			s.length--
			missing += n
		default:
			asked[i] = asked[len(asked)-1]
			asked = asked[:len(asked)-1]
		}
	}
}

// number numbers the private questions of the sessions.
func (p *dialoguePlan) number() {
	next := int32(maxAnchors * len(p.anchors))
	for i := range p.pool {
		s := &p.pool[i]
		s.private = next
		next += s.length - int32(p.anchors[s.family])
	}
}

// questions returns how many numbers of questions there are.
func (p *dialoguePlan) questions() int {
	last := p.pool[len(p.pool)-1]
	return int(last.private + last.length - int32(p.anchors[last.family]))
}

// questionsOf returns the questions of a session: each anchor, followed by its share of the private questions.
func (p *dialoguePlan) questionsOf(number int32) []int {
	s := p.pool[number]
	anchors := int(p.anchors[s.family])
	private := int(s.length) - anchors
	questions := make([]int, 0, longest)
	next := int(s.private)
	for i := range anchors {
		questions = append(questions, maxAnchors*int(s.family)+i)
		for range (private + anchors - 1 - i) / anchors {
			questions = append(questions, next)
			next++
		}
	}
	return questions
}

func (p *dialoguePlan) isAnchor(question int) bool { return question < maxAnchors*len(p.anchors) }

// anchorsOfTopic returns the numbers reserved for the anchors of a topic.
func (p *dialoguePlan) anchorsOfTopic(topic int) []int {
	numbers := make([]int, maxAnchors*p.families)
	for i := range numbers {
		numbers[i] = maxAnchors*p.families*topic + i
	}
	return numbers
}

// measure counts the reuses and the long ones among them.
func (p *dialoguePlan) measure() error {
	stack := oracle.NewLRUStack(p.questions())
	var asked [longest]uint32
	for _, number := range p.order {
		session := asked[:0]
		for _, question := range p.questionsOf(number) {
			session = append(session, uint32(question))
		}
		stack.Serve(session, true)
	}
	p.distinct, p.reuses = stack.Seen(), 0
	long := 0
	for distance, n := range stack.Distances() {
		p.reuses += int(n)
		if distance > p.capacity {
			long += int(n)
		}
	}
	if p.reuses == 0 {
		return errors.New("no query is repeated, so no share of the reuses can be long; use more " +
			"requests or more repeats")
	}
	p.share = float64(long) / float64(p.reuses)
	return nil
}
