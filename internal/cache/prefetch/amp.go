package prefetch

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
)

var ampEntry = Entry{
	Name: "amp",
	Summary: "as many of the addresses after the requested one as the stream has lately used up before they " +
		"were evicted",
	Source: "Gill and Bathen, AMP: Adaptive Multi-stream Prefetching in a Shared Cache, FAST 2007, section IV",
	Memory: "about 60 bytes per resident object",

	Addresses: true,
	Params: []params.Param{
		{Name: "step", Default: 1, Min: 1, Max: 1 << 40, Doc: "distance of two neighbours, in addresses"},
		{Name: "read", Default: 1, Min: 1, Max: 1024, Doc: "addresses that a request reads: the degree of a stream grows " +
			"by as many"},
		{Name: "apt", Default: 4, Min: 1, Max: 1024, Doc: "asynchronous prefetch threshold: above this degree the next " +
			"addresses are proposed apt/2 addresses before the last ones are used up, at or below it after a miss"},
		{Name: "max", Default: 256, Min: 1, Max: 1 << 16, Doc: "largest degree"},
		{Name: "rule", Default: "paper", Choices: []string{"paper", mimircache}, Doc: "when the next addresses are " +
			"proposed: as in the paper; or as in CMimircache and libCacheSim, whatever the degree, when the last ones are " +
			"first used, and a miss begins with the degree 1 again (apt is not used)"},
	},
	Check: func(v params.Values) error {
		if v.Int("read") > v.Int("max") {
			return fmt.Errorf("read=%d is above max=%d", v.Int("read"), v.Int("max"))
		}
		return nil
	},
	New: func(c Config) Prefetcher {
		return &amp{
			step:  uint64(c.Params.Int("step")),
			read:  c.Params.Int("read"),
			apt:   c.Params.Int("apt"),
			max:   c.Params.Int("max"),
			mimir: c.Params.Text("rule") == mimircache,
			pages: map[uint64]ampPage{},
		}
	},
}

// mimircache is the value of rule by which amp proposes as CMimircache does.
const mimircache = "mimircache"

// amp keeps the degree of each stream in its last page, as the paper does, so that any number of streams is followed.
// The paper's trigger distance g stays at apt/2: it would grow when a read waits for a page that is being loaded, and
// here none waits.
//
// With mimir it is AMP as CMimircache has it for requests of one page, and libCacheSim, which has its code. A set is
// proposed when the last page of the one before it is first used. A page that missed has no degree, so that a stream
// begins with degree 1 again after each miss.
type amp struct {
	step     uint64
	read     int
	apt, max int
	mimir    bool
	pages    map[uint64]ampPage // of what is resident, by address
	set      ampSet             // the proposals that the cache is loading
}

// ampPage is the state of a resident page.
type ampPage struct {
	last     uint64 // address of the last page of the set that it was loaded with; with mimir 0 if it missed
	degree   int32  // p of the paper; set in the last page of a set, and in pages that missed
	ahead    int32  // with mimir, how far before the last page of the next set its trigger is: g of the paper
	accessed bool
	old      bool // it has been loaded again
	trigger  bool // its next hit proposes the set after its own: the tag of the paper
}

// ampSet is a run of pages that are loaded together.
type ampSet struct {
	last          uint64
	degree, ahead int32
	trigger       uint64
	triggers      bool
}

func (m *amp) Request(a Access, proposals []Proposal) []Proposal {
	if !a.Resident {
		return proposals
	}
	if page, known := m.pages[a.Key]; known && a.Hit {
		return m.hit(a.Key, page, proposals)
	}
	return m.miss(a.Key, proposals)
}

func (m *amp) hit(key uint64, page ampPage, proposals []Proposal) []Proposal {
	first, trigger := !page.accessed || m.mimir, page.trigger
	page.accessed, page.trigger = true, false
	m.pages[key] = page
	n := m.degreeOf(page.last) // before this hit raises it
	if first && key == page.last && !page.old {
		m.adapt(page, m.read)
	}
	if !trigger {
		return proposals
	}
	return m.propose(page.last, n, proposals)
}

func (m *amp) miss(key uint64, proposals []Proposal) []Proposal {
	page := ampPage{last: key, degree: int32(m.read), accessed: true}
	if m.mimir {
		page = ampPage{}
	}
	m.pages[key] = page
	previous, ok := before(key, m.step, 1)
	if _, resident := m.pages[previous]; !ok || !resident {
		return proposals
	}
	n := m.degreeOf(previous)
	if !m.mimir {
		page.degree = int32(min(n+m.read, m.max))
		m.pages[key] = page
	}
	return m.propose(key, n, proposals)
}

// degreeOf returns the degree of a page, or a new stream's if the page has none.
func (m *amp) degreeOf(key uint64) int {
	if page, ok := m.pages[key]; ok && page.degree > 0 {
		return int(page.degree)
	}
	return m.read
}

func (m *amp) propose(key uint64, n int, proposals []Proposal) []Proposal {
	if m.mimir {
		n = m.planAsMimir(key, n)
	} else {
		n = m.plan(key, n)
	}
	for i := range n {
		at, _ := after(key, m.step, i+1)
		if page, resident := m.pages[at]; resident {
			m.pages[at] = m.joined(at, page)
			continue
		}
		proposals = append(proposals, Proposal{Key: at})
	}
	return proposals
}

// plan sets the set of n pages after one, and returns how many they are: fewer at the end of the addresses.
func (m *amp) plan(key uint64, n int) int {
	last, ok := after(key, m.step, n)
	for ; n > 0 && !ok; last, ok = after(key, m.step, n) {
		n--
	}
	if n == 0 {
		return 0
	}
	m.set = ampSet{last: last, degree: int32(max(m.degreeOf(key), m.read))}
	if int(m.set.degree) > m.apt {
		m.set.trigger, m.set.triggers = before(last, m.step, min(m.apt/2, n-1))
	}
	return n
}

// planAsMimir is plan with mimir: there are none at the end of the addresses.
func (m *amp) planAsMimir(key uint64, n int) int {
	last, ok := after(key, m.step, n)
	if !ok {
		return 0
	}
	m.set = ampSet{last: last, trigger: last, triggers: true, degree: int32(n), ahead: int32(n / 2)}
	if page, resident := m.pages[key]; resident {
		m.set.degree, m.set.ahead = page.degree, page.ahead
		if trigger, ok := before(last, m.step, int(page.ahead)); ok {
			m.set.trigger = trigger
		}
	}
	return n
}

// joined returns a page that belongs to the set now.
func (m *amp) joined(key uint64, page ampPage) ampPage {
	s := &m.set
	page.last = s.last
	triggers := s.triggers && key == s.trigger
	page.trigger = triggers || m.mimir && page.trigger
	page.old = page.old && !m.mimir
	switch {
	case key != s.last:
	case m.mimir:
		page.degree, page.ahead = max(s.degree, page.ahead+1), s.ahead
	default:
		page.degree = s.degree
	}
	return page
}

// adapt changes the degree of the stream of a page, within its limits.
func (m *amp) adapt(page ampPage, by int) {
	key, ok := m.lastOfStream(page)
	if !ok {
		return
	}
	last := m.pages[key]
	degree := max(1, min(int(last.degree)+by, m.max))
	switch {
	case m.mimir && by > 0 && int(last.degree)+by >= m.max:
		return
	case m.mimir && by < 0:
		degree = max(1, int(last.degree)+by)
		last.ahead = max(0, min(int32(degree)-1, last.ahead-1))
	}
	last.degree = int32(degree)
	m.pages[key] = last
}

// lastOfStream returns the address of the last page of a page's set, or of the next set if that has been loaded.
func (m *amp) lastOfStream(page ampPage) (uint64, bool) {
	last, ok := m.pages[page.last]
	if !ok {
		return 0, false
	}
	behind, ok := after(page.last, m.step, 1)
	next, resident := m.pages[behind]
	if !ok || !resident {
		return page.last, true
	}
	end, further := next.last, next.last > last.last
	if m.mimir {
		end, further = after(page.last, m.step, int(last.degree))
	}
	if _, resident := m.pages[end]; resident && further {
		return end, true
	}
	return page.last, true
}

func (m *amp) Loaded(p Proposal) {
	if page, again := m.pages[p.Key]; again {
		page.old = true
		m.pages[p.Key] = page
		return
	}
	m.pages[p.Key] = m.joined(p.Key, ampPage{})
}

// Evicted implements Watcher. A page that was prefetched in vain shows that the degree of its stream is too high, and
// gets one more chance.
func (m *amp) Evicted(e Eviction) (again bool) {
	page := m.pages[e.Key]
	if e.Unused != 1 {
		delete(m.pages, e.Key)
		return false
	}
	page.trigger = false
	m.pages[e.Key] = page
	m.adapt(page, -1)
	return true
}
