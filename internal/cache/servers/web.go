package servers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

// documents are what a web cache holds, in the order of their use. Each server adds what it counts and when it evicts.
type documents struct {
	tally
	limit, used, values, own, taken int64
	items                           int64
	order                           dense.Lists // one list: the last is evicted next
	of                              []document  // per object
}

type document struct {
	bytes, value int64 // what counts, and the body
	end          int64 // until when it is fresh; 0: for ever
	moved        int64 // when it was last moved to the front
	stored       bool
}

func newDocuments(c cache.Config, own int64) documents {
	return documents{limit: c.Capacity, used: own, own: own, taken: own, order: dense.NewLists(c.Trace.NumObjects, 1),
		of: make([]document, c.Trace.NumObjects)}
}

// sentHeaders are the bytes of a short header of a response: its first line, Content-Length, Cache-Control, Date and
// Content-Type.
const sentHeaders = 134

// bytesBeside returns what a document takes beside its body, or beside its size in a log that counts headers.
func bytesBeside(c cache.Config) int64 {
	n := int64(c.Params.Int("headers"))
	if headersInSizes(c.Trace) {
		n = max(0, n-sentHeaders)
	}
	return n
}

// headersInSizes reports whether sizes in the trace include headers of responses.
func headersInSizes(t *traces.Trace) bool {
	for i := range t.Readings {
		if t.Readings[i].HeadersInSize {
			return true
		}
	}
	return false
}

// fresh reports whether a stored document is fresh.
func (d *documents) fresh(o policies.Object, now int64) bool {
	at := &d.of[o]
	return at.stored && (at.end == 0 || now < at.end)
}

func (d *documents) add(r *request, bytes int64) {
	d.of[r.object] = document{bytes: bytes, value: r.value, end: r.end, moved: r.now, stored: true}
	d.order.PushFront(0, r.object)
	d.items++
	d.values += r.value
	d.used += bytes
	d.taken = max(d.taken, d.used)
}

func (d *documents) remove(o policies.Object) bool {
	at := &d.of[o]
	if !at.stored {
		return false
	}
	d.order.Unlink(o)
	d.items--
	d.values -= at.value
	d.used -= at.bytes
	at.stored = false
	return true
}

func (d *documents) touch(o policies.Object, now int64) {
	d.of[o].moved = now
	d.order.MoveToFront(0, o)
}

// evictLast evicts the document that was moved to the front longest ago; false if there is none.
func (d *documents) evictLast() bool {
	o, ok := d.order.Back(0)
	if ok {
		d.remove(o)
		d.evicted++
	}
	return ok
}

// dropStale removes what is no longer fresh before it is fetched again.
func (d *documents) dropStale(o policies.Object) {
	if d.remove(o) {
		d.expired++
	}
}

func (d *documents) has(o policies.Object, now int64) bool { return d.fresh(o, now) }

func (d *documents) tick(int64)     {}
func (d *documents) remark() string { return "" }

func (d *documents) state() state {
	return state{items: d.items, values: d.values, used: d.used, own: d.own, taken: d.taken, tally: d.tally}
}

// changed serves what only concerns documents that are there; done reports whether the request is served.
func (d *documents) changed(r *request, there bool) (done bool) {
	if there && r.present && r.write {
		d.of[r.object].end = r.end
	}
	return r.present && (r.write || !there)
}
