package policies

// logQueue is a queue of objects kept as a log. Pushing an object appends it; renewing it appends it anew, and the
// older entry goes stale, to be skipped when the tail gets there. Where the log is full, its live entries move to the
// start. Next to a linked list it writes two places per move instead of six, and it reads and writes the log in order,
// which counts where the objects do not fit the processor's cache.
//
// Memory: 4 bytes per object, and 16 to 32 bytes per queued object. Every operation takes constant time, averaged.
type logQueue struct {
	log   []Object
	stamp []uint32 // per object: the index of its live entry in log; 0 where the object is not queued
	tail  uint32   // no live entry lies before it
	end   uint32   // where the next entry goes
	live  int      // queued objects
}

// newLogQueue returns an empty queue over n objects.
func newLogQueue(n int) logQueue {
	return logQueue{log: make([]Object, 64), stamp: make([]uint32, n), tail: 1, end: 1}
}

// push puts o, which is not queued, at the front.
func (q *logQueue) push(o Object) {
	q.live++
	q.renew(o)
}

// renew moves o, which is queued, to the front.
func (q *logQueue) renew(o Object) {
	if int(q.end) == len(q.log) {
		q.compact()
	}
	q.log[q.end] = o
	q.stamp[o] = q.end
	q.end++
}

// back returns the last object, the next to leave. The queue must not be empty.
func (q *logQueue) back() Object {
	for {
		if o := q.log[q.tail]; q.stamp[o] == q.tail {
			return o
		}
		q.tail++
	}
}

// pop takes the last object off the queue and returns it. The queue must not be empty.
func (q *logQueue) pop() Object {
	o := q.back()
	q.tail++
	q.remove(o)
	return o
}

// remove takes o, which is queued, off the queue.
func (q *logQueue) remove(o Object) {
	q.stamp[o] = 0
	q.live--
}

// compact moves the live entries to the start of the log, which doubles where they fill more than a quarter of it. It
// stays out of line so that renew is inlined. Whether an entry is live cannot be predicted: the loop does not branch on
// it.
//
//go:noinline
func (q *logQueue) compact() {
	old, first, last := q.log, q.tail, q.end
	if 4*q.live > len(q.log) {
		q.log = make([]Object, 2*len(q.log))
	}
	end := uint32(1)
	for i := first; i < last; i++ {
		o := old[i]
		q.log[end] = o
		stamp, next := q.stamp[o], end
		if stamp == i {
			next++
		}
		if stamp == i {
			stamp = end
		}
		q.stamp[o] = stamp
		end = next
	}
	q.tail, q.end = 1, end
}
