package policies

// objectSizes holds what each object is charged; nil where every object is charged 1.
type objectSizes []int64

// newObjectSizes returns sizes for the unit of capacity of c.
func newObjectSizes(c Config) objectSizes {
	if c.Unit {
		return nil
	}
	return make(objectSizes, c.Objects)
}

func (s objectSizes) of(o Object) int64 {
	if s == nil {
		return 1
	}
	return s[o]
}

// set records what r's object is charged.
func (s objectSizes) set(r Request) {
	if s != nil {
		s[r.Object] = r.Size
	}
}

// sizedQueue is a queue that knows how much its objects are charged together, and how much they should be at most.
type sizedQueue struct {
	logQueue
	sizes objectSizes
	used  int64
	limit int64
}

func newSizedQueue(objects int, sizes objectSizes, limit int64) sizedQueue {
	return sizedQueue{logQueue: newLogQueue(objects), sizes: sizes, limit: limit}
}

func (q *sizedQueue) push(o Object) {
	q.used += q.sizes.of(o)
	q.logQueue.push(o)
}

func (q *sizedQueue) pop() Object {
	o := q.logQueue.pop()
	q.used -= q.sizes.of(o)
	return o
}

func (q *sizedQueue) remove(o Object) {
	q.used -= q.sizes.of(o)
	q.logQueue.remove(o)
}
