package policies

// slruEvicting is SLRU as libCacheSim has it. Each segment has its share, rounded down, so that the rest of the
// capacity is used only while the cache fills. A hit that lifts an object pushes others down, and what then exceeds the
// share of the lowest segment is evicted at once, even if the cache has room. If nothing was pushed into the lowest
// segment, it stays as large as it is.
type slruEvicting struct {
	segments *slru
	late
}

func newSLRUEvicting(c Config) *slruEvicting {
	p := &slruEvicting{segments: newSLRU(c)}
	p.limitLowest()
	return p
}

// limitLowest gives the lowest segment its share, which may be less than what the others leave.
func (p *slruEvicting) limitLowest() {
	s := p.segments
	s.limit[0] = min(s.limit[0], max(1, s.lowestShare()))
}

// Hit is a request to a resident object. The prefix cache serves several requests before it takes evicted objects, so
// it may also hit an evicted one, which then enters like a new one.
func (p *slruEvicting) Hit(r Request) {
	s := p.segments
	if p.strike(r.Object) {
		s.Insert(r)
		return
	}
	before := s.used[0]
	if s.in(0, r.Object) && s.top > 0 {
		before -= s.charged.Of(r.Object) // it leaves the segment
	}
	s.Hit(r)
	p.overflow(before)
}

// overflow evicts what exceeds the share of the lowest segment, if that has grown.
func (p *slruEvicting) overflow(before int64) {
	s := p.segments
	for pushed := s.used[0] > before; pushed && s.used[0] > s.limit[0]; {
		o, _ := s.pop(0)
		p.late = append(p.late, o)
	}
}

// Resized implements SizeFollower. An object that its own hit has pushed out stays on its way out.
func (p *slruEvicting) Resized(o Object, size int64) {
	s := p.segments
	if s.segment[o] == 0 {
		s.charged.Set(o, size)
		return
	}
	before := s.used[0]
	s.Resized(o, size)
	p.overflow(before)
}

func (p *slruEvicting) Miss(Request)         {}
func (p *slruEvicting) Admit(r Request) bool { return p.segments.Admit(r) }

func (p *slruEvicting) Victim(Request) Object {
	if len(p.late) > 0 { // the cache has shrunk since the hit
		return p.next()
	}
	return p.segments.evict()
}

func (p *slruEvicting) Insert(r Request) { p.segments.Insert(r) }

func (p *slruEvicting) Remove(o Object) {
	if !p.strike(o) {
		p.segments.Remove(o)
	}
}

func (p *slruEvicting) Resize(capacity int64) {
	if capacity == p.segments.capacity {
		return
	}
	p.segments.Resize(capacity)
	p.limitLowest()
}

func (p *slruEvicting) Grow(objects int) { p.segments.Grow(objects) }
