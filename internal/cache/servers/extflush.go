package servers

import "github.com/cachesim/cachesim/internal/policies"

// ntotal returns the bytes of an item with its value, wherever that is.
func (s *memcached) ntotal(o policies.Object) int64 {
	i := &s.info[o]
	if s.disk.holds(o) {
		return int64(i.bytes) - extHeader + int64(i.value) + 2
	}
	return int64(i.bytes)
}

// The storage thread looks at all classes every half of a millisecond, and more rarely the longer it finds nothing: it
// sleeps a microsecond longer each time, and passes over a class as often as it found nothing there.
const (
	flushSleep  = 500 * microsecond
	flushSlack  = 60 * microsecond // that a sleep takes longer
	mostFlushes = 20               // looks between two requests; after them, it has had the time for all classes
)

// flushAll is what the storage thread does up to a time.
func (s *memcached) flushAll(now int64) {
	d := s.disk
	if d.sleep == 0 {
		d.sleep, d.flushAt = flushSleep, now
	}
	for n := 0; d.flushAt <= now; n++ {
		if n == mostFlushes {
			for class := d.least; class < len(s.classes); class++ {
				s.flush(class, uint32(now/second))
			}
			d.flushAt = now
		}
		d.turn++
		d.sleep = min(d.sleep, d.mostSleep)
		for class := d.least; class < len(s.classes); class++ {
			if back := &d.backoff[class]; *back > 0 && d.turn%*back != 0 {
				if d.sleep > 10*flushSleep {
					*back /= 2
				}
			} else if s.flush(class, uint32(d.flushAt/second)) {
				*back = min(*back, 1)
			} else {
				*back++
			}
		}
		d.flushAt += d.sleep + flushSlack
		d.sleep += microsecond
	}
}

// flush writes values from the tail of a class's COLD to the file: until so many chunks are free, if the pool of pages
// has little left, and all that were not used for ext_item_age. It reports whether there were any.
func (s *memcached) flush(class int, now uint32) (any bool) {
	d, c := s.disk, &s.classes[class]
	if c.pages == 0 {
		return false
	}
	target := extFreePages * max(1, slabPage/s.sizes[class])
	s.juggle(class, now)
	headers := -1
	for ; ; any = true {
		age := d.age
		if c.free < target && s.pool <= d.watermark {
			age = 0
		}
		o, ok := s.coldest(class, now)
		if !ok || d.holds(o) || age > 0 && int64(now-s.info[o].used) <= age {
			break
		}
		if headers = s.writeOut(o, now); headers < 0 {
			break
		}
		if d.sleep > flushSleep {
			d.sleep /= 2
		}
	}
	if headers >= 0 {
		s.juggle(headers, now)
	}
	return any
}

// coldest returns the last item of COLD that is alive.
func (s *memcached) coldest(class int, now uint32) (o policies.Object, ok bool) {
	for range 5 {
		o, ok = s.lists.Back(class*segments + cold)
		if !ok || s.info[o].end == 0 || s.info[o].end >= now {
			return o, ok
		}
		s.expired++
		s.remove(o)
	}
	return o, false
}

// writeOut writes a value to the file and puts its header into HOT. It returns the header's class; below 0: there was
// no memory for it, or no page.
func (s *memcached) writeOut(o policies.Object, now uint32) int {
	was := s.info[o]
	header := int64(was.bytes) - int64(was.value) - 2 + extHeader
	class, _, _ := s.classOf(header)
	s.unlink(o) // so that it does not make room for its own header
	if !s.allocate(class, now) {
		s.relinkLast(o)
		return -1
	}
	bucket := extDefault
	if int64(was.bytes) > largestSlab {
		bucket = extChunked
	}
	if was.end != 0 && int64(was.end-now) < s.disk.low {
		bucket = extLow
	}
	if !s.disk.write(o, int64(was.bytes), bucket, s.disk.flushAt) {
		s.classes[class].free++
		s.relinkLast(o)
		return -1
	}
	s.classes[was.class-1].free += chunksOf(int64(was.bytes))
	s.values -= int64(was.value)
	s.info[o] = mcItem{bytes: uint32(header), value: was.value, used: now, end: was.end, class: uint16(class + 1),
		before: was.fetched}
	s.link(o, hot)
	return class
}

// relinkLast puts an item back where it was, at the tail of COLD.
func (s *memcached) relinkLast(o policies.Object) {
	i := &s.info[o]
	class := int(i.class) - 1
	s.classes[class].bytes[cold] += int64(i.bytes)
	s.lists.PushBack(class*segments+cold, o)
}

// fetch reads a value from the file. It reports whether it was there, and memory for it: a class without a free chunk
// evicts for a read.
func (s *memcached) fetch(r *request, now uint32) bool {
	d, o := s.disk, r.object
	bytes := s.ntotal(o)
	i := &s.info[o]
	recent := i.fetched && now-i.used < bumpSeconds
	s.bump(o, now)
	class, chunks, _ := s.classOf(bytes)
	got := int64(0)
	for got < chunks && s.allocate(class, now) {
		got++
	}
	s.classes[class].free += got
	switch {
	case got < chunks:
		s.refused++
		return false
	case !d.holds(o): // its header made room for it
		return false
	case !d.valid(o):
		s.remove(o)
		return false
	}
	d.fromFile++
	d.readBytes += bytes
	if recent && d.recache > 0 {
		if d.read%d.recache == 0 {
			s.bringBack(o, class, chunks, bytes, now)
		}
		d.read++
	}
	return true
}

// bringBack puts a value that was read back into memory, in the place of its header.
func (s *memcached) bringBack(o policies.Object, class int, chunks, bytes int64, now uint32) {
	was := s.info[o]
	s.free(o)
	s.classes[class].free -= chunks
	s.info[o] = mcItem{bytes: uint32(bytes), value: was.value, used: now, end: was.end, class: uint16(class + 1),
		fetched: was.before}
	s.items++
	s.values += int64(was.value)
	s.link(o, hot)
}

// extClass is what automove saw of a class in the seconds before, with a disk.
type extClass struct {
	pages, evicted, outOfMemory int64
	ages                        [moveWindow]int64
	dirty                       [moveWindow]bool
	excess                      [moveWindow]bool // of free chunks
}

func (s *memcached) beginCounting() {
	if s.disk != nil {
		s.disk.beginCounting()
	}
}

func (s *memcached) counters() []policies.Counter {
	if s.disk == nil {
		return nil
	}
	return s.disk.counters(s.items - s.disk.residents())
}

// mostLooks is how often automove looks in a second that moves nothing: its window is then full of what is now.
const mostLooks = 2 * moveWindow

// keepPool is automove with a disk (slab_automove_extstore.c): it keeps some pages free for all, by those of classes
// with many free chunks and of the class of large values whose COLD is the oldest. While it takes pages, it looks every
// millisecond and not every second.
func (s *memcached) keepPool(now uint32) {
	for looks := 0; looks < mostLooks; looks++ {
		source := s.poolSource(now)
		if source < 0 {
			return
		}
		if s.classes[source].pages >= 2 {
			s.freePage(source)
			s.pool++
			looks = 0
		}
	}
}

// poolSource returns the class that gives a page to the pool; below 0: none does.
func (s *memcached) poolSource(now uint32) (source int) {
	d := s.disk
	low := s.pool < d.watermark
	d.looks++
	d.watermark = max(2, int64(float64(s.pages/slabPage)*d.freeRatio))
	at := d.looks % moveWindow
	source = -1
	oldest, oldestAge, free := -1, int64(0), false
	for n := range s.classes {
		c := &s.classes[n]
		perPage := slabPage / s.sizes[n]
		small := s.sizes[n] < d.itemBytes
		evicted := c.evicted > c.held.evicted || c.outOfMemory > c.held.outOfMemory
		c.held.dirty[at] = evicted || c.pages != c.held.pages
		c.held.excess[at] = c.free > 2*(perPage*3/2)
		c.held.ages[at] = s.coldAge(n, now)
		c.held.evicted, c.held.outOfMemory, c.held.pages = c.evicted, c.outOfMemory, c.pages
		age, dirty, excess := c.held.sums()
		if 2*c.free > 5*perPage && dirty == 0 && (small || excess == moveWindow) {
			source, free = n, true
		}
		if !small && age > oldestAge && c.pages > 2 {
			oldest, oldestAge = n, age
		}
	}
	if d.looks >= moveWindow && !free && low {
		source = oldest
	}
	return source
}

// sums returns the mean age, and how many seconds of the window were dirty or had an excess of free chunks.
func (h *extClass) sums() (age int64, dirty, excess int) {
	for i := range moveWindow {
		age += h.ages[i]
		if h.dirty[i] {
			dirty++
		}
		if h.excess[i] {
			excess++
		}
	}
	return age / moveWindow, dirty, excess
}

// background does what happens once a second.
func (s *memcached) background(now uint32) {
	if s.move {
		s.keepPool(now)
	}
	for class := range s.classes {
		if s.classes[class].pages > 0 {
			s.juggle(class, now)
		}
	}
	if d := s.disk; int64(now) >= d.crawl {
		if d.crawl > 0 {
			s.crawl()
		}
		d.pause += 60
		d.crawl = int64(now) + d.pause + 5
	}
}

// crawl removes headers whose values are gone.
func (s *memcached) crawl() {
	for o := range s.disk.at {
		if o := policies.Object(o); s.disk.holds(o) && !s.disk.valid(o) {
			s.remove(o)
		}
	}
}

// compact is what the compactor does up to a time: about once a second it looks for the oldest page with too many gaps,
// and then writes what is left of it into another, a wbuf every 20 ms.
func (s *memcached) compact(now int64) {
	d := s.disk
	if d.wake < 0 {
		d.wake = now + d.mostSleep
	}
	for idle := false; d.wake <= now; {
		if d.compacted.version != 0 || d.choose() {
			s.compactStep(uint32(d.wake / second))
			d.look()
			d.wake += 2 * extStep
			continue
		}
		free, sleep := d.free, d.mostSleep+extStep
		d.look()
		if idle { // nothing changes before the next request
			sleep *= max(1, (now-d.wake)/sleep)
		}
		d.wake += sleep
		idle = d.free == free
	}
}

// choose looks for a page to write anew.
func (d *extstore) choose() bool {
	if d.free > d.compactUnder {
		return false
	}
	limit := float64(d.pageBytes) * (float64((1 - float64(d.free)/float64(len(d.pages)))) * d.frag)
	oldest, gaps := -1, -1
	for p := range d.pages {
		page := &d.pages[p]
		if page.seen == 0 || page.bucket == extLow {
			continue
		}
		if oldest < 0 || page.seen < d.pages[oldest].seen {
			oldest = p
		}
		if float64(page.seenUsed) < limit && (gaps < 0 || page.seen < d.pages[gaps].seen) {
			gaps = p
		}
	}
	drops := false
	if gaps < 0 && oldest >= 0 && d.dropUnread && d.free <= d.drop {
		gaps, drops = oldest, true
	}
	if gaps < 0 {
		return false
	}
	d.compacted, d.next, d.drops = extPlace{uint16(gaps), d.pages[gaps].seen}, 0, drops
	return true
}

// rescue writes a value into another page. While a wbuf is written, it tries again every millisecond, ten times.
func (d *extstore) rescue(o policies.Object, bytes int64) {
	for try := range int64(10) {
		if d.write(o, bytes, extCompact, d.wake+try*1000*microsecond) {
			return
		}
	}
}

// compactStep writes what is left of the next wbuf of a page into another, and closes the page after the last.
func (s *memcached) compactStep(now uint32) {
	d, from := s.disk, s.disk.compacted
	page := &d.pages[from.page]
	if page.version != from.version { // it was emptied meanwhile
		d.compacted = extPlace{}
		return
	}
	if d.next == len(page.wbufs) {
		d.compacted = extPlace{}
		page.count = 0
		d.look()
		return
	}
	first, last := page.wbufs[d.next], len(page.objects)
	if d.next++; d.next < len(page.wbufs) {
		last = page.wbufs[d.next]
	}
	for _, o := range page.objects[first:last] {
		if d.at[o] != from || s.info[o].end != 0 && s.info[o].end <= now {
			continue
		}
		bytes := s.ntotal(o)
		page.used = max(0, page.used-bytes)
		page.count = max(0, page.count-1)
		if !d.drops || s.info[o].segment != cold {
			d.rescue(o, bytes)
		}
		if page.version != from.version {
			return
		}
	}
	if page.count == 0 {
		d.look()
	}
}
