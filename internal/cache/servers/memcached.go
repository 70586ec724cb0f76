package servers

import (
	"errors"
	"fmt"
	"sort"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

var memcachedKind = Kind{
	Name:    "memcached",
	Summary: "memcached: classes of slabs that own pages of 1 MB, each with a segmented LRU; lives of whole seconds",
	Source: "items.c, slabs.c, slab_automove.c, storage.c, extstore.c of memcached 1.6.18; held against it, and against " +
		"1.6.45 in two rows without extstore",
	Memory: "m", Unit: megabytes, Inside: true, Look: policies.Look{Color: policies.Green, Mark: policies.Diamond},
	Params: append([]params.Param{
		{Name: "f", Default: 1.25, Min: 1.01, Max: 16, Doc: "-f: how much larger the items of the next class are"},
		{Name: "n", Default: 48, Min: 1, Max: 1 << 16, Doc: "-n: bytes for key and value in the smallest class"},
		{Name: "I", Default: "1m", Doc: "-I: largest item, such as 1m or 512k"},
		{Name: "C", Default: false, Doc: "-C: items without the 8 bytes of CAS"},
		{Name: "no_modern", Default: false, Doc: "-o no_modern: one LRU per class, which a hit changes once a minute"},
		{Name: "automove", Default: true, Doc: "-o slab_automove: pages move between classes"},
		rateParam,
	}, extParams...),
	Check: func(v params.Values) error {
		if _, err := itemLimit(v); err != nil {
			return err
		}
		if err := checkFileGiven(v); err != nil {
			return err
		}
		_, err := extPages(v)
		return err
	},
	CheckTrace: func(v params.Values, t *traces.Trace) error {
		switch {
		case v.Text(extPath) != "":
			return checkClock("memcached", "the threads of extstore need a clock", v, t)
		case t.Ends == nil:
			return nil
		}
		return checkClock("memcached", "times to live need a clock", v, t)
	},
	CheckMemory: checkHalf,
	CheckInside: checkSegments,
	New:         newMemcached,
	Tiers:       extTiers, Below: extMetrics,
}

// itemLimit reads -I, and refuses what memcached does not start with, in its words.
func itemLimit(v params.Values) (int64, error) {
	limit, err := bytesOf(v.Text("I"))
	why := ""
	switch {
	case err != nil:
		why = "want a size such as 1m"
	case limit < 1<<10:
		why = "Item max size cannot be less than 1024 bytes"
	case limit > 1<<30:
		why = "Cannot set item size limit higher than a gigabyte"
	case limit < largestSlab:
		why = fmt.Sprintf("slab_chunk_max (bytes: %d) cannot be larger than -I", largestSlab)
	case limit%largestSlab != 0:
		why = fmt.Sprintf("-I must be evenly divisible by slab_chunk_max (bytes: %d)", largestSlab)
	}
	if why != "" {
		return 0, fmt.Errorf("%s=%s: %s", "I", v.Text("I"), why)
	}
	return limit, nil
}

// checkSegments refuses a policy in the place of segments that the settings need.
func checkSegments(v params.Values) error {
	switch {
	case v.Bool("no_modern"):
		return errors.New("no_modern and a policy of --policy: both choose what a class evicts; remove one of them")
	case v.Text(extPath) != "":
		return errors.New("ext_path and a policy of --policy: extstore takes what leaves COLD; remove one of them")
	}
	return nil
}

// checkHalf refuses a memory that is written down and too small for the items that -I allows.
func checkHalf(v params.Values, bytes int64) error {
	if limit, err := itemLimit(v); err != nil || bytes >= 2*limit {
		return err
	}
	return fmt.Errorf("cannot set item size limit (I=%s) higher than 1/2 of memory max", v.Text("I"))
}

// Constants of memcached.
const (
	slabPage    = 1 << 20
	largestSlab = slabPage / 2 // larger items are chains of chunks of this size
	itemHeader  = 48
	casBytes    = 8
	hotPercent  = 20 // of a class's bytes in HOT, and in WARM, at most
	warmPercent = 40
	mostClasses = 63
	moveWindow  = 30 // seconds over which automove looks
	bumpSeconds = 60 // of no_modern
)

// The segments of a class. COLD is evicted from.
const (
	hot = iota
	warm
	cold
	segments
)

// memcached has its items in classes by their sizes. A class owns pages for good, and evicts among its own items.
type memcached struct {
	tally
	sizes   []int64 // of the items of each class; the last is a chunk of a larger item
	classes []slabClass
	limit   int64
	pages   int64 // all
	largest int64 // item
	header  int64 // bytes of an item beside key and value
	modern  bool
	inside  *classPolicies // nil: segments
	move    bool
	disk    *extstore // nil: none
	pool    int64     // pages that no class has: with a disk, all are taken at the start

	lists  dense.Lists // class*segments + segment
	info   []mcItem    // per object
	items  int64
	values int64
	second int64 // by the server's clock; automove looks once in each
	looks  int   // of automove
	served int64 // requests
}

type slabClass struct {
	pages, free int64           // pages, and chunks that are free
	bytes       [segments]int64 // of items
	evicted     int64
	before      int64 // evicted before the last second
	outOfMemory int64
	history     [moveWindow]slabSecond
	held        extClass // with a disk
}

// slabSecond is what automove saw of a class in a second.
type slabSecond struct {
	age     int64
	evicted bool
	share   float64 // of all evictions
}

type mcItem struct {
	bytes, value uint32 // at most 1 GB: see itemLimit
	used, end    uint32 // whole seconds; end 0: never
	class        uint16 // 1 + the class; 0: absent
	segment      uint8
	fetched      bool
	active       bool
	before       bool // of a header: what fetched was when its value went to the file, and will be if it comes back
}

// maintainEvery is how many requests come between two runs of the maintainer, which goes on in the background: 5 and
// 500 differ by 0.01 points.
const maintainEvery = 5

func newMemcached(c cache.Config) (program, error) {
	v := c.Params
	largest, err := itemLimit(v)
	if err != nil {
		return nil, err
	}
	s := &memcached{limit: c.Capacity, largest: largest, header: itemHeader + casBytes + 1 + 2,
		modern: !v.Bool("no_modern"), move: v.Bool("automove"), info: make([]mcItem, c.Trace.NumObjects)}
	if v.Bool("C") {
		s.header -= casBytes
	}
	factor := v.Float("f")
	for size := int64(itemHeader + v.Int("n")); len(s.sizes) < mostClasses-1; size = int64(float64(size) * factor) {
		if float64(size) >= float64(largestSlab)/factor {
			break
		}
		size = roundUp(size, 8)
		s.sizes = append(s.sizes, size)
	}
	s.sizes = append(s.sizes, largestSlab)
	s.classes = make([]slabClass, len(s.sizes))
	s.lists = dense.NewLists(c.Trace.NumObjects, segments*len(s.sizes))
	if c.Policy.Entry.Name != own {
		s.inside, err = newClassPolicies(c, len(s.sizes))
	}
	if err == nil {
		err = s.addDisk(v)
	}
	return s, err
}

// addDisk gives it a file, if it has one. All pages of memory that fit are then taken at the start: memcached reads
// whole MB of -m.
func (s *memcached) addDisk(v params.Values) (err error) {
	smallest := func(bytes int64) int { class, _, _ := s.classOf(bytes); return class }
	if s.disk, err = newExtstore(v, len(s.info), len(s.classes), smallest); s.disk != nil {
		s.pool = s.limit / slabPage
		s.pages = s.pool * slabPage
	}
	return err
}

// chunksOf returns how many chunks an item takes.
func chunksOf(bytes int64) int64 {
	if bytes > largestSlab {
		return (bytes + largestSlab - 1) / largestSlab
	}
	return 1
}

// classOf returns the class of an item and how many chunks it takes; ok is false if it is too large.
func (s *memcached) classOf(bytes int64) (class int, chunks int64, ok bool) {
	if bytes > s.largest {
		return 0, 0, false
	}
	class = sort.Search(len(s.sizes), func(i int) bool { return s.sizes[i] >= bytes })
	if class < len(s.sizes) {
		return class, 1, true
	}
	return len(s.sizes) - 1, chunksOf(bytes), true
}

func (s *memcached) tick(now int64) {
	if at := now / second; at > s.second {
		s.second = at
		switch {
		case s.disk != nil:
			s.background(uint32(at))
		case s.move:
			s.automove(uint32(at))
		}
	}
	if s.disk != nil {
		s.flushAll(now)
		s.compact(now)
	}
}

func (s *memcached) serve(r *request) bool {
	o, now := r.object, uint32(s.second)
	i := &s.info[o]
	there := i.class > 0 && (i.end == 0 || i.end > now)
	s.served++
	if i.class > 0 && !there {
		s.expired++
		s.remove(o)
	}
	switch {
	case there && r.present && r.write:
		i.end = s.endOf(r)
	case there && !r.write && s.inside != nil:
		s.relink(o, cold)
		i.used = now
		s.inside.hit(r, int(i.class)-1)
	case there && !r.write && s.disk.holds(o):
		if there = s.fetch(r, now); !there && !r.present {
			s.remove(o)
			s.store(r, now)
		}
	case there && !r.write:
		s.bump(o, now)
	case !there && r.present:
	default:
		s.remove(o)
		s.store(r, now)
	}
	if s.disk != nil {
		s.disk.count(r.now, there)
	}
	return there
}

// endOf returns the whole second at which an item is dead: times to live are whole seconds from one that has begun.
func (s *memcached) endOf(r *request) uint32 {
	if r.end == 0 {
		return 0
	}
	return uint32(s.second + max(1, (r.end-r.now+second/2)/second))
}

// bump notes a hit.
func (s *memcached) bump(o policies.Object, now uint32) {
	i := &s.info[o]
	class := int(i.class) - 1
	switch {
	case !s.modern:
		if now-i.used >= bumpSeconds {
			s.relink(o, cold)
			i.used = now
		}
		return
	case i.active:
	case !i.fetched:
		i.fetched = true
	case i.segment == cold:
		i.used = now
		s.relink(o, warm)
	default:
		i.active = true
		i.used = now
	}
	s.maintain(class, now)
}

func (s *memcached) store(r *request, now uint32) {
	bytes := s.header + r.key() + r.value
	class, chunks, ok := s.classOf(bytes)
	if !ok {
		s.oversized++
		return
	}
	for n := range chunks {
		if !s.allocate(class, now) {
			s.classes[class].free += n
			s.classes[class].outOfMemory++
			s.refused++
			return
		}
	}
	s.info[r.object] = mcItem{bytes: uint32(bytes), value: uint32(r.value), used: now, end: s.endOf(r),
		class: uint16(class + 1)}
	s.items++
	s.values += r.value
	switch {
	case s.inside != nil:
		s.link(r.object, cold) // in the order of use, which automove looks at
		s.inside.insert(r, class)
		return
	case !s.modern:
		s.link(r.object, cold)
		return
	}
	s.link(r.object, hot)
	s.maintain(class, now)
}

// allocate takes a chunk of a class. A class always gets its first page.
func (s *memcached) allocate(class int, now uint32) bool {
	c := &s.classes[class]
	for range 10 {
		if c.free > 0 {
			c.free--
			return true
		}
		if s.newPage(c.pages == 0) {
			c.pages++
			c.free += slabPage/s.sizes[class] - 1
			s.resize(class)
			return true
		}
		if s.inside != nil {
			if s.lists.Empty(class*segments + cold) {
				return false
			}
			s.free(s.inside.victim(class, int64(now)*second))
			c.evicted++
			s.evicted++
			continue
		}
		if !s.pull(class, cold, 0, 0, now, true) && !s.pull(class, hot, 0, 0, now, false) {
			return false
		}
	}
	return false
}

// newPage takes a page from the pool, or one that is not in use yet.
func (s *memcached) newPage(first bool) bool {
	switch {
	case s.pool > 0:
		s.pool--
	case s.pages+slabPage <= s.limit || first:
		s.pages += slabPage
	default:
		return false
	}
	return true
}

func (s *memcached) link(o policies.Object, segment int) {
	i := &s.info[o]
	class := int(i.class) - 1
	i.segment = uint8(segment)
	s.classes[class].bytes[segment] += int64(i.bytes)
	s.lists.PushFront(class*segments+segment, o)
}

func (s *memcached) unlink(o policies.Object) {
	i := &s.info[o]
	s.classes[i.class-1].bytes[i.segment] -= int64(i.bytes)
	s.lists.Unlink(o)
}

func (s *memcached) relink(o policies.Object, segment int) {
	s.unlink(o)
	s.link(o, segment)
}

// resize tells a policy inside how many items fit into a class.
func (s *memcached) resize(class int) {
	if s.inside != nil {
		s.inside.resized(class, s.classes[class].pages*(slabPage/s.sizes[class]))
	}
}

func (s *memcached) remove(o policies.Object) bool {
	i := &s.info[o]
	if i.class == 0 {
		return false
	}
	if s.inside != nil {
		s.inside.removed(o, int(i.class)-1)
	}
	s.free(o)
	return true
}

// free takes away an item that a policy inside has forgotten.
func (s *memcached) free(o policies.Object) {
	i := &s.info[o]
	s.unlink(o)
	s.classes[i.class-1].free += chunksOf(int64(i.bytes))
	s.items--
	if s.disk.holds(o) {
		s.disk.delete(o, s.ntotal(o))
	} else {
		s.values -= int64(i.value)
	}
	*i = mcItem{}
}

// pull looks at the tail of a segment, as lru_pull_tail does. It reports whether it moved or removed something. An item
// is dead here a second later than for a get: items.c compares exptime with < and not with <=. total is the bytes of
// the class, age the longest that an item may stay in HOT or WARM, in seconds.
func (s *memcached) pull(class, segment int, total, age int64, now uint32, evict bool) (done bool) {
	c := &s.classes[class]
	for range 5 {
		o, ok := s.lists.Back(class*segments + segment)
		if !ok {
			return done
		}
		i := &s.info[o]
		switch {
		case i.end != 0 && i.end < now:
			s.expired++
			s.remove(o)
			done = true
			continue
		case segment == cold && evict:
			s.remove(o)
			c.evicted++
			s.evicted++
			return true
		case i.active && s.modern:
			i.active = false
			s.relink(o, warm)
			if done = true; segment != warm {
				return true
			}
			continue
		case segment == cold:
			return done
		case c.bytes[segment] > total*share(segment)/100 || int64(now-i.used) > age:
			s.relink(o, cold)
			return true
		}
		return done
	}
	return done
}

func share(segment int) int64 {
	if segment == hot {
		return hotPercent
	}
	return warmPercent
}

// coldAge returns how long ago the oldest item of a class was used.
func (s *memcached) coldAge(class int, now uint32) int64 {
	if o, ok := s.lists.Back(class*segments + cold); ok {
		return int64(now - s.info[o].used)
	}
	return 0
}

func (s *memcached) maintain(class int, now uint32) {
	if s.served%maintainEvery == 0 {
		s.juggle(class, now)
	}
}

// juggle is what the maintainer does for a class. It runs in the background, within a second.
func (s *memcached) juggle(class int, now uint32) {
	c := &s.classes[class]
	total := c.bytes[hot] + c.bytes[warm] + c.bytes[cold]
	age := s.coldAge(class, now)
	for range 500 {
		moved := s.pull(class, hot, total, age/5, now, false) || s.pull(class, warm, total, 2*age, now, false)
		if !s.pull(class, cold, 0, 0, now, false) && !moved {
			return
		}
	}
}

// automove looks once a second whether a page is better in another class.
func (s *memcached) automove(now uint32) {
	var all int64
	for i := range s.classes {
		all += s.classes[i].evicted - s.classes[i].before
	}
	source, target := -1, -1
	var oldest, youngest int64 = 0, never
	needs := false
	for i := range s.classes {
		c := &s.classes[i]
		evicted := c.evicted - c.before
		c.before = c.evicted
		at := slabSecond{age: s.coldAge(i, now), evicted: evicted > 0}
		if all > 0 {
			at.share = float64(evicted) / float64(all)
		}
		c.history[s.looks%moveWindow] = at
		age, seconds, part := c.recently()
		if age > oldest && c.pages > 2 {
			source, oldest = i, age
		}
		if age < youngest && (seconds > moveWindow/2 || part > 0.25) {
			target, youngest, needs = i, age, at.evicted
		}
	}
	s.looks++
	if source >= 0 && target >= 0 && s.looks >= moveWindow && needs &&
		float64(youngest) < float64(oldest)*0.8 {
		s.movePage(source, target)
	}
}

// recently returns the mean age, the seconds with evictions, and the mean share of evictions over the window.
func (c *slabClass) recently() (age int64, seconds int, part float64) {
	for _, h := range c.history {
		age += h.age
		part += h.share
		if h.evicted {
			seconds++
		}
	}
	return age / moveWindow, seconds, part / moveWindow
}

// movePage moves a page to a class.
func (s *memcached) movePage(source, target int) {
	s.freePage(source)
	s.classes[target].pages++
	s.classes[target].free += slabPage / s.sizes[target]
	s.resize(target)
}

// freePage takes a page from a class. Its items go, hot or not: as if they were drawn at random.
func (s *memcached) freePage(source int) {
	from := &s.classes[source]
	perPage := slabPage / s.sizes[source]
	var all []policies.Object
	for segment := range segments {
		for o, ok := s.lists.Front(source*segments + segment); ok; o, ok = s.lists.After(o) {
			all = append(all, o)
		}
	}
	draws := random.NewDraws(uint64(s.second))
	for n := perPage - from.free; n > 0 && len(all) > 0; n-- {
		at := draws.Below(uint64(len(all)))
		s.remove(all[at])
		s.evicted++
		all[at] = all[len(all)-1]
		all = all[:len(all)-1]
	}
	from.free -= perPage
	from.pages--
	s.resize(source)
}

func (s *memcached) has(o policies.Object, now int64) bool {
	i := &s.info[o]
	return i.class > 0 && (i.end == 0 || int64(i.end) > now/second) && (!s.disk.holds(o) || s.disk.valid(o))
}

func (s *memcached) state() state {
	return state{items: s.items, values: s.values, used: s.pages, taken: s.pages, tally: s.tally}
}

func (s *memcached) remark() string {
	if s.pages <= s.limit {
		return ""
	}
	used := 0
	for i := range s.classes {
		if s.classes[i].pages > 0 {
			used++
		}
	}
	return fmt.Sprintf("-m %d takes %d MB: each of the %d classes in use gets a page of 1 MB, whatever the limit",
		s.limit/slabPage, s.pages/slabPage, used)
}
