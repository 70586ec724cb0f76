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
		if c.Params.Text("rule") == mimircache {
			return newMimirAMP(c.Params)
		}
		return &amp{
			step:  uint64(c.Params.Int("step")),
			read:  c.Params.Int("read"),
			apt:   c.Params.Int("apt"),
			max:   c.Params.Int("max"),
			pages: map[uint64]ampPage{},
		}
	},
}

// amp keeps the degree of each stream in its last page, as the paper does, so that any number of streams is followed.
// The paper's trigger distance g stays at apt/2: it would grow when a read waits for a page that is being loaded, and
// here none waits.
type amp struct {
	step     uint64
	read     int
	apt, max int
	pages    map[uint64]ampPage // of what is resident, by address
	set      ampSet             // the proposals that the cache is loading
}

// ampPage is the state of a resident page.
type ampPage struct {
	last     uint64 // address of the last page of the set that it was loaded with
	degree   int32  // p of the paper; set in the last page of a set, and in pages that missed
	accessed bool
	old      bool // it has been loaded again
	trigger  bool // its first hit proposes the set after its own: the tag of the paper
}

// ampSet is a run of pages that are loaded together.
type ampSet struct {
	last     uint64
	degree   int32
	trigger  uint64
	triggers bool
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
	first, trigger := !page.accessed, page.trigger
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
	previous, ok := before(key, m.step, 1)
	if _, resident := m.pages[previous]; !ok || !resident {
		m.pages[key] = page
		return proposals
	}
	n := m.degreeOf(previous)
	page.degree = int32(min(n+m.read, m.max))
	m.pages[key] = page
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
	for ; n > 0; n-- { // fewer at the end of the addresses
		if _, ok := after(key, m.step, n); ok {
			break
		}
	}
	if n == 0 {
		return proposals
	}
	first, _ := after(key, m.step, 1)
	last, _ := after(key, m.step, n)
	m.set = ampSet{last: last, degree: int32(max(m.degreeOf(key), m.read))}
	if int(m.set.degree) > m.apt {
		m.set.trigger, m.set.triggers = before(last, m.step, min(m.apt/2, n-1))
	}
	for i := range n {
		at := first + uint64(i)*m.step
		if page, resident := m.pages[at]; resident {
			m.pages[at] = m.set.joined(at, page)
			continue
		}
		proposals = append(proposals, Proposal{Key: at})
	}
	return proposals
}

func (s ampSet) joined(key uint64, page ampPage) ampPage {
	page.last = s.last
	page.trigger = s.triggers && key == s.trigger
	if key == s.last {
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
	last.degree = int32(max(1, min(int(last.degree)+by, m.max)))
	m.pages[key] = last
}

// lastOfStream returns the address of the last page of a stream: of a page's set, or of the next set if that has been
// loaded.
func (m *amp) lastOfStream(page ampPage) (uint64, bool) {
	last, ok := m.pages[page.last]
	if !ok {
		return 0, false
	}
	if behind, ok := after(page.last, m.step, 1); ok {
		if next, resident := m.pages[behind]; resident {
			if _, resident := m.pages[next.last]; resident && next.last > last.last {
				return next.last, true
			}
		}
	}
	return page.last, true
}

func (m *amp) Loaded(p Proposal) {
	if page, again := m.pages[p.Key]; again {
		page.old = true
		m.pages[p.Key] = page
		return
	}
	m.pages[p.Key] = m.set.joined(p.Key, ampPage{})
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
