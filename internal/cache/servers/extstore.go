package servers

import (
	"fmt"
	"math"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// extParams are the settings of extstore, by their names after -o.
var extParams = []params.Param{
	{Name: extPath, Default: "", Doc: "-o ext_path, FILE:SIZE such as /d/ext:64g: values that leave the memory go to " +
		"this file, and a header of each stays"},
	{Name: extPageSize, Default: extPagesMB, Min: 2, Max: 1 << 16,
		Doc: "MB of a page of the file: the oldest goes as a whole"},
	{Name: "ext_wbuf_size", Default: 4, Min: 2, Max: 1 << 10, Doc: "MB that are written at once"},
	{Name: "ext_item_size", Default: 512, Min: 1, Max: 1 << 30, Doc: "bytes of the items whose class is the smallest " +
		"that is written to the file"},
	{Name: "ext_item_age", Default: noAge, Min: 0, Max: noAge, Doc: "seconds without use after which items are written " +
		"although there is memory; 4294967295: none are"},
	{Name: "ext_low_ttl", Default: 0, Min: 0, Max: 1 << 30,
		Doc: "seconds: items with less to live have pages of their own"},
	{Name: "ext_recache_rate", Default: 2000, Min: 0, Max: 1 << 31, Doc: "one in so many hits from the file brings its " +
		"value back; 0: none does"},
	{Name: "ext_compact_under", Default: 0, Min: 0, Max: 1 << 16, Doc: "pages of the file: with no more of them free, " +
		"pages with gaps are written anew; 0: a quarter of all"},
	{Name: "ext_drop_under", Default: 0, Min: 0, Max: 1 << 16, Doc: "pages of the file: with no more of them free, " +
		"ext_drop_unread drops; a quarter of all if ext_compact_under is 0"},
	{Name: "ext_max_frag", Default: 0.8, Min: 0, Max: 1, Doc: "share of a page: one that uses less is written anew, if " +
		"no page is free"},
	{Name: "ext_max_sleep", Default: 1_000_000, Min: 1000, Max: 1 << 31, Doc: "microseconds that the threads which " +
		"write the file sleep at most"},
	{Name: "ext_drop_unread", Default: false, Doc: "what was not read lately is dropped when the oldest page is written " +
		"anew"},
	{Name: "slab_automove_freeratio", Default: 0.01, Min: 0, Max: 1, Doc: "share of the memory's pages that automove " +
		"keeps free for values and headers; 2 at least"},
}

const (
	extPath      = "ext_path"
	extPageSize  = "ext_page_size"
	extPagesMB   = 64
	noAge        = math.MaxUint32
	extHeader    = 12 // bytes of an item in memory in the place of its value
	microsecond  = second / 1e6
	extStep      = 10_000 * microsecond // of the compactor, while it writes a page anew
	fileSpeed    = 500e6                // bytes per second at which wbufs are written
	extFreePages = 3                    // of chunks that a class has before its values are written
	// Buckets are pages that are written at once: values, what the compactor keeps, values of several chunks, and those
	// that live shortly.
	extDefault, extCompact, extChunked, extLow, extBuckets = 0, 1, 2, 3, 4
)

// checkFileGiven refuses settings of a file where there is none.
func checkFileGiven(v params.Values) error {
	changed := params.Changed(extParams, v)
	if v.Text(extPath) != "" || len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("%s needs ext_path, FILE:SIZE such as /d/ext:64g: without a file it changes nothing",
		params.Format(changed[:1], v))
}

// extPages reads the file of ext_path and returns its pages. It refuses what memcached does not start with, in its
// words, and a file that is never written to.
func extPages(v params.Values) (pages int64, err error) {
	text := v.Text(extPath)
	if text == "" {
		return 0, nil
	}
	page, wbuf := int64(v.Int(extPageSize))<<20, int64(v.Int("ext_wbuf_size"))<<20
	file, size, ok := strings.Cut(text, ":")
	size, bucket, _ := strings.Cut(size, ":")
	bytes, bad := bytesOf(size)
	if n := len(size); ok && (n == 0 || !strings.ContainsRune("mgtpMGTP", rune(size[n-1]))) {
		bad = fmt.Errorf("%q has no unit", size)
	}
	limit, _ := itemLimit(v)
	pages = bytes / page
	why := ""
	switch {
	case file == "" || !ok || bad != nil:
		why = "must supply size to ext_path, ie: ext_path=/f/e:64m (M|G|T|P supported)"
	case bucket != "" && bucket != "default":
		why = "ext_path only presently supports the default bucket"
	case page%wbuf != 0:
		why = fmt.Sprintf("page_size must be divisible by wbuf_size: ext_page_size=%d, ext_wbuf_size=%d", page>>20, wbuf>>20)
	case wbuf%(2<<20) != 0:
		why = "page_size and wbuf_size must be divisible by 1024*1024*2"
	case limit > wbuf:
		why = fmt.Sprintf("-I (item_size_max: %d) cannot be larger than ext_wbuf_size: %d", limit, wbuf)
	case pages >= math.MaxUint16:
		why = "page_count must total to < 65536. Increase page_size or lower path sizes"
	case pages < 2:
		why = fmt.Sprintf("memcached 1.6.18 leaves the first page empty, so that a file of %d pages of ext_page_size=%d MB "+
			"holds nothing; make it larger, or its pages smaller", pages, page>>20)
	}
	if why != "" {
		return 0, fmt.Errorf("%s=%s: %s", extPath, text, why)
	}
	return pages, nil
}

// extTiers are the memory and the file, if there is one.
func extTiers(v params.Values) ([]cache.Tier, error) {
	pages, err := extPages(v)
	if pages == 0 {
		return nil, err
	}
	bytes := pages * int64(v.Int(extPageSize)) << 20
	return []cache.Tier{
		{Name: "memory", Bytes: func(_ *traces.Trace, first int64) (int64, error) { return first, nil }},
		{Name: flash, Bytes: func(*traces.Trace, int64) (int64, error) { return bytes, nil }},
	}, nil
}

const flash = "flash"

// extMetrics are those of memcached with a file: what tiers count.
var extMetrics = []metric.Metric{tiers.Hits, tiers.HitShare, tiers.ReadBytes, tiers.Written, tiers.WrittenBytes,
	tiers.WrittenPerDay, tiers.Evicted, tiers.Residents}

// extstore is the file of memcached (extstore.c): pages that are filled one after the other. If no page is free, the
// oldest is emptied, whatever is in it. The compactor (storage.c) writes what is left of pages with gaps into others.
type extstore struct {
	pageBytes, wbufBytes int64
	least                int // smallest class of which values are written
	itemBytes            int64
	age, low             int64 // seconds
	recache              int64
	compactUnder, drop   int
	mostSleep            int64 // of threads
	dropUnread           bool
	frag, freeRatio      float64

	at      []extPlace // per object
	pages   []extPage
	free    int             // pages
	open    [extBuckets]int // page that is written to; -1: none yet
	version uint32

	compacted extPlace // the page that is written anew; version 0: none
	next      int      // wbuf of it that comes next
	drops     bool     // what was not read lately is not written anew
	wake      int64    // when the compactor looks next

	turn    uint32   // of the storage thread
	backoff []uint32 // per class: in each of how many turns it looks there
	sleep   int64    // until its next turn, which is at flushAt
	flushAt int64
	busy    [extBuckets]int64 // until when the last wbuf of each bucket is written to the file: no other is filled then

	crawl int64 // second at which the crawler looks for values that are gone
	pause int64 // until its next look after that

	watermark int64 // pages of memory that automove keeps free
	looks     int   // of automove
	read      int64 // hits that could bring a value back

	extCounts
	began       extCounts
	first, last int64 // times of counted requests
}

// extCounts are counted for the metrics.
type extCounts struct{ requests, hits, fromFile, readBytes, written, writtenBytes, evicted int64 }

// extPlace is where a value is: a page as it was filled once.
type extPlace struct {
	page    uint16
	version uint32 // 0: nowhere
}

// extPage is a page of the file. Its version is 0 while it is free.
type extPage struct {
	version  uint32
	bucket   int
	filled   int64 // bytes of full wbufs, and of the current one
	open     int64 // bytes left in the current one
	active   bool  // is written to
	objects  []policies.Object
	wbufs    []int // the first of the objects in each wbuf
	count    int   // of objects that were not deleted
	used     int64 // bytes of them
	seen     uint32
	seenUsed int64 // version and bytes when the maintainer of pages looked last: the compactor decides by them
}

// newExtstore returns the file of a configuration; nil if there is none.
func newExtstore(v params.Values, objects, classes int, classOf func(int64) int) (*extstore, error) {
	pages, err := extPages(v)
	if pages == 0 || err != nil {
		return nil, err
	}
	d := &extstore{pageBytes: int64(v.Int(extPageSize)) << 20, wbufBytes: int64(v.Int("ext_wbuf_size")) << 20,
		itemBytes: int64(v.Int("ext_item_size")), age: int64(v.Int("ext_item_age")), low: int64(v.Int("ext_low_ttl")),
		recache: int64(v.Int("ext_recache_rate")), compactUnder: v.Int("ext_compact_under"), drop: v.Int("ext_drop_under"),
		mostSleep: int64(v.Int("ext_max_sleep")) * microsecond, dropUnread: v.Bool("ext_drop_unread"),
		frag:      v.Float("ext_max_frag"),
		freeRatio: v.Float("slab_automove_freeratio"), at: make([]extPlace, objects), pages: make([]extPage, pages),
		free: int(pages) - 1, open: [extBuckets]int{-1, -1, -1, -1}, wake: -1, first: never,
		backoff: make([]uint32, classes)}
	d.least = classOf(d.itemBytes)
	if d.compactUnder == 0 {
		d.compactUnder, d.drop = int(pages)/4, int(pages)/4
	}
	return d, nil
}

// holds reports whether a value is in the file, or was when it was last looked at.
func (d *extstore) holds(o policies.Object) bool { return d != nil && d.at[o].version != 0 }

// valid reports whether a value that the file should have is still there.
func (d *extstore) valid(o policies.Object) bool {
	return d.pages[d.at[o].page].version == d.at[o].version
}

// write puts bytes of an object into a page of a bucket. It reports whether there was one.
func (d *extstore) write(o policies.Object, bytes int64, bucket int, now int64) bool {
	p := d.open[bucket]
	for {
		if p < 0 || !d.pages[p].active {
			if p = d.allocate(bucket); p < 0 {
				return false
			}
		}
		page := &d.pages[p]
		if page.open >= bytes {
			page.open -= bytes
			page.objects = append(page.objects, o)
			page.count++
			page.used += bytes
			d.at[o] = extPlace{uint16(p), page.version}
			d.written++
			d.writtenBytes += bytes
			return true
		}
		if page.open > 0 { // is written now, with what is left of it
			page.open = 0
			d.busy[bucket] = now + d.wbufBytes*second/fileSpeed
		}
		if d.busy[bucket] > now {
			return false
		}
		if page.filled == d.pageBytes { // closes; a page that nothing is in goes at the next look
			page.active = false
			continue
		}
		page.filled += d.wbufBytes
		page.open = d.wbufBytes
		page.wbufs = append(page.wbufs, len(page.objects))
	}
}

// allocate opens a free page for a bucket. If there is none, the oldest is emptied.
func (d *extstore) allocate(bucket int) int {
	if d.free == 0 {
		d.look()
	}
	if d.free == 0 {
		return -1
	}
	for p := 1; p < len(d.pages); p++ { // the first is never used: extstore_init leaves it out
		page := &d.pages[p]
		if page.version == 0 {
			d.version++
			d.free--
			*page = extPage{version: d.version, bucket: bucket, active: true, objects: page.objects[:0],
				wbufs: page.wbufs[:0]}
			d.open[bucket] = p
			return p
		}
	}
	return -1
}

// delete forgets a value.
func (d *extstore) delete(o policies.Object, bytes int64) {
	at := d.at[o]
	d.at[o] = extPlace{}
	d.reduce(at, bytes)
}

// reduce takes an object's bytes from a page. A page without any is free.
func (d *extstore) reduce(at extPlace, bytes int64) {
	page := &d.pages[at.page]
	if at.version == 0 || page.version != at.version {
		return
	}
	page.used = max(0, page.used-bytes)
	page.count = max(0, page.count-1)
	if page.count == 0 && !page.active {
		d.look()
	}
}

// look is what the maintainer of pages does: it frees pages that are empty and, if no page is free, the oldest one.
func (d *extstore) look() {
	evict, oldest := d.free == 0, -1
	for p := range d.pages {
		page := &d.pages[p]
		page.seen = 0
		switch {
		case page.version == 0 || page.active:
		case page.count == 0:
			d.release(p)
			evict = false
		default:
			page.seen, page.seenUsed = page.version, page.used
			if oldest < 0 || page.version < d.pages[oldest].version {
				oldest = p
			}
		}
	}
	if evict && oldest >= 0 {
		d.evicted += int64(d.pages[oldest].count)
		d.release(oldest)
	}
}

func (d *extstore) release(p int) {
	d.pages[p].version, d.pages[p].count, d.pages[p].used = 0, 0, 0
	d.free++
}

// count counts a request.
func (d *extstore) count(now int64, hit bool) {
	if d.requests++; hit {
		d.hits++
	}
	d.first, d.last = min(d.first, now), max(d.last, now)
}

// residents returns how many values the file has.
func (d *extstore) residents() (n int64) {
	for p := range d.pages {
		n += int64(d.pages[p].count)
	}
	return n
}

func (d *extstore) beginCounting() { d.began, d.first = d.extCounts, never }

// counters are what tiers count, of the memory and the file.
func (d *extstore) counters(inMemory int64) (all []policies.Counter) {
	n, was := d.extCounts, d.began
	requests := float64(n.requests - was.requests)
	add := func(m metric.Metric, tier string, x float64) { all = append(all, policies.CountOf(m, tier, x)) }
	hits := func(tier string, n int64) {
		add(tiers.Hits, tier, float64(n))
		add(tiers.HitShare, tier, metric.Divide(float64(n), requests))
	}
	fromFile := n.fromFile - was.fromFile
	hits("memory", n.hits-was.hits-fromFile)
	add(tiers.Residents, "memory", float64(inMemory))
	hits(flash, fromFile)
	add(tiers.ReadBytes, flash, float64(n.readBytes-was.readBytes))
	add(tiers.Written, flash, float64(n.written-was.written))
	add(tiers.WrittenBytes, flash, float64(n.writtenBytes-was.writtenBytes))
	add(tiers.Evicted, flash, float64(n.evicted-was.evicted))
	add(tiers.Residents, flash, float64(d.residents()))
	if d.last > d.first {
		days := float64(d.last-d.first) / (24 * 3600 * second)
		add(tiers.WrittenPerDay, flash, math.Round(float64(n.writtenBytes-was.writtenBytes)/days))
	}
	return all
}
