package event

import "time"

// Priority says which transfers a PriorityLink sends first.
type Priority uint8

// The priorities. While something urgent is to be sent, nothing else is.
const (
	Urgent Priority = iota
	Background
	priorities
)

// PriorityLink sends transfers of two priorities. Transfers of one priority share the bandwidth equally (processor
// sharing); background transfers pause while there are urgent ones. A transfer can be promoted and cancelled. The
// caller identifies transfers by small numbers from 0, each of them in use by one transfer at a time.
type PriorityLink struct {
	loop      *Loop
	bandwidth float64 // bytes per second
	arrived   func(transfer int32)
	classes   [priorities]class
	ended     []int32 // transfers whose last byte has been sent, but that have not been reported
	reported  []int32 // a buffer
	start     time.Duration
	asOf      float64 // seconds since start at which the classes were correct
	report    func()
	next      Timer // calls report
	nextAt    time.Duration
	seq       uint64
}

// class are the transfers of a priority.
type class struct {
	flows queue[float64] // by the value of sent at which their last bytes have been sent; ties: in order of arrival
	sent  float64        // bytes that each flow has been sent, or would have been, since there was none
	busy  float64        // seconds in which the link has sent them
}

// NewPriorityLink returns a link with the given bytes per second that calls arrived when the last byte of a transfer
// has been sent.
func NewPriorityLink(loop *Loop, bandwidth float64, arrived func(transfer int32)) *PriorityLink {
	l := &PriorityLink{loop: loop, bandwidth: bandwidth, arrived: arrived}
	l.report = l.reportEnded
	return l
}

// Begin starts a transfer of bytes, at least 0.
func (l *PriorityLink) Begin(transfer int32, bytes int64, p Priority) {
	l.advance()
	if l.active() == nil {
		l.start, l.asOf = l.loop.Now(), 0
	}
	l.push(transfer, float64(bytes), p)
	l.schedule()
}

func (l *PriorityLink) push(transfer int32, bytes float64, p Priority) {
	c := &l.classes[p]
	if len(c.flows.entries) == 0 {
		c.sent = 0
	}
	l.seq++
	c.flows.push(entry[float64]{c.sent + bytes, l.seq, transfer})
}

// Promote makes a background transfer, which must not have arrived, urgent.
func (l *PriorityLink) Promote(transfer int32) {
	l.advance()
	if left, sending := l.take(transfer, Background); sending {
		l.push(transfer, left, Urgent)
	}
	l.schedule()
}

// Cancel ends a transfer, which must not have arrived.
func (l *PriorityLink) Cancel(transfer int32, p Priority) {
	l.advance()
	if _, sending := l.take(transfer, p); !sending {
		for i, t := range l.ended {
			if t == transfer {
				l.ended = append(l.ended[:i], l.ended[i+1:]...)
				break
			}
		}
	}
	l.schedule()
}

// take removes a transfer, and returns the bytes that have not been sent; sending is false if all have been.
func (l *PriorityLink) take(transfer int32, p Priority) (left float64, sending bool) {
	c := &l.classes[p]
	// The index of a transfer that has left the queue is stale: another may be there now.
	if at := c.flows.at[transfer]; int(at) >= len(c.flows.entries) || c.flows.entries[at].slot != transfer {
		return 0, false
	}
	return max(0, c.flows.remove(transfer).key-c.sent), true
}

// Busy returns for how many seconds the link has sent transfers of each priority by a time from now to the next event.
// It sends at its full bandwidth then.
func (l *PriorityLink) Busy(at time.Duration) (urgent, background float64) {
	urgent, background = l.classes[Urgent].busy, l.classes[Background].busy
	more := (at - l.start).Seconds() - l.asOf
	switch l.active() {
	case &l.classes[Urgent]:
		urgent += more
	case &l.classes[Background]:
		background += more
	}
	return urgent, background
}

// active returns the class that is being sent; nil if the link is idle.
func (l *PriorityLink) active() *class {
	for p := range l.classes {
		if c := &l.classes[p]; len(c.flows.entries) > 0 {
			return c
		}
	}
	return nil
}

// advance updates the classes to now, and moves the transfers whose last byte has been sent to ended. As on a shared
// link, a transfer ends between two nanoseconds, and the others get its share from then on.
func (l *PriorityLink) advance() {
	now := (l.loop.Now() - l.start).Seconds()
	for c := l.active(); c != nil; c = l.active() {
		end := l.asOf + l.untilFirst(c)
		if Sum(l.start, nanoseconds(end)) > l.loop.Now() {
			c.sent += (now - l.asOf) * l.bandwidth / float64(len(c.flows.entries))
			c.busy += now - l.asOf
			break
		}
		first := c.flows.pop()
		end = min(end, now)
		c.sent, c.busy, l.asOf = first.key, c.busy+end-l.asOf, end
		l.ended = append(l.ended, first.slot)
	}
	l.asOf = now
}

// untilFirst returns the seconds from asOf until the first transfer of the active class ends if no other begins.
func (l *PriorityLink) untilFirst(c *class) float64 {
	return max(0, c.flows.entries[0].key-c.sent) * float64(len(c.flows.entries)) / l.bandwidth
}

// schedule calls report when the next transfer has ended.
func (l *PriorityLink) schedule() {
	at, c := l.loop.Now(), l.active()
	switch {
	// Reported at once, but by an event: the callers of this function are in the middle of a change.
	case len(l.ended) > 0:
	case c != nil:
		at = max(at, Sum(l.start, nanoseconds(l.asOf+l.untilFirst(c))))
	default:
		l.loop.Cancel(l.next)
		l.next = Timer{}
		return
	}
	// Most changes do not affect the first transfer to end.
	if l.next != (Timer{}) && at == l.nextAt {
		return
	}
	l.loop.Cancel(l.next)
	l.next, l.nextAt = l.loop.At(at, l.report), at
}

// reportEnded reports the transfers that have ended.
func (l *PriorityLink) reportEnded() {
	l.next = Timer{}
	l.advance()
	// arrived may begin and cancel transfers, which changes ended.
	l.ended, l.reported = l.reported[:0], l.ended
	l.schedule()
	for _, t := range l.reported {
		l.arrived(t)
	}
}
