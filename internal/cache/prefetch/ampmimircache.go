package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

// mimircache is the value of rule by which amp proposes as CMimircache does.
const mimircache = "mimircache"

// mimirAMP is AMP as CMimircache has it for requests of one page, and libCacheSim, which has its code. A set is
// proposed when the last page of the one before it is first used. A page that missed has no degree, so that a stream
// begins with degree 1 again after each miss.
type mimirAMP struct {
	step      uint64
	read, max int32
	pages     map[uint64]mimirPage // of what is resident, by address
	set       mimirSet             // the proposals that the cache is loading
}

// mimirPage is the state of a resident page.
type mimirPage struct {
	last    uint64 // address of the last page of the set that it was loaded with; of a page that missed: 0
	degree  int32  // of the stream, in the last page of a set; 0: none
	ahead   int32  // how far before the last page of the next set its trigger is: g of the paper
	old     bool   // it has been loaded again
	trigger bool   // its next hit proposes the set after its own
}

// mimirSet is a run of pages that are loaded together.
type mimirSet struct {
	last, trigger uint64
	degree, ahead int32
}

func newMimirAMP(v params.Values) *mimirAMP {
	return &mimirAMP{step: uint64(v.Int("step")), read: int32(v.Int("read")), max: int32(v.Int("max")),
		pages: map[uint64]mimirPage{}}
}

func (m *mimirAMP) Request(a Access, proposals []Proposal) []Proposal {
	if !a.Resident {
		return proposals
	}
	if page, known := m.pages[a.Key]; known && a.Hit {
		return m.hit(a.Key, page, proposals)
	}
	m.pages[a.Key] = mimirPage{}
	previous, ok := before(a.Key, m.step, 1)
	if page, resident := m.pages[previous]; ok && resident {
		return m.propose(a.Key, m.degreeOf(page), proposals)
	}
	return proposals
}

func (m *mimirAMP) hit(key uint64, page mimirPage, proposals []Proposal) []Proposal {
	n := m.degreeOf(m.pages[page.last])
	if key == page.last && !page.old {
		if last, ok := m.lastOfStream(page); ok && m.pages[last].degree+m.read < m.max {
			m.adapt(last, m.read)
		}
	}
	if !page.trigger {
		return proposals
	}
	page = m.pages[key] // adapt may have changed it
	page.trigger = false
	m.pages[key] = page
	return m.propose(page.last, n, proposals)
}

// degreeOf returns the degree in a page, or a new stream's if it has none.
func (m *mimirAMP) degreeOf(page mimirPage) int32 {
	if page.degree > 0 {
		return page.degree
	}
	return m.read
}

func (m *mimirAMP) adapt(key uint64, by int32) {
	page := m.pages[key]
	page.degree += by
	m.pages[key] = page
}

func (m *mimirAMP) propose(key uint64, n int32, proposals []Proposal) []Proposal {
	last, ok := after(key, m.step, int(n))
	if !ok {
		return proposals
	}
	m.set = mimirSet{last: last, trigger: last, degree: n, ahead: n / 2}
	if page, resident := m.pages[key]; resident {
		m.set.degree, m.set.ahead = page.degree, page.ahead
		if m.set.trigger, ok = before(last, m.step, int(page.ahead)); !ok {
			m.set.trigger = last
		}
	}
	for i := range int(n) {
		at, _ := after(key, m.step, i+1)
		if page, resident := m.pages[at]; resident {
			m.pages[at] = m.set.joined(at, page)
			continue
		}
		proposals = append(proposals, Proposal{Key: at})
	}
	return proposals
}

func (s mimirSet) joined(key uint64, page mimirPage) mimirPage {
	page.last, page.old = s.last, false
	page.trigger = page.trigger || key == s.trigger
	if key == s.last {
		page.degree, page.ahead = max(s.degree, page.ahead+1), s.ahead
	}
	return page
}

// lastOfStream returns the address of the last page of a stream: of a page's set, or of the next set if that has been
// loaded.
func (m *mimirAMP) lastOfStream(page mimirPage) (uint64, bool) {
	last, ok := m.pages[page.last]
	if !ok {
		return 0, false
	}
	if behind, ok := after(page.last, m.step, 1); ok {
		if _, resident := m.pages[behind]; resident {
			if next, ok := after(page.last, m.step, int(last.degree)); ok {
				if _, resident := m.pages[next]; resident {
					return next, true
				}
			}
		}
	}
	return page.last, true
}

func (m *mimirAMP) Loaded(p Proposal) {
	page, again := m.pages[p.Key]
	if again {
		page.old = true
		m.pages[p.Key] = page
		return
	}
	m.pages[p.Key] = m.set.joined(p.Key, page)
}

// Evicted implements Watcher. A page that was prefetched in vain shows that the degree of its stream is too high, and
// gets one more chance.
func (m *mimirAMP) Evicted(e Eviction) (again bool) {
	page := m.pages[e.Key]
	if e.Unused != 1 {
		delete(m.pages, e.Key)
		return false
	}
	page.trigger = false
	m.pages[e.Key] = page
	if key, ok := m.lastOfStream(page); ok {
		last := m.pages[key]
		last.degree = max(1, last.degree-1)
		last.ahead = max(0, min(last.degree-1, last.ahead-1))
		m.pages[key] = last
	}
	return true
}
