package admission

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
)

// densityFrom is the capacity above which byDensity decides: so many hits that one sample tells which part has more of
// them in the same room.
const densityFrom = 4096

// byDensity gives room to the part with more hits in the same room. That part need not be the one that earns more with
// more room, so that it also
//   - probes: from a window that is too small for hits, or a cache without any, it walks until there are some,
//   - audits: where the window stands still it walks away from time to time, and stays where the hit ratio is higher,
//   - returns: it remembers where the hit ratio was good, the anchor, and goes back when it has been lower for a while.
//
// A walk that finds nothing goes back to where it began; the next one waits longer, and takes longer steps.
type byDensity struct {
	capacity int64
	step     stride // the last one
	ratio    smoothed
	anchor   anchor
	walk     walk // the present one, if walking
	walking  bool
	back     int64 // by what the window has still to grow after a walk without success, or to shrink
	arriving int   // samples in which the way back explains a change of the hit ratio

	probes, audits series
	rest           int // samples without a probe
	clock          auditClock
}

const (
	gain      = 0.03 // of a step, as a share of the capacity, by the logarithm of the densities' ratio
	longest   = 0.3  // step, as a share of the capacity
	arrival   = 2    // samples of a way back, after its last step
	least     = 0.02 // window, as a share of the capacity
	samePlace = 0.02 // distance within which windows are the same, as a share of the capacity
	sampleOf  = 4    // requests in a sample, per object that fits

	certain   = 0.01 // difference of hit ratios that counts
	vanishing = 1e-9 // hits in a part without any, per room
)

func newByDensity(capacity int64) *byDensity {
	return &byDensity{
		capacity: capacity, step: stride(-longStride(capacity)), ratio: newSmoothed(), anchor: noAnchor(),
		probes: newSeries(), audits: newSeries(), clock: newAuditClock(),
	}
}

func (b *byDensity) period(counted int64) int64 {
	return min(counted, sampleOf*min(b.capacity, math.MaxInt64/sampleOf))
}

func (b *byDensity) steer(s *sample, window, protected int64) float64 {
	r := newReading(s, b.capacity, window, protected)
	by := b.decide(&r)
	b.clock.tick(window, r.near)
	return float64(by)
}

// decide returns the next step: that of a walk or of the way back from one, then that to the anchor, then by densities.
func (b *byDensity) decide(r *reading) stride {
	b.age()
	if b.otherWorkload(r) && b.anchor.doubt(r) {
		b.ratio = newSmoothed()
	}
	b.measure(r)
	switch {
	case b.walking:
		return b.walkOn(r)
	case b.back != 0:
		return b.goBack(r)
	case b.anchor.returning:
		return b.toAnchor(r)
	case b.anchor.onTrial(r):
		if b.anchor.failsTrial(&b.ratio) {
			b.ratio = newSmoothed()
			b.anchor.doubt(r)
		}
		return 0
	case r.blind() && b.rest == 0:
		return b.set(walk{down: r.dead() && r.window >= r.capacity/2}, r)
	case r.blind() && !b.clock.due():
		b.rest--
		return r.raised(0)
	case !r.blind() && b.anchor.missed(r, &b.ratio):
		return b.toAnchor(r)
	case b.clock.due():
		down := b.clock.direction(r, b.audits.stride(r), b.ratio.mean, b.anchor.held)
		b.clock.still = 0
		return b.set(walk{audit: true, down: down}, r)
	case b.anchor.held:
		return 0
	}
	return b.byDensities(r)
}

// age counts samples. The grace of the anchor does not pass during a walk.
func (b *byDensity) age() {
	if b.graced() {
		b.anchor.grace--
	}
	b.arriving = max(0, b.arriving-1)
}

// graced reports whether the window stays where a walk has just found a higher hit ratio.
func (b *byDensity) graced() bool { return !b.walking && b.anchor.held && b.anchor.grace > 0 }

// otherWorkload reports whether the hit ratio changed as by another workload, and not by what the window did: the way
// back from a walk or to the anchor, or an audit from a place that is held.
func (b *byDensity) otherWorkload(r *reading) bool {
	own := b.graced() || b.anchor.held && b.walking && b.walk.audit ||
		b.arriving > 0 || b.anchor.trial && !b.anchor.returning
	return math.Abs(r.change) >= restartChange && !own
}

func (b *byDensity) measure(r *reading) {
	if math.IsNaN(b.ratio.mean) {
		b.ratio.mean = r.ratio
		return
	}
	b.ratio.add(r.ratio)
	b.anchor.follow(r, &b.ratio, !b.walking && b.back == 0 && !b.anchor.returning)
}

// take remembers the step.
func (b *byDensity) take(s stride) stride {
	b.step = s
	return s
}

func (b *byDensity) toAnchor(r *reading) stride { return b.take(b.anchor.stepTo(r)) }

// byDensities is the step towards the part of higher density.
func (b *byDensity) byDensities(r *reading) stride {
	lead := r.lead()
	length := min(r.longest(), float64(math.Abs(lead)*gain)*float64(r.capacity))
	step := stride(length)
	if lead < 0 {
		step = r.floored(stride(-length))
	}
	return b.take(r.raised(step))
}

// set begins a walk.
func (b *byDensity) set(w walk, r *reading) stride {
	w.from, w.requests, w.ratio, w.smooth, w.density = r.window, r.requests, r.ratio, b.ratio.mean, r.probationDensity
	w.best = nowhere
	b.walk, b.walking = w, true
	return b.stepOn(stride(w.sign()*b.seriesOf(&w).stride(r)), r)
}

func (b *byDensity) seriesOf(w *walk) *series {
	if w.audit {
		return &b.audits
	}
	return &b.probes
}

// stepOn takes a step of the walk. One beyond its begin would lead to what it did not set out to see: it failed.
func (b *byDensity) stepOn(s stride, r *reading) stride {
	if to := float64(r.window) + float64(s); b.walk.down && to > float64(b.walk.from) ||
		!b.walk.down && to < float64(b.walk.from) {
		b.seriesOf(&b.walk).crashes = 0
		return b.fail(r, false)
	}
	if s < 0 {
		s = r.floored(s)
	}
	b.walk.steps++
	return b.take(s)
}

// walkOn judges the walk and goes on with it, or goes back, or stays.
func (b *byDensity) walkOn(r *reading) stride {
	w := &b.walk
	of := b.seriesOf(w)
	low := r.ratio <= w.ratio-w.crash(&b.ratio)
	w.low = counted(w.low, low)
	// An audit after one that crashed bears a few such samples.
	if low && (!w.audit || of.crashes == 0 || w.low >= 3) {
		of.crashes = min(of.crashes+1, mostCrashes)
		return b.fail(r, true)
	}
	w.judge(r)
	switch end := w.verdict(r, of); {
	case end == goOn:
		return b.stepOn(b.nextStep(r), r)
	case end == found:
		return b.found(r)
	default:
		of.crashes = 0
		return b.fail(r, false)
	}
}

// counted returns one more than n where a condition holds, and 0 elsewhere.
func counted(n int, holds bool) int {
	if holds {
		return n + 1
	}
	return 0
}

// nextStep is the next step of a walk: a long one after a large change, and back after a large loss.
func (b *byDensity) nextStep(r *reading) stride {
	w := &b.walk
	length := b.seriesOf(w).stride(r)
	if w.audit && w.low > 0 {
		// It waits whether the loss was noise, and turning would take it beyond its begin.
		if step := b.step.shorter(); step.length() >= shortest {
			return step
		}
		return b.step.of(shortest)
	}
	loss := w.loss(&b.ratio)
	step := b.step.onward(r.change > -loss)
	if math.Abs(r.change) >= loss {
		step = step.of(length)
	} else {
		step = step.shorter()
	}
	if step.length() < shortest {
		return stride(w.sign() * length)
	}
	return step
}

// found ends a walk that found a better window. An audit stays there; a probe goes on by densities, unless these would
// undo what it found.
func (b *byDensity) found(r *reading) stride {
	w := b.walk
	b.walking, b.rest = false, 0
	stays := w.audit || w.steps >= deepSteps && w.undone(r) && w.proven()
	if w.audit {
		b.audits = newSeries()
		b.probes.reward()
		b.clock.settle(w.down, b.ratio.mean)
	} else {
		b.probes.crashes = 0
		if w.undone(r) || b.probes.seen(&w, r) {
			b.probes.escalate()
		} else {
			b.probes.reward()
		}
		b.probes.remember(&w, r)
	}
	window := w.bestWindow(r)
	b.anchor.plant(window, b.ratio.mean)
	if !stays {
		b.anchor.release()
		return b.byDensities(r)
	}
	b.anchor.held, b.anchor.grace = true, auditWait
	if window == r.window {
		return 0
	}
	b.anchor.turnBack()
	return b.toAnchor(r)
}

// fail ends a walk without success, and begins the way back.
func (b *byDensity) fail(r *reading, crashed bool) stride {
	b.walking = false
	of := b.seriesOf(&b.walk)
	failed := !crashed || of.crashes >= mostCrashes
	if failed {
		of.escalate()
	}
	if b.walk.audit {
		b.clock.reschedule(failed && !crashed, of.wait)
	} else {
		b.rest = of.wait
		of.farthest = nowhere
	}
	b.back = b.walk.from - r.window
	return b.goBack(r)
}

// goBack takes a step of the way back from a walk.
func (b *byDensity) goBack(r *reading) stride {
	s := r.capped(float64(b.back))
	b.back -= int64(s)
	b.arriving = arrival
	return b.take(s)
}

// reading is what a sample says.
type reading struct {
	capacity, window           int64
	requests                   int64
	windowHits, mainHits       int64
	ratio, change              float64 // of hits, and since the sample before
	windowDensity, mainDensity float64 // hits per room
	probationDensity           float64
	enough                     int64   // hits from which a density means something
	windowStarved, mainStarved bool    // it has fewer
	floor                      float64 // least window
	near                       int64   // distance within which windows are the same
}

func newReading(s *sample, capacity, window, protected int64) reading {
	r := reading{
		capacity: capacity, window: window, requests: s.requests(),
		windowHits: s.windowHits, mainHits: s.hits - s.windowHits,
		ratio: s.ratio(), change: s.ratio() - s.ratioBefore,
		windowDensity:    density(s.windowHits, window),
		probationDensity: density(s.probationHits, capacity-window-protected),
		enough:           max(4, s.requests()/1024),
		floor:            least * float64(capacity),
		near:             max(1, int64(samePlace*float64(capacity))),
	}
	r.mainDensity = density(r.mainHits, capacity-window)
	r.windowStarved, r.mainStarved = r.windowHits < r.enough, r.mainHits < r.enough
	return r
}

func density(hits, room int64) float64 { return float64(hits) / float64(max(1, room)) }

func (r *reading) longest() float64 { return longest * float64(r.capacity) }

// high is the window that leaves a quarter to the main part.
func (r *reading) high() int64 { return r.capacity - r.capacity/4 }

// dead reports whether neither part has enough hits.
func (r *reading) dead() bool { return r.windowStarved && r.mainStarved }

// blind reports whether densities say nothing. A large window beside a main part without hits may be right.
func (r *reading) blind() bool { return r.dead() || r.windowStarved && r.window <= r.capacity/4 }

// capped returns a step of at most the longest.
func (r *reading) capped(by float64) stride {
	if math.Abs(by) > r.longest() {
		return stride(math.Copysign(r.longest(), by))
	}
	return stride(by)
}

// floored returns a step down that ends at the least window, or none if the window is at it: the zero is negative,
// since the next step goes on in its direction.
func (r *reading) floored(s stride) stride {
	if float64(r.window)+float64(s) >= r.floor {
		return s
	}
	return stride(math.Min(math.Copysign(0, -1), r.floor-float64(r.window)))
}

// raised returns a step that takes a window below the least one to that, at least.
func (r *reading) raised(s stride) stride {
	if missing := r.floor - float64(r.window); missing > 0 {
		return max(s, stride(missing))
	}
	return s
}

// lead is the logarithm of the ratio of densities, with some hits for a part that has hardly any.
func (r *reading) lead() float64 {
	some := float64(r.enough) / 8
	window := max(r.windowDensity, some/float64(max(1, r.window)))
	main := max(r.mainDensity, some/float64(max(1, r.capacity-r.window)))
	return random.Log(window / main)
}

// nowhere is the window of a place that there is none of.
const nowhere = -1

// walk leads away from a window, and what was there is compared with what it finds.
type walk struct {
	audit, down bool
	from        int64
	requests    int64   // of the sample before it
	ratio       float64 // of hits in that sample
	smooth      float64 // and before it
	density     float64 // of probation in that sample
	steps       int
	low, high   int  // samples in a row with a lower hit ratio, and with a higher one
	equalled    bool // there was one with as many hits as before
	best        int64
	bestRatio   float64 // of the samples in a row with a higher hit ratio
}

const (
	mostSteps   = 16   // of a walk
	deepSteps   = 10   // from which a probe has seen much
	auditSteps  = 5    // at least, of an audit that found something
	auditHigh   = 4    // samples in a row, of the same
	auditLoss   = 0.15 // of the hit ratio that ends or turns an audit
	probeLoss   = 3 * restartChange
	probeEnough = 4 // times the hits from which a density means something, for the end of a probe
)

func (w *walk) sign() float64 {
	if w.down {
		return -1
	}
	return 1
}

// crash is the loss since its begin that ends it.
func (w *walk) crash(ratio *smoothed) float64 {
	if w.audit {
		return min(restartChange, auditLoss*w.ratio)
	}
	return min(probeLoss, max(restartChange, ratio.noise()))
}

// loss is the loss since the sample before that turns it.
func (w *walk) loss(ratio *smoothed) float64 {
	if w.audit {
		return min(restartChange, auditLoss*max(w.ratio, ratio.noise()))
	}
	return w.crash(ratio)
}

// judge compares the sample with what was before. Of equal ones the later is the best: it is nearer.
func (w *walk) judge(r *reading) {
	high := r.ratio > w.smooth+certain
	w.high = counted(w.high, high)
	switch {
	case !high:
		w.best, w.bestRatio = nowhere, 0
	case w.best == nowhere || r.ratio >= w.bestRatio:
		w.best, w.bestRatio = r.window, r.ratio
	}
	w.equalled = w.equalled || r.ratio >= w.ratio
}

// verdict is what comes after a sample of a walk.
type verdict int

const (
	goOn verdict = iota
	found
	failed
)

// verdict judges an audit by the hit ratio, and a probe by density, once there are enough hits.
func (w *walk) verdict(r *reading, of *series) verdict {
	hits := r.windowHits
	if w.down {
		hits = r.mainHits
	}
	switch {
	case w.audit && w.proven():
		return found
	case !w.audit && hits >= probeEnough*r.enough && w.steps >= of.commitment():
		if w.gains(r) {
			return found
		}
		return failed
	}
	if w.steps >= mostSteps {
		return failed
	}
	return goOn
}

// gains reports whether the part that the walk gives room to has the higher density. The window is compared with
// probation as it was: that is what it takes room from, and the walk itself pushes objects there.
func (w *walk) gains(r *reading) bool {
	if w.down {
		return r.mainDensity+vanishing > r.windowDensity+vanishing
	}
	before := float64(w.density * (float64(r.requests) / float64(max(1, w.requests))))
	return r.windowDensity+vanishing > before+vanishing
}

// proven reports whether the hit ratio was higher for some samples, and not only than the mean before.
func (w *walk) proven() bool { return w.steps >= auditSteps && w.high >= auditHigh && w.equalled }

// undone reports whether densities would lead back.
func (w *walk) undone(r *reading) bool { return r.lead()*w.sign() < 0 }

// bestWindow is the window that an audit found best, or the present one.
func (w *walk) bestWindow(r *reading) int64 {
	if w.audit && w.best != nowhere && w.bestRatio > r.ratio+certain {
		return w.best
	}
	return r.window
}

// series are walks of one kind. After each without success the next waits longer and takes longer steps.
type series struct {
	wait     int // samples until the next
	crashes  int // in a row
	farthest int64
	down     bool // the farthest window was found by a walk down
}

const (
	firstWait   = 16
	longestWait = 64
	mostCrashes = 2 // in a row, from which each counts as a failure
)

func newSeries() series { return series{wait: firstWait, farthest: nowhere} }

func (s *series) escalate() { s.wait = min(longestWait, 2*s.wait) }
func (s *series) reward()   { s.wait, s.crashes = 1, 0 }

// depth is 0, 1, or 2, the longer the wait.
func (s *series) depth() int {
	switch {
	case s.wait >= longestWait:
		return 2
	case s.wait >= 2*firstWait:
		return 1
	}
	return 0
}

// commitment is the number of steps before a probe is judged.
func (s *series) commitment() int { return [...]int{0, 2, deepSteps}[s.depth()] }

// stride is the length of a first step.
func (s *series) stride(r *reading) float64 {
	return min(r.longest(), [...]float64{1, 2, 4}[s.depth()]*longStride(r.capacity))
}

// seen reports whether a probe came no farther than one before.
func (s *series) seen(w *walk, r *reading) bool {
	switch {
	case s.farthest == nowhere || w.down != s.down:
		return false
	case w.down:
		return r.window >= s.farthest-r.near
	}
	return r.window <= s.farthest+r.near
}

func (s *series) remember(w *walk, r *reading) {
	if s.farthest == nowhere || w.down != s.down || w.down && r.window < s.farthest || !w.down && r.window > s.farthest {
		s.down, s.farthest = w.down, r.window
	}
}

// auditClock says when and where to the next audit goes.
type auditClock struct {
	wait    int // samples in one place before the next
	still   int // samples in one place; one elsewhere takes one off
	at      int64
	down    bool
	settled float64 // hit ratio where the last audit stayed; NaN once the next has begun
}

const (
	auditWait        = 32
	firstAuditWait   = 4
	longestAuditWait = 512
)

func newAuditClock() auditClock {
	return auditClock{wait: firstAuditWait, at: nowhere, down: true, settled: math.NaN()}
}

func (c *auditClock) due() bool { return c.still >= c.wait }

func (c *auditClock) tick(window, near int64) {
	if c.at == nowhere || max(window-c.at, c.at-window) <= near {
		c.still = min(c.still+1, math.MaxInt32)
	} else {
		c.still = max(0, c.still-1)
	}
	c.at = window
}

// settle lets the next audit go on in the direction of one that found something.
func (c *auditClock) settle(down bool, ratio float64) {
	c.wait, c.down, c.settled = auditWait, down, ratio
}

// reschedule sets the next wait after an audit without success, by that of its series; exhausted says that it was not
// cut short.
func (c *auditClock) reschedule(exhausted bool, wait int) {
	if exhausted && wait >= longestWait {
		c.wait = min(longestAuditWait, 2*max(c.wait, wait))
	} else {
		c.wait = max(firstWait, wait)
	}
}

// direction says whether the next audit goes down: to where there is room for a first step, and otherwise to one side
// and the other by turns.
func (c *auditClock) direction(r *reading, step, ratio float64, held bool) (down bool) {
	if !math.IsNaN(c.settled) {
		if !held || math.Abs(ratio-c.settled) >= restartChange {
			c.down = !c.down
		}
		c.settled = math.NaN()
	}
	if r.window <= int64(2*r.floor) {
		return false
	}
	if r.window >= r.high() {
		return true
	}
	room := float64(r.high() - r.window)
	if c.down {
		room = float64(r.window) - r.floor
	}
	down = c.down == (room >= step)
	c.down = !down
	return down
}

// anchor is a window with a good hit ratio. Once a walk has found it, or after a return, it is held: densities do not
// move the window.
type anchor struct {
	window    int64
	ratio     float64
	held      bool
	grace     int // samples in which a changed hit ratio does not speak against it
	short     int // samples in a row with a lower hit ratio elsewhere
	returning bool
	left      int // samples for the return
	trial     bool
	claim     float64 // hit ratio that it had when the return began: the trial
	settling  int     // samples before the trial
}

const (
	shortSamples   = 4
	returnSamples  = 8
	settlingBefore = 2
)

func noAnchor() anchor { return anchor{window: nowhere} }

func (a *anchor) at(r *reading) bool {
	return a.window != nowhere && max(r.window-a.window, a.window-r.window) <= r.near
}

func (a *anchor) plant(window int64, ratio float64) {
	a.window, a.ratio = window, ratio
	a.endTrial()
}

func (a *anchor) release()  { a.held, a.grace = false, 0 }
func (a *anchor) endTrial() { a.trial, a.settling = false, 0 }

// follow keeps the hit ratio at the anchor up to date, and moves it to a better window where that has settled.
func (a *anchor) follow(r *reading, ratio *smoothed, settled bool) {
	switch {
	case a.window == nowhere:
		if settled {
			a.plant(r.window, ratio.mean)
		}
	case a.at(r):
		a.ratio = ratio.mean
	case settled && ratio.mean > a.ratio+ratio.margin():
		a.plant(r.window, ratio.mean)
		a.release()
	}
}

// missed reports whether the hit ratio has been lower than at the anchor for some samples, and begins the return.
func (a *anchor) missed(r *reading, ratio *smoothed) bool {
	a.short = counted(a.short, a.window != nowhere && !a.at(r) && ratio.mean < a.ratio-ratio.margin())
	if a.short < shortSamples {
		return false
	}
	a.short = 0
	a.turnBack()
	return true
}

func (a *anchor) turnBack() {
	a.left, a.settling, a.trial, a.claim = returnSamples, settlingBefore, true, a.ratio
	a.returning, a.held = true, true
}

// doubt lets densities move the window again. It reports whether the window is at the anchor, which is then given up.
func (a *anchor) doubt(r *reading) (gone bool) {
	if gone = a.at(r); gone {
		a.window = nowhere
		a.endTrial()
	}
	a.release()
	a.returning, a.short = false, 0
	return gone
}

func (a *anchor) stepTo(r *reading) stride {
	a.left--
	remaining := float64(a.window - r.window)
	if math.Abs(remaining) <= r.longest() || a.left <= 0 {
		a.returning = false
	}
	return r.capped(remaining)
}

// onTrial reports whether a return has led to the anchor, whose hit ratio is to be confirmed.
func (a *anchor) onTrial(r *reading) bool {
	if a.trial && !a.returning && !a.at(r) {
		a.endTrial()
	}
	return a.trial && !a.returning
}

// failsTrial reports whether the anchor has a lower hit ratio than before.
func (a *anchor) failsTrial(ratio *smoothed) bool {
	if a.settling--; a.settling > 0 {
		return false
	}
	a.endTrial()
	return ratio.mean < a.claim-ratio.margin()
}

// smoothed is a mean hit ratio, and by what samples differ from it.
type smoothed struct{ mean, deviation float64 }

func newSmoothed() smoothed { return smoothed{mean: math.NaN(), deviation: restartChange} }

// smoothing is the weight of the last sample.
const smoothing = 0.2

func (s *smoothed) add(ratio float64) {
	s.deviation += float64(smoothing * (math.Abs(ratio-s.mean) - s.deviation))
	s.mean += float64(smoothing * (ratio - s.mean))
}

func (s *smoothed) noise() float64  { return float64(3 * s.deviation) }
func (s *smoothed) margin() float64 { return max(certain, s.noise()) }
