package servers

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

var postgresqlKind = Kind{
	Name:    "postgresql",
	Summary: "PostgreSQL's shared buffers: a clock sweeps over pages of 8 kB with counts of uses up to 5",
	Source: "storage/buffer/freelist.c, bufmgr.c of PostgreSQL 17, from the source alone; without the rings of scans, " +
		"and without the page cache of the system behind it",
	Memory: "shared_buffers", Unit: bytesOf, Look: policies.Look{Color: policies.Indigo, Mark: policies.Diamond},
	Params: []params.Param{{Name: "block_size", Default: 8192, Min: 512, Max: 1 << 16, Doc: "bytes of a page"}},
	New: func(c cache.Config) (program, error) {
		b, err := newBuffers(c, c.Params.Int("block_size"))
		return &postgresql{buffers: b, at: make([]uint32, c.Trace.NumObjects), uses: make([]uint8, b.most)}, err
	},
}

var innodbKind = Kind{
	Name:    "innodb",
	Summary: "InnoDB's buffer pool: pages of 16 kB enter in the middle of an LRU, and are young after a second",
	Source:  "buf/buf0lru.cc, buf0buf.ic of MySQL 8.4, from the source alone; without read-ahead",
	Memory:  "innodb_buffer_pool_size", Unit: bytesOf,
	Look: policies.Look{Color: policies.Pink, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "page_size", Default: 16384, Min: 4096, Max: 1 << 16, Doc: "innodb_page_size"},
		{Name: "old_blocks_pct", Default: 37, Min: 5, Max: 95, Doc: "innodb_old_blocks_pct: share of the old pages"},
		{Name: "old_blocks_time", Default: 1000, Min: 0, Max: 1 << 31, Doc: "innodb_old_blocks_time: milliseconds from the " +
			"first use of a page to the first one that makes it young"},
		rateParam,
	},
	CheckTrace: func(v params.Values, t *traces.Trace) error {
		if v.Int("old_blocks_time") == 0 {
			return nil
		}
		return checkClock("innodb", "innodb_old_blocks_time goes by a clock", v, t)
	},
	New: func(c cache.Config) (program, error) {
		v := c.Params
		b, err := newBuffers(c, v.Int("page_size"))
		n := c.Trace.NumObjects
		return &innodb{buffers: b, lists: dense.NewLists(n, 2), pages: make([]innodbPage, n),
			oldShare: float64(v.Int("old_blocks_pct")) / 100, wait: int64(v.Int("old_blocks_time")) * 1e6}, err
	},
}

// buffers are pages of one size, of which a request uses one, whatever its size.
type buffers struct {
	tally
	page, most    int64 // bytes of a page, and how many there are
	items, values int64
	sizes         []int64 // per object: of the value; -1: absent
	taken         int64
}

func newBuffers(c cache.Config, page int) (buffers, error) {
	b := buffers{page: int64(page), most: c.Capacity / int64(page),
		sizes: slices.Repeat([]int64{-1}, c.Trace.NumObjects)}
	if b.most == 0 {
		return b, fmt.Errorf("a memory of %d bytes has no page of %d", c.Capacity, page)
	}
	return b, nil
}

func (b *buffers) add(r *request) {
	b.sizes[r.object] = r.value
	b.items++
	b.values += r.value
	b.taken = max(b.taken, b.items*b.page)
}

func (b *buffers) drop(o policies.Object) {
	b.values -= b.sizes[o]
	b.items--
	b.sizes[o] = -1
}

func (b *buffers) has(o policies.Object, _ int64) bool { return b.sizes[o] >= 0 }
func (b *buffers) tick(int64)                          {}
func (b *buffers) remark() string                      { return "" }

func (b *buffers) state() state {
	return state{items: b.items, values: b.values, used: b.items * b.page, taken: b.taken, tally: b.tally}
}

// postgresql sweeps over its buffers: each pass lowers the count of uses of a page by one, and takes the first of 0.
type postgresql struct {
	buffers
	held []policies.Object // per buffer that was ever used
	uses []uint8           // per buffer
	at   []uint32          // per object: its buffer
	free []uint32
	hand int
}

// mostUses is the largest count: BM_MAX_USAGE_COUNT.
const mostUses = 5

func (s *postgresql) serve(r *request) bool {
	o := r.object
	there := s.has(o, 0)
	switch {
	case there:
		if at := s.at[o]; s.uses[at] < mostUses {
			s.uses[at]++
		}
	case r.present:
	default:
		at := s.buffer()
		s.held[at], s.uses[at], s.at[o] = o, 1, uint32(at)
		s.add(r)
	}
	return there
}

// buffer returns a buffer for a page: a free one, or that of a victim.
func (s *postgresql) buffer() int {
	if n := len(s.free); n > 0 {
		at := s.free[n-1]
		s.free = s.free[:n-1]
		return int(at)
	}
	if int64(len(s.held)) < s.most {
		s.held = append(s.held, policies.NoObject)
		return len(s.held) - 1
	}
	for {
		at := s.hand
		if s.hand++; s.hand == len(s.held) {
			s.hand = 0
		}
		if s.uses[at] == 0 {
			s.drop(s.held[at])
			s.evicted++
			return at
		}
		s.uses[at]--
	}
}

func (s *postgresql) remove(o policies.Object) bool {
	if !s.has(o, 0) {
		return false
	}
	s.drop(o)
	at := s.at[o]
	s.held[at], s.uses[at] = policies.NoObject, 0
	s.free = append(s.free, at)
	return true
}

// innodb is an LRU in two parts, young and old. The old part is kept at its share, within a tolerance.
type innodb struct {
	buffers
	lists    dense.Lists // young, old
	pages    []innodbPage
	count    [2]int64
	oldShare float64
	wait     int64 // nanoseconds from the first use until a use makes a page young
	freed    int64 // pages evicted so far
}

type innodbPage struct {
	first int64 // when it was first used
	freed int64 // pages that had been evicted when it was last moved to the front
	part  uint8
}

const (
	young        = 0
	old          = 1
	oldTolerance = 20 // BUF_LRU_OLD_TOLERANCE
	leastForOld  = 512
)

func (s *innodb) serve(r *request) bool {
	o := r.object
	there := s.has(o, 0)
	switch {
	case there:
		if s.tooOld(o, r.now) {
			s.unlink(o)
			s.link(o, young)
			s.balance()
		}
	case r.present:
	default:
		s.load(r)
	}
	return there
}

// tooOld reports whether a use moves a page to the front: of an old page if its first use is long ago, of a young one
// unless it is in the first quarter of the young.
func (s *innodb) tooOld(o policies.Object, now int64) bool {
	p := &s.pages[o]
	if p.part == old {
		return now-p.first >= s.wait
	}
	return s.freed-p.freed >= s.count[young]/4
}

func (s *innodb) load(r *request) {
	for s.items >= s.most {
		o, ok := s.lists.Back(old)
		if !ok {
			o, _ = s.lists.Back(young)
		}
		s.remove(o)
		s.evicted++
		s.freed++
	}
	s.add(r)
	s.pages[r.object] = innodbPage{first: r.now}
	part := old
	if s.items < leastForOld { // the list is not divided yet
		part = young
	}
	s.link(r.object, part)
	s.balance()
}

func (s *innodb) link(o policies.Object, part int) {
	p := &s.pages[o]
	p.part, p.freed = uint8(part), s.freed
	s.lists.PushFront(part, o)
	s.count[part]++
}

func (s *innodb) unlink(o policies.Object) {
	s.lists.Unlink(o)
	s.count[s.pages[o].part]--
}

// balance moves the border between young and old until the old part has its share again.
func (s *innodb) balance() {
	if s.items < leastForOld {
		return
	}
	target := int64(float64(s.items) * s.oldShare)
	for s.count[old] < target-oldTolerance {
		o := s.lists.PopBack(young)
		s.count[young]--
		s.pages[o].part = old
		s.lists.PushFront(old, o)
		s.count[old]++
	}
	for s.count[old] > target+oldTolerance {
		o, _ := s.lists.Front(old)
		s.unlink(o)
		s.pages[o].part = young
		s.pushBack(o)
	}
}

// pushBack puts a page at the end of the young.
func (s *innodb) pushBack(o policies.Object) {
	s.lists.PushBack(young, o)
	s.count[young]++
}

func (s *innodb) remove(o policies.Object) bool {
	if !s.has(o, 0) {
		return false
	}
	s.unlink(o)
	s.drop(o)
	return true
}
