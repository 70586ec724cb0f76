package storage

import (
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// issueNext issues the next read of a job in a closed loop.
func (m *model) issueNext(i int32) {
	j := &m.jobs[i]
	j.timer = event.Timer{}
	read := j.reads[0]
	j.reads = j.reads[1:]
	m.issue(read)
}

// issueDue issues the reads whose time has come, in the order of the trace.
func (m *model) issueDue() {
	for ; m.first < len(m.Starts); m.first++ {
		read := int32(m.first)
		if at := m.time(read); at > m.loop.Now() {
			m.loop.At(at, m.issueDue)
			return
		}
		if !m.jobs[m.jobOf(read)].ended {
			m.issue(read)
		}
	}
}

// issue requests all objects of a read.
func (m *model) issue(read int32) {
	now := m.loop.Now()
	slot := m.openSlot()
	m.open[slot].read, m.open[slot].served = read, int32(len(m.served))
	m.served = append(m.served, Read{First: m.asked, Asked: now, Done: -1})
	j := &m.jobs[m.jobOf(read)]
	from, to := m.span(read)
	missing, loading := 0, 0
	for request := from; request < to; request++ {
		switch {
		case !m.ask(request, slot, j):
			missing++
		case m.load(request, slot):
			loading++
		}
	}
	o := &m.open[slot]
	m.served[o.served].Counts = m.asked > int64(m.Warmup)
	o.left, o.ready = missing+loading, now
	// Resident objects are read while the others are fetched: the read ends with the later of the two.
	if missing < to-from {
		o.ready = event.Sum(now, m.Local)
	}
	if o.left == 0 {
		o.timer = m.loop.At(o.ready, o.end)
	}
	m.prefetch()
}

// ask requests an object for a read of job j. It reports whether the object is resident; otherwise the read waits for
// it.
func (m *model) ask(request int, slot int32, j *job) (hit bool) {
	if m.asked == int64(m.Warmup) && !m.counting {
		m.endWarmup()
	}
	object, bytes := m.Objects[request], m.Size(request)
	m.asked++
	if hit = m.cache.Ask(m.demanded(request), request); hit {
		m.pos++
	}
	if m.Asked != nil {
		m.Asked(bytes, hit)
	}
	if m.counting {
		j.count(bytes, hit)
	}
	m.use(object, hit)
	if !hit {
		m.demand(request, object, bytes, slot)
	}
	m.proposals = m.cache.Proposals(m.proposals[:0])
	m.enqueueAll()
	if m.Windows.EndWith(m.asked) && m.err == nil {
		m.err = m.endWindow(m.loop.Now(), m.loop.Now())
	}
	return hit
}

// demanded returns a request of the trace as the cache sees it now.
func (m *model) demanded(at int) requests.Request {
	r := m.request(m.Objects[at], m.Size(at))
	r.Write = m.Write != nil && m.Write(at)
	return r
}

// request returns a request as the cache sees it now.
func (m *model) request(object uint32, bytes int64) requests.Request {
	r := requests.Request{Object: object, Query: object, Pos: m.pos, Size: 1, Time: m.Start + int64(m.loop.Now())}
	if !m.Unit {
		r.Size = bytes
	}
	return r
}

func (j *Job) count(bytes int64, hit bool) {
	j.Requests++
	j.Bytes += bytes
	if hit {
		j.Hits++
		j.HitBytes += bytes
	}
}

// use records that an object is requested, so that its prefetch was not in vain.
func (m *model) use(object uint32, hit bool) {
	if int(object) >= len(m.unused) || m.unused[object] == 0 {
		return
	}
	if hit {
		m.counts.Useful += m.unused[object]
	}
	m.unused[object] = 0
}

func (m *model) openSlot() int32 {
	if n := len(m.free); n > 0 {
		slot := m.free[n-1]
		m.free = m.free[:n-1]
		return slot
	}
	slot := int32(len(m.open))
	m.open = append(m.open, open{end: func() { m.end(slot) }})
	return slot
}

// came records that an object of a read has arrived.
func (m *model) came(slot int32) {
	o := &m.open[slot]
	if o.left--; o.left > 0 {
		return
	}
	if o.ready > m.loop.Now() {
		o.timer = m.loop.At(o.ready, o.end)
		return
	}
	m.end(slot)
}

// end ends a read; its job computes then.
func (m *model) end(slot int32) {
	o := &m.open[slot]
	read, now := o.read, m.loop.Now()
	served := &m.served[o.served]
	served.Done = now
	m.closeSlot(slot)
	i := m.jobOf(read)
	j := &m.jobs[i]
	from, to := m.span(read)
	bytes := int64(0)
	for request := from; request < to; request++ {
		bytes += m.Size(request)
	}
	j.Served += bytes
	if served.Counts {
		m.counts.Served += bytes
	}
	if j.left--; j.left == 0 {
		m.endJob(i)
		return
	}
	if m.Closed {
		j.timer = m.loop.At(event.Sum(now, max(0, m.time(j.reads[0])-m.time(read))), j.next)
	}
}

func (m *model) closeSlot(slot int32) {
	o := &m.open[slot]
	o.served, o.timer = -1, event.Timer{}
	m.free = append(m.free, slot)
}

func (m *model) endJob(i int32) {
	j := &m.jobs[i]
	j.ended, j.Ended = true, m.loop.Now()
	m.loop.Cancel(j.stop)
	m.running--
}

// stop stops a job, with what is fetched only for it.
func (m *model) stop(i int32) {
	j := &m.jobs[i]
	m.loop.Cancel(j.timer)
	j.Stopped = true
	m.abandon(i)
	for slot := range m.open {
		if o := &m.open[slot]; o.served >= 0 && m.jobOf(o.read) == i {
			m.loop.Cancel(o.timer)
			m.closeSlot(int32(slot))
		}
	}
	// A job that is stopped before its first read has a duration of 0.
	j.Started = min(j.Started, m.loop.Now())
	m.endJob(i)
}

// Duration returns the time from the first read of a job to the end of its last.
func (j Job) Duration() time.Duration { return j.Ended - j.Started }
