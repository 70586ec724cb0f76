package event

import (
	"math"
	"time"
)

// Link transfers bytes: a bus, a network, a memory, a disk. A transfer of n bytes is done Latency after its last byte
// was sent; the latency does not delay the next transfer.
type Link interface {
	// Transfer sends bytes, at least 0, and calls done when they have arrived.
	Transfer(bytes int64, done func())
}

// queuedLink sends one transfer after the other.
type queuedLink struct {
	loop      *Loop
	latency   time.Duration
	bandwidth float64 // bytes per second
	// The link has been busy since start and will have sent the bytes of all transfers since then at free. Counting from
	// start, not from transfer to transfer, keeps roundings to the nanosecond from adding up.
	start, free time.Duration
	bytes       int64
}

// NewQueuedLink returns a link with the given bytes per second that sends transfers one after another, first come first
// served.
func NewQueuedLink(loop *Loop, latency time.Duration, bandwidth float64) Link {
	return &queuedLink{loop: loop, latency: latency, bandwidth: bandwidth}
}

func (l *queuedLink) Transfer(bytes int64, done func()) {
	if l.free <= l.loop.Now() {
		l.start, l.bytes = l.loop.Now(), 0
	}
	l.bytes += bytes
	l.free = Sum(l.start, nanoseconds(float64(l.bytes)/l.bandwidth))
	l.loop.At(Sum(l.free, l.latency), done)
}

// sharedLink sends all transfers at once, each at an equal share of the bandwidth.
type sharedLink struct {
	loop      *Loop
	latency   time.Duration
	bandwidth float64        // bytes per second
	flows     queue[float64] // by the value of sent at which their last bytes have been sent; ties: in order of arrival
	done      slots[func()]  // per flow
	start     time.Duration  // when the link became busy
	asOf      float64        // seconds since start at which sent was correct
	sent      float64        // bytes that each flow has been sent, or would have been, since start
	next      Timer          // when the first of the flows ends
	seq       uint64
}

// NewSharedLink returns a link with the given bytes per second that concurrent transfers share equally (processor
// sharing): each of k gets the k-th part of the bandwidth.
func NewSharedLink(loop *Loop, latency time.Duration, bandwidth float64) Link {
	return &sharedLink{loop: loop, latency: latency, bandwidth: bandwidth}
}

func (l *sharedLink) Transfer(bytes int64, done func()) {
	l.advance()
	if len(l.flows.entries) == 0 {
		l.start, l.asOf, l.sent = l.loop.Now(), 0, 0
	}
	l.seq++
	// All flows advance at the same rate, so a flow ends when sent reaches a value that is fixed now. The order of
	// the queue never changes, whatever begins or ends meanwhile.
	l.flows.push(entry[float64]{l.sent + float64(bytes), l.seq, l.done.put(done)})
	l.schedule()
}

// advance updates sent to now and ends the flows whose last byte has been sent. A flow ends between two nanoseconds,
// and the others get their larger share from then on; only reported times are rounded.
func (l *sharedLink) advance() {
	now := (l.loop.Now() - l.start).Seconds()
	for len(l.flows.entries) > 0 {
		end := l.asOf + l.untilFirst()
		if Sum(l.start, nanoseconds(end)) > l.loop.Now() {
			l.sent += (now - l.asOf) * l.bandwidth / float64(len(l.flows.entries))
			break
		}
		first := l.flows.pop()
		// end may exceed now by the rounding error that nanoseconds ignores.
		l.sent, l.asOf = first.key, min(end, now)
		l.loop.After(l.latency, l.done.take(first.slot))
	}
	l.asOf = now
}

// untilFirst returns the seconds from asOf until the first flow ends if no other begins.
func (l *sharedLink) untilFirst() float64 {
	return max(0, l.flows.entries[0].key-l.sent) * float64(len(l.flows.entries)) / l.bandwidth
}

func (l *sharedLink) schedule() {
	l.loop.Cancel(l.next)
	if len(l.flows.entries) == 0 {
		return
	}
	l.next = l.loop.At(max(l.loop.Now(), Sum(l.start, nanoseconds(l.asOf+l.untilFirst()))), func() {
		l.advance()
		l.schedule()
	})
}

// nanoseconds rounds seconds up to the clock.
func nanoseconds(seconds float64) time.Duration {
	// The excess of a floating-point product over a whole number of nanoseconds is a rounding error.
	return Span(math.Ceil(float64(seconds*1e9) - 1e-4))
}
