package dense

// LogQueue is a queue of objects kept as a log. Push appends an object. Renew appends it again, and the older entry
// goes stale, to be skipped when the tail reaches it. When the log is full, its live entries move to the start.
// Compared with a linked list it writes two places per move instead of six, and it reads and writes the log in order,
// which matters when the objects do not fit the processor's cache.
//
// Memory: 4 bytes per object, and 16 to 32 bytes per queued object. Every operation takes amortized constant time.
type LogQueue struct {
	Log   []Object
	Stamp []uint32 // per object: the index of its live entry in log; 0 if the object is not queued
	Tail  uint32   // no live entry lies before it
	End   uint32   // where the next entry goes
	Live  int      // queued objects

	ahead uint32 // Ahead has read the stamps of the entries before it
	sum   uint32 // of what Ahead has read
}

// NewLogQueue returns an empty queue over n objects.
func NewLogQueue(n int) LogQueue {
	return LogQueue{Log: make([]Object, 64), Stamp: make([]uint32, n), Tail: 1, End: 1}
}

// Grow makes room for objects up to n-1.
func (q *LogQueue) Grow(n int)        { q.Stamp = Grown(q.Stamp, n) }
func (q *LogQueue) Has(o Object) bool { return q.Stamp[o] != 0 }

// Push puts o, which is not queued, at the front.
func (q *LogQueue) Push(o Object) {
	q.Live++
	q.Renew(o)
}

// Renew moves o, which is queued, to the front.
func (q *LogQueue) Renew(o Object) {
	if q.Full() {
		q.Compact()
	}
	q.Log[q.End] = o
	q.Stamp[o] = q.End
	q.End++
}

// Back returns the last object, which Pop would remove. The queue must not be empty.
func (q *LogQueue) Back() Object {
	for {
		if o := q.Log[q.Tail]; q.Stamp[o] == q.Tail {
			return o
		}
		q.Tail++
	}
}

// Front returns the object pushed or renewed last. The queue must not be empty. What is stale at the end of the log is
// dropped.
func (q *LogQueue) Front() Object {
	for {
		if o := q.Log[q.End-1]; q.Stamp[o] == q.End-1 {
			return o
		}
		q.End--
	}
}

// Full reports whether the next Push or Renew moves the live entries.
func (q *LogQueue) Full() bool { return int(q.End) == len(q.Log) }

// Ahead reads the stamps of the next entries before Back needs them. Back waits for one after another, since its jumps
// are unpredictable; these the processor loads at the same time.
func (q *LogQueue) Ahead() {
	if q.Tail >= q.ahead {
		q.readAhead()
	}
}

// stampsAhead is the number of entries that Ahead reads.
const stampsAhead = 16

//go:noinline
func (q *LogQueue) readAhead() {
	q.ahead = min(q.Tail+stampsAhead, q.End)
	sum := uint32(0)
	for _, o := range q.Log[q.Tail:q.ahead] {
		sum += q.Stamp[o]
	}
	q.sum = sum // so that the loop is not left out
}

// Pop removes the last object from the queue and returns it. The queue must not be empty.
func (q *LogQueue) Pop() Object {
	o := q.Back()
	q.Tail++
	q.Remove(o)
	return o
}

// Remove removes o, which must be queued, from the queue.
func (q *LogQueue) Remove(o Object) {
	q.Stamp[o] = 0
	q.Live--
}

// Compact moves the live entries to the start of the log, which doubles if they fill more than a quarter of it. It is
// not inlined, so that Renew is. Whether an entry is live is unpredictable, so the loop does not branch on it.
//
//go:noinline
func (q *LogQueue) Compact() {
	old, first, last := q.Log, q.Tail, q.End
	if 4*q.Live > len(q.Log) {
		q.Log = make([]Object, 2*len(q.Log))
	}
	end := uint32(1)
	for i := first; i < last; i++ {
		o := old[i]
		q.Log[end] = o
		stamp, next := q.Stamp[o], end
		if stamp == i {
			next++
		}
		if stamp == i {
			stamp = end
		}
		q.Stamp[o] = stamp
		end = next
	}
	q.Tail, q.End, q.ahead = 1, end, 0
}
