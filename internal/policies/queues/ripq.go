package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var ripqEntry = policies.Entry{
	Name:   "ripq",
	Look:   policies.Look{Color: policies.Indigo, Mark: policies.Spark},
	Memory: policies.Memory{PerObject: 16, PerSlot: 64},
	Summary: "a queue of blocks for flash, into which objects are written at a few places only; what is requested " +
		"moves up when its block leaves",
	Source: "Tang, Huang, Lloyd, Kumar and Li, RIPQ: advanced photo caching on flash for Facebook, FAST 2015",
	Params: []policies.Param{
		{Name: "segments", Default: 8, Min: 1, Max: 1024, Doc: "sections of the queue, each with a place where objects are " +
			"inserted"},
		{Name: "blocks", Default: 256, Min: 1, Max: 1 << 20, Doc: "blocks that the capacity has; a larger object has " +
			"one of its own. Each section has two open, which are taken from its share"},
		{Name: "algorithm", Default: "slru", Choices: []string{"slru", "gdsf"}, Doc: "where objects are inserted: slru, a " +
			"new one in the lowest section, and one that is requested in the next higher one; gdsf, by requests per byte, " +
			"above what is the oldest of its section"},
		{Name: "rule", Default: "paper", Choices: []string{"paper", "lsm-sim"}, Doc: "paper: sections are equal parts of " +
			"what is in the queue; lsm-sim: each has a share of the capacity to itself, as in that simulator, so that the " +
			"cache is full only once requests have moved enough up"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newRIPQ(c), nil },
}

// ripq has sections of blocks. An object is written into the open block of a section, and stays in that block. When it
// is requested it also gets a place in a virtual block of a higher section, which takes no room on flash: the object
// counts there from then on, and is written there when its own block is evicted. Section 0 is the highest.
type ripq struct {
	blocks   []ripqBlock
	unused   []int32
	order    dense.Lists // of blocks that are closed, per section, the newest in front
	items    dense.Lists // of objects, per block that they are written in, the newest in front
	sections []ripqSection
	share    int64 // bytes of closed blocks that a section may have
	size     int64 // of a block

	written  []int32 // per object: 1 + its block; 0: it is not resident
	place    []int32 // per object: 1 + the block in which it counts
	charges  dense.Charges
	priority []float64 // per object, if gdsf
	requests []uint32  // per object, if gdsf: since it was loaded
	clock    float64   // highest priority of what was evicted, if gdsf
	dense.Late

	gdsf     bool
	equal    bool // sections are equal parts of what is closed
	parts    int64
	capacity int64
}

type ripqBlock struct {
	filled  int64 // of the objects that count here
	sum     float64
	counted int32 // objects that count here; sum is of their priorities
	refs    int32 // of a virtual block: objects that have it as their place
	section int32
	virtual bool
	closed  bool
	gone    bool // out of its section, but still the place of objects
}

type ripqSection struct {
	open, virtual int32 // blocks
	filled        int64 // of its closed blocks
}

func newRIPQ(c policies.Config) *ripq {
	k := c.Params.Int("segments")
	p := &ripq{
		order: dense.NewLists(0, k), items: dense.NewLists(c.Objects, 0), sections: make([]ripqSection, k),
		written: make([]int32, c.Objects), place: make([]int32, c.Objects), charges: dense.NewCharges(c.Objects, c.Unit),
		gdsf: c.Params.Text("algorithm") == "gdsf", equal: c.Params.Text("rule") == "paper",
		parts: int64(c.Params.Int("blocks")),
	}
	if p.gdsf {
		p.priority, p.requests = make([]float64, c.Objects), make([]uint32, c.Objects)
	}
	p.Resize(c.Capacity)
	for s := range p.sections {
		p.sections[s].open, p.sections[s].virtual = p.newBlock(s, false), p.newBlock(s, true)
	}
	return p
}

// Resize leaves blocks as they are; open ones that are larger than a block is now are closed by the next object.
func (p *ripq) Resize(capacity int64) {
	p.capacity = capacity
	p.size = max(1, capacity/p.parts)
	p.share = max(0, capacity/int64(len(p.sections))-2*p.size)
}

func (p *ripq) Grow(objects int) {
	p.items.Grow(objects)
	p.written, p.place = dense.Grown(p.written, objects), dense.Grown(p.place, objects)
	p.charges.Grow(objects)
	if p.gdsf {
		p.priority, p.requests = dense.Grown(p.priority, objects), dense.Grown(p.requests, objects)
	}
}

// newBlock returns an open block without objects.
func (p *ripq) newBlock(section int, virtual bool) int32 {
	b := int32(len(p.blocks))
	if n := len(p.unused); n > 0 {
		b = p.unused[n-1]
		p.unused = p.unused[:n-1]
	} else {
		p.blocks = append(p.blocks, ripqBlock{})
		p.items.Add()
		p.order.Grow(cap(p.blocks))
	}
	p.blocks[b] = ripqBlock{section: int32(section), virtual: virtual}
	return b
}

// count lets o count in a block.
func (p *ripq) count(o policies.Object, b int32) {
	block := &p.blocks[b]
	block.filled += p.charges.Of(o)
	block.counted++
	if block.virtual {
		block.refs++
	}
	if p.gdsf {
		block.sum += p.priority[o]
	}
	p.place[o] = b + 1
}

// uncount is the inverse of count, but that o still refers to its virtual block.
func (p *ripq) uncount(o policies.Object) {
	block := &p.blocks[p.place[o]-1]
	block.filled -= p.charges.Of(o)
	block.counted--
	if p.gdsf {
		block.sum -= p.priority[o]
	}
	if block.closed {
		p.sections[block.section].filled -= p.charges.Of(o)
	}
}

// release ends the reference to a virtual block.
func (p *ripq) release(b int32) {
	block := &p.blocks[b]
	if !block.virtual {
		return
	}
	if block.refs--; block.refs == 0 && block.gone {
		p.unused = append(p.unused, b)
	}
}

// write appends o to the open block of a section, after it has made room there.
func (p *ripq) write(o policies.Object, section int) {
	p.makeRoom(section, p.charges.Of(o))
	b := p.sections[section].open
	p.items.PushFront(int(b), o)
	p.written[o] = b + 1
	p.count(o, b)
}

// makeRoom closes the open blocks of a section if something of a size does not fit there.
func (p *ripq) makeRoom(section int, size int64) {
	for p.blocks[p.sections[section].open].filled+size > p.size {
		if p.blocks[p.sections[section].open].counted == 0 {
			return // something larger than a block has one of its own
		}
		p.closeOpen(section)
		p.closeVirtual(section)
		p.settle(section)
	}
}

func (p *ripq) closeOpen(section int) {
	p.close(p.sections[section].open)
	p.sections[section].open = p.newBlock(section, false)
}

// closeVirtual leaves a virtual block open in which nothing counts.
func (p *ripq) closeVirtual(section int) {
	if p.blocks[p.sections[section].virtual].counted == 0 {
		return
	}
	p.close(p.sections[section].virtual)
	p.sections[section].virtual = p.newBlock(section, true)
}

func (p *ripq) close(b int32) {
	block := &p.blocks[b]
	block.closed = true
	p.sections[block.section].filled += block.filled
	p.order.PushFront(int(block.section), policies.Object(b))
}

// settle evicts what is too much, and lets blocks fall from a section on where one is over its share.
func (p *ripq) settle(section int) {
	if p.equal {
		for p.closed() > p.share*int64(len(p.sections)) {
			p.evictLast()
		}
		p.level()
		return
	}
	p.balance(section)
	for last := len(p.sections) - 1; p.sections[last].filled > p.share; {
		p.evictBlock(last)
	}
}

func (p *ripq) closed() (sum int64) {
	for s := range p.sections {
		sum += p.sections[s].filled
	}
	return sum
}

// level moves the borders between sections so that each has an equal part of the closed blocks, down to a block.
func (p *ripq) level() {
	total, above := p.closed(), int64(0)
	for s := range p.sections[:len(p.sections)-1] {
		goal := total * int64(s+1) / int64(len(p.sections))
		for p.sections[s].filled > 0 && above+p.sections[s].filled > goal+p.size {
			p.lower(s)
		}
		for b, ok := p.order.Front(s + 1); ok && above+p.sections[s].filled+p.blocks[b].filled <= goal; b, ok =
			p.order.Front(s + 1) {
			p.order.Unlink(b)
			p.order.PushBack(s, b)
			p.sections[s+1].filled -= p.blocks[b].filled
			p.sections[s].filled += p.blocks[b].filled
			p.blocks[b].section = int32(s)
		}
		above += p.sections[s].filled
	}
}

// lower moves the oldest block of a section to the next lower one.
func (p *ripq) lower(section int) {
	b := p.takeBlock(section)
	p.blocks[b].section = int32(section + 1)
	p.sections[section+1].filled += p.blocks[b].filled
	p.order.PushFront(section+1, policies.Object(b))
}

func (p *ripq) balance(section int) {
	for s := section; s < len(p.sections)-1; s++ {
		for p.sections[s].filled > p.share {
			p.lower(s)
		}
	}
}

// takeBlock removes the oldest block of a section.
func (p *ripq) takeBlock(section int) int32 {
	b := int32(p.order.PopBack(section))
	p.sections[section].filled -= p.blocks[b].filled
	return b
}

// evictBlock evicts the oldest block of a section: the objects that count there are evicted, and those with a place
// elsewhere are written again, in the order in which they came. That may evict further blocks.
func (p *ripq) evictBlock(section int) {
	b := p.takeBlock(section)
	if block := &p.blocks[b]; block.virtual {
		if block.gone = true; block.refs == 0 {
			p.unused = append(p.unused, b)
		}
		return
	}
	for o, ok := p.items.Front(int(b)); ok; o, ok = p.items.After(o) {
		if p.place[o] != b+1 {
			p.uncount(o)
		}
	}
	for !p.items.Empty(int(b)) {
		o := p.items.PopBack(int(b))
		place := p.place[o] - 1
		p.written[o] = 0
		if place == b {
			if p.gdsf {
				p.clock = max(p.clock, p.priority[o])
			}
			p.Late = append(p.Late, o)
			continue
		}
		p.release(place)
		p.write(o, int(p.blocks[place].section))
	}
	p.unused = append(p.unused, b)
	if !p.equal {
		p.balance(0)
	}
}

func (p *ripq) Hit(r policies.Request) {
	o := r.Object
	if p.written[o] == 0 {
		return // evicted, but not gone yet
	}
	place := p.place[o] - 1
	section := int(p.blocks[place].section)
	p.uncount(o)
	p.release(place)
	if p.gdsf {
		p.requests[o]++
		p.priority[o] = p.rank(p.requests[o], p.charges.Of(o))
		section = min(section, p.above(p.priority[o]))
	} else {
		section = max(0, section-1)
	}
	if !p.blocks[p.written[o]-1].closed {
		p.items.Unlink(o)
		p.written[o] = 0
		p.write(o, section)
		return
	}
	p.count(o, p.sections[section].virtual)
	for p.blocks[p.sections[section].virtual].filled > p.size {
		p.closeVirtual(section)
		p.settle(section)
	}
}

// rank is the priority of Greedy-Dual-Size-Frequency.
func (p *ripq) rank(requests uint32, size int64) float64 {
	return p.clock + float64(requests)/float64(size)
}

// above returns the highest section whose oldest objects have no higher priority.
func (p *ripq) above(priority float64) int {
	for s := range p.sections[:len(p.sections)-1] {
		if priority >= p.floor(s) {
			return s
		}
	}
	return len(p.sections) - 1
}

// floor returns the mean priority of the oldest block of a section in which objects count, 0 if there is none.
func (p *ripq) floor(section int) float64 {
	for b, ok := p.order.Back(section); ok; b, ok = p.order.Before(b) {
		if block := &p.blocks[b]; block.counted > 0 {
			return block.sum / float64(block.counted)
		}
	}
	return 0
}

// entrance returns the section into which a new object is inserted.
func (p *ripq) entrance(size int64) int {
	if p.gdsf {
		return p.above(p.rank(1, size))
	}
	return len(p.sections) - 1
}

func (p *ripq) Miss(policies.Request) {}

// Victim makes room as the object's insertion would. Where that is not enough, in a cache that has shrunk or has fewer
// objects than open blocks, the last blocks go.
func (p *ripq) Victim(r policies.Request) policies.Object {
	if len(p.Late) == 0 && r.Reason != policies.Shrink {
		p.makeRoom(p.entrance(r.Size), r.Size)
	}
	for len(p.Late) == 0 {
		if p.empty() {
			return r.Object // all that is resident is held back by the cache
		}
		p.evictLast()
	}
	return p.Next()
}

// empty reports whether no object is in the queue.
func (p *ripq) empty() bool {
	for s := range p.sections {
		if !p.order.Empty(s) || p.blocks[p.sections[s].open].counted > 0 {
			return false
		}
	}
	return true
}

// evictLast evicts the last block; if only open ones are left, it closes these.
func (p *ripq) evictLast() {
	for s := len(p.sections) - 1; s >= 0; s-- {
		if !p.order.Empty(s) {
			p.evictBlock(s)
			return
		}
	}
	for s := range p.sections {
		p.closeOpen(s)
		p.closeVirtual(s)
	}
}

func (p *ripq) Insert(r policies.Request) {
	o := r.Object
	p.charges.Set(o, r.Size)
	section := p.entrance(r.Size)
	if p.gdsf {
		p.requests[o] = 1
		p.priority[o] = p.rank(1, r.Size)
	}
	p.write(o, section)
}

func (p *ripq) Remove(o policies.Object) {
	if p.Strike(o) {
		return
	}
	p.uncount(o)
	p.release(p.place[o] - 1)
	p.items.Unlink(o)
	p.written[o] = 0
}

// Resized implements SizeFollower: the object stays in its block.
func (p *ripq) Resized(o policies.Object, size int64) {
	if p.written[o] == 0 {
		return
	}
	place := p.place[o] - 1
	p.uncount(o)
	p.release(place)
	p.charges.Set(o, size)
	p.count(o, place)
	if block := &p.blocks[place]; block.closed {
		p.sections[block.section].filled += size
	}
}
